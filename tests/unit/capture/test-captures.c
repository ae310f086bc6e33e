/*
 * captures: when a capture is written, what lies on disk then, and what happens when it cannot be.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/remove.h"
#include "capture/capture-prune.h"
#include "capture/capture-write.h"
#include "capture/captures.h"
#include "ctf/packet-index.h"
#include "suites.h"

#define NS_PER_S     UINT64_C(1000000000)
#define PACKET_BYTES 64
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static unsigned int says;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	says++;
}

/* ---- a session with one trace ---- */

struct bench {
	char dir[40]; /* temporary */
	char *into;   /* where captures go */
	struct captures *captures;
	struct captures_session session;
};

static struct retained *packet_of(uint64_t second, uint64_t claimed_bytes)
{
	const struct plan_stream stream = { .id = 7 };
	const struct packet_info info = { .stream = &stream,
					  .seq_num = second,
					  .discarded = 0,
					  .instance_id = 3,
					  .has_begin = true,
					  .has_end = true,
					  .begin = second * NS_PER_S,
					  .end = (second + 1) * NS_PER_S - 1,
					  .has_sizes = true,
					  .size_bits = claimed_bytes * 8,
					  .content_bits = PACKET_BYTES * 8 - 4 };
	uint8_t *bytes = malloc(PACKET_BYTES);
	struct retained *retained;

	memset(bytes, (int)second, PACKET_BYTES);
	retained = retained_new(&info, bytes, PACKET_BYTES);
	retained->begin = info.begin;
	retained->end = info.end;
	return retained;
}

static struct retained *packet_at(uint64_t second)
{
	return packet_of(second, 2 * PACKET_BYTES);
}

/* Packets of the seconds 10 to 19 in two streams; captures from 2 s before to 1 s after. */
static void setup_history(struct bench *b, const char *name, const char *path, uint64_t per_hour,
			  uint64_t history_ns)
{
	static char kept[24];
	struct captures_config config = { .history_ns = history_ns,
					  .history_bytes = UINT64_MAX,
					  .before_ns = 2 * NS_PER_S,
					  .after_ns = NS_PER_S,
					  .keep_count = UINT64_MAX,
					  .keep_bytes = UINT64_MAX,
					  .per_hour = per_hour,
					  .say = say };
	struct captures_trace trace = { .path = path, .is_kernel = true };

	memset(b, 0, sizeof(*b));
	says = 0;
	strcpy(b->dir, "/tmp/sillage-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(b->dir));
	(void)snprintf(kept, sizeof(kept), "%s", name);
	b->into = mem_printf("%s/captures", b->dir);
	config.dir = b->into;
	b->captures = captures_new(&config);
	trace.history = history_trace_new(captures_history(b->captures));
	history_metadata(trace.history, "/* CTF 1.8 */", 13);
	for (uint64_t second = 10; second < 20; second++) {
		history_add(trace.history, "channel0_0", packet_at(second), 0);
		history_add(trace.history, "channel0_1", packet_at(second), 0);
	}
	b->session = (struct captures_session){ .key = b, .host = "host", .name = kept };
	*vec_push(&b->session.traces) = trace;
}

static void setup(struct bench *b, const char *name, const char *path, uint64_t per_hour)
{
	setup_history(b, name, path, per_hour, UINT64_MAX);
}

static void teardown(struct bench *b)
{
	history_trace_free(b->session.traces.at[0].history);
	vec_fini(&b->session.traces);
	captures_free(b->captures);
	remove_tree(b->dir);
	free(b->into);
}

/* Whether what has been begun is written once the trace is known until the second @until. */
static struct capture_order *written_at(struct bench *b, uint64_t until)
{
	b->session.traces.at[0].known_until = until * NS_PER_S;
	captures_step(b->captures, &b->session, false);
	return captures_done(b->captures, true);
}

/* The size of a file below a capture; -1: it does not exist. */
static long size_of(const char *dir, const char *name)
{
	char *path = mem_printf("%s/%s", dir, name);
	struct stat found;
	long size = stat(path, &found) == 0 ? (long)found.st_size : -1;

	free(path);
	return size;
}

static char *text_of(const char *dir, const char *name, size_t *ret_len)
{
	char *path = mem_printf("%s/%s", dir, name), *text = mem_alloc(65536);
	FILE *file = fopen(path, "re");

	ck_assert_msg(file, "no %s", path);
	*ret_len = fread(text, 1, 65535, file);
	(void)fclose(file);
	free(path);
	return text;
}

static size_t entries_of(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir))) {
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	}
	if (dir) {
		(void)closedir(dir);
	}
	return count;
}

