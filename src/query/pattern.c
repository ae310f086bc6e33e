/*
 * pattern: see pattern.h.
 */
#include "query/pattern.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pattern_expected(const struct pattern_parser *parser, const char *what)
{
	assert(parser->at >= parser->text);
	assert(parser->at <= parser->text + strlen(parser->text));
	return err_raise(parser->err, -EINVAL, "\"%s\": column %zu: expected %s", parser->text,
			 (size_t)(parser->at - parser->text) + 1, what);
}

void pattern_blanks(struct pattern_parser *parser)
{
	parser->at += strspn(parser->at, " \t");
}

bool pattern_take(struct pattern_parser *parser, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(parser->at, word, len) != 0) {
		return false;
	}
	parser->at += len;
	pattern_blanks(parser);
	return true;
}

int pattern_word(struct pattern_parser *parser, const char *what, char word[PATTERN_WORD_BYTES])
{
	size_t len = 0;

	while (isalnum((unsigned char)parser->at[len]) ||
	       (parser->at[len] && strchr("_.*:-/", parser->at[len]))) {
		len++;
	}
	if (len == 0 || len >= PATTERN_WORD_BYTES) {
		return pattern_expected(parser, what);
	}
	memcpy(word, parser->at, len);
	word[len] = '\0';
	parser->at += len;
	pattern_blanks(parser);
	return 0;
}

int pattern_name(struct pattern_parser *parser, const char *whole, const char *value,
		 char name[PATTERN_NAME_BYTES])
{
	char word[PATTERN_WORD_BYTES];
	int r = pattern_word(parser, whole, word);

	if (r == 0 && strlen(word) >= PATTERN_NAME_BYTES) {
		return pattern_expected(parser, "a name of at most 31 characters before");
	}
	if (r == 0 && !pattern_take(parser, "=")) {
		return pattern_expected(parser, value);
	}
	(void)snprintf(name, PATTERN_NAME_BYTES, "%.31s", r == 0 ? word : "");
	return r;
}

static int parse_number(struct pattern_parser *parser, int64_t *ret)
{
	char *past;

	errno = 0;
	*ret = strtoll(parser->at, &past, 0);
	if (past == parser->at || errno != 0) {
		return pattern_expected(parser, "a number");
	}
	parser->at = past;
	pattern_blanks(parser);
	return 0;
}

static int parse_op(struct pattern_parser *parser, enum condition_op *ret)
{
	static const struct {
		const char *text;
		enum condition_op op;
	} ops[] = { { "!=", OP_NE }, { "<=", OP_LE }, { ">=", OP_GE },
		    { "=", OP_EQ },  { "<", OP_LT },  { ">", OP_GT } };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		size_t len = strlen(ops[i].text);

		if (strncmp(parser->at, ops[i].text, len) == 0) {
			*ret = ops[i].op;
			parser->at += len;
			pattern_blanks(parser);
			return 0;
		}
	}
	return pattern_expected(parser, "=, !=, <, <=, > or >=");
}

static int parse_value(struct pattern_parser *parser, struct pattern_condition *condition)
{
	if (strncmp(parser->at, "$tid", 4) == 0) {
		condition->is_tid = true;
		parser->at += 4;
		pattern_blanks(parser);
		return condition->op == OP_EQ ? 0 : pattern_expected(parser, "= before $tid");
	}
	if (isdigit((unsigned char)*parser->at) || *parser->at == '-') {
		return parse_number(parser, &condition->number);
	}
	if (condition->has_mask || (condition->op != OP_EQ && condition->op != OP_NE)) {
		return pattern_expected(parser, "a number");
	}
	return pattern_word(parser, "a number, a text, or $tid", condition->text);
}

int pattern_condition(struct pattern_parser *parser, struct definition *definition)
{
	struct pattern_condition *condition = &definition->conditions[definition->count];
	char field[PATTERN_WORD_BYTES];
	int r;

	if (definition->count == CONDITIONS_MAX) {
		return pattern_expected(parser, "no more than eight conditions");
	}
	r = pattern_word(parser, "a field", field);
	if (r == 0 && *parser->at == '&') {
		parser->at++;
		condition->has_mask = true;
		r = parse_number(parser, &condition->mask);
	}
	r = r < 0 ? r : parse_op(parser, &condition->op);
	r = r < 0 ? r : parse_value(parser, condition);
	(void)snprintf(condition->field, sizeof(condition->field), "%s%s",
		       condition->text[0] ? PLAN_TEXT : "", r < 0 ? "" : field);
	definition->has_tid |= condition->is_tid;
	definition->count++;
	assert(definition->count <= CONDITIONS_MAX);
	return r;
}

/* Replaces sched_in and sched_out by a sched_switch with a condition. */
static int resolve_alias(struct pattern_parser *parser, struct definition *definition)
{
	bool is_in = strcmp(definition->event, "sched_in") == 0;
	struct pattern_condition *condition;

	if (!is_in && strcmp(definition->event, "sched_out") != 0) {
		return 0;
	}
	if (definition->count == CONDITIONS_MAX) {
		return pattern_expected(parser, "no more than seven conditions before");
	}
	condition = &definition->conditions[definition->count++];
	strcpy(definition->event, "sched_switch");
	strcpy(condition->field, is_in ? "next_tid" : "prev_tid");
	condition->is_tid = true;
	definition->has_tid = true;
	return 0;
}

int pattern_definition(struct pattern_parser *parser, struct definition *definition)
{
	int r = pattern_word(parser, "the name of an event", definition->event);

	while (r == 0 && *parser->at && *parser->at != ';') {
		if (*parser->at == '@') {
			parser->at++;
			r = pattern_word(parser, "a tid or the name of a thread", definition->who);
		} else {
			r = pattern_condition(parser, definition);
		}
		if (r == 0 && *parser->at == ',') {
			parser->at++;
			pattern_blanks(parser);
		}
	}
	return r < 0 ? r : resolve_alias(parser, definition);
}

/* ---- matching ---- */

static bool compare(int64_t a, enum condition_op op, int64_t b)
{
	switch (op) {
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LT:
		return a < b;
	case OP_LE:
		return a <= b;
	case OP_GT:
		return a > b;
	case OP_GE:
		break;
	}
	return a >= b;
}

bool pattern_condition_holds(const struct pattern_condition *condition, const struct value *value,
			     int32_t tid)
{
	if (condition->is_tid) {
		return value->i == tid;
	}
	if (condition->text[0]) {
		size_t len = strlen(condition->text);
		bool is_same = value->len >= len &&
			       strnlen((const char *)value->bytes, value->len) == len &&
			       memcmp(value->bytes, condition->text, len) == 0;

		return is_same == (condition->op == OP_EQ);
	}
	return compare(condition->has_mask ? value->i & condition->mask : value->i, condition->op,
		       condition->number);
}
