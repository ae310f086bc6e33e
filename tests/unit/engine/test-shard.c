/*
 * shard: the life of threads: forks, renames, deaths, and the bound of those that have a row.
 */
#include "base/account.h"
#include "engine/tables/shard.h"

#include "suites.h"
#include "tables-fixture.h"

/* Of one shard, so that each is a neighbour of the next. */
static int64_t key_of(size_t i)
{
	return (int64_t)(64 * i + 3);
}

static void close_window(struct fixture *fixture, bool keep)
{
	tables_close_window(&fixture->tables, keep);
	for (size_t s = 0; s < SHARDS; s++) {
		shard_close_window(&fixture->tables.shards[s]);
	}
	tables_check(&fixture->tables);
}

START_TEST(finds_threads)
{
	struct fixture *fixture = fixture_new(NULL);
	struct shard *shard = fixture_shard(fixture, key_of(0));
	struct thread *threads[1000];

	ck_assert_ptr_null(shard_thread_known(shard, key_of(0)));
	for (size_t i = 0; i < 1000; i++) {
		threads[i] = shard_thread(shard, key_of(i));
		ck_assert_int_eq(shard_tid(threads[i]), key_of(i));
		ck_assert_int_eq(threads[i]->view.pid, -1);
		ck_assert_uint_eq(threads[i]->cpu, UINT32_MAX);
		ck_assert_uint_eq((uintptr_t)threads[i] % LINE_BYTES, 0);
	}
	for (size_t i = 0; i < 1000; i++) {
		ck_assert_ptr_eq(shard_thread(shard, key_of(i)), threads[i]);
		ck_assert_ptr_eq(shard_thread_known(shard, key_of(i)), threads[i]);
	}
	tables_check(&fixture->tables);
	fixture_free(fixture);
}
END_TEST

/* Keys that are no tids are unknown threads and entities, which are numbered. */
START_TEST(makes_entities)
{
	struct fixture *fixture = fixture_new(NULL);
	int64_t key = KEY_ENTITY(2, 77);
	struct thread *entity = shard_thread(fixture_shard(fixture, key), key);
	struct thread *nobody = shard_thread(fixture_shard(fixture, KEY_NOBODY), KEY_NOBODY);

	ck_assert_int_eq(shard_tid(entity), -1);
	ck_assert_uint_eq(shard_entity_id(entity), 77);
	ck_assert_int_eq(shard_tid(nobody), -1);
	ck_assert_uint_eq(shard_entity_id(nobody), UINT64_MAX);
	fixture_free(fixture);
}
END_TEST

/* A fork under a tid in use: the former thread had ended, and keeps its row. */
START_TEST(forks)
{
	struct fixture *fixture = fixture_new(NULL);
	struct shard *shard = fixture_shard(fixture, 7);
	struct thread *first = shard_thread(shard, 7), *second;

	fixture_add(fixture, 7, first, 10);
	second = shard_thread_fork(shard, 7, 500);
	fixture_add(fixture, 7, second, 1);
	ck_assert_ptr_ne(second, first);
	ck_assert_ptr_eq(shard_thread_known(shard, 7), second);
	ck_assert(shard_is_dead(first));
	ck_assert(!shard_is_dead(second));
	ck_assert_uint_eq(shard_incarnation(second), 1);
	ck_assert_uint_eq(shard->dead.count, 1);
	ck_assert_uint_eq(shard->dead.at[0].ts, 500);
	close_window(fixture, true);
	ck_assert_uint_eq(fixture_total(fixture, first)[SUM], 10);
	ck_assert_uint_eq(fixture_total(fixture, second)[SUM], 1);
	ck_assert_uint_eq(shard_incarnation(shard_thread_fork(shard, 7, 600)), 2);
	ck_assert_ptr_eq(shard_thread_fork(shard, 71, 700), shard_thread_known(shard, 71));
	ck_assert_uint_eq(shard->dead.count, 2); /* none had the tid 71 */
	fixture_free(fixture);
}
END_TEST

