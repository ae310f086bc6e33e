/*
 * episodes: the search compared with trying everything, on 400 random sequences.
 */
#include <stdlib.h>
#include <string.h>

#include "discovery/episodes.h"
#include "suites.h"

#define EVENTS_MAX 24
#define TYPES      4

struct sequence {
	uint32_t at[EVENTS_MAX];
	size_t count;
};

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static struct sequence make_sequence(unsigned int seed)
{
	struct sequence sequence = { .count = 4 + next_random(&seed) % (EVENTS_MAX - 3) };

	for (size_t i = 0; i < sequence.count; i++) {
		sequence.at[i] = next_random(&seed) % TYPES;
	}
	return sequence;
}

/* ---- brute force ---- */

/* Whether the types are in [first, last] in order, the first and the last one at its ends. */
static bool occurs(const struct sequence *sequence, const uint32_t *types, size_t count,
		   size_t first, size_t last)
{
	size_t at = 0;

	if (sequence->at[first] != types[0] || sequence->at[last] != types[count - 1]) {
		return false;
	}
	for (size_t i = first; i <= last && at < count; i++) {
		at += sequence->at[i] == types[at] && (at + 1 < count || i == last);
	}
	return at == count;
}

static bool occurs_within(const struct sequence *sequence, const uint32_t *types, size_t count,
			  size_t first, size_t last, size_t but_first, size_t but_last)
{
	for (size_t a = first; a <= last; a++) {
		for (size_t b = a; b <= last; b++) {
			if ((a != but_first || b != but_last) &&
			    occurs(sequence, types, count, a, b)) {
				return true;
			}
		}
	}
	return false;
}

/* Minimal occurrences, in order. */
static size_t minimal(const struct sequence *sequence, const uint32_t *types, size_t count,
		      struct episode_window *ret)
{
	size_t found = 0;

	for (size_t a = 0; a < sequence->count; a++) {
		for (size_t b = a; b < sequence->count; b++) {
			if (occurs(sequence, types, count, a, b) &&
			    !occurs_within(sequence, types, count, a, b, a, b)) {
				ret[found++] = (struct episode_window){ .first = (uint32_t)a,
									.last = (uint32_t)b };
			}
		}
	}
	return found;
}

/* The largest set without overlap, by trying every one that may come next. */
static size_t support(const struct episode_window *windows, size_t count, size_t from, int64_t end)
{
	size_t best = 0;

	for (size_t i = from; i < count; i++) {
		if (windows[i].first > end) {
			size_t with = 1 + support(windows, count, i + 1, windows[i].last);

			best = with > best ? with : best;
		}
	}
	return best;
}

/* ---- tests ---- */

static void add_places(const struct sequence *sequence, uint32_t type, uint32_t *ret, size_t *count)
{
	*count = 0;
	for (uint32_t i = 0; i < sequence->count; i++) {
		if (sequence->at[i] == type) {
			ret[(*count)++] = i;
		}
	}
}

/* Windows of an episode, type by type. */
static void windows_of(const struct sequence *sequence, const uint32_t *types, size_t count,
		       episode_windows *ret)
{
	episode_windows before = { 0 };
	uint32_t places[EVENTS_MAX];
	size_t place_count;

	add_places(sequence, types[0], places, &place_count);
	for (size_t i = 0; i < place_count; i++) {
		*vec_push(ret) = (struct episode_window){ .first = places[i], .last = places[i] };
	}
	for (size_t t = 1; t < count; t++) {
		episode_windows swap = before;

		add_places(sequence, types[t], places, &place_count);
		episodes_extend(ret, places, place_count, &swap);
		before = *ret;
		*ret = swap;
	}
	vec_fini(&before);
}

/* Every episode of up to three types. */
START_TEST(finds_minimal_occurrences)
{
	struct sequence sequence = make_sequence((unsigned int)_i);

	for (uint32_t code = 0; code < TYPES * TYPES * TYPES; code++) {
		const uint32_t types[] = { code % TYPES, code / TYPES % TYPES,
					   code / TYPES / TYPES };

		for (size_t count = 1; count <= 3; count++) {
			struct episode_window wanted[EVENTS_MAX];
			episode_windows found = { 0 }, apart = { 0 };
			size_t n = minimal(&sequence, types, count, wanted);

			if ((count > 1 && types[0] == types[1]) ||
			    (count > 2 && (types[2] == types[0] || types[2] == types[1]))) {
				continue;
			}
			windows_of(&sequence, types, count, &found);
			ck_assert_uint_eq(found.count, n);
			for (size_t i = 0; i < n; i++) {
				ck_assert_uint_eq(found.at[i].first, wanted[i].first);
				ck_assert_uint_eq(found.at[i].last, wanted[i].last);
			}
			episodes_apart(&found, &apart);
			ck_assert_uint_eq(apart.count, support(wanted, n, 0, -1));
			vec_fini(&found);
			vec_fini(&apart);
		}
	}
}
END_TEST

/* Whether an episode has the support, and is part of no longer one that has it. */
static bool is_wanted(const struct sequence *sequence, const uint32_t *types, size_t count,
		      size_t support_min)
{
	struct episode_window windows[EVENTS_MAX];

	if (support(windows, minimal(sequence, types, count, windows), 0, -1) < support_min) {
		return false;
	}
	for (size_t at = 0; count < TYPES && at <= count; at++) {
		for (uint32_t type = 0; type < TYPES; type++) {
			uint32_t longer[TYPES];
			bool is_in = false;

			for (size_t i = 0; i < count; i++) {
				is_in |= types[i] == type;
				longer[i + (i >= at)] = types[i];
			}
			longer[at] = type;
			if (!is_in &&
			    support(windows, minimal(sequence, longer, count + 1, windows), 0,
				    -1) >= support_min) {
				return false;
			}
		}
	}
	return true;
}

