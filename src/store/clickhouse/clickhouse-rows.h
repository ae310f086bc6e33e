/*
 * clickhouse-rows: the rows of an answer (TabSeparated), however it is cut on its way.
 */
#pragma once

#include "store/clickhouse/http.h"

/* A row: fields with a NUL behind each.  0: it is impossible; negative: it cannot be taken. */
typedef int clickhouse_row(void *user, char *const *fields, const size_t *lens, struct err *err);

/* Makes a request; its rows have @count fields each.  @of: of which table, for messages; NULL: it
 * is not said.  Fails as http_run() and @take; -EREMOTEIO: a row is impossible, or has no end. */
int clickhouse_rows(struct http *http, const char *statement, const char *of, size_t count,
		    clickhouse_row *take, void *user, struct err *err);
