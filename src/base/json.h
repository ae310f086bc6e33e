/*
 * json: writes JSON text to a stream.
 *
 * It builds no tree, since windows with 100,000 threads are written row by row.  Text is repaired
 * to valid UTF-8, since thread names may hold any bytes.  Keys are trusted.  Text is buffered; the
 * stream has all of it after json_end_line() or json_flush().  Failed writes are the stream's to
 * report.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool needs_comma;
	size_t used; /* bytes of buffer */
	char buffer[4096];
};

/* Starts a text that goes to @out. */
void json_init(struct json *json, FILE *out);

/* A @key of NULL, here and below: an element of an array, or the outermost value. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
/* With three decimals; @value is finite. */
void json_fixed(struct json *json, const char *key, double value);
/* With nine significant digits; null if it is not finite. */
void json_real(struct json *json, const char *key, double value);
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
void json_text(struct json *json, const char *key, const char *text);
/* A time as a number of ns since the epoch, and in a second member KEY_time as an ISO text: many
 * readers of JSON keep 53 bits of a number. */
void json_moment(struct json *json, const char *key, uint64_t ns);
/* An untrusted key; its value follows, with a key of NULL. */
void json_key(struct json *json, const char *name);
/* As json_u64(), with an untrusted key. */
void json_u64_named(struct json *json, const char *name, uint64_t value);
/* An element that is JSON already. */
void json_raw(struct json *json, const char *text);
/* What wrote it, "version", and in "json" which form it has: JSON_FORM (meson.build), which grows
 * when a member goes or means something else (doc/json.md).  The first line of a text, and each
 * document, has it. */
void json_version(struct json *json);
void json_end_line(struct json *json);
/* A line that is an object with its "type", and the end of such a line. */
void json_begin_object(struct json *json, FILE *out, const char *type);
void json_end_object(struct json *json);
void json_flush(struct json *json);
