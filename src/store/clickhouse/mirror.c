/*
 * mirror: see mirror.h.
 */
#include "store/clickhouse/mirror.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "store/clickhouse/clickhouse-rows.h"
#include "store/clickhouse/mirror-rows.h"
#include "store/rows/item.h"
#include "store/sqlite/sqlite.h"

static int damaged(const struct mirror *mirror, struct err *err)
{
	return err_raise(err, -EREMOTEIO, "%s: damaged", mirror->url.shown);
}

/* ---- statements ---- */

static char *finish(FILE *out, char **text)
{
	(void)fclose(out);
	return *text;
}

static void put_names(FILE *out, const struct clickhouse_table *table, bool quoted_for_clickhouse)
{
	char quote = quoted_for_clickhouse ? '`' : '"';

	for (size_t i = 0; i < table->count; i++) {
		(void)fprintf(out, "%s%c%s%c", i > 0 ? ", " : "", quote, table->columns[i].name,
			      quote);
	}
}

/* The table with the columns that the server and the mirror have; NULL: the server has no such
 * table. */
static struct clickhouse_table *table_of(const struct mirror *mirror, uint32_t number)
{
	struct clickhouse_table *table;
	size_t kept = 0;

	assert(number < CLICKHOUSE_TABLES_MAX);
	if (!mirror->tables[number]) {
		return NULL;
	}
	table = clickhouse_table_new(number);
	for (size_t i = 0; i < table->count; i++) {
		/* The mirror has one head for each window. */
		bool is_run =
			number == CLICKHOUSE_WINDOWS && strcmp(table->columns[i].name, "run") == 0;

		if (!is_run &&
		    clickhouse_has_line(mirror->tables[number], table->columns[i].name)) {
			table->columns[kept++] = table->columns[i];
		}
	}
	table->count = kept;
	return table;
}

static int make_table(struct mirror *mirror, const struct clickhouse_table *table, struct err *err)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *space = "";
	int r;

	(void)fprintf(out, "CREATE TABLE \"%s\"(", table->name);
	for (size_t i = 0; i < table->count; i++) {
		bool is_text = table->columns[i].type == CLICKHOUSE_TEXT ||
			       table->columns[i].type == CLICKHOUSE_TEXT_OR_NULL ||
			       table->columns[i].type == CLICKHOUSE_ARRAY;

		(void)fprintf(out, "%s\"%s\" %s", i > 0 ? ", " : "", table->columns[i].name,
			      is_text ? "TEXT" : "INTEGER");
	}
	(void)fputs(", PRIMARY KEY(", out);
	for (size_t i = 0; i < table->count; i++) {
		if (table->columns[i].is_key) {
			(void)fprintf(out, "%s\"%s\"", space, table->columns[i].name);
			space = ", ";
		}
	}
	(void)fputs(")) STRICT, WITHOUT ROWID", out);
	text = finish(out, &text);
	r = sqlite_run(mirror->db, mirror->url.shown, text, err);
	free(text);
	return r;
}

/* " AND `trace` IN (...)", unless all are wanted, or too many. */
static void put_wanted(FILE *out, const struct mirror *mirror)
{
	size_t wanted = 0;

	for (size_t i = 0; mirror->wanted && i < mirror->traces.count; i++) {
		wanted += mirror->wanted[i];
	}
	if (!mirror->wanted || wanted == mirror->traces.count || wanted > CLICKHOUSE_NAMED_MAX ||
	    wanted == 0) {
		return;
	}
	(void)fputs(" AND `trace` IN (", out);
	for (size_t i = 0, n = 0; i < mirror->traces.count; i++) {
		if (mirror->wanted[i]) {
			(void)fprintf(out, "%s'%s'", n++ > 0 ? ", " : "", mirror->traces.at[i]);
		}
	}
	(void)fputs(")", out);
}

/* Of phases what was written last comes last (sqlite_first_tables). */
static char *select_text(const struct mirror *mirror, uint32_t number,
			 const struct clickhouse_table *table, const char *where)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fputs("SELECT ", out);
	put_names(out, table, true);
	(void)fprintf(out, " FROM `%s` FINAL", table->name);
	if (where) {
		(void)fprintf(out, " WHERE %s", where);
		if (strcmp(table->columns[0].name, "level") == 0) {
			put_wanted(out, mirror);
		}
		(void)fputs(number == CLICKHOUSE_PHASES ? " ORDER BY `version`," : " ORDER BY",
			    out);
		for (int i = 0; i < CLICKHOUSE_FIRST_KEYS; i++) {
			(void)fprintf(out, "%s `%s`", i > 0 ? "," : "", table->columns[i].name);
		}
		(void)fputs(number == CLICKHOUSE_WINDOWS ? ", `version` DESC" : "", out);
	}
	(void)fputs(" FORMAT TabSeparated", out);
	return finish(out, &text);
}

