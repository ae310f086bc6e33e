/*
 * differential: every event of a trace, as we decode it and as libbabeltrace2 does.
 *
 * Goal    Names, time stamps and all fields are equal, as typed values, in order.
 * Method  A babeltrace2 graph (src.ctf.fs, muxer, our sink) hands out its events; for each
 *         the decoder of the same stream file is moved on by one, with a plan that visits
 *         every leaf; the two trees are walked side by side.
 *
 * usage: differential TRACE...     exit 0: equal, 1: different (says where), 77: no trace
 */
#include <babeltrace2/babeltrace.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctf/decoder.h"
#include "ctf/metadata/metadata.h"
#include "recorded/recorded.h"

struct leaf {
	const struct type *type;
	struct value value;
};

/* Our side of one stream file. */
struct side {
	struct recorded_file *file;
	struct decoder decoder;
	uint8_t *bytes;
	size_t room;
	bool in_packet;
	uint64_t events;
	VEC(struct leaf) leaves;
};

struct comparison {
	const char *dir;
	struct metadata_stream *metadata;
	struct plan_builder *builder;
	struct plan *plan;
	struct decoder *decoder;
	struct recorded_files files;
	VEC(struct side *) sides;
	uint64_t events, leaves, stale;
	int differs;
};

#define differ(c, ...)                                                                             \
	do {                                                                                       \
		if (!(c)->differs++) {                                                             \
			(void)fprintf(stderr, "%s: ", (c)->dir);                                   \
			(void)fprintf(stderr, __VA_ARGS__);                                        \
			(void)fputc('\n', stderr);                                                 \
		}                                                                                  \
	} while (0)

/* ---- our side ---- */

static void on_leaf(void *user, const struct type *type, const struct value *value)
{
	struct side *side = user;

	*vec_push(&side->leaves) = (struct leaf){ .type = type, .value = *value };
}

static void start_packet(struct comparison *c, struct side *side)
{
	struct recorded_file *file = side->file;
	size_t size = file->info.size_bits / 8;
	struct packet_info info;
	struct err err;

	if (size > side->room) {
		side->bytes = mem_realloc(side->bytes, size);
		side->room = size;
	}
	if (pread(file->fd, side->bytes, size, (off_t)file->offset) != (ssize_t)size ||
	    packet_info_read(&side->decoder, c->plan, side->bytes, size, size, &info, &err) < 0) {
		differ(c, "%s: cannot read the packet at %" PRIu64, file->name, file->offset);
		return;
	}
	decoder_start(&side->decoder, c->plan, &info, side->bytes, size);
	side->decoder.visit = on_leaf;
	side->decoder.visit_user = side;
	side->in_packet = true;
}

/* Our next event, over packets without events; false at the end. */
static bool next_event(struct comparison *c, struct side *side, struct ctf_event *event)
{
	for (;;) {
		int r;

		if (!side->in_packet) {
			if (!side->file->has_info) {
				return false;
			}
			start_packet(c, side);
			if (!side->in_packet) {
				return false;
			}
		}
		side->leaves.count = 0;
		r = decoder_next(&side->decoder, event);
		if (r > 0) {
			side->events++;
			return true;
		}
		if (r < 0) {
			struct err err;

			(void)decoder_fault(&side->decoder, &err);
			differ(c, "%s: %s", side->file->name, err.text);
		}
		side->in_packet = false;
		recorded_next(side->file, c->plan, c->decoder);
	}
}

/* ---- leaves ---- */

static bool same_text(struct comparison *c, const struct leaf *leaf, const char *theirs)
{
	size_t len = strnlen((const char *)leaf->value.bytes, leaf->value.len);

	if (len == strlen(theirs) && memcmp(leaf->value.bytes, theirs, len) == 0) {
		return true;
	}
	if (len == 0) {
		c->stale++; /* babeltrace2 2.0.4 leaves the text before in empty strings */
		return true;
	}
	return false;
}

static bool same_leaf(struct comparison *c, const struct leaf *leaf, const bt_field *field)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	switch (type) {
	case BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER:
	case BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION:
		return leaf->value.u == bt_field_integer_unsigned_get_value(field) &&
		       !leaf->type->is_signed;
	case BT_FIELD_CLASS_TYPE_SIGNED_INTEGER:
	case BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION:
		return leaf->value.i == bt_field_integer_signed_get_value(field) &&
		       leaf->type->is_signed;
	case BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL: {
		double theirs = (double)bt_field_real_single_precision_get_value(field);

		return memcmp(&leaf->value.f, &theirs, sizeof(theirs)) == 0;
	}
	case BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL: {
		double theirs = bt_field_real_double_precision_get_value(field);

		return memcmp(&leaf->value.f, &theirs, sizeof(theirs)) == 0;
	}
	case BT_FIELD_CLASS_TYPE_STRING:
		return same_text(c, leaf, bt_field_string_get_value(field));
	default:
		return false;
	}
}

struct walk {
	struct comparison *c;
	const struct side *side;
	size_t at;
	bool differs;
};

static void walk_field(struct walk *walk, const bt_field *field);

