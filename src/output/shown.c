/*
 * shown: see shown.h.
 */
#include "output/shown.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/contract/missing.h"
#include "engine/contract/row-key.h"
#include "engine/tables/columns.h"
#include "engine/tables/longest.h"

/* ---- by name ---- */

/* What rows of one name are added up to. */
struct sum {
	struct report_row row;
	struct thread_view view;
	uint64_t values[COLUMNS_MAX];
};

static void sum_init(struct sum *sum, const struct report_row *from, bool is_pair)
{
	assert(from->thread);
	sum->view = (struct thread_view){ .tid = -1, .pid = -1 };
	memcpy(sum->view.comm, from->thread->comm, sizeof(sum->view.comm));
	sum->row = (struct report_row){ .thread = &sum->view, .values = sum->values };
	if (is_pair) {
		sum->row.id = ROW_KEY_NO_ID;
		sum->row.owner =
			from->owner == 0 ? 0 : REPORT_NO_NUMBER; /* only "(idle)" has one */
		sum->row.by = from->by;
	} else {
		sum->row.id = (uint64_t)-1;
		sum->row.name = sum->view.comm;
	}
}

/* What tells the sums apart.  The caller frees it. */
static char *sum_key(const struct report_row *from, bool is_pair)
{
	return is_pair ? mem_printf("%d%s\t%s", from->owner == 0, from->thread->comm, from->by)
		       : mem_strdup(from->thread->comm);
}

static bool has_value(const uint64_t *values, uint32_t count)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < count; i++) {
		any |= values[i];
	}
	return any != 0;
}

/* The table of threads, or of their pairs, that the rows of @of are made of. */
static const struct report_table *source_of(const struct report *report,
					    const struct report_table *of)
{
	enum scope scope = of->table->scope == SCOPE_PROCESS ? SCOPE_THREAD : SCOPE_PAIR;

	for (size_t i = 0; i < report->table_count; i++) {
		if (report->tables[i].analysis == of->analysis &&
		    report->tables[i].table->scope == scope) {
			return &report->tables[i];
		}
	}
	return NULL;
}

/* Processes, or pairs of them, are put together by their threads' names. */
static void sum_by_name(struct shown *shown, const struct report *report, struct report_table *to)
{
	const struct report_table *from = source_of(report, to);
	bool is_pair = to->table->scope == SCOPE_PROCESS_PAIR;
	uint32_t count = column_count(to->table);
	struct columns columns = { 0 };
	struct shown_sums *sums = vec_push(&shown->sums);
	struct report_row *rows =
		arena_alloc(&shown->arena, (from ? from->row_count + 1 : 1) * sizeof(*rows));

	assert(to->table->scope == SCOPE_PROCESS || to->table->scope == SCOPE_PROCESS_PAIR);
	*sums = (struct shown_sums){ .table = to->table };
	columns_append(&columns, to->table);
	to->rows = rows;
	to->row_count = 0;
	to->is_by_name = true;
	for (size_t i = 0; from && i < from->row_count; i++) {
		const struct report_row *row = &from->rows[i];
		struct sum *sum;
		char *key;

		if (!has_value(row->values, count)) {
			continue;
		}
		key = sum_key(row, is_pair);
		sum = by_name_add(&sums->rows, key, sizeof(*sum));
		free(key);
		if (!sum->row.values) {
			sum_init(sum, row, is_pair);
			rows[to->row_count++] = sum->row;
		}
		columns_add(&columns, sum->values, row->values);
	}
	columns_fini(&columns);
}

/* ---- tables ---- */

static void sort(struct shown *shown, const struct output *output, struct report_table *table)
{
	struct report_row *rows =
		arena_copy(&shown->arena, table->rows, table->row_count * sizeof(*rows));

	assert(table->table->scope != SCOPE_LONGEST);
	report_sort(table->table, output->display, rows, table->row_count, output->top);
	table->rows = rows;
}

/* A list that is not shown stays, without rows: the forms of output have the same lists always. */
static void add_table(struct shown *shown, const struct output *output, const struct report *report,
		      const struct report_table *from)
{
	const struct display *display = output->display;
	struct report_table *table = vec_push(&shown->tables);
	enum scope scope = from->table->scope;
	bool is_by_name = display && display->per == PER_COMM &&
			  (scope == SCOPE_PROCESS || scope == SCOPE_PROCESS_PAIR);

	*table = *from;
	if (scope == SCOPE_TRACE || !display) {
		return;
	}
	if (missing_is_whole(table->table, table->unknown) ||
	    (!scope_is_of_containers(scope) && !selection_shows(display->per, table->table))) {
		table->row_count = 0;
		return;
	}
	if (is_by_name) {
		sum_by_name(shown, report, table);
	}
	if (scope != SCOPE_LONGEST &&
	    (is_by_name || display->sort || display->sort_part != HISTOGRAM_NO_PART)) {
		sort(shown, output, table);
	}
}

