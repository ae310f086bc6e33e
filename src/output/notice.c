/*
 * notice: see notice.h.
 */
#include "output/notice.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "output/format.h"

static void say_value(char text[CELL_MAX], const struct trigger_value *v, double value)
{
	if (isnan(value)) {
		(void)snprintf(text, CELL_MAX, "%s",
			       v->is_baseline ? "baseline (none)" : "auto (no limit yet)");
		return;
	}
	if (value < 0) { /* a limit may be, a figure not */
		(void)snprintf(text, CELL_MAX, "below 0");
		return;
	}
	if (v->is_share) {
		format_share(text, value);
	} else {
		format_real(text, v->unit, value, v->is_rate);
	}
}

static size_t say_values(const struct trigger_event *event, char *text, size_t size)
{
	char value[CELL_MAX], limit[CELL_MAX];
	size_t used = 0;

	assert(event->count <= TRIGGER_VALUES_MAX);
	for (size_t i = 0; i < event->count && used < size; i++) {
		const struct trigger_value *v = &event->values[i];

		say_value(value, v, v->value);
		say_value(limit, v, v->limit);
		used += (size_t)snprintf(text + used, size - used, "%s%s%s%s %s, %s%s %s",
					 i ? "; " : "", v->figure, v->row[0] ? " of " : "", v->row,
					 value, v->holds ? "" : "not ", op_text(v->op), limit);
		if (v->is_baseline && !isnan(v->baseline) && used < size) {
			say_value(value, v, v->baseline);
			used += (size_t)snprintf(text + used, size - used,
						 " (baseline %s of %u days)", value, v->days);
		}
	}
	return used;
}

void notice_trigger_text(const struct trigger_event *event, char *text, size_t size)
{
	size_t used = 0;

	assert(size > 0);
	text[0] = '\0';
	if (event->host_count == 0) {
		(void)say_values(event, text, size);
		return;
	}
	used = (size_t)snprintf(text, size, "on %zu host%s", event->host_count,
				event->host_count == 1 ? "" : "s");
	for (size_t i = 0; i < event->host_count && used < size; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s%s: ", i ? "; " : ": ",
					 event->hosts[i].host);
		used += used < size ? say_values(event->hosts[i].event, text + used, size - used)
				    : 0;
	}
}