static void walk_children(struct walk *walk, const bt_field *field)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	if (type == BT_FIELD_CLASS_TYPE_STRUCTURE) {
		const bt_field_class *class = bt_field_borrow_class_const(field);
		uint64_t count = bt_field_class_structure_get_member_count(class);

		for (uint64_t i = 0; i < count; i++) {
			walk_field(walk,
				   bt_field_structure_borrow_member_field_by_index_const(field, i));
		}
	} else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_VARIANT)) {
		walk_field(walk, bt_field_variant_borrow_selected_option_field_const(field));
	} else {
		for (uint64_t i = 0; i < bt_field_array_get_length(field); i++) {
			walk_field(walk,
				   bt_field_array_borrow_element_field_by_index_const(field, i));
		}
	}
}

static void walk_field(struct walk *walk, const bt_field *field)
{
	bt_field_class_type type = bt_field_get_class_type(field);

	if (type == BT_FIELD_CLASS_TYPE_STRUCTURE ||
	    bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_VARIANT) ||
	    bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY)) {
		walk_children(walk, field);
		return;
	}
	if (walk->at >= walk->side->leaves.count ||
	    !same_leaf(walk->c, &walk->side->leaves.at[walk->at], field)) {
		walk->differs = true;
	}
	walk->at++;
}

/* ---- events ---- */

static void compare_event(struct comparison *c, struct side *side, const bt_message *message)
{
	const bt_event *theirs = bt_message_event_borrow_event_const(message);
	const bt_event_class *class = bt_event_borrow_class_const(theirs);
	const bt_field *fields[] = { bt_event_borrow_common_context_field_const(theirs),
				     bt_event_borrow_specific_context_field_const(theirs),
				     bt_event_borrow_payload_field_const(theirs) };
	const char *file = side->file->name;
	struct walk walk = { .c = c, .side = side };
	struct ctf_event ours;

	if (!next_event(c, side, &ours)) {
		differ(c, "%s: we end before babeltrace2, after %" PRIu64 " events", file,
		       side->events);
		return;
	}
	if (strcmp(ours.class->class->name, bt_event_class_get_name(class)) != 0) {
		differ(c, "%s: event %" PRIu64 " is %s, babeltrace2 says %s", file, side->events,
		       ours.class->class->name, bt_event_class_get_name(class));
	}
	if (side->decoder.stream->clock) {
		uint64_t cycles = bt_clock_snapshot_get_value(
			bt_message_event_borrow_default_clock_snapshot_const(message));

		if (cycles != ours.cycles) {
			differ(c,
			       "%s: event %" PRIu64 " is at %" PRIu64 ", babeltrace2 says %" PRIu64,
			       file, side->events, ours.cycles, cycles);
		}
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i]) {
			walk_field(&walk, fields[i]);
		}
	}
	if (walk.differs || walk.at != side->leaves.count) {
		differ(c, "%s: event %" PRIu64 " (%s): fields differ (%zu leaves, we have %zu)",
		       file, side->events, ours.class->class->name, walk.at, side->leaves.count);
	}
	c->events++;
	c->leaves += walk.at;
}

static struct side *side_of(struct comparison *c, const bt_stream *stream)
{
	const char *path = bt_stream_get_name(stream);
	const char *base = strrchr(path, '/');

	for (size_t i = 0; i < c->sides.count; i++) {
		if (strcmp(c->sides.at[i]->file->name, base ? base + 1 : path) == 0) {
			return c->sides.at[i];
		}
	}
	differ(c, "babeltrace2 reads %s, we do not", path);
	return NULL;
}

/* ---- the graph ---- */

