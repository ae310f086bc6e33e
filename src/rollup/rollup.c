/*
 * rollup: see rollup.h.
 */
#include "rollup/rollup.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tables/keyed.h"
#include "engine/tables/longest.h"
#include "rollup/rollup-state.h"

struct rollup *rollup_new(uint64_t interval_ns, size_t top, const struct selection *selection,
			  bool places)
{
	struct rollup *rollup = mem_alloc(sizeof(*rollup));

	assert(interval_ns > 0);
	rollup->interval_ns = interval_ns;
	rollup->top = top;
	rollup->selection = selection;
	rollup->places = places;
	return rollup;
}

void rollup_row_free(struct rollup *rollup, struct rollup_table *table, struct rollup_row *row)
{
	columns_empty(&table->columns, row->values);
	account_give(rollup->account, ACCOUNT_ROWS, row->bytes);
	free(row->name);
	free(row->label);
	free(row->keyed);
	free(row->by);
	free(row);
}

static void empty(struct rollup *rollup, struct rollup_table *table)
{
	for (size_t i = 0; i < table->all.count; i++) {
		rollup_row_free(rollup, table, table->all.at[i]);
	}
	table->all.count = table->ended = 0;
	table->rows.count = 0;
	rollup_rows_clear(&table->by_key);
}

void rollup_free(struct rollup *rollup)
{
	if (!rollup) {
		return;
	}
	VEC_EACH_OF(&rollup->tables, table) {
		empty(rollup, table);
		rollup_rows_fini(&table->by_key);
		columns_fini(&table->columns);
		vec_fini(&table->all);
		vec_fini(&table->rows);
		free(table);
	}
	vec_fini(&rollup->tables);
	vec_fini(&rollup->shown);
	vec_fini(&rollup->missing);
	vec_fini(&rollup->views);
	vec_fini(&rollup->names);
	rollup_leaders_fini(&rollup->leaders);
	vec_fini(&rollup->parts);
	vec_fini(&rollup->spans);
	vec_free_each(&rollup->groups, rollup_free);
	rollup_views_fini(&rollup->view_at);
	free(rollup);
}

/* ---- rows ---- */

static size_t index_of(const struct analysis *analysis)
{
	size_t i = 0;

	while (analyses[i] && analyses[i] != analysis) {
		i++;
	}
	return i;
}

/* Whether reports have @a before @b: by analysis, then as that has them. */
static bool is_before(const struct rollup_table *a, const struct report_table *b)
{
	size_t i = index_of(a->analysis), k = index_of(b->analysis);

	return i != k ? i < k : a->table < b->table;
}

static struct rollup_table *table_of(struct rollup *rollup, const struct report_table *from)
{
	struct rollup_table *table;
	size_t at = 0;

	for (size_t i = 0; i < rollup->tables.count; i++) {
		if (rollup->tables.at[i]->table == from->table) {
			return rollup->tables.at[i];
		}
	}
	table = mem_alloc(sizeof(*table));
	table->analysis = from->analysis;
	table->table = from->table;
	table->unknown = UINT16_MAX; /* as in begin(): until a window has it */
	columns_append(&table->columns, from->table);
	while (at < rollup->tables.count && is_before(rollup->tables.at[at], from)) {
		at++;
	}
	(void)vec_push(&rollup->tables);
	memmove(rollup->tables.at + at + 1, rollup->tables.at + at,
		(rollup->tables.count - at - 1) * sizeof(rollup->tables.at[0]));
	assert(at == 0 || is_before(rollup->tables.at[at - 1], from));
	rollup->tables.at[at] = table;
	return table;
}

static void show_name(struct rollup_row *to, const struct report_row *from)
{
	if (from->name && (!to->name || strcmp(to->name, from->name) != 0)) {
		free(to->name);
		to->name = mem_strdup(from->name);
	}
	to->row.name = to->name;
	if (from->label && (!to->label || strcmp(to->label, from->label) != 0)) {
		free(to->label);
		to->label = mem_strdup(from->label);
	}
	to->row.label = to->label;
	if (from->by && (!to->by || strcmp(to->by, from->by) != 0)) {
		free(to->by);
		to->by = mem_strdup(from->by);
	}
	to->row.by = to->by;
}

