/*
 * trigger-budget: objectives, "99.9% of windows: CONDITION", and what is left of their budgets.
 *
 *     a window  counts, if the condition has a value in it
 *               is bad, if the condition does not hold there, for some row
 *     budget    the share of windows that may be bad
 *
 * What is kept of the trigger is the condition of bad windows, so that the row which decides is the
 * worst one.  With `in DURATION` windows are counted in BUDGET_SLOTS parts of that time, which are
 * aligned to the epoch: the oldest of them goes as a whole.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "trigger/trigger-parts.h"

/* ---- parsing ---- */

/* What has no limit of its own is "not (a > 1 and b > 2)", which is "a <= 1 or b <= 2". */
static bool negate(struct scan *scan, struct condition *c)
{
	static const enum op others[] = { [OP_ABOVE] = OP_AT_MOST,
					  [OP_BELOW] = OP_AT_LEAST,
					  [OP_AT_LEAST] = OP_BELOW,
					  [OP_AT_MOST] = OP_ABOVE };

	if (c->kind != NODE_COMPARE) {
		c->kind = c->kind == NODE_AND ? NODE_OR : NODE_AND;
		return negate(scan, c->left) && negate(scan, c->right);
	}
	c->op = others[c->op];
	return !(c->is_auto || c->is_baseline) ||
	       scan_fail(scan, "expected limits: an objective has no auto() and no baseline");
}

bool budget_negate(struct scan *scan, struct trigger *trigger)
{
	if (!negate(scan, trigger->when)) {
		return false;
	}
	return (!trigger->until && trigger->hosts == 0 && trigger->for_ns == 0) ||
	       scan_fail(scan, "expected only `every` and `complete` behind an objective");
}

/* 99.9% of windows [in 1h]: */
bool budget_parse(struct scan *scan, struct trigger *trigger)
{
	char *past;

	scan_blanks(scan);
	if (!isdigit((unsigned char)*scan->at)) {
		return true;
	}
	trigger->objective = strtod(scan->at, &past) / 100;
	if (!(trigger->objective > 0 && trigger->objective <= 1) || *past != '%') {
		return scan_fail(scan, "expected a figure such as cpu.busy, or a share of windows "
				       "above 0: 99.9%% of windows:");
	}
	scan->at = past + 1;
	if (!scan_word(scan, "of") || !scan_word(scan, "windows")) {
		return scan_fail(scan, "expected of windows");
	}
	if (scan_word(scan, "in") && !trigger_take_duration(scan, &trigger->objective_ns)) {
		return false;
	}
	return scan_sign(scan, ':') || scan_fail(scan, "expected : and a condition%s",
						 trigger->objective_ns ? "" : ", or in DURATION");
}

/* ---- windows ---- */

/* What has no value decides nothing, where something else has one. */
static enum budget_verdict verdict_on(const struct condition *c, const struct report *report)
{
	enum budget_verdict left, right;

	if (c->kind == NODE_COMPARE) {
		return !trigger_has_value(c, report)  ? BUDGET_NO_VALUE
		       : trigger_is_beyond(c, report) ? BUDGET_BAD
						      : BUDGET_GOOD;
	}
	left = verdict_on(c->left, report);
	right = verdict_on(c->right, report);
	if (left == BUDGET_NO_VALUE || right == BUDGET_NO_VALUE) {
		return left == BUDGET_NO_VALUE ? right : left;
	}
	return c->kind == NODE_OR ? (left == BUDGET_BAD ? left : right)
				  : (left == BUDGET_GOOD ? left : right);
}

static uint64_t budget_slot_of(const struct trigger *trigger, uint64_t end)
{
	uint64_t ns = trigger->objective_ns / BUDGET_SLOTS;

	return (end - 1) / (ns > 0 ? ns : 1);
}

