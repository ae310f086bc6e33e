/*
 * test-partial: how groups and records move from a draft to a partial, chains, and the cache.
 */
#include <string.h>

#include "engine/contract/partial.h"
#include "engine/contract/row-key.h"
#include "suites.h"

/* Keys of two shards, of an entity, and without a shard, not in order; 65 is of the shard of 1. */
static const int64_t keys[] = { 65, KEY_LOST, 2, 1, KEY_INITIAL, 0, 130 };
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* Two rounds of a record for each key from the last on, of which the first has none. */
static void fill(struct partial *draft, uint64_t ts)
{
	for (size_t i = 0; i < KEYS; i++) {
		ck_assert_uint_eq(partial_add_group(draft, keys[i]), i);
	}
	for (unsigned int round = 0; round < 2; round++) {
		for (size_t i = KEYS - 1; i > 0; i--) {
			uint32_t at = partial_add_record(draft, (uint32_t)i, ts, RECORD_OWN);

			draft->records.at[at].arg64 = ts++;
		}
	}
}

static void take(struct partial *partial, struct partial *draft, int64_t window)
{
	struct slice *slice = vec_push(&partial->slices);

	*slice = (struct slice){ .window = window, .chains = RECORD_NONE };
	partial_take_slice(partial, slice, draft, 0, (uint32_t)draft->groups.count);
	partial_take_order(partial, draft);
}

START_TEST(groups_lie_by_shard)
{
	static const int64_t sorted[] = { 0, 65, 1, 2, 130, KEY_LOST, KEY_INITIAL };
	struct partial *partial = partial_new(), *draft = partial_new();

	for (unsigned int s = 0; s < 2; s++) {
		const struct slice *slice;

		fill(draft, 1000 * s);
		take(partial, draft, s);
		slice = &partial->slices.at[s];
		ck_assert_uint_eq(slice->group_count, KEYS);
		ck_assert_uint_eq(slice->shards[0], s * KEYS);
		ck_assert_uint_eq(slice->shards[1], s * KEYS + 1);
		ck_assert_uint_eq(slice->shards[2], s * KEYS + 3);
		ck_assert_uint_eq(slice->shards[3], s * KEYS + 5);
		ck_assert_uint_eq(slice->shards[SHARDS], s * KEYS + 5);
		ck_assert_uint_eq(slice->shards[SHARDS + 1], s * KEYS + 7);
		for (size_t i = 0; i < KEYS; i++) {
			const struct group *group = &partial->groups.at[s * KEYS + i];

			ck_assert_int_eq(group->key, sorted[i]);
			ck_assert_int_eq(keys[group->made], group->key);
		}
	}
	partial_check(partial);
	ck_assert_uint_eq(draft->groups.count, 0);
	ck_assert_uint_eq(draft->records.count, 0);
	partial_free(draft);
	partial_free(partial);
}
END_TEST

START_TEST(records_lie_by_group)
{
	struct partial *partial = partial_new(), *draft = partial_new();
	uint64_t ts = 0;

	for (unsigned int s = 0; s < 2; s++) {
		fill(draft, 1000 * s);
		take(partial, draft, s);
	}
	ck_assert_uint_eq(partial->records.count, 4 * (KEYS - 1));
	ck_assert_uint_eq(partial->groups.at[1].first, RECORD_NONE); /* 65 */
	for (size_t i = 0; i < partial->records.count; i += 2) {
		const struct record *record = &partial->records.at[i];
		const struct group *group = &partial->groups.at[record->group];

		ck_assert_uint_eq(group->first, i);
		ck_assert_uint_eq(group->last, i + 1);
		ck_assert_uint_eq(group->ts, record->ts);
		ck_assert_uint_eq(record->next, i + 1);
		ck_assert_uint_eq(record[1].next, RECORD_NONE);
		ck_assert_uint_eq(record[1].ts, record->ts + KEYS - 1);
	}
	for (size_t i = 0; i < partial->made.count; i++) {
		const struct record *record = partial_made(partial, i);

		ck_assert(i == 0 || record->ts > ts);
		ts = record->ts;
		ck_assert_uint_eq(record->arg64, ts);
	}
	partial_free(draft);
	partial_free(partial);
}
END_TEST

START_TEST(empty_slice_takes_nothing)
{
	struct partial *partial = partial_new(), *draft = partial_new();

	take(partial, draft, 3);
	ck_assert_uint_eq(partial->slices.at[0].shards[SHARDS + 1], 0);
	fill(draft, 5);
	take(partial, draft, 4);
	take(partial, draft, 5);
	ck_assert_uint_eq(partial->slices.at[2].shards[0], KEYS);
	ck_assert_uint_eq(partial->slices.at[2].shards[SHARDS + 1], KEYS);
	partial_check(partial);
	partial_free(draft);
	partial_free(partial);
}
END_TEST

