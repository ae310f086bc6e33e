/*
 * probe: see probe.h.  The only file of the program that includes LTTng-UST's headers.
 */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE
#include "base/probes/probe-points.h"

#include "base/probe.h"

#define PASS(...) __VA_ARGS__
#define PROBE_DEFINE(name, parameters, arguments)                                                  \
	void probe_##name parameters                                                               \
	{                                                                                          \
		lttng_ust_tracepoint(sillage, name, PASS arguments);                               \
	}

PROBES(PROBE_DEFINE)