/* ---- tests ---- */

static const char *last_part(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* It waits until the trace is known past its end, and then has the packets of the range. */
START_TEST(writes_the_range)
{
	const struct captures_reason reason = { .name = "hot", .json = "{\"name\":\"hot\"}" };
	struct capture_order *order;
	struct packet_index index;
	struct err err;
	struct bench b;
	size_t len;
	char *text;

	setup(&b, "session", "kernel", UINT64_MAX);
	ck_assert_uint_eq(captures_begin(b.captures, &b.session, 15 * NS_PER_S, &reason), 1);
	ck_assert_ptr_null(written_at(&b, 16)); /* up to its end is not past it */
	order = written_at(&b, 17);
	ck_assert_ptr_nonnull(order);
	ck_assert_msg(order->path, "%s", order->err.text);
	ck_assert_str_eq(last_part(order->path), "host-session-19700101T000015.000Z");
	ck_assert_uint_eq(entries_of(b.into), 1);              /* nothing unfinished is left */
	ck_assert_uint_eq(order->packets, 2 * 4);              /* 13, 14, 15 and 16 */
	ck_assert_uint_eq(order->bytes, 2 * 4 * PACKET_BYTES); /* not what pads them */
	ck_assert(order->is_complete);
	ck_assert(order->has_kernel);

	text = text_of(order->path, "kernel/metadata", &len);
	ck_assert_str_eq(text, "/* CTF 1.8 */");
	free(text);
	text = text_of(order->path, "kernel/channel0_1", &len);
	ck_assert_uint_eq(len, 4 * 2 * PACKET_BYTES);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(text[i * 2 * PACKET_BYTES], (int)(13 + i));
		ck_assert_int_eq(text[i * 2 * PACKET_BYTES + PACKET_BYTES - 1], (int)(13 + i));
		ck_assert_int_eq(text[i * 2 * PACKET_BYTES + PACKET_BYTES], 0); /* padding */
	}
	free(text);
	text = text_of(order->path, "kernel/index/channel0_0.idx", &len);
	ck_assert_int_eq(
		packet_index_parse(&index, (const uint8_t *)text, len, 4 * 2 * PACKET_BYTES, &err),
		0);
	ck_assert_uint_eq(index.entries.count, 4);
	ck_assert_uint_eq(index.entries.at[3].offset, 3 * 2 * PACKET_BYTES);
	packet_index_fini(&index);
	free(text);
	text = text_of(order->path, CAPTURE_DESCRIPTION, &len);
	ck_assert_ptr_nonnull(strstr(text, "{\"sillage\":"));
	ck_assert_ptr_nonnull(strstr(text, "\"begin\":13000000000,\"end\":16000000000,"
					   "\"triggers\":[{\"name\":\"hot\"}]"));
	ck_assert_ptr_nonnull(strstr(text, "\"path\":\"kernel\""));
	ck_assert_ptr_nonnull(strstr(text, "\"streams\":2,\"packets\":8,"));
	ck_assert_ptr_nonnull(strstr(text, "\"complete\":true}\n"));
	free(text);
	capture_order_free(order);
	teardown(&b);
}
END_TEST

