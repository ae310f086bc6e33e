/*
 * fds: pairs calls that change descriptors, thread by thread, and notes them in time order; see
 * fds.h.
 */
#include "analyses/files/fds.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "engine/contract/analysis-rare.h"

const struct file_call_kind file_calls[FILE_CALL_COUNT] = {
#define X(name_, operation_, effect_, ...) [FILE_CALL_##name_] = { #name_, operation_, effect_ },
	FILE_CALLS(X)
#undef X
};

uint64_t fds_key(const struct thread *thread, const struct fds_thread *fds)
{
	if (fds->has_pid) {
		return (uint32_t)fds->pid;
	}
	return shard_tid(thread) < 0 ? FD_KEY_NONE
				     : FD_KEY_THREAD(shard_tid(thread), shard_incarnation(thread));
}

static char *path_of(const uint64_t *words, const struct fds_call *call)
{
	return call->path_len > 0 ? (char *)(words + FDS_CALL_WORDS) : NULL;
}

/* A call that has ended.  @owns_path: @path is on the heap, and goes to the ordered event. */
static void add_call(struct shard *shard, struct thread *thread, const struct fds_thread *fds,
		     uint64_t ts, const struct fds_call *call, char *path, bool owns_path)
{
	uint8_t operation = file_calls[call->call].operation;
	struct fds_note ordered = { .ns = call->time,
				    .ret = call->ret,
				    .fd = call->fd,
				    .fd2 = call->fd2,
				    .arg = call->arg,
				    .arg2 = call->arg2,
				    .call = call->call,
				    .flags = call->flags };

	if (call->call == FILE_CALL_UNNAMED || operation == OP_WAIT || operation == OP_ASYNC) {
		free(owns_path ? path : NULL);
		return;
	}
	ordered.key = fds_key(thread, fds);
	if (call->flags & FDS_CALL_HAS_OUT) {
		memcpy(ordered.out, call->out, sizeof(ordered.out));
		free(owns_path ? path : NULL);
	} else {
		ordered.path = path;
		ordered.owns_path = owns_path;
	}
	memcpy(shard_note_ordered(shard, thread, ts, FDS_NOTE_CALL)->words, &ordered,
	       sizeof(ordered));
}

