/*
 * files: pairs calls thread by thread, counts operations, and passes on calls in time order
 * (files.h).
 */
#include <assert.h>
#include <string.h>

#include "analyses/files/files.h"
#include "base/mem.h"
#include "engine/contract/analysis-rare.h"
#include "engine/contract/untrusted.h"

const struct file_call_kind file_calls[FILE_CALL_COUNT] = {
#define X(name_, operation_, effect_, ...) [FILE_CALL_##name_] = { #name_, operation_, effect_ },
	FILE_CALLS(X)
#undef X
};

static const char *const operation_names[OPERATIONS] = {
	[OP_READ] = "read",   [OP_WRITE] = "write", [OP_BOTH] = "both", [OP_OPEN] = "open",
	[OP_CLOSE] = "close", [OP_SYNC] = "sync",   [OP_WAIT] = "wait", [OP_ASYNC] = "async",
};

/* ---- merger's half: thread by thread ---- */

struct thread_files {
	struct call_pairing pairing;
	struct call open; /* what was seen of the call at its entry */
	char *path;       /* its path, owned; NULL: none */
	bool has_pid;
	bool has_left; /* the file table of its process */
	int32_t pid;
};

static uint64_t key_of(const struct thread *thread, const struct thread_files *files)
{
	if (files->has_pid) {
		return (uint32_t)files->pid;
	}
	return shard_tid(thread) < 0 ? FD_KEY_NONE
				     : FD_KEY_THREAD(shard_tid(thread), shard_incarnation(thread));
}

static char *path_of(const uint64_t *words, const struct call *call)
{
	return call->path_len > 0 ? (char *)(words + CALL_WORDS) : NULL;
}

static struct row_key key_of_operation(const struct shard *shard, uint32_t operation)
{
	return row_key_of(0, operation_names[operation], ROW_KEY_NAME_BYTES);
}

static void add_operation(struct shard *shard, const struct call *call)
{
	uint8_t operation = file_calls[call->call].operation;
	bool failed = (call->flags & CALL_HAS_RET) && call_failed(call->ret);
	uint64_t *row;

	if (operation == OP_NONE) {
		return;
	}
	row = shard_indexed_row(shard, BY_OPERATION, operation, key_of_operation);
	row[OP_CALLS]++;
	row[OP_ERRORS] += failed;
	if (call->flags & CALL_HAS_NS) {
		column_add(row, failed ? OP_ERROR_TIME : OP_TIME, call->time);
	}
}

/* A call that has ended.  @owns_path: @path is on the heap, and goes to the ordered event. */
static void add_call(struct shard *shard, struct thread *thread, uint64_t ts,
		     const struct call *call, char *path, bool owns_path)
{
	uint8_t operation = file_calls[call->call].operation;
	struct ordered_call ordered = { .ns = call->time,
					.ret = call->ret,
					.fd = call->fd,
					.fd2 = call->fd2,
					.arg = call->arg,
					.arg2 = call->arg2,
					.call = call->call,
					.flags = call->flags };

	add_operation(shard, call);
	if (call->call == FILE_CALL_UNNAMED || operation == OP_WAIT || operation == OP_ASYNC) {
		free(owns_path ? path : NULL);
		return;
	}
	ordered.key = key_of(thread, shard_thread_state(shard, thread));
	if (call->flags & CALL_HAS_OUT) {
		memcpy(ordered.out, call->out, sizeof(ordered.out));
		free(owns_path ? path : NULL);
	} else {
		ordered.path = path;
		ordered.owns_path = owns_path;
	}
	memcpy(shard_note_ordered(shard, thread, ts, ORDERED_CALL)->words, &ordered,
	       sizeof(ordered));
}

static void merge_call(struct shard *shard, struct thread *thread, const struct record *record,
		       const uint64_t *numbers)
{
	struct call call = { .time = record->arg64 >> SHORT_NS_BITS,
			     .ret = (int32_t)record->arg64,
			     .fd = record->arg32,
			     .fd2 = -1,
			     .call = (uint8_t)record->arg16,
			     .flags = (uint8_t)(record->arg16 >> 8) };
	char *path = NULL;

	if (record->arg16 == 0) {
		memcpy(&call, numbers + record->arg64, sizeof(call));
		path = path_of(numbers + record->arg64, &call);
	}
	add_call(shard, thread, record->ts, &call, path, false);
}