/* Names come from a relay. */
static const struct {
	const char *name, *path, *plain_name, *plain_path;
} names[] = {
	{ "a b", "ust/uid/0/64-bit", "host-a_b-", "ust/uid/0/64-bit" },
	{ "../../x", "../../up", "host-_._.._x-", "_./_./up" },
	{ "a/b", "h/x/a/b-1/kernel", "host-a_b-", "h/x/a/b-1/kernel" },
	{ "/", "/", "host-_-", "trace" },
	{ ".", "..", "host-_-", "_." },
	{ "s", "ust/index", "host-s-", "ust/_index" },
	{ "s", "metadata", "host-s-", "_metadata" },
	{ "$(c);'\"", "/abs//x", "host-__c____-", "abs/x" },
	{ "\xC3\xA9\n", "-rf", "host-___-", "_rf" },
	{ "", NULL, "host-_-", "trace" },
};

START_TEST(makes_names_plain)
{
	struct capture_order *order;
	struct bench b;
	char *file;

	setup(&b, names[_i].name, names[_i].path, UINT64_MAX);
	ck_assert_uint_eq(captures_begin(b.captures, &b.session, 15 * NS_PER_S, NULL), 1);
	order = written_at(&b, 17);
	ck_assert_msg(order->path, "%s", order->err.text);
	ck_assert_msg(strncmp(last_part(order->path), names[_i].plain_name,
			      strlen(names[_i].plain_name)) == 0,
		      "%s", order->path);
	ck_assert_uint_eq(entries_of(b.dir), 1);
	ck_assert_uint_eq(entries_of(b.into), 1);
	file = mem_printf("%s/metadata", names[_i].plain_path);
	ck_assert_msg(size_of(order->path, file) == 13, "no %s", file);
	free(file);
	capture_order_free(order);
	teardown(&b);
}
END_TEST

/* A name that exists gets a number; two traces of one path get directories of their own. */
START_TEST(overwrites_nothing)
{
	struct captures_trace again;
	struct capture_order *order;
	struct bench b;

	setup(&b, "s", "kernel", UINT64_MAX);
	again = b.session.traces.at[0];
	*vec_push(&b.session.traces) = again;
	for (int i = 1; i <= 2; i++) {
		static const char *const wanted[] = { "host-s-19700101T000015.000Z",
						      "host-s-19700101T000015.000Z-2" };

		(void)captures_begin(b.captures, &b.session, 15 * NS_PER_S, NULL);
		captures_step(b.captures, &b.session, true);
		order = captures_done(b.captures, true);
		ck_assert_msg(order->path, "%s", order->err.text);
		ck_assert_str_eq(last_part(order->path), wanted[i - 1]);
		ck_assert_int_gt(size_of(order->path, "kernel/metadata"), 0);
		ck_assert_int_gt(size_of(order->path, "kernel-2/metadata"), 0);
		capture_order_free(order);
	}
	teardown(&b);
}
END_TEST

/* Packets that are missing are counted; what numbers do not tell is not, and the capture is not
 * complete. */
static const struct {
	uint64_t seq_num;
	const char *said;
} jumps[] = { { 15, "\"lost_packets\":0" },
	      { 17, "\"lost_packets\":2" },
	      { 14, "\"lost_packets\":0" },
	      { 3, "\"lost_packets\":0" },
	      { (uint64_t)1 << 63, "\"lost_packets\":0" },
	      { UINT64_MAX - 1, "\"lost_packets\":0" } };

START_TEST(counts_missing)
{
	struct history_trace *history;
	struct capture_order *order;
	struct bench b;
	size_t len;
	char *text;

	setup(&b, "s", "kernel", UINT64_MAX);
	history = b.session.traces.at[0].history;
	for (uint64_t second = 13; second < 16; second++) {
		struct retained *retained = packet_at(second);

		if (second == 15) {
			retained->info.seq_num = jumps[_i].seq_num;
		}
		history_add(history, "jumps", retained, 0);
	}
	(void)captures_begin(b.captures, &b.session, 15 * NS_PER_S, NULL);
	order = written_at(&b, 17);
	ck_assert_ptr_nonnull(order);
	text = text_of(order->path, CAPTURE_DESCRIPTION, &len);
	ck_assert_msg(strstr(text, jumps[_i].said), "%s", text);
	ck_assert_int_eq(order->is_complete, jumps[_i].seq_num == 15);
	free(text);
	capture_order_free(order);
	teardown(&b);
}
END_TEST

