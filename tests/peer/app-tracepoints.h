/*
 * app-tracepoints: the tracepoints of app.c.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER sillage_test

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./app-tracepoints.h"

#if !defined(SILLAGE_APP_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SILLAGE_APP_TRACEPOINTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>
#include <string.h>

LTTNG_UST_TRACEPOINT_ENUM(sillage_test, colour,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("red", 0)
		lttng_ust_field_enum_value("green", 1)
		lttng_ust_field_enum_range("other", 2, 9)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(sillage_test, scalars,
	LTTNG_UST_TP_ARGS(int, number, unsigned int, count, float, narrow, double, wide),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int8_t, tiny, (int8_t)number)
		lttng_ust_field_integer(int32_t, number, number)
		lttng_ust_field_integer_hex(uint64_t, hex, (uint64_t)count * 0x100000001ull)
		lttng_ust_field_integer_network(uint32_t, network, count)
		lttng_ust_field_float(float, narrow, narrow)
		lttng_ust_field_float(double, wide, wide)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(sillage_test, texts,
	LTTNG_UST_TP_ARGS(const char *, text, const char *, fixed, int, colour),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(text, text)
		lttng_ust_field_array_text(char, fixed, fixed, 4)
		lttng_ust_field_enum(sillage_test, colour, int, colour, colour)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(sillage_test, sequences,
	LTTNG_UST_TP_ARGS(const uint16_t *, numbers, unsigned int, count, const char *, text),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_sequence(uint16_t, numbers, numbers, unsigned int, count)
		lttng_ust_field_array(uint16_t, three, numbers, 3)
		lttng_ust_field_sequence_text(char, text, text, size_t, strlen(text))
	)
)

#endif

#include <lttng/tracepoint-event.h>