/* What the merger adds to a slice is found by shard, the last first. */
START_TEST(chains_are_by_shard)
{
	struct partial *partial = partial_new(), *draft = partial_new();
	uint32_t first, second, other;
	const struct slice_chains *chains;

	fill(draft, 5);
	take(partial, draft, 4);
	first = partial_add_group(partial, 66);
	partial_chain_group(partial, &partial->slices.at[0], first);
	second = partial_add_group(partial, 2);
	partial_chain_group(partial, &partial->slices.at[0], second);
	other = partial_add_group(partial, KEY_CPU(3));
	partial_chain_group(partial, &partial->slices.at[0], other);
	chains = &partial->chains.at[partial->slices.at[0].chains];
	ck_assert_uint_eq(chains->first[2], second);
	ck_assert_uint_eq(partial->groups.at[second].next, first);
	ck_assert_uint_eq(partial->groups.at[first].next, RECORD_NONE);
	ck_assert_uint_eq(chains->first[3], other);
	ck_assert_uint_eq(chains->first[0], RECORD_NONE);
	partial_free(draft);
	partial_free(partial);
}
END_TEST

/* A record may move to another group. */
START_TEST(chained_records_keep_their_order)
{
	struct partial *partial = partial_new();
	uint32_t to = partial_add_group(partial, 5), from = partial_add_group(partial, KEY_LOST);
	uint32_t a = partial_add_record(partial, from, 10, RECORD_OWN);
	uint32_t b = partial_add_record(partial, from, 20, RECORD_OWN);

	partial_chain(partial, to, a);
	partial_chain(partial, to, b);
	ck_assert_uint_eq(partial->groups.at[to].ts, 10);
	ck_assert_uint_eq(partial->groups.at[to].first, a);
	ck_assert_uint_eq(partial->groups.at[to].last, b);
	ck_assert_uint_eq(partial->records.at[a].next, b);
	ck_assert_uint_eq(partial->records.at[b].next, RECORD_NONE);
	ck_assert_uint_eq(partial->records.at[b].group, to);
	partial_free(partial);
}
END_TEST

START_TEST(cache_gives_empty_partials)
{
	struct partial_cache *cache = partial_cache_new(1);
	struct partial *partial = partial_cache_take(cache), *draft = partial_new(), *again;

	fill(draft, 5);
	take(partial, draft, 4);
	*vec_push(&partial->segments) = (struct segment){ .end = 1 };
	*vec_push(&partial->numbers) = 7;
	partial->slices_used = 1;
	partial->first_ts = 5;
	partial->events = 1;
	partial_cache_put(cache, partial);
	partial_cache_put(cache, partial_new()); /* which it has no room for */
	again = partial_cache_take(cache);
	ck_assert_ptr_eq(again, partial);
	ck_assert_uint_gt(again->records.room, 0);
	ck_assert_uint_eq(again->segments.count, 0);
	ck_assert_uint_eq(again->numbers.count, 0);
	ck_assert_uint_eq(again->first_ts, UINT64_MAX);
	ck_assert_uint_eq(again->slices_used, 0);
	partial_check(again);
	partial_free(again);
	partial_free(draft);
	partial_cache_free(cache);
}
END_TEST

/* ---- keys ---- */

START_TEST(entities_have_shards_of_their_own)
{
	ck_assert_uint_eq(key_shard(KEY_ENTITY(1, 3)), 3);
	ck_assert_uint_eq(key_shard(KEY_ENTITY(2, 64)), 0);
	ck_assert_int_ne(KEY_ENTITY(1, 3), KEY_ENTITY(2, 3));
	ck_assert_int_ne(KEY_CPU(3), KEY_ENTITY(0, 3));
	ck_assert_uint_eq(key_shard(KEY_CPU(65)), 1);
	ck_assert_uint_eq(key_shard(-1), SHARDS - 1); /* a tid that a trace made up */
}
END_TEST

/* Keys are bytes: after the name there is nothing. */
START_TEST(row_keys_end_with_their_name)
{
	static const char long_name[] = "a name that is longer than a key has room for";
	struct row_key a = row_key_of(1, "sda1", 3), b = row_key_of(1, "sda\0x", 5);
	volatile size_t len =
		sizeof(long_name); /* GCC 12 warns of a copy that this length excludes */
	struct row_key cut = row_key_of(1, long_name, len);

	ck_assert(row_key_equal(&a, &b));
	ck_assert_uint_eq(row_key_hash(&a), row_key_hash(&b));
	b = row_key_of(2, "sda", 3);
	ck_assert(!row_key_equal(&a, &b));
	ck_assert_uint_eq(strlen(cut.name), ROW_KEY_NAME_BYTES - 1);
	ck_assert_int_eq(strncmp(cut.name, long_name, ROW_KEY_NAME_BYTES - 1 - HASH_END_BYTES), 0);
	a = row_key_of(1, NULL, 7);
	ck_assert_str_eq(a.name, "");
}
END_TEST

Suite *suite_partial(void)
{
	Suite *suite = suite_create("partial");
	TCase *tcase = tcase_create("partial");

	tcase_add_test(tcase, groups_lie_by_shard);
	tcase_add_test(tcase, records_lie_by_group);
	tcase_add_test(tcase, empty_slice_takes_nothing);
	tcase_add_test(tcase, chains_are_by_shard);
	tcase_add_test(tcase, chained_records_keep_their_order);
	tcase_add_test(tcase, cache_gives_empty_partials);
	tcase_add_test(tcase, entities_have_shards_of_their_own);
	tcase_add_test(tcase, row_keys_end_with_their_name);
	suite_add_tcase(suite, tcase);
	return suite;
}
