/*
 * replay-clocks: see replay-clocks.h.
 */
#include "replay/replay-clocks.h"

#include <assert.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"

#define RS '\x1E' /* before each fragment of CTF 2 (RFC 7464) */

/* ---- TSDL ---- */

static void shift_tsdl(const char *text, int64_t shift_ns, FILE *out)
{
	static const char key[] = "\n\toffset = ";
	const char *at = text, *found;

	while ((found = strstr(at, key))) {
		const char *number = found + strlen(key);
		char *past;
		int64_t offset = (int64_t)strtoull(number, &past, 10);

		/* The offset is in cycles; LTTng's clocks run at 1 GHz. */
		(void)fprintf(out, "%.*s%" PRId64, (int)(number - at), at, offset + shift_ns);
		at = past;
	}
	(void)fputs(at, out);
}

/* ---- CTF 2 ---- */

static uint64_t number_of(struct json_object *object, const char *key, uint64_t missing)
{
	struct json_object *value;

	return object && json_object_object_get_ex(object, key, &value)
		       ? json_object_get_uint64(value)
		       : missing;
}

/* Moves the offset of a clock class.  Seconds may be negative: they are computed modulo 2^64. */
static void shift_clock(struct json_object *clock, int64_t shift_ns)
{
	const int64_t second = (int64_t)NS_PER_S;
	int64_t shift_s = shift_ns / second - (shift_ns % second < 0);
	uint64_t rest = (uint64_t)(shift_ns - shift_s * second), freq, seconds, cycles;
	struct json_object *offset = NULL, *moved = json_object_new_object(), *value;
	const char *key = "offset-from-origin";

	/* Release candidates of CTF 2 say "offset". */
	if (!json_object_object_get_ex(clock, key, &offset) &&
	    json_object_object_get_ex(clock, "offset", &offset)) {
		key = "offset";
	}
	freq = number_of(clock, "frequency", NS_PER_S);
	freq = freq > 0 && freq <= INT64_MAX ? freq : NS_PER_S;
	cycles = number_of(offset, "cycles", 0);
	seconds = offset && json_object_object_get_ex(offset, "seconds", &value)
			  ? (uint64_t)json_object_get_int64(value)
			  : 0;
	seconds += (uint64_t)shift_s + cycles / freq;
	cycles = cycles % freq + (uint64_t)((unsigned __int128)rest * freq / NS_PER_S);
	seconds += cycles / freq;
	(void)json_object_object_add(moved, "seconds", json_object_new_int64((int64_t)seconds));
	(void)json_object_object_add(moved, "cycles", json_object_new_uint64(cycles % freq));
	(void)json_object_object_add(clock, key, moved);
}

static void shift_fragment(const char *text, size_t len, int64_t shift_ns, FILE *out)
{
	char *fragment = mem_alloc(len + 1);
	struct json_object *object, *type = NULL;

	memcpy(fragment, text, len);
	object = json_tokener_parse(fragment);
	if (object && json_object_object_get_ex(object, "type", &type) && type &&
	    strcmp(json_object_get_string(type), "clock-class") == 0) {
		shift_clock(object, shift_ns);
		(void)fprintf(out, "%s\n",
			      json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	} else {
		(void)fwrite(text, 1, len, out);
	}
	(void)json_object_put(object);
	free(fragment);
}

static void shift_json(const char *text, size_t len, int64_t shift_ns, FILE *out)
{
	const char *at = text, *end = text + len, *next;

	for (; at < end; at = next) {
		if (*at == RS) {
			(void)fputc(RS, out);
			at++;
		}
		next = memchr(at, RS, (size_t)(end - at));
		next = next ? next : end;
		shift_fragment(at, (size_t)(next - at), shift_ns, out);
	}
}

char *replay_clocks_shift(const char *text, size_t len, int64_t shift_ns, size_t *ret_len)
{
	char *result = NULL, *copy;
	FILE *out = open_memstream(&result, ret_len);

	assert(out);
	if (shift_ns == 0) {
		(void)fwrite(text, 1, len, out);
	} else if (len > 0 && (text[0] == RS || text[0] == '{')) {
		shift_json(text, len, shift_ns, out);
	} else {
		copy = mem_alloc(len + 1);
		memcpy(copy, text, len);
		shift_tsdl(copy, shift_ns, out);
		free(copy);
	}
	(void)fclose(out);
	return result;
}
