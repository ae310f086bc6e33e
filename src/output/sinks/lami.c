/*
 * lami: see lami.h.
 */
#include "output/sinks/lami.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "engine/contract/row-key.h"
#include "engine/tables/columns.h"
#include "output/format.h"
#include "version.h"

/* ---- description ---- */

static void class_name(char name[CELL_MAX], const struct analysis *analysis,
		       const struct table *table)
{
	(void)snprintf(name, CELL_MAX, "%s-%s", analysis->name, table->key ? table->key : "total");
}

static void table_title(char title[2 * CELL_MAX], const struct analysis *analysis,
			const struct table *table)
{
	(void)snprintf(title, 2 * CELL_MAX, "%s: %s", analysis->name,
		       table->key ? table->key : "totals");
}

static void put_column(struct json *json, const char *title, const char *class)
{
	json_open(json, NULL, '{');
	json_text(json, "title", title);
	json_text(json, "class", class);
	json_close(json, '}');
}

static const char *class_of(const struct column *column)
{
	return column->unit == UNIT_NS      ? "duration"
	       : column->unit == UNIT_BYTES ? "size"
					    : "number";
}

/* The parts of a histogram: those of lttng-analyses, and a percentile. */
static const char *const histogram_titles[] = {
	"count", "minimum", "average", "maximum", "standard deviation", "99th percentile"
};
#define HISTOGRAM_TITLES ARRAY_COUNT(histogram_titles)

static void put_column_of(struct json *json, const struct column *column)
{
	char title[2 * CELL_MAX];

	if (column->kind != COLUMN_HISTOGRAM) {
		put_column(json, column->key, class_of(column));
		return;
	}
	for (size_t i = 0; i < HISTOGRAM_TITLES; i++) {
		(void)snprintf(title, sizeof(title), "%s: %s", column->key, histogram_titles[i]);
		put_column(json, title, i == 0 ? "number" : "duration");
	}
}

/* LAMI's class of what a row is about. */
static const char *object_of(const struct table *table)
{
	switch (table->scope) {
	case SCOPE_CPU:
		return "cpu";
	case SCOPE_THREAD:
	case SCOPE_PROCESS:
		return "process";
	case SCOPE_KEYED:
	case SCOPE_CONTAINER:
	case SCOPE_LONGEST:
		return table->lami_class ? table->lami_class : "string";
	default:
		return "string";
	}
}

static void describe_table(struct json *json, const struct analysis *analysis,
			   const struct table *table)
{
	char name[CELL_MAX], title[2 * CELL_MAX];

	class_name(name, analysis, table);
	table_title(title, analysis, table);
	json_open(json, name, '{');
	json_text(json, "title", title);
	json_open(json, "column-descriptions", '[');
	if (table->scope == SCOPE_LONGEST) {
		put_column(json, "Time range", "time-range");
		put_column(json, "Process", "process");
	}
	if (table->scope != SCOPE_TRACE) {
		put_column(json, format_rows_title(table), object_of(table));
	}
	for (size_t i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		if (table->columns[i].kind != COLUMN_PRIO) {
			put_column_of(json, &table->columns[i]);
		}
	}
	json_close(json, ']');
	json_close(json, '}');
}

void lami_describe(FILE *out, const struct analysis *const *list)
{
	struct json json;
	char *end;
	long major = strtol(SILLAGE_VERSION, &end, 10), minor = strtol(end + 1, &end, 10),
	     patch = strtol(end + 1, NULL, 10);

	json_init(&json, out);
	json_open(&json, NULL, '{');
	json_open(&json, "mi-version", '{');
	json_i64(&json, "major", 1);
	json_i64(&json, "minor", 0);
	json_close(&json, '}');
	json_open(&json, "version", '{');
	json_i64(&json, "major", major);
	json_i64(&json, "minor", minor);
	json_i64(&json, "patch", patch);
	json_text(&json, "extra", "");
	json_close(&json, '}');
	json_text(&json, "title", list[0] && !list[1] ? list[0]->name : "sillage");
	json_text(&json, "description",
		  list[0] && !list[1] ? list[0]->summary : "analyses of LTTng traces");
	json_open(&json, "authors", '[');
	json_text(&json, NULL, "sillage");
	json_close(&json, ']');
	json_open(&json, "tags", '[');
	for (size_t i = 0; list[i]; i++) {
		json_text(&json, NULL, list[i]->name);
	}
	json_close(&json, ']');
	json_open(&json, "table-classes", '{');
	for (size_t i = 0; list[i]; i++) {
		for (size_t t = 0; t < TABLES_MAX && list[i]->tables[t].columns[0].key; t++) {
			describe_table(&json, list[i], &list[i]->tables[t]);
		}
	}
	json_close(&json, '}');
	json_close(&json, '}');
	json_end_line(&json);
}

