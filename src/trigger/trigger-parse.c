/*
 * trigger-parse: parses the text of a trigger; the grammar is in trigger.h.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "trigger/trigger-parts.h"

void trigger_condition_free(struct condition *c)
{
	if (c) {
		trigger_condition_free(c->left);
		trigger_condition_free(c->right);
		figure_fini(&c->figure);
		free(c->near);
		free(c);
	}
}

/* ---- conditions ---- */

static bool take_value(struct scan *scan, struct condition *c, bool is_until)
{
	char word[40];
	size_t len;

	scan_blanks(scan);
	if (strncmp(scan->at, "auto(", 5) == 0) {
		return is_until ? scan_fail(scan, "auto() is not possible in `until`")
				: auto_parse(scan, c);
	}
	if (strncmp(scan->at, "baseline", strlen("baseline")) == 0) {
		return baseline_parse(scan, c);
	}
	len = scan_peek(scan, " \t\n)", word, sizeof(word));
	if (len == 0) {
		return scan_fail(scan, "expected a value such as 90%%, 3ms or 200M/s");
	}
	if (!figure_parse_value(&c->figure, word, &c->limit)) {
		return scan_fail(scan, "%s", figure_value_form(&c->figure));
	}
	scan->at += len;
	assert(c->limit >= 0);
	return true;
}

#define DEPTH_MAX 32 /* of brackets */

static struct condition *take_any(struct scan *scan, bool is_until, unsigned int depth);

static struct condition *take_brackets(struct scan *scan, bool is_until, unsigned int depth)
{
	struct condition *c;

	if (depth == DEPTH_MAX) {
		(void)scan_fail(scan, "too many brackets");
		return NULL;
	}
	(void)scan_sign(scan, '(');
	c = take_any(scan, is_until, depth + 1);
	if (c && !scan_sign(scan, ')')) {
		(void)scan_fail(scan, "expected )");
		trigger_condition_free(c);
		return NULL;
	}
	return c;
}

static struct condition *take_one(struct scan *scan, bool is_until, unsigned int depth)
{
	struct condition *c;

	scan_blanks(scan);
	if (*scan->at == '(') {
		return take_brackets(scan, is_until, depth);
	}
	c = mem_alloc(sizeof(*c));
	if (!figure_parse(scan, &c->figure) || !op_parse(scan, &c->op) ||
	    !take_value(scan, c, is_until)) {
		trigger_condition_free(c);
		return NULL;
	}
	return c;
}

static struct condition *join(enum node_kind kind, struct condition *left, struct condition *right)
{
	struct condition *c;

	if (!left || !right) {
		trigger_condition_free(left);
		trigger_condition_free(right);
		return NULL;
	}
	assert(kind != NODE_COMPARE);
	c = mem_alloc(sizeof(*c));
	c->kind = kind;
	c->left = left;
	c->right = right;
	return c;
}

static struct condition *take_all(struct scan *scan, bool is_until, unsigned int depth)
{
	struct condition *c = take_one(scan, is_until, depth);

	while (c && scan_word(scan, "and")) {
		c = join(NODE_AND, c, take_one(scan, is_until, depth));
	}
	return c;
}

static struct condition *take_any(struct scan *scan, bool is_until, unsigned int depth)
{
	struct condition *c = take_all(scan, is_until, depth);

	while (c && scan_word(scan, "or")) {
		c = join(NODE_OR, c, take_all(scan, is_until, depth));
	}
	return c;
}

/* ---- the rest ---- */

bool trigger_take_duration(struct scan *scan, uint64_t *ret_ns)
{
	char word[32];
	size_t len = scan_peek(scan, " \t\n:", word, sizeof(word));

	if (units_parse_duration(word, ret_ns) < 0) {
		return scan_fail(scan, "expected a duration such as 3s");
	}
	scan->at += len;
	return true;
}