static void show_thread(struct rollup_row *to, const struct report_row *from)
{
	if (from->thread) {
		to->view = *from->thread;
		to->row.thread = &to->view;
	}
}

static struct rollup_row *new_row(struct rollup_table *table, const struct report_row *from,
				  uint32_t source)
{
	struct rollup_row *row = mem_alloc(sizeof(*row));

	row->row = *from;
	row->source = source;
	row->named.rank = PROCESS_UNNAMED;
	show_name(row, from);
	row->keyed = mem_strdup_if(from->keyed);
	row->row.keyed = row->keyed;
	row->row.values = row->values;
	*vec_push(&table->all) = row;
	return row;
}

struct rollup_row *rollup_row_known(struct rollup_table *table, uint64_t id)
{
	struct rollup_row like = { .row = { .id = id } };
	struct rollup_row **at = rollup_rows_seek(&table->by_key, NULL, &like);

	return at ? *at : NULL;
}

struct rollup_row *rollup_row_of(struct rollup_table *table, const struct report_row *from,
				 uint32_t source)
{
	struct rollup_row like, *row; /* of it, what the key is made of */
	struct rollup_row **at;

	if (table->table->scope == SCOPE_TRACE && table->all.count > 0) {
		assert(table->all.count == 1);
		at = &table->all.at[0]; /* a trace has one */
	} else {
		like.row = *from;
		like.source = source;
		at = rollup_rows_seek(&table->by_key, NULL, &like);
	}
	if (at) {
		show_name(*at, from);
		return *at;
	}
	row = new_row(table, from, source);
	*rollup_rows_add(&table->by_key, NULL, row) = row;
	return row;
}

/* Figures at the end of a window are those of the last short window. */
static void forget_last(struct rollup *rollup, struct rollup_table *table)
{
	if (table->table->is_level) {
		VEC_EACH_OF(&table->all, row) {
			rollup_row_free(rollup, table, row);
		}
		table->all.count = 0;
	}
	for (uint32_t c = 0; table->columns.special_count > 0 && c < table->columns.count; c++) {
		bool is_last = table->columns.kinds[c] == COLUMN_LAST ||
			       table->columns.kinds[c] == COLUMN_LAST_MAX;

		for (size_t i = 0; is_last && i < table->all.count; i++) {
			table->all.at[i]->values[c] = 0;
		}
	}
}

static void add_instance(struct rollup_table *table, const struct report_row *from, uint32_t source)
{
	struct rollup_row *row = new_row(table, from, source);

	assert(table->table->scope == SCOPE_LONGEST);
	row->instance = *from->instance;
	row->row.instance = &row->instance;
	row->row.name = row->instance.keyed.name;
	show_thread(row, from);
}

/* Names and numbers mean the same in all traces, unless they are of a trace's threads or CPUs. */
static uint32_t source_in(const struct table *table, const struct report_row *row, uint32_t source)
{
	bool is_of_cpu = table->id_key && strcmp(table->id_key, "cpu") == 0;
	bool is_common = table->scope == SCOPE_TRACE || table->scope == SCOPE_EVENT ||
			 (table->scope == SCOPE_PROCESS && row->name) ||
			 (table->scope == SCOPE_KEYED && !table->owner_key && !is_of_cpu);

	return is_common ? 0 : source;
}

static void add_rows(struct rollup *rollup, struct rollup_table *table,
		     const struct report_table *from, uint32_t source)
{
	table->is_whole |= from->is_whole;
	table->unknown = from->unknown & (rollup->joins ? table->unknown : UINT16_MAX);
	if (!rollup->joins) {
		forget_last(rollup, table);
	}
	if (!rollup->joins && from->table->scope == SCOPE_CONTAINER) {
		rollup_note_names(rollup, from);
	}
	if (!rollup->joins && from->table->scope == SCOPE_PROCESS) {
		rollup_note_leaders(rollup, from);
	}
	if (rollup_threads_of(rollup, table)) {
		return; /* rollup_group() adds them up */
	}
	for (size_t i = 0; i < from->row_count; i++) {
		struct rollup_row *row;

		if (from->rows[i].instance) {
			add_instance(table, &from->rows[i], source);
			continue;
		}
		row = rollup_row_of(table, &from->rows[i],
				    source_in(from->table, &from->rows[i], source));
		show_thread(row, &from->rows[i]);
		columns_add(&table->columns, row->values, from->rows[i].values);
		rollup_charge(rollup, table, row);
	}
}

