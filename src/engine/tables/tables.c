/*
 * tables: see tables.h.
 */
#include "engine/tables/tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/check.h"
#include "base/limits.h"

static void sums_init(const struct layout *layout, struct sums *sums, enum scope scope)
{
	uint32_t columns = layout->columns[scope].count + 1; /* never empty */

	sums->window = mem_alloc(2 * columns * sizeof(uint64_t));
	sums->total = sums->window + columns;
}

static void sums_fini(const struct layout *layout, struct sums *sums, enum scope scope)
{
	columns_empty(&layout->columns[scope], sums->window);
	columns_empty(&layout->columns[scope], sums->total);
	free(sums->window);
}

/* ---- lifecycle ---- */

void tables_init(struct tables *tables, const struct setup *setup)
{
	memset(tables, 0, sizeof(*tables));
	layout_init(&tables->layout, setup, tables);
	sums_init(&tables->layout, &tables->trace, SCOPE_TRACE);
	keyed_init(&tables->keyed_rows, true);
	tables->pairs.layout = &tables->layout;
	tables->longest = longest_new(&tables->layout);
	tables->longest_total = longest_new(&tables->layout);
	for (size_t i = 0; i < SHARDS; i++) {
		shard_init(&tables->shards[i], &tables->layout);
	}
	tables->whole.layout = &tables->layout;
	tables->missing_names = SIZE_MAX;
	accumulators_init(tables);
}

static void cpu_free(const struct layout *layout, struct cpu *cpu)
{
	sums_fini(layout, &cpu->sums, SCOPE_CPU);
	vec_fini(&cpu->segments);
	vec_fini(&cpu->running);
	free(cpu);
}

void tables_fini(struct tables *tables)
{
	const struct layout *layout = &tables->layout;

	accumulators_fini(tables);
	if (tables->other) {
		shard_thread_fini(layout, tables->other); /* its memory is a shard's */
	}
	sums_fini(layout, &tables->trace, SCOPE_TRACE);
	keyed_fini(&tables->keyed_rows, layout->keyed_columns);
	pairs_fini(&tables->pairs);
	longest_free(layout, tables->longest);
	longest_free(layout, tables->longest_total);
	HASH_EACH(cpus, &tables->cpus, one) {
		cpu_free(layout, one->value);
	}
	for (size_t i = 0; i < SHARDS; i++) {
		shard_fini_threads(&tables->shards[i]);
	}
	for (size_t i = 0; i < SHARDS; i++) {
		shard_fini(&tables->shards[i]);
	}
	cpus_fini(&tables->cpus);
	name_ids_fini(&tables->name_ids);
	for (size_t i = 0; i < tables->names.count; i++) {
		sums_fini(layout, &tables->names.at[i]->sums, SCOPE_EVENT);
		free((char *)tables->names.at[i]->name);
		free(tables->names.at[i]);
	}
	vec_fini(&tables->names);
	vec_fini(&tables->class_names);
	missing_fini(&tables->missing);
	free(tables->domain);
	layout_fini(&tables->layout);
}

/* ---- CPUs ---- */

struct cpu *tables_cpu(struct tables *tables, uint64_t id)
{
	bool is_new;
	struct cpu **at = cpus_put(&tables->cpus, id, &is_new);

	if (is_new) {
		struct cpu *cpu = mem_alloc(sizeof(*cpu));

		cpu->id = id;
		cpu->number = (uint32_t)id;
		sums_init(&tables->layout, &cpu->sums, SCOPE_CPU);
		*at = cpu;
	}
	return *at;
}

/* ---- event names ---- */

static uint32_t name_id(struct tables *tables, const char *text)
{
	uint32_t *at = name_ids_get(&tables->name_ids, text);
	struct event_name *name;

	if (at) {
		return *at;
	}
	name = mem_alloc(sizeof(*name));
	name->name = mem_strdup(text);
	sums_init(&tables->layout, &name->sums, SCOPE_EVENT);
	*name_ids_put(&tables->name_ids, name->name, NULL) = (uint32_t)tables->names.count;
	*vec_push(&tables->names) = name;
	return (uint32_t)(tables->names.count - 1);
}

void tables_add_class(struct tables *tables, const char *name)
{
	*vec_push(&tables->class_names) = name_id(tables, name);
}

