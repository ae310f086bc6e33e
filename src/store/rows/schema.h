/*
 * schema: the tables of a store, made from the tables of the analyses (doc/store.md).
 *
 * Each list of each analysis is a table: cpu.threads of JSON is cpu_threads.  The figures of the
 * trace are NAME_totals.  A row has the window that it is of (level, begin, trace), what it is
 * about (tid, name, ...), and its figures.  A histogram has eight columns.
 *
 * A cell is a number or a text.  store_cells() makes them of a row of a report, store_take_row()
 * makes a row of them again.  What is read is untrusted: a damaged histogram is a fault.
 */
#pragma once

#include <stdio.h>

#include "engine/tables/report.h"

#define STORE_VERSION     2 /* 1: that of sillage 0.1.0, which is read and gone on with */
#define STORE_NAME_MAX    64
#define STORE_COLUMNS_MAX (16 + 8 * COLUMNS_MAX)

enum store_role {
	STORE_ID,
	STORE_OWNER,
	STORE_KEYED, /* report_row.keyed */
	STORE_NAME,
	STORE_LABEL, /* report_row.label */
	STORE_TID,
	STORE_NTH, /* of the threads that had the tid */
	STORE_PID,
	STORE_COMM,
	STORE_COMM_OF, /* of a process: row.named_by; NULL: not known (older versions) */
	STORE_PRIO,
	STORE_CONTAINER,
	/* Of single instances. */
	STORE_RANK,
	STORE_ENDED,
	STORE_NS,
	STORE_MORE,
	STORE_CPU,
	STORE_INSTANCE_ID,
	STORE_INSTANCE_NAME,
	STORE_BY,
	STORE_THREAD,
	STORE_BEGUN_BY,
	/* Figures, and the parts of a histogram. */
	STORE_VALUE,
	STORE_COUNT,
	STORE_SUM,
	STORE_MIN,
	STORE_MAX,
	STORE_SQUARES_HIGH,
	STORE_SQUARES_LOW,
	STORE_BUCKETS,
	STORE_COUNTS,
};

struct store_column {
	char name[STORE_NAME_MAX];
	enum store_role role;
	uint8_t at;   /* the figure's column, or its place in instance.more */
	bool is_text; /* else a number of 64 bits */
	bool is_key;
};

/* "cpu_threads". */
void store_table_name(const struct analysis *analysis, size_t table, char ret[STORE_NAME_MAX]);
/* The columns behind level, begin and trace; keys come first.  Returns how many. */
size_t store_columns(const struct analysis *analysis, const struct table *table,
		     struct store_column ret[STORE_COLUMNS_MAX]);
/* Prints all tables and their columns. */
void store_describe(FILE *out, const struct analysis *const *list);

struct arena;

struct store_cell {
	bool is_null;
	int64_t number; /* unsigned figures bit by bit */
	const char *text;
	size_t len;
};

/* Memory for the texts of a row's cells, and for what a row points to. */
struct store_scratch {
	VEC(char) text;
};

/* Makes the cells of a row.  Texts are valid until the next call. */
void store_cells(const struct report_table *table, const struct report_row *row,
		 const struct store_column *columns, size_t count, struct store_cell *cells,
		 struct store_scratch *scratch);

/* What is written of the namespace, or the service, that a thread is in; 0: it is not known. */
static inline uint64_t store_container(const struct thread_view *view)
{
	return view->container == 0 ? 0 : report_container_id(view);
}

/* A row that was read, with all that it points to; zeroed at first. */
struct store_row {
	struct report_row row;
	struct thread_view view;
	struct instance instance;
	const char *name, *label; /* in the caller's arena; label: NULL: none */
	char keyed[ROW_KEY_NAME_BYTES];
	uint64_t values[COLUMNS_MAX];
	uint16_t unwritten; /* bit by bit the figures that an older version did not know */
};

/* Windows are by PID namespace or by service, as their runs were.  By service, or not, what a
 * thread is in, and what a row about a container is of, is not known if it is of the other kind. */
void store_show_kind_of(struct thread_view *view, bool by_service);
void store_show_kind(const struct table *table, struct store_row *row, bool by_service);

/* Makes a row of cells; @ret is not moved afterwards.  -EINVAL: they are damaged.  The histograms
 * belong to the caller (columns_empty()). */
int store_take_row(const struct table *table, const struct store_column *columns, size_t count,
		   const struct store_cell *cells, struct arena *names, struct store_row *ret);