static char *insert_text(const struct clickhouse_table *table)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fprintf(out, "INSERT OR REPLACE INTO \"%s\"(", table->name);
	put_names(out, table, false);
	(void)fputs(") VALUES(", out);
	for (size_t i = 0; i < table->count; i++) {
		(void)fprintf(out, "%s?", i > 0 ? ", " : "");
	}
	(void)fputs(")", out);
	return finish(out, &text);
}

/* Fetches rows of a table into the mirror's.  A table that the server does not have has none. */
static int fetch(struct mirror *mirror, uint32_t number, const char *where, struct err *err)
{
	struct clickhouse_table *table = table_of(mirror, number);
	struct mirror_rows rows = { .mirror = mirror, .table = table };
	char *select, *insert;
	int r;

	if (!table) {
		return 0;
	}
	rows.of_heads = number == CLICKHOUSE_WINDOWS;
	rows.of_windows = number == CLICKHOUSE_THREADS || number >= CLICKHOUSE_FIRST_LIST;
	if (number >= CLICKHOUSE_FIRST_LIST) {
		rows.analysis = analyses[(number - CLICKHOUSE_FIRST_LIST) / TABLES_MAX]->name;
	}
	select = select_text(mirror, number, table, where);
	insert = insert_text(table);
	r = sqlite_run(mirror->db, mirror->url.shown, "BEGIN", err);
	r = r < 0 ? r : sqlite_prepare(mirror->db, mirror->url.shown, insert, &rows.insert, err);
	r = r < 0 ? r
		  : clickhouse_rows(mirror->http, select, table->name, table->count,
				    mirror_rows_take, &rows, err);
	(void)sqlite3_finalize(rows.insert);
	r = r < 0 ? r : sqlite_run(mirror->db, mirror->url.shown, "COMMIT", err);
	mirror_rows_fini(&rows);
	free(select);
	free(insert);
	free(table);
	return r;
}

/* ---- opening ---- */

/* "table\tcolumn" of all lines, by table. */
static void take_columns(struct mirror *mirror, const char *lines)
{
	for (uint32_t i = 0; i < CLICKHOUSE_TABLES_MAX; i++) {
		struct clickhouse_table *table = clickhouse_table_new(i);
		size_t len = table ? strlen(table->name) : 0, size;
		FILE *out = NULL;

		for (const char *at = lines; table && *at; at += strcspn(at, "\n") + 1) {
			if (strncmp(at, table->name, len) == 0 && at[len] == '\t') {
				const char *name = at + len + 1;

				out = out ? out : open_memstream(&mirror->tables[i], &size);
				(void)fprintf(out, "%.*s\n", (int)strcspn(name, "\n"), name);
			}
		}
		if (out) {
			(void)fclose(out);
		}
		free(table);
	}
}

/* The server may lack columns that were added later, but not those that every version had: the
 * first keys, by which rows are in order, and the version. */
static int check_columns(const struct mirror *mirror, const struct clickhouse_table *table,
			 uint32_t number, struct err *err)
{
	struct clickhouse_table *whole = clickhouse_table_new(number);
	size_t same = 0;

	while (same < CLICKHOUSE_FIRST_KEYS && same < table->count &&
	       strcmp(table->columns[same].name, whole->columns[same].name) == 0) {
		same++;
	}
	free(whole);
	if (same < CLICKHOUSE_FIRST_KEYS ||
	    table->columns[table->count - 1].type != CLICKHOUSE_VERSION) {
		return err_raise(err, -EREMOTEIO, "%s: damaged: a column of table %s is missing",
				 mirror->url.shown, table->name);
	}
	return 0;
}

