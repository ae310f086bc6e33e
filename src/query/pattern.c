/*
 * pattern: see pattern.h.
 */
#include "query/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernel/thread-list.h"

const struct pattern_model pattern_models[] = {
	{ "run", "sched_in; sched_out", "a stay on a CPU" },
	{ "run-to-sleep", "sched_in; sched_switch prev_tid=$tid, prev_state&207!=0",
	  "from the first stay to sleep" },
	{ "wake-to-sleep",
	  "sched_waking tid=$tid; sched_in; sched_switch prev_tid=$tid, prev_state&207!=0",
	  "from the wake-up to sleep" },
	{ "sleep", "sched_switch prev_tid=$tid, prev_state&207!=0; sched_in", "a sleep" },
	{ "periodic", "syscall_exit_clock_nanosleep; syscall_entry_clock_nanosleep",
	  "between two sleeps of a periodic thread" },
	{ "timerfd", "syscall_exit_read; syscall_entry_read", "between two reads, of a timer too" },
	{ "mq", "syscall_exit_mq_timedreceive; syscall_entry_mq_timedreceive",
	  "from a message to the next wait for one" },
	{ "signal", "syscall_exit_rt_sigtimedwait; syscall_entry_rt_sigtimedwait",
	  "from a signal to the next wait for one" },
	{ "", NULL, NULL },
};

/* ---- parsing ---- */

static int take_op(struct scan *scan, enum condition_op *op, bool *is_match)
{
	static const struct {
		const char *text;
		enum condition_op op;
		bool is_match;
	} ops[] = { { "=~", OP_EQ, true },  { "!=", OP_NE, false }, { "!~", OP_NE, true },
		    { "<=", OP_LE, false }, { ">=", OP_GE, false }, { "=", OP_EQ, false },
		    { "<", OP_LT, false },  { ">", OP_GT, false },  { "~", OP_EQ, true } };

	for (size_t i = 0; i < ARRAY_COUNT(ops); i++) {
		if (scan_take(scan, ops[i].text)) {
			*op = ops[i].op;
			*is_match = ops[i].is_match;
			return 0;
		}
	}
	return scan_expected(scan, "=, !=, <, <=, >, >=, ~ or !~");
}

static int take_regex(struct scan *scan, struct pattern_condition *condition)
{
	const struct scan before = *scan;
	int r;

	if (condition->has_mask || *scan->at != '/') {
		return scan_expected(scan, condition->has_mask ? "a comparison of numbers before"
							       : "/ and a regular expression");
	}
	condition->is_text = true;
	r = scan_quoted(scan, condition->text, sizeof(condition->text));
	condition->regex = r == 0 ? split_new(condition->text) : NULL;
	return r == 0 && !condition->regex
		       ? scan_expected(&before,
				       "a regular expression, without { and \\1, with at most "
				       "eight +")
		       : r;
}

static int take_value(struct scan *scan, struct pattern_condition *condition)
{
	if (scan_take(scan, "$tid")) {
		condition->is_tid = true;
		return condition->op == OP_EQ && !condition->has_mask
			       ? 0
			       : scan_expected(scan, "= before $tid");
	}
	if (scan_is_number(scan)) {
		return scan_number(scan, &condition->number);
	}
	if (condition->has_mask || (condition->op != OP_EQ && condition->op != OP_NE)) {
		return scan_expected(scan, "a number");
	}
	condition->is_text = true;
	return scan_text(scan, PATTERN_LETTERS, "a number, a text, or $tid", condition->text,
			 sizeof(condition->text));
}

int pattern_parse(struct scan *scan, struct pattern_condition *condition)
{
	bool is_match = false;
	int r = 0;

	condition->has_mask = scan_take(scan, "&");
	r = condition->has_mask ? scan_number(scan, &condition->mask) : 0;
	if (r == 0 && condition->mask.is_real) {
		return scan_expected(scan, "a whole number before");
	}
	r = r < 0 ? r : take_op(scan, &condition->op, &is_match);
	if (r == 0) {
		r = is_match ? take_regex(scan, condition) : take_value(scan, condition);
	}
	return r;
}

void pattern_fini(struct definition *definition)
{
	for (size_t i = 0; i < definition->count; i++) {
		split_free(definition->conditions[i].regex);
	}
}

/* ---- threads ---- */