static void merge_call(struct shard *shard, struct thread *thread, const struct fds_thread *fds,
		       fds_on_call *on_call, const struct record *record, const uint64_t *numbers)
{
	struct fds_call call = { .time = record->arg64 >> SHORT_NS_BITS,
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
	on_call(shard, &call);
	add_call(shard, thread, fds, record->ts, &call, path, false);
}

static void merge_open(struct fds_thread *fds, uint64_t channel, const uint64_t *words)
{
	memcpy(&fds->open, words, sizeof(fds->open));
	free(fds->path);
	fds->path = fds->open.path_len > 0 ? mem_strdup(path_of(words, &fds->open)) : NULL;
	call_enter(&fds->pairing, fds->open.call, fds->open.time, channel);
}

static void merge_exit(struct shard *shard, struct thread *thread, struct fds_thread *fds,
		       fds_on_call *on_call, uint64_t ts, const uint64_t *words)
{
	struct fds_call exit, *open = &fds->open;

	memcpy(&exit, words, sizeof(exit));
	if ((exit.flags & FDS_CALL_IS_ALONE) || !call_ends(&fds->pairing, exit.call)) {
		on_call(shard, &exit);
		add_call(shard, thread, fds, ts, &exit, NULL, false);
		return;
	}
	if (call_duration(&fds->pairing, ts, &open->time)) {
		open->flags |= FDS_CALL_HAS_NS;
	}
	open->ret = exit.ret;
	open->flags |= exit.flags;
	if (exit.flags & FDS_CALL_HAS_OUT) {
		memcpy(open->out, exit.out, sizeof(open->out));
		open->arg2 = exit.arg2;
	}
	on_call(shard, open);
	add_call(shard, thread, fds, ts, open, fds->path, true);
	fds->path = NULL;
}

/* The process of the thread is known from here on.  An unknown thread does not count among the
 * threads of its process: it may be one that is known by its tid. */
void fds_set_pid(struct shard *shard, struct thread *thread, struct fds_thread *fds, uint64_t ts,
		 int32_t pid)
{
	uint64_t former = fds_key(thread, fds);
	struct ordered *ordered;

	if (shard_tid(thread) < 0) {
		fds->has_pid = true;
		fds->pid = pid;
		return;
	}
	if (fds->has_pid && fds->pid == pid) {
		return;
	}
	if (fds->has_pid) {
		shard_note_ordered(shard, thread, ts, FDS_NOTE_LEAVE)->words[0] = former;
		former = FD_KEY_NONE;
	}
	fds->has_pid = true;
	fds->pid = pid;
	ordered = shard_note_ordered(shard, thread, ts, FDS_NOTE_JOIN);
	ordered->words[0] = former;
	ordered->words[1] = (uint32_t)pid;
}

static void merge_fork(struct shard *shard, struct thread *thread, struct fds_thread *fds,
		       const struct record *record)
{
	int32_t pid = (int32_t)record->arg64;
	struct ordered *ordered;

	if (shard_tid(thread) != pid) {
		fds_set_pid(shard, thread, fds, record->ts, pid);
		return;
	}
	fds->has_pid = true;
	fds->pid = pid;
	ordered = shard_note_ordered(shard, thread, record->ts, FDS_NOTE_FORK);
	ordered->words[0] = record->arg32 < 0 ? FD_KEY_NONE : (uint32_t)record->arg32;
	ordered->words[1] = (uint32_t)pid;
}

static void merge_dumped_process(struct shard *shard, struct thread *thread, struct fds_thread *fds,
				 uint64_t ts, const uint64_t *numbers)
{
	struct ordered *ordered;

	fds_set_pid(shard, thread, fds, ts, (int32_t)numbers[0]);
	if (numbers[1] != 0) {
		ordered = shard_note_ordered(shard, thread, ts, FDS_NOTE_DUMP_OWNER);
		ordered->words[0] = numbers[1];
		ordered->words[1] = fds_key(thread, fds);
	}
}

static void merge_dumped_fd(struct shard *shard, struct thread *thread, uint64_t ts,
			    const uint64_t *words)
{
	struct ordered *ordered = shard_note_ordered(shard, thread, ts, FDS_NOTE_DUMP_FD);
	struct fds_call call;

	memcpy(&call, words, sizeof(call));
	ordered->words[0] = call.time;
	ordered->words[1] = (uint32_t)call.fd;
	ordered->words[2] = (uint64_t)call.arg;
	ordered->words[3] = (uint64_t)(uintptr_t)path_of(words, &call);
}

void fds_take(struct shard *shard, struct thread *thread, struct fds_thread *fds,
	      const struct record *record, const uint64_t *numbers, fds_on_call *on_call)
{
	switch (record->kind) {
	case FDS_CALL:
		call_forget(&fds->pairing);
		merge_call(shard, thread, fds, on_call, record, numbers);
		break;
	case FDS_OPEN:
		merge_open(fds, shard_channel(shard), numbers + record->arg64);
		break;
	case FDS_EXIT:
		merge_exit(shard, thread, fds, on_call, record->ts, numbers + record->arg64);
		call_forget(&fds->pairing);
		break;
	case FDS_PID:
		fds_set_pid(shard, thread, fds, record->ts, (int32_t)record->arg64);
		break;
	case FDS_FORK:
		merge_fork(shard, thread, fds, record);
		break;
	case FDS_EXEC:
		shard_note_ordered(shard, thread, record->ts, FDS_NOTE_EXEC)->words[0] =
			fds_key(thread, fds);
		break;
	case FDS_END:
		shard_note_ordered(shard, thread, record->ts, FDS_NOTE_LEAVE)->words[0] =
			fds_key(thread, fds);
		fds->has_pid = false;
		fds->has_left = true;
		break;
	case FDS_DUMP:
		(void)shard_note_ordered(shard, thread, record->ts, FDS_NOTE_DUMP);
		break;
	case FDS_DUMP_PROCESS:
		merge_dumped_process(shard, thread, fds, record->ts, numbers + record->arg64);
		break;
	case FDS_DUMP_FD:
		merge_dumped_fd(shard, thread, record->ts, numbers + record->arg64);
		break;
	default:
		assert(!"a record of descriptors has a kind of its own");
	}
}

/* In the gap, the call may have ended and another one of its kind may have begun. */
void fds_doubt(const struct shard *shard, struct fds_thread *fds, unsigned int what)
{
	if (what & DOUBT_THREAD) {
		call_forget(&fds->pairing);
		fds->has_pid = false;
	} else {
		call_gap(&fds->pairing, shard_may_miss(shard, fds->pairing.channel));
	}
}

/* Its exit may be missing, or may still come. */
void fds_end(struct shard *shard, struct thread *thread, const struct fds_thread *fds, uint64_t ts)
{
	if (shard_tid(thread) > 0 && !fds->has_left) {
		(void)shard_note_ordered(shard, thread, ts, FDS_NOTE_END);
	}
}

bool fds_accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;
	struct fds_call call;

	switch (record->kind) {
	case FDS_CALL:
		if (record->arg16 != 0) {
			return untrusted_has(untrusted, 0) &&
			       (uint8_t)record->arg16 < FILE_CALL_COUNT;
		}
		break;
	case FDS_OPEN:
	case FDS_EXIT:
	case FDS_DUMP_FD:
		break;
	case FDS_DUMP_PROCESS:
		return untrusted_has(untrusted, 2);
	case FDS_PID:
	case FDS_FORK:
	case FDS_EXEC:
	case FDS_END:
	case FDS_DUMP:
		return untrusted_has(untrusted, 0);
	default:
		return false;
	}
	if (!untrusted_has(untrusted, FDS_CALL_WORDS)) {
		return false;
	}
	memcpy(&call, untrusted->numbers, sizeof(call));
	return call.call < FILE_CALL_COUNT && untrusted_has(untrusted, fds_call_words(&call)) &&
	       (call.path_len == 0 || path_of(untrusted->numbers, &call)[call.path_len] == 0);
}

void fds_thread_codec(struct codec *codec, struct fds_thread *fds)
{
	struct fds_call *open = &fds->open;

	codec_each(codec, &open->time, &open->ret, &open->fd, &open->fd2, &open->arg, &open->arg2,
		   &open->call, &open->flags);
	codec_each(codec, &open->out[0], &open->out[1]);
	codec_text(codec, &fds->path);
	codec_each(codec, &fds->pairing.is_open, &fds->pairing.is_tainted, &fds->pairing.channel,
		   &fds->has_pid, &fds->pid, &fds->has_left);
	if (!codec_check(codec, open->call < FILE_CALL_COUNT)) {
		open->call = 0;
	}
	fds->pairing.entry_ts = open->time;
	fds->pairing.id = open->call;
}
