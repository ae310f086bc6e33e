/*
 * shard: lifecycle, windows, and what analyses call; see shard.h and engine/contract/merge.h.
 */
#include "engine/tables/shard.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/limits.h"
#include "engine/tables/tables.h"

#define SLOTS_MIN 16 /* a power of two */

/* ---- lifecycle ---- */

void shard_init(struct shard *shard, const struct layout *layout)
{
	shard->layout = layout;
	shard->held.ts = OUT_NONE;
	slots_init(&shard->slots, SLOTS_MIN);
}

void shard_fini_threads(struct shard *shard)
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

void shard_fini(struct shard *shard)
{
	account_give(shard->layout->setup->account, ACCOUNT_ROWS, shard->taken);
	vec_free_each(&shard->blocks, free);
	slots_fini(&shard->slots);
	vec_fini(&shard->dead);
	vec_fini(&shard->oncpus);
	vec_fini(&shard->resident_free);
	vec_fini(&shard->presence);
	vec_fini(&shard->leaving);
	vec_fini(&shard->resident);
	vec_fini(&shard->free_threads);
	vec_fini(&shard->touched);
	vec_fini(&shard->ordered_events);
	vec_fini(&shard->spans);
	vec_fini(&shard->containers);
}

/* ---- for analyses ---- */

/* The scope of a table of the analysis whose hook runs. */
static inline enum scope scope_of(const struct shard *shard, unsigned int table)
{
	return shard->layout->setup->analyses[shard->running]->tables[table].scope;
}

bool shard_leaves_out(const struct shard *shard, unsigned int table)
{
	const struct analysis *analysis = shard->layout->setup->analyses[shard->running];

	return shard->left_out & ~analysis->tables[table].of_all;
}

/* A row for what does not count. */
static uint64_t *row_left_out(const struct shard *shard, unsigned int table)
{
	return shard->accumulator->left_out->rows[scope_of(shard, table)] +
	       shard->layout->offsets[shard->running][table];
}

uint64_t *shard_trace_row(struct shard *shard, unsigned int table)
{
	assert_hot(scope_of(shard, table) == SCOPE_TRACE);
	if (shard->left_out && shard_leaves_out(shard, table)) {
		return row_left_out(shard, table);
	}
	return shard->accumulator->trace + shard->layout->offsets[shard->running][table];
}

uint64_t *shard_cpu_row(struct shard *shard, struct cpu *cpu, unsigned int table)
{
	assert_hot(scope_of(shard, table) == SCOPE_CPU);
	if (shard->left_out && shard_leaves_out(shard, table)) {
		return row_left_out(shard, table);
	}
	return cpu->sums.window + shard->layout->offsets[shard->running][table];
}

uint64_t *shard_thread_row(struct shard *shard, struct thread *thread, unsigned int table)
{
	assert_hot(scope_of(shard, table) == SCOPE_THREAD);
	if (shard->left_out && shard_leaves_out(shard, table)) {
		return row_left_out(shard, table);
	}
	if (!thread->is_touched && !shard->layout->is_direct) {
		thread->is_touched = true;
		*vec_push(&shard->touched) = thread;
	}
	return thread_window(shard->layout, thread) + shard->layout->offsets[shard->running][table];
}

uint64_t *shard_event_row(struct shard *shard, uint32_t event_name, unsigned int table)
{
	struct accumulator *accumulator = shard->accumulator;
	uint64_t *row;

	assert_hot(scope_of(shard, table) == SCOPE_EVENT);
	if (shard->left_out && shard_leaves_out(shard, table)) {
		return row_left_out(shard, table);
	}
	row = accumulator_names_row(shard->layout, accumulator, event_name) +
	      shard->layout->offsets[shard->running][table];
	if (row[0] == 0) {
		*vec_push(&accumulator->names_touched) = event_name; /* may be listed again */
	}
	return row;
}

struct keyed_row *shard_keyed(struct shard *shard, unsigned int table, const struct row_key *key)
{
	struct keyed_rows *keyed_rows = shard->accumulator->keyed_rows;

	assert_hot(scope_of(shard, table) == SCOPE_KEYED);
	if (shard->left_out && shard_leaves_out(shard, table)) {
		static const struct row_key any;

		keyed_rows = &shard->accumulator->left_out->keyed_rows;
		key = &any;
	}
	return keyed_find(keyed_rows, &shard->layout->keyed_columns[shard->running][table],
			  (unsigned int)shard->running, table, key);
}

