/*
 * utf8: see utf8.h.
 */
#include "base/text/utf8.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

size_t utf8_length(const unsigned char *at)
{
	size_t len = at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : at[0] < 0xF5 ? 4 : 0;

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
 * within them. */
static const struct code_range unseen[] = {
	{ 0x80, 0x9F },       { 0xAD, 0xAD },     { 0x34F, 0x34F },     { 0x600, 0x605 },
	{ 0x61C, 0x61C },     { 0x6DD, 0x6DD },   { 0x70F, 0x70F },     { 0x180B, 0x180F },
	{ 0x200B, 0x200F },   { 0x2028, 0x202E }, { 0x2060, 0x206F },   { 0xFE00, 0xFE0F },
	{ 0xFEFF, 0xFEFF },   { 0xFFF0, 0xFFFB }, { 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A },
	{ 0xE0000, 0xE0FFF },
};

/* The blocks whose East Asian width is "W" or "F". */
static const struct code_range wide[] = {
	{ 0x1100, 0x115F },   { 0x231A, 0x231B },   { 0x2329, 0x232A },   { 0x23E9, 0x23EC },
	{ 0x2E80, 0x303E },   { 0x3041, 0x3247 },   { 0x3250, 0x4DBF },   { 0x4E00, 0xA4CF },
	{ 0xA960, 0xA97F },   { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },   { 0xFE10, 0xFE19 },
	{ 0xFE30, 0xFE6F },   { 0xFF01, 0xFF60 },   { 0xFFE0, 0xFFE6 },   { 0x16FE0, 0x1B2FF },
	{ 0x1F300, 0x1F320 }, { 0x1F32D, 0x1F335 }, { 0x1F337, 0x1F37C }, { 0x1F3A0, 0x1F3CA },
	{ 0x1F400, 0x1F43E }, { 0x1F442, 0x1F4FC }, { 0x1F5FB, 0x1F64F }, { 0x1F680, 0x1F6C5 },
	{ 0x1F90C, 0x1F93A }, { 0x1F947, 0x1F9FF }, { 0x20000, 0x3FFFD },
};

/* The larger blocks of "Mn" and "Me": marks of scripts in wide use. */
static const struct code_range joining[] = {
	{ 0x300, 0x36F },   { 0x483, 0x489 },   { 0x591, 0x5BD },   { 0x610, 0x61A },
	{ 0x64B, 0x65F },   { 0x6D6, 0x6DC },   { 0x6DF, 0x6E4 },   { 0x8E3, 0x902 },
	{ 0x941, 0x948 },   { 0x951, 0x957 },   { 0xE34, 0xE3A },   { 0xE47, 0xE4E },
	{ 0x1160, 0x11FF }, { 0x1AB0, 0x1ACE }, { 0x1DC0, 0x1DFF }, { 0x20D0, 0x20F0 },
	{ 0x302A, 0x302D }, { 0x3099, 0x309A }, { 0xFE20, 0xFE2F },
};

static bool is_in(const struct code_range *ranges, size_t count, uint32_t code)
{
	for (size_t i = 0; i < count && ranges[i].first <= code; i++) {
		if (code <= ranges[i].last) {
			return true;
		}
	}
	return false;
}

#define IS_IN(ranges, code) is_in(ranges, sizeof(ranges) / sizeof((ranges)[0]), code)

struct utf8_letter utf8_letter_at(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	struct utf8_letter letter = { .bytes = *at > 0, .columns = 1 };
	size_t len = utf8_length(at);
	uint32_t code;

	if (len == 0) {
		letter.is_plain = *at >= 0x20 && *at < 0x7F;
		return letter;
	}
	code = code_point(at, len);
	letter.bytes = len;
	letter.is_plain = !IS_IN(unseen, code);
	if (letter.is_plain) {
		letter.columns = IS_IN(joining, code) ? 0 : IS_IN(wide, code) ? 2 : 1;
	}
	return letter;
}

size_t utf8_put(FILE *out, const char *at)
{
	struct utf8_letter letter = utf8_letter_at(at);

	(void)fwrite(letter.is_plain ? at : "?", letter.is_plain ? letter.bytes : 1, 1, out);
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
