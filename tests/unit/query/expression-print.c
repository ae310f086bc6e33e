/*
 * expression-print: see expression-print.h.
 */
#include "expression-print.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct out {
	char *at;
	size_t left;
};

static void __attribute__((format(printf, 2, 3))) put(struct out *out, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(out->at, out->left, format, args);
	va_end(args);
	assert(len >= 0 && (size_t)len < out->left);
	out->at += len;
	out->left -= (size_t)len;
}

/* Words that mean something where a word may stand. */
static bool is_taken(const char *word)
{
	static const char *const taken[] = { "by",     "then",   "each",     "group",
					     "within", "global", "deadline", "every",
					     "only",   "key",    "name" };

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (strcmp(taken[i], word) == 0) {
			return true;
		}
	}
	for (const struct pattern_model *model = pattern_models; model->name[0]; model++) {
		if (strcmp(model->name, word) == 0) {
			return true;
		}
	}
	return false;
}

static void put_word(struct out *out, const char *word, bool is_value)
{
	bool is_plain = *word && !is_taken(word) &&
			!(is_value && (*word == '-' || (*word >= '0' && *word <= '9')));

	for (const char *at = word; *at; at++) {
		is_plain &= scan_is_letter(*at, PATTERN_LETTERS);
	}
	if (is_plain) {
		put(out, "%s", word);
		return;
	}
	put(out, "\"");
	for (; *word; word++) {
		put(out, *word == '"' || *word == '\\' ? "\\%c" : "%c", *word);
	}
	put(out, "\"");
}

static void put_regex(struct out *out, const char *text)
{
	put(out, "/");
	for (; *text; text++) {
		if (*text == '\\' && text[1]) {
			put(out, "%c%c", text[0], text[1]);
			text++;
		} else {
			put(out, *text == '/' ? "\\/" : "%c", *text);
		}
	}
	put(out, "/");
}

static void put_number(struct out *out, const struct scan_number *number)
{
	if (number->is_real) {
		put(out, "%.17g", number->real);
	} else if (number->is_huge) {
		put(out, "0x%" PRIx64, (uint64_t)number->whole);
	} else {
		put(out, "%" PRId64, number->whole);
	}
}

/* What is made of others is written as it is. */
static void put_field(struct out *out, const char *field)
{
	if (field[0] == '$') {
		put(out, "%s", field);
	} else {
		put_word(out, field, false);
	}
}

static void put_condition(struct out *out, const struct pattern_condition *condition)
{
	static const char *const ops[] = { [OP_EQ] = "=",  [OP_NE] = "!=", [OP_LT] = "<",
					   [OP_LE] = "<=", [OP_GT] = ">",  [OP_GE] = ">=" };

	put(out, " ");
	put_field(out, condition->field);
	if (condition->has_mask) {
		put(out, "&");
		put_number(out, &condition->mask);
	}
	if (condition->regex) {
		put(out, condition->op == OP_EQ ? "~" : "!~");
		put_regex(out, condition->text);
		return;
	}
	put(out, "%s", ops[condition->op]);
	if (condition->is_tid) {
		put(out, "$tid");
	} else if (condition->is_text) {
		put_word(out, condition->text, true);
	} else {
		put_number(out, &condition->number);
	}
}

static void put_use(struct out *out, const struct expression_use *use)
{
	if (use->label[0]) {
		put_word(out, use->label, false);
	}
	for (size_t i = 0; i < use->count; i++) {
		put(out, "%s", i > 0 ? ", " : use->label[0] ? "(" : "");
		put_field(out, use->fields[i]);
	}
	put(out, "%s", use->label[0] ? ")" : "");
}

static void put_event(struct out *out, const struct definition *definition)
{
	const char *who = definition->who.at;

	put_word(out, definition->event, false);
	for (size_t i = 0; i < definition->count; i++) {
		put_condition(out, &definition->conditions[i]);
	}
	for (size_t i = 0; i < definition->who.count; i++) {
		put(out, "%s", i == 0 ? " @" : "|");
		put_word(out, who, false);
		who += strlen(who) + 1;
	}
}

