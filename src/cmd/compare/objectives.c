/*
 * objectives: see objectives.h.
 */
#include "cmd/compare/objectives.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "output/notice.h"
#include "output/sinks/json.h"

#define SAYS_BYTES 200

struct objective {
	char *text;
	size_t number;         /* its case of the gate */
	struct trigger *of[2]; /* A, B */
	bool has_fired[2];     /* with `in DURATION`: it was spent at some time */
};

struct objectives {
	VEC(struct objective) all;
};

struct objectives *objectives_new(void)
{
	return mem_alloc(sizeof(struct objectives));
}

void objectives_free(struct objectives *objectives)
{
	if (objectives) {
		VEC_EACH(&objectives->all, one) {
			trigger_free(one->of[0]);
			trigger_free(one->of[1]);
			free(one->text);
		}
		vec_fini(&objectives->all);
	}
	free(objectives);
}

bool objectives_is_one(const char *text)
{
	return isdigit((unsigned char)text[strspn(text, " \t")]);
}

int objectives_add(struct objectives *objectives, const char *text, size_t number,
		   uint64_t interval_ns, struct err *err)
{
	struct objective *one = vec_push(&objectives->all);

	*one = (struct objective){ .text = mem_strdup(text), .number = number };
	for (int side = 0; side < 2; side++) {
		one->of[side] = trigger_new(NULL, text, err);
		if (!one->of[side]) {
			return err_note(err, -EINVAL, "--fail");
		}
		trigger_set_interval(one->of[side], interval_ns);
	}
	if (trigger_uses_phases(one->of[0])) {
		return err_raise(err, -EINVAL,
				 "--fail \"%s\": windows of compare have no phases: give it to "
				 "--fail of analyze --phases",
				 text);
	}
	return 0;
}

bool objectives_any(const struct objectives *objectives)
{
	return objectives->all.count > 0;
}

bool objectives_use_containers(const struct objectives *objectives)
{
	VEC_EACH(&objectives->all, one) {
		if (trigger_uses_containers(one->of[0])) {
			return true;
		}
	}
	return false;
}

void objectives_add_analyses(const struct objectives *objectives,
			     const struct analysis *list[ANALYSES_MAX])
{
	bool used[ANALYSES_MAX] = { false };
	size_t count = 0;

	for (size_t i = 0; list[i]; i++) {
		for (size_t k = 0; analyses[k]; k++) {
			used[k] |= analyses[k] == list[i];
		}
	}
	VEC_EACH(&objectives->all, one) {
		trigger_uses(one->of[0], used);
	}
	for (size_t k = 0; analyses[k]; k++) {
		if (used[k]) {
			list[count++] = analyses[k];
		}
	}
	list[count] = NULL;
}

void objectives_take(struct objectives *objectives, int side, const struct trace_identity *trace,
		     const struct report *window)
{
	assert(side == 0 || side == 1);
	VEC_EACH(&objectives->all, one) {
		struct trigger_event event;

		one->has_fired[side] |= trigger_evaluate(one->of[side], trace, window, &event);
	}
}

/* ---- what became of them ---- */

/* Of a trace: no window that counts decides nothing. */
enum verdict { UNMEASURED, MET, MISSED };

static enum verdict verdict_of(const struct objective *one, int side,
			       const struct trigger_budget *budget)
{
	bool is_of_run = trigger_is_of_run(one->of[side]);

	return budget->windows == 0 && !one->has_fired[side] ? UNMEASURED
	       : is_of_run            ? (notice_is_spent(budget) ? MISSED : MET)
	       : one->has_fired[side] ? MISSED
				      : MET;
}

/* Calls @each for each trace of a side. */
typedef void each_fn(void *user, const struct objective *one, int side, const char *trace,
		     const struct trigger_budget *budget, enum verdict verdict);

static void each_budget(const struct objective *one, int side, each_fn *each, void *user)
{
	struct trigger_budget budget = { 0 };
	const char *trace = NULL;
	size_t i;

	for (i = 0; i < trigger_budget_at(one->of[side], i, &trace, &budget); i++) {
		each(user, one, side, trace, &budget, verdict_of(one, side, &budget));
	}
	if (i == 0) {
		each(user, one, side, NULL, NULL, UNMEASURED);
	}
}

static const char *const verdicts[] = {
	[UNMEASURED] = "not measured", [MET] = "met", [MISSED] = "missed"
};

static void say_budget(char says[SAYS_BYTES], const struct trigger_budget *budget)
{
	(void)snprintf(says, SAYS_BYTES, "there was no window to look at");
	if (budget) {
		notice_budget_text(budget, says, SAYS_BYTES);
	}
}

static void print_budget(void *user, const struct objective *one, int side, const char *trace,
			 const struct trigger_budget *budget, enum verdict verdict)
{
	char says[SAYS_BYTES];

	say_budget(says, budget);
	(void)fprintf(user, "  %c  %-6s  %s%s%s%s\n", "AB"[side], verdicts[verdict], says,
		      trace ? " (" : "", trace ? trace : "", trace ? ")" : "");
}

void objectives_text(const struct objectives *objectives, FILE *out)
{
	VEC_EACH(&objectives->all, one) {
		(void)fprintf(out, "\nOBJECTIVE  %s\n", one->text);
		each_budget(one, 0, print_budget, out);
		each_budget(one, 1, print_budget, out);
	}
}

static void put_budget_line(void *user, const struct objective *one, int side, const char *trace,
			    const struct trigger_budget *budget, enum verdict verdict)
{
	struct json json;

	json_begin_object(&json, user, "compare-objective");
	json_text(&json, "when", one->text);
	json_text(&json, "side", side == 0 ? "a" : "b");
	if (trace) {
		json_text(&json, "name", trace);
	}
	if (verdict == UNMEASURED) {
		json_null(&json, "met");
	} else {
		json_bool(&json, "met", verdict == MET);
	}
	if (budget) {
		json_budget(&json, budget);
	}
	json_end_object(&json);
}

void objectives_json(const struct objectives *objectives, FILE *out)
{
	VEC_EACH(&objectives->all, one) {
		each_budget(one, 0, put_budget_line, out);
		each_budget(one, 1, put_budget_line, out);
	}
}

static void judge_budget(void *user, const struct objective *one, int side, const char *trace,
			 const struct trigger_budget *budget, enum verdict verdict)
{
	char says[SAYS_BYTES], *text;

	say_budget(says, budget);
	text = mem_printf("%c: %s%s%s%s", "AB"[side], says, trace ? " (" : "", trace ? trace : "",
			  trace ? ")" : "");
	if (side == 1 && verdict == MISSED) {
		gate_held(user, one->number, text);
	} else {
		gate_note(user, one->number, text);
	}
	free(text);
}

void objectives_check(const struct objectives *objectives, struct gate *gate)
{
	VEC_EACH(&objectives->all, one) {
		char why[160], *text;

		each_budget(one, 0, judge_budget, gate);
		each_budget(one, 1, judge_budget, gate);
		for (int side = 0; side < 2; side++) {
			if (!trigger_was_measured(one->of[side], why, sizeof(why))) {
				text = mem_printf("%c: %s", "AB"[side], why);
				gate_skip(gate, one->number, text);
				free(text);
			}
		}
	}
}
