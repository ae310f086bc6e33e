/*
 * schema: see schema.h.
 */
#include "store/rows/schema.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "engine/contract/row-key.h"
#include "engine/tables/columns.h"

/* ---- names ---- */

/* An analysis may have several tables of the trace's figures. */
void store_table_name(const struct analysis *analysis, size_t table, char ret[STORE_NAME_MAX])
{
	unsigned int totals = 0;

	assert(table < TABLES_MAX);
	if (analysis->tables[table].key) {
		(void)snprintf(ret, STORE_NAME_MAX, "%s_%s", analysis->name,
			       analysis->tables[table].key);
		return;
	}
	for (size_t t = 0; t < table; t++) {
		totals += analysis->tables[t].key == NULL;
	}
	(void)snprintf(ret, STORE_NAME_MAX, totals > 0 ? "%s_totals_%u" : "%s_totals",
		       analysis->name, totals + 1);
}

/* ---- columns ---- */

struct columns_of {
	struct store_column *at;
	size_t count;
};

static void add(struct columns_of *columns, const char *name, enum store_role role, uint8_t at,
		bool is_text)
{
	static const char *const of_all[] = { "level", "begin", "trace" };
	struct store_column *column = &columns->at[columns->count];

	assert(columns->count < STORE_COLUMNS_MAX);
	*column = (struct store_column){ .role = role, .at = at, .is_text = is_text };
	(void)snprintf(column->name, sizeof(column->name), "%s", name);
	for (size_t i = 0; i < 3 + columns->count; i++) {
		const char *taken = i < 3 ? of_all[i] : columns->at[i - 3].name;

		if (strcmp(taken, column->name) == 0) {
			(void)snprintf(column->name, sizeof(column->name), "%s_", name);
		}
	}
	columns->count++;
}

static void add_key(struct columns_of *columns, const char *name, enum store_role role,
		    bool is_text)
{
	assert(columns->count == 0 || columns->at[columns->count - 1].is_key);
	add(columns, name, role, 0, is_text);
	columns->at[columns->count - 1].is_key = true;
}

static void add_histogram(struct columns_of *columns, const char *key, uint8_t at)
{
	static const struct {
		const char *name;
		enum store_role role;
	} parts[] = {
		{ "count", STORE_COUNT },
		{ "sum", STORE_SUM },
		{ "min", STORE_MIN },
		{ "max", STORE_MAX },
		{ "squares_high", STORE_SQUARES_HIGH },
		{ "squares_low", STORE_SQUARES_LOW },
		{ "buckets", STORE_BUCKETS },
		{ "counts", STORE_COUNTS },
	};
	char name[STORE_NAME_MAX];

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		(void)snprintf(name, sizeof(name), "%s_%s", key, parts[i].name);
		add(columns, name, parts[i].role, at, parts[i].role >= STORE_BUCKETS);
	}
}

static void add_figures(struct columns_of *columns, const struct table *table)
{
	for (uint32_t i = 0; i < column_count(table); i++) {
		if (table->columns[i].kind == COLUMN_HISTOGRAM) {
			add_histogram(columns, table->columns[i].key, (uint8_t)i);
		} else if (table->columns[i].kind != COLUMN_PRIO) {
			add(columns, table->columns[i].key, STORE_VALUE, (uint8_t)i, false);
		}
	}
}

static void add_thread(struct columns_of *columns)
{
	add(columns, "pid", STORE_PID, 0, false);
	add(columns, "comm", STORE_COMM, 0, true);
	add(columns, "prio", STORE_PRIO, 0, false);
	add(columns, "container", STORE_CONTAINER, 0, false);
}

/* Names for ids, where the analysis knows some. */
static void add_label(struct columns_of *columns, const struct analysis *analysis)
{
	if (analysis_rare(analysis)->label_of) {
		add(columns, "label", STORE_LABEL, 0, true);
	}
}

