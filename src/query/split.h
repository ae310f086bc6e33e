/*
 * split: regular expressions of conditions, and the parts that they split a text into.
 *
 *     "took (?<ms>[0-9]+) ms"   "took 12 ms" ──► $ms, which is $1 as well: "12"
 *
 * They are POSIX extended ones (regex(7)), of which the leftmost and then longest match counts, and
 * besides (?<NAME>...) gives a group a name, (?:...) gives it no number, and \d is a digit.  Both
 * expression and text may come from anyone, so what may take any time is refused, and parts are
 * looked for in the begin of a text only (SPLIT_BYTES_MAX).
 */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPLIT_PARTS_MAX  9
#define SPLIT_NAME_BYTES 32

/* A part that a condition names. */
struct split_name {
	char text[SPLIT_NAME_BYTES]; /* "": it has a number only */
	uint8_t group;               /* its number for regexec() */
};

struct split {
	regex_t is;
	size_t count;
	struct split_name parts[SPLIT_PARTS_MAX];
};

/* NULL: it is none, or takes too long, or has too many names. */
struct split *split_new(const char *text);
void split_free(struct split *split); /* NULL is fine */

bool split_matches(const struct split *split, const char *text, size_t len);
/* Which part has the name; SIZE_MAX: none. */
size_t split_named(const struct split *split, const char *name);
/* A part of the text; false: it does not match, or the match has no such part. */
bool split_part(const struct split *split, const char *text, size_t len, size_t part,
		const char **ret, size_t *ret_len);
