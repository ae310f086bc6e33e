/*
 * longest: the bound, the order of equals, and what outlives a thread.
 */
#include "engine/tables/longest.h"

#include "engine/tables/shard.h"
#include "suites.h"
#include "tables-fixture.h"

static struct instance of(uint64_t ns, uint64_t end)
{
	return (struct instance){ .ns = ns, .end = end, .cpu = UINT64_MAX };
}

/* Only the longest stay, however they come. */
START_TEST(keeps_the_longest)
{
	struct fixture *fixture = fixture_new(NULL);
	struct longest *longest = &fixture->tables.longest[0];

	ck_assert_uint_eq(longest->room, LONGEST_MIN);
	for (uint64_t i = 0; i < 100; i++) {
		struct instance instance = of(1 + i * 37 % 100, 0);

		longest_add(longest, &instance);
		longest_check(longest, false);
	}
	ck_assert_uint_eq(longest->all.count, LONGEST_MIN);
	for (size_t i = 0; i < LONGEST_MIN; i++) {
		ck_assert_uint_eq(longest->all.at[i].instance.ns, 100 - i);
	}
	ck_assert(!longest_may_have(longest, 90));
	ck_assert(longest_may_have(longest, 91)); /* a tie: its end may be earlier */
	fixture_free(fixture);
}
END_TEST

/* Those with a name come first, however long the others are. */
START_TEST(names_come_first)
{
	struct fixture *fixture = fixture_new(NULL);
	struct longest *longest = &fixture->tables.longest[0];

	for (uint64_t i = 0; i < 20; i++) {
		struct instance instance = of(1000 + i, 0);

		longest_add(longest, &instance);
	}
	for (uint64_t i = 0; i < 3; i++) {
		struct instance instance = of(1 + i, 0);

		instance.keyed.name[0] = 'a';
		longest_add(longest, &instance);
		longest_check(longest, false);
	}
	ck_assert_uint_eq(longest->all.count, LONGEST_MIN);
	ck_assert_uint_eq(longest->all.at[0].instance.ns, 3);
	ck_assert_uint_eq(longest->all.at[2].instance.ns, 1);
	ck_assert_uint_eq(longest->all.at[3].instance.ns, 1019);
	fixture_free(fixture);
}
END_TEST

/* Instances that go on when a window ends: a total has those of the last one. */
START_TEST(closes_levels)
{
	struct fixture *fixture = fixture_new(NULL);
	struct longest *longest = &fixture->tables.longest[0];
	struct longest *total = &fixture->tables.longest_total[0];
	struct instance instance = of(5, 9);

	for (unsigned int is_level = 0; is_level < 2; is_level++) {
		total->all.count = 0;
		longest->is_level = is_level;
		for (unsigned int window = 0; window < 3; window++) {
			longest_add(longest, &instance);
			longest_close(total, longest);
		}
		ck_assert_uint_eq(total->all.count, is_level ? 1 : 3);
	}
	longest_close(total, longest); /* a window without one */
	ck_assert_uint_eq(total->all.count, 0);
	fixture_free(fixture);
}
END_TEST

static void between(struct fixture *fixture)
{
	fixture->selection.min_ns = 10;
	fixture->selection.max_ns = 20;
	fixture->setup.selection = &fixture->selection;
	fixture->setup.top = 30;
}

START_TEST(leaves_out_by_duration)
{
	struct fixture *fixture = fixture_new(between);
	struct longest *longest = &fixture->tables.longest[0];

	ck_assert_uint_eq(longest->room, 30);
	for (uint64_t ns = 0; ns < 30; ns++) {
		struct instance instance = of(ns, 0);

		longest_add(longest, &instance);
	}
	ck_assert_uint_eq(longest->all.count, 11);
	ck_assert_uint_eq(longest->all.at[0].instance.ns, 20);
	ck_assert_uint_eq(longest->all.at[10].instance.ns, 10);
	fixture_free(fixture);
}
END_TEST

/* As many are kept as are shown, or all if some may not be shown. */
START_TEST(has_bounds)
{
	ck_assert_uint_eq(longest_shown(0), LONGEST_MIN);
	ck_assert_uint_eq(longest_shown(LONGEST_MIN + 1), LONGEST_MIN + 1);
	ck_assert_uint_eq(longest_shown(SIZE_MAX), LONGEST_MAX);
}
END_TEST

/* Instances that are equally long, in their order. */
static struct instance tie(struct fixture *fixture, size_t i)
{
	struct instance instance = of(50, i == 0 ? 1 : 2);

	instance.thread =
		i < 2 ? NULL : shard_thread(fixture_shard(fixture, i == 2 ? 4 : 9), i == 2 ? 4 : 9);
	instance.cpu = i < 4 ? 0 : 1;
	instance.keyed.id = i < 5 ? 0 : 1;
	return instance;
}

#define TIES 6

