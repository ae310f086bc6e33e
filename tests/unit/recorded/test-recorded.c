/*
 * recorded: which traces a path holds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorded/recorded.h"
#include "suites.h"

/* Directories below a temporary one, each with a metadata file that has this UUID; 0: it is empty.
 */
static const struct {
	struct {
		const char *dir;
		unsigned int uuid;
	} dirs[5];
	const char *start; /* the path to look at */
	int r;
	struct {
		const char *name, *first, *last;
		size_t count;
	} traces[4]; /* expected, in order */
} trees[] = {
	{ { { "a", 0 } }, "", -ENOENT, { { NULL } } },
	{ { { "a", 0 } }, "b", -ENOENT, { { NULL } } },
	{ { { "a", 1 } }, "a/metadata", -ENOTDIR, { { NULL } } },
	{ { { "a", 1 } }, "a", 0, { { "a", "a", "a", 1 } } },
	{ { { "a", 1 } }, "", 0, { { "a", "a", "a", 1 } } },
	{ { { "b/kernel", 1 }, { "a/ust/uid", 2 }, { "a/kernel", 3 }, { ".hidden", 4 } },
	  "",
	  0,
	  { { "a/kernel", "a/kernel", "a/kernel", 1 },
	    { "a/ust/uid", "a/ust/uid", "a/ust/uid", 1 },
	    { "b/kernel", "b/kernel", "b/kernel", 1 } } },
	/* What lies below a trace is no other trace. */
	{ { { "a", 1 }, { "a/index", 2 } }, "", 0, { { "a", "a", "a", 1 } } },
	/* Chunks of one session, and what was not rotated yet. */
	{ { { "s/kernel", 1 }, { "s/archives/1/kernel", 1 }, { "s/archives/2/kernel", 1 } },
	  "",
	  0,
	  { { "s/kernel", "s/archives/1/kernel", "s/kernel", 3 } } },
	/* The same names, but another session: a trace of its own. */
	{ { { "s/archives/1/kernel", 1 }, { "s/archives/2/kernel", 2 } },
	  "",
	  0,
	  { { "s/archives/1/kernel", "s/archives/1/kernel", "s/archives/1/kernel", 1 },
	    { "s/archives/2/kernel", "s/archives/2/kernel", "s/archives/2/kernel", 1 } } },
	/* Two domains of a rotated session. */
	{ { { "s/archives/1/kernel", 1 },
	    { "s/archives/1/ust", 2 },
	    { "s/archives/2/kernel", 1 },
	    { "s/archives/2/ust", 2 } },
	  "s",
	  0,
	  { { "s/kernel", "s/archives/1/kernel", "s/archives/2/kernel", 2 },
	    { "s/ust", "s/archives/1/ust", "s/archives/2/ust", 2 } } },
};

static void make_dir(const char *root, const char *dir, unsigned int uuid)
{
	char *path = mem_printf("%s/%s/", root, dir), *file;

	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		(void)mkdir(path, 0700);
	}
	if (uuid > 0) {
		FILE *out;

		file = mem_printf("%smetadata", path);
		out = fopen(file, "w");
		ck_assert_ptr_nonnull(out);
		(void)fprintf(out,
			      "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; "
			      "uuid = \"00000000-0000-0000-0000-0000000000%02u\"; };\n",
			      uuid);
		ck_assert_int_eq(fclose(out), 0);
		free(file);
	}
	free(path);
}

static void expect_path(const char *root, const char *relative, const char *got)
{
	char *wanted = mem_printf("%s/%s", root, relative);

	ck_assert_str_eq(got, wanted);
	free(wanted);
}

START_TEST(finds_traces)
{
	char root[] = "/tmp/sillage-unit-XXXXXX", *start, *remove;
	struct recorded_paths paths = { 0 };
	size_t count = 0;
	struct err err;

	ck_assert_ptr_nonnull(mkdtemp(root));
	for (size_t i = 0; i < 5 && trees[_i].dirs[i].dir; i++) {
		make_dir(root, trees[_i].dirs[i].dir, trees[_i].dirs[i].uuid);
	}
	start = trees[_i].start[0] ? mem_printf("%s/%s", root, trees[_i].start) : mem_strdup(root);
	ck_assert_int_eq(recorded_find(start, &paths, &err), trees[_i].r);
	if (trees[_i].r < 0) {
		ck_assert_int_eq(strncmp(err.text, start, strlen(start)), 0);
	}
	for (; count < 4 && trees[_i].traces[count].name; count++) {
		const struct recorded_path *path = &paths.at.at[count];

		ck_assert_uint_gt(paths.at.count, count);
		ck_assert_uint_eq(path->dirs.count, trees[_i].traces[count].count);
		expect_path(root, trees[_i].traces[count].name, path->name);
		expect_path(root, trees[_i].traces[count].first, path->dirs.at[0]);
		expect_path(root, trees[_i].traces[count].last,
			    path->dirs.at[path->dirs.count - 1]);
	}
	ck_assert_uint_eq(paths.at.count, count);
	recorded_paths_fini(&paths);
	free(start);
	remove = mem_printf("rm -r %s", root);
	ck_assert_int_eq(system(remove), 0);
	free(remove);
}
END_TEST

Suite *suite_recorded(void)
{
	Suite *suite = suite_create("recorded");
	TCase *tcase = tcase_create("recorded");

	tcase_add_loop_test(tcase, finds_traces, 0, sizeof(trees) / sizeof(trees[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
