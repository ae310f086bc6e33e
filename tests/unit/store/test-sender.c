/*
 * sender: what becomes of batches when no server answers: they wait on disk, and the next run has
 * them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/remove.h"
#include "store/clickhouse/sender.h"
#include "suites.h"

#define TRACE_WINDOWS 3 /* of a batch */

struct account {
	uint64_t stored, lost;
	int64_t spooled;
};

static char said[4096]; /* global: say() has no user pointer */

static void say(const char *fmt, ...)
{
	size_t len = strlen(said);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(said + len, sizeof(said) - len, fmt, args);
	va_end(args);
}

static void on_stored(void *user, uint64_t windows, uint64_t rows)
{
	struct account *account = user;

	account->stored += windows;
}

static void on_spooled(void *user, int64_t more)
{
	struct account *account = user;

	account->spooled += more;
}

static void on_lost(void *user, const struct store_gap *gap, uint64_t windows)
{
	struct account *account = user;

	ck_assert_uint_eq(gap->windows, windows);
	account->lost += windows;
}

/* A batch of some windows. */
static struct clickhouse_batch *batch_of(struct clickhouse_encoder *encoder, uint64_t begin)
{
	char host[] = "h";
	const struct trace_identity identity = { .host = host };
	struct clickhouse_batch *batch = clickhouse_batch_new();

	for (uint64_t i = 0; i < TRACE_WINDOWS; i++) {
		const struct report report = { .kind = REPORT_WINDOW,
					       .begin = begin + i,
					       .end = begin + i + 1,
					       .complete = true };
		struct store_item *item = store_item_window(&identity, &report);

		clickhouse_encode(encoder, item, batch);
		store_item_free(item);
	}
	ck_assert_uint_eq(batch->windows.windows, TRACE_WINDOWS);
	return batch;
}

/* One run, which puts two batches. */
static void run(const char *options, struct account *account, bool has_lost)
{
	char *text = mem_printf("clickhouse://127.0.0.1:1/base?%s", options);
	const struct sender_events events = { .user = account,
					      .stored = on_stored,
					      .spooled = on_spooled,
					      .lost = on_lost,
					      .say = say };
	struct clickhouse_encoder *encoder = clickhouse_encoder_new(1);
	struct clickhouse_url url;
	struct sender *sender;
	struct err err;

	said[0] = '\0';
	*account = (struct account){ 0, 0, 0 };
	ck_assert_msg(clickhouse_url_parse(text, &url, &err) == 0, "%s", err.text);
	ck_assert_int_eq(sender_open(&url, false, &events, &sender, &err), 0);
	for (uint64_t i = 0; i < 2; i++) {
		sender_put(sender, batch_of(encoder, 100 * i));
		ck_assert_uint_le(sender_settled(sender), (i + 1) * TRACE_WINDOWS);
	}
	/* Now none is only in memory, or one more attempt decides that. */
	while (sender_settled(sender) < 2 * TRACE_WINDOWS) {
		(void)usleep(1000);
	}
	ck_assert(sender_has_lost(sender) == has_lost);
	ck_assert(!sender_has_lost(sender)); /* since it was asked */
	sender_close(sender);
	clickhouse_encoder_free(encoder);
	clickhouse_url_fini(&url);
	free(text);
}

START_TEST(waits_on_disk)
{
	char folder[] = "/tmp/sillage-sender-XXXXXX";
	struct account account;
	char *options;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	options = mem_printf("spool=%s/spool.db", folder);
	run(options, &account, false);
	ck_assert_int_eq(account.spooled, 2 * TRACE_WINDOWS);
	ck_assert_uint_eq(account.stored + account.lost, 0);
	ck_assert_ptr_nonnull(strstr(said, "6 windows wait for the next run"));

	/* Those of the run before are not this run's. */
	run(options, &account, false);
	ck_assert_ptr_nonnull(strstr(said, "has 6 windows of an earlier run"));
	ck_assert_int_eq(account.spooled, 2 * TRACE_WINDOWS);
	ck_assert_ptr_nonnull(strstr(said, "12 windows wait for the next run"));
	free(options);
	remove_tree(folder);
}
END_TEST

/* No place, or no room: they are lost, which is said once and noted. */
START_TEST(loses)
{
	char folder[] = "/tmp/sillage-sender-XXXXXX";
	struct account account;
	char *text;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	text = _i == 0 ? mem_strdup("spool=/dev/null/spool.db")
		       : mem_printf("spool=%s/s.db&spool-size=1", folder);
	run(text, &account, true);
	ck_assert_uint_eq(account.lost, 2 * TRACE_WINDOWS);
	ck_assert_int_eq(account.spooled, 0);
	free(text);
	remove_tree(folder);
}
END_TEST

Suite *suite_sender(void)
{
	Suite *suite = suite_create("sender");
	TCase *tcase = tcase_create("sender");

	tcase_add_test(tcase, waits_on_disk);
	tcase_add_loop_test(tcase, loses, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}