char *pattern_word(const char *event)
{
	bool is_plain = *event;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (const char *c = event; *c; c++) {
		is_plain &= scan_is_letter(*c, PATTERN_LETTERS) && *c != '*';
	}
	(void)fputs(is_plain ? "" : "\"", out);
	for (const char *c = event; *c; c++) {
		(void)fputs(!is_plain && (*c == '"' || *c == '\\') ? "\\" : "", out);
		(void)fputc(*c, out);
	}
	(void)fputs(is_plain ? "" : "\"", out);
	(void)fclose(out);
	return text;
}

bool pattern_add_who(struct pattern_who *who, const char *one)
{
	size_t size = strlen(one) + 1;

	if (who->len + size > sizeof(who->at)) {
		return false;
	}
	memcpy(who->at + who->len, one, size);
	who->len += size;
	who->count++;
	who->has_names |= one[strspn(one, "0123456789")] != '\0';
	return true;
}

bool pattern_has_who(const struct pattern_who *who, int32_t tid, const char *name)
{
	const char *one = who->at;

	for (size_t i = 0; i < who->count; i++) {
		if (thread_list_one(one, tid, name)) {
			return true;
		}
		one += strlen(one) + 1;
	}
	return who->count == 0;
}

/* ---- matching ---- */

static bool is_text(const struct pattern_condition *condition, const char *text, size_t len)
{
	if (condition->regex) {
		return split_matches(condition->regex, text, len);
	}
	return len == strlen(condition->text) && memcmp(text, condition->text, len) == 0;
}

/* Of an enumeration one of the labels of its number has to be the text. */
static bool text_holds(const struct pattern_condition *condition, const struct query_value *value)
{
	const char *text = (const char *)value->is.bytes;
	bool is_found = false;
	size_t at = 0;

	if (value->kind == QUERY_TEXT) {
		is_found = is_text(condition, text, strnlen(text, value->is.len));
	} else if (value->kind == QUERY_REAL || value->type->kind != TYPE_ENUM) {
		return false;
	}
	while (value->kind == QUERY_NUMBER && !is_found && (text = query_value_label(value, &at))) {
		is_found = is_text(condition, text, strlen(text));
	}
	return is_found == (condition->op == OP_EQ);
}

/* -1, 0, 1: the field is less than, equal to, or more than the number; UNORDERED: none of them. */
enum { UNORDERED = 2 };

/* A double of the field's own precision: 0.1 is 0.1 of a field of 32 bits, too. */
static int order_real(const struct query_value *value, double number)
{
	double real = value->type->size_bits == 32 ? (double)(float)number : number;

	return isnan(value->is.f) ? UNORDERED : value->is.f < real ? -1 : value->is.f > real;
}

/* An unsigned field equals a negative number of the same 64 bits, and is more than all others. */
static int order_whole(const struct query_value *value, const struct pattern_condition *condition)
{
	const struct scan_number *number = &condition->number;
	uint64_t bits =
		value->is.u & (condition->has_mask ? (uint64_t)condition->mask.whole : UINT64_MAX);
	bool is_equality = condition->op == OP_EQ || condition->op == OP_NE;
	bool is_negative =
		(value->is_signed || (is_equality && number->real < 0)) && (int64_t)bits < 0;

	/* A real number is not whole, or beyond all whole ones: a double's precision will do. */
	if (number->is_real) {
		double real = is_negative ? (double)(int64_t)bits : (double)bits;

		return real < number->real ? -1 : real > number->real;
	}
	if (is_negative != (number->real < 0)) {
		return is_negative ? -1 : 1;
	}
	return bits < (uint64_t)number->whole ? -1 : bits > (uint64_t)number->whole;
}

static int order(const struct query_value *value, const struct pattern_condition *condition)
{
	switch (value->kind) {
	case QUERY_NUMBER:
		return order_whole(value, condition);
	case QUERY_REAL:
		return condition->has_mask ? UNORDERED : order_real(value, condition->number.real);
	case QUERY_TEXT:
		break;
	}
	return UNORDERED;
}

bool pattern_condition_holds(const struct pattern_condition *condition,
			     const struct query_value *value, int32_t tid)
{
	int by;

	if (condition->is_tid) {
		return value->kind == QUERY_NUMBER && value->is.i == tid;
	}
	if (condition->is_text) {
		return text_holds(condition, value);
	}
	by = order(value, condition);
	switch (condition->op) {
	case OP_EQ:
		return by == 0;
	case OP_NE:
		return by != 0;
	case OP_LT:
		return by == -1;
	case OP_LE:
		return by == -1 || by == 0;
	case OP_GT:
		return by == 1;
	case OP_GE:
		break;
	}
	return by == 1 || by == 0;
}

