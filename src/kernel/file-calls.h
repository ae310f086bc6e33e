/*
 * file-calls: the system calls that use, create or close file descriptors (doc/definitions.md, 2.5
 * and 4.6), with LTTng's names for their arguments.
 *
 * FILE_CALLS(X) has one row per call:
 *
 *   X(name, operation, effect, descriptor, second descriptor, argument, second argument, path)
 *
 * The operation says in which column the call counts.  The effect says what a successful call does
 * to the process's descriptors, and which arguments that needs.  The last five are fields of the
 * entry event; NO stands for a missing one, and '@' asks for text.
 *
 * enum file_call numbers the rows: FILE_CALL_read, FILE_CALL_pread64, ...
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum operation {
	OP_NONE,
	OP_READ,
	OP_WRITE,
	OP_BOTH, /* reads one descriptor and writes another */
	OP_OPEN,
	OP_CLOSE,
	OP_SYNC,
	OP_WAIT,  /* waits for descriptors, without input or output */
	OP_ASYNC, /* its bytes are not in the trace */
	OPERATIONS
};

/* After the semicolon: the arguments of the call. */
enum effect {
	DOES_NOTHING,
	DOES_OPEN,   /* the result is the path, relative to the descriptor if the call has one */
	DOES_SOCKET, /* the result is a socket; family, type */
	DOES_SOCKET_PAIR, /* two descriptors are sockets; family, type */
	DOES_PIPE,        /* two descriptors are a pipe; flags */
	DOES_ACCEPT,      /* the result is a socket like the descriptor; flags */
	DOES_CONNECT,     /* the descriptor has a peer; family, port */
	DOES_DUP,         /* the result is a copy of the descriptor */
	DOES_DUP_TO,      /* the second descriptor becomes a copy of the first; flags */
	DOES_FCNTL,       /* command, argument */
	DOES_ANON,        /* the result has the call's name; flags */
	DOES_QUEUE,       /* the result is a message queue */
	DOES_MEMORY,      /* the result is named memory; flags */
	DOES_CLOSE,
	DOES_CLOSE_RANGE, /* from the first descriptor to the second; flags */
	DOES_SOCKET_USE,  /* shows that the descriptor is a socket */
	DOES_CHDIR,       /* relative paths are behind the path, or behind that of the descriptor */
};

#define NO "-" /* no argument has this name */

/* Calls that move bytes. */
#define MOVING_CALLS(X)                                                                            \
	X(read, OP_READ, DOES_NOTHING, "fd", NO, NO, NO, NO)                                       \
	X(pread64, OP_READ, DOES_NOTHING, "fd", NO, NO, NO, NO)                                    \
	X(readv, OP_READ, DOES_NOTHING, "fd", NO, NO, NO, NO)                                      \
	X(preadv, OP_READ, DOES_NOTHING, "fd", NO, NO, NO, NO)                                     \
	X(preadv2, OP_READ, DOES_NOTHING, "fd", NO, NO, NO, NO)                                    \
	X(recvfrom, OP_READ, DOES_SOCKET_USE, "fd", NO, "flags", "size", NO)                       \
	X(recvmsg, OP_READ, DOES_SOCKET_USE, "fd", NO, "flags", NO, NO)                            \
	X(recvmmsg, OP_READ, DOES_SOCKET_USE, "fd", NO, NO, NO, NO)                                \
	X(recvmmsg_time32, OP_READ, DOES_SOCKET_USE, "fd", NO, NO, NO, NO)                         \
	X(mq_timedreceive, OP_READ, DOES_NOTHING, "mqdes", NO, NO, NO, NO)                         \
	X(mq_timedreceive_time32, OP_READ, DOES_NOTHING, "mqdes", NO, NO, NO, NO)                  \
	X(write, OP_WRITE, DOES_NOTHING, "fd", NO, NO, NO, NO)                                     \
	X(pwrite64, OP_WRITE, DOES_NOTHING, "fd", NO, NO, NO, NO)                                  \
	X(writev, OP_WRITE, DOES_NOTHING, "fd", NO, NO, NO, NO)                                    \
	X(pwritev, OP_WRITE, DOES_NOTHING, "fd", NO, NO, NO, NO)                                   \
	X(pwritev2, OP_WRITE, DOES_NOTHING, "fd", NO, NO, NO, NO)                                  \
	X(sendto, OP_WRITE, DOES_SOCKET_USE, "fd", NO, NO, NO, NO)                                 \
	X(sendmsg, OP_WRITE, DOES_SOCKET_USE, "fd", NO, NO, NO, NO)                                \
	X(sendmmsg, OP_WRITE, DOES_SOCKET_USE, "fd", NO, NO, NO, NO)                               \
	X(vmsplice, OP_WRITE, DOES_NOTHING, "fd", NO, NO, NO, NO)                                  \
	X(mq_timedsend, OP_WRITE, DOES_NOTHING, "mqdes", NO, "msg_len", NO, NO)                    \
	X(mq_timedsend_time32, OP_WRITE, DOES_NOTHING, "mqdes", NO, "msg_len", NO, NO)             \
	X(splice, OP_BOTH, DOES_NOTHING, "fd_in", "fd_out", NO, NO, NO)                            \
	X(tee, OP_BOTH, DOES_NOTHING, "fdin", "fdout", NO, NO, NO)                                 \
	X(sendfile, OP_BOTH, DOES_NOTHING, "in_fd", "out_fd", NO, NO, NO)                          \
	X(sendfile64, OP_BOTH, DOES_NOTHING, "in_fd", "out_fd", NO, NO, NO)                        \
	X(copy_file_range, OP_BOTH, DOES_NOTHING, "fd_in", "fd_out", NO, NO, NO)

