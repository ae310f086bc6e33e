/*
 * anonymous-metadata: see anonymous.h; texts in metadata.
 *
 *     CTF 1.8   env { hostname = "..."; }   clock { uuid = "..."; description = "..."; }
 *     CTF 2     {"type": "trace-class", "environment": {...}}, clock classes, all "attributes"
 *
 * Of the environment what says how to read the trace stays, and the numbers and words of a kernel's
 * version that do.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anonymous/anonymous-parts.h"
#include "base/limits.h"
#include "base/mem.h"
#include "ctf/metadata/lex.h"

#define UUID_TEXT_BYTES 36

/* ---- values ---- */

static bool is_one_of(const char *const *words, size_t count, const char *word, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0) {
			return true;
		}
	}
	return false;
}

static bool says_how_to_read(const char *key, size_t len)
{
	static const char *const keys[] = {
		"domain",
		"sysname",
		"tracer_name",
		"tracer_major",
		"tracer_minor",
		"tracer_patchlevel",
		"architecture",
		"machine",
		"tracer_buffering_scheme",
		"trace_buffering_scheme",
		"tracer_buffering_id",
		"trace_creation_datetime",
	};

	return is_one_of(keys, ARRAY_COUNT(keys), key, len);
}

static bool is_version(const char *key, size_t len)
{
	static const char *const keys[] = { "kernel_release", "kernel_version", "release",
					    "version" };

	return is_one_of(keys, ARRAY_COUNT(keys), key, len);
}

/* Whether the literal of a text may have it as it is. */
static bool is_plain(char c)
{
	return c != '"' && c != '\\' && !iscntrl((unsigned char)c);
}

/* "6.1.0-acme-rt7": 6, 1, 0 and rt7 stay. */
static void replace_version(struct anonymous *anonymous, const char *text, size_t len, char *to)
{
	static const char *const known[] = { "SMP", "PREEMPT", "RT", "PREEMPT_RT",
					     "PREEMPT_DYNAMIC" };

	for (size_t at = 0, end; at < len; at = end) {
		bool is_number = true, is_rt;

		for (end = at; end < len && (isalnum((unsigned char)text[end]) ||
					     text[end] == '_' || text[end] & 0x80);
		     end++) {
			is_number &= isdigit((unsigned char)text[end]) != 0;
		}
		is_rt = end - at >= 2 && memcmp(text + at, "rt", 2) == 0 &&
			strspn(text + at + 2, "0123456789") >= end - at - 2;
		if (end == at || is_number || is_rt ||
		    is_one_of(known, ARRAY_COUNT(known), text + at, end - at)) {
			end += end == at;
			memmove(to + at, text + at, end - at);
			to[at] = is_plain(to[at]) ? to[at] : '_';
		} else {
			anonymous_text(anonymous, text + at, end - at, to + at);
		}
	}
}

/* The value of an entry of the environment; @text ends with a zero. */
static void replace_env(struct anonymous *anonymous, const char *key, size_t key_len, char *text)
{
	if (is_version(key, key_len)) {
		replace_version(anonymous, text, strlen(text), text);
	} else if (!says_how_to_read(key, key_len)) {
		anonymous_text(anonymous, text, strlen(text), text);
	}
}

/* A UUID becomes another one, anything else is a text. */
static void replace_uuid(struct anonymous *anonymous, char *text)
{
	char made[UUID_TEXT_BYTES + 1] = "";
	uint8_t uuid[16];

	if (strlen(text) != UUID_TEXT_BYTES || !metadata_uuid_of(text, uuid)) {
		anonymous_text(anonymous, text, strlen(text), text);
		return;
	}
	anonymous_bytes(anonymous, uuid, sizeof(uuid), uuid);
	for (size_t i = 0, at = 0; i < sizeof(uuid); i++) {
		at += (size_t)snprintf(made + at, sizeof(made) - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	}
	memcpy(text, made, UUID_TEXT_BYTES);
}

/* ---- CTF 1.8 ---- */

typedef VEC(char) text_vec;

/* The end of the comment or literal at @at; @at itself: neither begins there. */
static const char *past_quoted(const char *at, const char *end)
{
	const char *close;

	if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
		close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
		return close ? close + 2 : end;
	}
	if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
		close = memchr(at, '\n', (size_t)(end - at));
		return close ? close : end;
	}
	if (*at != '"' && *at != '\'') {
		return at;
	}
	for (close = at + 1; close < end && *close != *at; close++) {
		close += *close == '\\' && close + 1 < end;
	}
	return close < end ? close + 1 : end;
}

/* Comments become blanks. */
static void drop_comments(const char *text, size_t len, text_vec *ret)
{
	for (const char *at = text, *end = text + len, *past; at < end; at = past) {
		past = past_quoted(at, end);
		if (past == at) {
			*vec_push(ret) = *at;
			past++;
		} else if (*at == '/') {
			*vec_push(ret) = ' ';
		} else {
			vec_append(ret, at, (size_t)(past - at));
		}
	}
}

