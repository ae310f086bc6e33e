/*
 * item: see item.h.
 */
#include "store/rows/item.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/engine.h"
#include "engine/tables/columns.h"
#include "output/notice.h"

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
	}
	return item;
}

/* ---- windows ---- */

static const uint64_t *copy_values(struct store_item *item, const struct table *table,
				   const uint64_t *values)
{
	uint32_t count = column_count(table);
	uint64_t *copy = arena_alloc(&item->arena, count * sizeof(*copy));

	for (uint32_t i = 0; i < count; i++) {
		if (table->columns[i].kind == COLUMN_HISTOGRAM) {
			column_merge(copy, i, column_histogram(values, i));
		} else if (table->columns[i].kind != COLUMN_PRIO) {
			copy[i] = values[i];
		}
	}
	return copy;
}

static void copy_row(struct store_item *item, const struct table *table, struct report_row *row)
{
	row->name = copy_text(item, row->name);
	row->label = copy_text(item, row->label);
	row->keyed = copy_text(item, row->keyed);
	if (row->thread) {
		row->thread = arena_copy(&item->arena, row->thread, sizeof(*row->thread));
	}
	if (row->instance) {
		row->instance = arena_copy(&item->arena, row->instance, sizeof(*row->instance));
	}
	if (row->values) {
		row->values = copy_values(item, table, row->values);
	}
}

/* Phases are no analysis: they are not stored.  Nor are pairs of threads. */
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

static void copy_tables(struct store_item *item, const struct report *report)
{
	struct report_table *tables =
		arena_alloc(&item->arena, (report->table_count + 1) * sizeof(*tables));
	size_t kept = 0;

	for (size_t t = 0; t < report->table_count; t++) {
		const struct report_table *from = &report->tables[t];
		struct report_row *rows;

		if (!is_stored(from)) {
			continue;
		}
		rows = arena_alloc(&item->arena, (from->row_count + 1) * sizeof(*rows));
		for (size_t i = 0; i < from->row_count; i++) {
			rows[i] = from->rows[i];
			copy_row(item, from->table, &rows[i]);
		}
		tables[kept] = *from;
		tables[kept++].rows = rows;
	}
	item->report.tables = tables;
	item->report.table_count = kept;
}

struct store_item *store_item_window(const struct trace_identity *trace,
				     const struct report *report)
{
	struct store_item *item = item_new(STORE_WINDOW, trace);

	item->report = *report;
	copy_tables(item, report);
	item->report.missing = arena_copy(&item->arena, report->missing,
					  report->missing_count * sizeof(*report->missing));
	item->report.views = arena_copy(&item->arena, report->views,
					report->view_count * sizeof(*report->views));
	return item;
}

struct store_item *store_item_merged(const struct trace_identity *trace, const char *id,
				     const char *uuid, uint64_t level, const struct report *report)
{
	struct store_item *item = store_item_window(trace, report);

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
	for (size_t t = 0; t < item->report.table_count; t++) {
		const struct report_table *table = &item->report.tables[t];
		uint32_t count = column_count(table->table);

		for (size_t i = 0; i < table->row_count; i++) {
			for (uint32_t c = 0; table->rows[i].values && c < count; c++) {
				if (table->table->columns[c].kind == COLUMN_HISTOGRAM) {
					histogram_free((struct histogram *)column_histogram(
						table->rows[i].values, c));
				}
			}
		}
	}
	arena_fini(&item->arena);
	free(item);
}
