/*
 * ctf2-property: properties that several field classes of CTF 2 have: alignment, roles, encoding,
 * ranges, locations (CTF2-SPEC-2.0, sections 5.3 and 6).
 */
#include <assert.h>
#include <string.h>

#include "base/vec.h"
#include "ctf/metadata/ctf2-parser.h"

uint32_t ctf2_alignment(struct ctf2 *p, struct json_object *class, const char *key)
{
	uint64_t bits = ctf2_uint_or(p, class, key, 1);

	if (bits == 0 || (bits & (bits - 1)) || bits > 4096) {
		ctf2_fail(p, "\"%s\" must be a power of two up to 4096, not %llu", key,
			  (unsigned long long)bits);
	}
	return (uint32_t)bits;
}

static uint16_t role_named(const char *name)
{
	static const struct {
		const char *name;
		uint16_t role;
	} roles[] = {
		{ "packet-magic-number", ROLE_MAGIC },
		{ "metadata-stream-uuid", ROLE_UUID },
		{ "data-stream-class-id", ROLE_STREAM_CLASS_ID },
		{ "data-stream-id", ROLE_STREAM_ID },
		{ "packet-total-length", ROLE_PACKET_SIZE },
		{ "packet-content-length", ROLE_CONTENT_SIZE },
		{ "default-clock-timestamp", ROLE_TIMESTAMP },
		{ "packet-end-default-clock-timestamp", ROLE_TIMESTAMP_END },
		{ "discarded-event-record-counter-snapshot", ROLE_DISCARDED },
		{ "packet-sequence-number", ROLE_SEQ_NUM },
		{ "event-record-class-id", ROLE_EVENT_CLASS_ID },
	};

	for (size_t i = 0; i < ARRAY_COUNT(roles); i++) {
		if (strcmp(name, roles[i].name) == 0) {
			return roles[i].role;
		}
	}
	return 0; /* no use here */
}

uint16_t ctf2_roles(struct ctf2 *p, struct json_object *class)
{
	struct json_object *names = ctf2_find_array(p, class, "roles");
	uint16_t roles = 0;

	for (size_t i = 0; names && i < json_object_array_length(names); i++) {
		struct json_object *name = json_object_array_get_idx(names, i);

		if (!json_object_is_type(name, json_type_string)) {
			ctf2_fail(p, "\"roles\" must be strings");
		}
		roles |= role_named(json_object_get_string(name));
	}
	return roles;
}

enum encoding ctf2_encoding(struct ctf2 *p, struct json_object *class)
{
	static const char *const names[] = { [UTF_8] = "utf-8",
					     [UTF_16LE] = "utf-16le",
					     [UTF_16BE] = "utf-16be",
					     [UTF_32LE] = "utf-32le",
					     [UTF_32BE] = "utf-32be" };
	const char *name = ctf2_find_text(p, class, "encoding");

	for (unsigned int i = 0; name && i < ARRAY_COUNT(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			return (enum encoding)i;
		}
	}
	if (name) {
		ctf2_fail(p, "an unknown encoding, \"%.80s\"", name);
	}
	return UTF_8;
}

static uint64_t need_integer(struct ctf2 *p, struct json_object *number)
{
	if (!json_object_is_type(number, json_type_int)) {
		ctf2_fail(p, "a bound of a range must be an integer");
	}
	return json_object_get_int64(number) < 0 ? (uint64_t)json_object_get_int64(number)
						 : json_object_get_uint64(number);
}

void ctf2_range(struct ctf2 *p, struct json_object *range, uint64_t *ret_low, uint64_t *ret_high)
{
	if (!json_object_is_type(range, json_type_array)) {
		*ret_low = need_integer(p, range);
		*ret_high = *ret_low;
		return;
	}
	if (json_object_array_length(range) != 2) {
		ctf2_fail(p, "a range must be two integers");
	}
	*ret_low = need_integer(p, json_object_array_get_idx(range, 0));
	*ret_high = need_integer(p, json_object_array_get_idx(range, 1));
}

/* ---- locations ---- */

static bool origin_named(const char *name, enum root *ret_root)
{
	static const char *const names[ROOT_COUNT] = {
		[ROOT_PACKET_HEADER] = "packet-header",
		[ROOT_PACKET_CONTEXT] = "packet-context",
		[ROOT_EVENT_HEADER] = "event-record-header",
		[ROOT_STREAM_EVENT_CONTEXT] = "event-record-common-context",
		[ROOT_EVENT_CONTEXT] = "event-record-specific-context",
		[ROOT_FIELDS] = "event-record-payload",
	};

	for (unsigned int i = 0; i < ROOT_COUNT; i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret_root = (enum root)i;
			return true;
		}
	}
	return false;
}

/* Names from @first on; each `null` in front of them leads one struct outward. */
static void parse_names(struct ctf2 *p, struct json_object *array, size_t first,
			struct type_path *path)
{
	size_t count = json_object_array_length(array);
	const char **names = arena_alloc(p->arena, count * sizeof(*names));

	for (size_t i = first; i < count; i++) {
		struct json_object *name = json_object_array_get_idx(array, i);

		if (!name && path->count == 0 && !path->is_absolute) {
			path->up++;
			continue;
		}
		if (!json_object_is_type(name, json_type_string)) {
			ctf2_fail(p, "a location must be strings after nulls that lead outward");
		}
		names[path->count++] = ctf2_name(p, json_object_get_string(name));
	}
	assert(path->count + path->up + first == count);
	if (path->count == 0) {
		ctf2_fail(p, "a location without a name");
	}
	path->names = names;
}

const struct type_path *ctf2_location(struct ctf2 *p, struct json_object *class, const char *key)
{
	struct json_object *location = ctf2_find(class, key);
	struct type_path *path = arena_alloc(p->arena, sizeof(*path));

	if (json_object_is_type(location, json_type_object)) {
		const char *origin = ctf2_find_text(p, location, "origin");
		struct json_object *names = ctf2_find_array(p, location, "path");

		path->is_absolute = origin;
		if (origin && !origin_named(origin, &path->root)) {
			ctf2_fail(p, "\"%s\" has an unknown origin, \"%.80s\"", key, origin);
		}
		if (!names) {
			ctf2_fail(p, "\"%s\" has no \"path\"", key);
		}
		parse_names(p, names, 0, path);
	} else if (json_object_is_type(location, json_type_array)) {
		struct json_object *first = json_object_array_get_idx(location, 0);

		path->is_absolute = json_object_is_type(first, json_type_string) &&
				    origin_named(json_object_get_string(first), &path->root);
		parse_names(p, location, path->is_absolute, path);
	} else {
		ctf2_fail(p, "no \"%s\"", key);
	}
	return path;
}