/* A thread goes on under another tid with its figures; the thread of that tid ends. */
START_TEST(renames)
{
	struct fixture *fixture = fixture_new(NULL);
	struct shard *from = fixture_shard(fixture, 8), *to = fixture_shard(fixture, 70);
	struct thread *thread = shard_thread(from, 8), *leader = shard_thread(to, 70), *fresh;

	ck_assert_ptr_ne(from, to);
	fixture_add(fixture, 8, thread, 5);
	shard_open_oncpu(from, &(struct open_oncpu){ .cpu = 1, .key = 8, .thread = thread });
	*vec_push(&from->leaving) = (struct held_out){ .ts = 77, .thread = thread };
	tables_rename_thread(&fixture->tables, &(struct rename){ .ts = 9, .from = 8, .to = 70 });
	ck_assert_uint_eq(from->leaving.count, 0);
	ck_assert_uint_eq(to->leaving.count, 1);
	ck_assert_uint_eq(to->leaving.at[0].ts, 77);
	ck_assert_ptr_eq(shard_thread_known(to, 70), thread);
	ck_assert_ptr_null(shard_thread_known(from, 8));
	ck_assert_ptr_null(shard_oncpu(from, 1, 8));
	ck_assert_int_eq(shard_tid(thread), 70);
	ck_assert_int_eq(thread->view.pid, 70);
	ck_assert_uint_eq(shard_incarnation(thread), 1);
	ck_assert(shard_is_dead(leader));
	ck_assert(!shard_is_dead(thread));
	ck_assert_uint_eq(from->touched.count, 0);
	ck_assert_uint_eq(to->touched.count, 1);
	tables_check(&fixture->tables);
	fresh = shard_thread(from, 8);
	ck_assert_ptr_ne(fresh, thread);
	ck_assert_uint_eq(fresh->resident_at, 0); /* where the one before was */
	close_window(fixture, true);
	ck_assert_uint_eq(fixture_total(fixture, thread)[SUM], 5);
	ck_assert_uint_eq(fixture_total(fixture, fresh)[SUM], 0);
	fixture_free(fixture); /* memory of @thread is from another shard */
}
END_TEST

/* Within a shard; and a thread that was taken for dead lives on. */
START_TEST(renames_the_dead)
{
	struct fixture *fixture = fixture_new(NULL);
	struct shard *shard = fixture_shard(fixture, key_of(0));
	struct thread *thread = shard_thread(shard, key_of(0));
	struct rename rename = { .ts = 9, .from = (int32_t)key_of(0), .to = (int32_t)key_of(1) };

	(void)shard_thread(shard, key_of(2));
	shard_thread_ends(shard, thread, 5);
	tables_rename_thread(&fixture->tables, &rename);
	ck_assert(!shard_is_dead(thread));
	ck_assert_uint_eq(shard->dead.count, 0);
	ck_assert_uint_eq(shard_incarnation(thread), 1); /* its own row before had 0 */
	ck_assert_ptr_eq(shard_thread_known(shard, key_of(1)), thread);
	ck_assert_uint_eq(shard->resident.count, 2); /* the hole was filled */
	ck_assert_uint_eq(shard->resident_free.count, 0);
	/* Who has the old tid now has no row of the one that left. */
	ck_assert_uint_eq(shard_incarnation(shard_thread(shard, key_of(0))), 1);
	tables_check(&fixture->tables);
	fixture_free(fixture);
}
END_TEST

/* ---- deaths ---- */

static unsigned int ends;

static void on_window_end(struct shard *shard, struct thread *thread, uint64_t end)
{
	ends += (unsigned int)end;
}

static void with_window_end(struct fixture *fixture)
{
	fixture->analysis.on_window_end = on_window_end;
}

static unsigned int end_window(struct fixture *fixture)
{
	ends = 0;
	tables_end_window(&fixture->tables, 1);
	close_window(fixture, true);
	return ends;
}

/* The end of a window is reported for the living, and once for the dead. */
START_TEST(skips_the_dead)
{
	struct fixture *fixture = fixture_new(with_window_end);
	struct shard *shard = fixture_shard(fixture, key_of(0));

	for (size_t i = 0; i < 100; i++) {
		(void)shard_thread(shard, key_of(i));
	}
	ck_assert_uint_eq(end_window(fixture), 100);
	for (size_t i = 0; i < 70; i++) {
		shard_thread_ends(shard, shard_thread(shard, key_of(i)), 10);
		shard_thread_ends(shard, shard_thread(shard, key_of(i)), 20); /* known */
	}
	ck_assert_uint_eq(shard->dead.count, 70);
	ck_assert_uint_eq(shard->dead.at[0].ts, 10);
	ck_assert_uint_eq(end_window(fixture), 100);
	ck_assert_uint_eq(end_window(fixture), 30);
	shard_reopen(shard, shard_thread(shard, key_of(65))); /* a late record */
	ck_assert_uint_eq(end_window(fixture), 31);
	ck_assert_uint_eq(end_window(fixture), 30);
	/* One goes on elsewhere, and a new thread has its place. */
	tables_rename_thread(&fixture->tables,
			     &(struct rename){ .from = (int32_t)key_of(0), .to = 2 });
	ck_assert_uint_eq(shard_thread(shard, key_of(200))->resident_at, 0);
	ck_assert_uint_eq(end_window(fixture), 32);
	fixture_free(fixture);
}
END_TEST

