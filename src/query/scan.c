/*
 * scan: see scan.h.
 */
#include "query/scan.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\n"

struct scan scan_of(const char *what, const char *text, struct err *err)
{
	err->text[0] = '\0';
	return (struct scan){ .what = what, .text = text, .at = text, .err = err };
}

bool scan_fail(const struct scan *scan, const char *fmt, ...)
{
	size_t column = (size_t)(scan->at - scan->text) + 1;
	char why[400];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	assert(scan->at >= scan->text && scan->at <= scan->text + strlen(scan->text));
	if (scan->what) {
		(void)err_raise(scan->err, -EINVAL, "%s \"%s\": column %zu, at \"%.20s\": %s",
				scan->what, scan->text, column, scan->at, why);
	} else {
		(void)err_raise(scan->err, -EINVAL, "\"%s\": column %zu: %s", scan->text, column,
				why);
	}
	return false;
}

int scan_expected(const struct scan *scan, const char *what)
{
	(void)scan_fail(scan, "expected %s", what);
	return -EINVAL;
}

void scan_blanks(struct scan *scan)
{
	scan->at += strspn(scan->at, BLANKS);
}

bool scan_word(struct scan *scan, const char *word)
{
	size_t len = strlen(word);

	scan_blanks(scan);
	if (strncmp(scan->at, word, len) != 0 || isalnum((unsigned char)scan->at[len])) {
		return false;
	}
	scan->at += len;
	return true;
}

bool scan_sign(struct scan *scan, char sign)
{
	scan_blanks(scan);
	if (*scan->at != sign) {
		return false;
	}
	scan->at++;
	return true;
}

size_t scan_peek(struct scan *scan, const char *ends, char *word, size_t size)
{
	size_t len;

	scan_blanks(scan);
	len = strcspn(scan->at, ends);
	len = len < size ? len : 0;
	memcpy(word, scan->at, len);
	word[len] = '\0';
	return len;
}

bool scan_take(struct scan *scan, const char *characters)
{
	size_t len = strlen(characters);

	if (strncmp(scan->at, characters, len) != 0) {
		return false;
	}
	scan->at += len;
	scan_blanks(scan);
	return true;
}

bool scan_take_word(struct scan *scan, const char *word, const char *behind)
{
	size_t len = strlen(word);

	return strncmp(scan->at, word, len) == 0 &&
	       (strchr(BLANKS, scan->at[len]) || strchr(behind, scan->at[len])) &&
	       scan_take(scan, word);
}

/* ---- words and texts ---- */

bool scan_name(struct scan *scan, char *name, size_t size)
{
	size_t len =
		strspn(scan->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (len == 0 || len >= size) {
		return false;
	}
	memcpy(name, scan->at, len);
	name[len] = '\0';
	scan->at += len;
	return true;
}

bool scan_is_letter(char letter, const char *others)
{
	return isalnum((unsigned char)letter) || (letter && strchr(others, letter));
}

int scan_text(struct scan *scan, const char *others, const char *what, char *word, size_t size)
{
	size_t len = 0;

	if (*scan->at == '"') {
		return scan_quoted(scan, word, size);
	}
	while (scan_is_letter(scan->at[len], others)) {
		len++;
	}
	if (len == 0) {
		return scan_expected(scan, what);
	}
	if (len >= size) {
		char shorter[64];

		(void)snprintf(shorter, sizeof(shorter), "a word of less than %zu characters",
			       size);
		return scan_expected(scan, shorter);
	}
	memcpy(word, scan->at, len);
	word[len] = '\0';
	scan->at += len;
	scan_blanks(scan);
	return 0;
}

int scan_quoted(struct scan *scan, char *text, size_t size)
{
	const char delimiter = *scan->at, *at = scan->at + 1;
	size_t len = 0;

	assert(delimiter == '"' || delimiter == '/');
	for (; *at && *at != delimiter; at++) {
		bool is_escape = *at == '\\' && (at[1] == delimiter || at[1] == '\\');

		/* A regular expression has its own use for a backslash. */
		if (is_escape && (delimiter == '"' || at[1] == delimiter)) {
			at++;
		} else if (is_escape && len + 1 < size) {
			text[len++] = *at++;
		}
		if (len + 1 >= size) {
			char shorter[64];

			(void)snprintf(shorter, sizeof(shorter),
				       "a text of less than %zu characters", size);
			return scan_expected(scan, shorter);
		}
		text[len++] = *at;
	}
	scan->at = at;
	if (!*at) {
		return scan_expected(scan, delimiter == '"' ? "\" behind the text"
							    : "/ behind the regular expression");
	}
	text[len] = '\0';
	scan->at++;
	scan_blanks(scan);
	return 0;
}

/* ---- numbers ---- */

bool scan_is_number(const struct scan *scan)
{
	return isdigit((unsigned char)*scan->at) || *scan->at == '-';
}

/* One that is whole is taken as such: comparisons with it are exact. */
static void put_real(struct scan_number *number, double real)
{
	number->is_huge = real >= 0x1p63 && real < 0x1p64;
	number->is_real = !number->is_huge && (real != trunc(real) || fabs(real) >= 0x1p63);
	number->whole = number->is_huge   ? (int64_t)(uint64_t)real
			: number->is_real ? 0
					  : (int64_t)real;
	number->real = real;
}

int scan_number(struct scan *scan, struct scan_number *number)
{
	char *past, *past_real;
	double real = strtod(scan->at, &past_real);
	bool fits;

	*number = (struct scan_number){ 0 };
	errno = 0;
	number->whole = strtoll(scan->at, &past, 0);
	number->real = (double)number->whole;
	if (errno == ERANGE && *scan->at != '-') {
		errno = 0;
		number->is_huge = true;
		number->whole = (int64_t)strtoull(scan->at, &past, 0);
		number->real = (double)(uint64_t)number->whole;
	}
	fits = errno == 0 && past > scan->at;
	if (past_real > past) {
		fits = isfinite(real);
		past = past_real;
		put_real(number, fits ? real : 0);
	}
	if (!scan_is_number(scan) || !fits) {
		return scan_expected(scan, "a number");
	}
	scan->at = past;
	scan_blanks(scan);
	return 0;
}
