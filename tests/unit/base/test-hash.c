/*
 * hash: maps against a plain list of the same pairs, and what must not be worse than it looks.
 */
#include <stdio.h>

#include "base/hash.h"
#include "suites.h"

HASH_MAP(numbers, uint32_t)
HASH_MAP_TEXT(words, int)

#define KEYS  64
#define STEPS 20000

/* Few keys, some of which share a place with others at the end of the table: clusters go round. */
static uint64_t key_of(uint32_t random)
{
	return random % 4 == 0 ? random % KEYS : (uint64_t)(random % KEYS) << 40;
}

static void check_all(const struct numbers *map, const uint64_t *keys, const uint32_t *values,
		      size_t count)
{
	size_t seen = 0;

	ck_assert_uint_eq(map->used, count);
	for (size_t i = 0; i < count; i++) {
		const uint32_t *value = numbers_get(map, keys[i]);

		ck_assert_ptr_nonnull(value);
		ck_assert_uint_eq(*value, values[i]);
	}
	HASH_EACH(numbers, map, one) {
		seen++;
	}
	ck_assert_uint_eq(seen, count);
}

START_TEST(is_like_a_list)
{
	struct numbers map = { 0 };
	uint64_t keys[2 * KEYS], key;
	uint32_t values[2 * KEYS], random = (uint32_t)_i + 1;
	size_t count = 0, at;
	bool is_new;

	for (size_t step = 0; step < rounds(STEPS); step++) {
		random = random * 1103515245 + 12345;
		key = key_of(random >> 8);
		for (at = 0; at < count && keys[at] != key; at++) {
		}
		if (random >> 30 == 0) {
			ck_assert_int_eq(numbers_drop(&map, key), at < count);
			if (at < count) {
				count--;
				keys[at] = keys[count];
				values[at] = values[count];
			}
		} else {
			*numbers_put(&map, key, &is_new) = (uint32_t)step;
			ck_assert_int_eq(is_new, at == count);
			keys[at] = key;
			values[at] = (uint32_t)step;
			count += is_new;
		}
		if (step % 100 == 0) {
			check_all(&map, keys, values, count);
		}
	}
	numbers_clear(&map);
	check_all(&map, keys, values, 0);
	*numbers_put(&map, 1, NULL) = 2;
	numbers_fini(&map);
	ck_assert_ptr_null(numbers_get(&map, 1)); /* it can be used again */
}
END_TEST

/* Each of those that stay is seen, whatever moves up meanwhile. */
START_TEST(removes_on_the_way)
{
	struct numbers map = { 0 };
	struct numbers_entry *one;
	uint32_t seen[KEYS] = { 0 };

	for (uint32_t i = 0; i < KEYS; i++) {
		*numbers_put(&map, (uint64_t)i << (_i % 40), NULL) = i;
	}
	one = numbers_next(&map, NULL, NULL);
	while (one) {
		seen[one->value]++;
		one = one->value % 3 == 0 ? numbers_remove(&map, NULL, one)
					  : numbers_next(&map, NULL, one);
	}
	for (uint32_t i = 0; i < KEYS; i++) {
		ck_assert_uint_ge(seen[i], 1);
		ck_assert_int_eq(numbers_get(&map, (uint64_t)i << (_i % 40)) != NULL, i % 3 != 0);
	}
	numbers_fini(&map);
}
END_TEST

START_TEST(finds_texts)
{
	static const char *const texts[] = { "", "a", "b", "ab", "ba" };
	struct words map = { 0 };
	char text[3];

	ck_assert_ptr_null(words_get(&map, ""));
	for (int i = 0; i < 5; i++) {
		*words_put(&map, texts[i], NULL) = i;
	}
	for (int i = 0; i < 5; i++) {
		(void)snprintf(text, sizeof(text), "%s", texts[i]); /* not the same pointer */
		ck_assert_int_eq(*words_get(&map, text), i);
	}
	ck_assert(!words_drop(&map, "c"));
	words_fini(&map);
}
END_TEST

/* The keys that code here has: their places are spread, so that a look-up reads few entries. */
START_TEST(spreads_keys)
{
	static const struct {
		unsigned int shift;
		uint64_t base;
	} kinds[] = { { 0, 0 }, { 3, 0 }, { 12, 0xFFFF888000000000 }, { 32, 7 }, { 40, 3 } };
	struct numbers map = { 0 };
	uint64_t far = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		*numbers_put(&map, kinds[_i].base + ((uint64_t)i << kinds[_i].shift), NULL) = i;
	}
	HASH_EACH(numbers, &map, one) {
		far += (uint32_t)((uint32_t)(one - map.at) - hash_u64(one->key)) & map.mask;
	}
	ck_assert_uint_lt(far, 2000); /* entries beyond their places, of all 1000 */
	numbers_fini(&map);
}
END_TEST

Suite *suite_hash(void)
{
	Suite *suite = suite_create("hash");
	TCase *tcase = tcase_create("hash");

	tcase_add_loop_test(tcase, is_like_a_list, 0, 4);
	tcase_add_loop_test(tcase, removes_on_the_way, 0, 40);
	tcase_add_test(tcase, finds_texts);
	tcase_add_loop_test(tcase, spreads_keys, 0, 5);
	suite_add_tcase(suite, tcase);
	return suite;
}
