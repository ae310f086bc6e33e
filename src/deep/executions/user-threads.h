/*
 * user-threads: which thread of the kernel's an event of user space is of (doc/definitions.md,
 * 5.1).
 *
 * An event of user space on CPU c at t is by the thread that runs on c at t.  Its contexts have the
 * numbers of the innermost PID namespace.  They help where that rule fails: it is not known who
 * runs, or the thread was moved to another CPU between choosing a buffer and reading the clock.
 */
#pragma once

#include "base/hash.h"
#include "deep/executions/owners.h"

/* Whom a number of a process has named so far. */
struct user_thread_named {
	int32_t tid;
	uint32_t times; /* one after the other */
};
HASH_MAP(user_thread_names, struct user_thread_named)
HASH_MAP(user_thread_roots, bool)

/* A CPU of the timeline, and its on-CPU interval at the last event. */
struct user_thread_cpu {
	const struct deep_cpu *is; /* NULL: the timeline has none of this number */
	size_t at;
};
HASH_MAP(user_thread_cpus, struct user_thread_cpu)

/* All zero but the owners: nothing is known. */
struct user_threads {
	const struct owners *owners;
	struct user_thread_cpus cpus;
	struct user_thread_names named; /* by trace, process and number */
	struct user_thread_roots roots; /* by trace and process: its numbers are the kernel's */
};
void user_threads_fini(struct user_threads *threads);

/* What an event says of itself.  Events come in the order of time. */
struct user_thread_event {
	uint64_t ts, cpu;   /* UINT64_MAX: its stream names none */
	uint32_t trace;     /* which of those beside the kernel's */
	int64_t vpid, vtid; /* -1: it has no such context */
};

/* The tid of its thread; -1: it is not known. */
int32_t user_threads_of(struct user_threads *threads, const struct user_thread_event *event);
