/*
 * processes: see processes.h.
 */
#include "perfetto/processes.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"

HASH_MAP(process_rows, struct process)
HASH_MAP(leaders, int32_t)

struct processes {
	struct perfetto *writer;
	struct process_rows rows; /* by tid */
	struct leaders leaders;   /* of the threads that live, by tid */
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

int32_t processes_leader(const struct processes *processes, int32_t tid)
{
	int32_t *leader = leaders_get(&processes->leaders, (uint64_t)(uint32_t)tid);

	return leader ? *leader : -1;
}

void processes_know(struct processes *processes, const struct process *row)
{
	if (row->tgid >= 0) {
		*leaders_put(&processes->leaders, (uint64_t)(uint32_t)row->tid, NULL) = row->tgid;
	}
}

void processes_set(struct processes *processes, const struct process *row)
{
	struct process shown = *row;

	processes_know(processes, row);
	if (processes->shows) {
		put(processes, &shown);
		return;
	}
	*process_rows_put(&processes->rows, (uint64_t)(uint32_t)row->tid, NULL) = *row;
}

void processes_remove(struct processes *processes, int32_t tid)
{
	(void)process_rows_drop(&processes->rows, (uint64_t)(uint32_t)tid);
	(void)leaders_drop(&processes->leaders, (uint64_t)(uint32_t)tid);
}

ORDER(by_tid, struct process, UP(tid))

void processes_show(struct processes *processes)
{
	VEC(struct process) rows = { 0 };

	assert(!processes->shows);
	HASH_EACH(process_rows, &processes->rows, one) {
		*vec_push(&rows) = one->value;
	}
	vec_sort(&rows, by_tid);
	for (size_t i = 0; i < rows.count; i++) {
		put(processes, &rows.at[i]);
	}
	vec_fini(&rows);
	process_rows_clear(&processes->rows);
	processes->shows = true;
}

struct processes *processes_new(struct perfetto *writer)
{
	struct processes *processes = mem_alloc(sizeof(*processes));

	processes->writer = writer;
	return processes;
}

void processes_free(struct processes *processes)
{
	process_rows_fini(&processes->rows);
	leaders_fini(&processes->leaders);
	free(processes);
}