static int find_tables(struct mirror *mirror, struct err *err)
{
	char *ask = mem_printf("SELECT `table`, `name` FROM system.columns WHERE `database` = '%s'"
			       " FORMAT TabSeparated",
			       mirror->url.database);
	char *lines = NULL;
	int r = http_ask(mirror->http, ask, true, &lines, err);

	free(ask);
	if (r < 0) {
		return r;
	}
	take_columns(mirror, lines);
	free(lines);
	for (uint32_t i = CLICKHOUSE_TRACES + 1; r == 0 && i < CLICKHOUSE_TABLES_MAX; i++) {
		struct clickhouse_table *table = table_of(mirror, i);

		if (table) {
			r = check_columns(mirror, table, i, err);
			r = r < 0 ? r : make_table(mirror, table, err);
		}
		free(table);
	}
	return r;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Their names in order, each once, so that they are found: the number is the place. */
static int number_traces(struct mirror *mirror, const char *lines, struct err *err)
{
	size_t kept = 0;

	for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (!clickhouse_is_trace(at, strcspn(at, "\t"))) {
			return damaged(mirror, err);
		}
		*vec_push(&mirror->traces) = mem_printf("%.*s", STORE_TRACE_TEXT - 1, at);
	}
	vec_sort(&mirror->traces, by_name);
	for (size_t i = 0; i < mirror->traces.count; i++) {
		if (kept > 0 && strcmp(mirror->traces.at[kept - 1], mirror->traces.at[i]) == 0) {
			free(mirror->traces.at[i]); /* two servers of a cluster have it */
		} else {
			mirror->traces.at[kept++] = mirror->traces.at[i];
		}
	}
	mirror->traces.count = kept;
	return 0;
}

/* The fields of a line: trace, uuid, host, session, domain, path, tracer. */
static int put_trace(struct mirror *mirror, char *line, sqlite3_stmt *put, struct err *err)
{
	int64_t number = mirror_trace_number(mirror, line, strcspn(line, "\t"));
	int column = 2;

	assert(number >= 0);
	(void)sqlite3_bind_int64(put, 1, number);
	for (char *field; column <= 8 && (field = strsep(&line, "\t")); column++) {
		if (strcmp(field, "\\N") == 0) {
			(void)sqlite3_bind_null(put, column);
		} else {
			(void)sqlite3_bind_text(put, column, field,
						(int)mirror_unescape(field, strlen(field)),
						SQLITE_STATIC);
		}
	}
	return column == 9 ? sqlite_step(mirror->db, MIRROR_NAME, put, err) : damaged(mirror, err);
}

static int name_traces(struct mirror *mirror, char *lines, struct err *err)
{
	sqlite3_stmt *put = NULL;
	int r = sqlite_prepare(mirror->db, mirror->url.shown,
			       "INSERT OR REPLACE INTO traces(trace, id, uuid, host, session,"
			       " domain, path, tracer) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
			       &put, err);

	r = r < 0 ? r : number_traces(mirror, lines, err);
	for (char *line = lines, *next; r == 0 && *line; line = next) {
		size_t len = strcspn(line, "\n");

		next = line + len + (line[len] == '\n');
		line[len] = '\0';
		r = put_trace(mirror, line, put, err);
	}
	(void)sqlite3_finalize(put);
	return r;
}

static int find_traces(struct mirror *mirror, struct err *err)
{
	const char *known = mirror->tables[CLICKHOUSE_TRACES];
	char *lines = NULL, *ask;
	int r;

	if (!known) {
		return 0;
	}
	ask = mem_printf("SELECT `trace`, `uuid`, `host`, `session`, `domain`, `path`, %s"
			 " FROM `traces` FINAL FORMAT TabSeparated",
			 clickhouse_has_line(known, "tracer") ? "`tracer`" : "NULL");
	r = http_ask(mirror->http, ask, false, &lines, err);
	free(ask);
	r = r < 0 ? r : name_traces(mirror, lines, err);
	free(lines);
	return r;
}

static int make_mirror(struct mirror *mirror, struct err *err)
{
	bool is_new;
	int r = sqlite_open("", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &mirror->db, &is_new,
			    err);

	r = r < 0 ? r
		  : sqlite_run(mirror->db, mirror->url.shown,
			       "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;", err);
	r = r < 0 ? r : find_tables(mirror, err);
	r = r < 0 ? r : sqlite_run(mirror->db, mirror->url.shown, sqlite_first_tables, err);
	r = r < 0 ? r : find_traces(mirror, err);
	return r < 0 || !mirror->tables[CLICKHOUSE_WINDOWS] ? r : mirror_rows_prepare(mirror, err);
}

int mirror_check_url(const char *url, struct err *err)
{
	struct clickhouse_url parsed;
	int r = clickhouse_url_parse(url, &parsed, err);

	if (r == 0) {
		clickhouse_url_fini(&parsed);
	}
	return r;
}

