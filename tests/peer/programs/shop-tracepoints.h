/* Requests of a small service: its tracepoint provider. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER shop

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "shop-tracepoints.h"

#if !defined(SHOP_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SHOP_TRACEPOINTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(shop, request_begin, LTTNG_UST_TP_ARGS(int, id, const char *, kind),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, id, id)
						       lttng_ust_field_string(kind, kind)))

LTTNG_UST_TRACEPOINT_EVENT(shop, request_end, LTTNG_UST_TP_ARGS(int, id, int, status),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, id, id)
						       lttng_ust_field_integer(int, status,
									       status)))

#endif

#include <lttng/tracepoint-event.h>
