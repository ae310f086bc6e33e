/*
 * shard-ended: threads that ended lose their rows when there are too many of them, or too little
 * memory.
 *
 * By number it does not matter when that happens: a total has the THREADS_ENDED_MAX that ended
 * last.  By memory (live) those that are kept depend on what else the process holds, and a quarter
 * of them is the ones that weigh most in the first table of threads: they are what lists show.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/limits.h"
#include "engine/tables/report.h"
#include "engine/tables/shard.h"
#include "engine/tables/tables.h"

/* ---- what they take ---- */

/* What the account has of the shard, without what belongs to single threads. */
static uint64_t bytes_of(const struct shard *shard)
{
	return shard->ended_bytes +
	       shard->blocks.count * THREADS_AT_ONCE * shard->layout->thread_bytes +
	       ((uint64_t)shard->slots.mask + 1) * sizeof(*shard->slots.at) +
	       shard->resident.room * sizeof(*shard->resident.at) +
	       shard->dead.room * sizeof(*shard->dead.at);
}

/* Before any of them changes its place in the list. */
static void count_ended(struct shard *shard)
{
	const struct columns *columns = &shard->layout->columns[SCOPE_THREAD];

	if (!account_bounds_rows(shard->layout->setup->account)) {
		return;
	}
	for (; shard->counted < shard->dead.count; shard->counted++) {
		struct dead *dead = &shard->dead.at[shard->counted];

		dead->bytes = columns_bytes(columns, thread_total(shard->layout, dead->thread));
		shard->ended_bytes += dead->bytes;
	}
}

static void take_bytes(struct shard *shard)
{
	struct account *account = shard->layout->setup->account;

	account_give(account, ACCOUNT_ROWS, shard->taken);
	shard->taken = bytes_of(shard);
	account_take(account, ACCOUNT_ROWS, shard->taken);
}

/* ---- by number ---- */

/* The thread loses its row: its total is added to that of `other`. */
static void fold_ended(struct shard *shard, struct dead *dead)
{
	struct thread *thread = dead->thread;

	if (!shard->other) {
		shard->other = shard_thread_alloc(shard);
	}
	columns_move(&shard->layout->columns[SCOPE_THREAD],
		     thread_total(shard->layout, shard->other),
		     thread_total(shard->layout, thread));
	shard->other->incarnation++; /* how many it is the sum of */
	shard->ended_bytes -= dead->bytes;
	shard_thread_forget(shard, thread);
}

static bool ended_before(const struct dead *a, const struct dead *b)
{
	const struct thread *x = a->thread, *y = b->thread;

	if (a->ts != b->ts) {
		return a->ts < b->ts;
	}
	return x->view.tid != y->view.tid ? x->view.tid < y->view.tid
					  : x->incarnation < y->incarnation;
}

VEC_SELECT(select_ended, struct dead, ended_before)

#define DEAD_AHEAD 8 /* prefetched: threads are far apart in memory */

/* Adds the first ones to `other`. */
static void fold_first(struct shard *shard, size_t first)
{
	struct dead *dead = shard->dead.at;

	assert(shard->dead.count >= first);
	assert(shard->touched.count == 0);
	assert(shard->counted ==
	       (account_bounds_rows(shard->layout->setup->account) ? shard->dead.count : 0));
	for (size_t i = 0; i < first; i++) {
		if (i + DEAD_AHEAD < first) {
			thread_prefetch(shard->layout, dead[i + DEAD_AHEAD].thread);
		}
		fold_ended(shard, &dead[i]);
	}
	shard->dead.count -= first;
	shard->counted = shard->counted > 0 ? shard->dead.count : 0;
	memmove(dead, dead + first, shard->dead.count * sizeof(*dead));
}

/* Adds all but the last @keep that ended to `other`. */
static void fold_all_but(struct shard *shard, size_t keep)
{
	size_t first = shard->dead.count - keep;

	assert(shard->dead.count > keep);
	select_ended(shard->dead.at, shard->dead.count, first);
	fold_first(shard, first);
}

/* The same for those at the front of the list that ended before all of the @keep at its back: one
 * look at each finds them.  Ends are noted nearly in order, so these are nearly all. */
static void fold_front(struct shard *shard, size_t keep)
{
	struct dead *dead = shard->dead.at;
	size_t front = shard->dead.count - keep, first = 0;
	uint64_t least = UINT64_MAX;

	for (size_t i = front; i < shard->dead.count; i++) {
		least = dead[i].ts < least ? dead[i].ts : least;
	}
	for (size_t i = 0; i < front; i++) {
		struct dead moved = dead[i];

		dead[i] = dead[first];
		dead[first] = moved;
		first += moved.ts < least;
	}
	fold_first(shard, first);
}

static void drop_by_number(struct shard *shard)
{
	size_t keep = THREADS_ENDED_MAX / SHARDS, more = THREADS_ENDED_MORE / SHARDS;

	if (shard->dead.count <= keep + more) {
		return;
	}
	fold_front(shard, keep);
	if (shard->dead.count > keep + more / 2) {
		fold_all_but(shard, keep);
	}
}

/* ---- by memory ---- */

struct ranked {
	struct dead dead;
	uint64_t weight;
};

static bool weighs_more(const struct ranked *a, const struct ranked *b)
{
	return a->weight != b->weight ? a->weight > b->weight : ended_before(&b->dead, &a->dead);
}

VEC_SELECT(select_heaviest, struct ranked, weighs_more)

