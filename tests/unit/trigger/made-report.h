/*
 * made-report: windows with tables of real analyses, made by hand for the tests of triggers and
 * metrics.
 *
 * The storage is static: one made-up window exists at a time.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "engine/tables/columns.h"
#include "engine/tables/report.h"
#include "output/sink.h"
#include "suites.h"

#define MADE_NS_PER_S UINT64_C(1000000000)
#define MADE_ROWS_MAX 2000

struct made {
	struct report report;
	struct report_table tables[4];
	struct report_row rows[MADE_ROWS_MAX];
	uint64_t values[MADE_ROWS_MAX][COLUMNS_MAX];
	struct thread_view threads[MADE_ROWS_MAX];
	size_t row_count;
};

static inline const struct analysis *made_analysis(const char *name)
{
	for (size_t i = 0; analyses[i]; i++) {
		if (strcmp(analyses[i]->name, name) == 0) {
			return analyses[i];
		}
	}
	ck_abort_msg("no analysis %s", name);
	return NULL;
}

/* Second number @second since the epoch, without tables. */
static inline void made_window(struct made *made, uint64_t second)
{
	memset(made, 0, sizeof(*made));
	made->report = (struct report){ .kind = REPORT_WINDOW,
					.seq = second,
					.begin = second * MADE_NS_PER_S,
					.end = (second + 1) * MADE_NS_PER_S,
					.complete = true,
					.tables = made->tables };
}

/* Adds an empty table: the first of the analysis with this scope and key (NULL: any). */
static inline struct report_table *made_table(struct made *made, const char *analysis,
					      enum scope scope, const char *key)
{
	struct report_table *table = &made->tables[made->report.table_count++];

	table->analysis = made_analysis(analysis);
	table->rows = &made->rows[made->row_count];
	for (size_t i = 0; i < TABLES_MAX && !table->table; i++) {
		const struct table *at = &table->analysis->tables[i];

		if (at->columns[0].key && at->scope == scope &&
		    (!key || (at->key && strcmp(at->key, key) == 0))) {
			table->table = at;
		}
	}
	ck_assert_ptr_nonnull(table->table);
	return table;
}

/* Adds a row to the table that was added last.  Its thread is @tid, if that is not 0. */
static inline struct report_row *made_row(struct made *made, uint64_t id, int32_t tid,
					  const char *comm)
{
	size_t at = made->row_count++;
	struct report_row *row = &made->rows[at];

	ck_assert_uint_lt(at, MADE_ROWS_MAX);
	row->id = id;
	row->values = made->values[at];
	if (tid != 0) {
		made->threads[at].tid = tid;
		made->threads[at].pid = tid;
		(void)snprintf(made->threads[at].comm, sizeof(made->threads[at].comm), "%s", comm);
		row->thread = &made->threads[at];
	}
	made->tables[made->report.table_count - 1].row_count++;
	return row;
}

/* The column of the table that was added last, for the row that was added last. */
static inline uint64_t *made_value(struct made *made, const char *key)
{
	const struct table *table = made->tables[made->report.table_count - 1].table;

	for (size_t c = 0; c < COLUMNS_MAX && table->columns[c].key; c++) {
		if (strcmp(table->columns[c].key, key) == 0) {
			return &made->values[made->row_count - 1][c];
		}
	}
	ck_abort_msg("no column %s", key);
	return NULL;
}
