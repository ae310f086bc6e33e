/*
 * files-use: what calls do to descriptors and files, in time order over all threads (files.h).
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "analyses/files/files.h"
#include "base/limits.h"
#include "base/mem.h"
#include "engine/contract/untrusted.h"

/* ---- rows of files ---- */

static uint64_t *columns_of(struct shard *shard, unsigned int table, struct keyed_row **keyed,
			    uint64_t id, const char *name)
{
	if (!*keyed) {
		struct keyed_row *found = shard_keyed_named(shard, table, id, name);

		if (shard_leaves_out(shard, table)) {
			return shard_keyed_again(shard, found);
		}
		*keyed = found;
	}
	return shard_keyed_again(shard, *keyed);
}

/* ---- use of a descriptor ---- */

/* What a call did to one descriptor. */
struct use {
	const struct fds_note *call;
	struct fd_file *file;
	struct fd_entry *entry; /* NULL: not known */
	int32_t fd;
	bool is_write;
	uint64_t bytes;
};

static bool moves_bytes(uint8_t operation)
{
	return operation == OP_READ || operation == OP_WRITE || operation == OP_BOTH;
}

static uint64_t bytes_of(const struct fds_note *call)
{
	if (!moves_bytes(file_calls[call->call].operation)) {
		return 0;
	}
	return file_call_bytes(call->call, call->flags & FDS_CALL_HAS_RET, call->ret,
			       (uint64_t)call->arg);
}

static bool has_failed(const struct fds_note *call)
{
	return (call->flags & FDS_CALL_HAS_RET) && call_failed(call->ret);
}

/* Counts a read, a write, or neither if the call moves no bytes. */
static void add_figures(uint64_t *row, const struct use *use, bool moves)
{
	if (moves) {
		row[use->is_write ? WRITE_BYTES : READ_BYTES] += use->bytes;
		row[use->is_write ? WRITES : READS]++;
	}
	row[ERRORS] += has_failed(use->call);
}

/* Pairs of columns in a thread's row: bytes read and written of each of these. */
enum { DISK, NET, OTHER, UNKNOWN };

static unsigned int direction_of(uint8_t kind)
{
	switch ((enum fd_kind)kind) {
	case FD_FILE:
		return DISK;
	case FD_INET:
		return NET;
	case FD_UNKNOWN:
		return UNKNOWN;
	default:
		return OTHER;
	}
}

static void add_time(uint64_t *row, unsigned int column, const struct fds_note *call)
{
	if ((call->flags & FDS_CALL_HAS_NS) && !has_failed(call)) {
		column_add(row, column, call->ns);
	}
}

static void add_use(struct shard *shard, struct files *files, const struct ordered *ordered,
		    struct use *use, bool moves)
{
	const char *kind = fd_kind_name(use->file->kind);
	uint64_t pid = use->call->key > INT32_MAX ? UINT32_MAX : use->call->key;
	struct keyed_row *keyed = NULL;
	uint64_t *row;

	if (moves) {
		row = columns_of(shard, BY_KIND, &files->kinds[use->file->kind], 0, kind);
		add_figures(row, use, true);
		add_time(row, use->is_write ? KIND_WRITE_TIME : KIND_READ_TIME, use->call);
		add_figures(shard_trace_row(shard, TOTALS), use, true);
		row = shard_thread_row(ordered->shard, ordered->thread, THREADS);
		row[2 * direction_of(use->file->kind) + use->is_write] += use->bytes;
	}
	row = columns_of(shard, BY_FILE, &use->file->keyed, 0, use->file->name);
	add_figures(row, use, moves);
	row[FILE_NS] += use->call->flags & FDS_CALL_HAS_NS ? use->call->ns : 0;
	if (use->fd >= 0) {
		row = columns_of(shard, BY_FD, use->entry ? &use->entry->keyed : &keyed,
				 pid << 32 | (uint32_t)use->fd, use->file->name);
		add_figures(row, use, moves);
	}
}

