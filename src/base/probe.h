/*
 * probe: tracepoints of sillage itself, for LTTng-UST (provider `sillage`, doc/performance.md).
 *
 * Without LTTng's headers at build time the probes are empty.  With them a probe costs a call and
 * the test of a variable.  Probes fire once a chunk, request or window, never for an event.  The
 * program is not linked to LTTng; to trace it, preload sillage-probe.so, which is.
 */
#pragma once

#include <stdint.h>

/* X(name, parameters, arguments) */
#define PROBES(X)                                                                                  \
	X(request, (uint32_t command), (command))                                                  \
	X(reply, (uint32_t command, uint64_t bytes), (command, bytes))                             \
	X(chunk, (uint64_t seq, uint64_t packets, uint64_t bytes), (seq, packets, bytes))          \
	X(job_begin, (uint32_t kind), (kind))                                                      \
	X(job_end, (uint32_t kind), (kind))                                                        \
	X(round, (uint64_t bound, uint64_t slices, uint32_t tasks), (bound, slices, tasks))        \
	X(window, (uint64_t seq, uint64_t begin, uint64_t end, int64_t lag_ns),                    \
	  (seq, begin, end, lag_ns))                                                               \
	X(back_pressure, (uint64_t in_flight), (in_flight))                                        \
	X(trigger, (const char *name), (name))

#ifdef HAVE_LTTNG_UST
#define PROBE_DECLARE(name, parameters, arguments) void probe_##name parameters;
#else
#define PROBE_DECLARE(name, parameters, arguments)                                                 \
	static inline void probe_##name parameters                                                 \
	{                                                                                          \
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

PROBES(PROBE_DECLARE)

#ifndef HAVE_LTTNG_UST
#pragma GCC diagnostic pop
#endif