struct keyed_row *shard_keyed_named(struct shard *shard, unsigned int table, uint64_t id,
				    const char *name)
{
	size_t len = strlen(name);
	struct row_key key = row_key_of(id, name, len);
	struct keyed_row *keyed = shard_keyed(shard, table, &key);

	/* Beyond the bound it is the row of all others, which has its own name. */
	if (len >= ROW_KEY_NAME_BYTES && row_key_equal(&keyed->key, &key)) {
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
	assert_hot(scope_of(shard, keyed->table) == SCOPE_KEYED);
	if (shard->left_out && shard_leaves_out(shard, keyed->table)) {
		return shard_keyed(shard, keyed->table, &keyed->key)->window;
	}
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
				     .kind = (uint8_t)kind,
				     .left_out = shard->left_out };
	return ordered;
}

void shard_longest(struct shard *shard, unsigned int table, const struct instance *instance)
{
	const struct setup *setup = shard->layout->setup;
	const struct row_key *key = &instance->keyed;

	assert_hot(scope_of(shard, table) == SCOPE_LONGEST);
	if (shard->left_out && shard_leaves_out(shard, table)) {
		return;
	}
	if (shard->layout->selects_irqs &&
	    !selection_wants_irq(setup->selection, &setup->analyses[shard->running]->tables[table],
				 key->id, key->name)) {
		return;
	}
	longest_add(&shard->accumulator->longest[shard->layout->offsets[shard->running][table]],
		    instance);
}

uint64_t *shard_indexed_row(struct shard *shard, unsigned int table, uint32_t index,
			    struct row_key (*key_of)(const struct shard *shard, uint32_t index))
{
	struct indexed_rows *known = &shard->accumulator->indexed[shard->running];
	struct row_key key = { 0 };

	if (shard->left_out && shard_leaves_out(shard, table)) {
		return shard_keyed(shard, table, &key)->window;
	}
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

bool shard_is_joined(const struct shard *shard)
{
	return shard->is_joined;
}

bool shard_source_is_beside(const struct shard *shard)
{
	assert_hot(shard->source); /* a record is being applied */
	return shard->source->is_beside;
}

uint64_t shard_source_cpu(const struct shard *shard)
{
	assert_hot(shard->source); /* a record is being applied */
	return shard->source->cpu_id;
}

void *shard_thread_state(struct shard *shard, struct thread *thread)
{
	return (char *)(thread + 1) + shard->layout->thread_state_offsets[shard->running];
}

int64_t shard_thread_number(const struct thread *thread)
{
	return thread->view.tid < 0 ? 0 : thread_key(thread);
}

uint64_t *shard_thread_row_of(struct shard *shard, int64_t number, unsigned int table)
{
	struct tables *tables = (struct tables *)shard->layout->tables;
	struct shard *of = &tables->shards[key_shard(number)];
	struct thread *thread = number != 0 ? shard_thread_known(of, number) : NULL;
	uint64_t *row = NULL;

	if (thread) {
		of->running = shard->running;
		of->left_out = shard->left_out;
		row = shard_thread_row(of, thread, table);
		of->left_out = 0;
	}
	return row;
}

void *shard_trace_state(const struct shard *shard)
{
	return shard->layout->tables->states[shard->running];
}

bool shard_is_long(const struct shard *shard, unsigned int table, uint64_t ns)
{
	const struct longest *longest =
		&shard->accumulator->longest[shard->layout->offsets[shard->running][table]];

	return longest_may_have(longest, ns) && !shard_leaves_out(shard, table);
}

void shard_each_long(struct shard *shard, unsigned int table,
		     void (*each)(struct shard *shard, struct instance *instance))
{
	const struct tables *tables = shard->layout->tables;
	uint32_t at = shard->layout->offsets[shard->running][table];

	for (size_t i = 0; i < tables->accumulators.count; i++) {
		VEC_EACH(&tables->accumulators.at[i]->longest[at].all, shown) {
			if (shown->instance.thread) {
				each(shard, &shown->instance);
			}
		}
	}
}

bool shard_lists_unnamed(const struct shard *shard, unsigned int table)
{
	const struct longest *longest =
		&shard->accumulator->longest[shard->layout->offsets[shard->running][table]];
	size_t count = longest->all.count;

	return count > 0 && !longest_is_named(&longest->all.at[count - 1].instance);
}

uint64_t shard_channel(const struct shard *shard)
{
	assert_hot(shard->source); /* a record is being applied */
	return shard->source->channel;
}

bool shard_may_miss(const struct shard *shard, uint64_t channel)
{
	assert_hot(shard->source);
	return shard->source->owns_cpu || shard->source->channel == channel;
}

uint64_t shard_entity_id(const struct thread *entity)
{
	return entity->incarnation == UINT32_MAX ? UINT64_MAX : entity->incarnation;
}

int32_t shard_tid(const struct thread *thread)
{
	return thread->view.tid;
}

uint32_t shard_incarnation(const struct thread *thread)
{
	return thread->incarnation;
}

bool shard_is_dead(const struct thread *thread)
{
	return thread->is_dead;
}

uint64_t shard_end_ts(const struct shard *shard, const struct thread *thread)
{
	size_t i = shard->dead.count;

	assert(thread->is_dead);
	while (i > 0 && shard->dead.at[i - 1].thread != thread) {
		i--;
	}
	assert(i > 0); /* it is listed as long as it has a row */
	return shard->dead.at[i - 1].ts;
}

uint64_t shard_switch_in_ts(const struct thread *thread)
{
	return thread->in_ts;
}

bool shard_sleeps_at(const struct shard *shard, const struct thread *thread, uint64_t ts)
{
	const struct held_out *held = &shard->held;

	return held->ts == ts && held->thread == thread &&
	       (held->flags & (RECORD_SLEEPS | RECORD_DEAD)) == RECORD_SLEEPS;
}

struct cpu *shard_cpu_at_end(struct shard *shard, uint64_t id)
{
	struct cpu **found = cpus_get(&shard->layout->tables->cpus, id);