void shown_init(struct shown *shown, const struct output *output, const struct report *report)
{
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];
		bool is_hidden =
			output->hides_containers && scope_is_of_containers(table->table->scope);

		if (!is_hidden && output_wants(output, table->analysis)) {
			add_table(shown, output, report, table);
		}
	}
	for (size_t i = 0; i < report->missing_count; i++) {
		if (output_wants(output, report->missing[i].analysis)) {
			*vec_push(&shown->missing) = report->missing[i];
		}
	}
	assert(shown->tables.count <= report->table_count);
	shown->report = *report;
	shown->report.tables = shown->tables.at;
	shown->report.table_count = shown->tables.count;
	shown->report.missing = shown->missing.at;
	shown->report.missing_count = shown->missing.count;
}

static void sums_fini(struct shown_sums *sums)
{
	struct columns columns = { 0 };

	columns_append(&columns, sums->table);
	for (size_t i = 0; i < sums->rows.all.count; i++) {
		struct sum *sum = sums->rows.all.at[i].row;

		columns_empty(&columns, sum->values);
	}
	columns_fini(&columns);
	by_name_fini(&sums->rows);
}

void shown_fini(struct shown *shown)
{
	vec_fini_each(&shown->sums, sums_fini);
	vec_fini(&shown->tables);
	vec_fini(&shown->missing);
	arena_fini(&shown->arena);
}

/* ---- in text, unless somebody asked for more ---- */

#define WINDOW_ROWS 5 /* of a list: the next window is there soon */

/* The sum of figures of the trace; UINT64_MAX: one is not known, as of an older store. */
static uint64_t counted(const struct report *report, const struct report_table *table,
			uint16_t columns)
{
	const struct report_table *of = table;
	uint64_t sum = 0;

	while (columns != 0 && of > report->tables && of[-1].analysis == table->analysis) {
		of--;
	}
	assert(columns == 0 || of->table->scope == SCOPE_TRACE);
	for (unsigned int i = 0; columns >> i != 0; i++) {
		if (!(columns >> i & 1)) {
			continue;
		}
		if (of->row_count == 0 || report_is_unknown(of, i)) {
			return UINT64_MAX;
		}
		sum += of->rows[0].values[i];
	}
	return sum;
}

size_t shown_rows(const struct output *output, const struct report *report,
		  const struct report_table *table)
{
	bool is_brief = !output->has_top && report->kind == REPORT_WINDOW;
	uint64_t unnamed = counted(report, table, table->table->unnamed_by);
	uint64_t top = is_brief ? WINDOW_ROWS : output->top;
	size_t count = top > 0 && top < table->row_count ? top : table->row_count;

	/* Those that have a name come first; the others are only counted. */
	while (unnamed > 0 && unnamed < UINT64_MAX && count > 0 &&
	       !longest_is_named(table->rows[count - 1].instance)) {
		count--;
	}
	return count;
}

size_t shown_all(const struct report *report, const struct report_table *table, size_t shown,
		 uint64_t *ret_unnamed)
{
	uint64_t all = counted(report, table, table->table->counted_by);
	uint64_t unnamed = counted(report, table, table->table->unnamed_by);
	bool is_known = table->table->counted_by && all < UINT64_MAX && unnamed < UINT64_MAX;

	*ret_unnamed = is_known ? unnamed : 0;
	if (!is_known) {
		return table->row_count;
	}
	return all > unnamed && all - unnamed > shown ? all - unnamed : shown;
}

/* Whether the analysis lists the same by thread. */
static bool repeats_threads(const struct report *report, const struct report_table *table)
{
	enum scope scope = table->table->scope;

	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *other = &report->tables[i];

		if (other->analysis == table->analysis &&
		    ((scope == SCOPE_PROCESS && other->table->scope == SCOPE_THREAD) ||
		     (scope == SCOPE_PROCESS_PAIR && other->table->scope == SCOPE_PAIR))) {
			return true;
		}
	}
	return false;
}

/* Whether something is known of another analysis. */
static bool has_others(const struct report *report, const struct report_table *table)
{
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *other = &report->tables[i];

		if (other->analysis != table->analysis &&
		    !missing_is_whole(other->table, other->unknown)) {
			return true;
		}
	}
	return false;
}

bool shown_leaves_out(const struct output *output, const struct report *report,
		      const struct report_table *table)
{
	bool is_sorted = output->display && output->display->sort_of == table->table;

	return (!output->has_per && !is_sorted && repeats_threads(report, table)) ||
	       (!output->has_analyses && table->table->scope == SCOPE_EVENT &&
		has_others(report, table));
}
