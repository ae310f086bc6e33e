/*
 * report-build: see report-build.h.
 */
#include "engine/tables/report-build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/check.h"
#include "engine/tables/report-listing.h"

/* ---- rows ---- */

static const uint64_t *values_of(const struct listing *listing, const struct sums *sums)
{
	return (listing->total ? sums->total : sums->window) + listing->offset;
}

bool report_has_value(const struct listing *listing, const uint64_t *values)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < listing->columns; i++) {
		any |= values[i];
	}
	return any != 0;
}

struct report_row *report_add_row(struct listing *listing, const uint64_t *values, bool always)
{
	struct report_row *row;

	if (!always && !report_has_value(listing, values)) {
		return NULL;
	}
	row = vec_push(&listing->rows);
	*row = (struct report_row){ .values = values };
	row->sort = report_sort_value(listing->table, listing->order, row);
	return row;
}

/* ---- CPUs and event names ---- */

/* A CPU has a row wherever it was there. */
static void list_cpus(struct tables *tables, struct listing *listing)
{
	HASH_EACH(cpus, &tables->cpus, one) {
		struct cpu *cpu = one->value;

		if (cpu->owner && (!cpu->is_absent || (listing->total && cpu->was_present)) &&
		    selection_wants_cpu(listing->selection, cpu->id)) {
			report_add_row(listing, values_of(listing, &cpu->sums), true)->id = cpu->id;
		}
	}
}

static void list_names(struct tables *tables, struct listing *listing)
{
	for (size_t i = 0; i < tables->names.count; i++) {
		const struct event_name *name = tables->names.at[i];
		struct report_row *row =
			report_add_row(listing, values_of(listing, &name->sums), false);

		if (row) {
			row->name = name->name;
		}
	}
}

/* ---- keyed rows ---- */

static const char *name_of_keyed(const struct keyed_row *keyed)
{
	return keyed->label ? keyed->label : keyed->key.name;
}

static bool is_keyed_wanted(const struct listing *listing, const struct keyed_row *keyed,
			    bool is_by_cpu)
{
	const struct selection *selection = listing->selection;

	return (!is_by_cpu || selection_wants_cpu(selection, keyed->key.id)) &&
	       selection_wants_irq(selection, listing->table, keyed->key.id, name_of_keyed(keyed));
}

/* The label of a row, which the report owns. */
static const char *label_of(const struct tables *tables, const struct listing *listing,
			    const char *name, const char *by)
{
	const struct analysis_rare *rare = analysis_rare(listing->analysis);
	char *label = NULL;

	if (rare->label_of) {
		label = rare->label_of(tables->states[listing->a], tables->layout.setup->periods,
				       listing->t, name, by);
	}
	if (label) {
		*vec_push(&listing->memory->labels) = label;
	}
	return label;
}

static void fill_keyed(const struct table *table, const struct keyed_row *keyed,
		       struct report_row *row)
{
	row->id = keyed->key.id;
	if (table->owner_key && keyed->key.id != ROW_KEY_NO_ID) {
		row->id = (uint64_t)(int32_t)keyed->key.id;
		row->owner = (int32_t)(keyed->key.id >> 32);
	}
	row->name = name_of_keyed(keyed);
	row->keyed = keyed->key.name;
}

static void list_keyed(struct tables *tables, struct listing *listing)
{
	const struct keyed_rows *keyed_rows = &tables->keyed_rows;
	size_t count = listing->total ? keyed_rows->all.count : keyed_rows->touched.count;
	struct keyed_row **from = listing->total ? keyed_rows->all.at : keyed_rows->touched.at;
	const char *id_key = listing->table->id_key;
	bool is_by_cpu = id_key && strcmp(id_key, "cpu") == 0;

	for (size_t i = 0; i < count; i++) {
		const struct keyed_row *keyed = from[i];
		struct report_row *row;

		if (keyed->analysis != listing->a || keyed->table != listing->t ||
		    !is_keyed_wanted(listing, keyed, is_by_cpu)) {
			continue;
		}
		row = report_add_row(listing, listing->total ? keyed->total : keyed->window, false);
		if (row) {
			fill_keyed(listing->table, keyed, row);
			row->label = label_of(tables, listing, row->name, NULL);
		}
	}
}

/* ---- the longest ---- */

/* The newest thread with this tid; NULL: there is none, or user programs have several. */
static const struct thread *only_thread(struct shard *shard, int32_t tid)
{
	const struct thread *found = shard_thread_known(shard, tid), *user = NULL;
	size_t users = 0;

	for (size_t i = 0; !found && i < shard->resident.count; i++) {
		const struct thread *thread = shard->resident.at[i];

		if (thread && thread->is_user && thread->view.tid == tid) {
			user = thread;
			users++;
		}
	}
	return users == 1 ? user : found;
}

