/*
 * pairs: see pairs.h.
 */
#include "engine/tables/pairs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/tables/tables.h"

void pairs_init(struct pairs *pairs)
{
	pairs->by_key = kh_init(pair_rows);
}

void pairs_fini(struct pairs *pairs)
{
	vec_fini(&pairs->members);
	vec_fini(&pairs->free);
	vec_fini(&pairs->rows);
	vec_fini(&pairs->touched);
	kh_destroy(pair_rows, pairs->by_key);
}

/* ---- members ---- */

static struct pair_member *member_at(const struct pairs *pairs, uint32_t member)
{
	assert_hot(member >= PAIR_FIRST);
	assert_hot(member - PAIR_FIRST < pairs->members.count);
	return &pairs->members.at[member - PAIR_FIRST];
}

static uint32_t new_member(struct pairs *pairs)
{
	if (pairs->free.count > 0) {
		return pairs->free.at[--pairs->free.count];
	}
	memset(vec_push(&pairs->members), 0, sizeof(struct pair_member));
	return (uint32_t)pairs->members.count - 1 + PAIR_FIRST;
}

static void use_member(struct pairs *pairs, uint32_t member)
{
	if (member >= PAIR_FIRST) {
		member_at(pairs, member)->uses++;
	}
}

uint32_t pairs_member(struct pairs *pairs, int32_t tid)
{
	uint32_t member = new_member(pairs);

	*member_at(pairs, member) = (struct pair_member){ .view = { .tid = tid, .pid = -1 },
							  .uses = 1,
							  .serial = PAIR_FIRST + pairs->made++ };
	return member;
}

uint32_t pairs_link(struct pairs *pairs, uint32_t member, struct thread *thread)
{
	if (thread->member == 0 && !member_at(pairs, member)->thread) {
		member_at(pairs, member)->thread = thread;
		thread->member = member;
	}
	if (thread->member != 0 && thread->member != member) {
		use_member(pairs, thread->member);
		pairs_release(pairs, member);
		return thread->member;
	}
	return member;
}

bool pairs_claim(struct pairs *pairs, uint32_t member)
{
	if (member < PAIR_FIRST || member - PAIR_FIRST >= pairs->members.count) {
		return false;
	}
	use_member(pairs, member);
	return true;
}

void pairs_release(struct pairs *pairs, uint32_t member)
{
	struct pair_member *at;

	if (member < PAIR_FIRST) {
		return;
	}
	at = member_at(pairs, member);
	assert(at->uses > 0);
	if (--at->uses > 0) {
		return;
	}
	if (at->thread) {
		at->thread->member = 0;
		at->thread = NULL;
	}
	*vec_push(&pairs->free) = member;
}

const struct thread_view *pairs_view(const struct pairs *pairs, uint32_t member)
{
	const struct pair_member *at = member_at(pairs, member);

	return at->thread ? &at->thread->view : &at->view;
}

void pairs_count_free(struct pairs *pairs)
{
	pairs->free.count = 0;
	for (uint32_t i = 0; i < pairs->members.count; i++) {
		if (pairs->members.at[i].uses == 0) {
			*vec_push(&pairs->free) = i + PAIR_FIRST;
		}
	}
}

void pairs_forget_thread(struct pairs *pairs, struct thread *thread)
{
	struct pair_member *at = member_at(pairs, thread->member);

	assert(at->thread == thread);
	at->view = thread->view;
	at->thread = NULL;
	thread->member = 0;
}

/* ---- rows ---- */

static uint64_t key_of(uint32_t of, uint32_t by)
{
	return (uint64_t)of << 32 | by;
}

static void touch(struct pairs *pairs, uint32_t row)
{
	if (!pairs->rows.at[row].is_touched) {
		pairs->rows.at[row].is_touched = true;
		*vec_push(&pairs->touched) = row;
	}
}

uint32_t pairs_row(struct pairs *pairs, uint32_t of, uint32_t by)
{
	int is_new;
	khint_t at = kh_put(pair_rows, pairs->by_key, key_of(of, by), &is_new);

	if (is_new) {
		kh_value(pairs->by_key, at) = (uint32_t)pairs->rows.count;
		*vec_push(&pairs->rows) = (struct pair_row){ .of = of, .by = by };
		use_member(pairs, of);
		use_member(pairs, by);
	}
	touch(pairs, kh_value(pairs->by_key, at));
	return kh_value(pairs->by_key, at);
}

static uint32_t serial_of(const struct pairs *pairs, uint32_t member)
{
	return member < PAIR_FIRST ? member : member_at(pairs, member)->serial;
}

uint64_t pairs_row_id(const struct pairs *pairs, const struct pair_row *row)
{
	return (uint64_t)serial_of(pairs, row->of) << 32 | serial_of(pairs, row->by);
}

struct rank {
	uint64_t most, id;
	uint32_t row;
};

/* Those with the most first. */
static int by_most(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->most != b->most) {
		return a->most > b->most ? -1 : 1;
	}
	return a->id < b->id ? -1 : a->id > b->id;
}

