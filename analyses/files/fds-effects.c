/*
 * fds-effects: what calls do to descriptors, in time order over all threads; see fds.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "analyses/files/fds.h"
#include "base/limits.h"
#include "base/mem.h"

/* Values of the kernel's headers, on most machines. */
#define MEMORY_CLOSE_ON_EXEC 1
#define RANGE_ON_EXEC        4
#define COMMAND_DUP          0
#define COMMAND_DUP_CLOEXEC  1030
#define COMMAND_SET_FLAGS    2

struct fd_file *fds_unnamed(struct fds *fds, enum fd_kind kind)
{
	char name[32];

	if (!fds->unnamed[kind]) {
		(void)snprintf(name, sizeof(name), "(%s)", fd_kind_name(kind));
		fds->unnamed[kind] = fd_file_new(kind, name);
	}
	return fds->unnamed[kind];
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

/* ---- what calls do to descriptors ---- */

static void set_fd(struct fds *fds, const struct fds_note *call, int64_t fd, struct fd_file *file,
		   bool closes_on_exec)
{
	if (fd >= 0 && fd <= INT32_MAX) {
		fd_put(fds->tables, call->key, (int32_t)fd, file, closes_on_exec);
	} else {
		fd_file_unref(file);
	}
}

/* The path behind that of the directory, if it is relative and that is known; in @text, or @path.
 */
static const char *behind_directory(struct fds *fds, const struct fds_note *call, const char *path,
				    char *text, size_t size)
{
	const struct fd_entry *base = NULL;

	if (path[0] != '/') {
		base = fd_find(fds->tables, call->key, call->fd >= 0 ? call->fd : FD_DIRECTORY);
	}
	if (!base) {
		return path;
	}
	(void)snprintf(text, size, "%s/%s", base->file->name, path);
	return text;
}

#define PATH_ROOM (2 * FILE_NAME_MAX + 2)

static const char *path_of(const struct fds_note *call)
{
	return call->flags & FDS_CALL_HAS_OUT || !call->path ? "" : call->path;
}

static struct fd_file *file_of_path(const char *path)
{
	size_t len = strlen(path);

	return fd_file_new(FD_FILE, len > FILE_NAME_MAX ? path + len - FILE_NAME_MAX : path);
}

/* The file of a path, which may be relative to a directory. */
struct fd_file *fds_opened(struct fds *fds, const struct fds_note *call)
{
	char text[PATH_ROOM];
	const char *path = path_of(call);

	if (!path[0]) {
		return fd_file_ref(fds_unnamed(fds, FD_FILE));
	}
	return file_of_path(behind_directory(fds, call, path, text, sizeof(text)));
}

static struct fd_file *peer_file(struct fds *fds, enum fd_kind kind, const struct fds_note *call,
				 uint32_t port)
{
	uint8_t address[4];
	char text[64];

	if (kind != FD_INET || !(call->flags & FDS_CALL_HAS_OUT)) {
		return fd_file_ref(fds_unnamed(fds, kind));
	}
	memcpy(address, &call->out[0], sizeof(address));
	(void)snprintf(text, sizeof(text), "inet %u.%u.%u.%u:%u", address[0], address[1],
		       address[2], address[3], port & 0xFFFF);
	return fd_file_new(FD_INET, text);
}

static void apply_accept(struct fds *fds, const struct fds_note *call)
{
	const struct fd_entry *listening = fd_find(fds->tables, call->key, call->fd);
	enum fd_kind kind = call->arg2 != 0 ? kind_of_family(call->arg2)
			    : listening     ? (enum fd_kind)listening->file->kind
					    : FD_SOCKET;

	kind = kind == FD_FILE || kind == FD_UNKNOWN ? FD_SOCKET : kind;
	set_fd(fds, call, call->ret, peer_file(fds, kind, call, call->out[1]),
	       call->arg & FDS_CLOSE_ON_EXEC);
}

static void apply_connect(struct fds *fds, const struct fds_note *call)
{
	const struct fd_entry *entry = fd_find(fds->tables, call->key, call->fd);
	bool closes_on_exec = entry && entry->closes_on_exec;

	if (call->ret >= 0 || call->ret == -EINPROGRESS) {
		set_fd(fds, call, call->fd,
		       peer_file(fds, kind_of_family(call->arg), call, (uint32_t)call->arg2),
		       closes_on_exec);
	}
}

static void apply_dup(struct fds *fds, const struct fds_note *call, int64_t to, bool closes_on_exec)
{
	const struct fd_entry *entry = fd_find(fds->tables, call->key, call->fd);

	if (to != call->fd) {
		set_fd(fds, call, to, entry ? fd_file_ref(entry->file) : NULL, closes_on_exec);
	}
}

static void apply_pair(struct fds *fds, const struct fds_note *call, enum fd_kind kind,
		       bool closes_on_exec)
{
	for (unsigned int i = 0; (call->flags & FDS_CALL_HAS_OUT) && i < 2; i++) {
		set_fd(fds, call, (int32_t)call->out[i], fd_file_ref(fds_unnamed(fds, kind)),
		       closes_on_exec);
	}
}

static void apply_anon(struct fds *fds, const struct fds_note *call, const char *what,
		       enum fd_kind kind, bool closes_on_exec)
{
	char text[FILE_NAME_MAX + 16];
	bool has_name = !(call->flags & FDS_CALL_HAS_OUT) && call->path;

