/*
 * files-use: what calls do to descriptors and files, in time order over all threads (files.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "analyses/files/files.h"
#include "base/limits.h"
#include "base/mem.h"
#include "engine/contract/untrusted.h"

/* Values of the kernel's headers, on most machines. */
#define CLOSE_ON_EXEC        02000000 /* O_CLOEXEC, SOCK_CLOEXEC, EFD_CLOEXEC, ... */
#define MEMORY_CLOSE_ON_EXEC 1
#define RANGE_ON_EXEC        4
#define COMMAND_DUP          0
#define COMMAND_DUP_CLOEXEC  1030
#define COMMAND_SET_FLAGS    2

static struct fd_file *unnamed_file(struct files *files, enum fd_kind kind)
{
	char name[32];

	if (!files->unnamed[kind]) {
		(void)snprintf(name, sizeof(name), "(%s)", fd_kind_name(kind));
		files->unnamed[kind] = fd_file_new(kind, name);
	}
	return files->unnamed[kind];
}

/* The kind of a file by the name that the kernel gives it in a state dump. */
static enum fd_kind kind_of_name(const char *name)
{
	static const struct {
		const char *prefix;
		enum fd_kind kind;
	} kinds[] = { { "pipe:", FD_PIPE }, { "socket:", FD_SOCKET }, { "/", FD_FILE } };

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		if (strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)) == 0) {
			return kinds[i].kind;
		}
	}
	return FD_ANON;
}

static enum fd_kind kind_of_family(int64_t family)
{
	switch (family) {
	case AF_INET:
	case AF_INET6:
		return FD_INET;
	case AF_UNIX:
		return FD_UNIX;
	default:
		return FD_SOCKET;
	}
}

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
	const struct ordered_call *call;
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

static uint64_t bytes_of(const struct ordered_call *call)
{
	if (!moves_bytes(file_calls[call->call].operation)) {
		return 0;
	}
	return file_call_bytes(call->call, call->flags & CALL_HAS_RET, call->ret,
			       (uint64_t)call->arg);
}

