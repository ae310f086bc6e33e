/*
 * clock: cycles to ns and back, at the edges of what 64 bits hold.
 */
#include "ctf/clock.h"
#include "suites.h"

#define GHZ UINT64_C(1000000000)

static const struct {
	struct clock_class class;
	uint64_t cycles, ns;
} times[] = {
	{ { .freq = GHZ }, 5, 5 },
	{ { .freq = GHZ, .offset_s = 1, .offset = 2 }, 5, GHZ + 7 },
	{ { .freq = GHZ, .offset_s = -1 }, GHZ + 5, 5 },
	{ { .freq = GHZ, .offset_s = -1 }, 5, 0 },       /* before the epoch */
	{ { .freq = GHZ }, UINT64_MAX, UINT64_MAX - 1 }, /* clamped */
	{ { .freq = GHZ, .offset = 1 }, INT64_MAX, (uint64_t)INT64_MAX + 1 },
	{ { .freq = 1 }, 3, 3 * GHZ },
	{ { .freq = 1, .offset_s = 2 }, 3, 5 * GHZ },
	{ { .freq = 3 }, 1, 333333333 }, /* rounded down */
	{ { .freq = 3 }, 2, 666666666 },
	{ { .freq = 3 }, 3, GHZ },
	{ { .freq = 1000000, .offset = 7 }, 1, 8000 },
	{ { .freq = UINT64_MAX }, UINT64_MAX, GHZ },
	{ { .freq = 1 }, UINT64_MAX, UINT64_MAX - 1 },
};

START_TEST(to_ns)
{
	struct clock clock;

	clock_init(&clock, &times[_i].class);
	ck_assert_uint_eq(clock_ns(&clock, times[_i].cycles), times[_i].ns);
}
END_TEST

/* The first cycle at or after a time; no clock: cycles are ns. */
START_TEST(to_cycles)
{
	static const uint64_t some_ns[] = { 0,   1,       999,     333333333,         333333334,
					    GHZ, GHZ + 1, 7 * GHZ, 1000 * GHZ + 12345 };
	struct clock clock;

	clock_init(&clock, &times[_i].class);
	for (size_t i = 0; i < sizeof(some_ns) / sizeof(some_ns[0]); i++) {
		uint64_t cycles = clock_cycles(&clock, some_ns[i]);

		if (cycles < UINT64_MAX) { /* else clamped */
			ck_assert_uint_ge(clock_ns(&clock, cycles), some_ns[i]);
		}
		if (cycles > 0 && some_ns[i] > 0) {
			ck_assert_uint_lt(clock_ns(&clock, cycles - 1), some_ns[i]);
		}
	}
	clock_init(&clock, NULL);
	ck_assert_uint_eq(clock_ns(&clock, 42), 42);
	ck_assert_uint_eq(clock_cycles(&clock, 42), 42);
}
END_TEST

Suite *suite_clock(void)
{
	Suite *suite = suite_create("clock");
	TCase *tcase = tcase_create("clock");

	tcase_add_loop_test(tcase, to_ns, 0, (int)(sizeof(times) / sizeof(times[0])));
	tcase_add_loop_test(tcase, to_cycles, 0, (int)(sizeof(times) / sizeof(times[0])));
	suite_add_tcase(suite, tcase);
	return suite;
}
