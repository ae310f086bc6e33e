/*
 * item: see item.h.
 */
#include "store/rows/item.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/engine.h"
#include "output/notice.h"
#include "phases/phases.h"

static const char *copy_text(struct store_item *item, const char *text)
{
	return text ? arena_strndup(&item->arena, text, strlen(text)) : NULL;
}

/* ---- whose it is ---- */

static void name_bytes(const uint8_t bytes[16], char ret[STORE_TRACE_TEXT])
{
	size_t used = 0;

	for (size_t i = 0; i < 16; i++) {
		used += (size_t)snprintf(ret + used, STORE_TRACE_TEXT - used, "%s%02x",
					 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					 bytes[i]);
	}
	assert(used == STORE_TRACE_TEXT - 1);
}

/* A digest of its UUID, host and session: what is replayed in another name is another trace.  One
 * without a UUID is known by what else identifies it.  Stores keep it: it must not change. */
static void name_trace(struct store_item *item, const struct trace_identity *trace)
{
	char uuid[STORE_TRACE_TEXT], *text;
	uint64_t halves[2];
	uint8_t bytes[16];

	if (trace->has_uuid) {
		name_bytes(trace->uuid, uuid);
		item->uuid = copy_text(item, uuid);
		text = mem_printf("%s\n%s\n%s", uuid, trace->host ? trace->host : "",
				  trace->session ? trace->session : "");
	} else {
		text = output_trace_text(trace, true);
	}
	for (uint64_t i = 0; i < 2; i++) {
		halves[i] = hash_text(i + 1, text);
	}
	memcpy(bytes, halves, sizeof(bytes));
	name_bytes(bytes, item->trace);
	free(text);
}

static struct store_item *item_new(enum store_kind kind, const struct trace_identity *trace)
{
	struct store_item *item = mem_alloc(sizeof(*item));

	item->kind = kind;
	item->packet = -1;
	if (trace) {
		name_trace(item, trace);
		item->host = copy_text(item, trace->host);
		item->session = copy_text(item, trace->session);
		item->domain = copy_text(item, trace->domain);
		item->path = copy_text(item, trace->path);
		item->tracer = copy_text(item, trace->tracer);
	}
	return item;
}

/* ---- windows ---- */

/* The figures of phases are of no analysis: they have rows of their own (store_item_phase()). Pairs
 * of threads are not stored. */
static bool is_stored(const struct report_table *table)
{
	if (scope_is_of_pairs(table->table->scope)) {
		return false;
	}
	for (size_t i = 0; analyses[i]; i++) {
		if (analyses[i] == table->analysis) {
			return true;
		}
	}
	return false;
}

struct store_item *store_item_window(const struct trace_identity *trace,
				     const struct report *report)
{
	struct store_item *item = item_new(STORE_WINDOW, trace);

	(void)report_copy(&item->report, report, &item->arena, SIZE_MAX, is_stored);
	return item;
}

struct store_item *store_item_merged(const struct trace_identity *trace, const char *id,
				     const char *uuid, uint64_t level, const struct report *report)
{
	struct store_item *item = store_item_window(trace, report);

	assert(level > 0);
	(void)snprintf(item->trace, sizeof(item->trace), "%s", id);
	item->uuid = copy_text(item, uuid);
	item->level = level;
	return item;
}

/* ---- all else ---- */

struct store_item *store_item_loss(const struct trace_identity *trace,
				   const struct engine_warning *warning)
{
	struct store_item *item = item_new(STORE_LOSS, trace);

	item->name = copy_text(item, warning->what);
	item->text = copy_text(item, warning->message);
	item->stream = copy_text(item, warning->stream_name);
	item->packet = warning->packet;
	item->begin = warning->begin;
	item->end = warning->end;
	return item;
}

/* Takes the line that was written to @stream, without its end. */
static const char *take_line(struct store_item *item, FILE *stream, char **line, size_t *len)
{
	const char *copy;

	(void)fclose(stream);
	copy = arena_strndup(&item->arena, *line, *len > 0 ? *len - 1 : 0);
	free(*line);
	return copy;
}

struct store_item *store_item_trigger(const struct trace_identity *trace,
				      const struct trigger_event *event)
{
	struct store_item *item = item_new(STORE_TRIGGER, trace);
	char *line = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&line, &len);

	if (stream) {
		json_trigger(stream, trace, event);
		item->text = take_line(item, stream, &line, &len);
	}
	item->name = copy_text(item, event->name);
	item->begin = event->begin;
	item->end = event->end;
	return item;
}

struct store_item *store_item_phase(const struct trace_identity *trace,
				    const struct phase_record *phase)
{
	struct store_item *item = item_new(STORE_PHASE, trace);
	char *line = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&line, &len);

	assert(phase->begin <= phase->end);
	if (stream) {
		json_phase(stream, trace, phase);
		item->text = take_line(item, stream, &line, &len);
	}
	item->name = phase->change ? copy_text(item, phase->change->series) : NULL;
	item->begin = phase->begin;
	item->end = phase->end;
	item->number = phase->number;
	item->slices = phase->slices;
	item->is_open = phase->is_open;
	return item;
}

struct store_item *store_item_capture(const struct capture_result *capture)
{
	struct store_item *item = item_new(STORE_CAPTURE, NULL);
	char *line = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&line, &len);

	if (stream) {
		json_capture(stream, capture);
		item->text = take_line(item, stream, &line, &len);
	}
	item->host = copy_text(item, capture->host);
	item->session = copy_text(item, capture->session);
	item->path = copy_text(item, capture->path);
	item->begin = capture->begin;
	item->end = capture->end;
	return item;
}

void store_item_free(struct store_item *item)
{
	report_copy_fini(&item->report);
	arena_fini(&item->arena);
	free(item);
}