static void with_exits(struct fixture *fixture)
{
	with_window_end(fixture);
	fixture->analysis.is_over_at_exit = true;
}

/* A thread whose exit was reported is not looked at again, if the analysis says so. */
START_TEST(skips_exits)
{
	for (int skips = 0; skips < 2; skips++) {
		struct fixture *fixture = fixture_new(skips ? with_exits : with_window_end);
		struct shard *shard = fixture_shard(fixture, key_of(0));

		for (size_t i = 0; i < 10; i++) {
			(void)shard_thread(shard, key_of(i));
		}
		for (size_t i = 0; i < 4; i++) {
			shard_thread_exits(shard, shard_thread(shard, key_of(i)), 10);
		}
		shard_thread_ends(shard, shard_thread(shard, key_of(4)), 10);
		ck_assert_uint_eq(shard->dead.count, 5);
		ck_assert_uint_eq(end_window(fixture), skips ? 6 : 10);
		ck_assert_uint_eq(end_window(fixture), 5);
		shard_reopen(shard, shard_thread(shard, key_of(0))); /* a late record */
		ck_assert_uint_eq(end_window(fixture), 6);
		fixture_free(fixture);
	}
}
END_TEST

#define KEPT      (THREADS_ENDED_MAX / SHARDS)
#define DEAD_MOST ((THREADS_ENDED_MAX + THREADS_ENDED_MORE) / SHARDS)

static unsigned int forgotten;

static void on_forget(void *state)
{
	forgotten++;
}

static void with_forget(struct fixture *fixture)
{
	fixture->analysis.on_forget = on_forget;
}

/* Too many threads that ended: those that ended first become one row, and lose nothing. */
START_TEST(bounds_threads)
{
	struct fixture *fixture = fixture_new(with_forget);
	struct shard *shard = fixture_shard(fixture, key_of(0));
	struct thread *live = shard_thread(shard, key_of(DEAD_MOST + 1)), *newest;
	uint64_t sum = 0;

	forgotten = 0;
	for (size_t i = 0; i <= DEAD_MOST; i++) {
		struct thread *thread = shard_thread(shard, key_of(i));

		fixture_add(fixture, key_of(i), thread, 2);
		shard_open_oncpu(shard, &(struct open_oncpu){ .cpu = (uint32_t)i % 3,
							      .key = key_of(i),
							      .thread = thread });
		shard_thread_ends(shard, thread, 100 + i);
	}
	newest = shard_thread(shard, key_of(DEAD_MOST));
	shard_close_oncpu(shard, 0, key_of(DEAD_MOST - 1));
	ck_assert_ptr_null(shard->other);
	close_window(fixture, true);
	ck_assert_ptr_nonnull(shard->other);
	ck_assert_uint_eq(forgotten, DEAD_MOST + 1 - KEPT);
	ck_assert_uint_eq(fixture_total(fixture, shard->other)[SUM], 2 * forgotten);
	ck_assert_uint_eq(fixture_total(fixture, shard->other)[MOST], 2);
	ck_assert_uint_eq(column_histogram(fixture_total(fixture, shard->other), SPREAD)->count,
			  forgotten);
	ck_assert_uint_eq(shard->dead.count, KEPT);
	ck_assert_ptr_null(shard_thread_known(shard, key_of(0)));
	ck_assert_ptr_null(shard_thread_known(shard, key_of(forgotten - 1)));
	ck_assert_ptr_nonnull(shard_thread_known(shard, key_of(forgotten)));
	ck_assert_ptr_eq(shard_thread_known(shard, key_of(DEAD_MOST)), newest);
	ck_assert_ptr_eq(shard_thread_known(shard, key_of(DEAD_MOST + 1)), live);
	for (size_t i = 0; i < shard->resident.count; i++) {
		sum += shard->resident.at[i] ? fixture_total(fixture, shard->resident.at[i])[SUM]
					     : 0;
	}
	ck_assert_uint_eq(sum, 2 * KEPT);
	/* Places and memory are used again. */
	(void)shard_thread(shard, key_of(0));
	ck_assert_uint_eq(shard->resident.count, DEAD_MOST + 2);
	fixture_free(fixture);
}
END_TEST