void tables_set_domain(struct tables *tables, const char *domain, const char *tracer)
{
	free(tables->domain);
	tables->domain = mem_strdup_if(domain);
	tables->tracer = tracer ? missing_kept(tracer, strlen(tracer)) : NULL;
	tables->missing_names = SIZE_MAX;
}

void tables_set_beside(struct tables *tables, const struct event_names *beside)
{
	tables->beside = beside;
	tables->missing_names = SIZE_MAX;
}

static void drop_missing_of_others(const struct setup *setup, struct missing_events *events)
{
	size_t kept = 0;

	for (size_t i = 0; i < events->at.count; i++) {
		if (setup_reports(setup, events->at.at[i].analysis)) {
			events->at.at[kept++] = events->at.at[i];
		}
	}
	events->at.count = kept;
}

void tables_find_missing(struct tables *tables)
{
	const struct setup *setup = tables->layout.setup;
	struct event_names names = { .count = tables->names.count,
				     .domain = tables->domain,
				     .tracer = tables->tracer,
				     .has_programs = tables->has_programs,
				     .is_usual = setup->is_usual,
				     .beside = tables->beside };
	size_t known = names.count + (names.beside ? names.beside->count : 0);
	const char **texts;

	if (tables->missing_names == known) {
		return;
	}
	texts = mem_alloc((names.count + 1) * sizeof(*texts));
	for (size_t i = 0; i < names.count; i++) {
		texts[i] = tables->names.at[i]->name;
	}
	names.at = texts;
	missing_find(&names, setup->analyses, setup->analysis_count, setup->periods,
		     &tables->missing);
	drop_missing_of_others(setup, &tables->missing.events);
	tables->missing_names = known;
	free(texts);
}

void tables_set_classes(struct tables *tables, const struct plan *plan)
{
	tables->has_programs = plan->part_count > 1;
	for (size_t i = tables->class_names.count; i < plan->class_count; i++) {
		tables_add_class(tables, plan->classes[i]->class->name);
	}
}

bool tables_has_event(const struct tables *tables, const char *name)
{
	return name_ids_get(&tables->name_ids, name);
}

/* ---- holes ---- */

/* Of two unknown threads of a CPU, the one after the hole is another. */
static void lose_unknown(struct tables *tables, int64_t key, uint64_t ts)
{
	struct shard *shard = &tables->shards[key_shard(key)];
	struct thread *thread = shard_thread_known(shard, key);

	if (thread) {
		shard_doubt(shard, thread, ts, DOUBT_THREAD);
	}
}

void tables_lose(struct tables *tables, uint64_t ts)
{
	for (size_t s = 0; s < SHARDS; s++) {
		shard_close_window(&tables->shards[s]);
		shard_lose(&tables->shards[s], ts);
	}
	HASH_EACH(cpus, &tables->cpus, one) {
		lose_unknown(tables, KEY_CPU(one->value->number), ts);
	}
	lose_unknown(tables, KEY_NOBODY, ts);
	each_analysis_with(tables->layout.setup, on_ordered_hole, a) {
		tables->whole.running = a;
		tables->layout.setup->analyses[a]->rare->on_ordered_hole(&tables->whole,
									 tables->states[a], ts);
	}
}

/* ---- windows ---- */

void tables_collect(struct tables *tables)
{
	for (size_t i = 0; i < tables->accumulators.count; i++) {
		accumulator_collect(tables, tables->accumulators.at[i]);
	}
	for (uint32_t i = 0; i < tables->layout.longest_count; i++) {
		longest_collect(&tables->longest[i], &tables->whole_accumulator.longest[i]);
	}
}

void tables_end_window(struct tables *tables, uint64_t end)
{
	bool is_wanted = tables->layout.setup->callers.on_window_end != 0;

	for (size_t s = 0; is_wanted && s < SHARDS; s++) {
		shard_close_window(&tables->shards[s]);
		shard_end_window(&tables->shards[s], end);
	}
	each_analysis_with(tables->layout.setup, on_ordered_window_end, a) {
		tables->whole.running = a;
		tables->layout.setup->analyses[a]->rare->on_ordered_window_end(
			&tables->whole, tables->states[a], end);
		tables->whole.left_out = 0;
	}
}