/* By what rows of the first table of threads are sorted by; table NULL: there is none. */
struct scale {
	const struct table *table;
	size_t offset; /* of its values */
	struct report_order order;
};

static struct scale scale_of(const struct layout *layout)
{
	for (size_t a = 0; a < layout->setup->analysis_count; a++) {
		const struct analysis *analysis = layout->setup->analyses[a];
		size_t t = analysis_thread_table(analysis);

		if (t < TABLES_MAX) {
			return (struct scale){ &analysis->tables[t], layout->offsets[a][t],
					       report_order(&analysis->tables[t], NULL) };
		}
	}
	return (struct scale){ 0 };
}

static uint64_t weight_of(const struct layout *layout, const struct scale *scale,
			  struct thread *thread)
{
	struct report_row row = { .thread = &thread->view,
				  .values = thread_total(layout, thread) + scale->offset };

	return report_sort_value(scale->table, scale->order, &row);
}

/* Moves those that weigh most to the end of the list. */
static void spare_heaviest(struct shard *shard, const struct scale *scale, size_t spared)
{
	size_t count = shard->dead.count;
	struct ranked *ranks = mem_alloc(count * sizeof(*ranks));

	for (size_t i = 0; i < count; i++) {
		ranks[i].dead = shard->dead.at[i];
		ranks[i].weight = weight_of(shard->layout, scale, ranks[i].dead.thread);
	}
	select_heaviest(ranks, count, spared);
	for (size_t i = 0; i < count; i++) {
		shard->dead.at[count - 1 - i] = ranks[i].dead;
	}
	free(ranks);
}

/* A quarter of the rows goes. */
static void fold_quarter(struct shard *shard)
{
	const struct scale scale = scale_of(shard->layout);
	size_t count = shard->dead.count, first = (count + 3) / 4;
	size_t spared = scale.table ? count / 4 : 0;

	if (spared > 0) {
		spare_heaviest(shard, &scale, spared);
	}
	if (first < count - spared) {
		select_ended(shard->dead.at, count - spared, first);
	}
	fold_first(shard, first);
}

ORDER_VALUES(by_address, uintptr_t)
VEC_FIRST(first_behind, char *, const char *, *one <= wanted)

/* The index of the shard's block that the thread lies in; the number of blocks: in none. */
static size_t block_of(const struct shard *shard, const struct thread *thread)
{
	size_t bytes = THREADS_AT_ONCE * shard->layout->thread_bytes;
	const char *at = (const char *)thread;
	size_t behind = first_behind(shard->blocks.at, shard->blocks.count, at);

	return behind > 0 && at < shard->blocks.at[behind - 1] + bytes ? behind - 1
								       : shard->blocks.count;
}

/* Frees the blocks in which no thread is. */
static void free_blocks(struct shard *shard)
{
	uint8_t *free_in = mem_alloc(shard->blocks.count + 1);
	size_t kept = 0, none = shard->blocks.count;

	vec_sort(&shard->blocks, by_address);
	VEC_EACH(&shard->free_threads, thread) {
		free_in[block_of(shard, *thread)] += free_in[block_of(shard, *thread)] < UINT8_MAX;
	}
	free_in[none] = 0; /* of blocks of other shards: they stay */
	VEC_EACH(&shard->free_threads, thread) {
		if (free_in[block_of(shard, *thread)] < THREADS_AT_ONCE) {
			shard->free_threads.at[kept++] = *thread;
		}
	}
	shard->free_threads.count = kept;
	kept = 0;
	for (size_t i = 0; i < none; i++) {
		assert(free_in[i] <= THREADS_AT_ONCE);
		if (free_in[i] == THREADS_AT_ONCE) {
			free(shard->blocks.at[i]);
		} else {
			shard->blocks.at[kept++] = shard->blocks.at[i];
		}
	}
	shard->blocks.count = kept;
	free(free_in);
}

/* Keys whose threads lost their rows; a key that comes again is a new one. */
static void free_slots(struct shard *shard)
{
	struct slots old = shard->slots;
	uint32_t used = 0;

	for (uint32_t i = 0; i <= old.mask; i++) {
		used += old.at[i].thread != NULL;
	}
	if (used >= old.used / 2) {
		return;
	}
	shard->slots = (struct slots){ 0 };
	slots_init(&shard->slots, HASH_ROOM_MIN);
	for (uint32_t i = 0; i <= old.mask; i++) {
		if (old.at[i].thread) {
			*shard_slot(shard, old.at[i].key) = old.at[i];
		}
	}
	slots_fini(&old);
}

/* As long as others' memory is free, there is room for those that will end next. */
static void drop_by_memory(struct shard *shard)
{
	const struct account *account = shard->layout->setup->account;

	if (!account_bounds_rows(account)) {
		return;
	}
	take_bytes(shard);
	if (shard->dead.count > 0 && shard->free_threads.count <= shard->dead.count / 4 &&
	    !account_may_have_rows(account)) {
		fold_quarter(shard);
		free_blocks(shard);
		free_slots(shard);
		take_bytes(shard);
	}
}

/* ---- when a window has closed ---- */

void shard_drop_dead(struct shard *shard)
{
	count_ended(shard);
	drop_by_number(shard);
	drop_by_memory(shard);
}

void shard_drop_for_total(struct shard *shard)
{
	if (shard->dead.count > THREADS_ENDED_MAX / SHARDS && shard->touched.count == 0) {
		count_ended(shard);
		fold_all_but(shard, THREADS_ENDED_MAX / SHARDS);
	}
}
