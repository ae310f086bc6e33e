/*
 * notice: see notice.h.
 */
#include "output/notice.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Shares have the accuracy of floating point. */
#define LITTLE 1e-9

bool notice_is_spent(const struct trigger_budget *budget)
{
	return (double)budget->bad > budget->allowed * (1 + LITTLE) + LITTLE;
}

void notice_budget_text(const struct trigger_budget *budget, char *text, size_t size)
{
	double left = budget->allowed - (double)budget->bad;

	assert(budget->objective > 0 && budget->bad <= budget->windows);
	if (budget->windows == 0) {
		(void)snprintf(text, size, "no window counts yet");
		return;
	}
	(void)snprintf(text, size,
		       "held in %" PRIu64 " of %" PRIu64 " windows (%.6g %%); %" PRIu64
		       " bad, %.4g allowed: %.4g %s",
		       budget->windows - budget->bad, budget->windows,
		       100 - 100 * (double)budget->bad / (double)budget->windows, budget->bad,
		       budget->allowed, fabs(left) < LITTLE ? 0 : fabs(left),
		       notice_is_spent(budget) ? "too many" : "left");
}

void notice_trigger_text(const struct trigger_event *event, char *text, size_t size)
{
	size_t used = 0;

	assert(size > 0);
	text[0] = '\0';
	if (event->budget.objective > 0) {
		notice_budget_text(&event->budget, text, size);
		used = strlen(text);
		if (event->count > 0 && used < size) {
			used += (size_t)snprintf(text + used, size - used, "; ");
		}
	}
	if (event->host_count == 0) {
		(void)(used < size && say_values(event, text + used, size - used));
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