/* ---- results ---- */

static void put_object(struct json *json, const char *class)
{
	json_open(json, NULL, '{');
	json_text(json, "class", class);
}

static void put_u64(struct json *json, const char *class, uint64_t value)
{
	put_object(json, class);
	json_u64(json, "value", value);
	json_close(json, '}');
}

static void put_fixed(struct json *json, const char *class, double value)
{
	put_object(json, class);
	json_fixed(json, "value", value);
	json_close(json, '}');
}

static void put_timestamp(struct json *json, const char *key, uint64_t value)
{
	json_open(json, key, '{');
	json_text(json, "class", "timestamp");
	json_u64(json, "value", value);
	json_close(json, '}');
}

static void put_range(struct json *json, const char *key, uint64_t begin, uint64_t end)
{
	json_open(json, key, '{');
	json_text(json, "class", "time-range");
	put_timestamp(json, "begin", begin);
	put_timestamp(json, "end", end);
	json_close(json, '}');
}

static void put_process(struct json *json, const struct thread_view *thread)
{
	if (!thread) {
		json_null(json, NULL);
		return;
	}
	put_object(json, "process");
	if (thread->comm[0]) {
		json_text(json, "name", thread->comm);
	}
	if (thread->pid >= 0) {
		json_i64(json, "pid", thread->pid);
	}
	if (thread->tid >= 0) {
		json_i64(json, "tid", thread->tid);
	}
	json_close(json, '}');
}

/* Hard interrupts have the name of their handler, soft ones the name of their number. */
static void put_irq(struct json *json, const struct table *table, const struct report_row *row,
		    uint64_t id, const char *name)
{
	const char *id_name = table->id_name ? table->id_name(id) : NULL;

	put_object(json, "irq");
	json_bool(json, "hard", row->instance ? row->instance->more[0] == 0 : !table->id_name);
	json_u64(json, "nr", id);
	json_text(json, "name", id_name ? id_name : name);
	json_close(json, '}');
}

static void put_who(struct json *json, const struct table *table, const struct report_row *row)
{
	const char *object = object_of(table);
	uint64_t id = row->instance ? row->instance->keyed.id : row->id;
	char text[CELL_MAX];

	if (strcmp(object, "process") == 0) {
		put_process(json, row->thread);
	} else if (strcmp(object, "cpu") == 0) {
		put_object(json, "cpu");
		json_u64(json, "id", id);
		json_close(json, '}');
	} else if (strcmp(object, "irq") == 0) {
		put_irq(json, table, row, id, row->name);
	} else if (strcmp(object, "string") == 0) {
		format_row(text, table, row, FORMAT_WHOLE_NAME);
		put_object(json, "string");
		json_text(json, "value", text);
		json_close(json, '}');
	} else {
		put_object(json, object);
		json_text(json, strcmp(object, "path") == 0 ? "path" : "name", row->name);
		json_close(json, '}');
	}
}

