/*
 * made-report: see made-report.h.
 */
#include "made-report.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "engine/tables/columns.h"

const struct analysis made_analysis = {
	.name = "cpu",
	.summary = "made by a test",
	.tables = {
		[MADE_TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = { { "busy_ns", "busy", UNIT_NS, COLUMN_SUM, true } },
		},
		[MADE_CPUS] = {
			.key = "cpus",
			.scope = SCOPE_CPU,
			.sort_mask = 1,
			.columns = { { "busy_ns", "BUSY", UNIT_NS, COLUMN_SUM, true },
				     { "idle_ns", "IDLE", UNIT_NS },
				     { "unknown_ns", "UNKNOWN", UNIT_NS } },
		},
		[MADE_THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1,
			.columns = {
				[MADE_RUN] = { "run_ns", "RUN", UNIT_NS },
				[MADE_SWITCHES] = { "switches", "SWITCHES", UNIT_COUNT },
				[MADE_MOST] = { "most_ns", "MOST", UNIT_NS, COLUMN_MAX },
				[MADE_LAST] = { "last", "LAST", UNIT_COUNT, COLUMN_LAST },
				[MADE_LATENCY] = { "latency", "WAKEUPS", UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[MADE_FILES] = {
			.key = "files",
			.scope = SCOPE_KEYED,
			.sort_mask = 1,
			.id_key = "dev",
			.name_key = "path",
			.columns = { { "bytes", "BYTES", UNIT_BYTES } },
		},
		[MADE_WAITS] = {
			.key = "waits",
			.scope = SCOPE_LONGEST,
			.columns = { { "wait_ns", "WAIT", UNIT_NS } },
		},
	},
};

const struct analysis *const made_analyses[] = { &made_analysis, NULL };

void made_init(struct made *made, uint64_t seq, uint64_t begin, uint64_t end)
{
	memset(made, 0, sizeof(*made));
	for (size_t t = 0; t < MADE_TABLES; t++) {
		made->tables[t] = (struct report_table){ .analysis = &made_analysis,
							 .table = &made_analysis.tables[t],
							 .rows = made->rows[t] };
	}
	made->tables[MADE_TOTALS].row_count = 1;
	made->rows[MADE_TOTALS][0].values = made->values[MADE_TOTALS][0];
	made->report = (struct report){ .kind = REPORT_WINDOW,
					.seq = seq,
					.begin = begin,
					.end = end,
					.complete = true,
					.tables = made->tables,
					.table_count = MADE_TABLES };
}

void made_fini(struct made *made)
{
	struct columns columns = { 0 };

	columns_append(&columns, &made_analysis.tables[MADE_THREADS]);
	for (size_t i = 0; i < made->tables[MADE_THREADS].row_count; i++) {
		columns_empty(&columns, made->values[MADE_THREADS][i]);
	}
	columns_fini(&columns);
}

static size_t add_row(struct made *made, size_t table, uint64_t id)
{
	size_t i = made->tables[table].row_count++;

	assert(i < MADE_ROWS);
	made->rows[table][i] = (struct report_row){ .id = id, .values = made->values[table][i] };
	return i;
}

static void set_thread(struct made *made, size_t table, size_t i, int32_t tid, const char *comm)
{
	struct thread_view *view = &made->threads[table][i];

	*view = (struct thread_view){ .pid = tid, .tid = tid };
	(void)snprintf(view->comm, sizeof(view->comm), "%s", comm);
	made->rows[table][i].thread = view;
}

void made_cpu(struct made *made, uint64_t cpu, uint64_t busy_ns)
{
	size_t i = add_row(made, MADE_CPUS, cpu);

	made->values[MADE_CPUS][i][0] = busy_ns;
	made->values[MADE_CPUS][i][1] = made->report.end - made->report.begin - busy_ns;
	made->values[MADE_TOTALS][0][0] += busy_ns;
}

void made_unknown(struct made *made, uint64_t ns)
{
	uint64_t *last = made->values[MADE_CPUS][made->tables[MADE_CPUS].row_count - 1];

	assert(last[1] >= ns);
	last[1] -= ns;
	last[2] += ns;
}

void made_thread(struct made *made, int32_t tid, const char *comm, uint64_t run_ns,
		 uint64_t switches, uint64_t latency_ns)
{
	size_t i = add_row(made, MADE_THREADS, (uint64_t)tid);
	uint64_t *values = made->values[MADE_THREADS][i];

	set_thread(made, MADE_THREADS, i, tid, comm);
	values[MADE_RUN] = run_ns;
	values[MADE_SWITCHES] = switches;
	values[MADE_MOST] = run_ns;
	values[MADE_LAST] = switches;
	column_add(values, MADE_LATENCY, latency_ns);
	made->report.events += switches;
}

void made_file(struct made *made, uint64_t id, const char *name, uint64_t bytes)
{
	size_t i = add_row(made, MADE_FILES, id);

	(void)snprintf(made->names[i], sizeof(made->names[i]), "%s", name);
	made->rows[MADE_FILES][i].name = made->names[i];
	made->rows[MADE_FILES][i].keyed = made->names[i];
	made->values[MADE_FILES][i][0] = bytes;
}

void made_wait(struct made *made, int32_t tid, uint64_t end, uint64_t ns)
{
	size_t i = add_row(made, MADE_WAITS, 0);

	made->instances[i] = (struct instance){ .ns = ns, .end = end, .cpu = UINT64_MAX };
	made->rows[MADE_WAITS][i].instance = &made->instances[i];
	made->rows[MADE_WAITS][i].name = made->instances[i].keyed.name;
	set_thread(made, MADE_WAITS, i, tid, "waits");
}