#define OF_MEMORY 400 /* threads that end, of which there is no memory for all */

/* Memory is short: those that ended first become one row, but for those that have the most.  Their
 * memory, and that of their keys, is free. */
START_TEST(sums_up_for_memory)
{
	struct account account;
	struct fixture *fixture = fixture_new(with_forget);
	struct shard *shard = fixture_shard(fixture, key_of(0));
	uint64_t sum = 0, kept = 0;
	size_t blocks;

	account_init(&account, UINT64_C(64) << 20, 0, true);
	fixture->setup.account = &account;
	account.rows = 0;
	for (size_t i = 0; i < OF_MEMORY; i++) {
		struct thread *thread = shard_thread(shard, key_of(i));

		fixture_add(fixture, key_of(i), thread, i == 3 ? 1000 : 2);
		shard_thread_ends(shard, thread, 100 + i);
	}
	blocks = shard->blocks.count;
	for (size_t i = 0; i < 9; i++) { /* a quarter at a time */
		close_window(fixture, true);
		ck_assert_uint_gt(account_of(&account, ACCOUNT_ROWS), 0);
	}
	ck_assert_uint_lt(shard->dead.count, OF_MEMORY / 2);
	ck_assert_uint_lt(shard->blocks.count, blocks * 3 / 4);
	ck_assert_uint_le(shard->slots.used, OF_MEMORY / 2);
	ck_assert_uint_eq(shard->other->incarnation, OF_MEMORY - shard->dead.count);
	ck_assert_ptr_nonnull(shard_thread_known(shard, key_of(3)));
	ck_assert_ptr_nonnull(shard_thread_known(shard, key_of(OF_MEMORY - 1)));
	ck_assert_ptr_null(shard_thread_known(shard, key_of(0)));
	for (size_t i = 0; i < shard->resident.count; i++) {
		kept += shard->resident.at[i] != NULL;
		sum += shard->resident.at[i] ? fixture_total(fixture, shard->resident.at[i])[SUM]
					     : 0;
	}
	ck_assert_uint_eq(kept, shard->dead.count);
	ck_assert_uint_eq(sum + fixture_total(fixture, shard->other)[SUM], 2 * OF_MEMORY + 998);
	/* With room nothing goes. */
	account.rows = account.lasts;
	close_window(fixture, true);
	ck_assert_uint_eq(kept, shard->dead.count);
	fixture_free(fixture);
	ck_assert_uint_eq(account_of(&account, ACCOUNT_ROWS), 0);
}
END_TEST

#define ENDED (3 * KEPT)

/* When the threads end, in what order they are told within a window, how many windows there are:
 * several end at one time. */
static uint64_t end_of(uint32_t i)
{
	return i / 5;
}

/* Which rows a total has does not depend on how many windows there were. */
START_TEST(keeps_the_last)
{
	static const uint32_t windows[] = { 1, 2, 7, 60, ENDED / 5 };
	struct fixture *fixture = fixture_new(NULL);
	struct shard *shard = fixture_shard(fixture, key_of(0));
	uint32_t each = ENDED / windows[_i], order = 1;

	each += 5 - each % 5; /* those of one time are in one window */
	for (uint32_t first = 0; first < ENDED; first += each) {
		uint32_t count = each < ENDED - first ? each : ENDED - first;

		for (uint32_t i = 0; i < count; i++) {
			/* Down, or from both ends to the middle. */
			uint32_t one = first + (order % 2 ? count - 1 - i
						: i % 2   ? count - 1 - i / 2
							  : i / 2);
			struct thread *thread = shard_thread(shard, key_of(one));

			fixture_add(fixture, key_of(one), thread, 1);
			shard_thread_ends(shard, thread, end_of(one));
		}
		order++;
		close_window(fixture, true);
		ck_assert_uint_le(shard->dead.count, DEAD_MOST);
	}
	shard_drop_for_total(shard);
	ck_assert_uint_eq(shard->dead.count, KEPT);
	ck_assert_uint_eq(fixture_total(fixture, shard->other)[SUM], ENDED - KEPT);
	for (uint32_t i = 0; i < ENDED; i++) {
		ck_assert_int_eq(shard_thread_known(shard, key_of(i)) != NULL, i >= ENDED - KEPT);
	}
	fixture_free(fixture);
}
END_TEST

