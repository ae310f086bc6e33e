/*
 * Rows of a page: pieces tile what they show, keep its sums, and are as many as there is room for.
 */
#include <stdlib.h>
#include <string.h>

#include "deep/report/page-rows.h"
#include "suites.h"

#define BEGIN  UINT64_C(1000)
#define LENGTH UINT64_C(1000000)

struct seen {
	const struct page_row *row;
	const struct path_spans *chosen;
	uint64_t last, ns[STATES];
	size_t pieces, items;
};

static void take(void *user, const struct page_piece *piece)
{
	struct seen *seen = user;
	uint64_t sum = 0;

	ck_assert_uint_eq(piece->begin, seen->last);
	ck_assert_uint_lt(piece->begin, piece->end);
	for (unsigned int state = 0; state < STATES; state++) {
		sum += piece->ns[state];
		seen->ns[state] += piece->ns[state];
	}
	ck_assert_uint_eq(sum, piece->end - piece->begin);
	if (piece->count > 1) {
		ck_assert_uint_lt(piece->end - piece->begin, 2 * seen->row->bin);
		for (size_t i = 0; i < seen->chosen->at.count; i++) {
			ck_assert(piece->end <= seen->chosen->at.at[i].begin ||
				  piece->begin >= seen->chosen->at.at[i].end);
		}
	}
	seen->last = piece->end;
	seen->pieces++;
	seen->items += piece->count;
}

/* A thread of @count intervals, most of them short. */
static struct deep_thread *make_thread(size_t count)
{
	struct deep_thread *thread = mem_alloc(sizeof(*thread));
	uint64_t ts = BEGIN;

	for (size_t i = 0; i < count && ts < BEGIN + LENGTH; i++) {
		*vec_push(&thread->intervals) = (struct interval){
			.begin = ts, .state = (uint8_t)(i % (STATES - 1)), .who = NOBODY
		};
		ts += rand() % 50 == 0 ? 1 + (uint64_t)rand() % 20000 : 1 + (uint64_t)rand() % 200;
	}
	thread->birth = BEGIN;
	thread->end = BEGIN + LENGTH;
	return thread;
}

START_TEST(keeps_time)
{
	struct timeline timeline = { .begin = BEGIN, .end = BEGIN + LENGTH };
	struct path_span ranges[] = { { BEGIN + 5000, BEGIN + 9000 },
				      { BEGIN + 400000, BEGIN + 401000 } };
	struct path_spans chosen = { .at = { .at = ranges, .count = 2 } };
	struct page_row rows[2];
	size_t rooms[] = { 10, 100, 1000, 100000 };

	srand((unsigned int)_i);
	*vec_push(&timeline.threads) = make_thread(6000);
	*vec_push(&timeline.threads) = make_thread(20);
	for (size_t k = 0; k < sizeof(rooms) / sizeof(rooms[0]); k++) {
		size_t within = 0;

		for (uint32_t i = 0; i < 2; i++) {
			rows[i] = page_row_thread(&timeline, i);
			within += page_row_within(&rows[i], &ranges[0]) +
				  page_row_within(&rows[i], &ranges[1]);
		}
		page_rows_fit(rows, 2, &chosen, rooms[k]);
		for (uint32_t i = 0; i < 2; i++) {
			struct seen seen = { .row = &rows[i], .chosen = &chosen, .last = BEGIN };
			uint64_t wanted[STATES];

			page_row_each(&rows[i], &chosen, take, &seen);
			ck_assert_uint_eq(seen.last, BEGIN + LENGTH);
			ck_assert_uint_eq(seen.items, timeline.threads.at[i]->intervals.count);
			ck_assert_uint_le(seen.pieces, rooms[k] + within + 4);
			timeline_thread_sums(timeline.threads.at[i], BEGIN, BEGIN + LENGTH, wanted);
			ck_assert_mem_eq(seen.ns, wanted, sizeof(wanted));
			ck_assert(rows[i].bin == 0 || (rows[i].bin & (rows[i].bin - 1)) == 0);
		}
		/* The row with few intervals leaves its room to the other. */
		ck_assert(rooms[k] < 100 || rows[1].bin == 0);
	}
	ck_assert_uint_eq(rows[0].bin, 0);
	for (uint32_t i = 0; i < 2; i++) {
		vec_fini(&timeline.threads.at[i]->intervals);
		free(timeline.threads.at[i]);
	}
	vec_fini(&timeline.threads);
}
END_TEST

Suite *suite_page_rows(void)
{
	Suite *suite = suite_create("page-rows");
	TCase *tcase = tcase_create("page-rows");

	tcase_add_loop_test(tcase, keeps_time, 0, 20);
	suite_add_tcase(suite, tcase);
	return suite;
}
