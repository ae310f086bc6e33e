/*
 * json: see json.h.
 */
#include "base/json.h"

#include <string.h>

/* A report may have 100,000 rows: no format strings and no locks for each value. */
static void number_out(FILE *out, uint64_t value)
{
	char digits[20];
	unsigned int at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	(void)fwrite_unlocked(digits + at, 1, sizeof(digits) - at, out);
}

static void key_out(struct json *json, const char *key)
{
	if (json->needs_comma) {
		(void)putc_unlocked(',', json->out);
	}
	if (key) {
		(void)putc_unlocked('"', json->out);
		(void)fputs_unlocked(key, json->out);
		(void)fputs_unlocked("\":", json->out);
	}
	json->needs_comma = true;
}

void json_open(struct json *json, const char *key, char bracket)
{
	key_out(json, key);
	(void)fputc(bracket, json->out);
	json->needs_comma = false;
}

void json_close(struct json *json, char bracket)
{
	(void)fputc(bracket, json->out);
	json->needs_comma = true;
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	key_out(json, key);
	number_out(json->out, value);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
	key_out(json, key);
	if (value < 0) {
		(void)putc_unlocked('-', json->out);
	}
	number_out(json->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_fixed(struct json *json, const char *key, double value)
{
	key_out(json, key);
	(void)fprintf(json->out, "%.3f", value);
}

void json_null(struct json *json, const char *key)
{
	key_out(json, key);
	(void)fputs("null", json->out);
}

void json_bool(struct json *json, const char *key, bool value)
{
	key_out(json, key);
	(void)fputs(value ? "true" : "false", json->out);
}

/* The length of the valid UTF-8 sequence at @at (RFC 3629), or 0. */
static size_t utf8_length(const unsigned char *at)
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

static void text_out(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	(void)putc_unlocked('"', out);
	while (*at) {
		size_t len = utf8_length(at);

		if (*at == '"' || *at == '\\') {
			(void)fprintf(out, "\\%c", *at++);
		} else if (*at < 0x20 || *at == 0x7F) {
			(void)fprintf(out, "\\u%04x", *at++);
		} else if (*at < 0x80) {
			(void)putc_unlocked(*at++, out);
		} else if (len > 0) {
			(void)fwrite(at, 1, len, out);
			at += len;
		} else {
			(void)fputs("\xEF\xBF\xBD", out); /* U+FFFD: a byte that is no text */
			at++;
		}
	}
	(void)fputc('"', out);
}

void json_text(struct json *json, const char *key, const char *text)
{
	key_out(json, key);
	text_out(json->out, text);
}

void json_u64_named(struct json *json, const char *name, uint64_t value)
{
	key_out(json, NULL);
	text_out(json->out, name);
	(void)putc_unlocked(':', json->out);
	number_out(json->out, value);
}

void json_end_line(struct json *json)
{
	(void)fputc('\n', json->out);
	json->needs_comma = false;
}
