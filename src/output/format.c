/*
 * format: see format.h.
 */
#include "output/format.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "engine/contract/row-key.h"
#include "engine/tables/columns.h"
#include "text/text-table.h"

/* ---- values ---- */

void format_value(char text[CELL_MAX], enum unit unit, uint64_t value)
{
	char number[UNITS_TEXT_MAX];

	switch (unit) {
	case UNIT_COUNT:
		(void)units_count(number, value);
		break;
	case UNIT_BYTES:
		(void)units_bytes(number, value);
		break;
	case UNIT_NS:
		(void)units_ns(number, value);
		break;
	}
	(void)snprintf(text, CELL_MAX, "%s", number);
}

/* The count has the title of the column. */
static const struct {
	enum histogram_part part;
	const char *title;
} parts[CELL_PARTS] = {
	{ HISTOGRAM_COUNT, NULL }, { HISTOGRAM_MEAN, "MEAN" },   { HISTOGRAM_P99, "P99" },
	{ HISTOGRAM_MAX, "MAX" },  { HISTOGRAM_SUM, "TOTAL" },   { HISTOGRAM_P50, "P50" },
	{ HISTOGRAM_MIN, "MIN" },  { HISTOGRAM_STDEV, "STDEV" },
};

static void part_text(char text[CELL_MAX], const struct histogram *histogram,
		      enum histogram_part part)
{
	if (part == HISTOGRAM_COUNT) {
		format_value(text, UNIT_COUNT, histogram ? histogram->count : 0);
	} else if (!histogram || (part == HISTOGRAM_STDEV && histogram->count < 2)) {
		(void)snprintf(text, CELL_MAX, "-");
	} else {
		format_value(text, UNIT_NS, (uint64_t)(histogram_part(histogram, part) + 0.5));
	}
}

void format_real(char text[CELL_MAX], enum unit unit, double value, bool is_per_second)
{
	double size = fabs(value);
	char number[CELL_MAX];

	if (isnan(value)) {
		(void)snprintf(text, CELL_MAX, "-");
		return;
	}
	if (unit == UNIT_COUNT && size > 0 && size < 100 && size != floor(size)) {
		(void)snprintf(number, sizeof(number), "%.2f", size);
	} else {
		format_value(number, unit, size < 1.8e19 ? (uint64_t)(size + 0.5) : UINT64_MAX);
	}
	(void)snprintf(text, CELL_MAX, "%s%.40s%s", value < 0 ? "-" : "", number,
		       is_per_second ? "/s" : "");
}

void format_share(char text[CELL_MAX], double share)
{
	(void)snprintf(text, CELL_MAX, "%.1f %%", share * 100);
}

void format_figure(char text[CELL_MAX], const struct figure *figure, double value)
{
	if (figure->is_share) {
		format_share(text, value);
	} else {
		format_real(text, figure_unit(figure), value, figure->is_rate);
	}
}

void format_histogram(char *text, size_t size, const char *title, const struct histogram *histogram)
{
	char count[CELL_MAX], mean[CELL_MAX], high[CELL_MAX], max[CELL_MAX];

	assert(size > 0);
	part_text(count, histogram, HISTOGRAM_COUNT);
	part_text(mean, histogram, HISTOGRAM_MEAN);
	part_text(high, histogram, HISTOGRAM_P99);
	part_text(max, histogram, HISTOGRAM_MAX);
	if (histogram) {
		(void)snprintf(text, size, "%-8s %s  mean %s  p99 %s  max %s", title, count, mean,
			       high, max);
	} else {
		(void)snprintf(text, size, "%-8s %s", title, count);
	}
}

/* ---- cells ---- */

/* Adds the cells of one column.  Returns how many. */
static size_t parts_of(const struct report_table *of, unsigned int at, struct cell *cells)
{
	const struct column *column = &of->table->columns[at];
	bool is_histogram = column->kind == COLUMN_HISTOGRAM;
	bool is_unknown = report_is_unknown(of, at);

	if (!column->title ||
	    (column->kind == COLUMN_PRIO && scope_is_of_threads(of->table->scope))) {
		return 0;
	}
	if (!is_histogram || of->table->shows_means) {
		cells[0] = (struct cell){ column, at,
					  is_histogram ? HISTOGRAM_MEAN : HISTOGRAM_NO_PART,
					  is_unknown, column->title };
		return 1;
	}
	for (size_t k = 0; k < CELL_PARTS; k++) {
		cells[k] = (struct cell){ column, at, parts[k].part, is_unknown,
					  parts[k].title ? parts[k].title : column->title };
	}
	return CELL_PARTS;
}

