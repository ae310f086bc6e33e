/*
 * calls: the tables of system calls against the kernel's own lists (tests/data/calls), of each
 * machine.  Calls of both have one name, and those of ours that the list lacks are those that no
 * kernel of today serves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "ftrace/calls.h"
#include "suites.h"

static const char *const lists[CONVERT_MACHINES] = {
	[CONVERT_X86_64] = "x86-64",
	[CONVERT_I386] = "i386",
	[CONVERT_ARM64] = "arm64",
	[CONVERT_ARM] = "arm",
};

/* Functions that only prepare the registers, or the widths of times, for one of this name. */
static const char *served(char *name)
{
	static const char before[] = "ia32_";
	static const char *const behind[] = { "_wrapper", "_time32", "_time64" };
	static const struct {
		const char *function, *name;
	} others[] = {
		{ "mmap2", "mmap_pgoff" },
		/* Which structures they know differs, as with 32 bits of time. */
		{ "old_semctl", "semctl" },
		{ "old_msgctl", "msgctl" },
		{ "old_shmctl", "shmctl" },
	};

	for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
		if (strcmp(name, others[i].function) == 0) {
			return others[i].name;
		}
	}
	if (strncmp(name, before, strlen(before)) == 0) {
		name += strlen(before);
	}
	for (size_t i = 0; i < ARRAY_COUNT(behind); i++) {
		size_t len = strlen(name), cut = strlen(behind[i]);

		if (len > cut && strcmp(name + len - cut, behind[i]) == 0) {
			name[len - cut] = '\0';
		}
	}
	/* time32, timer_settime32 and the like. */
	if (strlen(name) > 2 && strcmp(name + strlen(name) - 2, "32") == 0 &&
	    strstr(name, "time")) {
		name[strlen(name) - 2] = '\0';
	}
	return name;
}

static void compare_list(enum convert_machine machine)
{
	struct calls *calls = ftrace_calls_new(machine);
	char *path = mem_printf("%s/calls/%s", UNIT_DATA_DIR, lists[machine]);
	FILE *in = fopen(path, "r");
	char line[256], name[128];
	unsigned int number, count = 0, last = 0;

	ck_assert_msg(in, "%s", path);
	while (fgets(line, sizeof(line), in)) {
		const struct call *call;

		if (line[0] == '#') {
			continue;
		}
		ck_assert_int_eq(sscanf(line, "%u %127s", &number, name), 2);
		call = ftrace_calls_get(calls, number);
		ck_assert_msg(call, "%s: %u %s has no name", path, number, name);
		ck_assert_msg(strcmp(call->name, served(name)) == 0, "%s: %u is %s, not %s", path,
			      number, name, call->name);
		last = number;
		count++;
	}
	ck_assert_uint_gt(count, 300);
	/* What is behind the list would be of nothing. */
	ck_assert_uint_eq(ftrace_calls_end(calls), last + 1);
	(void)fclose(in);
	free(path);
	ftrace_calls_free(calls);
}

START_TEST(as_the_kernel)
{
	for (int i = 0; i < CONVERT_MACHINES; i++) {
		if (lists[i]) {
			compare_list((enum convert_machine)i);
		}
	}
}
END_TEST

static void has_arguments(enum convert_machine machine, uint64_t number, const char *name,
			  const char *const *arguments, size_t count)
{
	struct calls *calls = ftrace_calls_new(machine);
	const struct call *call = ftrace_calls_get(calls, number);

	ck_assert(call);
	ck_assert_str_eq(call->name, name);
	ck_assert_msg(call->count == count, "%s: %zu", name, call->count);
	for (size_t i = 0; i < count; i++) {
		ck_assert_str_eq(call->arguments[i].name, arguments[i]);
		ck_assert_uint_eq(call->arguments[i].index, i);
	}
	ftrace_calls_free(calls);
}

/* Numbers of 64 bits take two registers of a short machine, where which ones differs: they are left
 * out with what follows. */
START_TEST(short_machines)
{
	static const char *const advice[] = { "fd", "offset", "len", "advice" };
	static const char *const arm[] = { "fd", "advice" };
	static const char *const range[] = { "fd", "flags" };

	has_arguments(CONVERT_ARM64, 223, "fadvise64_64", advice, 4);
	has_arguments(CONVERT_I386, 272, "fadvise64_64", advice, 1);
	has_arguments(CONVERT_ARM, 270, "arm_fadvise64_64", arm, 2);
	has_arguments(CONVERT_ARM, 341, "sync_file_range2", range, 2);
}
END_TEST

Suite *suite_ftrace_calls(void)
{
	Suite *suite = suite_create("ftrace-calls");
	TCase *calls = tcase_create("ftrace-calls");

	tcase_add_test(calls, as_the_kernel);
	tcase_add_test(calls, short_machines);
	suite_add_tcase(suite, calls);
	return suite;
}