static bool has_failed(const struct ordered_call *call)
{
	return (call->flags & CALL_HAS_RET) && call_failed(call->ret);
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

static void add_time(uint64_t *row, unsigned int column, const struct ordered_call *call)
{
	if ((call->flags & CALL_HAS_NS) && !has_failed(call)) {
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
	row[FILE_NS] += use->call->flags & CALL_HAS_NS ? use->call->ns : 0;
	if (use->fd >= 0) {
		row = columns_of(shard, BY_FD, use->entry ? &use->entry->keyed : &keyed,
				 pid << 32 | (uint32_t)use->fd, use->file->name);
		add_figures(row, use, moves);
	}
}

static void find_file(struct files *files, const struct ordered *ordered, struct use *use)
{
	const struct ordered_call *call = use->call;
	bool shows_socket = file_calls[call->call].effect == DOES_SOCKET_USE;
	uint64_t entered = ordered->ts - (call->flags & CALL_HAS_NS ? call->ns : 0);
	struct fd_entry *entry = use->fd < 0 ? NULL : fd_known(files->tables, call->key, use->fd);
	struct fd_file *file = entry ? fd_file_at(entry, entered) : NULL;

	if (entry && entry->since > entered) { /* it was given away meanwhile */
		entry = NULL;
	} else if (use->fd >= 0 && shows_socket && (!file || file->kind == FD_UNKNOWN)) {
		fd_put_known(files->tables, call->key, use->fd,
			     fd_file_ref(unnamed_file(files, FD_SOCKET)));
		entry = fd_find(files->tables, call->key, use->fd);
		file = entry ? entry->file : NULL;
	}
	use->entry = file ? entry : NULL;
	use->file = file ? file : unnamed_file(files, shows_socket ? FD_SOCKET : FD_UNKNOWN);
}

static struct use use_of(struct files *files, const struct ordered *ordered,
			 const struct ordered_call *call, int32_t fd, bool is_write)
{
	struct use use = { .call = call, .fd = fd, .is_write = is_write, .bytes = bytes_of(call) };

	if (!(call->flags & CALL_HAS_ENTRY)) {
		use.fd = -1;
	}
	find_file(files, ordered, &use);
	return use;
}

/* ---- what calls do to descriptors ---- */

static void set_fd(struct files *files, const struct ordered_call *call, int64_t fd,
		   struct fd_file *file, bool closes_on_exec)
{
	if (fd >= 0 && fd <= INT32_MAX) {
		fd_put(files->tables, call->key, (int32_t)fd, file, closes_on_exec);
	} else {
		fd_file_unref(file);
	}
}

/* The path behind that of the directory, if it is relative and that is known; in @text, or @path.
 */
static const char *behind_directory(struct files *files, const struct ordered_call *call,
				    const char *path, char *text, size_t size)
{
	const struct fd_entry *base = NULL;

	if (path[0] != '/') {
		base = fd_find(files->tables, call->key, call->fd >= 0 ? call->fd : FD_DIRECTORY);
	}
	if (!base) {
		return path;
	}
	(void)snprintf(text, size, "%s/%s", base->file->name, path);
	return text;
}

#define PATH_ROOM (2 * FILE_NAME_MAX + 2)

static const char *path_of(const struct ordered_call *call)
{
	return call->flags & CALL_HAS_OUT || !call->path ? "" : call->path;
}

static struct fd_file *file_of_path(const char *path)
{
	size_t len = strlen(path);

	return fd_file_new(FD_FILE, len > FILE_NAME_MAX ? path + len - FILE_NAME_MAX : path);
}

/* The file of a path, which may be relative to a directory. */
static struct fd_file *opened_file(struct files *files, const struct ordered_call *call)
{
	char text[PATH_ROOM];
	const char *path = path_of(call);

	if (!path[0]) {
		return fd_file_ref(unnamed_file(files, FD_FILE));
	}
	return file_of_path(behind_directory(files, call, path, text, sizeof(text)));
}

static struct fd_file *peer_file(struct files *files, enum fd_kind kind,
				 const struct ordered_call *call, uint32_t port)
{
	uint8_t address[4];
	char text[64];

	if (kind != FD_INET || !(call->flags & CALL_HAS_OUT)) {
		return fd_file_ref(unnamed_file(files, kind));
	}
	memcpy(address, &call->out[0], sizeof(address));
	(void)snprintf(text, sizeof(text), "inet %u.%u.%u.%u:%u", address[0], address[1],
		       address[2], address[3], port & 0xFFFF);
	return fd_file_new(FD_INET, text);
}

static void apply_accept(struct files *files, const struct ordered_call *call)
{
	const struct fd_entry *listening = fd_find(files->tables, call->key, call->fd);
	enum fd_kind kind = call->arg2 != 0 ? kind_of_family(call->arg2)
			    : listening     ? (enum fd_kind)listening->file->kind
					    : FD_SOCKET;

	kind = kind == FD_FILE || kind == FD_UNKNOWN ? FD_SOCKET : kind;
	set_fd(files, call, call->ret, peer_file(files, kind, call, call->out[1]),
	       call->arg & CLOSE_ON_EXEC);
}

static void apply_connect(struct files *files, const struct ordered_call *call)
{
	const struct fd_entry *entry = fd_find(files->tables, call->key, call->fd);
	bool closes_on_exec = entry && entry->closes_on_exec;

	if (call->ret >= 0 || call->ret == -EINPROGRESS) {
		set_fd(files, call, call->fd,
		       peer_file(files, kind_of_family(call->arg), call, (uint32_t)call->arg2),
		       closes_on_exec);
	}
}

static void apply_dup(struct files *files, const struct ordered_call *call, int64_t to,
		      bool closes_on_exec)
{
	const struct fd_entry *entry = fd_find(files->tables, call->key, call->fd);

	if (to != call->fd) {
		set_fd(files, call, to, entry ? fd_file_ref(entry->file) : NULL, closes_on_exec);
	}
}

static void apply_pair(struct files *files, const struct ordered_call *call, enum fd_kind kind,
		       bool closes_on_exec)
{
	for (unsigned int i = 0; (call->flags & CALL_HAS_OUT) && i < 2; i++) {
		set_fd(files, call, (int32_t)call->out[i], fd_file_ref(unnamed_file(files, kind)),
		       closes_on_exec);
	}
}

static void apply_anon(struct files *files, const struct ordered_call *call, const char *what,
		       enum fd_kind kind, bool closes_on_exec)
{
	char text[FILE_NAME_MAX + 16];
	bool has_name = !(call->flags & CALL_HAS_OUT) && call->path;

	(void)snprintf(text, sizeof(text), "%s:%s", what,
		       has_name ? call->path : file_calls[call->call].name);
	set_fd(files, call, call->ret, fd_file_new(kind, text), closes_on_exec);
}

static void apply_fcntl(struct files *files, const struct ordered_call *call)
{
	struct fd_entry *entry = fd_find(files->tables, call->key, call->fd);

	if (call->arg == COMMAND_DUP || call->arg == COMMAND_DUP_CLOEXEC) {
		apply_dup(files, call, call->ret, call->arg == COMMAND_DUP_CLOEXEC);
	} else if (call->arg == COMMAND_SET_FLAGS && entry) {
		entry->closes_on_exec = call->arg2 & 1;
	}
}

/* Takes "." and ".." out of an absolute path, in place: a program may go up and down for ever. */
static void shorten(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		size_t len = strcspn(++from, "/"); /* behind a slash */

		if (len == 2 && from[0] == '.' && from[1] == '.') {
			while (to > path && *--to != '/') {
			}
		} else if (len > 0 && !(len == 1 && from[0] == '.')) {
			*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	*to = 0;
}

static void apply_chdir(struct files *files, const struct ordered_call *call)
{
	const struct fd_entry *entry =
		call->fd >= 0 ? fd_find(files->tables, call->key, call->fd) : NULL;
	struct fd_file *file = entry ? fd_file_ref(entry->file) : NULL;
	char text[PATH_ROOM];
	const char *path;

	if (call->fd < 0 && path_of(call)[0]) {
		path = behind_directory(files, call, path_of(call), text, sizeof(text));
		if (path != text) {
			(void)snprintf(text, sizeof(text), "%s", path);
		}
		if (text[0] == '/') {
			shorten(text);
		}
		file = file_of_path(text);
	}
	fd_put(files->tables, call->key, FD_DIRECTORY, file, false);
}

/* Applies a call that succeeded, or does its work although it failed. */
static void apply_effect(struct files *files, const struct ordered_call *call)
{
	bool flag = call->arg & CLOSE_ON_EXEC;

	switch ((enum effect)file_calls[call->call].effect) {
	case DOES_NOTHING:
	case DOES_SOCKET_USE:
	case DOES_OPEN: /* on_call() does it */
		break;
	case DOES_SOCKET:
		set_fd(files, call, call->ret,
		       fd_file_ref(unnamed_file(files, kind_of_family(call->arg))),
		       call->arg2 & CLOSE_ON_EXEC);
		break;
	case DOES_SOCKET_PAIR:
		apply_pair(files, call, kind_of_family(call->arg), call->arg2 & CLOSE_ON_EXEC);
		break;
	case DOES_PIPE:
		apply_pair(files, call, FD_PIPE, flag);
		break;
	case DOES_ACCEPT:
		apply_accept(files, call);
		break;
	case DOES_CONNECT:
		apply_connect(files, call);
		break;
	case DOES_DUP:
		apply_dup(files, call, call->ret, false);
		break;
	case DOES_DUP_TO:
		apply_dup(files, call, call->fd2, flag);
		break;
	case DOES_FCNTL:
		apply_fcntl(files, call);
		break;
	case DOES_ANON:
		apply_anon(files, call, "anon", FD_ANON, flag);
		break;
	case DOES_QUEUE:
		apply_anon(files, call, "mqueue", FD_ANON, true);
		break;
	case DOES_MEMORY:
		apply_anon(files, call, "memory", FD_FILE, call->arg & MEMORY_CLOSE_ON_EXEC);
		break;
	case DOES_CLOSE:
		fd_close(files->tables, call->key, call->fd);
		break;
	case DOES_CHDIR:
		apply_chdir(files, call);
		break;
	case DOES_CLOSE_RANGE:
		fd_close_range(files->tables, call->key, (uint32_t)call->fd, (uint32_t)call->fd2,
			       call->arg & RANGE_ON_EXEC);
		break;
	}
}

/* Linux frees the descriptor even if close is interrupted or what was written cannot be. */
static bool has_effect(const struct ordered_call *call)
{
	uint8_t effect = file_calls[call->call].effect;

	if (!(call->flags & CALL_HAS_ENTRY) || !(call->flags & CALL_HAS_RET)) {
		return false;
	}
	return call->ret >= 0 || effect == DOES_CONNECT ||
	       (effect == DOES_CLOSE && call->ret != -EBADF);
}

/* ---- calls ---- */

static void note_longest(struct shard *shard, const struct ordered *ordered, const struct use *use)
{
	const struct ordered_call *call = use->call;
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
		    const struct ordered_call *call)
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
		use.file = opened_file(files, call);
	}
	if (operation != OP_NONE && (call->flags & CALL_HAS_NS) &&
	    shard_is_long(shard, LONGEST, call->ns)) {
		note_longest(shard, ordered, &use);
	}
	if (has_effect(call)) {
		if (opens) {
			columns_of(shard, BY_FILE, &use.file->keyed, 0,
				   use.file->name)[FILE_OPENS]++;
			fd_put(files->tables, call->key, use.fd, fd_file_ref(use.file),
			       call->arg & CLOSE_ON_EXEC);
		} else {
			apply_effect(files, call);
		}
	}
	if (opens) {
		fd_file_unref(use.file);
	}
}

void files_use_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	struct files *files = state;
	const uint64_t *words = ordered->words;
	struct ordered_call call;
	const char *path;

	if (!files->tables) {
		files->tables = fd_tables_new();
	}
	fd_tables_at(files->tables, ordered->ts);
	switch (ordered->kind) {
	case ORDERED_CALL:
		memcpy(&call, words, sizeof(call));
		on_call(shard, files, ordered, &call);
		if (call.owns_path) {
			free(call.path);
		}
		break;
	case ORDERED_FORK:
		fd_fork(files->tables, words[0], words[1]);
		break;
	case ORDERED_JOIN:
		fd_join(files->tables, words[0], words[1]);
		break;
	case ORDERED_LEAVE:
		fd_leave(files->tables, words[0]);
		break;
	case ORDERED_EXEC:
		fd_exec(files->tables, words[0]);
		break;
	case ORDERED_DUMP:
		fd_dump_begins(files->tables);
		break;
	case ORDERED_DUMP_OWNER:
		fd_dump_owner(files->tables, words[0], words[1]);
		break;
	case ORDERED_DUMP_FD:
		path = (const char *)(uintptr_t)words[3];
		if (path) {
			fd_put_dumped(files->tables, words[0], (int32_t)words[1],
				      fd_file_new(kind_of_name(path), path),
				      words[2] & CLOSE_ON_EXEC);
		}
		break;
	}
}

void files_use_forget(void *state)
{
	struct files *files = state;

	for (size_t i = 0; i < FD_KINDS; i++) {
		fd_file_unref(files->unnamed[i]);
	}
	fd_tables_free(files->tables);
}

/* Rows are not part of it: they are requested again when they are needed. */
void files_use_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct files *files = state;
	bool has_tables = files->tables != NULL;

	codec_bool(checkpoint->codec, &has_tables);
	if (has_tables) {
		files->tables = files->tables ? files->tables : fd_tables_new();
		fd_tables_codec(checkpoint->codec, files->tables);
	}
}