	if (shard->layout->selects) {
		shard_select_cpu(shard, id);
	}
	return found && (*found)->owner ? *found : NULL;
}

uint64_t shard_cpu_absent_from(const struct shard *shard, uint64_t id)
{
	struct cpu **found = cpus_get(&shard->layout->tables->cpus, id);

	return found && (*found)->owner ? (*found)->absent_from : UINT64_MAX;
}

uint64_t shard_cpu_heard_until(const struct shard *shard, uint64_t id)
{
	struct cpu **found = cpus_get(&shard->layout->tables->cpus, id);

	return found && (*found)->owner && (*found)->has_left ? (*found)->heard_until : UINT64_MAX;
}

uint64_t shard_cpu_id(const struct cpu *cpu)
{
	return cpu->id;
}

const struct period_set *shard_periods(const struct shard *shard)
{
	return shard->layout->setup->periods;
}

/* ---- windows ---- */

/* The threads of a word of the presence will be read. */
static void prefetch_threads(const struct shard *shard, size_t word, uint64_t which)
{
	for (; which != 0; which &= which - 1) {
		const struct thread *thread =
			shard->resident.at[word * 64 + (size_t)__builtin_ctzll(which)];

		if (shard->layout->columns[SCOPE_THREAD].level_count > 0) { /* rows are set */
			thread_prefetch_all(shard->layout, thread);
		} else {
			thread_prefetch(shard->layout, thread);
		}
	}
}

void shard_end_window(struct shard *shard, uint64_t end)
{
	const struct columns *columns = &shard->layout->columns[SCOPE_THREAD];

	assert(!shard->is_closing); /* a hook adds to the window that ends */
	for (size_t word = 0; word < shard->presence.count; word++) {
		struct presence *presence = &shard->presence.at[word];
		uint64_t left = presence->live | presence->ending;

		prefetch_threads(shard, word, left);
		for (; left != 0; left &= left - 1) {
			struct thread *thread =
				shard->resident.at[word * 64 + (size_t)__builtin_ctzll(left)];

			if (shard->layout->selects) {
				shard_select(shard, thread, thread_cpu_id(thread));
			}
			shard_each_with(shard, on_window_end, (shard, thread, end));
			/* What is selected may be other threads by now. */
			if (columns->level_count > 0 && !thread->is_touched) {
				columns_end_levels(columns, thread_total(shard->layout, thread));
			}
		}
		presence->ending = 0;
	}
	shard->left_out = 0;
}

void shard_end_spans(struct shard *shard, uint64_t end)
{
	assert(!shard->is_closing);
	for (size_t word = 0; word < shard->presence.count; word++) {
		struct presence *presence = &shard->presence.at[word];
		uint64_t left = presence->live | (presence->ending & ~presence->told);

		for (; left != 0; left &= left - 1) {
			struct thread *thread =
				shard->resident.at[word * 64 + (size_t)__builtin_ctzll(left)];

			shard_each_rare_with(shard, on_spans_end, (shard, thread, end));
		}
		presence->told |= presence->ending;
	}
}

void shard_span(struct shard *shard, struct thread *thread, const struct thread_span *span)
{
	struct thread_span *to;

	if (shard->layout->setup->wants_spans) {
		to = vec_push(&shard->spans);
		*to = *span;
		to->id = shard_row_id(thread);
		to->view = &thread->view;
	}
}

/* A state as of a thread that has just appeared. */
static void reset_state(struct shard *shard, struct thread *thread)
{
	const struct analysis *analysis = shard->layout->setup->analyses[shard->running];
	void *state = shard_thread_state(shard, thread);

	if (analysis->on_forget) {
		analysis->on_forget(state);
	}
	memset(state, 0, analysis->thread_state_size);
}

void shard_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	const struct setup *setup = shard->layout->setup;