static void forget_before(struct budget *budget, uint64_t at)
{
	size_t gone = 0;

	while (gone < budget->slots.count && budget->slots.at[gone].at < at) {
		budget->windows -= budget->slots.at[gone].windows;
		budget->bad -= budget->slots.at[gone].bad;
		gone++;
	}
	budget->slots.count -= gone;
	if (gone > 0) {
		memmove(budget->slots.at, budget->slots.at + gone,
			budget->slots.count * sizeof(*budget->slots.at));
	}
}

static void take_in_slot(struct budget *budget, uint64_t at, bool is_bad)
{
	size_t count = budget->slots.count;

	if (count == 0 || budget->slots.at[count - 1].at < at) {
		*vec_push(&budget->slots) = (struct budget_slot){ .at = at };
		count++;
	}
	budget->slots.at[count - 1].windows++;
	budget->slots.at[count - 1].bad += is_bad;
}

/* Windows that are still to come until the time is over for the first time. */
static double to_come(const struct trigger *trigger, const struct budget *budget, uint64_t end,
		      uint64_t interval)
{
	uint64_t covered = end > budget->since ? end - budget->since : 0;

	assert(interval > 0);
	return trigger->objective_ns > covered
		       ? (double)(trigger->objective_ns - covered) / (double)interval
		       : 0;
}

enum budget_verdict budget_take(const struct trigger *trigger, struct budget *budget,
				const struct report *report)
{
	enum budget_verdict verdict = verdict_on(trigger->when, report);
	uint64_t now = budget_slot_of(trigger, report->end);

	assert(trigger->objective > 0 && report->end > report->begin);
	budget->since = budget->since == 0 ? report->begin : budget->since;
	budget->windows += verdict != BUDGET_NO_VALUE;
	budget->bad += verdict == BUDGET_BAD;
	if (trigger->objective_ns > 0 && verdict != BUDGET_NO_VALUE) {
		take_in_slot(budget, now, verdict == BUDGET_BAD);
	}
	if (trigger->objective_ns > 0 && now >= BUDGET_SLOTS) {
		forget_before(budget, now - BUDGET_SLOTS + 1);
	}
	budget->to_come =
		to_come(trigger, budget, report->end,
			trigger->interval_ns ? trigger->interval_ns : report->end - report->begin);
	assert(budget->bad <= budget->windows && budget->slots.count <= BUDGET_SLOTS);
	return verdict;
}

struct trigger_budget budget_state(const struct trigger *trigger, const struct budget *budget)
{
	double windows = (double)budget->windows + budget->to_come;

	return (struct trigger_budget){ .objective = trigger->objective,
					.ns = trigger->objective_ns,
					.windows = budget->windows,
					.bad = budget->bad,
					.allowed = (1 - trigger->objective) * windows };
}

void budget_codec(const struct trigger *trigger, struct budget *budget, struct codec *codec)
{
	uint64_t windows = 0, bad = 0;
	size_t count;

	if (codec_reads(codec)) {
		budget->slots.count = 0;
	}
	codec_each(codec, &budget->since, &budget->windows, &budget->bad);
	codec_real(codec, &budget->to_come, 1e18);
	count = codec_count(codec, budget->slots.count, 24);
	codec_check(codec, count <= BUDGET_SLOTS && budget->to_come >= 0);
	for (size_t i = 0; i < count && !codec->is_wrong; i++) {
		struct budget_slot *slot = codec_at(codec, &budget->slots, i);

		codec_each(codec, &slot->at, &slot->windows, &slot->bad);
		codec_check(codec, slot->bad <= slot->windows && slot->windows <= budget->windows &&
					   (i == 0 || slot[-1].at < slot->at));
		windows += slot->windows;
		bad += slot->bad;
	}
	codec_check(codec, budget->bad <= budget->windows &&
				   (trigger->objective_ns == 0 ||
				    (windows == budget->windows && bad == budget->bad)));
	if (codec->is_wrong) {
		budget_fini(budget);
	}
}

void budget_fini(struct budget *budget)
{
	vec_fini(&budget->slots);
	*budget = (struct budget){ 0 };
}
