/*
 * clickhouse-tables: see clickhouse-tables.h.
 */
#include "store/clickhouse/clickhouse-tables.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/now.h"
#include "store/rows/item.h"

/* ---- columns ---- */

/* "*name": a key; "name:t": the type. */
static const struct {
	const char *name, *columns;
} first_tables[CLICKHOUSE_FIRST_LIST] = {
	[CLICKHOUSE_TRACES] = { "traces", "*trace:u uuid:T host:T session:T domain:T path:T"
					  " tracer:T" },
	[CLICKHOUSE_WINDOWS] = { "windows",
				 "*level:i *begin:i *trace:u *run:t end:i complete:i"
				 " lag_ns:I events:i discarded:i lost_packets:i bad_packets:i"
				 " late_events:i analyses:t missing:t unknown:t"
				 " anomalies:I misfits:I" },
	[CLICKHOUSE_THREADS] = { "threads", "*level:i *begin:i *trace:u *tid:i *nth:i was_tid:i"
					    " was_nth:i is_reused:i pid:i comm:t prio:I"
					    " container:i" },
	[CLICKHOUSE_LOSSES] = { "losses", "*begin:i *trace:u *what:t *stream:t *packet:i end:i"
					  " message:t" },
	[CLICKHOUSE_TRIGGERS] = { "triggers", "*end:i *trace:u *name:t begin:i json:t" },
	[CLICKHOUSE_CAPTURES] = { "captures", "*begin:i *end:i *host:t *session:t *path:t json:t" },
	[CLICKHOUSE_PHASES] = { "phases", "*begin:i *trace:u *slice_ns:i end:i number:i slices:i"
					  " open:i change:T json:t" },
	[CLICKHOUSE_GAPS] = { "gaps", "*begin:i *end:i *why:t windows:i" },
};

static void add(struct clickhouse_table *table, const char *name, size_t len,
		enum clickhouse_type type, bool is_key)
{
	struct clickhouse_column *column = &table->columns[table->count++];

	assert(table->count <= ARRAY_COUNT(table->columns));
	(void)snprintf(column->name, sizeof(column->name), "%.*s", (int)len, name);
	column->type = type;
	column->is_key = is_key;
}

static void add_described(struct clickhouse_table *table, const char *columns)
{
	static const char letters[] = "iItTau";
	static const enum clickhouse_type types[] = { CLICKHOUSE_INT,   CLICKHOUSE_INT_OR_NULL,
						      CLICKHOUSE_TEXT,  CLICKHOUSE_TEXT_OR_NULL,
						      CLICKHOUSE_ARRAY, CLICKHOUSE_TRACE };

	for (const char *at = columns; *at; at += *at == ' ') {
		bool is_key = *at == '*';
		size_t len = strcspn(at, ":");

		add(table, at + is_key, len - is_key, types[strchr(letters, at[len + 1]) - letters],
		    is_key);
		at += len + 2;
	}
}

static void add_list(struct clickhouse_table *table, const struct analysis *analysis,
		     const struct table *of)
{
	struct store_column columns[STORE_COLUMNS_MAX];
	size_t count = store_columns(analysis, of, columns);

	add_described(table, "*level:i *begin:i *trace:u");
	for (size_t i = 0; i < count; i++) {
		const struct store_column *column = &columns[i];
		enum clickhouse_type type = column->role >= STORE_BUCKETS       ? CLICKHOUSE_ARRAY
					    : column->is_text && column->is_key ? CLICKHOUSE_TEXT
					    : column->is_text ? CLICKHOUSE_TEXT_OR_NULL
					    : column->is_key  ? CLICKHOUSE_INT
							      : CLICKHOUSE_INT_OR_NULL;

		add(table, column->name, strlen(column->name), type, column->is_key);
	}
}

struct clickhouse_table *clickhouse_table_new(uint32_t number)
{
	struct clickhouse_table *table;
	size_t a, t, known = 0;