static void add_instance(struct columns_of *columns, const struct analysis *analysis,
			 const struct table *table)
{
	assert(table->columns[0].key);
	add_key(columns, "rank", STORE_RANK, false);
	add(columns, "ended", STORE_ENDED, 0, false);
	add(columns, table->columns[0].key, STORE_NS, 0, false);
	for (uint8_t i = 0; i < INSTANCE_MORE && table->columns[i + 1].key; i++) {
		add(columns, table->columns[i + 1].key, STORE_MORE, i, false);
	}
	add(columns, "cpu", STORE_CPU, 0, false);
	add(columns, table->id_key ? table->id_key : "key_id", STORE_INSTANCE_ID, 0, false);
	add(columns, table->name_key ? table->name_key : "key_name", STORE_INSTANCE_NAME, 0, true);
	add_label(columns, analysis);
	if (table->by_key) {
		add(columns, table->by_key, STORE_BY, 0, true);
	}
	add(columns, "tid", STORE_TID, 0, false);
	add_thread(columns);
	add(columns, "thread", STORE_THREAD, 0, false);
	add(columns, "begun_by", STORE_BEGUN_BY, 0, false);
}

static void add_keyed(struct columns_of *columns, const struct table *table)
{
	if (table->owner_key) {
		add_key(columns, table->owner_key, STORE_OWNER, false);
	}
	add_key(columns, table->id_key ? table->id_key : "key_id", STORE_ID, false);
	add_key(columns, "key_name", STORE_KEYED, true);
	add(columns, table->name_key ? table->name_key : "shown_name", STORE_NAME, 0, true);
}

size_t store_columns(const struct analysis *analysis, const struct table *table,
		     struct store_column ret[STORE_COLUMNS_MAX])
{
	struct columns_of columns = { .at = ret };

	switch (table->scope) {
	case SCOPE_TRACE:
	case SCOPE_PAIR: /* pairs are not kept */
	case SCOPE_PROCESS_PAIR:
	case SCOPE_CONTAINER_PAIR:
		break;
	case SCOPE_CPU:
		add_key(&columns, "cpu", STORE_ID, false);
		break;
	case SCOPE_EVENT:
		add_key(&columns, "name", STORE_NAME, true);
		break;
	case SCOPE_THREAD:
		add_key(&columns, "tid", STORE_TID, false);
		add_key(&columns, "nth", STORE_NTH, false);
		add_thread(&columns);
		break;
	case SCOPE_PROCESS:
		add_key(&columns, "pid", STORE_PID, false);
		add(&columns, "comm", STORE_COMM, 0, true);
		add(&columns, "comm_of", STORE_COMM_OF, 0, false);
		break;
	case SCOPE_CONTAINER:
		add_key(&columns, "pid_ns", STORE_ID, false);
		add(&columns, "name", STORE_NAME, 0, true);
		break;
	case SCOPE_KEYED:
		add_keyed(&columns, table);
		add_label(&columns, analysis);
		break;
	case SCOPE_LONGEST:
		add_instance(&columns, analysis, table);
		return columns.count;
	}
	add_figures(&columns, table);
	return columns.count;
}

void store_describe(FILE *out, const struct analysis *const *list)
{
	for (; *list; list++) {
		for (size_t t = 0; t < TABLES_MAX && (*list)->tables[t].columns[0].key; t++) {
			struct store_column columns[STORE_COLUMNS_MAX];
			size_t count = store_columns(*list, &(*list)->tables[t], columns);
			char name[STORE_NAME_MAX];
			const char *space = "";

			if (scope_is_of_pairs((*list)->tables[t].scope)) {
				continue;
			}
			store_table_name(*list, t, name);
			(void)fprintf(out, "%s(", name);
			for (size_t i = 0; i < count; i++) {
				if (columns[i].role > STORE_COUNT) {
					continue; /* further parts of a histogram */
				}
				if (columns[i].role == STORE_COUNT) {
					int key = (int)(strlen(columns[i].name) - strlen("_count"));

					(void)fprintf(out, "%s%.*s...", space, key,
						      columns[i].name);
				} else {
					(void)fprintf(out, "%s%s", space, columns[i].name);
				}
				space = columns[i].is_key && i + 1 < count && !columns[i + 1].is_key
						? "; "
						: ", ";
			}
			(void)fputs(")\n", out);
		}
	}
}

/* ---- cells of a row ---- */

static void put_number(struct store_scratch *scratch, uint64_t number)
{
	char text[24];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	vec_append(&scratch->text, text + at, sizeof(text) - at);
}

