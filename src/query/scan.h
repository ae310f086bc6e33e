/*
 * scan: reads a text of the user from left to right; errors name the column (doc/expressions.md).
 *
 *     word     letters, digits and some other characters, which the caller names
 *     quoted   "any text"; \" and \\ stand for " and \
 *     number   12, -3, 0x1F, 017 (octal), 1.5, 2e-3
 *     regex    /any text/; \/ stands for /
 *
 * Functions that return an int return 0, or -EINVAL with an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A text and the place in it. */
struct scan {
	const char *what; /* the text is: "trigger"; NULL: errors say nothing of that */
	const char *text, *at;
	struct err *err;
};

struct scan_number {
	bool is_real;
	bool is_huge;  /* a whole number from 2^63 to 2^64 - 1: `whole` has its bits */
	int64_t whole; /* if it is not real */
	double real;   /* in any case */
};

/* @at the beginning of the text; the error is empty. */
struct scan scan_of(const char *what, const char *text, struct err *err);
/* Raises an error that names the column of scan->at; returns false. */
bool scan_fail(const struct scan *scan, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same of "expected WHAT"; returns -EINVAL. */
int scan_expected(const struct scan *scan, const char *what);

void scan_blanks(struct scan *scan);

/* ---- what comes next, behind blanks ---- */

/* Takes the word, or the sign. */
bool scan_word(struct scan *scan, const char *word);
bool scan_sign(struct scan *scan, char sign);
/* Copies what comes before any of @ends, and does not take it.  Its length; 0: there is nothing, or
 * it is too long. */
size_t scan_peek(struct scan *scan, const char *ends, char *word, size_t size);

/* ---- what comes next, and the blanks behind it ---- */

/* Takes these characters, if the text goes on with them. */
bool scan_take(struct scan *scan, const char *characters);
/* Takes this word, if it comes next and a blank, the end or one of @behind follows it. */
bool scan_take_word(struct scan *scan, const char *word, const char *behind);

/* A name: letters, digits, _; without blanks.  False: there is none, or it is too long. */
bool scan_name(struct scan *scan, char *name, size_t size);
/* Whether a word may have this character; @others: those that are neither letters nor digits. */
bool scan_is_letter(char letter, const char *others);
/* A word, or any text in quotes, of less than @size bytes.  @what: for the error. */
int scan_text(struct scan *scan, const char *others, const char *what, char *word, size_t size);
/* What stands between two of the delimiter that comes next, which a backslash before it makes part
 * of the text. */
int scan_quoted(struct scan *scan, char *text, size_t size);
/* Whether a number comes next. */
bool scan_is_number(const struct scan *scan);
int scan_number(struct scan *scan, struct scan_number *number);