/* ---- order ---- */

static int by_instance(const void *left, const void *right)
{
	const struct report_row *a = left, *b = right;

	return longest_compare(a->instance, a->thread, b->instance, b->thread);
}

bool rollup_row_is_shown(const struct rollup_table *table, const struct rollup_row *row)
{
	bool always = table->table->scope == SCOPE_TRACE || table->table->scope == SCOPE_CPU ||
		      table->table->scope == SCOPE_LONGEST;
	uint64_t any = always;

	for (uint32_t i = 0; any == 0 && i < table->columns.count; i++) {
		any |= row->values[i];
	}
	return any != 0;
}

static void sort(struct rollup *rollup, struct rollup_table *table)
{
	size_t most = longest_shown(rollup->top);

	table->rows.count = 0;
	for (size_t i = 0; i < table->all.count; i++) {
		if (rollup_row_is_shown(table, table->all.at[i])) {
			*vec_push(&table->rows) = table->all.at[i]->row;
		}
	}
	if (table->table->scope != SCOPE_LONGEST) {
		report_sort(table->table, NULL, table->rows.at, table->rows.count, rollup->top);
	} else if (table->rows.count > 1) {
		vec_sort(&table->rows, by_instance);
		table->rows.count = table->rows.count < most ? table->rows.count : most;
	}
	for (size_t i = 0; table->table->scope == SCOPE_LONGEST && i < table->rows.count; i++) {
		table->rows.at[i].id = i;
	}
}

/* Those that are too short for the long window need not be kept up to its end. */
static void drop_short(struct rollup *rollup, struct rollup_table *table)
{
	size_t kept = 0;

	if (table->table->scope != SCOPE_LONGEST ||
	    table->all.count < 8 * longest_shown(rollup->top)) {
		return;
	}
	sort(rollup, table);
	for (size_t i = 0; i < table->all.count; i++) {
		bool is_kept = false;

		for (size_t k = 0; k < table->rows.count && !is_kept; k++) {
			is_kept = table->rows.at[k].instance == &table->all.at[i]->instance;
		}
		if (is_kept) {
			table->all.at[kept++] = table->all.at[i];
		} else {
			rollup_row_free(rollup, table, table->all.at[i]);
		}
	}
	assert(kept <= table->all.count);
	table->all.count = kept;
}

/* ---- windows ---- */

static void begin(struct rollup *rollup, const struct report *window)
{
	assert(!rollup->is_open);
	for (size_t t = 0; t < rollup->tables.count; t++) {
		empty(rollup, rollup->tables.at[t]);
		rollup->tables.at[t]->unknown = UINT16_MAX;
		rollup->tables.at[t]->is_whole = false;
	}
	rollup->views.count = 0;
	rollup->names.count = 0;
	rollup_leaders_clear(&rollup->leaders);
	rollup->parts.count = 0;
	rollup->spans.count = 0;
	rollup_views_clear(&rollup->view_at);
	rollup->is_open = true;
	rollup->report = (struct report){ .kind = REPORT_WINDOW,
					  .seq = rollup->seq++,
					  .begin = window->begin,
					  .complete = true };
}