/* "[1,5,9]": buckets by their largest value, or their counts. */
static struct store_cell array_cell(const struct histogram *histogram, bool counts,
				    struct store_scratch *scratch)
{
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS_MAX];
	uint32_t used = histogram_list(histogram, buckets);
	size_t begin = scratch->text.count;

	*vec_push(&scratch->text) = '[';
	for (uint32_t i = 0; i < used; i++) {
		if (i > 0) {
			*vec_push(&scratch->text) = ',';
		}
		put_number(scratch, counts ? buckets[i].count : histogram_end(buckets[i].index));
	}
	*vec_push(&scratch->text) = ']';
	return (struct store_cell){ .number = (int64_t)begin, .len = scratch->text.count - begin };
}

static struct store_cell number_cell(uint64_t number)
{
	return (struct store_cell){ .number = (int64_t)number };
}

static struct store_cell text_cell(const char *text)
{
	return (struct store_cell){ .text = text ? text : "", .len = text ? strlen(text) : 0 };
}

static const struct store_cell no_cell = { .is_null = true };

static struct store_cell histogram_cell(const struct store_column *column,
					const struct histogram *histogram,
					struct store_scratch *scratch)
{
	if (!histogram) {
		return column->role == STORE_COUNT ? number_cell(0) : no_cell;
	}
	switch (column->role) {
	case STORE_COUNT:
		return number_cell(histogram->count);
	case STORE_SUM:
		return number_cell(histogram->sum);
	case STORE_MIN:
		return number_cell(histogram->min);
	case STORE_MAX:
		return number_cell(histogram->max);
	case STORE_SQUARES_HIGH:
		return number_cell((uint64_t)(histogram->squares >> 64));
	case STORE_SQUARES_LOW:
		return number_cell((uint64_t)histogram->squares);
	default:
		return array_cell(histogram, column->role == STORE_COUNTS, scratch);
	}
}

static struct store_cell instance_cell(const struct store_column *column,
				       const struct report_row *row)
{
	const struct instance *instance = row->instance;

	assert_hot(instance);
	switch (column->role) {
	case STORE_ENDED:
		return number_cell(instance->end);
	case STORE_NS:
		return number_cell(instance->ns);
	case STORE_MORE:
		return number_cell((uint64_t)instance->more[column->at]);
	case STORE_CPU:
		return instance->cpu == UINT64_MAX ? no_cell : number_cell(instance->cpu);
	case STORE_INSTANCE_ID:
		return number_cell(instance->keyed.id);
	case STORE_INSTANCE_NAME:
		return text_cell(instance->keyed.name);
	case STORE_BY:
		return text_cell(instance->by);
	case STORE_THREAD:
		return number_cell(instance->thread_id);
	default:
		return instance->has_begun_by ? number_cell((uint64_t)instance->begun_by) : no_cell;
	}
}

static struct store_cell row_cell(const struct store_column *column, const struct report_row *row)
{
	const struct thread_view *view = row->thread;

	switch (column->role) {
	case STORE_ID:
	case STORE_RANK:
		return number_cell(row->id);
	case STORE_OWNER:
		return number_cell((uint64_t)row->owner);
	case STORE_KEYED:
		return text_cell(row->keyed);
	case STORE_NAME:
		return text_cell(row->name);
	case STORE_LABEL:
		return row->label ? text_cell(row->label) : no_cell;
	case STORE_TID:
		return view ? number_cell((uint64_t)(int64_t)view->tid) : no_cell;
	case STORE_NTH:
		return number_cell((uint32_t)row->id);
	case STORE_PID:
		return view ? number_cell((uint64_t)view->pid) : no_cell;
	case STORE_COMM:
		return view ? text_cell(view->comm) : no_cell;
	case STORE_COMM_OF:
		return number_cell((uint64_t)(int64_t)row->named_by);
	case STORE_PRIO:
		return view && view->has_prio ? number_cell((uint64_t)(int64_t)view->prio)
					      : no_cell;
	case STORE_CONTAINER:
		return view ? number_cell(store_container(view)) : no_cell;
	default:
		return instance_cell(column, row);
	}
}

static bool is_unknown(const struct report_table *table, const struct store_column *column)
{
	if (column->role == STORE_MORE) { /* its column is behind that of the length */
		return report_is_unknown(table, column->at + 1u);
	}
	return column->role >= STORE_VALUE && report_is_unknown(table, column->at);
}

void store_cells(const struct report_table *table, const struct report_row *row,
		 const struct store_column *columns, size_t count, struct store_cell *cells,
		 struct store_scratch *scratch)
{
	assert_hot(count <= STORE_COLUMNS_MAX);
	scratch->text.count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct store_column *column = &columns[i];