	assert(number < CLICKHOUSE_TABLES_MAX);
	if (number < CLICKHOUSE_FIRST_LIST) {
		table = mem_alloc(sizeof(*table));
		(void)snprintf(table->name, sizeof(table->name), "%s", first_tables[number].name);
		add_described(table, first_tables[number].columns);
	} else {
		a = (number - CLICKHOUSE_FIRST_LIST) / TABLES_MAX;
		t = (number - CLICKHOUSE_FIRST_LIST) % TABLES_MAX;
		while (known <= a && analyses[known]) {
			known++;
		}
		if (a >= known || !analyses[a]->tables[t].columns[0].key ||
		    scope_is_of_pairs(analyses[a]->tables[t].scope)) {
			return NULL;
		}
		table = mem_alloc(sizeof(*table));
		store_table_name(analyses[a], t, table->name);
		add_list(table, analyses[a], &analyses[a]->tables[t]);
	}
	add(table, "version", strlen("version"), CLICKHOUSE_VERSION, false);
	return table;
}

uint32_t clickhouse_table_number(const char *name)
{
	char of_list[STORE_NAME_MAX];

	for (uint32_t i = 0; i < CLICKHOUSE_FIRST_LIST; i++) {
		if (strcmp(first_tables[i].name, name) == 0) {
			return i;
		}
	}
	for (size_t a = 0; analyses[a]; a++) {
		for (size_t t = 0; t < TABLES_MAX && analyses[a]->tables[t].columns[0].key; t++) {
			store_table_name(analyses[a], t, of_list);
			if (strcmp(of_list, name) == 0 &&
			    !scope_is_of_pairs(analyses[a]->tables[t].scope)) {
				return clickhouse_list_number(a, t);
			}
		}
	}
	return UINT32_MAX;
}

/* ---- statements ---- */

static const char *column_type(enum clickhouse_type type)
{
	static const char *const names[] = {
		[CLICKHOUSE_INT] = "Int64",
		[CLICKHOUSE_INT_OR_NULL] = "Nullable(Int64)",
		[CLICKHOUSE_TEXT] = "String",
		[CLICKHOUSE_TEXT_OR_NULL] = "Nullable(String)",
		[CLICKHOUSE_ARRAY] = "Array(UInt64)",
		[CLICKHOUSE_TRACE] = "UUID",
		[CLICKHOUSE_VERSION] = "UInt64",
	};

	assert(type <= CLICKHOUSE_VERSION);
	return names[type];
}

static char *finish(FILE *out, char **text)
{
	(void)fclose(out);
	return *text;
}

static bool has_column(const struct clickhouse_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->columns[i].name, name) == 0) {
			return true;
		}
	}
	return false;
}

/* A part of the server's files has one length of windows and one day: old ones go as a whole. */
static void put_partition(FILE *out, const struct clickhouse_table *table)
{
	static const char day[] = "86400000000000";

	if (has_column(table, "level")) {
		(void)fprintf(out, " PARTITION BY (`level`, intDiv(`begin`, %s))", day);
	} else if (has_column(table, "begin")) {
		(void)fprintf(out, " PARTITION BY intDiv(`%s`, %s)", table->columns[0].name, day);
	}
}

static void put_keys(FILE *out, const struct clickhouse_table *table)
{
	const char *space = "";

	for (size_t i = 0; i < table->count; i++) {
		if (table->columns[i].is_key) {
			(void)fprintf(out, "%s`%s`", space, table->columns[i].name);
			space = ", ";
		}
	}
}

static char *make_text(const struct clickhouse_table *table)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fprintf(out, "CREATE TABLE IF NOT EXISTS `%s` (", table->name);
	for (size_t i = 0; i < table->count; i++) {
		(void)fprintf(out, "%s`%s` %s", i > 0 ? ", " : "", table->columns[i].name,
			      column_type(table->columns[i].type));
	}
	(void)fputs(") ENGINE = ReplacingMergeTree(`version`)", out);
	put_partition(out, table);
	(void)fputs(" ORDER BY (", out);
	put_keys(out, table);
	(void)fputs(")", out);
	return finish(out, &text);
}

char *clickhouse_insert_text(const struct clickhouse_table *table)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fprintf(out, "INSERT INTO `%s` (", table->name);
	for (size_t i = 0; i < table->count; i++) {
		(void)fprintf(out, "%s`%s`", i > 0 ? ", " : "", table->columns[i].name);
	}
	(void)fputs(") FORMAT TabSeparated\n", out);
	return finish(out, &text);
}

/* ---- what the server has ---- */

bool clickhouse_has_line(const char *lines, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (strncmp(at, line, len) == 0 && (at[len] == '\n' || at[len] == '\0')) {
			return true;
		}
	}
	return false;
}

