/*
 * report-listing: one table of a report while it is filled; shared by report-build.c and
 * report-threads.c.
 */
#pragma once

#include "engine/tables/tables.h"
#include "kernel/thread-identity.h"

struct process_row {
	struct thread_view view;
	struct process_name named;
	char container[CONTAINER_NAME_BYTES];
	uint64_t values[COLUMNS_MAX];
};

/* The first is a report_process.memory. */
struct container_row {
	uint32_t pid_ns; /* or number of a service; 0: unknown */
	bool is_ended;   /* the sum of threads that lost their row: of which container is unknown */
	char name[CONTAINER_NAME_BYTES];
	uint64_t values[COLUMNS_MAX];
};

struct listing {
	const struct analysis *analysis;
	const struct table *table;
	size_t a, t;      /* table t of analysis a */
	uint32_t offset;  /* in a row of its scope; SCOPE_PROCESS: of the table of threads */
	uint32_t columns; /* how many */
	uint16_t unknown; /* report_table.unknown */
	bool total;       /* else the open window */
	struct report_order order;
	const struct selection *selection; /* NULL: all */
	VEC(struct report_row) rows;
	VEC(struct process_row *) processes; /* by process number; NULL: no value */
	VEC(struct container_row *) containers;
	struct report_memory *memory;
};

/* The tables of threads and processes. */
struct listings {
	VEC(struct listing *) all;
};

bool report_has_value(const struct listing *listing, const uint64_t *values);
/* Adds a row; NULL: all its columns are zero, and @always is not set. */
struct report_row *report_add_row(struct listing *listing, const uint64_t *values, bool always);

/* The name of a container: what the user says, else the kernel's own namespace, else what a
 * recorder says, else its first process; these are copied to @room; "": unknown. */
const char *report_container_name(const struct tables *tables, const struct selection *selection,
				  uint32_t pid_ns, char room[CONTAINER_NAME_BYTES]);

/* The thread that leads the process, and gives it its name; NULL: it has none that is known. */
const struct thread *report_leader(struct tables *tables, int32_t pid);

/* Fills the tables of threads and processes. */
void report_threads(struct tables *tables, const struct listings *listings, bool total);
/* Lists the threads of which something else is known than the last time. */
void report_views(struct tables *tables, struct report_memory *memory);
