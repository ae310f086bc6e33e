/*
 * shop-tracepoints: what shop.c tells of itself.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER shop

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./shop-tracepoints.h"

#if !defined(SHOP_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SHOP_TRACEPOINTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_ENUM(shop, kind,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("GET", 0)
		lttng_ust_field_enum_value("PUT", 1)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(shop, request_begin,
	LTTNG_UST_TP_ARGS(uint32_t, id, int, kind),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, id, id)
		lttng_ust_field_enum(shop, kind, int, kind, kind)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(shop, request_end,
	LTTNG_UST_TP_ARGS(uint32_t, id, int, status),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, id, id)
		lttng_ust_field_integer(int32_t, status, status)
	)
)

LTTNG_UST_TRACEPOINT_EVENT_CLASS(shop, span,
	LTTNG_UST_TP_ARGS(const char *, name),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(name, name))
)
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(shop, span, shop, span_begin, LTTNG_UST_TP_ARGS(const char *, name))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(shop, span, shop, span_end, LTTNG_UST_TP_ARGS(const char *, name))

LTTNG_UST_TRACEPOINT_EVENT(shop, tick_begin, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(shop, tick_end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>
