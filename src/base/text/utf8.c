/*
 * utf8: see utf8.h.
 */
#include "base/text/utf8.h"

#include <assert.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* The length of a sequence by its first byte; 0: none begins so. */
static size_t length_from(unsigned char first)
{
	return first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
}

size_t utf8_length(const unsigned char *at)
{
	size_t len = length_from(at[0]);

	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xC0) != 0x80) {
			return 0;
		}
	}
	if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) ||
	    (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F)) {
		return 0;
	}
	return len;
}

size_t utf8_begun(const char *text, size_t len)
{
	const unsigned char *end = (const unsigned char *)text + len;
	size_t bytes = 1;

	while (bytes < 3 && bytes < len && (*(end - bytes) & 0xC0) == 0x80) {
		bytes++;
	}
	return len > 0 && bytes < length_from(*(end - bytes)) ? bytes : 0;
}

/* ---- as a terminal shows it ---- */

static uint32_t code_point(const unsigned char *at, size_t len)
{
	uint32_t code = at[0] & (0xFFu >> (len + 1));

	assert(len >= 2 && len <= 4);
	for (size_t i = 1; i < len; i++) {
		code = code << 6 | (at[i] & 0x3F);
	}
	return code;
}

struct code_range {
	uint32_t first, last;
};

/* The blocks of Unicode's "Cc", "Cf", "Zl", "Zp" and variation selectors, but for a few letters
 * within them: libc does not tell that they change how other text looks. */
static const struct code_range unseen[] = {
	{ 0x80, 0x9F },       { 0xAD, 0xAD },     { 0x34F, 0x34F },     { 0x600, 0x605 },
	{ 0x61C, 0x61C },     { 0x6DD, 0x6DD },   { 0x70F, 0x70F },     { 0x180B, 0x180F },
	{ 0x200B, 0x200F },   { 0x2028, 0x202E }, { 0x2060, 0x206F },   { 0xFE00, 0xFE0F },
	{ 0xFEFF, 0xFEFF },   { 0xFFF0, 0xFFFB }, { 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A },
	{ 0xE0000, 0xE0FFF },
};

static bool is_unseen(uint32_t code)
{
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]) && unseen[i].first <= code; i++) {
		if (code <= unseen[i].last) {
			return true;
		}
	}
	return false;
}

/* As libc knows them: names are UTF-8 whatever the user's locale is. */
static locale_t widths;

static void load_widths(void)
{
	widths = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* What libc does not know, or no letter if it has no such locale, takes one column. */
static int columns_of(uint32_t code)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	locale_t before;
	int columns;

	(void)pthread_once(&once, load_widths);
	before = uselocale(widths);
	columns = wcwidth((wchar_t)code);
	(void)uselocale(before);
	return columns < 0 ? 1 : columns;
}

struct utf8_letter utf8_letter_at(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	struct utf8_letter letter = { .bytes = *at > 0, .columns = 1 };
	size_t len;
	uint32_t code;

	if (*at < 0x80) { /* nearly all are */
		letter.is_plain = *at >= 0x20 && *at < 0x7F;
		return letter;
	}
	len = utf8_length(at);
	if (len == 0) {
		return letter;
	}
	code = code_point(at, len);
	letter.bytes = len;
	letter.is_plain = !is_unseen(code);
	if (letter.is_plain) {
		letter.columns = columns_of(code);
	}
	return letter;
}

size_t utf8_put(FILE *out, const char *at)
{
	struct utf8_letter letter = utf8_letter_at(at);

	if (letter.bytes > 1 && letter.is_plain) {
		(void)fwrite(at, letter.bytes, 1, out);
	} else {
		(void)fputc(letter.is_plain ? *at : '?', out);
	}
	return letter.bytes;
}

int utf8_columns(const char *text)
{
	int columns = 0;

	while (*text) {
		struct utf8_letter letter = utf8_letter_at(text);

		columns += letter.columns;
		text += letter.bytes;
	}
	return columns;
}

size_t utf8_fit(const char *text, int columns, size_t room)
{
	size_t bytes = 0;

	while (text[bytes]) {
		struct utf8_letter letter = utf8_letter_at(text + bytes);

		columns -= letter.columns;
		if (columns < 0 || bytes + letter.bytes > room) {
			break;
		}
		bytes += letter.bytes;
	}
	return bytes;
}

/* ---- copies ---- */

/* The length of the sequence at @at of at most @left bytes; 0: it is not UTF-8. */
static size_t sequence(const unsigned char *at, size_t left)
{
	unsigned char end[5] = { 0 };

	if (*at < 0x80) {
		return 1;
	}
	if (left >= 4) {
		return utf8_length(at);
	}
	memcpy(end, at, left);
	return utf8_length(end);
}

size_t utf8_copy(char *to, size_t room, const void *from, size_t len)
{
	const unsigned char *at = from, *end = at + len;
	size_t used = 0;

	assert(room > 0);
	while (at < end && *at) {
		size_t bytes = sequence(at, (size_t)(end - at));
		size_t put = bytes > 0 ? bytes : strlen(UTF8_REPLACEMENT);

		if (used + put >= room) {
			break;
		}
		memcpy(to + used, bytes > 0 ? (const char *)at : UTF8_REPLACEMENT, put);
		used += put;
		at += bytes > 0 ? bytes : 1;
	}
	to[used] = '\0';
	return used;
}