static void merge_open(struct thread_files *files, uint64_t channel, const uint64_t *words)
{
	memcpy(&files->open, words, sizeof(files->open));
	free(files->path);
	files->path = files->open.path_len > 0 ? mem_strdup(path_of(words, &files->open)) : NULL;
	call_enter(&files->pairing, files->open.call, files->open.time, channel);
}

static void merge_exit(struct shard *shard, struct thread *thread, struct thread_files *files,
		       uint64_t ts, const uint64_t *words)
{
	struct call exit, *open = &files->open;

	memcpy(&exit, words, sizeof(exit));
	if ((exit.flags & CALL_IS_ALONE) || !call_ends(&files->pairing, exit.call)) {
		add_call(shard, thread, ts, &exit, NULL, false);
		return;
	}
	if (call_duration(&files->pairing, ts, &open->time)) {
		open->flags |= CALL_HAS_NS;
	}
	open->ret = exit.ret;
	open->flags |= exit.flags;
	if (exit.flags & CALL_HAS_OUT) {
		memcpy(open->out, exit.out, sizeof(open->out));
		open->arg2 = exit.arg2;
	}
	add_call(shard, thread, ts, open, files->path, true);
	files->path = NULL;
}

/* The process of the thread is known from here on.  An unknown thread does not count among the
 * threads of its process: it may be one that is known by its tid. */
static void set_pid(struct shard *shard, struct thread *thread, uint64_t ts, int32_t pid)
{
	struct thread_files *files = shard_thread_state(shard, thread);
	uint64_t former = key_of(thread, files);
	struct ordered *ordered;

	if (shard_tid(thread) < 0) {
		files->has_pid = true;
		files->pid = pid;
		return;
	}
	if (files->has_pid && files->pid == pid) {
		return;
	}
	if (files->has_pid) {
		shard_note_ordered(shard, thread, ts, ORDERED_LEAVE)->words[0] = former;
		former = FD_KEY_NONE;
	}
	files->has_pid = true;
	files->pid = pid;
	ordered = shard_note_ordered(shard, thread, ts, ORDERED_JOIN);
	ordered->words[0] = former;
	ordered->words[1] = (uint32_t)pid;
}

static void merge_fork(struct shard *shard, struct thread *thread, const struct record *record)
{
	struct thread_files *files = shard_thread_state(shard, thread);
	int32_t pid = (int32_t)record->arg64;
	struct ordered *ordered;

	if (shard_tid(thread) != pid) {
		set_pid(shard, thread, record->ts, pid);
		return;
	}
	files->has_pid = true;
	files->pid = pid;
	ordered = shard_note_ordered(shard, thread, record->ts, ORDERED_FORK);
	ordered->words[0] = record->arg32 < 0 ? FD_KEY_NONE : (uint32_t)record->arg32;
	ordered->words[1] = (uint32_t)pid;
}

static void merge_dumped_process(struct shard *shard, struct thread *thread, uint64_t ts,
				 const uint64_t *numbers)
{
	struct thread_files *files = shard_thread_state(shard, thread);
	struct ordered *ordered;

	set_pid(shard, thread, ts, (int32_t)numbers[0]);
	if (numbers[1] != 0) {
		ordered = shard_note_ordered(shard, thread, ts, ORDERED_DUMP_OWNER);
		ordered->words[0] = numbers[1];
		ordered->words[1] = key_of(thread, files);
	}
}

static void merge_dumped_fd(struct shard *shard, struct thread *thread, uint64_t ts,
			    const uint64_t *words)
{
	struct ordered *ordered = shard_note_ordered(shard, thread, ts, ORDERED_DUMP_FD);
	struct call call;

	memcpy(&call, words, sizeof(call));
	ordered->words[0] = call.time;
	ordered->words[1] = (uint32_t)call.fd;
	ordered->words[2] = (uint64_t)call.arg;
	ordered->words[3] = (uint64_t)(uintptr_t)path_of(words, &call);
}

/* Its exit may be missing, or may still come. */
static void on_end(struct shard *shard, struct thread *thread, uint64_t ts)
{
	const struct thread_files *files = shard_thread_state(shard, thread);

	if (shard_tid(thread) > 0 && !files->has_left) {
		(void)shard_note_ordered(shard, thread, ts, ORDERED_END);
	}
}

static void on_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	const struct thread_files *files;
	struct ordered leave;

	if (ordered->kind != ORDERED_END) {
		files_use_ordered(shard, state, ordered);
		return;
	}
	files = shard_thread_state(ordered->shard, ordered->thread);
	if (!files->has_left) {
		leave = *ordered;
		leave.kind = ORDERED_LEAVE;
		leave.words[0] = key_of(ordered->thread, files);
		files_use_ordered(shard, state, &leave);
	}
}

