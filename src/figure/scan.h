/*
 * scan: reads a text of the user from left to right; errors name the column.
 */
#ifndef SILLAGE_FIGURE_SCAN_H
#define SILLAGE_FIGURE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct scan {
	const char *what; /* the text is: "trigger" */
	const char *text, *at;
	struct err *err;
};

/* @at the beginning of the text; the error is empty. */
struct scan scan_of(const char *what, const char *text, struct err *err);
/* Raises an error that names the column of scan->at; returns false. */
bool scan_fail(struct scan *scan, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void scan_blanks(struct scan *scan);
/* Takes the word, or the sign, if it comes next, behind blanks. */
bool scan_word(struct scan *scan, const char *word);
bool scan_sign(struct scan *scan, char sign);
/* A name: letters, digits, _.  False: there is none, or it is too long. */
bool scan_name(struct scan *scan, char *name, size_t size);
/* Copies what comes before any of @ends, behind blanks, and does not take it.  Its length; 0: there
 * is nothing, or it is too long. */
size_t scan_peek(struct scan *scan, const char *ends, char *word, size_t size);

#endif
