/*
 * flow: see flow.h.
 */
#include "trigger/flow.h"

#include <stdlib.h>

#include "output/rollup.h"
#include "output/sink.h"
#include "phases/phases.h"
#include "trigger/actions.h"

static void show(void *user, const struct report *report)
{
	const struct flow *flow = user;

	if (flow->phases) {
		phases_report(flow->phases, report);
	}
	if (report->kind == REPORT_WINDOW && flow->hides_windows) {
		output_unseen(flow->output, flow->trace, report);
	} else {
		output_phased(flow->output, flow->trace, report, flow->phases);
	}
	output_phases(flow->output, flow->trace, flow->phases);
	if (flow->on_shown) {
		flow->on_shown(flow->user, report);
	}
}

static void act(const struct flow *flow, const struct report *report)
{
	struct report_table *tables = NULL;
	struct report extended = *report;

	if (flow->phases) {
		tables = phases_extend(flow->phases, report, &extended);
	}
	actions_report(flow->actions, flow->output, flow->trace, &extended, flow->user);
	free(tables);
}

void flow_report(const struct flow *flow, const struct report *report)
{
	if (flow->phases) {
		phases_rest(flow->phases);
	}
	rollup_report(flow->rollup, report, show, (void *)flow);
	if (flow->actions) {
		act(flow, report);
	}
}
