/*
 * ctf2: the fragments of CTF 2: preamble, alias, clock, trace, data stream and event record
 * classes.
 */
#include "ctf/metadata/ctf2.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "ctf/metadata/ctf2-parser.h"

#define RS '\x1E' /* before each fragment (RFC 7464) */

/* JSON levels of one level of field classes: member-classes, member, field-class. */
#define JSON_DEPTH (TYPE_DEPTH_MAX * 3 + 8)

/* ---- failure ---- */

static void put_where(const struct ctf2_where *where, char *text, size_t size)
{
	size_t len;

	if (!where) {
		return;
	}
	put_where(where->outer, text, size);
	len = strlen(text);
	(void)snprintf(text + len, size - len,
		       where->index == SIZE_MAX ? "%s%.40s" : "%s%.40s[%zu]", len ? "." : "",
		       where->key, where->index);
}

void ctf2_fail(struct ctf2 *p, const char *fmt, ...)
{
	char what[256], where[256] = "";
	va_list args;

	assert(p->arena->fail == &p->fail); /* ctf2_feed() is waiting */
	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	put_where(p->where, where, sizeof(where));
	(void)err_raise(p->err, -EINVAL, "metadata fragment %llu%s%s: %s", p->fragments,
			where[0] ? ", " : "", where, what);
	longjmp(p->fail, EINVAL);
}

/* ---- members ---- */

struct json_object *ctf2_find(struct json_object *object, const char *key)
{
	struct json_object *member = NULL;

	(void)json_object_object_get_ex(object, key, &member);
	return member;
}

static struct json_object *find_kind(struct ctf2 *p, struct json_object *object, const char *key,
				     enum json_type kind)
{
	struct json_object *member = ctf2_find(object, key);

	if (member && !json_object_is_type(member, kind)) {
		ctf2_fail(p, "\"%s\" must be of JSON type %s, not %s", key, json_type_to_name(kind),
			  json_type_to_name(json_object_get_type(member)));
	}
	return member;
}

struct json_object *ctf2_find_array(struct ctf2 *p, struct json_object *object, const char *key)
{
	return find_kind(p, object, key, json_type_array);
}

struct json_object *ctf2_find_object(struct ctf2 *p, struct json_object *object, const char *key)
{
	return find_kind(p, object, key, json_type_object);
}

const char *ctf2_find_text(struct ctf2 *p, struct json_object *object, const char *key)
{
	struct json_object *member = find_kind(p, object, key, json_type_string);

	return member ? json_object_get_string(member) : NULL;
}

const char *ctf2_need_text(struct ctf2 *p, struct json_object *object, const char *key)
{
	const char *text = ctf2_find_text(p, object, key);

	if (!text) {
		ctf2_fail(p, "no \"%s\"", key);
	}
	return text;
}

uint64_t ctf2_uint_or(struct ctf2 *p, struct json_object *object, const char *key,
		      uint64_t otherwise)
{
	struct json_object *member = find_kind(p, object, key, json_type_int);

	if (!member) {
		return otherwise;
	}
	if (json_object_get_int64(member) < 0) {
		ctf2_fail(p, "\"%s\" must not be negative", key);
	}
	return json_object_get_uint64(member);
}

uint64_t ctf2_need_uint(struct ctf2 *p, struct json_object *object, const char *key, uint64_t max)
{
	uint64_t number;

	if (!ctf2_find(object, key)) {
		ctf2_fail(p, "no \"%s\"", key);
	}
	number = ctf2_uint_or(p, object, key, 0);
	if (number > max) {
		ctf2_fail(p, "\"%s\" is %llu, the limit is %llu", key, (unsigned long long)number,
			  (unsigned long long)max);
	}
	return number;
}

int64_t ctf2_int_or(struct ctf2 *p, struct json_object *object, const char *key, int64_t otherwise)
{
	struct json_object *member = find_kind(p, object, key, json_type_int);

	return member ? json_object_get_int64(member) : otherwise;
}

const char *ctf2_name(struct ctf2 *p, const char *text)
{
	size_t len = strlen(text);
	char *name;

	if (text[0] != '_') {
		return arena_strndup(p->arena, text, len);
	}
	name = arena_alloc(p->arena, len + 2);
	name[0] = '_';
	memcpy(name + 1, text, len);
	return name;
}

/* ---- fragments ---- */

static bool uuid_bytes(struct json_object *bytes, uint8_t uuid[16])
{
	for (size_t i = 0; i < 16; i++) {
		struct json_object *byte = json_object_array_get_idx(bytes, i);

		if (!json_object_is_type(byte, json_type_int) || json_object_get_int64(byte) < 0 ||
		    json_object_get_int64(byte) > 255) {
			return false;
		}
		uuid[i] = (uint8_t)json_object_get_int64(byte);
	}
	return true;
}

