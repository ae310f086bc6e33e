/*
 * wait-object: see wait-object.h.
 */
#include "kernel/wait-object.h"

#include <assert.h>

#include "kernel/syscall-names.h"

/* @is_wait: its callers want to wait; others may have to. */
static const struct {
	const char *name;
	uint8_t object;
	bool is_wait;
} calls[] = {
	{ "accept", WAIT_FOR_SOCKET, true },
	{ "accept4", WAIT_FOR_SOCKET, true },
	{ "clock_nanosleep", WAIT_FOR_TIMER, true },
	{ "connect", WAIT_FOR_SOCKET, false },
	{ "epoll_pwait", WAIT_FOR_EVENTS, true },
	{ "epoll_pwait2", WAIT_FOR_EVENTS, true },
	{ "epoll_wait", WAIT_FOR_EVENTS, true },
	{ "futex", WAIT_FOR_FUTEX, true },
	{ "futex_wait", WAIT_FOR_FUTEX, true },
	{ "futex_waitv", WAIT_FOR_NOTHING, true }, /* several, which are not traced */
	{ "io_getevents", WAIT_FOR_EVENTS, true },
	{ "io_pgetevents", WAIT_FOR_EVENTS, true },
	{ "io_uring_enter", WAIT_FOR_EVENTS, true },
	{ "msgrcv", WAIT_FOR_MESSAGE, true },
	{ "msgsnd", WAIT_FOR_MESSAGE, false },
	{ "mq_timedreceive", WAIT_FOR_QUEUE, true },
	{ "mq_timedsend", WAIT_FOR_QUEUE, false },
	{ "nanosleep", WAIT_FOR_TIMER, true },
	{ "pause", WAIT_FOR_SIGNAL, true },
	{ "poll", WAIT_FOR_EVENTS, true },
	{ "ppoll", WAIT_FOR_EVENTS, true },
	{ "pselect6", WAIT_FOR_EVENTS, true },
	{ "recvfrom", WAIT_FOR_SOCKET, false },
	{ "recvmmsg", WAIT_FOR_SOCKET, false },
	{ "recvmsg", WAIT_FOR_SOCKET, false },
	{ "restart_syscall", WAIT_FOR_NOTHING, true },
	{ "rt_sigsuspend", WAIT_FOR_SIGNAL, true },
	{ "rt_sigtimedwait", WAIT_FOR_SIGNAL, true },
	{ "select", WAIT_FOR_EVENTS, true },
	{ "semop", WAIT_FOR_MESSAGE, false },
	{ "semtimedop", WAIT_FOR_MESSAGE, true },
	{ "sendmmsg", WAIT_FOR_SOCKET, false },
	{ "sendmsg", WAIT_FOR_SOCKET, false },
	{ "sendto", WAIT_FOR_SOCKET, false },
	{ "sigsuspend", WAIT_FOR_SIGNAL, true },
	{ "vfork", WAIT_FOR_CHILD, false },
	{ "wait", WAIT_FOR_CHILD, true },
	{ "wait4", WAIT_FOR_CHILD, true },
	{ "waitid", WAIT_FOR_CHILD, true },
	{ "waitpid", WAIT_FOR_CHILD, true },
};

/* The call of this name or label: without "/32" and "_time32".  SIZE_MAX: none. */
static size_t find_call(const char *label)
{
	size_t len = strcspn(label, "/");

	if (len > 7 && (strncmp(label + len - 7, "_time32", 7) == 0 ||
			strncmp(label + len - 7, "_time64", 7) == 0)) {
		len -= 7;
	}
	for (size_t i = 0; i < ARRAY_COUNT(calls); i++) {
		if (strlen(calls[i].name) == len && strncmp(calls[i].name, label, len) == 0) {
			return i;
		}
	}
	return SIZE_MAX;
}

uint32_t wait_object_of(const char *event)
{
	bool is_compat;
	const char *name = syscall_name(event, &is_compat);
	size_t found = name ? find_call(name) : SIZE_MAX;

	return found == SIZE_MAX ? WAIT_FOR_FILE : calls[found].object;
}

bool syscall_waits(const char *label)
{
	size_t found = find_call(label);

	return found != SIZE_MAX && calls[found].is_wait;
}

const char *wait_object_name(enum wait_object object)
{
	static const char *const names[WAIT_OBJECTS] = {
		[WAIT_FOR_FILE] = "fd",         [WAIT_FOR_SOCKET] = "socket",
		[WAIT_FOR_QUEUE] = "mqueue",    [WAIT_FOR_FUTEX] = "futex",
		[WAIT_FOR_TIMER] = "timer",     [WAIT_FOR_CHILD] = "child",
		[WAIT_FOR_SIGNAL] = "signal",   [WAIT_FOR_EVENTS] = "events",
		[WAIT_FOR_MESSAGE] = "message",
	};

	assert(object < WAIT_OBJECTS);
	return names[object];
}
