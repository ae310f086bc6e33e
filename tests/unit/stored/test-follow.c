/*
 * follow: traces that are followed, and up to where their windows of five seconds are due, each for
 * itself and together.
 */
#include "stored/follow-state.h"
#include "suites.h"

#define S      NS_PER_S
#define LONG_S (5 * NS_PER_S)

static void fini(struct follow *f)
{
	for (size_t i = 0; i < f->traces.count; i++) {
		free(f->traces.at[i].id);
		free(f->traces.at[i].name);
	}
	vec_fini(&f->traces);
}

static struct followed *add(struct follow *f, const char *id, const char *host)
{
	const struct store_trace trace = { .id = (char *)id, .identity = { .host = (char *)host } };
	uint32_t at = follow_trace(f, &trace);

	return &f->traces.at[at];
}

static void land(struct follow *f, struct followed *trace, uint64_t begin_s)
{
	const struct store_news_window window = {
		.level = S, .begin = begin_s * S, .end = (begin_s + 1) * S, .is_complete = true
	};

	(void)due_note(&trace->due, &window, &f->clock);
}

START_TEST(knows_traces)
{
	struct follow f = { .options = { .host = "web*" }, .begin = 3 * S };

	ck_assert(add(&f, "a", "web1")->is_wanted);
	ck_assert(!add(&f, "b", "db")->is_wanted);
	ck_assert_ptr_eq(add(&f, "a", "db"), &f.traces.at[0]); /* whatever it is called */
	ck_assert_uint_eq(f.traces.count, 2);
	/* What is there before the range begins is printed, as it were. */
	ck_assert_uint_eq(f.traces.at[1].due.position, 3 * S);
	ck_assert_uint_eq(f.traces.at[1].due.since, 3 * S);
	fini(&f);
}
END_TEST

START_TEST(each_for_itself)
{
	struct follow f = { .options = { .host = "web*", .interval_ns = LONG_S } };

	f.clock.now = 100 * S;
	land(&f, add(&f, "a", "web1"), 5);
	land(&f, add(&f, "b", "web2"), 1);
	ck_assert(follow_choose(&f, false));
	ck_assert_uint_eq(f.traces.at[0].due_at, 5 * S); /* the other does not keep it back */
	ck_assert_uint_eq(f.traces.at[1].due_at, 0);
	f.traces.at[0].due.position = 5 * S;
	ck_assert(!follow_choose(&f, false)); /* it is printed */
	ck_assert(follow_choose(&f, true));   /* the end: what there is of both */
	ck_assert_uint_eq(f.traces.at[0].due_at, 10 * S);
	ck_assert_uint_eq(f.traces.at[1].due_at, 5 * S);
	fini(&f);
}
END_TEST

START_TEST(what_is_not_wanted_is_not_due)
{
	struct follow f = { .options = { .host = "web*", .interval_ns = LONG_S } };

	f.clock.now = 100 * S;
	land(&f, add(&f, "a", "db"), 5);
	ck_assert(!follow_choose(&f, false));
	ck_assert(!follow_choose(&f, true));
	fini(&f);
}
END_TEST

START_TEST(together)
{
	struct follow f = { .options = { .merged = true, .interval_ns = LONG_S } };
	struct followed *ahead, *behind;

	f.clock.now = 100 * S;
	(void)add(&f, "a", "web1");
	behind = add(&f, "b", "web2"); /* no trace is added any more */
	ahead = &f.traces.at[0];
	land(&f, ahead, 12);
	land(&f, behind, 1);
	ck_assert(!follow_choose(&f, false)); /* it waits for the one that is behind */
	land(&f, behind, 6);
	ck_assert(follow_choose(&f, false));
	ck_assert_uint_eq(ahead->due_at, 5 * S);
	ck_assert_uint_eq(behind->due_at, 5 * S);
	/* It says nothing for a while, and is not waited for. */
	f.clock.now += DUE_LAG_NS + S;
	land(&f, ahead, 20);
	ck_assert(follow_choose(&f, false));
	ck_assert_uint_eq(ahead->due_at, 20 * S);
	fini(&f);
}
END_TEST

Suite *suite_follow(void)
{
	Suite *suite = suite_create("follow");
	TCase *tcase = tcase_create("follow");

	tcase_add_test(tcase, knows_traces);
	tcase_add_test(tcase, each_for_itself);
	tcase_add_test(tcase, what_is_not_wanted_is_not_due);
	tcase_add_test(tcase, together);
	suite_add_tcase(suite, tcase);
	return suite;
}