static bool parse_uuid(struct ctf2 *p, struct json_object *fragment, uint8_t uuid[16])
{
	struct json_object *bytes = ctf2_find_array(p, fragment, "uuid");

	if (!bytes) {
		return false;
	}
	if (json_object_array_length(bytes) != 16) {
		ctf2_fail(p, "\"uuid\" must have 16 bytes, not %zu",
			  json_object_array_length(bytes));
	}
	if (!uuid_bytes(bytes, uuid)) {
		ctf2_fail(p, "\"uuid\" must be numbers from 0 to 255");
	}
	return true;
}

/* Of a clock: what is none tells nothing, and times do not need it. */
static bool clock_uuid(struct json_object *fragment, uint8_t uuid[16])
{
	struct json_object *uid = ctf2_find(fragment, "uid"), *bytes = ctf2_find(fragment, "uuid");

	return (json_object_is_type(uid, json_type_string) &&
		metadata_uuid_of(json_object_get_string(uid), uuid)) ||
	       (json_object_is_type(bytes, json_type_array) &&
		json_object_array_length(bytes) == 16 && uuid_bytes(bytes, uuid));
}

static void parse_preamble(struct ctf2 *p, struct json_object *fragment)
{
	struct metadata *m = &p->metadata;
	struct json_object *extensions = ctf2_find_object(p, fragment, "extensions");
	uint64_t version = ctf2_need_uint(p, fragment, "version", UINT64_MAX);

	if (m->major != 0) {
		ctf2_fail(p, "a second preamble");
	}
	if (version != 2) {
		ctf2_fail(p, "CTF version %llu; this program reads 1.8 and 2",
			  (unsigned long long)version);
	}
	if (extensions) {
		json_object_object_foreach(extensions, name, extension)
		{
			(void)extension;
			ctf2_fail(p,
				  "the trace needs the extension \"%.80s\", which this program "
				  "does not know",
				  name);
		}
	}
	m->major = 2;
	m->order = ORDER_LE; /* unused: each field class has its own */
	m->has_trace = true;
	m->has_uuid = parse_uuid(p, fragment, m->uuid);
}

static void parse_alias(struct ctf2 *p, struct json_object *fragment)
{
	const char *name = ctf2_need_text(p, fragment, "name");

	ctf2_add_alias(p, name, ctf2_type(p, ctf2_find(fragment, "field-class"), "field-class"));
}

static void parse_clock(struct ctf2 *p, struct json_object *fragment)
{
	struct clock_class *clock = arena_alloc(p->arena, sizeof(*clock));
	struct json_object *offset = ctf2_find_object(p, fragment, "offset-from-origin");
	struct json_object *origin = ctf2_find(fragment, "origin");
	const char *id = ctf2_find_text(p, fragment, "id");

	/* Release candidates: "name" is the id, and "offset" the offset. */
	id = id ? id : ctf2_need_text(p, fragment, "name");
	offset = offset ? offset : ctf2_find_object(p, fragment, "offset");
	if (metadata_clock(&p->metadata, id)) {
		ctf2_fail(p, "the clock \"%.80s\" is declared twice", id);
	}
	clock->name = arena_strndup(p->arena, id, strlen(id));
	clock->freq = ctf2_uint_or(p, fragment, "frequency", 1000000000);
	if (clock->freq == 0) {
		ctf2_fail(p, "a clock of 0 Hz");
	}
	if (offset) {
		clock->offset_s = ctf2_int_or(p, offset, "seconds", 0);
		clock->offset = (int64_t)ctf2_uint_or(p, offset, "cycles", 0);
	}
	clock->is_absolute = origin && json_object_is_type(origin, json_type_string) &&
			     strcmp(json_object_get_string(origin), "unix-epoch") == 0;
	clock->has_uuid = clock_uuid(fragment, clock->uuid);
	assert(clock->freq > 0); /* clock.h divides by it */
	clock->next = p->metadata.clocks;
	p->metadata.clocks = clock;
}

static const struct type *struct_member(struct ctf2 *p, struct json_object *fragment,
					const char *key)
{
	struct json_object *class = ctf2_find(fragment, key);
	const struct type *type;

	if (!class) {
		return NULL;
	}
	type = ctf2_type(p, class, key);
	if (type->kind != TYPE_STRUCT) {
		ctf2_fail(p, "\"%s\" must be a structure", key);
	}
	return type;
}

