/*
 * rows: see rows.h.
 */
#include "engine/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/merger/ordered.h"
#include "engine/merger/shard.h"

/* ---- layout ---- */

static void lay_out_table(struct layout *layout, size_t a, size_t t)
{
	const struct table *table = &layout->setup->analyses[a]->tables[t];

	switch (table->scope) {
	case SCOPE_TRACE:
	case SCOPE_CPU:
	case SCOPE_THREAD:
	case SCOPE_EVENT:
		layout->offsets[a][t] = layout->columns[table->scope].count;
		columns_append(&layout->columns[table->scope], table);
		break;
	case SCOPE_LONGEST:
		layout->offsets[a][t] = layout->longest_count++;
		break;
	case SCOPE_ITEM:
	case SCOPE_PROCESS:
		columns_append(&layout->item_columns[a][t], table);
		break;
	}
}

static size_t thread_sums_bytes(const struct layout *layout)
{
	return layout->columns[SCOPE_THREAD].count * sizeof(uint64_t);
}

static void lay_out(struct layout *layout, const struct setup *setup, const struct rows *rows)
{
	layout->setup = setup;
	layout->rows = rows;
	layout->is_direct = !setup->wants_windows && setup->range_begin == 0;
	layout->longest_shown = longest_shown(setup->top);
	/* Whether they are wanted is known when they are shown. */
	layout->longest_room = setup->selection && selection_picks(setup->selection)
				       ? LONGEST_MAX
				       : layout->longest_shown;
	for (size_t a = 0; a < setup->analysis_count; a++) {
		const struct analysis *analysis = setup->analyses[a];

		for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
			lay_out_table(layout, a, t);
		}
		layout->thread_state_offsets[a] = layout->thread_state_size;
		layout->thread_state_size += (analysis->thread_state_size + 7) / 8 * 8;
	}
	layout->thread_window_at = sizeof(struct thread) + layout->thread_state_size;
	layout->thread_total_at = layout->thread_window_at;
	layout->thread_total_at += layout->is_direct ? 0 : thread_sums_bytes(layout);
	layout->thread_bytes = layout->thread_total_at + thread_sums_bytes(layout);
}

static void layout_fini(struct layout *layout)
{
	for (size_t s = 0; s < SCOPES_FIXED; s++) {
		columns_fini(&layout->columns[s]);
	}
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			columns_fini(&layout->item_columns[a][t]);
		}
	}
}

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

static void shard_init(struct shard *shard, const struct layout *layout)
{
	shard->layout = layout;
	slots_init(&shard->slots);
}

/* Threads that were renamed lie in memory of another shard: all of these come before any of
 * shard_fini(). */
static void threads_fini(struct shard *shard)
{
	for (size_t i = 0; i < shard->resident.count; i++) {
		if (shard->resident.at[i]) {
			rows_thread_fini(shard->layout, shard->resident.at[i]);
		}
	}
	if (shard->other) {
		rows_thread_fini(shard->layout, shard->other);
	}
}

static void shard_fini(struct shard *shard)
{
	for (size_t i = 0; i < shard->blocks.count; i++) {
		free(shard->blocks.at[i]);
	}
	vec_fini(&shard->blocks);
	free(shard->slots.at);
	vec_fini(&shard->dead);
	vec_fini(&shard->oncpus);
	vec_fini(&shard->resident_free);
	vec_fini(&shard->settled);
	vec_fini(&shard->resident);
	vec_fini(&shard->free_threads);
	vec_fini(&shard->touched);
	vec_fini(&shard->ordered_events);
}

void rows_init(struct rows *rows, const struct setup *setup)
{
	memset(rows, 0, sizeof(*rows));
	lay_out(&rows->layout, setup, rows);
	sums_init(&rows->layout, &rows->trace, SCOPE_TRACE);
	items_init(&rows->items, true);
	rows->longest = longest_new(&rows->layout);
	rows->longest_total = longest_new(&rows->layout);
	rows->cpus = kh_init(cpus);
	rows->name_ids = kh_init(name_ids);
	for (size_t i = 0; i < SHARDS; i++) {
		shard_init(&rows->shards[i], &rows->layout);
	}
	rows->whole.layout = &rows->layout;
	accumulators_init(rows);
	ordered_init(rows);
}

static void cpu_free(const struct layout *layout, struct cpu *cpu)
{
	sums_fini(layout, &cpu->sums, SCOPE_CPU);
	vec_fini(&cpu->segments);
	vec_fini(&cpu->running);
	free(cpu);
}

