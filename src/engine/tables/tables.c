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
	case SCOPE_KEYED:
	case SCOPE_PROCESS:
		columns_append(&layout->keyed_columns[a][t], table);
		break;
	}
}

static size_t thread_sums_bytes(const struct layout *layout)
{
	return layout->columns[SCOPE_THREAD].count * sizeof(uint64_t);
}

static void lay_out(struct layout *layout, const struct setup *setup, const struct tables *tables)
{
	layout->setup = setup;
	layout->tables = tables;
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
			columns_fini(&layout->keyed_columns[a][t]);
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
			shard_thread_fini(shard->layout, shard->resident.at[i]);
		}
	}
	if (shard->other) {
		shard_thread_fini(shard->layout, shard->other);
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
	vec_fini(&shard->window_ended);
	vec_fini(&shard->resident);
	vec_fini(&shard->free_threads);
	vec_fini(&shard->touched);
	vec_fini(&shard->ordered_events);
}

void tables_init(struct tables *tables, const struct setup *setup)
{
	memset(tables, 0, sizeof(*tables));
	lay_out(&tables->layout, setup, tables);
	sums_init(&tables->layout, &tables->trace, SCOPE_TRACE);
	keyed_init(&tables->keyed_rows, true);
	tables->longest = longest_new(&tables->layout);
	tables->longest_total = longest_new(&tables->layout);
	tables->cpus = kh_init(cpus);
	tables->name_ids = kh_init(name_ids);
	for (size_t i = 0; i < SHARDS; i++) {
		shard_init(&tables->shards[i], &tables->layout);
	}
	tables->whole.layout = &tables->layout;
	accumulators_init(tables);
	ordered_init(tables);
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

	ordered_fini(tables);
	accumulators_fini(tables);
	if (tables->other) {
		shard_thread_fini(layout, tables->other); /* its memory is a shard's */
	}
	sums_fini(layout, &tables->trace, SCOPE_TRACE);
	keyed_fini(&tables->keyed_rows, layout->keyed_columns);
	longest_free(layout, tables->longest);
	longest_free(layout, tables->longest_total);
	for (khint_t i = kh_begin(tables->cpus); i != kh_end(tables->cpus); i++) {
		if (kh_exist(tables->cpus, i)) {
			cpu_free(layout, kh_value(tables->cpus, i));
		}
	}
	for (size_t i = 0; i < SHARDS; i++) {
		threads_fini(&tables->shards[i]);
	}
	for (size_t i = 0; i < SHARDS; i++) {
		shard_fini(&tables->shards[i]);
	}
	kh_destroy(cpus, tables->cpus);
	kh_destroy(name_ids, tables->name_ids);
	for (size_t i = 0; i < tables->names.count; i++) {
		sums_fini(layout, &tables->names.at[i]->sums, SCOPE_EVENT);
		free((char *)tables->names.at[i]->name);
		free(tables->names.at[i]);
	}
	vec_fini(&tables->names);
	vec_fini(&tables->class_names);
	layout_fini(&tables->layout);
}

/* ---- CPUs ---- */

struct cpu *tables_cpu(struct tables *tables, uint64_t id)
{
	int is_new;
	khint_t at = kh_put(cpus, tables->cpus, id, &is_new);

	if (is_new) {
		struct cpu *cpu = mem_alloc(sizeof(*cpu));

		cpu->id = id;
		cpu->number = (uint32_t)id;
		sums_init(&tables->layout, &cpu->sums, SCOPE_CPU);
		kh_value(tables->cpus, at) = cpu;
	}
	return kh_value(tables->cpus, at);
}

/* ---- event names ---- */

static uint32_t name_id(struct tables *tables, const char *text)
{
	khint_t at = kh_get(name_ids, tables->name_ids, text);
	struct event_name *name;
	int is_new;

	if (at != kh_end(tables->name_ids)) {
		return kh_value(tables->name_ids, at);
	}
	name = mem_alloc(sizeof(*name));
	name->name = mem_strdup(text);
	sums_init(&tables->layout, &name->sums, SCOPE_EVENT);
	at = kh_put(name_ids, tables->name_ids, name->name, &is_new);
	kh_value(tables->name_ids, at) = (uint32_t)tables->names.count;
	*vec_push(&tables->names) = name;
	return (uint32_t)(tables->names.count - 1);
}

void tables_add_class(struct tables *tables, const char *name)
{
	*vec_push(&tables->class_names) = name_id(tables, name);
}

