/*
 * pattern: events as a user names them: "sched_switch prev_tid=$tid, prev_state&255=1".
 *
 * A definition is the name of an event ("*" at its end matches any rest) and conditions on its
 * fields, with commas between: F=V, F!=V, F<V, F<=V, F>V, F>=V, F&MASK=V, where V is a number, a
 * text, or $tid: the thread that it is about is the one that the field names.  sched_in and
 * sched_out are a sched_switch to and from a thread.  @WHO, among the conditions: the thread has to
 * be that one, by its tid or name.
 */
#ifndef SILLAGE_QUERY_PATTERN_H
#define SILLAGE_QUERY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ctf/plan/plan.h"

#define PATTERN_WORD_BYTES 64
#define CONDITIONS_MAX     8

enum condition_op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE };

struct condition {
	char field[1 + PATTERN_WORD_BYTES]; /* as of a request: of a text with PLAN_TEXT before */
	char text[PATTERN_WORD_BYTES];      /* "": a number */
	enum condition_op op;
	bool is_tid; /* the value is the thread */
	bool has_mask;
	int64_t mask, number;
};

struct definition {
	char event[PATTERN_WORD_BYTES];
	struct condition conditions[CONDITIONS_MAX];
	size_t count;
	bool has_tid;                 /* some condition names the thread */
	char who[PATTERN_WORD_BYTES]; /* "": any thread */
};

/* What is being read; errors are -EINVAL and name the column and what was expected. */
struct pattern_parser {
	const char *text, *at;
	struct err *err;
};

int pattern_expected(const struct pattern_parser *parser, const char *what);
void pattern_blanks(struct pattern_parser *parser);
/* @what: what was expected, if there is none. */
int pattern_word(struct pattern_parser *parser, const char *what, char word[PATTERN_WORD_BYTES]);
/* Up to a semicolon, or the end. */
int pattern_definition(struct pattern_parser *parser, struct definition *definition);

/* @tid: what $tid is compared with. */
bool pattern_condition_holds(const struct condition *condition, const struct value *value,
			     int32_t tid);

#endif