		if (is_unknown(table, column)) {
			cells[i] = no_cell;
		} else if (column->role < STORE_VALUE) {
			cells[i] = row_cell(column, row);
		} else if (column->role == STORE_VALUE) {
			cells[i] = number_cell(row->values[column->at]);
		} else {
			cells[i] = histogram_cell(column, column_histogram(row->values, column->at),
						  scratch);
		}
	}
	for (size_t i = 0; i < count; i++) { /* the text does not grow any more */
		if (columns[i].role >= STORE_BUCKETS && !cells[i].is_null) {
			cells[i].text = scratch->text.at + cells[i].number;
		}
	}
}

/* ---- a row of cells ---- */

static void take_text(char *to, size_t size, const struct store_cell *cell)
{
	size_t len = cell->len < size - 1 ? cell->len : size - 1;

	if (cell->text) {
		memcpy(to, cell->text, strnlen(cell->text, len));
	}
}

/* The next number of "[1,5,9]"; false: there is none. */
static bool next_number(const char **from, const char *end, uint64_t *ret)
{
	const char *at = *from, *first;
	uint64_t number = 0;

	while (at < end && (*at == '[' || *at == ',')) {
		at++;
	}
	for (first = at; at < end && (unsigned char)(*at - '0') <= 9; at++) {
		number = number * 10 + (uint64_t)(*at - '0');
	}
	*from = at;
	*ret = number;
	return at > first;
}

/* @cells: the eight of one histogram. */
static int take_histogram(const struct store_cell *cells, uint64_t *value)
{
	const char *bucket = cells[6].text, *bucket_end;
	const char *counted = cells[7].text, *counted_end;
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS_MAX];
	struct histogram *histogram;
	uint64_t largest;
	uint32_t count = 0;

	if (cells[0].is_null || cells[0].number == 0) {
		return 0;
	}
	if (!bucket || !counted) {
		return -EINVAL;
	}
	bucket_end = bucket + cells[6].len;
	counted_end = counted + cells[7].len;
	while (count < HISTOGRAM_BUCKETS_MAX && next_number(&bucket, bucket_end, &largest) &&
	       next_number(&counted, counted_end, &buckets[count].count)) {
		buckets[count++].index = histogram_index(largest);
	}
	histogram = histogram_of_buckets(buckets, count);
	if (histogram) {
		uint64_t values = histogram->count;

		histogram->count = (uint64_t)cells[0].number;
		histogram->sum = (uint64_t)cells[1].number;
		histogram->min = (uint64_t)cells[2].number;
		histogram->max = (uint64_t)cells[3].number;
		histogram->squares = (unsigned __int128)(uint64_t)cells[4].number << 64 |
				     (uint64_t)cells[5].number;
		*value = (uint64_t)(uintptr_t)histogram;
		if (values == histogram->count && histogram->min <= histogram->max) {
			return 0;
		}
	}
	return -EINVAL;
}

static void take_instance(const struct store_column *column, const struct store_cell *cell,
			  struct instance *instance)
{
	switch (column->role) {
	case STORE_ENDED:
		instance->end = (uint64_t)cell->number;
		break;
	case STORE_NS:
		instance->ns = (uint64_t)cell->number;
		break;
	case STORE_MORE:
		instance->more[column->at] = cell->number;
		break;
	case STORE_CPU:
		instance->cpu = cell->is_null ? UINT64_MAX : (uint64_t)cell->number;
		break;
	case STORE_INSTANCE_ID:
		instance->keyed.id = (uint64_t)cell->number;
		break;
	case STORE_INSTANCE_NAME:
		take_text(instance->keyed.name, sizeof(instance->keyed.name), cell);
		break;
	case STORE_BY:
		take_text(instance->by, sizeof(instance->by), cell);
		break;
	case STORE_THREAD:
		instance->thread_id = (uint64_t)cell->number;
		break;
	default:
		instance->has_begun_by = !cell->is_null;
		instance->begun_by = (int32_t)cell->number;
		break;
	}
}

