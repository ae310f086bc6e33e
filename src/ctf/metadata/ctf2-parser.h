/*
 * ctf2-parser: the state and the functions that the files of the CTF 2 parser share (ctf2.h).
 *
 * Failure leaves by longjmp to ctf2_feed(), which frees the fragment's JSON; the arena owns the
 * types.
 */
#pragma once

#include <json-c/json.h>
#include <setjmp.h>

#include "base/arena.h"
#include "base/err.h"
#include "ctf/metadata/type.h"

/* A field class with a name (fragment `field-class-alias`). */
#define ALIAS_BUCKETS 256
struct ctf2_alias {
	struct ctf2_alias *next;
	const char *name;
	const struct type *type;
};

/* The parser's place in the fragment, for messages: innermost first. */
struct ctf2_where {
	const struct ctf2_where *outer;
	const char *key;
	size_t index; /* in an array; SIZE_MAX: in no array */
};

struct ctf2 {
	struct arena *arena;
	struct metadata metadata;
	struct ctf2_alias *aliases[ALIAS_BUCKETS];
	struct json_tokener *tokener;
	struct json_object *fragment; /* the one being parsed */
	size_t fragment_bytes;        /* read so far of the incomplete one; 0: none */
	unsigned long long fragments; /* complete so far */
	const struct ctf2_where *where;
	unsigned int depth;
	bool is_broken;
	jmp_buf fail;
	struct err *err;
};

__attribute__((noreturn, format(printf, 2, 3))) void ctf2_fail(struct ctf2 *p, const char *fmt,
							       ...);

/*
 * Members of an object.  If the member is missing, `find` returns NULL, `need` fails, and `or`
 * returns @otherwise.  All but ctf2_find() fail if it has another JSON type.
 */
struct json_object *ctf2_find(struct json_object *object, const char *key);
struct json_object *ctf2_find_array(struct ctf2 *p, struct json_object *object, const char *key);
struct json_object *ctf2_find_object(struct ctf2 *p, struct json_object *object, const char *key);
const char *ctf2_find_text(struct ctf2 *p, struct json_object *object, const char *key);
const char *ctf2_need_text(struct ctf2 *p, struct json_object *object, const char *key);
uint64_t ctf2_need_uint(struct ctf2 *p, struct json_object *object, const char *key, uint64_t max);
uint64_t ctf2_uint_or(struct ctf2 *p, struct json_object *object, const char *key,
		      uint64_t otherwise);
int64_t ctf2_int_or(struct ctf2 *p, struct json_object *object, const char *key, int64_t otherwise);

/* A copy of @text as a name, in the form that type_name() takes. */
const char *ctf2_name(struct ctf2 *p, const char *text);

/* ---- ctf2-property.c ---- */

uint32_t ctf2_alignment(struct ctf2 *p, struct json_object *class, const char *key);
uint16_t ctf2_roles(struct ctf2 *p, struct json_object *class);
enum encoding ctf2_encoding(struct ctf2 *p, struct json_object *class);

/* `[low, high]`, or one integer for both. */
void ctf2_range(struct ctf2 *p, struct json_object *range, uint64_t *ret_low, uint64_t *ret_high);

/* `{"origin": ..., "path": [...]}`, or `[origin, ...]` in release candidates. */
const struct type_path *ctf2_location(struct ctf2 *p, struct json_object *class, const char *key);

/* ---- ctf2-type.c ---- */

/* A field class, or the name of one.  @key: its place, for messages. */
const struct type *ctf2_type(struct ctf2 *p, struct json_object *class, const char *key);
void ctf2_add_alias(struct ctf2 *p, const char *name, const struct type *type);