/* Most windows continue the last span. */
static void add_span(struct rollup *rollup, uint64_t begin, uint64_t end)
{
	size_t first = rollup->spans.count, past;

	while (first > 0 && rollup->spans.at[first - 1].end >= begin) {
		first--;
	}
	for (past = first; past < rollup->spans.count && rollup->spans.at[past].begin <= end;
	     past++) {
		const struct report_span *span = &rollup->spans.at[past];

		begin = span->begin < begin ? span->begin : begin;
		end = span->end > end ? span->end : end;
	}
	if (past == first) {
		(void)vec_push(&rollup->spans);
		memmove(rollup->spans.at + first + 1, rollup->spans.at + first,
			(rollup->spans.count - 1 - first) * sizeof(rollup->spans.at[0]));
	} else {
		memmove(rollup->spans.at + first + 1, rollup->spans.at + past,
			(rollup->spans.count - past) * sizeof(rollup->spans.at[0]));
		rollup->spans.count -= past - first - 1;
	}
	rollup->spans.at[first] = (struct report_span){ begin, end };
}

static void add_spans(struct rollup *rollup, const struct report *from)
{
	if (from->span_count == 0) {
		add_span(rollup, from->begin, from->end);
	}
	for (size_t i = 0; i < from->span_count; i++) {
		add_span(rollup, from->spans[i].begin, from->spans[i].end);
	}
}

static void add_figures(struct report *to, const struct report *from)
{
	to->begin = from->begin < to->begin ? from->begin : to->begin;
	to->end = from->end > to->end ? from->end : to->end;
	to->complete &= from->complete;
	if (from->group == 0) {
		to->has_lag = from->has_lag;
		to->lag_ns = from->lag_ns;
	}
	to->events += from->events;
	report_lost_add(&to->lost, &from->lost);
}

/* ---- groups ---- */

static void add_part(struct rollup *rollup, const struct report_part *from)
{
	for (size_t i = 0; i < rollup->parts.count; i++) {
		if (rollup->parts.at[i].analysis == from->analysis) {
			rollup->parts.at[i].known_ns += from->known_ns;
			rollup->parts.at[i].of_ns += from->of_ns;
			return;
		}
	}
	*vec_push(&rollup->parts) = *from;
}

static struct rollup *group_of(struct rollup *rollup, uint32_t group)
{
	assert(group > 0);
	while (rollup->groups.count < group) {
		*vec_push(&rollup->groups) = rollup_new(rollup->interval_ns, rollup->top,
							rollup->selection, rollup->places);
		rollup->groups.at[rollup->groups.count - 1]->account = rollup->account;
	}
	return rollup->groups.at[group - 1];
}

static bool knows_view(const struct rollup *rollup, uint64_t id)
{
	for (size_t i = 0; i < rollup->views.count; i++) {
		if (rollup->views.at[i].id == id) {
			return true;
		}
	}
	return false;
}

static int by_analysis(const void *left, const void *right)
{
	const struct report_table *a = left, *b = right;
	size_t i = index_of(a->analysis), k = index_of(b->analysis);

	return i != k ? (i < k ? -1 : 1) : a->table < b->table ? -1 : a->table > b->table;
}

static int by_missing(const void *left, const void *right)
{
	const struct missing_event *a = left, *b = right;
	size_t i = index_of(a->analysis), k = index_of(b->analysis);

	return i < k ? -1 : i > k;
}

/* Puts the tables of the other groups, each made on its own, beside those of the first. */
static void take_groups(struct rollup *rollup)
{
	bool is_any = false;

	for (size_t g = 0; g < rollup->groups.count; g++) {
		const struct report *other = rollup_take(rollup->groups.at[g]);

		if (!other) {
			continue;
		}
		is_any = true;
		vec_append(&rollup->shown, other->tables, other->table_count);
		vec_append(&rollup->missing, other->missing, other->missing_count);
		for (size_t i = 0; i < other->view_count; i++) {
			if (!knows_view(rollup, other->views[i].id)) {
				*vec_push(&rollup->views) = other->views[i];
			}
		}
	}
	if (!is_any) {
		return;
	}
	vec_sort(&rollup->shown, by_analysis);
	vec_sort(&rollup->missing, by_missing);
}

/* A row of empty windows that is alone is one of long windows. */
static void count_empty(struct rollup *rollup)
{
	struct report *report = &rollup->report;

	if (report->empty > 0) {
		report->empty = (report->end - 1) / rollup->interval_ns -
				report->begin / rollup->interval_ns + 1;
		rollup->seq += report->empty - 1;
		report->empty = report->empty > 1 ? report->empty : 0;
	}
}