/* on 3 hosts */
static bool take_hosts(struct scan *scan, uint64_t *ret)
{
	char *past;

	scan_blanks(scan);
	*ret = isdigit((unsigned char)*scan->at) ? strtoull(scan->at, &past, 10) : 0;
	if (*ret == 0 || *ret > UINT32_MAX) {
		return scan_fail(scan, "expected how many hosts, at least 1");
	}
	scan->at = past;
	return scan_word(scan, "hosts") || scan_word(scan, "host") ||
	       scan_fail(scan, "expected hosts");
}

/* until cpu.busy < 70%; or until < 70%, which is about the figure of `when`. */
static bool take_until(struct scan *scan, struct trigger *trigger)
{
	scan_blanks(scan);
	if (*scan->at != '<' && *scan->at != '>') {
		trigger->until = take_any(scan, true, 0);
		return trigger->until;
	}
	if (trigger->when->kind != NODE_COMPARE) {
		return scan_fail(scan, "name the figure: there are several");
	}
	trigger->until = mem_alloc(sizeof(*trigger->until));
	figure_copy(&trigger->until->figure, &trigger->when->figure);
	return op_parse(scan, &trigger->until->op) && take_value(scan, trigger->until, true);
}

/* Each part once: what is given again is refused as what it is not. */
static bool take_parts(struct scan *scan, struct trigger *trigger)
{
	for (;;) {
		bool is_right;

		if (trigger->for_ns == 0 && scan_word(scan, "for")) {
			is_right = trigger_take_duration(scan, &trigger->for_ns);
		} else if (trigger->every_ns == 0 && scan_word(scan, "every")) {
			is_right = trigger_take_duration(scan, &trigger->every_ns);
		} else if (trigger->hosts == 0 && scan_word(scan, "on")) {
			is_right = take_hosts(scan, &trigger->hosts);
		} else if (!trigger->until && scan_word(scan, "until")) {
			is_right = take_until(scan, trigger);
		} else if (scan_word(scan, "complete")) {
			is_right = trigger->wants_complete = true;
		} else {
			scan_blanks(scan);
			return *scan->at == '\0' ||
			       scan_fail(scan, "expected and, or, for, until, every, complete, on, "
					       "or the end");
		}
		if (!is_right) {
			return false;
		}
	}
}

static void list_comparisons(struct trigger *trigger, const struct condition *c)
{
	if (c && c->kind != NODE_COMPARE) {
		list_comparisons(trigger, c->left);
		list_comparisons(trigger, c->right);
	} else if (c) {
		*vec_push(&trigger->all) = c;
		for (const struct figure *one = &c->figure; one; one = one->per) {
			*vec_push(&trigger->figures.at) = one;
		}
	}
}

/* The list of which all compared rows are the same selected ones; NULL: there are several. */
static const struct figure *subject_of(const struct trigger *trigger)
{
	const struct figure *subject = NULL;

	for (size_t i = 0; i < trigger->all.count; i++) {
		const struct figure *figure = &trigger->all.at[i]->figure;

		if (figure_is_of_trace(figure)) {
			continue;
		}
		subject = subject ? subject : figure;
		if (!figure_has_rows_of(figure, subject)) {
			return NULL;
		}
	}
	return subject;
}

bool trigger_parse(struct scan *scan, struct trigger *trigger)
{
	if (!budget_parse(scan, trigger)) {
		return false;
	}
	trigger->when = take_any(scan, false, 0);
	if (!trigger->when || !take_parts(scan, trigger) ||
	    (trigger->objective > 0 && !budget_negate(scan, trigger))) {
		return false;
	}
	list_comparisons(trigger, trigger->when);
	trigger->when_count = trigger->all.count;
	list_comparisons(trigger, trigger->until);
	trigger->subject = trigger->objective > 0 ? NULL : subject_of(trigger);
	for (size_t i = 0; i < trigger->all.count; i++) {
		trigger->uses_baseline |= trigger->all.at[i]->is_baseline;
		trigger->divides |= trigger->all.at[i]->figure.per != NULL;
	}
	return true;
}