/* Sorts rows by their first column, those with the most first. */
static void sort_rows(struct pairs *pairs)
{
	size_t count = pairs->rows.count;
	struct rank *ranks = mem_alloc(count * sizeof(*ranks));
	struct pair_row *sorted = mem_alloc(count * sizeof(*sorted));

	for (uint32_t i = 0; i < count; i++) {
		const struct pair_row *row = &pairs->rows.at[i];

		ranks[i] = (struct rank){ row->window[0] + row->total[0], pairs_row_id(pairs, row),
					  i };
	}
	qsort(ranks, count, sizeof(*ranks), by_most);
	for (size_t i = 0; i < count; i++) {
		sorted[i] = pairs->rows.at[ranks[i].row];
	}
	memcpy(pairs->rows.at, sorted, count * sizeof(*sorted));
	free(ranks);
	free(sorted);
}

/* Finds the rows and those that are touched anew: their places have changed. */
static void index_rows(struct pairs *pairs)
{
	pairs->touched.count = 0;
	kh_clear(pair_rows, pairs->by_key);
	for (uint32_t i = 0; i < pairs->rows.count; i++) {
		const struct pair_row *row = &pairs->rows.at[i];
		int is_new;
		khint_t at = kh_put(pair_rows, pairs->by_key, key_of(row->of, row->by), &is_new);

		kh_value(pairs->by_key, at) = i;
		if (row->is_touched) {
			*vec_push(&pairs->touched) = i;
		}
	}
}

void pairs_fold(struct pairs *pairs, const struct columns *columns)
{
	size_t count = pairs->rows.count, kept = PAIRS_MAX / 2;
	struct pair_row others = { .of = PAIR_OTHERS, .by = PAIR_OTHERS };

	if (count <= PAIRS_MAX) {
		return;
	}
	sort_rows(pairs);
	for (size_t i = kept; i < count; i++) {
		columns_add(columns, others.window, pairs->rows.at[i].window);
		columns_add(columns, others.total, pairs->rows.at[i].total);
		pairs_release(pairs, pairs->rows.at[i].of);
		pairs_release(pairs, pairs->rows.at[i].by);
	}
	pairs->rows.count = kept;
	index_rows(pairs);
	kept = pairs_row(pairs, PAIR_OTHERS, PAIR_OTHERS);
	columns_add(columns, pairs->rows.at[kept].window, others.window);
	columns_add(columns, pairs->rows.at[kept].total, others.total);
}

void pairs_close(struct pairs *pairs, const struct columns *columns, bool keep)
{
	for (size_t i = 0; i < pairs->touched.count; i++) {
		struct pair_row *row = &pairs->rows.at[pairs->touched.at[i]];

		if (keep) {
			columns_close(columns, row->total, row->window);
		} else {
			columns_empty(columns, row->window);
		}
		row->is_touched = false;
	}
	pairs->touched.count = 0;
}

/* ---- for analyses ---- */

/* The shard is the one that on_ordered() gets, so that no other touches the pairs. */
static struct pairs *pairs_of(const struct shard *shard)
{
	struct tables *tables = (struct tables *)shard->layout->tables;

	assert_hot(shard == &tables->whole);
	return &tables->pairs;
}

uint32_t shard_pair_member(struct shard *shard, int32_t tid)
{
	return pairs_member(pairs_of(shard), tid);
}

uint32_t shard_pair_link(struct shard *shard, uint32_t member, struct thread *thread)
{
	return pairs_link(pairs_of(shard), member, thread);
}

bool shard_pair_claim(struct shard *shard, uint32_t member)
{
	return pairs_claim(pairs_of(shard), member);
}

void shard_pair_release(struct shard *shard, uint32_t member)
{
	pairs_release(pairs_of(shard), member);
}

uint64_t *shard_pair_row(struct shard *shard, unsigned int table, uint32_t of, uint32_t by)
{
	struct pairs *pairs = pairs_of(shard);
	uint32_t row;

	assert_hot(shard->layout->setup->analyses[shard->running]->tables[table].scope ==
		   SCOPE_PAIR);
	if (shard->left_out && shard_leaves_out(shard, table)) {
		return pairs->left_out;
	}
	row = pairs_row(pairs, of, by); /* may move the array */
	return pairs->rows.at[row].window;
}

void shard_pair_fold(struct shard *shard, unsigned int table)
{
	assert(shard->layout->setup->analyses[shard->running]->tables[table].scope == SCOPE_PAIR);
	pairs_fold(pairs_of(shard), shard->layout->pair_columns);
}

/* ---- checks ---- */

static bool is_member(const struct pairs *pairs, uint32_t member)
{
	return member < PAIR_FIRST || (member - PAIR_FIRST < pairs->members.count &&
				       pairs->members.at[member - PAIR_FIRST].uses > 0);
}

bool pairs_are_sound(const struct pairs *pairs)
{
	size_t unused = 0, touched = 0;

	for (size_t i = 0; i < pairs->members.count; i++) {
		const struct pair_member *member = &pairs->members.at[i];

		unused += member->uses == 0;
		if (member->thread && member->thread->member != i + PAIR_FIRST) {
			return false;
		}
	}
	for (size_t i = 0; i < pairs->free.count; i++) {
		uint32_t member = pairs->free.at[i];

		if (member < PAIR_FIRST || is_member(pairs, member) ||
		    member - PAIR_FIRST >= pairs->members.count) {
			return false;
		}
	}
	for (size_t i = 0; i < pairs->rows.count; i++) {
		touched += pairs->rows.at[i].is_touched;
		if (!is_member(pairs, pairs->rows.at[i].of) ||
		    !is_member(pairs, pairs->rows.at[i].by)) {
			return false;
		}
	}
	return unused == pairs->free.count && touched == pairs->touched.count &&
	       kh_size(pairs->by_key) == pairs->rows.count;
}
