/*
 * files: counts operations, and its hooks; see files.h.
 */
#include <stdlib.h>

#include "analyses/files/files.h"

#define FDS_ON_ENTRY  fds_entry
#define FDS_ON_EXIT   fds_exit
#define FDS_IS_BESIDE false
#include "engine/contract/analysis-rare.h"

static const char *const operation_names[OPERATIONS] = {
	[OP_READ] = "read",   [OP_WRITE] = "write", [OP_BOTH] = "both", [OP_OPEN] = "open",
	[OP_CLOSE] = "close", [OP_SYNC] = "sync",   [OP_WAIT] = "wait", [OP_ASYNC] = "async",
};

static struct row_key key_of_operation(const struct shard *shard, uint32_t operation)
{
	return row_key_of(0, operation_names[operation], ROW_KEY_NAME_BYTES);
}

static void add_operation(struct shard *shard, const struct fds_call *call)
{
	uint8_t operation = file_calls[call->call].operation;
	bool failed = (call->flags & FDS_CALL_HAS_RET) && call_failed(call->ret);
	uint64_t *row;

	if (operation == OP_NONE) {
		return;
	}
	row = shard_indexed_row(shard, BY_OPERATION, operation, key_of_operation);
	row[OP_CALLS]++;
	row[OP_ERRORS] += failed;
	if (call->flags & FDS_CALL_HAS_NS) {
		column_add(row, failed ? OP_ERROR_TIME : OP_TIME, call->time);
	}
}

/* ---- hooks ---- */

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	fds_take(shard, thread, shard_thread_state(shard, thread), record, numbers, add_operation);
}

static void on_end(struct shard *shard, struct thread *thread, uint64_t ts)
{
	fds_end(shard, thread, shard_thread_state(shard, thread), ts);
}

static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	fds_doubt(shard, shard_thread_state(shard, thread), what);
}

static void on_forget(void *state)
{
	struct fds_thread *fds = state;

	free(fds->path);
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	fds_thread_codec(checkpoint->codec, state);
}

static void on_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	struct files *files = state;

	if (ordered->kind == FDS_NOTE_CALL) {
		files_use_ordered(shard, files, ordered);
	} else {
		fds_ordered(&files->fds, ordered,
			    shard_thread_state(ordered->shard, ordered->thread));
	}
}

static void on_trace_forget(void *state)
{
	struct files *files = state;

	fds_forget(&files->fds);
}

static void on_trace_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct files *files = state;

	fds_codec(checkpoint->codec, &files->fds);
}

/* ---- the analysis ---- */

#define FIGURE_COLUMNS                                                                             \
	[READ_BYTES] = { "read_bytes", "READ", UNIT_BYTES },                                       \
	[WRITE_BYTES] = { "write_bytes", "WRITTEN", UNIT_BYTES },                                  \
	[READS] = { "reads", "READS", UNIT_COUNT }, [WRITES] = { "writes", "WRITES", UNIT_COUNT }, \
	[ERRORS] = { "errors", "ERRORS", UNIT_COUNT }
#define BY_BYTES (1u << READ_BYTES | 1u << WRITE_BYTES)
#define DIRECTION_COLUMNS                                                                          \
	.columns = {                                                                               \
		{ "disk_read_bytes", "DISK READ", UNIT_BYTES },                                    \
		{ "disk_write_bytes", "DISK WRITE", UNIT_BYTES },                                  \
		{ "net_read_bytes", "NET READ", UNIT_BYTES },                                      \
		{ "net_write_bytes", "NET WRITE", UNIT_BYTES },                                    \
		{ "other_read_bytes", "OTHER READ", UNIT_BYTES },                                  \
		{ "other_write_bytes", "OTHER WR", UNIT_BYTES },                                   \
		{ "unknown_read_bytes", "? READ", UNIT_BYTES },                                    \
		{ "unknown_write_bytes", "? WRITE", UNIT_BYTES },                                  \
	}

static const char *const entries[] = { FILE_CALLS(CALL_ENTRY_NAMES) NULL };
static const char *const exits[] = { FILE_CALLS(CALL_EXIT_NAMES) "exit_syscall", NULL };
static const char *const exits_of_reads[] = { MOVING_CALLS(CALL_READ_NAMES) "exit_syscall", NULL };
static const char *const exits_of_writes[] = { MOVING_CALLS(CALL_WRITE_NAMES) "exit_syscall",
					       NULL };
static const char *const exits_of_opens[] = { CALL_EXIT_NAMES(openat) CALL_EXIT_NAMES(open)
						      CALL_EXIT_NAMES(openat2)
							      CALL_EXIT_NAMES(creat) "exit_syscall",
					      NULL };

#define READ_FIGURES     (COLUMN(READ_BYTES) | COLUMN(READS))
#define WRITE_FIGURES    (COLUMN(WRITE_BYTES) | COLUMN(WRITES))
#define READ_DIRECTIONS  0x55 /* every second column of DIRECTION_COLUMNS */
#define WRITE_DIRECTIONS 0xAA

static const struct need needs[] = { FILE_CALLS(FDS_NEEDS_OF) FDS_NEEDS };

