/*
 * probe-provider: sillage-probe.so, which brings LTTng-UST to a sillage that is to be traced.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "base/probes/probe-points.h"
