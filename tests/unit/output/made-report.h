/*
 * made-report: small reports for tests, of an analysis with one table of each kind.
 *
 * Rows are added by hand; the report points into struct made, which must not move.
 */
#pragma once

#include "engine/tables/report.h"
#include "output/sink.h"

/* Its tables, and the columns of each. */
enum { MADE_TOTALS, MADE_CPUS, MADE_THREADS, MADE_FILES, MADE_WAITS, MADE_TABLES };
enum { MADE_RUN, MADE_SWITCHES, MADE_MOST, MADE_LAST, MADE_LATENCY }; /* of threads */
extern const struct analysis made_analysis;
extern const struct analysis *const made_analyses[];

#define MADE_ROWS 64

struct made {
	struct report report;
	struct report_table tables[MADE_TABLES];
	struct report_row rows[MADE_TABLES][MADE_ROWS];
	uint64_t values[MADE_TABLES][MADE_ROWS][COLUMNS_MAX];
	struct thread_view threads[MADE_TABLES][MADE_ROWS];
	struct instance instances[MADE_ROWS];
	char names[MADE_ROWS][300];
};

/* A window with totals only. */
void made_init(struct made *made, uint64_t seq, uint64_t begin, uint64_t end);
void made_fini(struct made *made);

/* It is idle for the rest of the window; of that of the last one @ns are unknown. */
void made_cpu(struct made *made, uint64_t cpu, uint64_t busy_ns);
void made_unknown(struct made *made, uint64_t ns);
/* Its row has the switches, one of which waited for @latency_ns. */
void made_thread(struct made *made, int32_t tid, const char *comm, uint64_t run_ns,
		 uint64_t switches, uint64_t latency_ns);
void made_file(struct made *made, uint64_t id, const char *name, uint64_t bytes);
void made_wait(struct made *made, int32_t tid, uint64_t end, uint64_t ns);
