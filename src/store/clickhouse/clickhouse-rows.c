/*
 * clickhouse-rows: see clickhouse-rows.h.
 */
#include "store/clickhouse/clickhouse-rows.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "store/rows/schema.h"

#define FIELDS_MAX (STORE_COLUMNS_MAX + 4)

struct rows {
	const char *of;
	size_t count;
	clickhouse_row *take;
	void *user;
	VEC(char) rest; /* of a row whose end has not come */
};

static int damaged(const struct rows *rows, struct err *err)
{
	return err_raise(err, -EREMOTEIO, "damaged: a row%s%s is impossible",
			 rows->of ? " of " : "", rows->of ? rows->of : "");
}

static int take_row(const struct rows *rows, char *line, size_t len, struct err *err)
{
	char *fields[FIELDS_MAX], *at = line, *end = line + len, *tab;
	size_t lens[FIELDS_MAX], count = 0;
	int r;

	assert(rows->count <= FIELDS_MAX);
	*end = '\0'; /* in place of the line's end */
	do {
		if (count == rows->count) {
			return damaged(rows, err);
		}
		tab = memchr(at, '\t', (size_t)(end - at));
		fields[count] = at;
		lens[count++] = (size_t)((tab ? tab : end) - at);
		if (tab) {
			*tab = '\0';
			at = tab + 1;
		}
	} while (tab);
	r = count == rows->count ? rows->take(rows->user, fields, lens, err) : 0;
	return r == 0 ? damaged(rows, err) : r;
}

static int on_data(void *user, const char *data, size_t len, struct err *err)
{
	struct rows *rows = user;
	size_t begin = 0;
	char *end;
	int r = 0;

	if (rows->rest.count + len > STORE_ROW_BYTES_MAX) {
		return damaged(rows, err);
	}
	vec_append(&rows->rest, data, len);
	while (r >= 0 && begin < rows->rest.count &&
	       (end = memchr(rows->rest.at + begin, '\n', rows->rest.count - begin))) {
		size_t row = (size_t)(end - rows->rest.at) - begin;

		r = take_row(rows, rows->rest.at + begin, row, err);
		begin += row + 1;
	}
	memmove(rows->rest.at, rows->rest.at + begin, rows->rest.count - begin);
	rows->rest.count -= begin;
	return r < 0 ? r : 0;
}

int clickhouse_rows(struct http *http, const char *statement, const char *of, size_t count,
		    clickhouse_row *take, void *user, struct err *err)
{
	struct rows rows = { .of = of, .count = count, .take = take, .user = user };
	const struct http_request request = {
		.body = statement, .len = strlen(statement), .on_data = on_data, .user = &rows
	};
	int r = http_run(http, &request, 1, err);

	if (r == 0 && rows.rest.count > 0) {
		r = err_note(err, damaged(&rows, err), "%s", http_name(http));
	}
	vec_fini(&rows.rest);
	return r;
}
