/*
 * convert: see convert.h.
 */
#include "ftrace/convert.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "ftrace/convert-state.h"

#define PACKET_HEAD_ROOM 84

/* ---- begin and end ---- */

struct convert *convert_new(const struct convert_setup *setup, const struct convert_sink *sink,
			    struct err *err)
{
	struct convert *convert;

	if (setup->cpus == 0 || setup->cpus > FTRACE_CPUS_MAX) {
		(void)err_raise(err, -EINVAL, "%u CPUs: 1 to %u can be recorded", setup->cpus,
				FTRACE_CPUS_MAX);
		return NULL;
	}
	assert(setup->packet_bytes >= 4096 && setup->packet_bytes % 4096 == 0);
	convert = mem_alloc(sizeof(*convert));
	convert->setup = *setup;
	convert->sink = *sink;
	convert->streams = mem_alloc(setup->cpus * sizeof(*convert->streams));
	for (uint32_t i = 0; i < setup->cpus; i++) {
		convert->streams[i] =
			(struct convert_stream){ .cpu = i,
						 .packet = mem_alloc(setup->packet_bytes),
						 .at = PACKET_HEAD_ROOM,
						 .begin = setup->begin,
						 .last = setup->begin };
	}
	class_preamble(convert);
	return convert;
}

static void free_stream(struct convert_stream *stream)
{
	for (size_t i = stream->next_page; i < stream->pages.count; i++) {
		free(stream->pages.at[i].bytes);
	}
	vec_fini(&stream->pages);
	free(stream->packet);
}

static void free_recipe(struct recipe *recipe)
{
	vec_fini(&recipe->steps);
	free(recipe);
}

static void free_class(struct convert_class *class)
{
	free(class->name);
	free(class);
}

void convert_free(struct convert *convert)
{
	if (!convert) {
		return;
	}
	for (uint32_t i = 0; i < convert->setup.cpus; i++) {
		free_stream(&convert->streams[i]);
	}
	for (size_t i = convert->next_own; i < convert->own.count; i++) {
		free(convert->own.at[i].bytes);
	}
	free(convert->streams);
	vec_fini(&convert->own);
	vec_fini(&convert->heap);
	vec_fini(&convert->text);
	vec_fini(&convert->by_id);
	vec_free_each(&convert->recipes, free_recipe);
	vec_free_each(&convert->classes, free_class);
	free(convert->odd);
	convert_tasks_fini(&convert->tasks);
	convert_calls_free(convert);
	free(convert);
}

void convert_layout(struct convert *convert, const struct ftrace_layout *layout)
{
	assert(!convert->has_started);
	convert->layout = *layout;
	convert->has_layout = true;
}

/* ---- formats ---- */

static bool is_common_integer(const struct ftrace_field *field)
{
	return field && field->kind == FTRACE_INTEGER && field->place == FTRACE_HERE;
}

/* What all records begin with; each format says it again. */
static int take_common(struct convert *convert, const struct ftrace_format *format, struct err *err)
{
	const struct ftrace_field *type = ftrace_format_field(format, "common_type");
	const struct ftrace_field *pid = ftrace_format_field(format, "common_pid");

	if (!is_common_integer(type) || !is_common_integer(pid)) {
		return err_raise(err, -EINVAL, "event %s has no common_type or common_pid",
				 format->name);
	}
	if (!convert->type_field) {
		convert->type_field = type;
		convert->pid_field = pid;
		convert->common_bytes = pid->offset + pid->size;
		if (type->offset + type->size > convert->common_bytes) {
			convert->common_bytes = type->offset + type->size;
		}
	}
	if (type->offset != convert->type_field->offset ||
	    type->size != convert->type_field->size || pid->offset != convert->pid_field->offset ||
	    pid->size != convert->pid_field->size) {
		return err_raise(err, -EINVAL, "event %s begins otherwise than %s", format->name,
				 convert->recipes.at[0]->format->name);
	}
	return 0;
}