/* Counts the wanted episodes that begin with @types, and checks that each was found. */
static size_t count_wanted(const struct sequence *sequence, uint32_t *types, size_t count,
			   size_t support_min, const struct episodes *found)
{
	size_t wanted = 0;

	if (count > 0 && is_wanted(sequence, types, count, support_min)) {
		bool is_found = false;

		for (size_t i = 0; i < found->at.count; i++) {
			is_found |=
				found->at.at[i].count == count &&
				memcmp(found->at.at[i].types, types, count * sizeof(*types)) == 0;
		}
		ck_assert(is_found);
		wanted++;
	}
	for (uint32_t type = 0; count < TYPES && type < TYPES; type++) {
		bool is_in = false;

		for (size_t i = 0; i < count; i++) {
			is_in |= types[i] == type;
		}
		if (!is_in) {
			types[count] = type;
			wanted += count_wanted(sequence, types, count + 1, support_min, found);
		}
	}
	return wanted;
}

START_TEST(finds_all_episodes)
{
	struct sequence sequence = make_sequence((unsigned int)_i);
	size_t support_min = 1 + (size_t)_i % 4;
	struct episodes_config config = { .events = sequence.at,
					  .count = sequence.count,
					  .type_count = TYPES,
					  .support_min = support_min,
					  .start = -1,
					  .is_exact = true,
					  .work_max = UINT64_MAX };
	struct episodes episodes;
	uint32_t types[TYPES];

	episodes_find(&config, &episodes);
	ck_assert(!episodes.is_cut);
	ck_assert_uint_eq(episodes.at.count,
			  count_wanted(&sequence, types, 0, support_min, &episodes));
	for (size_t i = 0; i < episodes.at.count; i++) {
		ck_assert_uint_ge(episodes.at.at[i].windows.count, support_min);
	}
	episodes_fini(&episodes);
}
END_TEST

/* A loop of many types is found whole, without a look at each subset of them (2^20). */
START_TEST(finds_long_loops)
{
	enum { LONG = 20, TIMES = 40 };
	static uint32_t events[LONG * TIMES];
	struct episodes_config config = { .events = events,
					  .count = LONG * TIMES,
					  .type_count = LONG + 1,
					  .support_min = TIMES - 4,
					  .start = 0,
					  .is_exact = _i == 0,
					  .work_max = 2000000 };
	struct episodes episodes;

	for (size_t i = 0; i < LONG * TIMES; i++) {
		events[i] = (uint32_t)(i % LONG);
	}
	if (!config.is_exact) {
		events[5 * LONG + 7] = LONG; /* once another event took the place */
	}
	episodes_find(&config, &episodes);
	ck_assert(!episodes.is_cut);
	ck_assert_uint_eq(episodes.at.count, 1);
	ck_assert_uint_eq(episodes.at.at[0].count, LONG);
	ck_assert_uint_eq(episodes.at.at[0].windows.count, TIMES - (config.is_exact ? 0 : 1));
	episodes_fini(&episodes);
}
END_TEST

START_TEST(stops_when_it_is_told)
{
	static const uint32_t loop[] = { 0, 1, 0, 1, 0, 1 };
	atomic_bool stop = true;
	struct episodes_config config = { .events = loop,
					  .count = 6,
					  .type_count = 2,
					  .support_min = 3,
					  .start = -1,
					  .work_max = UINT64_MAX };
	struct episodes episodes;

	episodes_find(&config, &episodes);
	ck_assert(!episodes.is_cut);
	episodes_fini(&episodes);
	config.stop = &stop;
	episodes_find(&config, &episodes);
	ck_assert(episodes.is_cut);
	episodes_fini(&episodes);
}
END_TEST

START_TEST(stops_at_the_limit)
{
	static const uint32_t loop[] = { 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3 };
	struct episodes_config config = { .events = loop,
					  .count = 12,
					  .type_count = 4,
					  .support_min = 3,
					  .start = 0,
					  .work_max = 10000 };
	struct episodes episodes;

	episodes_find(&config, &episodes);
	ck_assert_uint_eq(episodes.at.count, 1);
	ck_assert_uint_eq(episodes.at.at[0].count, 4);
	ck_assert_uint_eq(episodes.at.at[0].windows.count, 3);
	ck_assert(!episodes.is_cut);
	episodes_fini(&episodes);
	config.work_max = 2;
	episodes_find(&config, &episodes);
	ck_assert(episodes.is_cut);
	episodes_fini(&episodes);
	config.count = 0;
	episodes_find(&config, &episodes);
	ck_assert_uint_eq(episodes.at.count, 0);
	episodes_fini(&episodes);
}
END_TEST

Suite *suite_episodes(void)
{
	Suite *suite = suite_create("episodes");
	TCase *tcase = tcase_create("episodes");

	tcase_add_loop_test(tcase, finds_minimal_occurrences, 0, 400);
	tcase_add_loop_test(tcase, finds_all_episodes, 0, 400);
	tcase_add_loop_test(tcase, finds_long_loops, 0, 2);
	tcase_add_test(tcase, stops_when_it_is_told);
	tcase_add_test(tcase, stops_at_the_limit);
	suite_add_tcase(suite, tcase);
	return suite;
}