size_t format_parts(const struct report_table *of, struct cell cells[CELLS_MAX])
{
	const struct table *table = of->table;
	uint32_t mask = table->sort_mask;
	unsigned int first = mask && !(mask & (mask - 1)) ? (unsigned int)__builtin_ctz(mask) : 0;
	size_t count;

	first = table->columns[first].kind == COLUMN_HISTOGRAM ? 0 : first;
	count = parts_of(of, first, cells);
	for (unsigned int i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		count += i == first ? 0 : parts_of(of, i, cells + count);
	}
	assert(count <= CELLS_MAX);
	return count;
}

void format_keep_order(const struct report_table *of, const struct display *display,
		       struct cell *cells, size_t count, size_t shown)
{
	struct report_order order = report_order(of->table, display);
	enum histogram_part part = order.part == HISTOGRAM_NO_PART ? HISTOGRAM_SUM : order.part;

	assert(shown <= count);
	for (size_t i = shown; shown > 0 && i < count; i++) {
		bool is_it = order.mask == 1u << cells[i].at && order.per == 0 &&
			     (cells[i].column->kind != COLUMN_HISTOGRAM || cells[i].part == part);

		if (is_it && !cells[i].column->is_share) { /* a share has no room */
			cells[shown - 1] = cells[i];
		}
	}
}

const char *format_title(const struct cell *cell)
{
	return cell->title;
}

/* Of a thread, or of an instance. */
static bool is_prio(const struct column *column)
{
	return strcmp(column->key, "prio") == 0;
}

void format_cell(char text[CELL_MAX], const struct cell *cell, const struct report_row *row)
{
	const struct column *column = cell->column;
	char prio[UNITS_TEXT_MAX];

	if (cell->is_unknown) {
		(void)snprintf(text, CELL_MAX, "-");
	} else if (row->instance && is_prio(column)) {
		(void)units_prio(text, (int32_t)row->instance->more[cell->at - 1]);
	} else if (row->instance && cell->at > 0 && column->unit == UNIT_COUNT) {
		(void)snprintf(text, CELL_MAX, "%" PRId64, row->instance->more[cell->at - 1]);
	} else if (row->instance) {
		format_value(text, column->unit,
			     cell->at > 0 ? (uint64_t)row->instance->more[cell->at - 1]
					  : row->instance->ns);
	} else if (column->kind == COLUMN_PRIO) {
		(void)snprintf(text, CELL_MAX, "%s",
			       row->thread->has_prio ? units_prio(prio, row->thread->prio) : "?");
	} else if (column->kind == COLUMN_HISTOGRAM) {
		part_text(text, column_histogram(row->values, cell->at), cell->part);
	} else if (column->kind == COLUMN_LAST_MAX && row->values[cell->at] == 0) {
		(void)snprintf(text, CELL_MAX, "-"); /* there is nothing that has an age */
	} else {
		format_value(text, column->unit, row->values[cell->at]);
	}
}

double format_number(const struct cell *cell, const struct report_row *row)
{
	const struct histogram *histogram;

	if (row->instance) {
		return cell->at > 0 ? (double)row->instance->more[cell->at - 1]
				    : (double)row->instance->ns;
	}
	if (cell->column->kind == COLUMN_PRIO) {
		return row->thread->has_prio ? row->thread->prio : INT32_MAX;
	}
	if (cell->column->kind == COLUMN_HISTOGRAM) {
		histogram = column_histogram(row->values, cell->at);
		return histogram ? histogram_part(histogram, cell->part) : 0;
	}
	return (double)row->values[cell->at];
}

/* ---- names of rows ---- */

const char *format_rows_title(const struct table *table)
{
	static const char *const titles[] = {
		[SCOPE_TRACE] = "",
		[SCOPE_CPU] = "CPU",
		[SCOPE_THREAD] = "THREAD (TID)",
		[SCOPE_EVENT] = "EVENT",
		[SCOPE_KEYED] = "NAME",
		[SCOPE_PROCESS] = "PROCESS (PID)",
		[SCOPE_CONTAINER] = "CONTAINER",
		[SCOPE_LONGEST] = "LONGEST",
		[SCOPE_PAIR] = "PAIR",
		[SCOPE_PROCESS_PAIR] = "PAIR",
		[SCOPE_CONTAINER_PAIR] = "PAIR",
	};

	assert((size_t)table->scope < ARRAY_COUNT(titles));
	return table->title ? table->title : titles[table->scope];
}

bool format_names_containers(const struct report_table *rows)
{
	return rows->table->scope == SCOPE_PROCESS && rows->row_count > 0 && rows->rows[0].by;
}

const char *format_title_of(const struct report_table *rows)
{
	if (rows->is_by_name) {
		return scope_is_of_pairs(rows->table->scope) ? "NAME BY NAME" : "NAME";
	}
	if (format_names_containers(rows)) {
		return rows->is_of_services ? "PROCESS (PID) IN SERVICE"
					    : "PROCESS (PID) IN CONTAINER";
	}
	if (rows->is_of_services && scope_is_of_containers(rows->table->scope)) {
		return scope_is_of_pairs(rows->table->scope) ? "SERVICE BY SERVICE" : "SERVICE";
	}
	return format_rows_title(rows->table);
}

