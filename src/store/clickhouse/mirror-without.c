/*
 * mirror-without: a build without libcurl cannot read a store on a server.
 */
#include <errno.h>

#include "store/clickhouse/mirror.h"

static int missing(struct err *err)
{
	return err_raise(err, -ENOTSUP,
			 "this sillage was built without stores in ClickHouse (libcurl)");
}

int mirror_check_url(const char *url, struct err *err)
{
	(void)url;
	return missing(err);
}

int mirror_open(const char *url, const atomic_bool *stop, struct mirror **ret, struct err *err)
{
	(void)url;
	(void)stop;
	(void)ret;
	return missing(err);
}

void mirror_close(struct mirror *mirror)
{
	(void)mirror;
}

sqlite3 *mirror_database(const struct mirror *mirror)
{
	(void)mirror;
	return NULL;
}

const char *mirror_name(const struct mirror *mirror)
{
	(void)mirror;
	return "";
}

int mirror_span(struct mirror *mirror, uint64_t *ret_first, uint64_t *ret_last, struct err *err)
{
	(void)mirror;
	(void)ret_first;
	(void)ret_last;
	return missing(err);
}

int mirror_heads(struct mirror *mirror, const bool *wanted, uint64_t begin, uint64_t end,
		 struct err *err)
{
	(void)mirror;
	(void)wanted;
	(void)begin;
	(void)end;
	return missing(err);
}

int mirror_threads(struct mirror *mirror, uint64_t level, uint64_t begin, uint64_t end,
		   struct err *err)
{
	(void)mirror;
	(void)level;
	(void)begin;
	(void)end;
	return missing(err);
}

int mirror_rows(struct mirror *mirror, size_t analysis, size_t table, uint64_t level,
		uint64_t begin, uint64_t end, struct err *err)
{
	(void)mirror;
	(void)analysis;
	(void)table;
	(void)level;
	(void)begin;
	(void)end;
	return missing(err);
}