void rows_fini(struct rows *rows)
{
	const struct layout *layout = &rows->layout;

	ordered_fini(rows);
	accumulators_fini(rows);
	if (rows->other) {
		rows_thread_fini(layout, rows->other); /* its memory is a shard's */
	}
	sums_fini(layout, &rows->trace, SCOPE_TRACE);
	items_fini(&rows->items, layout->item_columns);
	longest_free(layout, rows->longest);
	longest_free(layout, rows->longest_total);
	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i)) {
			cpu_free(layout, kh_value(rows->cpus, i));
		}
	}
	for (size_t i = 0; i < SHARDS; i++) {
		threads_fini(&rows->shards[i]);
	}
	for (size_t i = 0; i < SHARDS; i++) {
		shard_fini(&rows->shards[i]);
	}
	kh_destroy(cpus, rows->cpus);
	kh_destroy(name_ids, rows->name_ids);
	for (size_t i = 0; i < rows->names.count; i++) {
		sums_fini(layout, &rows->names.at[i]->sums, SCOPE_EVENT);
		free((char *)rows->names.at[i]->name);
		free(rows->names.at[i]);
	}
	vec_fini(&rows->names);
	vec_fini(&rows->class_names);
	layout_fini(&rows->layout);
}

/* ---- CPUs ---- */

struct cpu *rows_cpu(struct rows *rows, uint64_t id)
{
	int is_new;
	khint_t at = kh_put(cpus, rows->cpus, id, &is_new);

	if (is_new) {
		struct cpu *cpu = mem_alloc(sizeof(*cpu));

		cpu->id = id;
		cpu->number = (uint32_t)id;
		sums_init(&rows->layout, &cpu->sums, SCOPE_CPU);
		kh_value(rows->cpus, at) = cpu;
	}
	return kh_value(rows->cpus, at);
}

/* ---- event names ---- */

static uint32_t name_id(struct rows *rows, const char *text)
{
	khint_t at = kh_get(name_ids, rows->name_ids, text);
	struct event_name *name;
	int is_new;

	if (at != kh_end(rows->name_ids)) {
		return kh_value(rows->name_ids, at);
	}
	name = mem_alloc(sizeof(*name));
	name->name = mem_strdup(text);
	sums_init(&rows->layout, &name->sums, SCOPE_EVENT);
	at = kh_put(name_ids, rows->name_ids, name->name, &is_new);
	kh_value(rows->name_ids, at) = (uint32_t)rows->names.count;
	*vec_push(&rows->names) = name;
	return (uint32_t)(rows->names.count - 1);
}

void rows_add_class(struct rows *rows, const char *name)
{
	*vec_push(&rows->class_names) = name_id(rows, name);
}

void rows_set_classes(struct rows *rows, const struct plan *plan)
{
	for (size_t i = rows->class_names.count; i < plan->class_count; i++) {
		rows_add_class(rows, plan->classes[i]->class->name);
	}
}

/* ---- for analyses ---- */

uint64_t *shard_trace_row(struct shard *shard, unsigned int table)
{
	return shard->accumulator->trace + shard->layout->offsets[shard->running][table];
}

uint64_t *shard_cpu_row(struct shard *shard, struct cpu *cpu, unsigned int table)
{
	return cpu->sums.window + shard->layout->offsets[shard->running][table];
}

uint64_t *shard_thread_row(struct shard *shard, struct thread *thread, unsigned int table)
{
	if (!thread->is_touched && !shard->layout->is_direct) {
		thread->is_touched = true;
		*vec_push(&shard->touched) = thread;
	}
	return thread_window(shard->layout, thread) + shard->layout->offsets[shard->running][table];
}

uint64_t *shard_event_row(struct shard *shard, uint32_t event_name, unsigned int table)
{
	struct accumulator *accumulator = shard->accumulator;
	uint64_t *row = accumulator_names_row(shard->layout, accumulator, event_name) +
			shard->layout->offsets[shard->running][table];

	if (row[0] == 0) {
		*vec_push(&accumulator->names_touched) = event_name; /* perhaps again: harmless */
	}
	return row;
}

struct item *shard_item(struct shard *shard, unsigned int table, const struct item_key *key)
{
	return items_find(shard->accumulator->items,
			  &shard->layout->item_columns[shard->running][table],
			  (unsigned int)shard->running, table, key);
}

/* What does not fit into a key is there as its end and a hash of all. */
static struct item_key key_of_name(uint64_t id, const char *name)
{
	size_t len = strlen(name);
	char text[ITEM_NAME_BYTES];

	if (len < ITEM_NAME_BYTES) {
		return item_key_of(id, name, len);
	}
	(void)snprintf(text, sizeof(text), "%016" PRIx64 "%s", hash_text(0, name), name + len - 15);
	return item_key_of(id, text, sizeof(text));
}

struct item *shard_item_named(struct shard *shard, unsigned int table, uint64_t id,
			      const char *name)
{
	struct item_key key = key_of_name(id, name);
	struct item *item = shard_item(shard, table, &key);

	/* Beyond the bound it is one for all others. */
	if (strlen(name) >= ITEM_NAME_BYTES && item_equal(&item->key, &key)) {
		item_label(item, name);
	}
	return item;
}

uint64_t *shard_item_row(struct shard *shard, unsigned int table, const struct item_key *key)
{
	return shard_item(shard, table, key)->window;
}

uint64_t *shard_item_again(struct shard *shard, struct item *item)
{
	items_touch(shard->accumulator->items, item);
	return item->window;
}