void tables_set_classes(struct tables *tables, const struct plan *plan)
{
	for (size_t i = tables->class_names.count; i < plan->class_count; i++) {
		tables_add_class(tables, plan->classes[i]->class->name);
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

struct keyed_row *shard_keyed(struct shard *shard, unsigned int table, const struct row_key *key)
{
	return keyed_find(shard->accumulator->keyed_rows,
			  &shard->layout->keyed_columns[shard->running][table],
			  (unsigned int)shard->running, table, key);
}

/* What does not fit into a key is there as its end and a hash of all. */
static struct row_key key_of_name(uint64_t id, const char *name)
{
	size_t len = strlen(name);
	char text[ROW_KEY_NAME_BYTES];

	if (len < ROW_KEY_NAME_BYTES) {
		return row_key_of(id, name, len);
	}
	(void)snprintf(text, sizeof(text), "%016" PRIx64 "%s", hash_text(0, name), name + len - 15);
	return row_key_of(id, text, sizeof(text));
}

struct keyed_row *shard_keyed_named(struct shard *shard, unsigned int table, uint64_t id,
				const char *name)
{
	struct row_key key = key_of_name(id, name);
	struct keyed_row *keyed = shard_keyed(shard, table, &key);

	/* Beyond the bound it is one for all others. */
	if (strlen(name) >= ROW_KEY_NAME_BYTES && row_key_equal(&keyed->key, &key)) {
		keyed_label(keyed, name);
	}
	return keyed;
}

uint64_t *shard_keyed_row(struct shard *shard, unsigned int table, const struct row_key *key)
{
	return shard_keyed(shard, table, key)->window;
}

uint64_t *shard_keyed_again(struct shard *shard, struct keyed_row *keyed)
{
	keyed_touch(shard->accumulator->keyed_rows, keyed);
	return keyed->window;
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

uint64_t *shard_indexed_row(struct shard *shard, unsigned int table, uint32_t index,
			    struct row_key (*key_of)(const struct shard *shard, uint32_t index))
{
	struct indexed_rows *known = &shard->accumulator->indexed[shard->running];
	struct row_key key;

	while (known->count <= index) {
		*vec_push(known) = NULL;
	}
	if (!known->at[index]) {
		key = key_of(shard, index);
		known->at[index] = shard_keyed(shard, table, &key);
	}
	return shard_keyed_again(shard, known->at[index]);
}

const char *shard_event_name(const struct shard *shard, uint32_t class_index)
{
	const struct tables *tables = shard->layout->tables;

	return class_index < tables->class_names.count
		       ? tables->names.at[tables->class_names.at[class_index]]->name
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

void tables_collect(struct tables *tables)
{
	for (size_t i = 0; i < tables->accumulators.count; i++) {
		accumulator_collect(tables, tables->accumulators.at[i]);
	}
	for (uint32_t i = 0; i < tables->layout.longest_count; i++) {
		longest_collect(&tables->longest[i], &tables->whole_accumulator.longest[i]);
	}
}

static void end_window_of(struct shard *shard, struct thread *thread, uint64_t end)
{
	shard_each_with(shard, on_window_end, (shard, thread, end));
	if (thread->is_dead) {
		shard->window_ended.at[thread->resident_at / 64] |= (uint64_t)1
								    << thread->resident_at % 64;
	}
}

/* Most threads that are kept died long ago, and their memory is far. */
static void end_window_in(struct shard *shard, uint64_t end)
{
	while (shard->window_ended.count * 64 < shard->resident.count) {
		*vec_push(&shard->window_ended) = 0;
	}
	for (size_t word = 0; word * 64 < shard->resident.count; word++) {
		uint64_t left = ~shard->window_ended.at[word];

		for (; left != 0; left &= left - 1) {
			size_t i = word * 64 + (size_t)__builtin_ctzll(left);

			if (i < shard->resident.count && shard->resident.at[i]) {
				end_window_of(shard, shard->resident.at[i], end);
			}
		}
	}
}

void tables_end_window(struct tables *tables, uint64_t end)
{
	bool is_wanted = tables->layout.setup->callers.on_window_end != 0;

	for (size_t s = 0; is_wanted && s < SHARDS; s++) {
		shard_close_window(&tables->shards[s]);
		end_window_in(&tables->shards[s], end);
	}
}

void tables_close_window(struct tables *tables, bool keep)
{
	const struct columns *columns = tables->layout.columns;

	tables_collect(tables);
	fold(&columns[SCOPE_TRACE], &tables->trace, keep);
	keyed_close(&tables->keyed_rows, tables->layout.keyed_columns, keep);
	for (uint32_t i = 0; i < tables->layout.longest_count; i++) {
		if (keep) {
			longest_move(&tables->longest_total[i], &tables->longest[i]);
		}
		tables->longest[i].all.count = 0;
	}
	for (khint_t i = kh_begin(tables->cpus); i != kh_end(tables->cpus); i++) {
		if (kh_exist(tables->cpus, i)) {
			fold(&columns[SCOPE_CPU], &kh_value(tables->cpus, i)->sums, keep);
		}
	}
	for (size_t i = 0; i < tables->names.count; i++) {
		fold(&columns[SCOPE_EVENT], &tables->names.at[i]->sums, keep);
	}
	for (size_t s = 0; s < SHARDS; s++) {
		shard_close_window(&tables->shards[s]); /* of the window before */
		tables->shards[s].is_closing = true;
		tables->shards[s].keeps = keep;
	}
}

void shard_close_window(struct shard *shard)
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