	each_analysis_with(setup, on_doubt, a) {
		shard->running = a;
		if (setup->analyses[a]->on_doubt) {
			setup->analyses[a]->on_doubt(shard, thread, ts, what);
		} else {
			reset_state(shard, thread);
		}
	}
}

static void lose_thread(struct shard *shard, struct thread *thread, uint64_t ts)
{
	thread->is_in = false;
	shard_doubt(shard, thread, ts, DOUBT_EVENTS | DOUBT_SWITCHES | DOUBT_HOLE);
}

void shard_lose(struct shard *shard, uint64_t ts)
{
	static const struct record_source any = { .channel = UINT64_MAX,
						  .cpu_id = UINT64_MAX,
						  .cpu_number = UINT32_MAX,
						  .owns_cpu = true };

	assert(!shard->is_closing); /* a hook adds to the open window */
	shard->source = &any;
	shard->oncpus.count = 0;
	for (size_t word = 0; word < shard->presence.count; word++) {
		uint64_t left = shard->presence.at[word].live;

		for (; left != 0; left &= left - 1) {
			lose_thread(shard,
				    shard->resident.at[word * 64 + (size_t)__builtin_ctzll(left)],
				    ts);
		}
	}
}

static void close_thread(const struct shard *shard, struct thread *thread)
{
	const struct columns *columns = &shard->layout->columns[SCOPE_THREAD];
	uint64_t *window = thread_window(shard->layout, thread);

	assert(thread->is_touched);
	if (shard->keeps) {
		columns_close(columns, thread_total(shard->layout, thread), window);
	} else {
		columns_empty(columns, window);
	}
	thread->is_touched = false;
}

void shard_close_window(struct shard *shard)
{
	if (!shard->is_closing) {
		return;
	}
	for (size_t i = 0; i < shard->touched.count; i++) {
		if (i + THREADS_AHEAD < shard->touched.count) {
			thread_prefetch_all(shard->layout, shard->touched.at[i + THREADS_AHEAD]);
		}
		close_thread(shard, shard->touched.at[i]);
	}
	shard->touched.count = 0;
	shard->is_closing = false;
	shard_drop_dead(shard);
}

/* ---- selections ---- */

/*
 * What counts when the user selects threads or CPUs.
 *
 * A figure counts if the event that adds it belongs to a selected thread and CPU.  What is known of
 * the thread when it is switched in decides for all that follows until it is switched in again: its
 * tid, its process, its name.  (A thread that was never switched in: what is known at the event.)
 * So the result does not depend on where windows and chunks end, although workers add up what a
 * thread does while it is on a CPU.
 *
 * Analyses need to know nothing of this: what does not count goes to rows of accumulator->left_out,
 * which nobody reads.
 */
static bool is_picked(const struct layout *layout, struct thread *thread)
{
	if ((thread->picked & (PICKED_YES | PICKED_NO)) == 0) {
		thread->picked = selection_wants_thread(layout->setup->selection, &thread->view)
					 ? PICKED_YES
					 : PICKED_NO;
	}
	return thread->picked & PICKED_YES;
}

void shard_pick(const struct shard *shard, struct thread *thread)
{
	thread->picked = 0;
	(void)is_picked(shard->layout, thread);
	thread->picked |= PICKED_STAYS;
}

void shard_select(struct shard *shard, struct thread *thread, uint64_t cpu)
{
	const struct layout *layout = shard->layout;

	assert(layout->selects != 0);
	shard->left_out = 0;
	if ((layout->selects & OF_ALL_THREADS) && !is_picked(layout, thread)) {
		shard->left_out |= OF_ALL_THREADS;
	}
	if (!selection_wants_cpu(layout->setup->selection, cpu)) {
		shard->left_out |= OF_ALL_CPUS;
	}
	shard->has_picked |= shard->left_out == 0;
}

void shard_select_cpu(struct shard *shard, uint64_t cpu)
{
	const struct layout *layout = shard->layout;

	assert(layout->selects != 0);
	shard->left_out = layout->selects & OF_ALL_THREADS;
	if (!selection_wants_cpu(layout->setup->selection, cpu)) {
		shard->left_out |= OF_ALL_CPUS;
	}
	shard->has_picked |= shard->left_out == 0;
}

void shard_leave_out(struct shard *shard, uint8_t left_out, uint64_t cpu)
{
	const struct layout *layout = shard->layout;

	shard->left_out = left_out & OF_ALL_THREADS;
	if ((layout->selects & OF_ALL_CPUS) &&
	    !selection_wants_cpu(layout->setup->selection, cpu)) {
		shard->left_out |= OF_ALL_CPUS;
	}
}