static void close_sums(const struct columns *columns, struct sums *sums, bool keep)
{
	if (keep) {
		columns_close(columns, sums->total, sums->window);
	} else {
		columns_empty(columns, sums->window);
	}
	sums->is_touched = false;
}

static void close_cpus(struct tables *tables, bool keep)
{
	const struct columns *columns = &tables->layout.columns[SCOPE_CPU];

	HASH_EACH(cpus, &tables->cpus, one) {
		close_sums(columns, &one->value->sums, keep);
		one->value->was_present |= keep && !one->value->is_absent;
	}
}

/* Work for shard_close_window().  A shard that was not needed since has to close the window before
 * that first. */
static void close_shards(struct tables *tables, bool keep)
{
	for (size_t s = 0; s < SHARDS; s++) {
		struct shard *shard = &tables->shards[s];

		shard_close_window(shard);
		assert(!shard->is_closing);
		shard->is_closing = true;
		shard->keeps = keep;
		shard->has_picked &= keep;
	}
}

void tables_close_window(struct tables *tables, bool keep)
{
	const struct layout *layout = &tables->layout;

	assert(keep || !layout->is_direct); /* totals have what was added */
	tables_collect(tables);
	close_sums(&layout->columns[SCOPE_TRACE], &tables->trace, keep);
	keyed_close(&tables->keyed_rows, layout->keyed_columns, keep);
	if (layout->pair_columns) {
		pairs_close(&tables->pairs, layout->pair_columns, keep);
	}
	for (uint32_t i = 0; i < layout->longest_count; i++) {
		if (keep) {
			longest_close(&tables->longest_total[i], &tables->longest[i]);
		}
		/* Before shards drop threads, which they do when they close the window. */
		longest_refresh(&tables->longest_total[i],
				account_bounds_rows(tables->layout.setup->account));
		tables->longest[i].all.count = 0;
	}
	close_cpus(tables, keep);
	for (size_t i = 0; i < tables->names.count; i++) {
		close_sums(&layout->columns[SCOPE_EVENT], &tables->names.at[i]->sums, keep);
	}
	close_shards(tables, keep);
	if (CHECKS_ON) {
		tables_check(tables);
	}
}

/* ---- checks ---- */

static void check_names(const struct tables *tables)
{
	assert(tables->name_ids.used == tables->names.count);
	for (uint32_t i = 0; i < tables->names.count; i++) {
		uint32_t *at = name_ids_get(&tables->name_ids, tables->names.at[i]->name);

		assert(at);
		assert(*at == i);
	}
	for (size_t i = 0; i < tables->class_names.count; i++) {
		assert(tables->class_names.at[i] < tables->names.count);
	}
}

static void check_cpus(const struct tables *tables)
{
	HASH_EACH(cpus, &tables->cpus, one) {
		const struct cpu *cpu = one->value;

		assert(cpu->id == one->key);
		assert(cpu->segments_used <= cpu->segments.count);
	}
}

static void check_longest(const struct tables *tables)
{
	for (uint32_t i = 0; i < tables->layout.longest_count; i++) {
		longest_check(&tables->longest[i], true);
		longest_check(&tables->longest_total[i], true);
	}
}

/* A piece of memory is free, or a thread of some shard: a rename takes a thread to another one. */
static void check_thread_memory(const struct tables *tables)
{
	size_t made = 0, used = tables->other != NULL;

	for (size_t s = 0; s < SHARDS; s++) {
		const struct shard *shard = &tables->shards[s];

		made += shard->blocks.count * THREADS_AT_ONCE;
		used += shard->free_threads.count + (shard->other != NULL);
		used += shard->resident.count - shard->resident_free.count;
	}
	assert(used == made);
}

void tables_check(const struct tables *tables)
{
	check_names(tables);
	check_cpus(tables);
	check_longest(tables);
	keyed_check(&tables->keyed_rows);
	assert(pairs_are_sound(&tables->pairs));
	assert(tables->keyed_rows.has_totals);
	accumulators_check(tables);
	for (unsigned int s = 0; s < SHARDS; s++) {
		shard_check(&tables->shards[s], s);
	}
	check_thread_memory(tables);
	assert(tables->whole.resident.count == 0);
	assert(tables->whole.slots.used == 0);
}
