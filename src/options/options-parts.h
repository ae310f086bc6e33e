/*
 * options-parts: what the parts of the options share.
 *
 *   options.c          parsing, defaults, what has to fit together, help
 *   options-table.c    the table: a row an option
 *   options-take.c     takes a value by its kind
 *   options-custom.c   values that no kind covers
 *   options-model.c    labels and models, and where models are
 *   options-suggest.c  "did you mean"
 *   options-complete.c completion, for bash
 *   options-shells.c   ... for zsh and fish
 *
 * Values are borrowed from the argument vector's copies, which live as long as struct options.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "options/options.h"

/* What a value is, and the type of the member that it goes to. */
enum option_kind {
	OPTION_IGNORED,  /* accepted, no value, no effect */
	OPTION_FLAG,     /* no value; bool */
	OPTION_COUNT,    /* uint64_t, at most `most` */
	OPTION_SIZE,     /* uint64_t, bytes, above 0 */
	OPTION_DURATION, /* uint64_t, ns */
	OPTION_TEXT,     /* const char *, kept as it is */
	OPTION_TEXTS,    /* VEC(const char *), one for each time the option is given */
	OPTION_WORD,     /* const char *, one of `words` */
	OPTION_NUMBERS,  /* VEC(int64_t), 32 bits each, commas between */
	OPTION_NAMES,    /* VEC(const char *), copies, commas between */
	OPTION_CUSTOM,   /* what `take` makes of it */
};

/* Takes the value of an option, NULL if it has none.  1: it was a question, which is answered. */
typedef int option_take_function(struct options *options, const char *value, struct err *err);

struct option {
	char letter; /* 0: none */
	const char *name;
	const char *argument; /* in the help text; NULL: the option has no value */
	const char
		*help; /* "(COMMAND, COMMAND: A; COMMAND: B; C)" at its end: what it is for each */
	unsigned int commands; /* FOR_... */
	enum option_kind kind;
	uint16_t offset; /* of the member in struct options */
	uint16_t given;  /* of a bool there that becomes true; 0: none */
	uint64_t most;
	const char *noun; /* what the words are, in messages */
	const char *const *words;
	option_take_function *take;
	void (*list)(FILE *out); /* prints the words that its value is made of, for completion */
	const char *needs;       /* it has no effect without one of these options, commas between */
	const char *group; /* the heading above it in a long help; NULL: that of the row before */
	bool once;         /* two of them would look as if both counted */
	bool may_lack; /* its value: another option may stand before it, which is then an argument
			*/
};

/* ---- options-table.c ---- */

#define OPTIONS_COUNT_MAX 160

/* Ends with a row without a name. */
extern const struct option options_table[];

/* ---- options-take.c ---- */

/* Negative, 0, or 1 as option_take_function. */
int options_take(struct options *options, const struct option *option, const char *value,
		 struct err *err);
/* -EINVAL: `--option: "value" is not EXPECTED`. */
int options_bad_value(struct err *err, const char *option, const char *value, const char *expected);
/* *ret_word is the one of @words (ends with NULL) that equals @value. */
int options_take_word(const char *noun, const char *value, const char *const *words,
		      const char **ret_word, struct err *err);

/* ---- options-custom.c ---- */

option_take_function options_analyses, options_format, options_interval, options_output,
	options_no_retry, options_from, options_speed, options_slices, options_compromise,
	options_support, options_per, options_per_stored, options_thread, options_thread_alone,
	options_containers, options_sort, options_period, options_call, options_job,
	options_job_alone, options_within, options_within_all, options_ust_span, options_history,
	options_keep, options_quiet, options_verbose, options_label, options_model;

/* The keys of all columns, of distributions only if @distributions.  Returns how many; some are
 * there several times. */
#define OPTIONS_FIGURES_MAX (ANALYSES_MAX * TABLES_MAX * COLUMNS_MAX + 1)
size_t options_figures(const char *keys[OPTIONS_FIGURES_MAX], bool distributions);
extern const char *const options_kinds[];          /* of --per, by enum per; ends with NULL */
extern const char *const options_stored_kinds[];   /* the same of history, which has hosts, too */
extern const char *const options_compared_kinds[]; /* and of compare */

/* Chooses analyses in the order of their list, whatever the order given: JSON keys have a fixed
 * order. */
void options_choose(struct options *options, const bool chosen[ANALYSES_MAX]);

/* ---- options-complete.c ---- */

void options_list_analyses(FILE *out);
void options_list_models(FILE *out);
void options_list_figures(FILE *out);
/* The words that its value is one of, or made of. */
void options_print_words(const struct option *option, FILE *out);
/* What `help` explains beside commands. */
#define OPTIONS_HELP_WORDS "json store completion"

/* ---- options-shells.c ---- */

void options_print_zsh(const struct options_command *commands, FILE *out);
void options_print_fish(const struct options_command *commands, FILE *out);

/* ---- options.c ---- */

/* What an option's help says of this command; from malloc(). */
char *options_own_help(const char *help, const char *command);

/* ---- options-jobs.c ---- */

/* Of report: what stands beside its job, and in it, is the same. */
int options_check_job(struct options *options, struct err *err);
/* Of several jobs: --within. */
int options_surround(struct options *options, struct err *err);

/* ---- options-model.c ---- */

void options_list_label_models(FILE *out);

/* ---- options-suggest.c ---- */

/* -EINVAL: @word is unknown; the message suggests the one of @words that is most like it. */
int options_refuse(struct err *err, const char *noun, const char *word, const char *const *words);