/* The class of switches that are derived: their members are those of LTTng, whatever this kernel's
 * event has. */
static void add_derived(struct convert *convert, const struct recipe *recipe)
{
	static const char members[] = "prev_comm:c16 prev_tid:s4 prev_prio:s4 prev_state:s8 "
				      "next_comm:c16 next_tid:s4 next_prio:s4";
	const struct ftrace_field *name = ftrace_format_field(recipe->format, "prev_comm");

	convert->derived_switch =
		convert->classes.at[convert_class(convert, "sched_switch", members)];
	convert->switch_name = name && name->kind == FTRACE_TEXT ? name : NULL;
}

static void make_recipe(struct convert *convert, struct recipe *recipe)
{
	recipe_make(convert, recipe);
	switch (recipe->role) {
	case ROLE_SWITCH:
		convert->has_switches = true;
		convert->tells_ends = recipe->fields[SWITCH_PREV_STATE];
		add_derived(convert, recipe);
		break;
	case ROLE_ENTER:
	case ROLE_RETURN:
		convert_calls_begin(convert);
		break;
	default:
		break;
	}
}

int convert_format(struct convert *convert, const struct ftrace_format *format, struct err *err)
{
	struct recipe *recipe;
	int r = take_common(convert, format, err);

	if (r < 0) {
		return r;
	}
	while (convert->by_id.count <= format->id) {
		*vec_push(&convert->by_id) = NULL;
	}
	if (convert->by_id.at[format->id]) {
		return err_raise(err, -EEXIST, "two events have the id %u: %s and %s", format->id,
				 convert->by_id.at[format->id]->format->name, format->name);
	}
	recipe = mem_alloc(sizeof(*recipe));
	recipe->format = format;
	recipe_take_role(convert, recipe);
	*vec_push(&convert->recipes) = recipe;
	convert->by_id.at[format->id] = recipe;
	convert->knows_processes |= recipe->role == ROLE_NEW_TASK;
	if (convert->has_started) {
		make_recipe(convert, recipe);
	}
	return 0;
}

int convert_start(struct convert *convert, struct err *err)
{
	assert(convert->has_layout && !convert->has_started);
	VEC_EACH_OF(&convert->recipes, recipe) {
		make_recipe(convert, recipe);
	}
	convert->has_started = true;
	convert->err = err;
	return convert_text(convert);
}

/* ---- events of our own ---- */

/* In the order of time; the new one is behind others of its time. */
static void add_own(struct convert *convert, struct own_event event, const void *payload)
{
	size_t at;

	assert(event.class_id < convert->classes.count && event.cpu < convert->setup.cpus);
	event.bytes = mem_alloc(event.len + 1);
	if (event.len > 0) {
		memcpy(event.bytes, payload, event.len);
	}
	*vec_push(&convert->own) = event;
	for (at = convert->own.count - 1;
	     at > convert->next_own && convert->own.at[at - 1].time > event.time; at--) {
		convert->own.at[at] = convert->own.at[at - 1];
	}
	convert->own.at[at] = event;
}

void convert_event(struct convert *convert, uint32_t class_id, uint32_t cpu, uint64_t time,
		   const void *payload, size_t len)
{
	add_own(convert,
		(struct own_event){ .time = time, .class_id = class_id, .cpu = cpu, .len = len },
		payload);
}

void convert_path(struct convert *convert, int32_t pid, int32_t fd, uint32_t class_id, uint32_t cpu,
		  uint64_t time, const void *payload, size_t len)
{
	add_own(convert,
		(struct own_event){ .time = time,
				    .class_id = class_id,
				    .cpu = cpu,
				    .len = len,
				    .is_path = true,
				    .pid = pid,
				    .fd = fd },
		payload);
	convert->paths++;
}

static void remove_own(struct convert *convert, size_t at)
{
	convert->paths -= convert->own.at[at].is_path;
	free(convert->own.at[at].bytes);
	memmove(&convert->own.at[at], &convert->own.at[at + 1],
		(convert->own.count - at - 1) * sizeof(*convert->own.at));
	convert->own.count--;
}