static void take_cell(const struct store_column *column, const struct store_cell *cell,
		      struct arena *names, struct store_row *ret)
{
	switch (column->role) {
	case STORE_ID:
	case STORE_RANK:
		ret->row.id = (uint64_t)cell->number;
		break;
	case STORE_OWNER:
		ret->row.owner = cell->number;
		break;
	case STORE_KEYED:
		take_text(ret->keyed, sizeof(ret->keyed), cell);
		break;
	case STORE_LABEL:
		ret->label = cell->text ? arena_strndup(names, cell->text, cell->len) : NULL;
		break;
	case STORE_NAME:
		ret->name = arena_strndup(names, cell->text ? cell->text : "", cell->len);
		break;
	case STORE_TID:
		ret->view.tid = (int32_t)cell->number;
		ret->row.thread = cell->is_null ? NULL : &ret->view;
		break;
	case STORE_NTH:
		ret->row.id = (uint64_t)(uint32_t)ret->view.tid << 32 | (uint32_t)cell->number;
		break;
	case STORE_PID:
		ret->view.pid = (int32_t)cell->number;
		break;
	case STORE_COMM:
		take_text(ret->view.comm, sizeof(ret->view.comm), cell);
		break;
	case STORE_COMM_OF:
		ret->row.named_by = cell->is_null ? -1 : (int32_t)cell->number;
		break;
	case STORE_PRIO:
		ret->view.has_prio = !cell->is_null;
		ret->view.prio = (int32_t)cell->number;
		break;
	case STORE_CONTAINER:
		report_set_container(&ret->view, (uint64_t)cell->number);
		break;
	default:
		take_instance(column, cell, &ret->instance);
		break;
	}
}

/* What the row's writer did not know: it is not 0.  Sums of other columns are made of those. */
static void take_unwritten(const struct table *table, const struct store_column *columns,
			   size_t count, const struct store_cell *cells, struct store_row *ret)
{
	for (size_t i = 0; i < count; i++) {
		const struct column *of = &table->columns[columns[i].at];
		bool is_figure = columns[i].role == STORE_VALUE || columns[i].role == STORE_COUNT;

		if (columns[i].role == STORE_VALUE && of->sum_of) {
			ret->values[columns[i].at] = report_sort_value(
				table, (struct report_order){ .mask = of->sum_of }, &ret->row);
		} else if (is_figure && cells[i].is_null) {
			ret->unwritten |= (uint16_t)(1u << columns[i].at);
		}
	}
}

static bool is_other_kind(uint64_t id, bool by_service)
{
	return id != ROW_KEY_NO_ID && id != 0 && !(id & REPORT_PLACE_ID) == by_service;
}

void store_show_kind_of(struct thread_view *view, bool by_service)
{
	if (is_other_kind(report_container_id(view), by_service)) {
		report_set_container(view, ROW_KEY_NO_ID);
	}
}

void store_show_kind(const struct table *table, struct store_row *row, bool by_service)
{
	if (table->scope == SCOPE_CONTAINER && is_other_kind(row->row.id, by_service)) {
		row->row.id = ROW_KEY_NO_ID;
		row->row.name = "";
	}
	store_show_kind_of(&row->view, by_service);
}

int store_take_row(const struct table *table, const struct store_column *columns, size_t count,
		   const struct store_cell *cells, struct arena *names, struct store_row *ret)
{
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < count; i++) {
		if (columns[i].role < STORE_VALUE) {
			take_cell(&columns[i], &cells[i], names, ret);
		} else if (columns[i].role == STORE_VALUE) {
			ret->values[columns[i].at] = (uint64_t)cells[i].number;
		} else if (columns[i].role == STORE_COUNT && r == 0) {
			r = take_histogram(&cells[i], &ret->values[columns[i].at]);
		}
	}
	ret->row.values = ret->values;
	take_unwritten(table, columns, count, cells, ret);
	ret->row.label = ret->label;
	if (table->scope == SCOPE_LONGEST) {
		ret->row.instance = &ret->instance;
		ret->row.sort = ret->instance.ns;
		ret->row.name = ret->instance.keyed.name;
	} else if (table->scope == SCOPE_KEYED || table->scope == SCOPE_CONTAINER) {
		ret->row.name = ret->name;
		ret->row.keyed = ret->keyed;
	} else if (table->scope == SCOPE_EVENT) {
		ret->row.name = ret->name;
	} else if (table->scope == SCOPE_PROCESS) {
		ret->view.tid = -1;
		ret->row.id = (uint64_t)ret->view.pid;
		ret->row.thread = &ret->view;
	}
	return r;
}