static bt_graph_simple_sink_component_initialize_func_status
sink_init(bt_message_iterator *iterator, void *user)
{
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static bt_graph_simple_sink_component_consume_func_status
sink_consume(bt_message_iterator *iterator, void *user)
{
	bt_message_array_const messages;
	struct comparison *c = user;
	uint64_t count;

	switch (bt_message_iterator_next(iterator, &messages, &count)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
	for (uint64_t i = 0; i < count; i++) {
		if (bt_message_get_type(messages[i]) == BT_MESSAGE_TYPE_EVENT && !c->differs) {
			const bt_event *event = bt_message_event_borrow_event_const(messages[i]);
			struct side *side = side_of(c, bt_event_borrow_stream_const(event));

			if (side) {
				compare_event(c, side, messages[i]);
			}
		}
		bt_message_put_ref(messages[i]);
	}
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

static const bt_component_class *component_class(const char *plugin_name, const char *name,
						 bool source)
{
	const bt_plugin *plugin = NULL;

	if (bt_plugin_find(plugin_name, BT_FALSE, BT_FALSE, BT_TRUE, BT_FALSE, BT_TRUE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK) {
		return NULL;
	}
	return source ? bt_component_class_source_as_component_class_const(
				bt_plugin_borrow_source_component_class_by_name_const(plugin, name))
		      : bt_component_class_filter_as_component_class_const(
				bt_plugin_borrow_filter_component_class_by_name_const(plugin,
										      name));
}

static const bt_component_source *add_source(bt_graph *graph, const char *dir)
{
	const bt_component_class *class = component_class("ctf", "fs", true);
	bt_value *params = bt_value_map_create();
	const bt_component_source *source = NULL;
	bt_value *inputs = NULL;

	(void)bt_value_map_insert_empty_array_entry(params, "inputs", &inputs);
	(void)bt_value_array_append_string_element(inputs, dir);
	(void)bt_graph_add_source_component(graph, (const bt_component_class_source *)class, "in",
					    params, BT_LOGGING_LEVEL_WARNING, &source);
	bt_value_put_ref(params);
	return source;
}

static int run_graph(struct comparison *c)
{
	const bt_component_class *mux = component_class("utils", "muxer", false);
	bt_graph *graph = bt_graph_create(0);
	const bt_component_source *source = add_source(graph, c->dir);
	const bt_component_filter *muxer = NULL;
	const bt_component_sink *sink = NULL;
	bt_graph_run_status status;

	if (!source || !mux) {
		differ(c, "babeltrace2 cannot read it");
		return -1;
	}
	(void)bt_graph_add_filter_component(graph, (const bt_component_class_filter *)mux, "mux",
					    NULL, BT_LOGGING_LEVEL_WARNING, &muxer);
	(void)bt_graph_add_simple_sink_component(graph, "compare", sink_init, sink_consume, NULL, c,
						 &sink);
	for (uint64_t i = 0; i < bt_component_source_get_output_port_count(source); i++) {
		(void)bt_graph_connect_ports(
			graph, bt_component_source_borrow_output_port_by_index_const(source, i),
			bt_component_filter_borrow_input_port_by_index_const(
				muxer, bt_component_filter_get_input_port_count(muxer) - 1),
			NULL);
	}
	(void)bt_graph_connect_ports(
		graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
		bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL);
	do {
		status = bt_graph_run(graph);
	} while (status == BT_GRAPH_RUN_STATUS_AGAIN);
	if (status != BT_GRAPH_RUN_STATUS_OK) {
		differ(c, "babeltrace2 fails");
	}
	bt_graph_put_ref(graph);
	return 0;
}

/* ---- one trace ---- */

static int open_ours(struct comparison *c, struct err *err)
{
	char *dir = (char *)c->dir;
	struct recorded_path path = { .name = dir, .dirs = { .at = &dir, .count = 1 } };
	int r;

	c->metadata = metadata_stream_new();
	c->decoder = mem_alloc(sizeof(*c->decoder));
	r = recorded_read_metadata(&path, c->metadata, err);
	if (r < 0) {
		return r;
	}
	c->builder = plan_builder_new(metadata_stream_arena(c->metadata), NULL, 0, true);
	r = plan_build(c->builder, metadata_stream_types(c->metadata), &c->plan, err);
	if (r < 0) {
		return r;
	}
	r = recorded_open_files(&path, c->plan, c->decoder, &c->files, err);
	for (size_t i = 0; r == 0 && i < c->files.at.count; i++) {
		struct side *side = mem_alloc(sizeof(*side));

		side->file = &c->files.at.at[i];
		*vec_push(&c->sides) = side;
	}
	return r;
}

static void check_all_read(struct comparison *c)
{
	for (size_t i = 0; i < c->sides.count && !c->differs; i++) {
		struct ctf_event event;

		if (next_event(c, c->sides.at[i], &event)) {
			differ(c, "%s: babeltrace2 ends before us, after %" PRIu64 " events",
			       c->sides.at[i]->file->name, c->sides.at[i]->events - 1);
		}
		if (c->sides.at[i]->file->fault) {
			differ(c, "%s: %s", c->sides.at[i]->file->name,
			       c->sides.at[i]->file->fault);
		}
	}
}

static void close_ours(struct comparison *c)
{
	for (size_t i = 0; i < c->sides.count; i++) {
		free(c->sides.at[i]->bytes);
		vec_fini(&c->sides.at[i]->leaves);
		decoder_fini(&c->sides.at[i]->decoder);
		free(c->sides.at[i]);
	}
	vec_fini(&c->sides);
	recorded_files_fini(&c->files);
	plan_unref(c->plan);
	plan_builder_free(c->builder);
	metadata_stream_free(c->metadata);
	decoder_free(c->decoder);
}

static int compare(const char *dir)
{
	struct comparison c = { .dir = dir };
	struct err err;

	if (open_ours(&c, &err) < 0) {
		differ(&c, "%s", err.text);
	} else if (run_graph(&c) == 0) {
		check_all_read(&c);
	}
	(void)printf("%s %s: %" PRIu64 " events, %" PRIu64 " values equal%s\n",
		     c.differs ? "not ok" : "ok", dir, c.events, c.leaves,
		     c.stale ? " (empty strings of babeltrace2 not compared)" : "");
	close_ours(&c);
	return c.differs;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc < 2) {
		(void)printf("skipped: no trace given\n");
		return 77;
	}
	for (int i = 1; i < argc; i++) {
		failed |= compare(argv[i]) != 0;
	}
	return failed;
}
