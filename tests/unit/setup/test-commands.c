/*
 * setup: sizes of buffers, what is wanted, the commands that record it, and what a host lacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "setup/commands.h"
#include "setup/missing.h"
#include "suites.h"

#define MIB (UINT64_C(1) << 20)

static const struct {
	uint64_t bytes, away_s, timer_s;
	struct sizes sizes; /* 0: nothing fits */
} fits[] = {
	{ 1, 1, 1, { 64 << 10, 4 } },        { MIB, 1, 1, { 256 << 10, 8 } }, /* 4 + 1 + 2 */
	{ 64 * MIB, 1, 1, { 16 * MIB, 8 } },                                  /* 4 + 1 + 2 */
	{ 1, 20000, 1, { 0, 0 } }, /* parts that the timer closes */
	{ 2048 * MIB, 1, 1, { 0, 0 } },
};

START_TEST(buffers_fit)
{
	struct sizes sizes = { 0, 0 };
	bool has = sizes_fit(fits[_i].bytes, fits[_i].away_s * NS_PER_S,
			     fits[_i].timer_s * NS_PER_S, &sizes);

	ck_assert(has == (fits[_i].sizes.count > 0));
	ck_assert_uint_eq(sizes.bytes, fits[_i].sizes.bytes);
	ck_assert_uint_eq(sizes.count, fits[_i].sizes.count);
}
END_TEST

static const struct {
	const char *name;
	bool is_one;
} sessions[] = {
	{ "prod", true }, { "a-b_c.1", true }, { "", false },    { "-k", false },
	{ ".", false },   { "a b", false },    { "a;b", false }, { "a/b", false },
};

START_TEST(is_session)
{
	ck_assert(commands_is_session_name(sessions[_i].name) == sessions[_i].is_one);
}
END_TEST

static const struct analysis *named(const char *name)
{
	size_t i = 0;

	while (strcmp(analyses[i]->name, name) != 0) {
		i++;
	}
	return analyses[i];
}

static char *text_of(const struct wanted *wanted, const char *relay)
{
	struct commands_config config = { .session = "s",
					  .relay = relay,
					  .live_timer_ns = NS_PER_S };
	struct command_lines lines = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	commands_usual_sizes(&config, wanted);
	commands_make(&lines, wanted, &config);
	for (size_t i = 0; i < lines.at.count; i++) {
		commands_print(&lines.at.at[i], out);
	}
	(void)fclose(out);
	commands_fini(&lines);
	return text;
}

START_TEST(records_the_kernel)
{
	const struct analysis *const list[] = { named("sched"), NULL };
	struct wanted wanted = { 0 };
	char *text;

	wanted_find(&wanted, list, NULL);
	ck_assert(wanted_has_kernel(&wanted));
	ck_assert(!wanted.all_calls);
	text = text_of(&wanted, "net://relay");
	ck_assert_ptr_eq(strstr(text, "lttng create s --live=1000000 --set-url=net://relay\n"),
			 text);
	ck_assert_ptr_nonnull(strstr(text, "enable-channel -k -s s --subbuf-size 1M"));
	ck_assert_ptr_nonnull(strstr(text, "sched_switch"));
	ck_assert_ptr_null(strstr(text, " -u "));
	ck_assert_str_eq(text + strlen(text) - strlen("lttng start s\n"), "lttng start s\n");
	free(text);
	wanted_fini(&wanted);
}
END_TEST

START_TEST(records_user_space)
{
	const struct analysis *const list[] = { named("ust"), NULL };
	struct wanted wanted = { 0 };
	char *text;

	wanted_find(&wanted, list, NULL);
	ck_assert_uint_eq(wanted.user.at.count, 1);
	wanted_add_user(&wanted, "app:*"); /* in place of all */
	wanted_add_user(&wanted, "it's:*");
	wanted_add_user(&wanted, "app:*");
	ck_assert_uint_eq(wanted.user.at.count, 2);
	text = text_of(&wanted, NULL);
	ck_assert_ptr_nonnull(strstr(text, "enable-event -u -s s -c sillage 'app:*,it'\\''s:*'\n"));
	ck_assert_ptr_null(strstr(text, "--set-url"));
	free(text);
	wanted_fini(&wanted);
}
END_TEST

/* Many names become several commands, and none is lost. */
START_TEST(breaks_long_lists)
{
	struct wanted wanted = { 0 };
	char name[64], *text;
	size_t found = 0, longest = 0;

	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "provider_%d:event", i);
		wanted_add_user(&wanted, name);
	}
	text = text_of(&wanted, NULL);
	for (const char *at = text; (at = strstr(at, "provider_")); at++) {
		found++;
	}
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
		longest = strcspn(at, "\n") > longest ? strcspn(at, "\n") : longest;
	}
	ck_assert_uint_eq(found, 100);
	ck_assert_uint_lt(longest, 900);
	free(text);
	wanted_fini(&wanted);
}
END_TEST

static const struct {
	const char *said;
	int code;
	const char *helps;
} failures[] = {
	{ "Error: Kernel tracer not available", -ENODEV, "lttng-modules-dkms" },
	{ "Error: requires a root lttng-sessiond", -EPERM, "" },
	{ "Error: something else", -ECHILD, "something else" },
};

START_TEST(says_what_helps)
{
	struct err err;

	(void)err_raise(&err, -ECHILD, "%s", failures[_i].said);
	missing_kernel(&err);
	ck_assert_ptr_nonnull(strstr(err.text, failures[_i].helps));
	ck_assert((strcmp(err.text, failures[_i].said) == 0) == (failures[_i].code == -ECHILD));
}
END_TEST

Suite *suite_commands(void)
{
	Suite *suite = suite_create("commands");
	TCase *tcase = tcase_create("commands");

	tcase_add_loop_test(tcase, buffers_fit, 0, sizeof(fits) / sizeof(fits[0]));
	tcase_add_loop_test(tcase, is_session, 0, sizeof(sessions) / sizeof(sessions[0]));
	tcase_add_test(tcase, records_the_kernel);
	tcase_add_test(tcase, records_user_space);
	tcase_add_test(tcase, breaks_long_lists);
	tcase_add_loop_test(tcase, says_what_helps, 0, sizeof(failures) / sizeof(failures[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
