/*
 * scan: words, quoted texts, numbers and regular expressions in what a user wrote, and errors that
 * name the place (doc/expressions.md).
 *
 *     word     letters, digits and some other characters, which the caller names
 *     quoted   "any text"; \" and \\ stand for " and \
 *     number   12, -3, 0x1F, 017 (octal), 1.5, 2e-3
 *     regex    /any text/; \/ stands for /
 *
 * Each of them takes the blanks behind it.  Functions that can fail return 0, or -EINVAL with an
 * error that has the text, the column, and what was expected there.
 */
#ifndef SILLAGE_QUERY_SCAN_H
#define SILLAGE_QUERY_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A text and the place in it. */
struct scan {
	const char *text, *at;
	struct err *err;
};

struct scan_number {
	bool is_real;
	bool is_huge;  /* a whole number from 2^63 to 2^64 - 1: `whole` has its bits */
	int64_t whole; /* if it is not real */
	double real;   /* in any case */
};

/* Raises the error of a place; returns -EINVAL. */
int scan_expected(const struct scan *scan, const char *what);
/* Where it is, counted from 1. */
size_t scan_column(const struct scan *scan);

void scan_blanks(struct scan *scan);
/* Takes these characters, if the text goes on with them. */
bool scan_take(struct scan *scan, const char *characters);
/* Takes this word, if it comes next and a blank, the end or one of @behind follows it. */
bool scan_take_word(struct scan *scan, const char *word, const char *behind);

/* Whether a word may have this character; @others: those that are neither letters nor digits. */
bool scan_is_letter(char letter, const char *others);
/* A word, or any text in quotes, of less than @size bytes.  @what: for the error. */
int scan_word(struct scan *scan, const char *others, const char *what, char *word, size_t size);
/* What stands between two of the delimiter that comes next, which a backslash before it makes part
 * of the text. */
int scan_quoted(struct scan *scan, char *text, size_t size);
/* Whether a number comes next. */
bool scan_is_number(const struct scan *scan);
int scan_number(struct scan *scan, struct scan_number *number);

#endif