void convert_drop_paths(struct convert *convert, int32_t pid, uint64_t first, uint64_t last)
{
	for (size_t i = convert->own.count; convert->paths > 0 && i-- > convert->next_own;) {
		const struct own_event *event = &convert->own.at[i];

		if (event->is_path && event->pid == pid && (uint64_t)event->fd >= first &&
		    (uint64_t)event->fd <= last) {
			remove_own(convert, i);
		}
	}
}

/* So many of the first of a list are done with: they go once they are half of it, or all. */
#define DROP_DONE(v, next)                                                                         \
	do {                                                                                       \
		if (2 * (next) >= (v)->count) {                                                    \
			(v)->count -= (next);                                                      \
			memmove((v)->at, (v)->at + (next), (v)->count * sizeof(*(v)->at));         \
			(next) = 0;                                                                \
		}                                                                                  \
	} while (0)

static void write_own(struct convert *convert)
{
	struct own_event *event = &convert->own.at[convert->next_own++];
	struct convert_stream *stream = &convert->streams[event->cpu];
	struct convert_class *class = convert->classes.at[event->class_id];
	uint8_t *out = stream_reserve(convert, stream, event->time, class, event->len);

	if (out) {
		memcpy(out, event->bytes, event->len);
		stream_commit(stream, class, out + event->len);
		stream->account.own++;
	}
	convert->paths -= event->is_path;
	free(event->bytes);
	DROP_DONE(&convert->own, convert->next_own);
}

static uint64_t own_time(const struct convert *convert)
{
	return convert->next_own < convert->own.count ? convert->own.at[convert->next_own].time
						      : UINT64_MAX;
}

/* ---- the streams in the order of time ---- */

static bool is_sooner(const struct convert_stream *a, const struct convert_stream *b)
{
	return a->record.time < b->record.time ||
	       (a->record.time == b->record.time && a->cpu < b->cpu);
}

