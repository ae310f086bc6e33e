/*
 * trace: the events of a recorded trace, written for Perfetto as they are read.
 *
 *     trace-kernel.c  a kernel's: scheduling, wake-ups, interrupts, system calls, threads' names
 *     trace-user.c    any other: instants, and slices where events pair (user-spans.h), with their
 *                     fields as arguments (args.h)
 *
 * Memory does not grow with the trace.  Losses are shown: the running thread of a CPU is unknown
 * until an event names it, and an instant says where events are missing.
 */
#pragma once

#include <stdatomic.h>

#include "base/text/utf8.h"
#include "deep/reader.h"
#include "perfetto/writer.h"
#include "symbols/functions.h"

/* What is written of a trace. */
struct trace_export {
	const struct reader_setup *setup;
	uint64_t begin, end;            /* ns; 0 and UINT64_MAX: all */
	const atomic_bool *stop;        /* set by a signal: finish with what was read */
	bool has_args;                  /* fields of events are written, too */
	const struct functions *kernel; /* symbols_of_kernel() */
	/* What was found. */
	uint64_t read;   /* events of all kinds, before the range too */
	bool has_range;  /* some of the range is in the trace */
	uint64_t calls;  /* system calls left out, because it is unknown which thread made them */
	uint64_t stacks; /* call stacks, for the same reason */
	bool lacks_cpus; /* some were left out (PERFETTO_CPUS_MAX) */
};

/* Writes the trace.  -errno with the reason: it cannot be opened. */
int trace_write(struct perfetto *writer, struct trace_export *export, struct err *err);

/* Whether it is a kernel's. */
bool trace_is_kernel(const struct plan *plan);

/* ---- for trace-kernel.c and trace-user.c ---- */

extern const struct plan_request kernel_requests[];
extern const size_t kernel_request_count;

int trace_write_kernel(struct perfetto *writer, struct trace_export *export, struct reader *reader,
		       struct err *err);
int trace_write_user(struct perfetto *writer, struct trace_export *export, struct reader *reader,
		     struct err *err);

/* The next event before the range's end; false: there is none. */
bool trace_next(struct trace_export *export, struct reader *reader, struct reader_event *event);

/* A thread's name as UTF-8. */
static inline void trace_name(char to[PERFETTO_NAME], const struct value *value)
{
	size_t len = value->len < 16 ? value->len : 16;
	uint8_t high = 0;

	/* Nearly all names are ASCII. */
	for (size_t i = 0; i < len; i++) {
		high |= value->bytes[i];
	}
	if (high < 0x80) {
		memcpy(to, value->bytes, len);
		to[len] = '\0';
	} else {
		(void)utf8_copy(to, PERFETTO_NAME, value->bytes, len);
	}
}
