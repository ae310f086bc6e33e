/*
 * wait-object: what a system call waits for, as far as its name and arguments tell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum wait_object {
	WAIT_FOR_FILE,   /* a descriptor, if the call has one; else it is not known */
	WAIT_FOR_SOCKET, /* a descriptor: the call is one of sockets */
	WAIT_FOR_QUEUE,  /* of a message queue */
	WAIT_FOR_FUTEX,
	WAIT_FOR_TIMER,
	WAIT_FOR_CHILD,
	WAIT_FOR_SIGNAL,
	WAIT_FOR_EVENTS,  /* of several descriptors */
	WAIT_FOR_MESSAGE, /* System V: a message, or semaphores */
	WAIT_FOR_NOTHING, /* it is not known, or the argument names nothing */
	WAIT_OBJECTS,
};

/* By the name of an event of the call.  (A need's user_of.) */
uint32_t wait_object_of(const char *event);
static inline bool wait_object_is_descriptor(uint32_t object)
{
	return object <= WAIT_FOR_QUEUE;
}

/* "fd", "futex", "timer", ...; NULL: none. */
const char *wait_object_name(enum wait_object object);

/* Whether the call, by its label, waits for what others do, as most of its callers want: for a
 * time, an event, a message, another thread.  "wait" is the operation of these (file-calls.h). */
bool syscall_waits(const char *label);

/* ---- operations of futex(2) ---- */

#define FUTEX_OP_MASK    0x7f /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
#define FUTEX_OP_PRIVATE 128

/* Whether the operation waits for another thread: WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI,
 * LOCK_PI2. */
static inline bool futex_op_waits(uint64_t op)
{
	op &= FUTEX_OP_MASK;
	return op == 0 || op == 6 || op == 9 || op == 11 || op == 13;
}

/* Whether it waits for a lock that knows its owner, who inherits priorities. */
static inline bool futex_op_is_pi(uint64_t op)
{
	op &= FUTEX_OP_MASK;
	return op == 6 || op == 13;
}