static void find_file(struct files *files, const struct ordered *ordered, struct use *use)
{
	const struct fds_note *call = use->call;
	bool shows_socket = file_calls[call->call].effect == DOES_SOCKET_USE;
	uint64_t entered = ordered->ts - (call->flags & FDS_CALL_HAS_NS ? call->ns : 0);
	struct fd_entry *entry =
		use->fd < 0 ? NULL : fd_known(files->fds.tables, call->key, use->fd);
	struct fd_file *file = entry ? fd_file_at(entry, entered) : NULL;

	if (entry && entry->since > entered) { /* it was given away meanwhile */
		entry = NULL;
	} else if (use->fd >= 0 && shows_socket && (!file || file->kind == FD_UNKNOWN)) {
		fd_put_known(files->fds.tables, call->key, use->fd,
			     fd_file_ref(fds_unnamed(&files->fds, FD_SOCKET)));
		entry = fd_find(files->fds.tables, call->key, use->fd);
		file = entry ? entry->file : NULL;
	}
	use->entry = file ? entry : NULL;
	use->file = file ? file : fds_unnamed(&files->fds, shows_socket ? FD_SOCKET : FD_UNKNOWN);
}

static struct use use_of(struct files *files, const struct ordered *ordered,
			 const struct fds_note *call, int32_t fd, bool is_write)
{
	struct use use = { .call = call, .fd = fd, .is_write = is_write, .bytes = bytes_of(call) };

	if (!(call->flags & FDS_CALL_HAS_ENTRY)) {
		use.fd = -1;
	}
	find_file(files, ordered, &use);
	return use;
}

/* ---- calls ---- */

static void note_longest(struct shard *shard, const struct ordered *ordered, const struct use *use)
{
	const struct fds_note *call = use->call;
	const char *name = file_calls[call->call].name;
	const char *path = use->fd < 0 && use->file->kind == FD_UNKNOWN ? "" : use->file->name;
	size_t room = ROW_KEY_NAME_BYTES - 2 - strlen(name), len = strlen(path);
	char text[ROW_KEY_NAME_BYTES];

	(void)snprintf(text, sizeof(text), "%s %s", name, len > room ? path + len - room : path);
	shard_longest(shard, LONGEST,
		      &(struct instance){ .ns = call->ns,
					  .end = ordered->ts,
					  .more = { use->fd, (int64_t)use->bytes },
					  .cpu = UINT64_MAX,
					  .thread = ordered->thread,
					  .keyed = row_key_of(0, text, sizeof(text)) });
}

static void on_call(struct shard *shard, struct files *files, const struct ordered *ordered,
		    const struct fds_note *call)
{
	enum operation operation = (enum operation)file_calls[call->call].operation;
	bool opens = file_calls[call->call].effect == DOES_OPEN;
	bool moves = moves_bytes(file_calls[call->call].operation);
	struct use use = use_of(files, ordered, call, call->fd, operation == OP_WRITE);

	if (moves || (operation == OP_SYNC && use.fd >= 0)) {
		add_use(shard, files, ordered, &use, moves);
	}
	if (operation == OP_BOTH) {
		struct use other = use_of(files, ordered, call, call->fd2, true);

		add_use(shard, files, ordered, &other, true);
	}
	if (opens) {
		use.fd = call->ret >= 0 && call->ret <= INT32_MAX ? (int32_t)call->ret : -1;
		use.file = fds_opened(&files->fds, call);
	}
	if (operation != OP_NONE && (call->flags & FDS_CALL_HAS_NS) &&
	    shard_is_long(shard, LONGEST, call->ns)) {
		note_longest(shard, ordered, &use);
	}
	if (fds_has_effect(call)) {
		if (opens) {
			columns_of(shard, BY_FILE, &use.file->keyed, 0,
				   use.file->name)[FILE_OPENS]++;
			fd_put(files->fds.tables, call->key, use.fd, fd_file_ref(use.file),
			       call->arg & FDS_CLOSE_ON_EXEC);
		} else {
			fds_apply(&files->fds, call);
		}
	}
	if (opens) {
		fd_file_unref(use.file);
	}
}

void files_use_ordered(struct shard *shard, struct files *files, const struct ordered *ordered)
{
	struct fds_note call;

	assert(ordered->kind == FDS_NOTE_CALL);
	fds_ready(&files->fds, ordered->ts);
	memcpy(&call, ordered->words, sizeof(call));
	on_call(shard, files, ordered, &call);
	fds_note_fini(&call);
}