static const struct essential essentials[] = {
	{ exits_of_reads,
	  { [TOTALS] = READ_FIGURES,
	    [BY_KIND] = READ_FIGURES | COLUMN(KIND_READ_TIME),
	    [BY_FILE] = READ_FIGURES,
	    [BY_FD] = READ_FIGURES,
	    [THREADS] = READ_DIRECTIONS } },
	{ exits_of_writes,
	  { [TOTALS] = WRITE_FIGURES,
	    [BY_KIND] = WRITE_FIGURES | COLUMN(KIND_WRITE_TIME),
	    [BY_FILE] = WRITE_FIGURES,
	    [BY_FD] = WRITE_FIGURES,
	    [THREADS] = WRITE_DIRECTIONS } },
	{ exits_of_opens, { [BY_FILE] = COLUMN(FILE_OPENS) } },
	{ exits,
	  { [TOTALS] = COLUMN(ERRORS),
	    [BY_OPERATION] = ALL_COLUMNS,
	    [BY_KIND] = COLUMN(ERRORS),
	    [BY_FILE] = COLUMN(ERRORS) | COLUMN(FILE_NS),
	    [BY_FD] = COLUMN(ERRORS),
	    [LONGEST] = ALL_COLUMNS } },
	/* They have the descriptors, and the begin of a call. */
	{ entries,
	  { [BY_OPERATION] = COLUMN(OP_TIME) | COLUMN(OP_ERROR_TIME),
	    [BY_KIND] = ALL_COLUMNS,
	    [BY_FILE] = ALL_COLUMNS,
	    [BY_FD] = ALL_COLUMNS,
	    [THREADS] = ALL_COLUMNS,
	    [LONGEST] = ALL_COLUMNS } },
};

const struct analysis analysis_files = {
	.name = "files",
	.summary = "reads and writes by file, descriptor, kind (disk, net, pipe) and process",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct fds_worker),
	.thread_state_size = sizeof(struct fds_thread),
	.trace_state_size = sizeof(struct files),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[READ_BYTES] = { "read_bytes", "read", UNIT_BYTES },
				[WRITE_BYTES] = { "write_bytes", "written", UNIT_BYTES },
				[READS] = { "reads", "reads", UNIT_COUNT },
				[WRITES] = { "writes", "writes", UNIT_COUNT },
				[ERRORS] = { "errors", "errors", UNIT_COUNT },
			},
		},
		[BY_OPERATION] = {
			.key = "operations",
			.scope = SCOPE_KEYED,
			.name_key = "name",
			.title = "OPERATION",
			.sort_mask = 1u << OP_TIME,
			.columns = {
				[OP_CALLS] = { "calls", "CALLS", UNIT_COUNT },
				[OP_ERRORS] = { "errors", "ERRORS", UNIT_COUNT },
				[OP_TIME] = { "time", "TIMED", UNIT_NS, COLUMN_HISTOGRAM,
					      .rest = REST_OF_CALLS },
				[OP_ERROR_TIME] = { "error_time", NULL, UNIT_NS, COLUMN_HISTOGRAM,
						    .rest = REST_OF_CALLS },
			},
		},
		[BY_KIND] = {
			.key = "kinds",
			.scope = SCOPE_KEYED,
			.name_key = "name",
			.title = "KIND",
			.sort_mask = BY_BYTES,
			.columns = {
				FIGURE_COLUMNS,
				[KIND_READ_TIME] = { "read_time", "RD TIMED", UNIT_NS, COLUMN_HISTOGRAM },
				[KIND_WRITE_TIME] = { "write_time", "WR TIMED", UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[BY_FILE] = {
			.key = "files",
			.scope = SCOPE_KEYED,
			.name_key = "path",
			.title = "FILE",
			.lami_class = "path",
			.sort_mask = BY_BYTES,
			.columns = {
				FIGURE_COLUMNS,
				[FILE_OPENS] = { "opens", "OPENS", UNIT_COUNT },
				[FILE_NS] = { "time_ns", "TIME", UNIT_NS },
			},
		},
		[BY_FD] = {
			.key = "fds",
			.scope = SCOPE_KEYED,
			.owner_key = "pid",
			.id_key = "fd",
			.name_key = "path",
			.title = "PID:FD FILE",
			.sort_mask = BY_BYTES,
			.columns = { FIGURE_COLUMNS },
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 0xFF,
			DIRECTION_COLUMNS,
		},
		[PROCESSES] = {
			.key = "processes",
			.scope = SCOPE_PROCESS,
			.sort_mask = 0xFF,
			DIRECTION_COLUMNS,
		},
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.name_key = "call",
			.title = "LONGEST CALLS",
			.columns = {
				{ "ns", "TIME", UNIT_NS },
				{ "fd", "FD", UNIT_COUNT },
				{ "bytes", "BYTES", UNIT_BYTES },
			},
		},
	},
	.on_oncpu_end = fds_oncpu_end,
	.on_record = on_record,
	.accepts = fds_accepts,
	.on_checkpoint = on_checkpoint,
	.on_doubt = on_doubt,
	.rare = &(const struct analysis_rare){ .on_end = on_end },
	.on_forget = on_forget,
	.on_ordered = on_ordered,
	.on_trace_forget = on_trace_forget,
	.on_trace_checkpoint = on_trace_checkpoint,
};
