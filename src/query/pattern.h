/*
 * pattern: what an event has to be: its name, conditions on its fields, its thread.
 *
 *     sched_switch prev_tid=$tid, prev_state&255=1
 *
 * doc/expressions.md has the language, and expression.h the parser.
 */
#pragma once

#include <string.h>

#include "query/scan.h"
#include "query/split.h"
#include "query/value.h"

#define PATTERN_WORD_BYTES 64
#define PATTERN_TEXT_BYTES 128 /* of a text or regular expression that a field is compared with */
#define PATTERN_NAME_BYTES 32  /* of what the user names: a period, a job, a label */
#define CONDITIONS_MAX     8

#define PATTERN_LETTERS "_.*:-/" /* of words, beside letters and digits */

enum condition_op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE };

struct pattern_condition {
	char field[PATTERN_WORD_BYTES];
	enum condition_op op; /* of texts OP_EQ or OP_NE */
	bool is_tid;          /* the value is $tid */
	bool is_text;         /* it is `text`: */
	struct split *regex;  /* which is a regular expression; NULL: it is not */
	bool has_mask;
	struct scan_number mask, number;
	char text[PATTERN_TEXT_BYTES];
};

/* Threads: tids, names, and patterns of names as those of a shell, one after the other. */
struct pattern_who {
	char at[PATTERN_TEXT_BYTES]; /* each ends in a zero */
	size_t len, count;           /* no count: any thread */
	bool has_names;              /* not all of them are tids */
};

struct definition {
	char event[PATTERN_WORD_BYTES]; /* "*" at its end: any rest */
	struct pattern_condition conditions[CONDITIONS_MAX];
	size_t count;
	bool has_tid; /* a condition has $tid */
	struct pattern_who who;
};

/* Whether it is of a program, as LTTng calls them: PROVIDER:EVENT.  Names of a kernel's have no
 * colon. */
static inline bool definition_is_of_program(const struct definition *definition)
{
	return strchr(definition->event, ':') != NULL;
}

/* A pattern that has a name. */
struct pattern_model {
	const char *name, *pattern, *summary;
};
/* The last one has an empty name. */
extern const struct pattern_model pattern_models[];

/* The name of an event as a word of the language, in quotes if it needs them; from malloc().  It
 * has to be shorter than PATTERN_WORD_BYTES. */
char *pattern_word(const char *event);

/* Reads what stands behind the field: [& MASK] OP VALUE.  0, or -EINVAL as of scan.h.  The
 * condition may own something in any case. */
int pattern_parse(struct scan *scan, struct pattern_condition *condition);
void pattern_fini(struct definition *definition);

/* Adds a tid, name or pattern; false: it has no room. */
bool pattern_add_who(struct pattern_who *who, const char *one);
/* Whether they have a thread, by its tid and its name ("": unknown). */
bool pattern_has_who(const struct pattern_who *who, int32_t tid, const char *name);

/* What a condition splits off a text, as a field of its own: "(?<ms>[0-9]+)" is $ms, and $1. */
struct pattern_part {
	const struct pattern_condition *of;
	size_t number; /* of its regular expression's parts */
};

/* "ms", or "1", which counts the parts of all conditions; false: there is none. */
bool pattern_find_part(const struct definition *what, const char *name, struct pattern_part *ret);
/* Whether one of the definitions splits off what is called so. */
bool pattern_has_part(const struct definition *what, size_t count, const char *name);
/* The part of the field's value; false: it has none.  A text that is a number is that number. */
bool pattern_part(const struct pattern_part *part, const struct query_value *value,
		  struct query_value *ret);

/* Whether a field's value meets a condition.  @tid: the value of $tid. */
bool pattern_condition_holds(const struct pattern_condition *condition,
			     const struct query_value *value, int32_t tid);