bool clickhouse_is_trace(const char *text, size_t len)
{
	size_t digits = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_hyphen = i == 8 || i == 13 || i == 18 || i == 23;

		digits +=
			is_hyphen ? text[i] == '-' : text[i] && strchr("0123456789abcdef", text[i]);
	}
	return len == STORE_TRACE_TEXT - 1 && digits == len;
}

bool clickhouse_take_version(const char *text, size_t len, uint64_t *ret)
{
	uint64_t number = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' ||
		    __builtin_mul_overflow(number, UINT64_C(10), &number) ||
		    __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number)) {
			return false;
		}
	}
	if (len > 0) {
		*ret = number;
	}
	return len > 0;
}

bool clickhouse_take_int(const char *text, size_t len, int64_t *ret)
{
	bool is_negative = len > 0 && text[0] == '-';
	uint64_t number;

	if (!clickhouse_take_version(text + is_negative, len - is_negative, &number) ||
	    number > (uint64_t)INT64_MAX + is_negative) {
		return false;
	}
	*ret = (int64_t)(is_negative ? -number : number);
	return true;
}

bool clickhouse_take_ns(const char *text, size_t len, uint64_t *ret)
{
	uint64_t number;

	if (!clickhouse_take_version(text, len, &number) || number > INT64_MAX) {
		return false;
	}
	*ret = number;
	return true;
}

static int run(struct http *http, const char *statement, bool has_no_database, struct err *err)
{
	const struct http_request request = { .body = statement,
					      .len = strlen(statement),
					      .has_no_database = has_no_database };

	return http_run(http, &request, 1, err);
}

static int begin_store(struct http *http, const struct clickhouse_url *url, struct err *err)
{
	char *make = mem_printf("CREATE DATABASE IF NOT EXISTS `%s`", url->database);
	char *note = mem_printf("INSERT INTO `store` (`id`, `version`) FORMAT TabSeparated\n"
				"sillage\t%d\n",
				STORE_VERSION);
	int r = run(http, make, true, err);

	r = r < 0 ? r
		  : run(http,
			"CREATE TABLE IF NOT EXISTS `store` (`id` String, `version` UInt64)"
			" ENGINE = ReplacingMergeTree(`version`) ORDER BY (`id`)",
			false, err);
	r = r < 0 ? r : run(http, note, false, err);
	free(make);
	free(note);
	return r;
}

/* 0: there is none yet. */
static int find_version(struct http *http, const struct clickhouse_url *url,
			unsigned long long *ret, struct err *err)
{
	char *found = NULL;
	int r = http_ask(http,
			 "SELECT max(`version`) FROM `store` WHERE `id` = 'sillage'"
			 " FORMAT TabSeparated",
			 false, &found, err);

	if (r < 0) {
		return r;
	}
	*ret = strtoull(found, NULL, 10);
	free(found);
	if (*ret > STORE_VERSION) {
		return err_raise(err, -EINVAL,
				 "%s: a store of version %llu, of a newer sillage; this one knows "
				 "version %d",
				 url->shown, *ret, STORE_VERSION);
	}
	return 0;
}

/* The tables of the database, a line each, and one that shows that a server of ClickHouse answers:
 * pages of proxies have a status of 200, too. */
static int find_tables(struct http *http, const struct clickhouse_url *url, char **ret,
		       bool *ret_is_empty, struct err *err)
{
	unsigned long long number = now_monotonic_ns();
	char *ask = mem_printf("SELECT concat(`name`, if(`engine` = 'Distributed', ' of all', ''))"
			       " FROM system.tables WHERE `database` = '%s'"
			       " UNION ALL SELECT concat('+ ', toString(%llu + 1))"
			       " FORMAT TabSeparated",
			       url->database, number);
	char *proof = mem_printf("+ %llu", number + 1);
	int r = http_ask(http, ask, true, ret, err);

	if (r == 0 && !clickhouse_has_line(*ret, proof)) {
		free(*ret);
		*ret = NULL;
		r = err_raise(err, -EREMOTEIO, "%s: does not answer as a ClickHouse server does",
			      url->shown);
	}
	*ret_is_empty = r == 0 && strlen(*ret) == strlen(proof) + 1;
	free(ask);
	free(proof);
	return r;
}

int clickhouse_check(struct http *http, const struct clickhouse_url *url, bool may_make,
		     struct err *err)
{
	char *tables = NULL;
	unsigned long long version = 0;
	bool is_empty;
	int r = find_tables(http, url, &tables, &is_empty, err);