static void put_histogram(struct json *json, const struct histogram *histogram)
{
	put_u64(json, "number", histogram ? histogram->count : 0);
	if (!histogram) {
		for (size_t i = 1; i < HISTOGRAM_TITLES; i++) {
			json_null(json, NULL);
		}
		return;
	}
	put_u64(json, "duration", histogram->min);
	put_fixed(json, "duration", histogram_mean(histogram));
	put_u64(json, "duration", histogram->max);
	if (histogram->count > 1) {
		put_fixed(json, "duration", histogram_deviation(histogram));
	} else {
		json_null(json, NULL);
	}
	put_u64(json, "duration", histogram_percentile(histogram, 990));
}

static void put_instance(struct json *json, const struct report_table *of,
			 const struct report_row *row)
{
	const struct instance *instance = row->instance;
	const struct table *table = of->table;

	put_range(json, NULL, instance->end - instance->ns, instance->end);
	put_process(json, row->thread);
	put_who(json, table, row);
	put_u64(json, "duration", instance->ns);
	for (size_t i = 0; i < INSTANCE_MORE && table->columns[i + 1].key; i++) {
		if (report_is_unknown(of, (unsigned int)i + 1)) {
			json_null(json, NULL);
			continue;
		}
		put_object(json, class_of(&table->columns[i + 1]));
		json_i64(json, "value", instance->more[i]);
		json_close(json, '}');
	}
}

/* No number in place of one that is not known. */
static void put_unknown(struct json *json, const struct column *column)
{
	size_t cells = column->kind == COLUMN_HISTOGRAM ? HISTOGRAM_TITLES : 1;

	for (size_t i = 0; i < cells; i++) {
		json_null(json, NULL);
	}
}

static void put_row(struct json *json, const struct report_table *of, const struct report_row *row)
{
	const struct table *table = of->table;

	if (row->instance) {
		put_instance(json, of, row);
		return;
	}
	if (table->scope != SCOPE_TRACE) {
		put_who(json, table, row);
	}
	for (unsigned int i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		const struct column *column = &table->columns[i];

		if (column->kind != COLUMN_PRIO && report_is_unknown(of, i)) {
			put_unknown(json, column);
		} else if (column->kind == COLUMN_HISTOGRAM) {
			put_histogram(json, column_histogram(row->values, i));
		} else if (column->kind != COLUMN_PRIO) {
			put_u64(json, class_of(column), row->values[i]);
		}
	}
}

static void put_table(struct json *json, const struct report *report,
		      const struct report_table *table, uint64_t top)
{
	size_t count = top > 0 && top < table->row_count ? top : table->row_count;
	char name[CELL_MAX], title[2 * CELL_MAX];

	class_name(name, table->analysis, table->table);
	json_open(json, NULL, '{');
	if (table->is_whole) { /* a class of this table's own, with another title */
		table_title(title, table->analysis, table->table);
		(void)snprintf(title + strlen(title), sizeof(title) - strlen(title), " (%s)",
			       FORMAT_WHOLE);
		json_open(json, "class", '{');
		json_text(json, "inherit", name);
		json_text(json, "title", title);
		json_close(json, '}');
	} else {
		json_text(json, "class", name);
	}
	put_range(json, "time-range", report->begin, report->end);
	json_open(json, "data", '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '[');
		put_row(json, table, &table->rows[i]);
		json_close(json, ']');
	}
	json_close(json, ']');
	json_close(json, '}');
}

/* All traces are in one object, so the writer's state lasts for the whole run. */
static void start(struct output *output)
{
	struct json *json = output->state;

	json_init(json, output->out);
	json_open(json, NULL, '{');
	json_open(json, "results", '[');
}

static void report_tables(struct output *output, const struct trace_identity *trace,
			  const struct report *report)
{
	for (size_t i = 0; report->kind == REPORT_TOTAL && i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (table->row_count > 0 && !missing_is_whole(table->table, table->unknown)) {
			put_table(output->state, report, table, output->top);
		}
	}
}

static void end(struct output *output, const struct run_summary *summary)
{
	json_close(output->state, ']');
	json_close(output->state, '}');
	json_end_line(output->state);
}

const struct sink sink_lami = {
	.name = "lami",
	.lacks_missing = true,
	.start = start,
	.report = report_tables,
	.end = end,
};
