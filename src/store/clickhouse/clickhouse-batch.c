/*
 * clickhouse-batch: see clickhouse-batch.h.
 */
#include "store/clickhouse/clickhouse-batch.h"
#include "base/check.h"
#include "store/rows/head.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/now.h"

#define IS_COMPLETE ((uint64_t)1 << 63) /* in versions of windows */

struct named_batch {
	char trace[STORE_TRACE_TEXT];
};

struct clickhouse_encoder {
	uint64_t level;
	uint64_t version; /* of the last item: each has a higher one */
	struct clickhouse_table *tables[CLICKHOUSE_TABLES_MAX]; /* NULL: not used yet */
	char *inserts[CLICKHOUSE_TABLES_MAX];
	VEC(struct named_batch) named;
	struct store_scratch scratch;
};

/* ---- batches ---- */

struct clickhouse_batch *clickhouse_batch_new(void)
{
	return mem_alloc(sizeof(struct clickhouse_batch));
}

void clickhouse_batch_free(struct clickhouse_batch *batch)
{
	if (!batch) {
		return;
	}
	for (size_t i = 0; i < batch->parts.count; i++) {
		vec_fini(&batch->parts.at[i].body);
	}
	vec_fini(&batch->parts);
	free(batch);
}

/* The part of the table, which is begun if there is none. */
static struct clickhouse_part *part_of(struct clickhouse_encoder *encoder,
				       struct clickhouse_batch *batch, uint32_t table)
{
	struct clickhouse_part *part;

	assert(table < CLICKHOUSE_TABLES_MAX);
	for (size_t i = 0; i < batch->parts.count; i++) {
		if (batch->parts.at[i].table == table) {
			return &batch->parts.at[i];
		}
	}
	if (!encoder->tables[table]) {
		encoder->tables[table] = clickhouse_table_new(table);
		encoder->inserts[table] = clickhouse_insert_text(encoder->tables[table]);
	}
	part = vec_push(&batch->parts);
	*part = (struct clickhouse_part){ .table = table };
	vec_append(&part->body, encoder->inserts[table], strlen(encoder->inserts[table]));
	return part;
}

/* ---- fields ---- */

static void put_letter(struct clickhouse_part *part, char letter)
{
	*vec_push(&part->body) = letter;
}