static void put_link(struct out *out, const struct expression_link *link)
{
	const char *comma = "";

	if (!link->has_keys) {
		return;
	}
	put(out, "; by %s", link->is_global ? "global " : "");
	if (link->has_tid) {
		put(out, "$tid");
		comma = ", ";
	}
	for (size_t i = 0; i < link->key_count; i++, comma = ", ") {
		put(out, "%s", comma);
		put_field(out, link->keys[i].begin);
		if (strcmp(link->keys[i].begin, link->keys[i].end) != 0) {
			put(out, "=");
			put_field(out, link->keys[i].end);
		}
	}
}

static void put_events(struct out *out, const struct expression *is, enum expression_form form)
{
	bool is_period = form == FORM_PERIOD;

	if (is->model) {
		put(out, "%s", is->model->name);
	}
	for (size_t i = 0; !is->model && i < is->event_count; i++) {
		put(out, "%s", i == 0 ? "" : form == FORM_SPAN ? "," : "; ");
		put(out, "%s", is_period && i > 1 ? "then " : "");
		/* A span has no conditions: this one is what sched_in and sched_out stand for. */
		if (form == FORM_SPAN && is->events[i].count > 0) {
			put(out,
			    is->events[i].conditions[0].field[0] == 'n' ? "sched_in" : "sched_out");
			continue;
		}
		put_event(out, &is->events[i]);
		if (is_period && i > 0) {
			put_link(out, &is->links[i - 1]);
		}
	}
	if (form == FORM_JOB || form == FORM_AROUND) {
		put_link(out, &is->links[0]);
	}
}

static void put_label(struct out *out, const struct expression *is)
{
	put(out, " key=%s", is->by_process ? "$pid, " : "");
	put_use(out, &is->key);
	put(out, " name=");
	put_use(out, &is->value);
}

void expression_print(const struct expression *is, enum expression_form form,
		      char text[EXPRESSION_PRINTED_BYTES])
{
	struct out out = { .at = text, .left = EXPRESSION_PRINTED_BYTES };

	if (is->has_name) {
		put(&out, "%s = ", is->name);
	}
	put_events(&out, is, form);
	if (form == FORM_LABEL) {
		put_label(&out, is);
	}
	put(&out, "%s", is->has_each ? "; each" : "");
	for (size_t i = 0; i < is->use_count; i++) {
		put(&out, i == 0 ? "; group " : ", ");
		put_use(&out, &is->uses[i]);
	}
	for (size_t i = 0; i < is->diff_count; i++) {
		put(&out, i == 0 ? "; diff " : ", ");
		put_field(&out, is->diffs[i]);
	}
	if (is->within[0]) {
		put(&out, "; within ");
		put_word(&out, is->within, false);
	}
	if (is->deadline_ns != UINT64_MAX) {
		put(&out, "; deadline %" PRIu64 "ns", is->deadline_ns);
	}
	if (is->every_ns > 0) {
		put(&out, "; every %" PRIu64 "ns", is->every_ns);
	}
	if (is->due.count > 0) {
		put(&out, "; every ");
		put_use(&out, &is->due);
	}
	put(&out, "%s", is->is_fixed ? " fixed" : "");
	if (is->only.count > 0) {
		put(&out, "; only ");
		put_use(&out, &is->only);
		put(&out, "=");
		put_word(&out, is->only_is, false);
	}
}

bool expression_print_check(const char *text, enum expression_form form)
{
	char *first = mem_alloc(EXPRESSION_PRINTED_BYTES);
	char *again = mem_alloc(EXPRESSION_PRINTED_BYTES);
	struct expression *is;
	struct err err;
	bool is_valid = expression_parse(text, form, &is, &err) == 0;

	if (is_valid) {
		expression_print(is, form, first);
		expression_free(is);
		if (expression_parse(first, form, &is, &err) < 0) {
			(void)fprintf(stderr, "\"%s\" is printed as \"%s\": %s\n", text, first,
				      err.text);
			abort();
		}
		expression_print(is, form, again);
		expression_free(is);
		if (strcmp(first, again) != 0) {
			(void)fprintf(stderr, "\"%s\" becomes \"%s\"\n", first, again);
			abort();
		}
	}
	free(first);
	free(again);
	return is_valid;
}
