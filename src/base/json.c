/*
 * json: see json.h.
 */
#include "base/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"
#include "version.h"

/* A report may have 100,000 rows: no format strings, and no call of stdio for each value. */

void json_init(struct json *json, FILE *out)
{
	json->out = out;
	json->needs_comma = false;
	json->used = 0;
}

void json_flush(struct json *json)
{
	(void)fwrite(json->buffer, 1, json->used, json->out);
	json->used = 0;
}

static void byte_out(struct json *json, char byte)
{
	if (json->used == sizeof(json->buffer)) {
		json_flush(json);
	}
	json->buffer[json->used++] = byte;
}

static void bytes_out(struct json *json, const char *bytes, size_t len)
{
	if (len > sizeof(json->buffer) - json->used) {
		json_flush(json);
	}
	if (len > sizeof(json->buffer)) {
		(void)fwrite(bytes, 1, len, json->out);
		return;
	}
	memcpy(json->buffer + json->used, bytes, len);
	json->used += len;
}

static void string_out(struct json *json, const char *text)
{
	bytes_out(json, text, strlen(text));
}

static void number_out(struct json *json, uint64_t value)
{
	char digits[20];
	unsigned int at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	bytes_out(json, digits + at, sizeof(digits) - at);
}

static void key_out(struct json *json, const char *key)
{
	if (json->needs_comma) {
		byte_out(json, ',');
	}
	if (key) {
		byte_out(json, '"');
		string_out(json, key);
		bytes_out(json, "\":", 2);
	}
	json->needs_comma = true;
}

void json_open(struct json *json, const char *key, char bracket)
{
	key_out(json, key);
	assert(bracket == '{' || bracket == '[');
	byte_out(json, bracket);
	json->needs_comma = false;
}

void json_close(struct json *json, char bracket)
{
	assert(bracket == '}' || bracket == ']');
	byte_out(json, bracket);
	json->needs_comma = true;
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	key_out(json, key);
	number_out(json, value);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
	key_out(json, key);
	if (value < 0) {
		byte_out(json, '-');
	}
	number_out(json, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_fixed(struct json *json, const char *key, double value)
{
	char text[DBL_MAX_10_EXP + 8]; /* sign, digits, point, decimals, zero */

	assert(isfinite(value));
	key_out(json, key);
	bytes_out(json, text, (size_t)snprintf(text, sizeof(text), "%.3f", value));
}

void json_real(struct json *json, const char *key, double value)
{
	char text[32];

	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	key_out(json, key);
	bytes_out(json, text, (size_t)snprintf(text, sizeof(text), "%.9g", value));
}

void json_null(struct json *json, const char *key)
{
	key_out(json, key);
	string_out(json, "null");
}

void json_bool(struct json *json, const char *key, bool value)
{
	key_out(json, key);
	string_out(json, value ? "true" : "false");
}

static void text_out(struct json *json, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	char escape[8];

	byte_out(json, '"');
	while (*at) {
		size_t len = utf8_length(at);

		if (*at == '"' || *at == '\\') {
			byte_out(json, '\\');
			byte_out(json, (char)*at++);
		} else if (*at < 0x20 || *at == 0x7F) {
			(void)snprintf(escape, sizeof(escape), "\\u%04x", *at++);
			string_out(json, escape);
		} else if (len == 2 && at[0] == 0xC2 && at[1] < 0xA0) { /* C1: for terminals, too */
			(void)snprintf(escape, sizeof(escape), "\\u%04x", at[1]);
			string_out(json, escape);
			at += len;
		} else if (*at < 0x80) {
			byte_out(json, (char)*at++);
		} else if (len > 0) {
			bytes_out(json, (const char *)at, len);
			at += len;
		} else {
			string_out(json, UTF8_REPLACEMENT);
			at++;
		}
	}
	byte_out(json, '"');
}

void json_text(struct json *json, const char *key, const char *text)
{
	key_out(json, key);
	text_out(json, text);
}

void json_key(struct json *json, const char *name)
{
	key_out(json, NULL);
	text_out(json, name);
	byte_out(json, ':');
	json->needs_comma = false;
}

void json_u64_named(struct json *json, const char *name, uint64_t value)
{
	json_key(json, name);
	json_u64(json, NULL, value);
}

void json_raw(struct json *json, const char *text)
{
	key_out(json, NULL);
	string_out(json, text);
}

void json_end_line(struct json *json)
{
	byte_out(json, '\n');
	json->needs_comma = false;
	json_flush(json);
}

void json_begin_object(struct json *json, FILE *out, const char *type)
{
	json_init(json, out);
	json_open(json, NULL, '{');
	json_text(json, "type", type);
}

void json_version(struct json *json)
{
	json_text(json, "version", SILLAGE_VERSION);
	json_u64(json, "json", JSON_FORM);
}

void json_end_object(struct json *json)
{
	json_close(json, '}');
	json_end_line(json);
}

void json_moment(struct json *json, const char *key, uint64_t ns)
{
	char iso[UNITS_TEXT_MAX], second[32];
	int len = snprintf(second, sizeof(second), "%s_time", key);

	assert(len > 0 && (size_t)len < sizeof(second));
	json_u64(json, key, ns);
	json_text(json, second, units_iso(iso, ns));
}