	(void)snprintf(text, sizeof(text), "%s:%s", what,
		       has_name ? call->path : file_calls[call->call].name);
	set_fd(fds, call, call->ret, fd_file_new(kind, text), closes_on_exec);
}

static void apply_fcntl(struct fds *fds, const struct fds_note *call)
{
	struct fd_entry *entry = fd_find(fds->tables, call->key, call->fd);

	if (call->arg == COMMAND_DUP || call->arg == COMMAND_DUP_CLOEXEC) {
		apply_dup(fds, call, call->ret, call->arg == COMMAND_DUP_CLOEXEC);
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

static void apply_chdir(struct fds *fds, const struct fds_note *call)
{
	const struct fd_entry *entry =
		call->fd >= 0 ? fd_find(fds->tables, call->key, call->fd) : NULL;
	struct fd_file *file = entry ? fd_file_ref(entry->file) : NULL;
	char text[PATH_ROOM];
	const char *path;

	if (call->fd < 0 && path_of(call)[0]) {
		path = behind_directory(fds, call, path_of(call), text, sizeof(text));
		if (path != text) {
			(void)snprintf(text, sizeof(text), "%s", path);
		}
		if (text[0] == '/') {
			shorten(text);
		}
		file = file_of_path(text);
	}
	fd_put(fds->tables, call->key, FD_DIRECTORY, file, false);
}

void fds_apply(struct fds *fds, const struct fds_note *call)
{
	bool flag = call->arg & FDS_CLOSE_ON_EXEC;

	switch ((enum effect)file_calls[call->call].effect) {
	case DOES_NOTHING:
	case DOES_SOCKET_USE:
		break;
	case DOES_OPEN:
		set_fd(fds, call, call->ret, fds_opened(fds, call), flag);
		break;
	case DOES_SOCKET:
		set_fd(fds, call, call->ret,
		       fd_file_ref(fds_unnamed(fds, kind_of_family(call->arg))),
		       call->arg2 & FDS_CLOSE_ON_EXEC);
		break;
	case DOES_SOCKET_PAIR:
		apply_pair(fds, call, kind_of_family(call->arg), call->arg2 & FDS_CLOSE_ON_EXEC);
		break;
	case DOES_PIPE:
		apply_pair(fds, call, FD_PIPE, flag);
		break;
	case DOES_ACCEPT:
		apply_accept(fds, call);
		break;
	case DOES_CONNECT:
		apply_connect(fds, call);
		break;
	case DOES_DUP:
		apply_dup(fds, call, call->ret, false);
		break;
	case DOES_DUP_TO:
		apply_dup(fds, call, call->fd2, flag);
		break;
	case DOES_FCNTL:
		apply_fcntl(fds, call);
		break;
	case DOES_ANON:
		apply_anon(fds, call, "anon", FD_ANON, flag);
		break;
	case DOES_QUEUE:
		apply_anon(fds, call, "mqueue", FD_ANON, true);
		break;
	case DOES_MEMORY:
		apply_anon(fds, call, "memory", FD_FILE, call->arg & MEMORY_CLOSE_ON_EXEC);
		break;
	case DOES_CLOSE:
		fd_close(fds->tables, call->key, call->fd);
		break;
	case DOES_CHDIR:
		apply_chdir(fds, call);
		break;
	case DOES_CLOSE_RANGE:
		fd_close_range(fds->tables, call->key, (uint32_t)call->fd, (uint32_t)call->fd2,
			       call->arg & RANGE_ON_EXEC);
		break;
	}
}

/* Linux frees the descriptor even if close is interrupted or what was written cannot be. */
bool fds_has_effect(const struct fds_note *call)
{
	uint8_t effect = file_calls[call->call].effect;

	if (!(call->flags & FDS_CALL_HAS_ENTRY) || !(call->flags & FDS_CALL_HAS_RET)) {
		return false;
	}
	return call->ret >= 0 || effect == DOES_CONNECT ||
	       (effect == DOES_CLOSE && call->ret != -EBADF);
}

/* ---- in time order ---- */

void fds_ready(struct fds *fds, uint64_t ts)
{
	fds->tables = fds->tables ? fds->tables : fd_tables_new();
	fd_tables_at(fds->tables, ts);
}

static void apply_note(struct fds *fds, const uint64_t *words)
{
	struct fds_note call;

	memcpy(&call, words, sizeof(call));
	if (fds_has_effect(&call)) {
		fds_apply(fds, &call);
	}
	fds_note_fini(&call);
}

static void apply_dumped(struct fds *fds, const uint64_t *words)
{
	const char *path = (const char *)(uintptr_t)words[3];

	if (path) {
		fd_put_dumped(fds->tables, words[0], (int32_t)words[1],
			      fd_file_new(kind_of_name(path), path), words[2] & FDS_CLOSE_ON_EXEC);
	}
}

void fds_ordered(struct fds *fds, const struct ordered *ordered, const struct fds_thread *of)
{
	const uint64_t *words = ordered->words;

	fds_ready(fds, ordered->ts);
	switch (ordered->kind) {
	case FDS_NOTE_CALL:
		apply_note(fds, words);
		break;
	case FDS_NOTE_END:
		if (!of->has_left) {
			fd_leave(fds->tables, fds_key(ordered->thread, of));
		}
		break;
	case FDS_NOTE_FORK:
		fd_fork(fds->tables, words[0], words[1]);
		break;
	case FDS_NOTE_JOIN:
		fd_join(fds->tables, words[0], words[1]);
		break;
	case FDS_NOTE_LEAVE:
		fd_leave(fds->tables, words[0]);
		break;
	case FDS_NOTE_EXEC:
		fd_exec(fds->tables, words[0]);
		break;
	case FDS_NOTE_DUMP:
		fd_dump_begins(fds->tables);
		break;
	case FDS_NOTE_DUMP_OWNER:
		fd_dump_owner(fds->tables, words[0], words[1]);
		break;
	case FDS_NOTE_DUMP_FD:
		apply_dumped(fds, words);
		break;
	}
}

const struct fd_file *fds_file_at(struct fds *fds, uint64_t key, int32_t fd, uint64_t ts)
{
	const struct fd_entry *entry =
		fds->tables && fd >= 0 ? fd_known(fds->tables, key, fd) : NULL;

	return entry ? fd_file_at(entry, ts) : NULL;
}

void fds_forget(struct fds *fds)
{
	for (size_t i = 0; i < FD_KINDS; i++) {
		fd_file_unref(fds->unnamed[i]);
	}
	fd_tables_free(fds->tables);
}

/* Rows are not part of it: they are requested again when they are needed. */
void fds_codec(struct codec *codec, struct fds *fds)
{
	bool has_tables = fds->tables != NULL;

	codec_bool(codec, &has_tables);
	if (has_tables) {
		fds->tables = fds->tables ? fds->tables : fd_tables_new();
		fd_tables_codec(codec, fds->tables);
	}
}