static void end_threads(struct fixture *fixture, struct shard *shard, size_t first, size_t count,
			uint64_t ts)
{
	for (size_t i = first; i < first + count; i++) {
		struct thread *thread = shard_thread(shard, key_of(i));

		fixture_add(fixture, key_of(i), thread, 1);
		shard_thread_ends(shard, thread, i % 2 ? ts : ts + i);
	}
	close_window(fixture, true);
}

/* Some that were counted ended behind others that are not yet: each row is in the account once. */
START_TEST(counts_the_ended_once)
{
	struct account account;
	struct fixture *fixture = fixture_new(NULL);
	struct shard *shard = fixture_shard(fixture, key_of(0));
	uint64_t each;

	account_init(&account, UINT64_C(1) << 40, 0, true);
	fixture->setup.account = &account;
	end_threads(fixture, shard, 0, 1, 0);
	each = shard->ended_bytes;
	ck_assert_uint_gt(each, 0);
	end_threads(fixture, shard, 1, KEPT - 1, DEAD_MOST);
	ck_assert_uint_eq(shard->ended_bytes, KEPT * each);
	end_threads(fixture, shard, KEPT, DEAD_MOST, DEAD_MOST);
	ck_assert_uint_lt(shard->dead.count, KEPT + DEAD_MOST);
	ck_assert_uint_eq(shard->ended_bytes, shard->dead.count * each);
	shard_drop_for_total(shard);
	ck_assert_uint_eq(shard->ended_bytes, KEPT * each);
	fixture_free(fixture);
	ck_assert_uint_eq(account_of(&account, ACCOUNT_ROWS), 0);
}
END_TEST

/* A thread that was dropped is on no CPU; its successor under the tid stays. */
START_TEST(forgets_dropped)
{
	struct fixture *fixture = fixture_new(NULL);
	struct shard *shard = fixture_shard(fixture, key_of(0));
	struct thread *former = shard_thread(shard, key_of(0)), *successor;

	shard_open_oncpu(shard,
			 &(struct open_oncpu){ .cpu = 5, .key = key_of(0), .thread = former });
	successor = shard_thread_fork(shard, key_of(0), 1);
	ck_assert_ptr_eq(shard_oncpu(shard, 5, key_of(0)), former);
	for (size_t i = 1; i <= KEPT; i++) {
		shard_thread_ends(shard, shard_thread(shard, key_of(i)), 1000);
	}
	close_window(fixture, true);
	ck_assert_uint_eq(shard->dead.count, KEPT + 1);
	ck_assert_ptr_eq(shard_oncpu(shard, 5, key_of(0)), former);
	shard_drop_for_total(shard);
	ck_assert_uint_eq(shard->dead.count, KEPT);
	ck_assert_ptr_null(shard_oncpu(shard, 5, key_of(0)));
	ck_assert_ptr_eq(shard_thread_known(shard, key_of(0)), successor);
	fixture_free(fixture);
}
END_TEST

/* ---- CPUs ---- */

START_TEST(knows_who_is_on_a_cpu)
{
	struct fixture *fixture = fixture_new(NULL);
	struct shard *shard = fixture_shard(fixture, key_of(0));
	struct thread *a = shard_thread(shard, key_of(0)), *b = shard_thread(shard, key_of(1));
	struct open_oncpu first = { .ts = 10, .cpu = 1, .key = key_of(0), .thread = a };
	struct open_oncpu second = { .ts = 20, .cpu = 1, .key = key_of(1), .thread = b };

	shard_open_oncpu(shard, &second);
	shard_open_oncpu(shard, &first); /* it was earlier, and merged later */
	ck_assert_uint_eq(shard->oncpus.count, 1);
	ck_assert_ptr_eq(shard_oncpu(shard, 1, key_of(1)), b);
	ck_assert_ptr_null(shard_oncpu(shard, 1, key_of(0)));
	shard_close_oncpu(shard, 1, key_of(0));
	ck_assert_ptr_eq(shard_oncpu(shard, 1, key_of(1)), b);
	shard_close_oncpu(shard, 1, key_of(1));
	ck_assert_ptr_null(shard_oncpu(shard, 1, key_of(1)));
	ck_assert_uint_eq(shard->oncpus.count, 0);
	fixture_free(fixture);
}
END_TEST