/* The directory cannot be made: the reason is there, and nothing is left. */
START_TEST(reports_failure)
{
	struct capture_order *order;
	struct bench b;

	setup(&b, "s", "kernel", UINT64_MAX);
	(void)fclose(fopen(b.into, "wxe")); /* a file, not a directory */
	(void)captures_begin(b.captures, &b.session, 15 * NS_PER_S, NULL);
	order = written_at(&b, 17);
	ck_assert_ptr_nonnull(order);
	ck_assert_ptr_null(order->path);
	ck_assert_ptr_nonnull(strstr(order->err.text, "captures/.sillage-"));
	ck_assert_ptr_nonnull(strstr(order->err.text, strerror(ENOTDIR)));
	ck_assert_uint_eq(entries_of(b.dir), 1);
	capture_order_free(order);
	teardown(&b);
}
END_TEST

/* Streams of any name are written, each to a file of its own: also those whose names become the
 * same, are those of other files, or those of directories of other traces. */
START_TEST(writes_any_stream)
{
	static const char *const streams[] = {
		"a/b", "a_b", "", "_", ".", "..", "index", "metadata"
	};
	static const char *const files[] = { "a_b", "a_b-2", "_",       "_-2",
					     "_-3", "_.",    "index-2", "metadata-2" };
	char *longest = mem_printf("%0500d", 0), *path;
	struct captures_trace other;
	struct capture_order *order;
	struct bench b;

	setup(&b, "s", "k", UINT64_MAX);
	other = b.session.traces.at[0];
	other.path = "k/a_b/below"; /* a stream of the first trace has the name of a directory */
	*vec_push(&b.session.traces) = other;
	for (size_t i = 0; i < 8; i++) {
		history_add(b.session.traces.at[0].history, streams[i], packet_at(15), 0);
	}
	history_add(b.session.traces.at[0].history, longest, packet_at(15), 0);
	longest[499] = '1';
	history_add(b.session.traces.at[0].history, longest, packet_at(15), 0);
	(void)captures_begin(b.captures, &b.session, 15 * NS_PER_S, NULL);
	captures_step(b.captures, &b.session, true);
	order = captures_done(b.captures, true);
	ck_assert_msg(order->path, "%s", order->err.text);
	for (size_t i = 0; i < 8; i++) {
		path = mem_printf("k/%s", files[i]);
		ck_assert_msg(size_of(order->path, path) > 0, "no %s", path);
		free(path);
		path = mem_printf("k/index/%s.idx", files[i]);
		ck_assert_msg(size_of(order->path, path) > 0, "no %s", path);
		free(path);
	}
	path = mem_printf("k/%.100s-2", longest);
	ck_assert_int_gt(size_of(order->path, path), 0);
	ck_assert_int_eq(size_of(order->path, "k/metadata"), 13);
	ck_assert_int_eq(size_of(order->path, "trace/metadata"), 13);
	free(path);
	free(longest);
	capture_order_free(order);
	teardown(&b);
}
END_TEST

/* What a packet's header claims, and the peer did not give, takes no disk. */
START_TEST(claims_take_no_disk)
{
	const uint64_t claimed = 256 << 20;
	struct capture_order *order;
	struct stat found;
	struct bench b;
	char *path;

	setup(&b, "s", "kernel", UINT64_MAX);
	for (uint64_t second = 20; second < 26; second++) {
		history_add(b.session.traces.at[0].history, "claims", packet_of(second, claimed),
			    0);
	}
	(void)captures_begin(b.captures, &b.session, 25 * NS_PER_S, NULL);
	order = written_at(&b, 27);
	ck_assert_msg(order && order->path, "nothing is written");
	path = mem_printf("%s/kernel/claims", order->path);
	ck_assert_int_eq(stat(path, &found), 0);
	ck_assert_uint_eq((uint64_t)found.st_size,
			  order->packets * claimed); /* as its headers say */
	ck_assert_int_lt(found.st_blocks, 256);
	ck_assert_uint_eq(order->bytes, order->packets * PACKET_BYTES);
	free(path);
	capture_order_free(order);
	teardown(&b);
}
END_TEST