void format_thread(char text[CELL_MAX], const struct thread_view *thread, int64_t id)
{
	if (id < 0) {
		(void)snprintf(text, CELL_MAX, "%s",
			       thread->comm[0] ? thread->comm : "(not known)");
	} else {
		(void)snprintf(text, CELL_MAX, "%s (%" PRId64 ")",
			       thread->comm[0] ? thread->comm : "?", id);
	}
}

#define KEYED_TEXT_MAX (FILE_NAME_MAX + CELL_MAX)

/* "ID NAME" of a keyed row: what it has of both; an id may have a name of its own. */
static void keyed_text(char text[KEYED_TEXT_MAX], const struct table *table,
		       const struct report_row *row, uint64_t id)
{
	const char *id_name = table->id_name ? table->id_name(id) : NULL;
	bool has_id = table->id_key && id != ROW_KEY_NO_ID;
	char number[48] = "";

	if (has_id && table->owner_key) {
		(void)snprintf(number, sizeof(number), "%" PRId64 ":%" PRId64, row->owner,
			       (int64_t)id);
		id_name = number;
	} else if (has_id && strcmp(table->id_key, "prio") == 0) {
		id_name = units_prio(number, (int32_t)id);
	} else if (has_id && !id_name) {
		(void)snprintf(number, sizeof(number), "%" PRId64, (int64_t)id);
		id_name = number;
	} else if (table->id_key && table->name_key && !id_name && row->name[0] != '(') {
		id_name = "-"; /* the name is that of the second column */
	}
	if (!table->name_key || !row->name[0]) {
		(void)snprintf(text, KEYED_TEXT_MAX, "%s", id_name ? id_name : "?");
	} else {
		(void)snprintf(text, KEYED_TEXT_MAX, "%s%s%s", id_name ? id_name : "",
			       id_name ? " " : "", row->label ? row->label : row->name);
	}
}

/* The end of a path distinguishes it from others, so that is what is shown; not of what has a
 * label. */
static void fit(char text[CELL_MAX], const char *whole, const char *label, int width)
{
	const char *path = label ? NULL : strchr(whole, '/');
	int head = path ? (int)(path - whole) : 0, len = utf8_columns(whole);
	int room = width - head - 2; /* for the end of the path, after two dots */

	assert(width < CELL_MAX);
	if (len <= width || !path || room < 4) {
		(void)snprintf(text, CELL_MAX, "%.*s", (int)utf8_fit(whole, CELL_MAX, CELL_MAX - 1),
			       whole);
		text_cut(text, width);
	} else {
		const char *end = path;

		while (utf8_columns(end) > room) {
			end += utf8_letter_at(end).bytes;
		}
		(void)snprintf(text, CELL_MAX, "%.*s..%s", head, whole, end);
	}
}

/* Its name, else the number of its PID namespace. */
static void format_container(char text[CELL_MAX], const struct report_row *row)
{
	if (report_pid_ns(row->id) == UINT64_MAX || row->name[0]) {
		(void)snprintf(text, CELL_MAX, "%s", row->name[0] ? row->name : "(not known)");
	} else {
		(void)snprintf(text, CELL_MAX, "%" PRIu64, row->id);
	}
}

/* "A (1) by B (2)": both have half of the room, or what the other one leaves of it. */
static void join(char text[CELL_MAX], char of[CELL_MAX], const char *word, char with[CELL_MAX],
		 int width)
{
	int room = width - (int)strlen(word), half = room / 2;
	int of_len = utf8_columns(of), with_len = utf8_columns(with);

	assert(room > 0);
	if (of_len + with_len > room) {
		text_cut(of, of_len > half ? (with_len < half ? room - with_len : half) : of_len);
		text_cut(with, room - utf8_columns(of));
	}
	(void)snprintf(text, CELL_MAX, "%.*s%s%.*s", CELL_MAX / 2 - 3, of, word, CELL_MAX / 2 - 3,
		       with);
}

/* The container that a row names beside what it is of: in row->by, its number in row->owner. */
static void format_other_container(char text[CELL_MAX], const struct report_row *row)
{
	const struct report_row other = {
		.id = row->owner == REPORT_NO_NUMBER ? ROW_KEY_NO_ID : (uint64_t)row->owner,
		.name = row->by,
	};

	format_container(text, &other);
}

