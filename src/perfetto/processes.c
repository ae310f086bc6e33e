/*
 * processes: see processes.h.
 */
#include "perfetto/processes.h"

#include <stdlib.h>

#include "base/hash.h"

HASH_DECLARE(process_rows, struct process)

struct processes {
	struct perfetto *writer;
	khash_t(process_rows) * rows; /* by tid */
	bool shows;
};

static void put(struct processes *processes, struct process *row)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	Perfetto__ProcessTree__Process process = PERFETTO__PROCESS_TREE__PROCESS__INIT;
	Perfetto__ProcessTree__Thread thread = PERFETTO__PROCESS_TREE__THREAD__INIT;
	Perfetto__ProcessTree__Process *process_list = &process;
	Perfetto__ProcessTree__Thread *thread_list = &thread;
	char *cmdline = row->name;

	thread.has_tid = 1;
	thread.tid = row->tid;
	thread.has_tgid = row->tgid >= 0;
	thread.tgid = row->tgid;
	thread.name = row->name[0] ? row->name : NULL;
	tree.n_threads = 1;
	tree.threads = &thread_list;
	process.has_pid = process.has_cmdline_is_comm = process.cmdline_is_comm = 1;
	process.pid = row->tgid;
	process.has_ppid = row->ppid >= 0;
	process.ppid = row->ppid;
	process.n_cmdline = row->name[0] != '\0';
	process.cmdline = &cmdline;
	tree.n_processes = row->tgid == row->tid;
	tree.processes = &process_list;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_PROCESS_TREE;
	packet.process_tree = &tree;
	writer_put(processes->writer, &packet);
}

void processes_set(struct processes *processes, const struct process *row)
{
	struct process shown = *row;
	khint_t at;
	int is_new;

	if (processes->shows) {
		put(processes, &shown);
		return;
	}
	at = kh_put(process_rows, processes->rows, (uint64_t)(uint32_t)row->tid, &is_new);
	kh_value(processes->rows, at) = *row;
}

void processes_remove(struct processes *processes, int32_t tid)
{
	khint_t at = kh_get(process_rows, processes->rows, (uint64_t)(uint32_t)tid);

	if (at != kh_end(processes->rows)) {
		kh_del(process_rows, processes->rows, at);
	}
}

static int by_tid(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

void processes_show(struct processes *processes)
{
	VEC(struct process) rows = { 0 };

	for (khint_t at = 0; at < kh_end(processes->rows); at++) {
		if (kh_exist(processes->rows, at)) {
			*vec_push(&rows) = kh_value(processes->rows, at);
		}
	}
	if (rows.count > 0) {
		qsort(rows.at, rows.count, sizeof(*rows.at), by_tid);
	}
	for (size_t i = 0; i < rows.count; i++) {
		put(processes, &rows.at[i]);
	}
	vec_fini(&rows);
	kh_clear(process_rows, processes->rows);
	processes->shows = true;
}

struct processes *processes_new(struct perfetto *writer)
{
	struct processes *processes = mem_alloc(sizeof(*processes));

	processes->writer = writer;
	processes->rows = kh_init(process_rows);
	return processes;
}

void processes_free(struct processes *processes)
{
	kh_destroy(process_rows, processes->rows);
	free(processes);
}
