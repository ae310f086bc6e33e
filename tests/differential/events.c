/*
 * events: what the decoder sees, for scripts to compare.
 *
 * usage: events TRACE          prints each event of each stream file: name, cycles, fields; of a
 *                              trace.dat those of all traces that it becomes
 *        events --ctf2 TRACE   prints the trace's metadata in the language of CTF 2
 *
 * Fields are printed in the order of the layout: integers in decimal, floats as the bits
 * of the double, text in hexadecimal.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctf/decoder.h"
#include "ctf/metadata/metadata.h"
#include "recorded/recorded.h"

/* ---- events ---- */

static void print_text(const uint8_t *bytes, uint64_t len)
{
	len = strnlen((const char *)bytes, len);
	(void)putchar('"');
	for (uint64_t i = 0; i < len; i++) {
		printf("%02x", bytes[i]);
	}
	(void)putchar('"');
}

static void on_leaf(void *user, const struct type *type, const struct value *value)
{
	(void)putchar(' ');
	switch (type->kind) {
	case TYPE_FLOAT:
		printf("%016" PRIx64, value->u);
		break;
	case TYPE_STRING:
	case TYPE_ARRAY:
	case TYPE_SEQUENCE:
		print_text(value->bytes, value->len);
		break;
	default:
		if (type->is_signed) {
			printf("%" PRId64, value->i);
		} else {
			printf("%" PRIu64, value->u);
		}
		break;
	}
}

static int print_packet(const struct recorded_file *file, const struct plan *plan,
			struct decoder *d)
{
	uint64_t size = file->info.size_bits / 8;
	uint8_t *bytes = malloc(size);
	struct packet_info info;
	struct ctf_event event = { 0 };
	struct err err;
	int r = -1;

	if (pread(file->fd, bytes, size, (off_t)file->offset) == (ssize_t)size &&
	    packet_info_read(d, plan, bytes, size, size, &info, &err) == 0) {
		decoder_start(d, plan, &info, bytes, size);
		for (;;) {
			/* The fields come before the event they belong to is known. */
			d->visit = on_leaf;
			r = decoder_next(d, &event);
			if (r <= 0) {
				break;
			}
			printf(" %s %" PRIu64 "\n", event.class->class->name, event.cycles);
		}
	}
	if (r < 0) {
		(void)decoder_fault(d, &err);
		printf(" fault: %s\n", err.text);
	}
	free(bytes);
	return r;
}

static void print_fault(struct recorded_file *file)
{
	char *fault = recorded_take_fault(file);

	if (fault) {
		printf(" fault: %s\n", fault);
		free(fault);
	}
}

static int print_events(const struct recorded_path *path)
{
	struct metadata_stream *metadata = metadata_stream_new();
	struct decoder *d = mem_alloc(sizeof(*d));
	struct recorded_files files = { 0 };
	struct plan_builder *builder;
	struct plan *plan = NULL;
	struct err err;
	int r = recorded_read_metadata(path, metadata, &err);

	builder = plan_builder_new(metadata_stream_arena(metadata), NULL, 0, true);
	if (r == 0) {
		r = plan_build(builder, metadata_stream_types(metadata), &plan, &err);
	}
	if (r == 0) {
		r = recorded_open_files(path, plan, d, &files, &err);
	}
	if (r < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
	}
	for (size_t i = 0; r == 0 && i < files.at.count; i++) {
		struct recorded_file *file = &files.at.at[i];

		printf("%s\n", file->name);
		print_fault(file);
		while (file->has_info && r == 0) {
			r = print_packet(file, plan, d);
			recorded_next(file, plan, d);
			print_fault(file);
		}
	}
	recorded_files_fini(&files);
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(metadata);
	decoder_free(d);
	return r;
}