/* Calls that open, copy, name or close descriptors. */
#define CHANGING_CALLS(X)                                                                          \
	X(open, OP_OPEN, DOES_OPEN, NO, NO, "flags", NO, "@filename")                              \
	X(openat, OP_OPEN, DOES_OPEN, "dfd", NO, "flags", NO, "@filename")                         \
	X(openat2, OP_OPEN, DOES_OPEN, "dfd", NO, NO, NO, "@filename")                             \
	X(creat, OP_OPEN, DOES_OPEN, NO, NO, NO, NO, "@pathname")                                  \
	X(memfd_create, OP_OPEN, DOES_MEMORY, NO, NO, "flags", NO, "@uname")                       \
	X(mq_open, OP_OPEN, DOES_QUEUE, NO, NO, NO, NO, "@u_name")                                 \
	X(socket, OP_OPEN, DOES_SOCKET, NO, NO, "family", "type", NO)                              \
	X(socketpair, OP_OPEN, DOES_SOCKET_PAIR, NO, NO, "family", "type", NO)                     \
	X(pipe, OP_OPEN, DOES_PIPE, NO, NO, NO, NO, NO)                                            \
	X(pipe2, OP_OPEN, DOES_PIPE, NO, NO, "flags", NO, NO)                                      \
	X(accept, OP_OPEN, DOES_ACCEPT, "fd", NO, NO, NO, NO)                                      \
	X(accept4, OP_OPEN, DOES_ACCEPT, "fd", NO, "flags", NO, NO)                                \
	X(connect, OP_OPEN, DOES_CONNECT, "fd", NO, "family", "dport", NO)                         \
	X(dup, OP_OPEN, DOES_DUP, "fildes", NO, NO, NO, NO)                                        \
	X(dup2, OP_OPEN, DOES_DUP_TO, "oldfd", "newfd", NO, NO, NO)                                \
	X(dup3, OP_OPEN, DOES_DUP_TO, "oldfd", "newfd", "flags", NO, NO)                           \
	X(fcntl, OP_NONE, DOES_FCNTL, "fd", NO, "cmd", "arg", NO)                                  \
	X(fcntl64, OP_NONE, DOES_FCNTL, "fd", NO, "cmd", "arg", NO)                                \
	X(eventfd, OP_OPEN, DOES_ANON, NO, NO, NO, NO, NO)                                         \
	X(eventfd2, OP_OPEN, DOES_ANON, NO, NO, "flags", NO, NO)                                   \
	X(epoll_create, OP_OPEN, DOES_ANON, NO, NO, NO, NO, NO)                                    \
	X(epoll_create1, OP_OPEN, DOES_ANON, NO, NO, "flags", NO, NO)                              \
	X(timerfd_create, OP_OPEN, DOES_ANON, NO, NO, "flags", NO, NO)                             \
	X(signalfd, OP_OPEN, DOES_ANON, NO, NO, NO, NO, NO)                                        \
	X(signalfd4, OP_OPEN, DOES_ANON, NO, NO, "flags", NO, NO)                                  \
	X(inotify_init, OP_OPEN, DOES_ANON, NO, NO, NO, NO, NO)                                    \
	X(inotify_init1, OP_OPEN, DOES_ANON, NO, NO, "flags", NO, NO)                              \
	X(fanotify_init, OP_OPEN, DOES_ANON, NO, NO, NO, NO, NO)                                   \
	X(userfaultfd, OP_OPEN, DOES_ANON, NO, NO, "flags", NO, NO)                                \
	X(perf_event_open, OP_OPEN, DOES_ANON, NO, NO, NO, NO, NO)                                 \
	X(pidfd_open, OP_OPEN, DOES_ANON, NO, NO, NO, NO, NO)                                      \
	X(io_uring_setup, OP_OPEN, DOES_ANON, NO, NO, NO, NO, NO)                                  \
	X(chdir, OP_NONE, DOES_CHDIR, NO, NO, NO, NO, "@filename")                                 \
	X(fchdir, OP_NONE, DOES_CHDIR, "fd", NO, NO, NO, NO)                                       \
	X(close, OP_CLOSE, DOES_CLOSE, "fd", NO, NO, NO, NO)                                       \
	X(close_range, OP_CLOSE, DOES_CLOSE_RANGE, "fd", "max_fd", "flags", NO, NO)