/* ---- soundness ---- */

/* What bytes may say is refused. */
START_TEST(tells_unsound)
{
	struct fixture *fixture = fixture_new(NULL);
	unsigned int number = key_shard(key_of(0));
	struct shard *shard = &fixture->tables.shards[number];
	struct thread *thread = shard_thread(shard, key_of(0));
	struct open_oncpu oncpu = { .cpu = 1, .key = key_of(0), .thread = thread };

	ck_assert(shard_is_sound(shard, number));
	ck_assert(!shard_is_sound(shard, number + 1)); /* keys of another shard */
	*vec_push(&shard->resident) = NULL;
	ck_assert(!shard_is_sound(shard, number)); /* a hole that is not listed */
	*vec_push(&shard->resident) = NULL;
	*vec_push(&shard->resident_free) = 1;
	*vec_push(&shard->resident_free) = 1;
	ck_assert(!shard_is_sound(shard, number)); /* one hole twice */
	shard->resident_free.at[1] = 2;
	ck_assert(shard_is_sound(shard, number));
	thread->is_dead = true;
	ck_assert(!shard_is_sound(shard, number));
	thread->is_dead = false;
	thread->is_touched = true;
	ck_assert(!shard_is_sound(shard, number));
	thread->is_touched = false;
	thread->view.tid = 5;
	ck_assert(!shard_is_sound(shard, number)); /* found under another tid */
	thread->view.tid = -1;
	ck_assert(!shard_is_sound(shard, number));
	thread->view.tid = (int32_t)key_of(0);
	slots_find(&shard->slots, NULL, key_of(0))->thread = NULL;
	ck_assert(!shard_is_sound(shard, number)); /* alive, and not found */
	slots_find(&shard->slots, NULL, key_of(0))->thread = thread;
	*vec_push(&shard->oncpus) = oncpu;
	ck_assert(shard_is_sound(shard, number));
	*vec_push(&shard->oncpus) = oncpu;
	ck_assert(!shard_is_sound(shard, number)); /* two on one CPU */
	shard->oncpus.count = 0;
	shard->presence.at[0].live = 0;
	ck_assert(!shard_is_sound(shard, number)); /* alive, and skipped */
	shard->presence.at[0] = (struct presence){ .live = 1, .ending = 1 };
	ck_assert(!shard_is_sound(shard, number)); /* alive, and its end is due */
	shard->presence.at[0] = (struct presence){ .live = 3 };
	ck_assert(!shard_is_sound(shard, number)); /* a hole that is alive */
	shard->presence.at[0] = (struct presence){ .live = 1 };
	thread->resident_at = 2;
	ck_assert(!shard_is_sound(shard, number));
	thread->resident_at = 0;
	ck_assert(shard_is_sound(shard, number));
	fixture_free(fixture);
}
END_TEST

Suite *suite_shard(void)
{
	Suite *suite = suite_create("shard");
	TCase *tcase = tcase_create("shard");

	tcase_add_test(tcase, finds_threads);
	tcase_add_test(tcase, makes_entities);
	tcase_add_test(tcase, forks);
	tcase_add_test(tcase, renames);
	tcase_add_test(tcase, renames_the_dead);
	tcase_add_test(tcase, skips_the_dead);
	tcase_add_test(tcase, skips_exits);
	tcase_add_test(tcase, bounds_threads);
	tcase_add_test(tcase, sums_up_for_memory);
	tcase_add_loop_test(tcase, keeps_the_last, 0, 5);
	tcase_add_test(tcase, counts_the_ended_once);
	tcase_add_test(tcase, forgets_dropped);
	tcase_add_test(tcase, knows_who_is_on_a_cpu);
	tcase_add_test(tcase, tells_unsound);
	suite_add_tcase(suite, tcase);
	return suite;
}
