/*
 * kernel-source: who records the kernel, of hosts that are trees of files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/remove.h"
#include "setup/kernel-source.h"
#include "suites.h"

static char root[] = "/tmp/sillage-source-XXXXXX";

static void set_up(void)
{
	(void)strcpy(strrchr(root, '-') + 1, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void tear_down(void)
{
	remove_tree(root);
}

/* A file with @text, or a folder if that is NULL, and the folders above it. */
static void make(const char *path, const char *text)
{
	char *full = mem_printf("%s%s", root, path);

	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(full, 0755);
		*at = '/';
	}
	if (text) {
		FILE *file = fopen(full, "wx");

		ck_assert_ptr_nonnull(file);
		(void)fputs(text, file);
		(void)fclose(file);
	} else {
		ck_assert_int_eq(mkdir(full, 0755), 0);
	}
	free(full);
}

static void make_modules(const char *text)
{
	struct utsname host;
	char *path;

	(void)uname(&host);
	path = mem_printf("/lib/modules/%s/modules.dep", host.release);
	make(path, text);
	free(path);
}

START_TEST(asked_for)
{
	make("/sys/module/lttng_tracer", NULL);
	ck_assert_int_eq(kernel_source_choose("ftrace", root), KERNEL_BY_FTRACE);
	ck_assert_int_eq(kernel_source_choose("lttng", root), KERNEL_BY_LTTNG);
	ck_assert_int_eq(kernel_source_choose("auto", root), KERNEL_BY_LTTNG);
}
END_TEST

START_TEST(nothing_is_there)
{
	ck_assert_int_eq(kernel_source_choose(NULL, root), KERNEL_BY_LTTNG);
	ck_assert(!kernel_source_may_ftrace(root));
}
END_TEST

START_TEST(only_ftrace)
{
	make(_i ? "/sys/kernel/debug/tracing/instances" : "/sys/kernel/tracing/instances", NULL);
	make_modules("kernel/fs/ext4.ko: kernel/lib/crc16.ko\n"
		     "extra/my-lttng-tracer-like.ko: updates/dkms/lttng-tracer.ko\n");
	ck_assert(kernel_source_may_ftrace(root));
	ck_assert_int_eq(kernel_source_choose(NULL, root), KERNEL_BY_FTRACE);
	ck_assert_int_eq(kernel_source_choose("auto", root), KERNEL_BY_FTRACE);
}
END_TEST

START_TEST(modules_first)
{
	make("/sys/kernel/tracing/instances", NULL);
	make_modules("kernel/fs/ext4.ko:\nupdates/dkms/lttng-tracer.ko.xz: a.ko b.ko\n");
	ck_assert_int_eq(kernel_source_choose(NULL, root), KERNEL_BY_LTTNG);
}
END_TEST

START_TEST(not_mounted)
{
	make("/sys/kernel/tracing", NULL);
	ck_assert_int_eq(kernel_source_may_ftrace(root), geteuid() == 0);
	make("/sys/kernel/tracing/README", ""); /* mounted, and nothing there that may be written */
	ck_assert(!kernel_source_may_ftrace(root));
}
END_TEST

Suite *suite_kernel_source(void)
{
	Suite *suite = suite_create("kernel-source");
	TCase *tcase = tcase_create("kernel-source");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, asked_for);
	tcase_add_test(tcase, nothing_is_there);
	tcase_add_loop_test(tcase, only_ftrace, 0, 2);
	tcase_add_test(tcase, modules_first);
	tcase_add_test(tcase, not_mounted);
	suite_add_tcase(suite, tcase);
	return suite;
}