/* All others. */
#define OTHER_FILE_CALLS(X)                                                                        \
	X(sync, OP_SYNC, DOES_NOTHING, NO, NO, NO, NO, NO)                                         \
	X(syncfs, OP_SYNC, DOES_NOTHING, "fd", NO, NO, NO, NO)                                     \
	X(fsync, OP_SYNC, DOES_NOTHING, "fd", NO, NO, NO, NO)                                      \
	X(fdatasync, OP_SYNC, DOES_NOTHING, "fd", NO, NO, NO, NO)                                  \
	X(sync_file_range, OP_SYNC, DOES_NOTHING, "fd", NO, NO, NO, NO)                            \
	X(sync_file_range2, OP_SYNC, DOES_NOTHING, "fd", NO, NO, NO, NO)                           \
	X(msync, OP_SYNC, DOES_NOTHING, NO, NO, NO, NO, NO)                                        \
	X(poll, OP_WAIT, DOES_NOTHING, NO, NO, NO, NO, NO)                                         \
	X(ppoll, OP_WAIT, DOES_NOTHING, NO, NO, NO, NO, NO)                                        \
	X(ppoll_time32, OP_WAIT, DOES_NOTHING, NO, NO, NO, NO, NO)                                 \
	X(select, OP_WAIT, DOES_NOTHING, NO, NO, NO, NO, NO)                                       \
	X(pselect6, OP_WAIT, DOES_NOTHING, NO, NO, NO, NO, NO)                                     \
	X(pselect6_time32, OP_WAIT, DOES_NOTHING, NO, NO, NO, NO, NO)                              \
	X(epoll_wait, OP_WAIT, DOES_NOTHING, NO, NO, NO, NO, NO)                                   \
	X(epoll_pwait, OP_WAIT, DOES_NOTHING, NO, NO, NO, NO, NO)                                  \
	X(epoll_pwait2, OP_WAIT, DOES_NOTHING, NO, NO, NO, NO, NO)                                 \
	X(io_submit, OP_ASYNC, DOES_NOTHING, NO, NO, NO, NO, NO)                                   \
	X(io_getevents, OP_ASYNC, DOES_NOTHING, NO, NO, NO, NO, NO)                                \
	X(io_pgetevents, OP_ASYNC, DOES_NOTHING, NO, NO, NO, NO, NO)                               \
	X(io_uring_enter, OP_ASYNC, DOES_NOTHING, NO, NO, NO, NO, NO)

