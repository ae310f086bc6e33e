/*
 * instance: buffers of our own in the kernel's tracer, and the events that go there.
 *
 *     tracefs/instances/sillage-PID/    per_cpu/cpuN/trace_pipe_raw ──► instance_read()
 *                                       events/SYSTEM/NAME/enable, format
 *
 * Nothing outside of it is touched: who else traces on this host is not disturbed.  It is removed
 * at the end, by the guardian (base/process/guardian.h) if this process was killed, and by the next
 * instance_new() if that was killed too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ftrace/format.h"
#include "ftrace/page.h"

struct ftrace_instance;

struct instance_config {
	uint64_t buffer_bytes; /* of each CPU */
	/* Only events of these threads, and of their children; none: of all. */
	const int64_t *pids;
	size_t pid_count;
	/* The guardian's work before it removes the instance; NULL: nothing more. */
	void (*at_end)(const void *user);
	const void *at_end_user;
};

/* Removes instances of recorders that are gone, and makes one: its clock is CLOCK_MONOTONIC, no
 * event goes there yet.  Call it before any thread starts: it forks.  -ENOENT, -EACCES and others
 * with the reason and what helps. */
int instance_new(const struct instance_config *config, struct ftrace_instance **ret,
		 struct err *err);
/* Removes it; NULL is fine. */
void instance_free(struct ftrace_instance *instance);

/* Whether the kernel has it. */
bool instance_has_event(const struct ftrace_instance *instance, const char *system,
			const char *name);
/* Events go to the buffers from instance_on() on.  -ENOENT: the kernel has no such event. */
int instance_enable(struct ftrace_instance *instance, const char *system, const char *name,
		    struct ftrace_format **ret_format, struct err *err);
/* All events of the kernel, "SYSTEM/NAME", by the alphabet; the caller frees each, and the array,
 * which NULL ends. */
char **instance_find(const struct ftrace_instance *instance);

int instance_layout(const struct ftrace_instance *instance, struct ftrace_layout *ret,
		    struct err *err);
/* Opens the buffers, and lets events in, or no longer. */
int instance_on(struct ftrace_instance *instance, struct err *err);
void instance_off(struct ftrace_instance *instance);

uint32_t instance_cpus(const struct ftrace_instance *instance);
/* The next sub-buffer of a CPU, as far as it is filled; valid until the next call.  0: there is
 * nothing now. */
size_t instance_read(struct ftrace_instance *instance, uint32_t cpu, const uint8_t **ret_bytes);
/* Waits until much is there, for so long at most. */
void instance_wait(struct ftrace_instance *instance, int timeout_ms);

struct instance_stats {
	uint64_t entries, overrun, commit_overrun, dropped, read;
};
int instance_stats(const struct ftrace_instance *instance, uint32_t cpu, struct instance_stats *ret,
		   struct err *err);
