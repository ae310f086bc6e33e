/*
 * store-without: a build without SQLite has no store, and says so.
 */
#include <errno.h>

#include "store/store.h"

int store_open(const struct store_config *config, struct store **ret, struct err *err)
{
	(void)config;
	(void)ret;
	return err_raise(err, -ENOTSUP, "this sillage was built without stores (libsqlite3)");
}

const char *store_name(const struct store *store)
{
	(void)store;
	return "";
}

/* No function below is called: nothing was opened. */

struct store_account store_account(struct store *store)
{
	(void)store;
	return (struct store_account){ 0 };
}

int store_close(struct store *store, struct store_account *ret_account)
{
	(void)store;
	*ret_account = (struct store_account){ 0 };
	return 0;
}

static void on_report(struct output *output, const struct trace_identity *trace,
		      const struct report *report)
{
	(void)output;
	(void)trace;
	(void)report;
}

const struct sink sink_store = { .name = "store", .report = on_report };
