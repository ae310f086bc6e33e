/*
 * report-build: the rows of a report, from the open window or the total.
 *
 * Each table of each analysis becomes a list of rows that have a value and are wanted by the
 * selection, in order.  Tables of threads and of processes are filled together, in one pass over
 * all threads (report-threads.c): threads are far apart in memory.
 *
 * Rows point into the tables and into the report's own memory.  So they are valid until the next
 * round or the end of the report, whichever comes first.
 */
#pragma once

#include "base/mem.h"
#include "engine/tables/columns.h"
#include "engine/tables/report.h"

struct tables;

/* The row of a process, which was added up for this report. */
struct report_process {
	void *memory;
	uint64_t *row;
	const struct columns *columns;
};

/* What a report owns; zeroed at first. */
struct report_memory {
	VEC(struct report_table) tables;
	VEC(void *) lists;
	VEC(struct report_process) processes;
	VEC(struct report_view) views;
	VEC(char *) labels;
};

/* Fills the tables of @report from the open window or the total.  No task may run. */
void tables_report(struct tables *tables, bool total, struct report *report,
		   struct report_memory *memory);
void report_memory_fini(struct report_memory *memory);