/*
 * Shows the thread that began what belongs to no thread.  Only its tid is known.  Name and process
 * are those of the thread of this tid, unless several had it, or one of the shard lost its row.
 */
static void show_begun_by(struct tables *tables, struct shown_instance *shown)
{
	int32_t tid = shown->instance.begun_by;
	struct shard *shard = &tables->shards[key_shard(tid)];
	const struct thread *thread = NULL;

	if (!shown->instance.has_begun_by) {
		return;
	}
	shown->has_view = true;
	shown->view = (struct thread_view){ .pid = -1, .tid = tid };
	if (tid == 0) {
		strcpy(shown->view.comm, "(idle)");
	}
	if (tid > 0 && !shard->other) {
		thread = only_thread(shard, tid);
	}
	if (thread && !thread->is_reused) {
		shown->view = thread->view;
	}
}

static void list_longest(struct tables *tables, struct listing *listing)
{
	const struct longest *longest =
		&(listing->total ? tables->longest_total : tables->longest)[listing->offset];

	for (size_t i = 0; i < longest->all.count; i++) {
		struct shown_instance *shown = &longest->all.at[i];

		assert_hot(!shown->instance.thread); /* it may be freed: a copy is shown */
		show_begun_by(tables, shown);
		*vec_push(&listing->rows) = (struct report_row){
			.sort = shown->instance.ns,
			.id = i,
			.name = shown->instance.keyed.name,
			.label = label_of(tables, listing, shown->instance.keyed.name,
					  shown->instance.by),
			.thread = shown->has_view ? &shown->view : NULL,
			.instance = &shown->instance,
		};
	}
}

/* ---- all tables ---- */

static void list_table(struct tables *tables, struct listing *listing, struct listings *of_threads)
{
	enum scope scope = listing->table->scope;

	if (scope != SCOPE_TRACE && missing_is_whole(listing->table, listing->unknown)) {
		return;
	}
	switch (scope) {
	case SCOPE_TRACE:
		(void)report_add_row(listing, values_of(listing, &tables->trace), true);
		break;
	case SCOPE_CPU:
		list_cpus(tables, listing);
		break;
	case SCOPE_EVENT:
		list_names(tables, listing);
		break;
	case SCOPE_KEYED:
		list_keyed(tables, listing);
		break;
	case SCOPE_LONGEST:
		list_longest(tables, listing);
		break;
	case SCOPE_PAIR:
	case SCOPE_PROCESS_PAIR:
	case SCOPE_CONTAINER_PAIR:
		report_pairs(tables, listing);
		break;
	case SCOPE_THREAD:
	case SCOPE_PROCESS:
	case SCOPE_CONTAINER:
		*vec_push(&of_threads->all) = listing;
		break;
	}
}

/* The table that has the figures: processes and containers have those of the analysis' table of
 * threads. */
static size_t source_of(const struct analysis *analysis, size_t table)
{
	return scope_is_of_threads(analysis->tables[table].scope) ? analysis_thread_table(analysis)
								  : table;
}

static struct listing *listing_new(const struct tables *tables, size_t a, size_t t, bool total,
				   struct report_memory *memory)
{
	const struct analysis *analysis = tables->layout.setup->analyses[a];
	struct listing *listing = mem_alloc(sizeof(*listing));

	*listing = (struct listing){
		.analysis = analysis,
		.table = &analysis->tables[t],
		.a = a,
		.t = t,
		.offset = tables->layout.offsets[a][source_of(analysis, t)],
		.columns = column_count(&analysis->tables[t]),
		.unknown = tables->missing.unknown[a][t],
		.total = total,
		.selection = tables->layout.setup->selection,
		.memory = memory,
	};
	listing->order = report_order(listing->table, NULL);
	return listing;
}

/* The report takes the rows of the listing, which is freed. */
static void take_listing(const struct tables *tables, struct listing *listing)
{
	const struct setup *setup = tables->layout.setup;
	struct report_memory *memory = listing->memory;

	if (listing->table->scope != SCOPE_LONGEST) { /* these are in order */
		report_sort_rows(listing->rows.at, listing->rows.count,
				 setup->wants_order ? 0 : setup->top);
	}
	*vec_push(&memory->lists) = listing->rows.at;
	*vec_push(&memory->tables) =
		(struct report_table){ .analysis = listing->analysis,
				       .table = listing->table,
				       .rows = listing->rows.at,
				       .row_count = listing->rows.count,
				       .unknown = listing->unknown,
				       .is_of_services = selection_by_service(listing->selection),
				       .is_whole = selection_leaves_whole(listing->selection,
									  listing->table) };
	free(listing);
}