/* Where in the declarations a token is. */
struct tsdl_place {
	unsigned int depth;
	struct token first, key; /* of the declaration; the identifier before "=" */
	bool is_value;           /* behind "=" */
};

static void pass_token(struct tsdl_place *place, const struct token *token)
{
	if (token->kind == TOKEN_IDENT) {
		place->first = place->depth == 0 && place->first.len == 0 ? *token : place->first;
		place->key = place->is_value ? place->key : *token;
	} else if (token->kind == TOKEN_PUNCT) {
		place->depth += token->punct == '{';
		place->depth -= token->punct == '}' && place->depth > 0;
		place->is_value = token->punct == '=';
		if (token->punct == ';' && place->depth == 0) {
			*place = (struct tsdl_place){ .depth = 0 };
		}
	}
}

/* The value of a literal; the caller frees it. */
static char *literal_text(const struct token *token)
{
	char *text = mem_alloc(token->len + 1), *to = text;

	for (const char *at = token->text, *end = at + token->len; at < end;) {
		char c = *at++;

		*to++ = c == '\\' && at < end ? lex_unescape(&at, end) : c;
	}
	return text;
}

/* The new value of the literal; NULL: it stays. */
static char *new_literal(struct anonymous *anonymous, const struct tsdl_place *place,
			 const struct token *token)
{
	bool is_env = lex_token_is(&place->first, "env");
	bool is_clock = lex_token_is(&place->first, "clock");
	bool is_site = lex_token_is(&place->first, "callsite");
	char *text;

	is_clock &= lex_token_is(&place->key, "uuid") || lex_token_is(&place->key, "description");
	if (place->depth == 0 || !place->is_value || !(is_env || is_clock || is_site)) {
		return NULL;
	}
	text = literal_text(token);
	if (is_env) {
		if (says_how_to_read(place->key.text, place->key.len)) {
			free(text);
			return NULL;
		}
		replace_env(anonymous, place->key.text, place->key.len, text);
	} else if (is_clock && lex_token_is(&place->key, "uuid")) {
		replace_uuid(anonymous, text);
	} else {
		anonymous_text(anonymous, text, strlen(text), text);
	}
	return text;
}

static int rewrite_tsdl(struct anonymous *anonymous, const char *text, size_t len, text_vec *ret,
			struct err *err)
{
	static const char start[] = "/* CTF 1.8 */\n";
	struct tsdl_place place = { .depth = 0 };
	text_vec bare = { 0 };
	const char *from;
	struct lex lex;
	char *value;

	drop_comments(text, len, &bare);
	*vec_push(&bare) = '\n'; /* it is never nothing */
	vec_append(ret, start, sizeof(start) - 1);
	from = bare.at;
	for (lex_init(&lex, bare.at, bare.count, 1); lex.token.kind != TOKEN_END; lex_next(&lex)) {
		const struct token *token = &lex.token;

		if (token->kind == TOKEN_BAD) {
			vec_fini(&bare);
			return err_raise(err, -EINVAL, "metadata, line %u: no token", token->line);
		}
		value = token->kind == TOKEN_STRING ? new_literal(anonymous, &place, token) : NULL;
		if (value) {
			vec_append(ret, from, (size_t)(token->text - from));
			vec_append(ret, value, strlen(value));
			from = token->text + token->len;
			free(value);
		}
		pass_token(&place, token);
	}
	vec_append(ret, from, (size_t)(bare.at + bare.count - from));
	vec_fini(&bare);
	return 0;
}

/* ---- CTF 2 ---- */

typedef void replace_fn(struct anonymous *anonymous, const char *key, size_t key_len, char *text);

static void replace_plain(struct anonymous *anonymous, const char *key, size_t key_len, char *text)
{
	anonymous_text(anonymous, text, strlen(text), text);
}

static void replace_id(struct anonymous *anonymous, const char *key, size_t key_len, char *text)
{
	replace_uuid(anonymous, text);
}

/* Replaces all texts in @value, which is what @key names. */
static void replace_in(struct anonymous *anonymous, struct json_object *value, const char *key,
		       replace_fn *replace)
{
	if (json_object_is_type(value, json_type_string)) {
		char *text = mem_strdup(json_object_get_string(value));

		replace(anonymous, key, strlen(key), text);
		(void)json_object_set_string(value, text);
		free(text);
	} else if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++) {
			replace_in(anonymous, json_object_array_get_idx(value, i), key, replace);
		}
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, name, member)
		{
			replace_in(anonymous, member, name, replace);
		}
	}
}

/* What others wrote beside the format is dropped, wherever it is; of LTTng, which says there of how
 * much weight events are, texts are replaced. */