const struct report *rollup_take(struct rollup *rollup)
{
	if (!rollup->is_open) {
		return NULL;
	}
	rollup->shown.count = 0;
	VEC_EACH_OF(&rollup->tables, table) {
		rollup_group(rollup, table);
		sort(rollup, table);
		*vec_push(&rollup->shown) =
			(struct report_table){ .analysis = table->analysis,
					       .table = table->table,
					       .rows = table->rows.at,
					       .row_count = table->rows.count,
					       .unknown = table->unknown,
					       .is_of_services =
						       selection_by_service(rollup->selection),
					       .is_whole = table->is_whole };
	}
	take_groups(rollup);
	count_empty(rollup);
	rollup->report.tables = rollup->shown.at;
	rollup->report.table_count = rollup->shown.count;
	rollup->report.missing = rollup->missing.at;
	rollup->report.missing_count = rollup->missing.count;
	rollup->report.parts = rollup->parts.at;
	rollup->report.part_count = rollup->parts.count;
	if (rollup->spans.count > 1) {
		rollup->report.spans = rollup->spans.at;
		rollup->report.span_count = rollup->spans.count;
		rollup->report.complete = false;
	}
	rollup->report.views = rollup->views.at;
	rollup->report.view_count = rollup->views.count;
	rollup->is_open = false;
	return &rollup->report;
}

/* Events that come during the long window are recorded from there on.  Joining: what any trace
 * lacks. */
static void add_missing(struct rollup *rollup, const struct report *window)
{
	rollup->missing.count = rollup->joins ? rollup->missing.count : 0;
	rollup->report.tracer = window->tracer;
	for (size_t i = 0; i < window->missing_count; i++) {
		bool is_known = false;

		for (size_t k = 0; k < rollup->missing.count; k++) {
			is_known |=
				rollup->missing.at[k].analysis == window->missing[i].analysis &&
				strcmp(rollup->missing.at[k].event, window->missing[i].event) == 0;
		}
		if (!is_known) {
			*vec_push(&rollup->missing) = window->missing[i];
		}
	}
}

void rollup_join(struct rollup *rollup)
{
	rollup->joins = true;
}

void rollup_add(struct rollup *rollup, const struct report *window, uint32_t source)
{
	assert(source == 0 || rollup->joins);
	if (!rollup->is_open) {
		begin(rollup, window);
		rollup->missing.count = 0;
		rollup->report.empty = window->empty;
	} else {
		rollup->report.empty = 0;
	}
	rollup->windows++;
	add_figures(&rollup->report, window);
	add_spans(rollup, window);
	for (size_t i = 0; i < window->part_count; i++) {
		add_part(rollup, &window->parts[i]);
	}
	if (window->group > 0) {
		struct report own = *window;

		own.group = 0;
		own.part_count = 0;
		rollup_add(group_of(rollup, window->group), &own, 0);
		return;
	}
	add_missing(rollup, window);
	if (!rollup->joins) {
		rollup_learn(rollup, window);
	}
	for (size_t t = 0; t < window->table_count; t++) {
		(void)table_of(rollup, &window->tables[t]);
	}
	for (size_t t = 0; t < window->table_count; t++) {
		struct rollup_table *table = table_of(rollup, &window->tables[t]);

		add_rows(rollup, table, &window->tables[t], source);
		drop_short(rollup, table);
	}
	rollup_fold(rollup);
}

void rollup_report(struct rollup *rollup, const struct report *report, rollup_show *show,
		   void *user)
{
	if (rollup && report->kind == REPORT_WINDOW) {
		assert(report->empty == 0 ||
		       !rollup->is_open); /* it begins at a long one's begin */
		rollup_add(rollup, report, 0);
		rollup->spans.count = 1; /* the engine leaves no hole between its windows */
		if (report->end / rollup->interval_ns >
		    rollup->report.begin / rollup->interval_ns) {
			show(user, rollup_take(rollup));
		}
		return;
	}
	if (rollup && report->kind == REPORT_TOTAL && rollup->is_open) {
		show(user, rollup_take(rollup)); /* the trace ends within a long window */
	}
	show(user, report);
}
