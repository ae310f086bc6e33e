/*
 * probe-points: the tracepoints of probe.h, as LTTng-UST defines tracepoints.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sillage

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "base/probes/probe-points.h"

#if !defined(SILLAGE_BASE_PROBES_PROBE_POINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SILLAGE_BASE_PROBES_PROBE_POINTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(sillage, request,
	LTTNG_UST_TP_ARGS(uint32_t, command),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, command, command)))

LTTNG_UST_TRACEPOINT_EVENT(sillage, reply,
	LTTNG_UST_TP_ARGS(uint32_t, command, uint64_t, bytes),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, command, command)
		lttng_ust_field_integer(uint64_t, bytes, bytes)))

LTTNG_UST_TRACEPOINT_EVENT(sillage, chunk,
	LTTNG_UST_TP_ARGS(uint64_t, seq, uint64_t, packets, uint64_t, bytes),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, seq, seq)
		lttng_ust_field_integer(uint64_t, packets, packets)
		lttng_ust_field_integer(uint64_t, bytes, bytes)))

LTTNG_UST_TRACEPOINT_EVENT(sillage, job_begin,
	LTTNG_UST_TP_ARGS(uint32_t, kind),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, kind, kind)))

LTTNG_UST_TRACEPOINT_EVENT(sillage, job_end,
	LTTNG_UST_TP_ARGS(uint32_t, kind),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, kind, kind)))

LTTNG_UST_TRACEPOINT_EVENT(sillage, round,
	LTTNG_UST_TP_ARGS(uint64_t, bound, uint64_t, slices, uint32_t, tasks),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, bound, bound)
		lttng_ust_field_integer(uint64_t, slices, slices)
		lttng_ust_field_integer(uint32_t, tasks, tasks)))

LTTNG_UST_TRACEPOINT_EVENT(sillage, window,
	LTTNG_UST_TP_ARGS(uint64_t, seq, uint64_t, begin, uint64_t, end, int64_t, lag_ns),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, seq, seq)
		lttng_ust_field_integer(uint64_t, begin, begin)
		lttng_ust_field_integer(uint64_t, end, end)
		lttng_ust_field_integer(int64_t, lag_ns, lag_ns)))

LTTNG_UST_TRACEPOINT_EVENT(sillage, back_pressure,
	LTTNG_UST_TP_ARGS(uint64_t, in_flight),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, in_flight, in_flight)))

LTTNG_UST_TRACEPOINT_EVENT(sillage, trigger,
	LTTNG_UST_TP_ARGS(const char *, name),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(name, name)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
