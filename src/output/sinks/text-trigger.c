/*
 * text-trigger: see text-trigger.h.
 */
#include "output/sinks/text-trigger.h"

#include <assert.h>
#include <stdlib.h>

#include "base/units.h"
#include "output/notice.h"
#include "text/text-table.h"

void text_trace_name(FILE *out, const struct trace_identity *trace)
{
	char *text = output_trace_text(trace, trace->tells_path);

	text_put(out, text, -1);
	free(text);
}

/* Of a trigger on several hosts: a line for each. */
static void put_on_hosts(FILE *out, const struct trigger_event *event)
{
	char says[1024], begin[UNITS_TEXT_MAX];

	(void)fprintf(out, "on %zu host%s", event->host_count, event->host_count == 1 ? "" : "s");
	for (size_t i = 0; i < event->host_count; i++) {
		const struct trigger_host *on = &event->hosts[i];

		notice_trigger_text(on->event, says, sizeof(says));
		(void)fputs("\n    ", out);
		text_put(out, on->host, -1);
		(void)fprintf(out, "  since %s: ",
			      units_time(begin, units_times_of(on->event->begin, on->event->end),
					 on->event->begin));
		text_put(out, says, -1);
	}
	(void)fputs("\n\n", out);
}

void text_trigger(struct output *output, const struct trace_identity *trace,
		  const struct trigger_event *event)
{
	char says[1024], begin[UNITS_TEXT_MAX], lasted[UNITS_TEXT_MAX];

	notice_trigger_text(event, says, sizeof(says));
	(void)fprintf(output->out, "%s! ", output_bold(output));
	text_put(output->out, event->name, -1);
	(void)fprintf(output->out, "%s  ", output_normal(output));
	text_trace_name(output->out, trace);
	(void)fprintf(output->out, "  since %s, %s: ",
		      units_time(begin, units_times_of(event->begin, event->end), event->begin),
		      units_ns(lasted, event->end - event->begin));
	if (event->host_count > 0) {
		put_on_hosts(output->out, event);
		return;
	}
	text_put(output->out, says, -1);
	(void)fputs("\n\n", output->out);
}

void text_budget(struct output *output, const struct trace_identity *trace,
		 const struct trigger_event *event)
{
	char says[200];

	assert(event->budget.counts);
	if (!event->budget.is_charged) {
		return;
	}
	notice_budget_text(&event->budget, says, sizeof(says));
	text_put(output->out, event->name, -1);
	(void)fputs("  ", output->out);
	text_trace_name(output->out, trace);
	(void)fprintf(output->out, "  %s\n\n", says);
}