START_TEST(orders_ties)
{
	static const size_t orders[][TIES] = { { 0, 1, 2, 3, 4, 5 },
					       { 5, 4, 3, 2, 1, 0 },
					       { 3, 5, 0, 4, 1, 2 } };

	for (size_t o = 0; o < 3; o++) {
		struct fixture *fixture = fixture_new(NULL);
		struct longest *longest = &fixture->tables.longest[0];

		for (size_t i = 0; i < TIES; i++) {
			struct instance instance = tie(fixture, orders[o][i]);

			longest_add(longest, &instance);
		}
		for (size_t i = 0; i < TIES; i++) {
			struct instance instance = tie(fixture, i);

			ck_assert_mem_eq(&longest->all.at[i].instance, &instance, sizeof(instance));
		}
		longest_check(longest, false);
		longest->all.count = 0;
		fixture_free(fixture);
	}
}
END_TEST

/* What is collected shows the thread as it was, and does not use it any more. */
START_TEST(outlives_threads)
{
	struct fixture *fixture = fixture_new(NULL);
	struct longest *from = &accumulator_of_task(&fixture->tables, 0)->longest[0];
	struct longest *to = &fixture->tables.longest[0], *total = fixture->tables.longest_total;
	struct thread *thread = fixture_thread(fixture, 7, 7, "first");
	struct instance instance = of(10, 0), unknown = of(11, 0);

	instance.thread = thread;
	longest_add(from, &instance);
	longest_add(from, &unknown);
	ck_assert(!longest_is_sound(from, true)); /* one uses its thread */
	longest_collect(to, from);
	ck_assert(longest_is_sound(to, true));
	ck_assert_uint_eq(from->all.count, 0);
	strcpy(thread->view.comm, "second");
	longest_move(&total[0], to);
	ck_assert_uint_eq(to->all.count, 0);
	ck_assert_uint_eq(total[0].all.count, 2);
	ck_assert(!total[0].all.at[0].has_view);
	ck_assert(total[0].all.at[1].has_view);
	ck_assert_ptr_null(total[0].all.at[1].instance.thread);
	ck_assert_str_eq(total[0].all.at[1].view.comm, "first");
	longest_refresh(&total[0], false);
	ck_assert_str_eq(total[0].all.at[1].view.comm, "second");
	thread->incarnation++; /* its memory is another thread's now */
	strcpy(thread->view.comm, "another");
	longest_refresh(&total[0], false);
	ck_assert_str_eq(total[0].all.at[1].view.comm, "second");
	ck_assert_ptr_null(total[0].all.at[1].owner);
	fixture_free(fixture);
}
END_TEST

/* A thread takes another tid, which decides the order of what is equally long. */
START_TEST(refreshes_the_order)
{
	struct fixture *fixture = fixture_new(NULL);
	struct longest *from = &accumulator_of_task(&fixture->tables, 0)->longest[0];
	struct longest *total = fixture->tables.longest_total;
	struct thread *threads[] = { fixture_thread(fixture, 7, 7, "a"),
				     fixture_thread(fixture, 8, 8, "b") };

	for (size_t i = 0; i < 2; i++) {
		struct instance instance = of(10, 0);

		instance.thread = threads[i];
		longest_add(from, &instance);
	}
	longest_collect(total, from);
	ck_assert_int_eq(total->all.at[0].view.tid, 7);
	tables_rename_thread(&fixture->tables, &(struct rename){ .from = 8, .to = 5 });
	longest_refresh(total, false);
	ck_assert(longest_is_sound(total, true));
	ck_assert_int_eq(total->all.at[0].view.tid, 5);
	ck_assert_int_eq(total->all.at[1].view.tid, 7);
	ck_assert_ptr_eq(total->all.at[0].owner, threads[1]);
	fixture_free(fixture);
}
END_TEST

/* What bytes may say is refused: out of order, or too many. */
START_TEST(tells_unsound)
{
	struct fixture *fixture = fixture_new(NULL);
	struct longest *longest = &fixture->tables.longest[0];

	*vec_push(&longest->all) = (struct shown_instance){ .instance = of(5, 1) };
	*vec_push(&longest->all) = (struct shown_instance){ .instance = of(5, 2) };
	ck_assert(longest_is_sound(longest, true));
	longest->all.at[0].instance.end = 3;
	ck_assert(!longest_is_sound(longest, true));
	longest->all.at[1].instance.ns = 6;
	ck_assert(!longest_is_sound(longest, false));
	longest->all.count = 1;
	ck_assert(longest_is_sound(longest, true));
	longest->room = 0;
	ck_assert(!longest_is_sound(longest, true));
	longest->room = LONGEST_MIN;
	fixture_free(fixture);
}
END_TEST

Suite *suite_longest(void)
{
	Suite *suite = suite_create("longest");
	TCase *tcase = tcase_create("longest");

	tcase_add_test(tcase, keeps_the_longest);
	tcase_add_test(tcase, names_come_first);
	tcase_add_test(tcase, closes_levels);
	tcase_add_test(tcase, leaves_out_by_duration);
	tcase_add_test(tcase, has_bounds);
	tcase_add_test(tcase, orders_ties);
	tcase_add_test(tcase, outlives_threads);
	tcase_add_test(tcase, refreshes_the_order);
	tcase_add_test(tcase, tells_unsound);
	suite_add_tcase(suite, tcase);
	return suite;
}