/* The open window of threads is added to totals, which is otherwise left to tasks. */
static void close_shards(struct tables *tables)
{
	for (uint32_t i = 0; i < tables->layout.longest_count; i++) {
		longest_refresh(&tables->longest_total[i],
				account_bounds_rows(tables->layout.setup->account));
	}
	for (size_t i = 0; i < SHARDS; i++) {
		shard_close_window(&tables->shards[i]);
		shard_drop_for_total(&tables->shards[i]);
	}
	if (CHECKS_ON) {
		tables_check(tables);
	}
}

/* Threads that lost their rows. */
static uint64_t count_summed(const struct tables *tables)
{
	uint64_t count = 0;

	for (size_t s = 0; s < SHARDS; s++) {
		count += tables->shards[s].other ? tables->shards[s].other->incarnation : 0;
	}
	return count;
}

static bool has_irqs(const struct report *report)
{
	for (size_t i = 0; i < report->table_count; i++) {
		const char *class = report->tables[i].table->lami_class;

		if (class && strcmp(class, "irq") == 0 && report->tables[i].row_count > 0) {
			return true;
		}
	}
	return false;
}

/* Whether the user selected threads, CPUs or interrupts, and the trace has had none of them.
 * Without an analysis that knows them, nobody knows. */
static bool has_none(const struct tables *tables, const struct report *report)
{
	const struct layout *layout = &tables->layout;
	bool has_picked = false, has_table = false;

	for (size_t i = 0; i < report->table_count; i++) {
		has_table |= layout->selects != 0 &&
			     (layout->selects & report->tables[i].table->of_all) == 0;
	}
	for (size_t s = 0; s < SHARDS; s++) {
		has_picked |= tables->shards[s].has_picked;
	}
	return (has_table && !has_picked) || (layout->selects_irqs && layout->knows_irqs &&
					      report->kind == REPORT_TOTAL && !has_irqs(report));
}

/* Whether reports have the table at all: lists of containers only on request. */
static bool is_listed(const struct setup *setup, const struct table *table)
{
	return !scope_is_of_containers(table->scope) || setup->wants_containers;
}

void tables_report(struct tables *tables, bool total, struct report *report,
		   struct report_memory *memory)
{
	const struct setup *setup = tables->layout.setup;
	VEC(struct listing *) listings = { 0 };
	struct listings of_threads = { 0 };

	assert(total || !tables->layout.is_direct); /* else there is no open window */
	assert(memory->tables.count == 0);
	if (total) {
		close_shards(tables);
		report->summed_threads = count_summed(tables);
	}
	tables_find_missing(tables);
	report->tracer = tables->tracer;
	report->missing = tables->missing.events.at.at;
	report->missing_count = tables->missing.events.at.count;
	for (size_t a = 0; a < setup->analysis_count; a++) {
		for (size_t t = 0; t < TABLES_MAX && setup->analyses[a]->tables[t].columns[0].key;
		     t++) {
			struct listing *listing;

			if (!setup_reports(setup, setup->analyses[a]) ||
			    !is_listed(setup, &setup->analyses[a]->tables[t])) {
				continue;
			}
			listing = listing_new(tables, a, t, total, memory);

			*vec_push(&listings) = listing;
			list_table(tables, listing, &of_threads);
		}
	}
	report_threads(tables, &of_threads, total);
	if (setup->wants_views && !total) {
		report_views(tables, memory);
		report->views = memory->views.at;
		report->view_count = memory->views.count;
	}
	for (size_t i = 0; i < listings.count; i++) {
		take_listing(tables, listings.at[i]);
	}
	vec_fini(&listings);
	vec_fini(&of_threads.all);
	report->tables = memory->tables.at;
	report->table_count = memory->tables.count;
	report->nothing_matched = has_none(tables, report);
}

void report_memory_fini(struct report_memory *memory)
{
	vec_free_each(&memory->lists, free);
	for (size_t i = 0; i < memory->processes.count; i++) {
		columns_empty(memory->processes.at[i].columns, memory->processes.at[i].row);
		free(memory->processes.at[i].memory);
	}
	vec_free_each(&memory->labels, free);
	vec_fini(&memory->processes);
	vec_fini(&memory->views);
	vec_fini(&memory->tables);
}