struct ordered *shard_note_ordered(struct shard *shard, struct thread *thread, uint64_t ts,
				   unsigned int kind)
{
	struct ordered *ordered = vec_push(&shard->ordered_events);

	*ordered = (struct ordered){ .ts = ts,
				     .thread = thread,
				     .shard = shard,
				     .owner = (uint8_t)shard->running,
				     .kind = (uint8_t)kind };
	return ordered;
}

void shard_longest(struct shard *shard, unsigned int table, const struct instance *instance)
{
	longest_add(&shard->accumulator->longest[shard->layout->offsets[shard->running][table]],
		    instance);
}

uint64_t *shard_row_at(struct shard *shard, unsigned int table, uint32_t index,
		       struct item_key (*key_of)(const struct shard *shard, uint32_t index))
{
	struct indexed_items *known = &shard->accumulator->indexed[shard->running];
	struct item_key key;

	while (known->count <= index) {
		*vec_push(known) = NULL;
	}
	if (!known->at[index]) {
		key = key_of(shard, index);
		known->at[index] = shard_item(shard, table, &key);
	}
	return shard_item_again(shard, known->at[index]);
}

const char *shard_event_name(const struct shard *shard, uint32_t class_index)
{
	const struct rows *rows = shard->layout->rows;

	return class_index < rows->class_names.count
		       ? rows->names.at[rows->class_names.at[class_index]]->name
		       : "";
}

void *shard_thread_state(struct shard *shard, struct thread *thread)
{
	return (char *)(thread + 1) + shard->layout->thread_state_offsets[shard->running];
}

/* ---- closing windows ---- */

static void fold(const struct columns *columns, struct sums *sums, bool keep)
{
	if (keep) {
		columns_close(columns, sums->total, sums->window);
	} else {
		columns_empty(columns, sums->window);
	}
	sums->is_touched = false;
}

void rows_gather(struct rows *rows)
{
	for (size_t i = 0; i < rows->accumulators.count; i++) {
		accumulator_collect(rows, rows->accumulators.at[i]);
	}
	for (uint32_t i = 0; i < rows->layout.longest_count; i++) {
		longest_gather(&rows->longest[i], &rows->whole_accumulator.longest[i]);
	}
}

static void end_window_of(struct shard *shard, struct thread *thread, uint64_t end)
{
	shard_each_with(shard, on_window_end, (shard, thread, end));
	if (thread->is_dead) {
		shard->settled.at[thread->resident_at / 64] |= (uint64_t)1
							       << thread->resident_at % 64;
	}
}

/* Most threads that are kept died long ago, and their memory is far. */
static void end_window_in(struct shard *shard, uint64_t end)
{
	while (shard->settled.count * 64 < shard->resident.count) {
		*vec_push(&shard->settled) = 0;
	}
	for (size_t word = 0; word * 64 < shard->resident.count; word++) {
		uint64_t left = ~shard->settled.at[word];

		for (; left != 0; left &= left - 1) {
			size_t i = word * 64 + (size_t)__builtin_ctzll(left);

			if (i < shard->resident.count && shard->resident.at[i]) {
				end_window_of(shard, shard->resident.at[i], end);
			}
		}
	}
}

void rows_end_window(struct rows *rows, uint64_t end)
{
	bool is_wanted = rows->layout.setup->callers.on_window_end != 0;

	for (size_t s = 0; is_wanted && s < SHARDS; s++) {
		shard_settle(&rows->shards[s]);
		end_window_in(&rows->shards[s], end);
	}
}

void rows_close_window(struct rows *rows, bool keep)
{
	const struct columns *columns = rows->layout.columns;

	rows_gather(rows);
	fold(&columns[SCOPE_TRACE], &rows->trace, keep);
	items_close(&rows->items, rows->layout.item_columns, keep);
	for (uint32_t i = 0; i < rows->layout.longest_count; i++) {
		if (keep) {
			longest_move(&rows->longest_total[i], &rows->longest[i]);
		}
		rows->longest[i].all.count = 0;
	}
	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i)) {
			fold(&columns[SCOPE_CPU], &kh_value(rows->cpus, i)->sums, keep);
		}
	}
	for (size_t i = 0; i < rows->names.count; i++) {
		fold(&columns[SCOPE_EVENT], &rows->names.at[i]->sums, keep);
	}
	for (size_t s = 0; s < SHARDS; s++) {
		shard_settle(&rows->shards[s]); /* of the window before */
		rows->shards[s].is_closing = true;
		rows->shards[s].keeps = keep;
	}
}

void shard_settle(struct shard *shard)
{
	const struct columns *columns = &shard->layout->columns[SCOPE_THREAD];

	if (!shard->is_closing) {
		return;
	}
	for (size_t i = 0; i < shard->touched.count; i++) {
		struct thread *thread = shard->touched.at[i];
		struct sums sums = { .window = thread_window(shard->layout, thread),
				     .total = thread_total(shard->layout, thread) };

		fold(columns, &sums, shard->keeps);
		thread->is_touched = false;
	}
	shard->touched.count = 0;
	shard->is_closing = false;
	shard_drop_dead(shard);
}