#define FILE_CALLS(X) MOVING_CALLS(X) CHANGING_CALLS(X) OTHER_FILE_CALLS(X)

/* Instead of X: the names of the events, for lists.  Of MOVING_CALLS also only those of reads or of
 * writes. */
#define CALL_ENTRY_NAMES(name, ...)                                                                \
	"syscall_entry_" #name, "compat_syscall_entry_" #name, "sys_" #name, "compat_sys_" #name,
#define CALL_EXIT_NAMES(name, ...)            "syscall_exit_" #name, "compat_syscall_exit_" #name,
#define CALL_READ_NAMES(name, operation, ...) CALL_READ_NAMES_##operation(name)
#define CALL_READ_NAMES_OP_READ(name)         CALL_EXIT_NAMES(name)
#define CALL_READ_NAMES_OP_WRITE(name)
#define CALL_READ_NAMES_OP_BOTH(name)          CALL_EXIT_NAMES(name)
#define CALL_WRITE_NAMES(name, operation, ...) CALL_WRITE_NAMES_##operation(name)
#define CALL_WRITE_NAMES_OP_READ(name)
#define CALL_WRITE_NAMES_OP_WRITE(name) CALL_EXIT_NAMES(name)
#define CALL_WRITE_NAMES_OP_BOTH(name)  CALL_EXIT_NAMES(name)

enum file_call {
	FILE_CALL_UNNAMED, /* exit_syscall, which names no call */
#define X(name, ...) FILE_CALL_##name,
	FILE_CALLS(X)
#undef X
		FILE_CALL_COUNT
};

_Static_assert(FILE_CALL_COUNT < 256, "a byte holds a call, or a value that is none");

/* What a successful call returns: a number of bytes or of messages, nothing, or bytes of which its
 * flags say whether they were received. */
enum { RETURNS_BYTES, RETURNS_MESSAGES, RETURNS_NOTHING, RETURNS_RECEIVED };
static const uint8_t file_call_results[FILE_CALL_COUNT + 1] = {
	[FILE_CALL_recvmmsg] = RETURNS_MESSAGES,
	[FILE_CALL_recvmmsg_time32] = RETURNS_MESSAGES,
	[FILE_CALL_sendmmsg] = RETURNS_MESSAGES,
	[FILE_CALL_mq_timedsend] = RETURNS_NOTHING,
	[FILE_CALL_mq_timedsend_time32] = RETURNS_NOTHING,
	[FILE_CALL_recvfrom] = RETURNS_RECEIVED,
	[FILE_CALL_recvmsg] = RETURNS_RECEIVED,
};

/*
 * What file_call_bytes() has to know of the entry.  Of a message the size.  Of what is received the
 * limit plus 1, or 0 for none: MSG_PEEK leaves all where it is, and with MSG_TRUNC the result may
 * be more than there is room for.  @arg2: -1: there is none.
 */
static inline uint64_t file_call_extent(unsigned int call, int64_t arg, int64_t arg2)
{
	enum { PEEKS = 2, TELLS_MORE = 0x20 };

	if (file_call_results[call] != RETURNS_RECEIVED) {
		return file_call_results[call] == RETURNS_NOTHING ? (uint64_t)arg : 0;
	}
	return arg & PEEKS ? 1 : arg & TELLS_MORE ? (uint64_t)arg2 + 1 : 0;
}

/* The bytes that a call moved; @extent: file_call_extent() of its entry. */
static inline uint64_t file_call_bytes(unsigned int call, bool has_ret, int64_t ret,
				       uint64_t extent)
{
	if (!has_ret || ret < 0) {
		return 0;
	}
	switch (file_call_results[call]) {
	case RETURNS_BYTES:
		return (uint64_t)ret;
	case RETURNS_RECEIVED:
		return extent == 0 || (uint64_t)ret < extent ? (uint64_t)ret : extent - 1;
	default:
		return file_call_results[call] == RETURNS_NOTHING && ret == 0 ? extent : 0;
	}
}