/* A directory, or what a file becomes. */
static int each_path(char *name, int (*print)(const struct recorded_path *path))
{
	struct recorded_path alone = { .name = name, .dirs = { .at = &name, .count = 1 } };
	struct recorded_paths paths = { 0 };
	struct err err;
	int r = 0;

	if (!recorded_is_file(name)) {
		return print(&alone);
	}
	if (recorded_find(name, &paths, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		r = -1;
	}
	for (size_t i = 0; r == 0 && i < paths.at.count; i++) {
		r = print(&paths.at.at[i]);
	}
	recorded_paths_fini(&paths);
	return r;
}

/* ---- metadata ---- */

/* How TSDL says what CTF 2 says by roles. */
static const struct {
	enum root root;
	const char *name, *role;
} roles[] = {
	{ ROOT_PACKET_HEADER, "magic", "packet-magic-number" },
	{ ROOT_PACKET_HEADER, "uuid", "metadata-stream-uuid" },
	{ ROOT_PACKET_HEADER, "stream_id", "data-stream-class-id" },
	{ ROOT_PACKET_HEADER, "stream_instance_id", "data-stream-id" },
	{ ROOT_PACKET_CONTEXT, "timestamp_begin", "default-clock-timestamp" },
	{ ROOT_PACKET_CONTEXT, "timestamp_end", "packet-end-default-clock-timestamp" },
	{ ROOT_PACKET_CONTEXT, "content_size", "packet-content-length" },
	{ ROOT_PACKET_CONTEXT, "packet_size", "packet-total-length" },
	{ ROOT_PACKET_CONTEXT, "packet_seq_num", "packet-sequence-number" },
	{ ROOT_PACKET_CONTEXT, "events_discarded", "discarded-event-record-counter-snapshot" },
	{ ROOT_EVENT_HEADER, "id", "event-record-class-id" },
};

struct printer {
	const struct metadata *metadata;
	enum root root;
	/* The structs around, for the labels of a variant's tag. */
	const struct type *around[32];
	unsigned int depth;
};

static void print_type(struct printer *p, const char *name, const struct type *type);

static void print_roles(const struct printer *p, const char *name, const struct type *type)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (roles[i].root == p->root && strcmp(roles[i].name, name) == 0) {
			printf(",\"roles\":[\"%s\"]", roles[i].role);
			return;
		}
	}
	if (p->root == ROOT_EVENT_HEADER && type->clock) {
		printf(",\"roles\":[\"default-clock-timestamp\"]");
	}
}

static void print_bits(const struct printer *p, const struct type *type)
{
	enum byte_order order = type->order == ORDER_NATIVE ? p->metadata->order : type->order;

	printf(",\"length\":%u,\"alignment\":%u,\"byte-order\":\"%s-endian\"", type->size_bits,
	       type->align_bits, order == ORDER_BE ? "big" : "little");
}

static void print_bound(const struct type *type, uint64_t bound)
{
	if (type->is_signed) {
		printf("%" PRId64, (int64_t)bound);
	} else {
		printf("%" PRIu64, bound);
	}
}

static void print_integer(const struct printer *p, const char *name, const struct type *type)
{
	printf("{\"type\":\"fixed-length-%ssigned-integer\"", type->is_signed ? "" : "un");
	print_bits(p, type);
	print_roles(p, name, type);
	if (type->kind == TYPE_ENUM) {
		/* One mapping a range: labels may repeat in TSDL, keys not in JSON. */
		printf(",\"mappings\":{");
		for (size_t i = 0; i < type->label_count; i++) {
			printf("%s\"%s#%zu\":[[", i ? "," : "", type->labels[i].name, i);
			print_bound(type, type->labels[i].low);
			(void)putchar(',');
			print_bound(type, type->labels[i].high);
			printf("]]");
		}
		(void)putchar('}');
	}
	(void)putchar('}');
}