/* A file cannot be written, here because files may have no bytes: nothing is left. */
START_TEST(leaves_nothing)
{
	struct rlimit limit, none;
	struct capture_order *order;
	struct bench b;

	setup(&b, "s", "kernel", UINT64_MAX);
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 1, .rlim_max = limit.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	(void)captures_begin(b.captures, &b.session, 15 * NS_PER_S, NULL);
	order = written_at(&b, 17);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_ptr_null(order->path);
	ck_assert_ptr_nonnull(strstr(order->err.text, strerror(EFBIG)));
	ck_assert_uint_eq(entries_of(b.into), 0);
	capture_order_free(order);
	teardown(&b);
}
END_TEST

/* A second reason within the range is added; behind it, there is another capture. */
START_TEST(joins_reasons)
{
	const struct captures_reason one = { .name = "one", .json = "{\"n\":1}" }, two = {
		.name = "two", .json = "{\"n\":2}", .extras = CAPTURE_REPORT
	};
	struct capture_order *order;
	struct bench b;

	setup(&b, "s", "kernel", 2);
	b.session.traces.at[0].is_kernel = false; /* a report would start this very program */
	ck_assert_uint_eq(captures_begin(b.captures, &b.session, 15 * NS_PER_S, &one), 1);
	ck_assert_uint_eq(captures_begin(b.captures, &b.session, 16 * NS_PER_S, &two), 1);
	ck_assert_uint_eq(captures_begin(b.captures, &b.session, 17 * NS_PER_S, &one), 2);
	/* The limit per hour is for triggers; the user may ask for more. */
	ck_assert_uint_eq(captures_begin(b.captures, &b.session, 19 * NS_PER_S, &one), 0);
	ck_assert_uint_eq(captures_begin(b.captures, &b.session, 19 * NS_PER_S, &one), 0);
	ck_assert_uint_eq(says, 1);
	ck_assert_uint_eq(captures_begin(b.captures, &b.session, 19 * NS_PER_S, NULL), 3);
	b.session.traces.at[0].known_until = UINT64_MAX;
	captures_step(b.captures, &(struct captures_session){ .key = &says }, true); /* another */
	ck_assert_ptr_null(captures_done(b.captures, true));
	captures_step(b.captures, &b.session, false);
	order = captures_done(b.captures, true);
	ck_assert_uint_eq(order->number, 1);
	ck_assert_str_eq(order->triggers, "{\"n\":1},{\"n\":2}");
	ck_assert_str_eq(order->names, "one, two");
	ck_assert_uint_eq(order->extras, CAPTURE_REPORT);
	capture_order_free(order);
	for (uint64_t number = 2; number <= 3; number++) {
		order = captures_done(b.captures, true);
		ck_assert_uint_eq(order->number, number);
		capture_order_free(order);
	}
	ck_assert_ptr_null(captures_done(b.captures, true));
	teardown(&b);
}
END_TEST

/* Packets that a waiting capture needs do not go by age. */
START_TEST(holds_its_packets)
{
	struct capture_order *order;
	struct bench b;

	setup_history(&b, "s", "kernel", UINT64_MAX, 4 * NS_PER_S);
	(void)captures_begin(b.captures, &b.session, 12 * NS_PER_S, NULL);
	for (uint64_t second = 20; second < 23; second++) {
		history_add(b.session.traces.at[0].history, "channel0_0", packet_at(second),
			    second * NS_PER_S);
	}
	order = written_at(&b, 23);
	ck_assert_uint_eq(order->packets, 2 * 4); /* 10, 11, 12, 13 */
	capture_order_free(order);
	teardown(&b);
}
END_TEST