/* ---- parts ---- */

bool pattern_find_part(const struct definition *what, const char *name, struct pattern_part *ret)
{
	size_t number = isdigit((unsigned char)*name) ? strtoul(name, NULL, 10) : 0;

	for (size_t i = 0; i < what->count; i++) {
		const struct pattern_condition *of = &what->conditions[i];
		size_t count = of->regex && of->op == OP_EQ ? of->regex->count : 0;

		*ret = (struct pattern_part){ .of = of, .number = number - 1 };
		if (number > 0 && number <= count) {
			return true;
		}
		number -= number > 0 ? count : 0;
		ret->number = count > 0 ? split_named(of->regex, name) : SIZE_MAX;
		if (ret->number != SIZE_MAX) {
			return true;
		}
	}
	return false;
}

bool pattern_has_part(const struct definition *what, size_t count, const char *name)
{
	struct pattern_part unused;
	bool has_it = false;

	for (size_t i = 0; i < count; i++) {
		has_it |= pattern_find_part(&what[i], name, &unused);
	}
	return has_it;
}

/* Whether it is [-]digits[.digits] or 0x and digits. */
static bool is_numeral(const char *text, bool *is_real)
{
	bool is_hex = strncmp(text, "0x", 2) == 0;
	const char *at = text + (is_hex ? 2 : *text == '-');
	size_t digits = strspn(at, is_hex ? "0123456789abcdefABCDEF" : "0123456789");
	size_t more = !is_hex && at[digits] == '.' ? strspn(at + digits + 1, "0123456789") : 0;

	*is_real = more > 0;
	return digits > 0 && !at[digits + (more > 0 ? more + 1 : 0)];
}

/* Whole numbers of 64 bits, and those with a fraction; other texts stay.  Each is shown as it was.
 */
static void to_number(struct query_value *value)
{
	static const struct type is_signed = { .kind = TYPE_INT,
					       .size_bits = 64,
					       .is_signed = true },
				 is_unsigned = { .kind = TYPE_INT, .size_bits = 64 },
				 is_float = { .kind = TYPE_FLOAT, .size_bits = 64 };
	char text[QUERY_NUMBER_BYTES] = "";
	bool is_real;
	int base;

	if (value->is.len >= sizeof(text)) {
		return;
	}
	memcpy(text, value->is.bytes, value->is.len);
	if (!is_numeral(text, &is_real)) {
		return;
	}
	value->shown = (const char *)value->is.bytes;
	base = text[1] == 'x' ? 16 : 10;
	errno = 0;
	if (is_real) {
		value->kind = QUERY_REAL;
		value->type = &is_float;
		value->is.f = strtod(text, NULL);
		return;
	}
	value->kind = QUERY_NUMBER;
	value->is_signed = text[0] == '-';
	value->type = value->is_signed ? &is_signed : &is_unsigned;
	value->is.u =
		value->is_signed ? (uint64_t)strtoll(text, NULL, base) : strtoull(text, NULL, base);
	if (errno == ERANGE) {
		value->kind = QUERY_TEXT;
		value->is.bytes = (const uint8_t *)value->shown;
		value->shown = NULL;
	}
}

bool pattern_part(const struct pattern_part *part, const struct query_value *value,
		  struct query_value *ret)
{
	const struct split *split = part->of->regex;
	const char *text = (const char *)value->is.bytes;
	bool is_found = false;
	size_t at = 0;

	*ret = (struct query_value){ .kind = QUERY_TEXT };
	if (value->kind == QUERY_TEXT) {
		is_found = split_part(split, text, strnlen(text, value->is.len), part->number,
				      &text, &ret->is.len);
	} else if (value->kind == QUERY_REAL || value->type->kind != TYPE_ENUM) {
		return false;
	}
	while (value->kind == QUERY_NUMBER && !is_found && (text = query_value_label(value, &at))) {
		is_found = split_part(split, text, strlen(text), part->number, &text, &ret->is.len);
	}
	ret->is.bytes = (const uint8_t *)text;
	if (is_found) {
		to_number(ret);
	}
	return is_found;
}