/* TSDL looks for a name outward and then in earlier parts; so do we, by struct. */
static void print_location(const struct printer *p, const char *key, const struct type_path *path)
{
	static const char *const origins[ROOT_COUNT] = { "packet-header",
							 "packet-context",
							 "event-record-header",
							 "event-record-common-context",
							 "event-record-specific-context",
							 "event-record-payload" };
	static const char *const prefixes[ROOT_COUNT] = {
		"trace.packet.header.",  "stream.packet.context.", "stream.event.header.",
		"stream.event.context.", "event.context.",         "event.fields."
	};
	char text[256] = "";

	for (size_t i = 0; i < path->count; i++) {
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			       type_name(path->names[i]), i + 1 < path->count ? "." : "");
	}
	printf(",\"%s\":{", key);
	for (unsigned int root = 0; root < ROOT_COUNT; root++) {
		if (strncmp(text, prefixes[root], strlen(prefixes[root])) == 0) {
			printf("\"origin\":\"%s\",\"path\":[\"%s\"]}", origins[root],
			       text + strlen(prefixes[root]));
			return;
		}
	}
	printf("\"path\":[");
	for (size_t i = 0; i < path->count; i++) {
		printf("%s\"%s\"", i ? "," : "", type_name(path->names[i]));
	}
	printf("]}");
}

/* The enum that a variant's tag names: the member of that name nearest outward. */
static const struct type *find_tag(const struct printer *p, const struct type *variant)
{
	const char *name = variant->tag->names[variant->tag->count - 1];

	for (unsigned int depth = p->depth; depth-- > 0;) {
		const struct type *around = p->around[depth];

		for (size_t i = 0; i < around->field_count; i++) {
			if (strcmp(around->fields[i].name, name) == 0) {
				return around->fields[i].type;
			}
		}
	}
	(void)fprintf(stderr, "no tag \"%s\"\n", name);
	exit(1);
}

static void print_variant(struct printer *p, const struct type *type)
{
	const struct type *tag = find_tag(p, type);
	const char *between = "";

	printf("{\"type\":\"variant\"");
	print_location(p, "selector-field-location", type->tag);
	printf(",\"options\":[");
	for (size_t i = 0; i < type->field_count; i++) {
		const char *name = type_name(type->fields[i].name);
		const char *comma = "";

		printf("%s{\"name\":\"%s\",\"selector-field-ranges\":[", between, name);
		for (size_t k = 0; k < tag->label_count; k++) {
			if (strcmp(type_name(tag->labels[k].name), name) == 0) {
				printf("%s[", comma);
				print_bound(tag, tag->labels[k].low);
				(void)putchar(',');
				print_bound(tag, tag->labels[k].high);
				(void)putchar(']');
				comma = ",";
			}
		}
		printf("],\"field-class\":");
		print_type(p, name, type->fields[i].type);
		(void)putchar('}');
		between = ",";
	}
	printf("]}");
}

static void print_struct(struct printer *p, const struct type *type)
{
	printf("{\"type\":\"structure\",\"minimum-alignment\":%u,\"member-classes\":[",
	       type->align_bits);
	p->around[p->depth++] = type;
	for (size_t i = 0; i < type->field_count; i++) {
		printf("%s{\"name\":\"%s\",\"field-class\":", i ? "," : "",
		       type_name(type->fields[i].name));
		print_type(p, type_name(type->fields[i].name), type->fields[i].type);
		(void)putchar('}');
	}
	p->depth--;
	printf("]}");
}

static void print_row(struct printer *p, const char *name, const struct type *type)
{
	bool is_uuid = p->root == ROOT_PACKET_HEADER && strcmp(name, "uuid") == 0;
	bool is_static = type->kind == TYPE_ARRAY;

	printf("{\"type\":\"%s-length-%s\"", is_static ? "static" : "dynamic",
	       type_is_text(type->element) ? "string"
	       : is_uuid                   ? "blob"
					   : "array");
	if (is_static) {
		printf(",\"length\":%" PRIu64, type->length);
	} else {
		print_location(p, "length-field-location", type->length_path);
	}
	print_roles(p, name, type);
	if (!type_is_text(type->element) && !is_uuid) {
		printf(",\"minimum-alignment\":%u,\"element-field-class\":", type->align_bits);
		print_type(p, "", type->element);
	}
	(void)putchar('}');
}

