/*
 * pattern: a user's definition of an event: "sched_switch prev_tid=$tid, prev_state&255=1".
 *
 *     DEFINITION = EVENT [CONDITION|@WHO, ...]
 *     CONDITION  = F=V | F!=V | F<V | F<=V | F>V | F>=V | F&MASK=V
 *
 * EVENT is the name of an event; "*" at its end matches any rest.  F is a field, V a number, a text
 * or $tid.  F=$tid says that the field names the thread that the event is about.  @WHO, a tid or a
 * name, says which thread that must be.  sched_in and sched_out stand for a sched_switch to and
 * from a thread.
 *
 * The parser is shared by periods (query/period.h) and executions (deep/jobs/jobs.h), which put
 * definitions together.
 */
#ifndef SILLAGE_QUERY_PATTERN_H
#define SILLAGE_QUERY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ctf/plan/plan.h"

#define PATTERN_WORD_BYTES 64
#define PATTERN_NAME_BYTES 32 /* of what the user names: a period, a job, a label */
#define CONDITIONS_MAX     8

enum condition_op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE };

struct pattern_condition {
	char field[1 +
		   PATTERN_WORD_BYTES]; /* as in a plan_request: PLAN_TEXT before a text field */
	char text[PATTERN_WORD_BYTES];  /* "": the value is a number */
	enum condition_op op;
	bool is_tid; /* the value is $tid */
	bool has_mask;
	int64_t mask, number;
};

struct definition {
	char event[PATTERN_WORD_BYTES];
	struct pattern_condition conditions[CONDITIONS_MAX];
	size_t count;
	bool has_tid;                 /* a condition has $tid */
	char who[PATTERN_WORD_BYTES]; /* "": any thread */
};

/* A text and the place in it.  Functions that take one return 0, or -EINVAL with an error that
 * names the column and what was expected there. */
struct pattern_parser {
	const char *text, *at;
	struct err *err;
};

/* Raises that error; returns -EINVAL. */
int pattern_expected(const struct pattern_parser *parser, const char *what);
/* Skips blanks. */
void pattern_blanks(struct pattern_parser *parser);
/* Skips @word and the blanks behind it, if the text goes on with it. */
bool pattern_take(struct pattern_parser *parser, const char *word);
/* Reads a word and the blanks behind it.  @what: for the error if there is no word. */
int pattern_word(struct pattern_parser *parser, const char *what, char word[PATTERN_WORD_BYTES]);
/* Reads "NAME =".  @whole: for the error if there is no name; @value: if there is no "=". */
int pattern_name(struct pattern_parser *parser, const char *whole, const char *value,
		 char name[PATTERN_NAME_BYTES]);
/* Reads a condition, which is added. */
int pattern_condition(struct pattern_parser *parser, struct definition *definition);
/* Reads a definition up to a semicolon or the end. */
int pattern_definition(struct pattern_parser *parser, struct definition *definition);

/* Whether a field's value meets a condition.  @tid: the value of $tid. */
bool pattern_condition_holds(const struct pattern_condition *condition, const struct value *value,
			     int32_t tid);

#endif