static void format_pair(char text[CELL_MAX], const struct table *table,
			const struct report_row *row, int width)
{
	char of[CELL_MAX], by[CELL_MAX];

	if (table->scope == SCOPE_CONTAINER_PAIR) {
		format_container(of, row);
		format_other_container(by, row);
	} else {
		format_thread(of, row->thread,
			      table->scope == SCOPE_PAIR ? row->thread->tid : row->thread->pid);
		if (row->owner <= 0) {
			(void)snprintf(by, sizeof(by), "%s", row->by[0] ? row->by : "(not known)");
		} else {
			(void)snprintf(by, sizeof(by), "%s (%" PRId64 ")",
				       row->by[0] ? row->by : "?", row->owner);
		}
	}
	join(text, of, " by ", by, width);
}

/* "nginx (7) in web", by container. */
static void format_process(char text[CELL_MAX], const struct report_row *row, int width)
{
	char process[CELL_MAX], container[CELL_MAX];

	format_thread(process, row->thread, row->thread->pid);
	if (row->by) {
		format_other_container(container, row);
		join(text, process, " in ", container, width);
	} else {
		(void)snprintf(text, CELL_MAX, "%s", process);
	}
}

void format_row(char text[CELL_MAX], const struct table *table, const struct report_row *row,
		int width)
{
	char keyed[KEYED_TEXT_MAX] = "";

	assert(width < CELL_MAX);
	text[0] = '\0';
	switch (table->scope) {
	case SCOPE_TRACE:
		break;
	case SCOPE_CPU:
		(void)snprintf(text, CELL_MAX, "%" PRIu64, row->id);
		break;
	case SCOPE_EVENT:
		(void)snprintf(text, CELL_MAX, "%s", row->name);
		text_cut(text, width);
		break;
	case SCOPE_THREAD:
		format_thread(text, row->thread, row->thread->tid);
		break;
	case SCOPE_PROCESS:
		format_process(text, row, width);
		break;
	case SCOPE_CONTAINER:
		format_container(text, row);
		text_cut(text, width);
		break;
	case SCOPE_KEYED:
		keyed_text(keyed, table, row, row->id);
		fit(text, keyed, row->label, width);
		break;
	case SCOPE_PAIR:
	case SCOPE_PROCESS_PAIR:
	case SCOPE_CONTAINER_PAIR:
		format_pair(text, table, row, width);
		break;
	case SCOPE_LONGEST:
		if (!table->id_key && !table->name_key && row->thread) {
			format_thread(text, row->thread, row->thread->tid);
		} else {
			keyed_text(keyed, table, row, row->instance->keyed.id);
			fit(text, keyed, row->label, width);
		}
		break;
	}
}

/* ---- widths ---- */

#define NAMES_COMPARED 1000 /* rows, from the first on: a table may have many thousands */

struct name {
	char cut[CELL_MAX], whole[CELL_MAX];
};

static int by_cut(const void *left, const void *right)
{
	const struct name *a = left, *b = right;
	int by = strcmp(a->cut, b->cut);

	return by ? by : strcmp(a->whole, b->whole);
}

/* Whether names that differ are cut to the same text. */
static bool are_mixed_up(const struct table *table, const struct report_row *const *rows,
			 size_t count, int width)
{
	struct name *names = mem_alloc((count + 1) * sizeof(*names));
	bool is_mixed = false;

	for (size_t i = 0; i < count; i++) {
		format_row(names[i].cut, table, rows[i], width);
		format_row(names[i].whole, table, rows[i], FORMAT_WHOLE_NAME);
	}
	qsort(names, count, sizeof(*names), by_cut);
	for (size_t i = 1; i < count && !is_mixed; i++) {
		is_mixed = strcmp(names[i - 1].cut, names[i].cut) == 0 &&
			   strcmp(names[i - 1].whole, names[i].whole) != 0;
	}
	free(names);
	return is_mixed;
}

int format_names_width(const struct table *table, const struct report_row *const *rows,
		       size_t count, int usual, unsigned int most)
{
	int longest = 0, narrow = usual, wide;
	size_t compared = count < NAMES_COMPARED ? count : NAMES_COMPARED;
	char text[CELL_MAX];

	for (size_t i = 0; i < count; i++) {
		int columns;

		format_row(text, table, rows[i], FORMAT_WHOLE_NAME);
		columns = utf8_columns(text);
		longest = columns > longest ? columns : longest;
	}
	if (longest <= usual || most == UINT_MAX) {
		return longest > usual ? longest : usual;
	}
	wide = longest < (int)most ? longest : (int)most;
	if (wide <= usual || !are_mixed_up(table, rows, compared, usual)) {
		return usual;
	}
	/* Names are mixed up at one, and as far apart as may be at the other. */
	while (wide - narrow > 1) {
		int width = narrow + (wide - narrow) / 2;

		if (are_mixed_up(table, rows, compared, width)) {
			narrow = width;
		} else {
			wide = width;
		}
	}
	return wide;
}