	if (r == 0 && clickhouse_has_line(tables, "store of all")) {
		if (may_make) {
			r = err_raise(err, -EINVAL,
				      "%s: shows what the servers of a cluster have: write to the "
				      "database of one",
				      url->shown);
		}
	} else if (r == 0 && !is_empty && !clickhouse_has_line(tables, "store")) {
		r = err_raise(err, -EINVAL, "%s: a database, but no store of sillage", url->shown);
	}
	if (r == 0 && !is_empty) {
		r = find_version(http, url, &version, err);
	}
	if (r == 0 && may_make && version < STORE_VERSION) {
		r = begin_store(http, url, err);
		r = r < 0 ? r : find_version(http, url, &version, err);
		if (r == 0 && version < STORE_VERSION) {
			r = err_raise(err, -EREMOTEIO, "%s: took a row and does not have it",
				      url->shown);
		}
	} else if (r == 0 && version == 0) {
		r = err_raise(err, -ENOENT, "%s: is no store: it is empty", url->shown);
	}
	free(tables);
	return r;
}

/* A key that older versions did not have goes behind theirs.  A table that shows those of all
 * servers has no order. */
static char *grow_text(const char *database, const struct clickhouse_table *table,
		       const struct clickhouse_column *column, bool shows_all)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fprintf(out, "ALTER TABLE `%s`.`%s` ADD COLUMN `%s` %s", database, table->name,
		      column->name, column_type(column->type));
	if (column->is_key && !shows_all) {
		(void)fputs(", MODIFY ORDER BY (", out);
		put_keys(out, table);
		(void)fputs(")", out);
	}
	return finish(out, &text);
}

static int grow(struct http *http, const char *database, const struct clickhouse_table *table,
		bool shows_all, struct err *err)
{
	char *ask = mem_printf("SELECT `name` FROM system.columns WHERE `database` = '%s'"
			       " AND `table` = '%s' FORMAT TabSeparated",
			       database, table->name);
	char *columns = NULL;
	int r = http_ask(http, ask, true, &columns, err);

	free(ask);
	for (size_t i = 0; r == 0 && i < table->count; i++) {
		const struct clickhouse_column *column = &table->columns[i];

		if (!clickhouse_has_line(columns, column->name)) {
			char *change = grow_text(database, table, column, shows_all);

			r = run(http, change, false, err);
			free(change);
		}
	}
	free(columns);
	return r;
}

int clickhouse_make_table(struct http *http, const struct clickhouse_url *url, uint32_t number,
			  struct err *err)
{
	struct clickhouse_table *table = clickhouse_table_new(number);
	char *make;
	int r;

	if (!table) {
		return err_raise(err, -EINVAL, "%s: there is no table %u", url->shown, number);
	}
	make = make_text(table);
	r = run(http, make, false, err);
	r = r < 0 ? r : grow(http, url->database, table, false, err);
	free(make);
	free(table);
	return r;
}

/* ---- a cluster ---- */

static int show_all(struct http *http, const struct clickhouse_url *url, const char *table,
		    struct err *err)
{
	char *make = mem_printf("CREATE TABLE IF NOT EXISTS `%s_all`.`%s` AS `%s`.`%s`"
				" ENGINE = Distributed('%s', '%s', '%s')",
				url->database, table, url->database, table, url->cluster,
				url->database, table);
	int r = run(http, make, false, err);

	free(make);
	return r;
}

int clickhouse_join_cluster(struct http *http, const struct clickhouse_url *url, struct err *err)
{
	char *all = mem_printf("%s_all", url->database);
	char *make = mem_printf("CREATE DATABASE IF NOT EXISTS `%s`", all);
	int r = run(http, make, false, err);

	free(make);
	for (uint32_t i = 0; r == 0 && i < CLICKHOUSE_TABLES_MAX; i++) {
		struct clickhouse_table *table = clickhouse_table_new(i);

		if (table) {
			r = clickhouse_make_table(http, url, i, err);
			r = r < 0 ? r : show_all(http, url, table->name, err);
			r = r < 0 ? r : grow(http, all, table, true, err);
		}
		free(table);
	}
	/* The last: with it the database is a store. */
	r = r < 0 ? r : show_all(http, url, "store", err);
	free(all);
	return r;
}
