/*
 * sqlite-tables: the tables of the analyses in a file; see sqlite-write-state.h.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/sqlite/sqlite-write-state.h"

static int make_table(struct sqlite_writer *writer, const char *name, const struct written *table,
		      struct err *err)
{
	char *sql = mem_printf("CREATE TABLE IF NOT EXISTS \"%s\"(level INTEGER, begin INTEGER,"
			       " trace INTEGER",
			       name);
	char *keys = mem_strdup(""), *longer;
	int r;

	assert(table->count <= STORE_COLUMNS_MAX);
	for (size_t i = 0; i < table->count; i++) {
		const struct store_column *column = &table->columns[i];

		longer = mem_printf("%s, \"%s\" %s", sql, column->name,
				    column->is_text ? "TEXT" : "INTEGER");
		free(sql);
		sql = longer;
		if (column->is_key) {
			longer = mem_printf("%s, \"%s\"", keys, column->name);
			free(keys);
			keys = longer;
		}
	}
	longer = mem_printf("%s, PRIMARY KEY(level, begin, trace%s)) STRICT, WITHOUT ROWID", sql,
			    keys);
	r = sqlite_run(writer->db, writer->path, longer, err);
	free(sql);
	free(keys);
	free(longer);
	return r;
}

/* A store of an older version lacks columns that tables have got since. */
static int grow_table(struct sqlite_writer *writer, const char *name, const struct store_column *of,
		      size_t count, struct err *err)
{
	sqlite3_stmt *columns = NULL;
	char *sql = mem_printf("SELECT name FROM pragma_table_info('%s')", name);
	int r = sqlite_prepare(writer->db, writer->path, sql, &columns, err);

	free(sql);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (sqlite_has_column(columns, of[i].name)) {
			continue;
		}
		(void)sqlite3_reset(columns);
		sql = mem_printf("ALTER TABLE \"%s\" ADD COLUMN \"%s\" %s", name, of[i].name,
				 of[i].is_text ? "TEXT" : "INTEGER");
		r = sqlite_run(writer->db, writer->path, sql, err);
		free(sql);
	}
	(void)sqlite3_finalize(columns);
	return r;
}

int sqlite_grow_first(struct sqlite_writer *writer, struct err *err)
{
	static const struct store_column of_windows[] = { { .name = "anomalies" },
							  { .name = "misfits" } };
	static const struct store_column of_traces[] = { { .name = "tracer", .is_text = true } };
	int r = grow_table(writer, "windows", of_windows, ARRAY_COUNT(of_windows), err);

	return r < 0 ? r : grow_table(writer, "traces", of_traces, ARRAY_COUNT(of_traces), err);
}

static int prepare_table(struct sqlite_writer *writer, const char *name, struct written *table,
			 struct err *err)
{
	char *sql = mem_printf("INSERT INTO \"%s\"(level, begin, trace", name);
	char *marks = mem_strdup("?, ?, ?"), *longer;
	int r;

	for (size_t i = 0; i < table->count; i++) {
		longer = mem_printf("%s, \"%s\"", sql, table->columns[i].name);
		free(sql);
		sql = longer;
		longer = mem_printf("%s, ?", marks);
		free(marks);
		marks = longer;
	}
	longer = mem_printf("%s) VALUES(%s)", sql, marks);
	r = sqlite_prepare(writer->db, writer->path, longer, &table->insert, err);
	free(sql);
	free(marks);
	free(longer);
	sql = mem_printf("DELETE FROM \"%s\" WHERE level = ? AND begin = ? AND trace = ?", name);
	r = r < 0 ? r : sqlite_prepare(writer->db, writer->path, sql, &table->remove, err);
	free(sql);
	return r;
}

int sqlite_table_at(struct sqlite_writer *writer, size_t a, size_t t, struct written **ret,
		    struct err *err)
{
	struct written *table = writer->tables[a][t];
	char name[STORE_NAME_MAX];
	int r;

	assert(a < ANALYSES_MAX && t < TABLES_MAX);
	*ret = table;
	if (table) {
		return 0;
	}
	table = mem_alloc(sizeof(*table));
	table->count = store_columns(analyses[a], &analyses[a]->tables[t], table->columns);
	store_table_name(analyses[a], t, name);
	r = make_table(writer, name, table, err);
	r = r < 0 ? r : grow_table(writer, name, table->columns, table->count, err);
	r = r < 0 ? r : prepare_table(writer, name, table, err);
	if (r < 0) {
		free(table);
		return r;
	}
	writer->tables[a][t] = table;
	*ret = table;
	return 0;
}