static void swap_streams(struct convert_stream **a, struct convert_stream **b)
{
	struct convert_stream *kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_down(struct convert *convert)
{
	struct convert_stream **at = convert->heap.at;
	size_t i = 0, least, count = convert->heap.count;

	for (;;) {
		least = 2 * i + 1;
		if (least >= count) {
			return;
		}
		if (least + 1 < count && is_sooner(at[least + 1], at[least])) {
			least++;
		}
		if (!is_sooner(at[least], at[i])) {
			return;
		}
		swap_streams(&at[i], &at[least]);
		i = least;
	}
}

static void sift_up(struct convert *convert, struct convert_stream *stream)
{
	size_t i = convert->heap.count;
	struct convert_stream **at;

	*vec_push(&convert->heap) = stream;
	at = convert->heap.at;
	while (i > 0 && is_sooner(at[i], at[(i - 1) / 2])) {
		swap_streams(&at[i], &at[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
}

static void begin_page(struct convert *convert, struct convert_stream *stream)
{
	const struct queued_page *page = &stream->pages.at[stream->next_page];
	struct err err;

	stream->has_page = ftrace_page_begin(&stream->page, &convert->layout, page->bytes,
					     page->len, &err) == 0;
	assert(stream->has_page); /* convert_page() has looked */
	if (stream->page.missed > 0 && !convert->setup.is_snapshot) {
		bool is_known = stream->page.missed != FTRACE_MISSED_UNKNOWN;

		stream_lost(convert, stream, is_known ? stream->page.missed : 1,
			    convert_ns(&convert->setup, stream->page.time));
		stream->account.unnumbered += !is_known;
		stream->knows_current = false;
	}
}

static void end_page(struct convert_stream *stream)
{
	stream->account.bad_pages += stream->page.is_bad;
	stream->has_page = false;
	free(stream->pages.at[stream->next_page++].bytes);
	DROP_DONE(&stream->pages, stream->next_page);
}

/* Finds the next record of a stream. */
static void find_record(struct convert *convert, struct convert_stream *stream)
{
	stream->has_record = false;
	while (!stream->has_record && stream->next_page < stream->pages.count) {
		if (!stream->has_page) {
			begin_page(convert, stream);
		}
		stream->has_record = ftrace_page_next(&stream->page, &stream->record);
		stream->record.time = convert_ns(&convert->setup, stream->record.time);
		if (!stream->has_record) {
			end_page(stream);
		}
	}
}

static void drop_pages(struct convert_stream *stream)
{
	assert(!stream->has_page && !stream->has_record);
	for (size_t i = stream->next_page; i < stream->pages.count; i++) {
		free(stream->pages.at[i].bytes);
	}
	stream->next_page = stream->pages.count = 0;
}

int convert_page(struct convert *convert, uint32_t cpu, const uint8_t *bytes, size_t len,
		 struct err *err)
{
	struct convert_stream *stream;
	struct queued_page copy = { 0 };
	struct ftrace_page page;
	size_t used;
	int r;

	assert(convert->has_started && cpu < convert->setup.cpus);
	stream = &convert->streams[cpu];
	r = ftrace_page_begin(&page, &convert->layout, bytes, len, err);
	if (r < 0) {
		stream->account.bad_pages++;
		return r;
	}
	if (page.at == page.end && page.missed == 0) {
		return 0;
	}
	/* With the number of what is missing, which stands behind the records. */
	used = ftrace_page_used(&convert->layout, bytes) + sizeof(uint64_t);
	copy.len = used < len ? used : len;
	copy.bytes = mem_alloc(copy.len);
	memcpy(copy.bytes, bytes, copy.len);
	if (convert->setup.is_snapshot && page.missed > 0) {
		drop_pages(stream);
	}
	*vec_push(&stream->pages) = copy;
	return convert->failure;
}

/* ---- a record ---- */

static bool write_by_recipe(struct convert *convert, struct convert_stream *stream,
			    const struct recipe *recipe, const struct convert_input *event)
{
	size_t len = recipe->out_max + (size_t)recipe->elsewhere * event->len;
	uint8_t *out = stream_reserve(convert, stream, event->time, recipe->class, len);

	if (!out) {
		stream->account.too_large += convert->failure == 0;
		stream_lost(convert, stream, convert->failure == 0, 0);
		return true;
	}
	stream_commit(stream, recipe->class, recipe_write(recipe, event, out));
	stream->account.written++;
	return true;
}

static void write_event(struct convert *convert, struct convert_stream *stream,
			const struct recipe *recipe, const struct convert_input *event)
{
	bool is_written;

	tasks_event(convert, stream, recipe, event);
	switch (recipe->role) {
	case ROLE_ENTER:
		is_written = convert_calls_enter(convert, stream, recipe, event);
		break;
	case ROLE_RETURN:
		is_written = convert_calls_return(convert, stream, recipe, event);
		break;
	case ROLE_FORK:
		is_written = tasks_fork(convert, stream, recipe, event);
		break;
	default:
		(void)write_by_recipe(convert, stream, recipe, event);
		return;
	}
	stream->account.written += is_written;
	stream->account.unwanted += !is_written;
}

static uint64_t common_of(const struct convert *convert, const struct ftrace_field *field,
			  const struct ftrace_record *record)
{
	return ftrace_field_number(field, record->payload, convert->layout.is_big);
}

static void write_record(struct convert *convert, struct convert_stream *stream)
{
	const struct ftrace_record *record = &stream->record;
	struct convert_input event = { .time = record->time,
				       .payload = record->payload,
				       .len = record->len,
				       .is_big = convert->layout.is_big };
	const struct recipe *recipe;
	uint64_t id;

	stream->account.read++;
	if (record->len < convert->common_bytes) {
		stream->account.bad++;
		stream_lost(convert, stream, 1, 0);
		return;
	}
	id = common_of(convert, convert->type_field, record);
	recipe = id < convert->by_id.count ? convert->by_id.at[id] : NULL;
	if (!recipe) {
		stream->account.unwanted++;
		return;
	}
	if (record->len < recipe->format->size) {
		stream->account.bad++;
		stream_lost(convert, stream, 1, 0);
		return;
	}
	event.tid = (int32_t)common_of(convert, convert->pid_field, record);
	if (convert->has_switches && stream->knows_current && stream->current != event.tid &&
	    recipe->role != ROLE_EXEC) {
		tasks_derive(convert, stream, &event);
	}
	write_event(convert, stream, recipe, &event);
}

/* Streams that have got sub-buffers since they had none. */
static void open_pages(struct convert *convert)
{
	for (uint32_t i = 0; i < convert->setup.cpus; i++) {
		struct convert_stream *stream = &convert->streams[i];

		if (!stream->has_record && stream->next_page < stream->pages.count) {
			find_record(convert, stream);
			if (stream->has_record) {
				sift_up(convert, stream);
			}
		}
	}
}

int convert_until(struct convert *convert, uint64_t time, struct err *err)
{
	convert->err = err;
	open_pages(convert);
	while (convert->failure == 0) {
		struct convert_stream *stream =
			convert->heap.count > 0 ? convert->heap.at[0] : NULL;
		uint64_t own = own_time(convert), next = stream ? stream->record.time : UINT64_MAX;

		if (convert->next_own < convert->own.count && own <= next && own < time) {
			write_own(convert);
			continue;
		}
		if (!stream || (next >= time && time != UINT64_MAX)) {
			break;
		}
		write_record(convert, stream);
		find_record(convert, stream);
		if (!stream->has_record) {
			convert->heap.at[0] = convert->heap.at[--convert->heap.count];
		}
		sift_down(convert);
	}
	return convert->failure;
}

/* ---- packets ---- */

void convert_lost(struct convert *convert, uint32_t cpu, uint64_t events)
{
	assert(cpu < convert->setup.cpus);
	stream_lost(convert, &convert->streams[cpu], events, 0);
	convert->streams[cpu].knows_current &= events == 0;
}

int convert_flush(struct convert *convert, uint64_t time, bool with_empty, struct err *err)
{
	convert->err = err;
	(void)convert_text(convert);
	for (uint32_t i = 0; i < convert->setup.cpus && convert->failure == 0; i++) {
		struct convert_stream *stream = &convert->streams[i];

		if (stream->events > 0 || stream->has_unsaid || with_empty) {
			(void)stream_close(convert, stream, time);
		}
	}
	return convert->failure;
}

/* CPUs that a kernel may have and the machine has not leave no stream. */
static bool has_begun(const struct convert_stream *stream)
{
	return stream->seq > 0 || stream->events > 0 || stream->has_unsaid;
}

int convert_finish(struct convert *convert, uint64_t time, struct err *err)
{
	int r = convert_until(convert, UINT64_MAX, err);

	r = r < 0 ? r : convert_text(convert);
	for (uint32_t i = 0; i < convert->setup.cpus && r == 0; i++) {
		if (has_begun(&convert->streams[i])) {
			r = stream_close(convert, &convert->streams[i], time);
		}
	}
	return r;
}

void convert_account(const struct convert *convert, uint32_t cpu, struct convert_account *ret)
{
	assert(cpu < convert->setup.cpus);
	*ret = convert->streams[cpu].account;
}

char *convert_odd(const struct convert *convert)
{
	return convert->odd_count == 0
		       ? NULL
		       : mem_printf("%zu kinds of events are of a form that is not known, %s the "
				    "first: what is not understood of them is as the kernel has "
				    "it, or missing",
				    convert->odd_count, convert->odd);
}

uint64_t convert_count(const struct convert *convert, const char *name)
{
	uint64_t count = 0;

	VEC_EACH_OF(&convert->classes, class) {
		count += strcmp(class->name, name) == 0 ? class->count : 0;
	}
	return count;
}
