/*
 * expression: what a user asks for of events, as a tree.  It is one language for --period,
 * --ust-span, --job, --within, --call, --label and models; doc/expressions.md describes it.
 *
 *     text ── query/scan.h ──► words ── expression_parse() ──► tree ──► period, job, label
 *
 * What each option allows of the language is a table (expression.c).  A tree says what was written;
 * its reader finds labels and periods by their names, and fields in events (fields.h).
 */
#pragma once

#include "query/keys/keys-met.h"
#include "query/pattern.h"

#define EXPRESSION_EVENTS_MAX  16
#define EXPRESSION_STEPS_MAX   8 /* events of a period */
#define EXPRESSION_KEYS_MAX    3 /* $tid and $pid not counted */
#define EXPRESSION_USES_MAX    2
#define EXPRESSION_DIFFS_MAX   4
#define EXPRESSION_RENAMED_MAX 8 /* that are shown as they were written */

enum expression_form {
	FORM_PERIOD,
	FORM_SPAN, /* BEGIN,END: a period */
	FORM_CALL,
	FORM_JOB,
	FORM_AROUND, /* what executions of a report lie in */
	FORM_LABEL,
	FORMS
};

/* FIELD, or LABEL(FIELD, ...). */
struct expression_use {
	char label[PATTERN_NAME_BYTES]; /* "": FIELD */
	char fields[EXPRESSION_KEYS_MAX][PATTERN_WORD_BYTES];
	size_t count;
	const char *at, *end; /* where it is in the text */
};

/* Of the event before and the one after: fields, or both "$cpu" or "$pid". */
struct expression_key {
	char begin[PATTERN_WORD_BYTES], end[PATTERN_WORD_BYTES];
};

/* How an event belongs to the one before it: by its thread, unless it has keys. */
struct expression_link {
	struct expression_key keys[EXPRESSION_KEYS_MAX];
	size_t key_count;
	bool has_keys;  /* "by" */
	bool is_global; /* events of any processes belong together: "global" */
	bool has_tid;   /* $tid is a key */
	const char *at; /* where the keys are in the text */
	struct keys_met
		*met; /* by readers, of keys that are of a process; NULL: there is no "by" */
};

struct expression {
	char *text;                    /* the user's */
	char name[PATTERN_NAME_BYTES]; /* if none was given: that of the model or first event */
	bool has_name;
	const struct pattern_model *model;  /* that the events are of; NULL: they were given */
	const char *events_at, *events_end; /* in the text: the events, or the model's name, and
					     * their keys */
	const char *comma_at;               /* of a span: the comma; NULL: it is none */
	struct definition events[EXPRESSION_EVENTS_MAX];
	size_t event_count;
	struct expression_link links[EXPRESSION_STEPS_MAX]; /* links[i] joins events i and i + 1 */
	bool has_each;
	struct expression_use uses[EXPRESSION_USES_MAX]; /* of "group" */
	size_t use_count;
	char diffs[EXPRESSION_DIFFS_MAX][PATTERN_WORD_BYTES];
	size_t diff_count;
	/* Fields that have other names in traces than as they were written: "$app.p:c". */
	struct {
		char meant[PATTERN_WORD_BYTES], written[PATTERN_WORD_BYTES];
	} renamed[EXPRESSION_RENAMED_MAX];
	size_t renamed_count;
	char within[PATTERN_WORD_BYTES]; /* a period or job; "": none */
	const char *within_at;
	struct definition error;    /* of a call: conditions of its end, all of which say that it
				     * failed; none: "error" was not given */
	uint64_t deadline_ns;       /* UINT64_MAX: none */
	uint64_t every_ns;          /* 0: none */
	bool is_fixed;              /* each point of "every" has its execution: "fixed" */
	struct expression_use due;  /* "every" LABEL(FIELD); fields: none */
	struct expression_use only; /* "only" LABEL(FIELD)=PATTERN; fields: none */
	char only_is[PATTERN_TEXT_BYTES];
	struct expression_use key;   /* of a label: the fields of its ids ... */
	bool by_process;             /* ... and whether these belong to a process */
	struct expression_use value; /* of a label: the name */
};

/* -EINVAL with the place and what was expected there. */
int expression_parse(const char *text, enum expression_form form, struct expression **ret,
		     struct err *err);
void expression_free(struct expression *expression); /* NULL is fine */
/* The text with a name, as a form other than FORM_SPAN; from malloc(). */
char *expression_text(const struct expression *expression);
/* The user's text with "global" behind each "by" whose keys were equal in two processes and agreed
 * in none (query/keys/keys-met.h); from malloc().  NULL: there is none. */
char *expression_text_global(const struct expression *expression);
/* What is shown of a field: as it was written, where a trace has another name for it. */
const char *expression_shown(const struct expression *expression, const char *field);
/* Raises the error of a place in the text; NULL: of its end.  Returns -EINVAL. */
int expression_expected(const struct expression *expression, const char *at, const char *what,
			struct err *err);
