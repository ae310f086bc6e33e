/*
 * compile, emit: the steps that fields become.
 */
#include <stdio.h>

#include "fixture.h"
#include "suites.h"

static const struct plan_request requests[] = {
	{ .event = "e", .fields = { "n", "@s" } },
};

static const char *const names[] = {
	[STEP_ALIGN] = "align",    [STEP_NEED] = "need",     [STEP_SKIP] = "skip",
	[STEP_U8] = "u8",          [STEP_U16] = "u16",       [STEP_U32] = "u32",
	[STEP_U64] = "u64",        [STEP_S8] = "s8",         [STEP_S16] = "s16",
	[STEP_S32] = "s32",        [STEP_S64] = "s64",       [STEP_BITS] = "bits",
	[STEP_FLOAT] = "float",    [STEP_BYTES] = "bytes",   [STEP_LEB128] = "leb128",
	[STEP_STRING] = "str",     [STEP_SEQ] = "seq",       [STEP_LOOP] = "loop",
	[STEP_LOOP_END] = "again", [STEP_SELECT] = "select", [STEP_JUMP] = "jump",
};

/* A step as text: a load with its offset, a jump with its target, others with their size. */
static void print_step(const struct step *step, char *out, size_t size)
{
	size_t len = strlen(out);
	uint64_t number = step->size_bits;

	if (step->op >= STEP_U8 && step->op <= STEP_BYTES) {
		number = step->offset_bits;
	} else if (step->op >= STEP_LOOP && step->op <= STEP_JUMP) {
		number = step->op == STEP_SELECT ? step->case_count : step->target;
	}
	(void)snprintf(out + len, size - len, "%s%s%c%llu", len ? " " : "", names[step->op],
		       step->op >= STEP_U8 && step->op <= STEP_BYTES ? '+' : ':',
		       (unsigned long long)number);
}

/*
 * The members of a struct, of which n (a number) and s (text) are requested, and its steps.  Those
 * of a class of constant size start with the loads, as its align and need are numbers.
 */
static const struct {
	const char *fields, *steps;
	bool is_fixed;
} programs[] = {
	{ "", "", true },
	{ "u32 n;", "u32+0 skip:32", true },
	{ "u8 a; u16 n; u64 b;", "u16+8 skip:88", true },
	{ "u3 a; u8 b;", "skip:16", true }, /* b is aligned */
	{ "u3 n; u3 b;", "bits+0 skip:6", true },
	{ "u3 a; u3 n;", "bits+3 skip:6", true },
	{ "u8 a; a32 n;", "u32+32 skip:64", true },
	{ "text s[4]; u32 n;", "bytes+0 u32+32 skip:64", true },
	{ "u32 s[4]; u8 n;", "align:8 seq:32 need:8 u8+0 skip:8", false },
	{ "u32 a[4]; u8 n;", "u8+128 skip:136", true },
	{ "string a; u32 n;", "align:8 str:0 need:32 u32+0 skip:32", false },
	{ "string a; a32 n;", "align:32 str:0 align:32 need:32 u32+0 skip:32", false },
	{ "u8 l; u16 a[l]; u8 n;", "align:8 need:8 u8+0 skip:8 seq:16 need:8 u8+0 skip:8", false },
	{ "u8 l; string a[l]; u8 n;",
	  "align:8 need:8 u8+0 skip:8 loop:8 align:8 str:0 again:4 align:8 need:8 u8+0 skip:8",
	  false },
	{ "enum : u8 { A, B } t; variant <t> { u8 A; u32 B; } v; u8 n;",
	  "align:8 need:8 u8+0 skip:8 select:2 skip:8 jump:9 skip:32 jump:9 need:8 u8+0 skip:8",
	  false },
	/* 512 MiB of text: neither its size nor the offset behind it has 32 bits. */
	{ "text a[536870912]; u8 n;", "align:8 skip:4294967296 need:8 u8+0 skip:8", false },
	{ "text s[536870912];", "align:8 need:4294967296 bytes+0 skip:4294967296", false },
	{ "text s[536870912]; u8 n;",
	  "align:8 need:4294967296 bytes+0 skip:4294967296 need:8 u8+0 skip:8", false },
};

START_TEST(makes_steps)
{
	char *text = mem_printf("%s%sstream { };\nevent { name = e; fields := struct { %s }; };",
				FIXTURE_TRACE, FIXTURE_TYPES, programs[_i].fields);
	char printed[512] = "";
	struct fixture f;

	fixture_init(&f, text, requests, 1);
	for (const struct step *step = f.plan->classes[0]->steps; step->op != STEP_END; step++) {
		print_step(step, printed, sizeof(printed));
	}
	ck_assert_str_eq(printed, programs[_i].steps);
	ck_assert_int_eq(f.plan->classes[0]->is_fixed, programs[_i].is_fixed);
	fixture_fini(&f);
	free(text);
}
END_TEST

/* Several paths lead through variants to the same integers: they share slots. */
START_TEST(joins_groups)
{
	static const uint8_t packet[] = { 0, 2, 1, 9, 9, 9, 9, 9 };
	struct ctf_event event = { 0 };
	struct fixture f;

	fixture_init(&f,
		     FIXTURE_TRACE FIXTURE_TYPES
		     "stream { };\nevent { name = e; fields := struct {\n"
		     "  enum : u8 { A, B } t;\n"
		     "  variant <t> { struct { u8 k; u8 m; } A; struct { u8 k; } B; } v;\n"
		     "  u8 a[v.k]; u8 b[v.m]; u8 n; }; };",
		     requests, 1);
	fixture_start(&f, packet, sizeof(packet));
	ck_assert_int_eq(decoder_next(f.d, &event), 1);
	ck_assert_uint_eq(f.d->values[event.class->bindings[0].base].u, 9);
	ck_assert_uint_eq(f.d->at_bits, 7 * 8); /* t, k, m, two of a, one of b, n */
	fixture_fini(&f);
}
END_TEST

Suite *suite_compile(void)
{
	Suite *suite = suite_create("compile");
	TCase *tcase = tcase_create("compile");

	tcase_add_loop_test(tcase, makes_steps, 0, (int)(sizeof(programs) / sizeof(programs[0])));
	tcase_add_test(tcase, joins_groups);
	suite_add_tcase(suite, tcase);
	return suite;
}
