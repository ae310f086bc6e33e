/*
 * plain: see plain.h.
 */
#include "text/plain.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"
#include "base/vec.h"

void plain_report(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		text[i] = text[i] == '\n' ? '\n' : units_letter(text[i]);
	}
}

/* ---- messages ---- */

static uint32_t code_point(const unsigned char *at, size_t len)
{
	uint32_t code = at[0] & (0xFFu >> (len + 1));

	assert(len >= 2 && len <= 4);
	for (size_t i = 1; i < len; i++) {
		code = code << 6 | (at[i] & 0x3F);
	}
	return code;
}

/* The blocks of Unicode's "Cc", "Cf", "Zl", "Zp" and variation selectors, but for a few letters
 * within them. */
static bool is_invisible(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x80, 0x9F },       { 0xAD, 0xAD },       { 0x34F, 0x34F },
		{ 0x600, 0x605 },     { 0x61C, 0x61C },     { 0x6DD, 0x6DD },
		{ 0x70F, 0x70F },     { 0x180B, 0x180F },   { 0x200B, 0x200F },
		{ 0x2028, 0x202E },   { 0x2060, 0x206F },   { 0xFE00, 0xFE0F },
		{ 0xFEFF, 0xFEFF },   { 0xFFF0, 0xFFFB },   { 0x1BCA0, 0x1BCA3 },
		{ 0x1D173, 0x1D17A }, { 0xE0000, 0xE0FFF },
	};

	for (size_t i = 0; i < ARRAY_COUNT(ranges); i++) {
		if (code >= ranges[i].first && code <= ranges[i].last) {
			return true;
		}
	}
	return false;
}

void plain_message(char *text)
{
	char *to = text;

	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t len = *at < 0x80 ? 1 : utf8_length(at);

		if (len > 1 && !is_invisible(code_point(at, len))) {
			memmove(to, at, len);
			to += len;
		} else {
			*to++ = units_letter((char)*at);
			len = len > 0 ? len : 1;
		}
		at += len;
	}
	*to = '\0';
}

/* ---- progress ---- */

void plain_progress(const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	plain_message(line);
	(void)fprintf(stderr, "\r%s\033[K", line);
}

void plain_clear_progress(void)
{
	(void)fputs("\r\033[K", stderr);
}

void plain_shell_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_.,:/=+@";

	if (*word && word[strspn(word, plain)] == '\0') {
		(void)fputs(word, out);
		return;
	}
	(void)fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'') {
			(void)fputs("'\\''", out);
		} else {
			(void)fputc(*word, out);
		}
	}
	(void)fputc('\'', out);
}