static void replace_attributes(struct anonymous *anonymous, struct json_object *value)
{
	static const char lttng[] = "lttng.org,2009";
	struct json_object *own = NULL, *attributes = NULL;

	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++) {
			replace_attributes(anonymous, json_object_array_get_idx(value, i));
		}
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, name, member)
		{
			if (strcmp(name, "attributes") == 0 &&
			    json_object_is_type(member, json_type_object)) {
				attributes = member;
			} else {
				replace_attributes(anonymous, member);
			}
		}
	}
	if (attributes && json_object_object_get_ex(attributes, lttng, &own)) {
		replace_in(anonymous, own, lttng, replace_plain);
		own = json_object_get(own);
	}
	if (attributes) {
		json_object_object_del(value, "attributes");
	}
	if (own) {
		attributes = json_object_new_object();
		(void)json_object_object_add(attributes, lttng, own);
		(void)json_object_object_add(value, "attributes", attributes);
	}
}

static void replace_member(struct anonymous *anonymous, struct json_object *fragment,
			   const char *key, replace_fn *replace)
{
	struct json_object *value;

	if (json_object_object_get_ex(fragment, key, &value)) {
		replace_in(anonymous, value, key, replace);
	}
}

/* "uuid": [1, 2, ...], of a clock: which machine it was, and which boot. */
static void replace_uuid_array(struct anonymous *anonymous, struct json_object *fragment)
{
	struct json_object *array;
	uint8_t uuid[16];

	if (!json_object_object_get_ex(fragment, "uuid", &array) ||
	    !json_object_is_type(array, json_type_array) ||
	    json_object_array_length(array) != sizeof(uuid)) {
		return;
	}
	for (size_t i = 0; i < sizeof(uuid); i++) {
		uuid[i] = (uint8_t)json_object_get_int(json_object_array_get_idx(array, i));
	}
	anonymous_bytes(anonymous, uuid, sizeof(uuid), uuid);
	for (size_t i = 0; i < sizeof(uuid); i++) {
		(void)json_object_array_put_idx(array, i, json_object_new_int(uuid[i]));
	}
}

static void rewrite_fragment(struct anonymous *anonymous, struct json_object *fragment)
{
	struct json_object *type, *origin;
	const char *kind = json_object_object_get_ex(fragment, "type", &type)
				   ? json_object_get_string(type)
				   : "";

	replace_attributes(anonymous, fragment);
	if (strcmp(kind, "trace-class") == 0) {
		replace_member(anonymous, fragment, "environment", replace_env);
		replace_member(anonymous, fragment, "name", replace_plain);
		replace_member(anonymous, fragment, "namespace", replace_plain);
		replace_member(anonymous, fragment, "uid", replace_id);
	} else if (strcmp(kind, "clock-class") == 0) {
		replace_member(anonymous, fragment, "uid", replace_id);
		replace_uuid_array(anonymous, fragment);
		replace_member(anonymous, fragment, "description", replace_plain);
		replace_member(anonymous, fragment, "namespace", replace_plain);
		if (json_object_object_get_ex(fragment, "origin", &origin) &&
		    json_object_is_type(origin, json_type_object)) {
			replace_in(anonymous, origin, "origin", replace_id);
		}
	}
}

static int rewrite_json(struct anonymous *anonymous, const char *text, size_t len, text_vec *ret,
			struct err *err)
{
	struct json_tokener *tokener = json_tokener_new();
	size_t at = 0;
	int r = 0;

	while (r == 0) {
		struct json_object *fragment;
		const char *again;

		while (at < len && strchr("\x1E \t\r\n", text[at])) {
			at++;
		}
		if (at == len) {
			break;
		}
		assert(len - at <= METADATA_BYTES_MAX);
		json_tokener_reset(tokener);
		fragment = json_tokener_parse_ex(tokener, text + at, (int)(len - at));
		if (!json_object_is_type(fragment, json_type_object)) {
			r = err_raise(err, -EINVAL, "metadata, byte %zu: no object of JSON", at);
		} else {
			at += json_tokener_get_parse_end(tokener);
			rewrite_fragment(anonymous, fragment);
			again = json_object_to_json_string_ext(fragment, JSON_C_TO_STRING_PLAIN);
			*vec_push(ret) = '\x1E';
			vec_append(ret, again, strlen(again));
			*vec_push(ret) = '\n';
		}
		(void)json_object_put(fragment);
	}
	json_tokener_free(tokener);
	return r;
}

int anonymous_metadata(struct anonymous *anonymous, uint32_t major, const char *text, size_t len,
		       char **ret, size_t *ret_len, struct err *err)
{
	text_vec made = { 0 };
	int r = major == 2 ? rewrite_json(anonymous, text, len, &made, err)
			   : rewrite_tsdl(anonymous, text, len, &made, err);

	*ret_len = made.count;
	*vec_push(&made) = '\0';
	*ret = made.at;
	if (r < 0) {
		free(made.at);
		*ret = NULL;
	}
	return r;
}