static void print_type(struct printer *p, const char *name, const struct type *type)
{
	switch (type->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
		print_integer(p, name, type);
		break;
	case TYPE_FLOAT:
		printf("{\"type\":\"fixed-length-floating-point-number\"");
		print_bits(p, type);
		(void)putchar('}');
		break;
	case TYPE_STRING:
		printf("{\"type\":\"null-terminated-string\"}");
		break;
	case TYPE_STRUCT:
		print_struct(p, type);
		break;
	case TYPE_VARIANT:
		print_variant(p, type);
		break;
	case TYPE_ARRAY:
	case TYPE_SEQUENCE:
		print_row(p, name, type);
		break;
	}
}

static void print_root(struct printer *p, const char *key, enum root root, const struct type *type)
{
	if (type) {
		p->root = root;
		p->depth = 0;
		printf(",\"%s\":", key);
		print_type(p, "", type);
	}
}

/* LTTng has one clock. */
static const struct clock_class *print_clock(const struct metadata *m)
{
	if (m->clocks) {
		printf("\x1E{\"type\":\"clock-class\",\"id\":\"%s\",\"frequency\":%" PRIu64
		       ",\"origin\":\"unix-epoch\",\"offset-from-origin\":{\"seconds\":%" PRId64
		       ",\"cycles\":%" PRId64 "}}\n",
		       m->clocks->name, m->clocks->freq, m->clocks->offset_s, m->clocks->offset);
	}
	return m->clocks;
}

static void print_metadata(const struct metadata *m)
{
	struct printer p = { .metadata = m };
	const struct clock_class *clock;

	printf("\x1E{\"type\":\"preamble\",\"version\":2");
	for (unsigned int i = 0; m->has_uuid && i < 16; i++) {
		printf("%s%u%s", i ? "," : ",\"uuid\":[", m->uuid[i], i == 15 ? "]" : "");
	}
	printf("}\n\x1E{\"type\":\"trace-class\",\"environment\":{");
	for (const struct env_entry *e = m->env; e; e = e->next) {
		printf("%s\"%s\":", e == m->env ? "" : ",", e->name);
		if (e->text) {
			printf("\"%s\"", e->text);
		} else {
			printf("%" PRId64, e->number);
		}
	}
	(void)putchar('}');
	print_root(&p, "packet-header-field-class", ROOT_PACKET_HEADER, m->packet_header);
	printf("}\n");
	clock = print_clock(m);
	for (const struct stream_class *s = m->streams; s; s = s->next) {
		printf("\x1E{\"type\":\"data-stream-class\",\"id\":%" PRIu64, s->id);
		if (clock) {
			printf(",\"default-clock-class-id\":\"%s\"", clock->name);
		}
		print_root(&p, "packet-context-field-class", ROOT_PACKET_CONTEXT,
			   s->packet_context);
		print_root(&p, "event-record-header-field-class", ROOT_EVENT_HEADER,
			   s->event_header);
		print_root(&p, "event-record-common-context-field-class", ROOT_STREAM_EVENT_CONTEXT,
			   s->event_context);
		printf("}\n");
	}
	for (const struct event_class *e = m->events; e; e = e->next) {
		printf("\x1E{\"type\":\"event-record-class\",\"id\":%" PRIu64
		       ",\"data-stream-class-id\":%" PRIu64 ",\"name\":\"%s\"",
		       e->id, e->stream_id, e->name);
		print_root(&p, "specific-context-field-class", ROOT_EVENT_CONTEXT, e->context);
		print_root(&p, "payload-field-class", ROOT_FIELDS, e->fields);
		printf("}\n");
	}
}

static int print_metadata_of(const struct recorded_path *path)
{
	struct metadata_stream *metadata = metadata_stream_new();
	struct err err;
	int r = recorded_read_metadata(path, metadata, &err);

	if (r < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
	} else {
		print_metadata(metadata_stream_types(metadata));
	}
	metadata_stream_free(metadata);
	return r;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--ctf2") == 0) {
		return each_path(argv[2], print_metadata_of) < 0;
	}
	if (argc == 2) {
		return each_path(argv[1], print_events) < 0;
	}
	(void)fprintf(stderr, "usage: events [--ctf2] TRACE\n");
	return 2;
}