static void parse_environment(struct ctf2 *p, struct json_object *environment)
{
	json_object_object_foreach(environment, name, value)
	{
		struct env_entry *entry = arena_alloc(p->arena, sizeof(*entry));

		entry->name = arena_strndup(p->arena, name, strlen(name));
		if (json_object_is_type(value, json_type_string)) {
			entry->text = arena_strndup(p->arena, json_object_get_string(value),
						    strlen(json_object_get_string(value)));
		} else if (json_object_is_type(value, json_type_int)) {
			entry->number = json_object_get_int64(value);
		} else {
			ctf2_fail(p, "the environment holds strings and integers only");
		}
		entry->next = p->metadata.env;
		p->metadata.env = entry;
	}
}

static void parse_trace(struct ctf2 *p, struct json_object *fragment)
{
	struct metadata *m = &p->metadata;
	struct json_object *environment = ctf2_find_object(p, fragment, "environment");

	if (m->packet_header || m->env || m->streams) {
		ctf2_fail(p, "a second trace class, or one after a data stream class");
	}
	if (environment) {
		parse_environment(p, environment);
	}
	if (!m->has_uuid) { /* release candidates */
		m->has_uuid = parse_uuid(p, fragment, m->uuid);
	}
	m->packet_header = struct_member(p, fragment, "packet-header-field-class");
}

static void parse_stream(struct ctf2 *p, struct json_object *fragment)
{
	struct stream_class *stream = arena_alloc(p->arena, sizeof(*stream));
	const char *clock = ctf2_find_text(p, fragment, "default-clock-class-id");

	clock = clock ? clock : ctf2_find_text(p, fragment, "default-clock-class-name");
	stream->id = ctf2_uint_or(p, fragment, "id", 0);
	if (metadata_stream(&p->metadata, stream->id)) {
		ctf2_fail(p, "the data stream class %llu is declared twice",
			  (unsigned long long)stream->id);
	}
	if (clock) {
		const struct clock_class *class = metadata_clock(&p->metadata, clock);

		if (!class) {
			ctf2_fail(p, "the clock class \"%.80s\" is not declared", clock);
		}
		stream->clock = class->name;
	}
	stream->packet_context = struct_member(p, fragment, "packet-context-field-class");
	stream->event_header = struct_member(p, fragment, "event-record-header-field-class");
	stream->event_context =
		struct_member(p, fragment, "event-record-common-context-field-class");
	stream->next = p->metadata.streams;
	p->metadata.streams = stream;
}

/* LTTng writes an event's log level into its attributes; -1: none. */
static int64_t find_log_level(struct json_object *fragment)
{
	struct json_object *attributes = ctf2_find(fragment, "attributes");
	struct json_object *lttng = NULL, *level = NULL;

	if (json_object_is_type(attributes, json_type_object)) {
		lttng = ctf2_find(attributes, "lttng.org,2009");
	}
	if (json_object_is_type(lttng, json_type_object)) {
		level = ctf2_find(lttng, "log-level");
	}
	return json_object_is_type(level, json_type_int) ? json_object_get_int64(level) : -1;
}

static void parse_event(struct ctf2 *p, struct json_object *fragment)
{
	struct metadata *m = &p->metadata;
	struct event_class *event = arena_alloc(p->arena, sizeof(*event));
	const char *name = ctf2_find_text(p, fragment, "name");

	if (m->event_count == EVENT_CLASSES_MAX) {
		ctf2_fail(p, "more than %d event classes", EVENT_CLASSES_MAX);
	}
	event->name = arena_strndup(p->arena, name ? name : "", name ? strlen(name) : 0);
	event->id = ctf2_uint_or(p, fragment, "id", 0);
	event->stream_id = ctf2_uint_or(p, fragment, "data-stream-class-id", 0);
	event->loglevel = find_log_level(fragment);
	event->context = struct_member(p, fragment, "specific-context-field-class");
	event->fields = struct_member(p, fragment, "payload-field-class");
	metadata_add_event(m, event);
}

static const struct {
	const char *type;
	void (*parse)(struct ctf2 *p, struct json_object *fragment);
} kinds[] = {
	{ "field-class-alias", parse_alias },  { "clock-class", parse_clock },
	{ "trace-class", parse_trace },        { "data-stream-class", parse_stream },
	{ "event-record-class", parse_event },
};