static bool accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;
	struct call call;

	switch (record->kind) {
	case OWN_CALL:
		if (record->arg16 != 0) {
			return untrusted_has(untrusted, 0) &&
			       (uint8_t)record->arg16 < FILE_CALL_COUNT;
		}
		break;
	case OWN_OPEN:
	case OWN_EXIT:
	case OWN_DUMP_FD:
		break;
	case OWN_DUMP_PROCESS:
		return untrusted_has(untrusted, 2);
	case OWN_PID:
	case OWN_FORK:
	case OWN_EXEC:
	case OWN_END:
	case OWN_DUMP:
		return untrusted_has(untrusted, 0);
	default:
		return false;
	}
	if (!untrusted_has(untrusted, CALL_WORDS)) {
		return false;
	}
	memcpy(&call, untrusted->numbers, sizeof(call));
	return call.call < FILE_CALL_COUNT && untrusted_has(untrusted, call_words(&call)) &&
	       (call.path_len == 0 || path_of(untrusted->numbers, &call)[call.path_len] == 0);
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct thread_files *files = state;
	struct call *open = &files->open;

	codec_each(codec, &open->time, &open->ret, &open->fd, &open->fd2, &open->arg, &open->arg2,
		   &open->call, &open->flags);
	codec_each(codec, &open->out[0], &open->out[1]);
	codec_text(codec, &files->path);
	codec_each(codec, &files->pairing.is_open, &files->pairing.is_tainted,
		   &files->pairing.channel, &files->has_pid, &files->pid, &files->has_left);
	if (!codec_check(codec, open->call < FILE_CALL_COUNT)) {
		open->call = 0;
	}
	files->pairing.entry_ts = open->time;
	files->pairing.id = open->call;
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct thread_files *files = shard_thread_state(shard, thread);

	switch (record->kind) {
	case OWN_CALL:
		call_forget(&files->pairing);
		merge_call(shard, thread, record, numbers);
		break;
	case OWN_OPEN:
		merge_open(files, shard_channel(shard), numbers + record->arg64);
		break;
	case OWN_EXIT:
		merge_exit(shard, thread, files, record->ts, numbers + record->arg64);
		call_forget(&files->pairing);
		break;
	case OWN_PID:
		set_pid(shard, thread, record->ts, (int32_t)record->arg64);
		break;
	case OWN_FORK:
		merge_fork(shard, thread, record);
		break;
	case OWN_EXEC:
		shard_note_ordered(shard, thread, record->ts, ORDERED_EXEC)->words[0] =
			key_of(thread, files);
		break;
	case OWN_END:
		shard_note_ordered(shard, thread, record->ts, ORDERED_LEAVE)->words[0] =
			key_of(thread, files);
		files->has_pid = false;
		files->has_left = true;
		break;
	case OWN_DUMP:
		(void)shard_note_ordered(shard, thread, record->ts, ORDERED_DUMP);
		break;
	case OWN_DUMP_PROCESS:
		merge_dumped_process(shard, thread, record->ts, numbers + record->arg64);
		break;
	case OWN_DUMP_FD:
		merge_dumped_fd(shard, thread, record->ts, numbers + record->arg64);
		break;
	default:
		assert(!"a record of files has a kind of its own");
	}
}

/* In the gap, the call may have ended and another one of its kind may have begun. */
static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct thread_files *files = shard_thread_state(shard, thread);

	if (what & DOUBT_THREAD) {
		call_forget(&files->pairing);
		files->has_pid = false;
	} else {
		call_gap(&files->pairing, shard_may_miss(shard, files->pairing.channel));
	}
}

static void on_forget(void *state)
{
	struct thread_files *files = state;

	free(files->path);
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
	.needs = files_needs,
	.need_count = FILES_NEEDS,
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct worker_files),
	.thread_state_size = sizeof(struct thread_files),
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
	.on_oncpu_end = files_worker_oncpu_end,
	.on_record = on_record,
	.accepts = accepts,
	.on_checkpoint = on_checkpoint,
	.on_doubt = on_doubt,
	.rare = &(const struct analysis_rare){ .on_end = on_end },
	.on_forget = on_forget,
	.on_ordered = on_ordered,
	.on_trace_forget = files_use_forget,
	.on_trace_checkpoint = files_use_checkpoint,
};