/* ---- removing ---- */

static void make_capture(const char *into, const char *name, const char *description, time_t at)
{
	char *dir = mem_printf("%s/%s", into, name),
	     *path = mem_printf("%s/" CAPTURE_DESCRIPTION, dir);
	const struct timespec times[2] = { { .tv_sec = at }, { .tv_sec = at } };
	FILE *file;

	ck_assert_int_eq(mkdir(dir, 0700), 0);
	file = fopen(path, "we");
	(void)fputs(description, file);
	(void)fclose(file);
	ck_assert_int_eq(utimensat(-1, path, times, 0), 0);
	free(dir);
	free(path);
}

static const struct {
	uint64_t count, bytes;
	const char *left; /* names, the newest is d */
} prunings[] = {
	{ 2, UINT64_MAX, "cdx" },
	{ 0, UINT64_MAX, "dx" }, /* the newest stays */
	{ UINT64_MAX, 0, "dx" },
	{ 9, UINT64_MAX, "abcdx" },
};

/* The oldest go; what is not ours is not touched. */
START_TEST(prunes)
{
	char dir[] = "/tmp/sillage-unit-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	make_capture(dir, "c", "{\"sillage\":\"1\"}", 3000);
	make_capture(dir, "a", "{\"sillage\":\"1\"}", 1000);
	make_capture(dir, "x", "{\"mine\":1}", 10);
	make_capture(dir, "d", "{\"sillage\":\"1\"}", 4000);
	make_capture(dir, "b", "{\"sillage\":\"1\"}", 2000);
	capture_prune(dir, prunings[_i].count, prunings[_i].bytes);
	for (const char *name = "abcdx"; *name; name++) {
		char one[] = { *name, '\0' };

		ck_assert_msg((size_of(dir, one) >= 0) ==
				      (strchr(prunings[_i].left, *name) != NULL),
			      "%s", one);
	}
	remove_tree(dir);
}
END_TEST

/* Unfinished captures of processes that are gone are removed, those of others are not. */
START_TEST(sweeps)
{
	char dir[] = "/tmp/sillage-unit-XXXXXX";
	char *ours, *parents;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ours = mem_printf(CAPTURE_UNFINISHED "%ld-1", (long)getpid());
	parents = mem_printf(CAPTURE_UNFINISHED "%ld-1", (long)getppid());
	make_capture(dir, CAPTURE_UNFINISHED "4194304-1", "", 1); /* above the largest pid */
	make_capture(dir, ours, "", 1);
	make_capture(dir, parents, "", 1);
	make_capture(dir, CAPTURE_UNFINISHED "no-number", "", 1);
	capture_sweep(dir);
	ck_assert_uint_eq(entries_of(dir), 3);
	ck_assert_int_lt(size_of(dir, CAPTURE_UNFINISHED "4194304-1"), 0);
	free(ours);
	free(parents);
	remove_tree(dir);
}
END_TEST

Suite *suite_captures(void)
{
	Suite *suite = suite_create("captures");
	TCase *tcase = tcase_create("captures");

	tcase_add_test(tcase, writes_the_range);
	tcase_add_loop_test(tcase, makes_names_plain, 0, COUNT(names));
	tcase_add_test(tcase, overwrites_nothing);
	tcase_add_loop_test(tcase, counts_missing, 0, COUNT(jumps));
	tcase_add_test(tcase, reports_failure);
	tcase_add_test(tcase, claims_take_no_disk);
	tcase_add_test(tcase, leaves_nothing);
	tcase_add_test(tcase, writes_any_stream);
	tcase_add_test(tcase, joins_reasons);
	tcase_add_test(tcase, holds_its_packets);
	tcase_add_loop_test(tcase, prunes, 0, COUNT(prunings));
	tcase_add_test(tcase, sweeps);
	suite_add_tcase(suite, tcase);
	return suite;
}