static void parse_fragment(struct ctf2 *p, struct json_object *fragment)
{
	const char *type;

	if (!json_object_is_type(fragment, json_type_object)) {
		ctf2_fail(p, "a fragment must be a JSON object");
	}
	type = ctf2_need_text(p, fragment, "type");
	if (strcmp(type, "preamble") == 0) {
		parse_preamble(p, fragment);
		return;
	}
	if (p->metadata.major == 0) {
		ctf2_fail(p, "the first fragment must be the preamble");
	}
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		if (strcmp(type, kinds[i].type) == 0) {
			kinds[i].parse(p, fragment);
			return;
		}
	}
	ctf2_fail(p, "a fragment of unknown type \"%.80s\"", type);
}

/* ---- lifecycle ---- */

struct ctf2 *ctf2_new(struct arena *arena, struct metadata_notes *notes)
{
	struct ctf2 *p = mem_alloc(sizeof(*p));

	p->arena = arena;
	p->metadata.notes = notes;
	p->tokener = json_tokener_new_ex(JSON_DEPTH);
	if (!p->tokener) {
		free(p);
		return NULL;
	}
	json_tokener_set_flags(p->tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8 |
						   JSON_TOKENER_ALLOW_TRAILING_CHARS);
	return p;
}

void ctf2_free(struct ctf2 *p)
{
	if (p) {
		json_tokener_free(p->tokener);
		free(p);
	}
}

/* Adds what a complete fragment declares; frees the fragment. */
static int take_fragment(struct ctf2 *p, struct json_object *fragment, struct err *err)
{
	int code;

	assert(!p->fragment);
	p->err = err;
	p->fragment = fragment;
	p->where = NULL;
	p->depth = 0;
	err->text[0] = '\0';
	p->arena->fail = &p->fail;
	code = setjmp(p->fail);
	if (code == 0) {
		parse_fragment(p, fragment);
		assert(p->depth == 0);
		assert(!p->where);
	} else if (!err->text[0]) {
		(void)err_raise(err, -ENOMEM,
				"metadata fragment %llu: out of memory (%zu bytes used)",
				p->fragments, p->arena->total);
		code = ENOMEM;
	}
	p->arena->fail = NULL;
	(void)json_object_put(p->fragment);
	p->fragment = NULL;
	p->fragment_bytes = 0;
	p->fragments++;
	return -code;
}

/* Bytes between fragments. */
static size_t blanks(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && (text[at] == RS || text[at] == ' ' || text[at] == '\t' ||
			    text[at] == '\n' || text[at] == '\r' || text[at] == '\0')) {
		at++;
	}
	return at;
}

/* Adds @text to the incomplete fragment; returns the bytes taken, or an error. */
static int64_t feed_fragment(struct ctf2 *p, const char *text, size_t len, struct err *err)
{
	struct json_object *fragment =
		json_tokener_parse_ex(p->tokener, text, len > INT32_MAX ? INT32_MAX : (int)len);
	enum json_tokener_error error = json_tokener_get_error(p->tokener);
	size_t used = json_tokener_get_parse_end(p->tokener);
	int r;

	assert(used <= len);
	p->fragment_bytes += used;
	if (error != json_tokener_success && error != json_tokener_continue) {
		return err_raise(err, -EINVAL, "metadata fragment %llu, at byte %zu of it: %s",
				 p->fragments, p->fragment_bytes, json_tokener_error_desc(error));
	}
	if (p->fragment_bytes > CTF2_FRAGMENT_BYTES_MAX) {
		(void)json_object_put(fragment);
		return err_raise(err, -E2BIG, "metadata fragment %llu has more than %zu bytes",
				 p->fragments, CTF2_FRAGMENT_BYTES_MAX);
	}
	if (error == json_tokener_continue) {
		return (int64_t)used;
	}
	json_tokener_reset(p->tokener);
	r = take_fragment(p, fragment, err);
	return r < 0 ? r : (int64_t)used;
}

int ctf2_feed(struct ctf2 *p, const char *text, size_t len, struct err *err)
{
	if (p->is_broken) {
		return err_raise(err, -EINVAL, "an earlier part of the metadata is wrong");
	}
	while (len > 0) {
		size_t skip = p->fragment_bytes == 0 ? blanks(text, len) : 0;
		int64_t used;

		text += skip;
		len -= skip;
		if (len == 0) {
			break;
		}
		used = feed_fragment(p, text, len, err);
		if (used < 0) {
			p->is_broken = true;
			return (int)used;
		}
		text += used;
		len -= (size_t)used;
	}
	return 0;
}

bool ctf2_is_inside(const struct ctf2 *p)
{
	return p->fragment_bytes > 0;
}

const struct metadata *ctf2_metadata(const struct ctf2 *p)
{
	return &p->metadata;
}
