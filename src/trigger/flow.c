/*
 * flow: see flow.h.
 */
#include "trigger/flow.h"

#include <assert.h>
#include <stdlib.h>

#include "output/sink.h"
#include "phases/phases.h"
#include "rollup/rollup.h"
#include "trigger/actions.h"

/* Reports what the phases said of the window. */
static void put_phases(const struct flow *flow)
{
	size_t count;
	const struct phase_record *records = phases_records(flow->phases, &count);

	for (size_t i = 0; i < count; i++) {
		output_phase(flow->output, flow->trace, &records[i]);
	}
	if (phases_kept(flow->phases)) {
		output_phase_unseen(flow->output, flow->trace, phases_kept(flow->phases));
	}
}

/* The report with the figures of its phases.  The caller frees the result. */
static struct report_table *extend(const struct flow *flow, const struct report *report,
				   struct report *ret)
{
	*ret = *report;
	return flow->phases ? phases_extend(flow->phases, report, ret) : NULL;
}

static void show(void *user, const struct report *report)
{
	const struct flow *flow = user;
	struct report_table *tables;
	struct report extended;

	if (flow->phases) {
		phases_report(flow->phases, report);
	}
	tables = extend(flow, report, &extended);
	if (report->kind == REPORT_WINDOW && flow->hides_windows) {
		output_unseen(flow->output, flow->trace, &extended);
	} else {
		output_report(flow->output, flow->trace, &extended);
	}
	free(tables);
	if (flow->phases && flow->output->shows_phases) {
		put_phases(flow);
	}
	if (flow->on_shown) {
		flow->on_shown(flow->user, report);
	}
}

void flow_report(const struct flow *flow, const struct report *report)
{
	struct report_table *tables;
	struct report extended;

	assert(flow->trace && flow->output);
	if (flow->phases) {
		phases_rest(flow->phases);
	}
	rollup_report(flow->rollup, report, show, (void *)flow);
	if (flow->actions) {
		tables = extend(flow, report, &extended);
		actions_report(flow->actions, flow->output, flow->trace, &extended, flow->user);
		free(tables);
	}
}