static void put_unsigned(struct clickhouse_part *part, uint64_t number, char after)
{
	char text[24];
	size_t at = sizeof(text);

	text[--at] = after;
	do {
		text[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	vec_append(&part->body, text + at, sizeof(text) - at);
}

static void put_number(struct clickhouse_part *part, int64_t number)
{
	if (number < 0) {
		put_letter(part, '-');
	}
	put_unsigned(part, number < 0 ? -(uint64_t)number : (uint64_t)number, '\t');
}

static void put_raw(struct clickhouse_part *part, const char *text, size_t len)
{
	vec_append(&part->body, text, len);
	put_letter(part, '\t');
}

static void put_null(struct clickhouse_part *part)
{
	put_raw(part, "\\N", 2);
}

static void put_bytes(struct clickhouse_part *part, const char *text, size_t len)
{
	size_t plain = 0;

	for (size_t i = 0; i < len; i++) {
		const char *escaped = text[i] == '\t'   ? "\\t"
				      : text[i] == '\n' ? "\\n"
				      : text[i] == '\\' ? "\\\\"
				      : text[i] == '\0' ? "\\0"
							: NULL;

		if (escaped) {
			vec_append(&part->body, text + plain, i - plain);
			vec_append(&part->body, escaped, 2);
			plain = i + 1;
		}
	}
	vec_append(&part->body, text + plain, len - plain);
	put_letter(part, '\t');
}

/* NULL is a text that is not known. */
static void put_text(struct clickhouse_part *part, const char *text)
{
	if (text) {
		put_bytes(part, text, strlen(text));
	} else {
		put_null(part);
	}
}

static void put_known_text(struct clickhouse_part *part, const char *text)
{
	put_text(part, text ? text : "");
}

static void end_row(struct clickhouse_batch *batch, struct clickhouse_part *part, uint64_t version)
{
	put_unsigned(part, version, '\n');
	batch->rows++;
}

/* ---- rows of windows ---- */

static void put_place(const struct clickhouse_encoder *encoder, const struct store_item *item,
		      struct clickhouse_part *part)
{
	assert_hot(item->trace[0]);
	put_number(part, (int64_t)(item->level ? item->level : encoder->level));
	put_number(part, (int64_t)item->report.begin);
	put_raw(part, item->trace, STORE_TRACE_TEXT - 1);
}

static void put_cell(struct clickhouse_part *part, enum clickhouse_type type,
		     const struct store_cell *cell)
{
	switch (type) {
	case CLICKHOUSE_ARRAY:
		if (cell->is_null) {
			put_raw(part, "[]", 2);
		} else {
			put_raw(part, cell->text, cell->len);
		}
		break;
	case CLICKHOUSE_TEXT:
	case CLICKHOUSE_TEXT_OR_NULL:
		if (cell->is_null) {
			put_null(part);
		} else {
			put_bytes(part, cell->text, cell->len);
		}
		break;
	default:
		if (cell->is_null) {
			put_null(part);
		} else {
			put_number(part, cell->number);
		}
		break;
	}
}

static void put_list(struct clickhouse_encoder *encoder, const struct store_item *item,
		     const struct report_table *from, uint64_t version,
		     struct clickhouse_batch *batch)
{
	struct store_column columns[STORE_COLUMNS_MAX];
	struct store_cell cells[STORE_COLUMNS_MAX];
	size_t count = store_columns(from->analysis, from->table, columns), a = 0;
	const struct clickhouse_table *table;
	struct clickhouse_part *part;
	uint32_t number;

	while (analyses[a] != from->analysis) {
		assert(analyses[a]);
		a++;
	}
	number = clickhouse_list_number(a, (size_t)(from->table - from->analysis->tables));
	part = part_of(encoder, batch, number);
	table = encoder->tables[number];
	assert(table->count == count + 4);
	for (size_t i = 0; i < from->row_count; i++) {
		store_cells(from, &from->rows[i], columns, count, cells, &encoder->scratch);
		put_place(encoder, item, part);
		for (size_t c = 0; c < count; c++) {
			put_cell(part, table->columns[c + 3].type, &cells[c]);
		}
		end_row(batch, part, version);
	}
}

static void put_thread(struct clickhouse_encoder *encoder, const struct store_item *item,
		       const struct report_view *view, uint64_t version,
		       struct clickhouse_batch *batch)
{
	struct clickhouse_part *part = part_of(encoder, batch, CLICKHOUSE_THREADS);

	put_place(encoder, item, part);
	put_number(part, (int32_t)(view->id >> 32));
	put_number(part, (uint32_t)view->id);
	put_number(part, (int32_t)(view->was >> 32));
	put_number(part, (uint32_t)view->was);
	put_number(part, view->is_reused);
	put_number(part, view->view.pid);
	put_known_text(part, view->view.comm);
	if (view->view.has_prio) {
		put_number(part, view->view.prio);
	} else {
		put_null(part);
	}
	put_number(part, (int64_t)store_container(&view->view));
	end_row(batch, part, version);
}

static void put_losses(struct clickhouse_part *part, const struct report *report, int first,
		       int end)
{
	for (int i = first; i < end; i++) {
		put_number(part, (int64_t)report->lost.of[i]);
	}
}

static void put_head(struct clickhouse_encoder *encoder, const struct store_item *item,
		     uint64_t version, struct clickhouse_batch *batch)
{
	struct clickhouse_part *part = part_of(encoder, batch, CLICKHOUSE_WINDOWS);
	const struct report *report = &item->report;
	struct store_head head;

	store_head_of(report, &head);
	put_place(encoder, item, part);
	put_known_text(part, head.lists);
	put_number(part, (int64_t)report->end);
	put_number(part, report->complete);
	if (report->has_lag) {
		put_number(part, report->lag_ns);
	} else {
		put_null(part);
	}
	put_number(part, (int64_t)report->events);
	put_losses(part, report, LOSS_EVENTS, LOSS_ANOMALIES);
	put_known_text(part, head.lists);
	put_known_text(part, head.missing);
	put_known_text(part, head.unknown);
	put_losses(part, report, LOSS_ANOMALIES, LOSSES);
	store_head_fini(&head);
	end_row(batch, part, version);
}

static void put_window(struct clickhouse_encoder *encoder, const struct store_item *item,
		       uint64_t version, struct clickhouse_batch *batch)
{
	const struct report *report = &item->report;
	struct store_gap *windows = &batch->windows;

	version |= report->complete ? IS_COMPLETE : 0;
	for (size_t t = 0; t < report->table_count; t++) {
		put_list(encoder, item, &report->tables[t], version, batch);
	}
	for (size_t i = 0; i < report->view_count; i++) {
		put_thread(encoder, item, &report->views[i], version, batch);
	}
	put_head(encoder, item, version, batch);
	if (item->is_extra) {
		return;
	}
	windows->begin = windows->windows == 0 || report->begin < windows->begin ? report->begin
										 : windows->begin;
	windows->end = report->end > windows->end ? report->end : windows->end;
	windows->windows++;
}

/* ---- all else ---- */

static void name_trace(struct clickhouse_encoder *encoder, const struct store_item *item,
		       uint64_t version, struct clickhouse_batch *batch)
{
	struct clickhouse_part *part;

	assert(item->trace[0]);
	for (size_t i = encoder->named.count; i-- > 0;) {
		if (strcmp(encoder->named.at[i].trace, item->trace) == 0) {
			return;
		}
	}
	memcpy(vec_push(&encoder->named), item->trace, STORE_TRACE_TEXT);
	part = part_of(encoder, batch, CLICKHOUSE_TRACES);
	put_raw(part, item->trace, STORE_TRACE_TEXT - 1);
	put_text(part, item->uuid);
	put_text(part, item->host);
	put_text(part, item->session);
	put_text(part, item->domain);
	put_text(part, item->path);
	put_text(part, item->tracer);
	end_row(batch, part, version);
}

static void put_loss(struct clickhouse_encoder *encoder, const struct store_item *item,
		     struct clickhouse_batch *batch)
{
	struct clickhouse_part *part = part_of(encoder, batch, CLICKHOUSE_LOSSES);

	put_number(part, (int64_t)item->begin);
	put_raw(part, item->trace, STORE_TRACE_TEXT - 1);
	put_known_text(part, item->name);
	put_known_text(part, item->stream);
	put_number(part, item->packet);
	put_number(part, (int64_t)item->end);
	put_known_text(part, item->text);
	end_row(batch, part, encoder->version);
}

static void put_trigger(struct clickhouse_encoder *encoder, const struct store_item *item,
			struct clickhouse_batch *batch)
{
	struct clickhouse_part *part = part_of(encoder, batch, CLICKHOUSE_TRIGGERS);

	put_number(part, (int64_t)item->end);
	put_raw(part, item->trace, STORE_TRACE_TEXT - 1);
	put_known_text(part, item->name);
	put_number(part, (int64_t)item->begin);
	put_known_text(part, item->text);
	end_row(batch, part, encoder->version);
}

static void put_capture(struct clickhouse_encoder *encoder, const struct store_item *item,
			struct clickhouse_batch *batch)
{
	struct clickhouse_part *part = part_of(encoder, batch, CLICKHOUSE_CAPTURES);

	put_number(part, (int64_t)item->begin);
	put_number(part, (int64_t)item->end);
	put_known_text(part, item->host);
	put_known_text(part, item->session);
	put_known_text(part, item->path);
	put_known_text(part, item->text);
	end_row(batch, part, encoder->version);
}

static void put_phase(struct clickhouse_encoder *encoder, const struct store_item *item,
		      struct clickhouse_batch *batch)
{
	struct clickhouse_part *part = part_of(encoder, batch, CLICKHOUSE_PHASES);

	put_number(part, (int64_t)item->begin);
	put_raw(part, item->trace, STORE_TRACE_TEXT - 1);
	put_number(part, (int64_t)encoder->level);
	put_number(part, (int64_t)item->end);
	put_number(part, (int64_t)item->number);
	put_number(part, (int64_t)item->slices);
	put_number(part, item->is_open);
	put_text(part, item->name);
	put_known_text(part, item->text);
	end_row(batch, part, encoder->version);
}

static size_t bytes_of(const struct clickhouse_batch *batch)
{
	size_t bytes = 0;

	for (size_t i = 0; i < batch->parts.count; i++) {
		bytes += batch->parts.at[i].body.count;
	}
	return bytes;
}

void clickhouse_encode(struct clickhouse_encoder *encoder, const struct store_item *item,
		       struct clickhouse_batch *batch)
{
	uint64_t now = now_wall_ns() & ~IS_COMPLETE;

	encoder->version = now > encoder->version ? now : encoder->version + 1;
	if (item->trace[0]) {
		name_trace(encoder, item, encoder->version, batch);
	}
	switch (item->kind) {
	case STORE_WINDOW:
		put_window(encoder, item, encoder->version, batch);
		break;
	case STORE_LOSS:
		put_loss(encoder, item, batch);
		break;
	case STORE_TRIGGER:
		put_trigger(encoder, item, batch);
		break;
	case STORE_CAPTURE:
		put_capture(encoder, item, batch);
		break;
	case STORE_PHASE:
		put_phase(encoder, item, batch);
		break;
	}
	batch->bytes = bytes_of(batch);
}

void clickhouse_encode_gap(struct clickhouse_encoder *encoder, const struct store_gap *gap,
			   struct clickhouse_batch *batch)
{
	struct clickhouse_part *part = part_of(encoder, batch, CLICKHOUSE_GAPS);

	assert(batch->gap.windows == 0);
	put_number(part, (int64_t)gap->begin);
	put_number(part, (int64_t)gap->end);
	put_known_text(part, gap->why);
	put_number(part, (int64_t)gap->windows);
	end_row(batch, part, ++encoder->version);
	batch->gap = *gap;
	batch->bytes = bytes_of(batch);
}

/* ---- lifecycle ---- */

struct clickhouse_encoder *clickhouse_encoder_new(uint64_t interval_ns)
{
	struct clickhouse_encoder *encoder = mem_alloc(sizeof(*encoder));

	encoder->level = interval_ns;
	return encoder;
}

void clickhouse_encoder_forget(struct clickhouse_encoder *encoder)
{
	encoder->named.count = 0;
}

void clickhouse_encoder_free(struct clickhouse_encoder *encoder)
{
	for (size_t i = 0; i < CLICKHOUSE_TABLES_MAX; i++) {
		free(encoder->tables[i]);
		free(encoder->inserts[i]);
	}
	vec_fini(&encoder->named);
	vec_fini(&encoder->scratch.text);
	free(encoder);
}