int mirror_open(const char *url, const atomic_bool *stop, struct mirror **ret, struct err *err)
{
	struct mirror *mirror = mem_alloc(sizeof(*mirror));
	int r = clickhouse_url_parse(url, &mirror->url, err);

	if (r < 0) {
		free(mirror);
		return r;
	}
	mirror->http = http_new(&mirror->url, stop);
	r = clickhouse_check(mirror->http, &mirror->url, false, err);
	r = r < 0 ? r : make_mirror(mirror, err);
	if (r < 0) {
		mirror_close(mirror);
		return r == -ENOENT ? -EINVAL : r;
	}
	*ret = mirror;
	return 0;
}

void mirror_close(struct mirror *mirror)
{
	if (!mirror) {
		return;
	}
	for (size_t i = 0; i < CLICKHOUSE_TABLES_MAX; i++) {
		free(mirror->tables[i]);
	}
	vec_free_each(&mirror->traces, free);
	free(mirror->wanted);
	sqlite_close(mirror->db);
	http_free(mirror->http);
	clickhouse_url_fini(&mirror->url);
	free(mirror);
}

sqlite3 *mirror_database(const struct mirror *mirror)
{
	return mirror->db;
}

const char *mirror_name(const struct mirror *mirror)
{
	return mirror->url.shown;
}

/* ---- what is wanted ---- */

int mirror_span(struct mirror *mirror, uint64_t *ret_first, uint64_t *ret_last, struct err *err)
{
	char *line = NULL;
	size_t len;
	int r;

	*ret_first = *ret_last = 0;
	if (!mirror->tables[CLICKHOUSE_WINDOWS]) {
		return 0;
	}
	r = http_ask(mirror->http,
		     "SELECT min(`begin`), max(`end`) FROM `windows` FORMAT TabSeparated", false,
		     &line, err);
	if (r == 0) {
		len = strcspn(line, "\t");
		if (!line[len] || !clickhouse_take_ns(line, len, ret_first) ||
		    !clickhouse_take_ns(line + len + 1, strcspn(line + len + 1, "\n"), ret_last) ||
		    *ret_first > *ret_last) {
			r = damaged(mirror, err);
		}
	}
	free(line);
	return r;
}

void mirror_want_none(struct mirror *mirror)
{
	mirror->wanted = mem_realloc(mirror->wanted, mirror->traces.count + 1);
	memset(mirror->wanted, 0, mirror->traces.count + 1);
}

void mirror_want(struct mirror *mirror, int64_t number)
{
	assert(mirror->wanted);
	assert(number >= 0 && (uint64_t)number < mirror->traces.count); /* name_traces() gave it */
	mirror->wanted[number] = true;
}

int mirror_heads(struct mirror *mirror, uint64_t begin, uint64_t end, struct err *err)
{
	int64_t before = end < INT64_MAX ? (int64_t)end : INT64_MAX;
	char *where = mem_printf("`begin` >= %" PRIu64 " AND `begin` < %" PRId64, begin, before);
	char *gaps = mem_printf("`end` > %" PRIu64 " AND `begin` < %" PRId64, begin, before);
	int r;

	r = fetch(mirror, CLICKHOUSE_WINDOWS, where, err);
	r = r < 0 ? r : fetch(mirror, CLICKHOUSE_GAPS, gaps, err);
	free(where);
	free(gaps);
	return r;
}

int mirror_phases(struct mirror *mirror, uint64_t begin, uint64_t end, struct err *err)
{
	char *where = mem_printf("`end` > %" PRIu64 " AND `begin` < %" PRId64, begin,
				 end < INT64_MAX ? (int64_t)end : INT64_MAX);
	int r = fetch(mirror, CLICKHOUSE_PHASES, where, err);

	free(where);
	return r;
}

/* Rows of windows of one length, as far as the heads of these are there. */
static int fetch_level(struct mirror *mirror, uint32_t number, uint64_t level, uint64_t begin,
		       uint64_t end, struct err *err)
{
	char *where = mem_printf("`level` = %" PRIu64 " AND `begin` >= %" PRIu64
				 " AND `begin` < %" PRIu64,
				 level, begin, end);
	int r = fetch(mirror, number, where, err);

	free(where);
	return r;
}

int mirror_threads(struct mirror *mirror, uint64_t level, uint64_t begin, uint64_t end,
		   struct err *err)
{
	return fetch_level(mirror, CLICKHOUSE_THREADS, level, begin, end, err);
}

int mirror_rows(struct mirror *mirror, size_t analysis, size_t table, uint64_t level,
		uint64_t begin, uint64_t end, struct err *err)
{
	return fetch_level(mirror, clickhouse_list_number(analysis, table), level, begin, end, err);
}
