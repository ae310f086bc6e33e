/*
 * units: sizes, durations and times, as people write and read them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* "64K", "1.5G", "100": bytes.  -EINVAL: no size; -ERANGE: too large. */
int units_parse_size(const char *text, uint64_t *ret_bytes);

/* "500ms", "1.5s", "2m", "1h": ns.  A unit is required, except for 0.  Fails as sizes do. */
int units_parse_duration(const char *text, uint64_t *ret_ns);

/* The times of a trace, in ns. */
struct units_span {
	uint64_t first, last;
};

/*
 * A time in ns since the epoch, of one of these forms:
 *
 *   "HH:MM:SS[.frac]"                  local: the first such time in @span, or the one of the day
 * of span->first and the day after that is nearest to it "YYYY-MM-DDTHH:MM:SS[.frac][Z]"    local,
 * with Z UTC
 *   "@SECONDS[.frac]", "SECONDS.frac"  since the epoch
 *   "NS", "NSns"                       since the epoch
 *
 * Without @span a time of the first form is only checked.  -EINVAL: none of these.  -EDOM: a number
 * of ns that is meant as seconds, most likely.
 */
int units_parse_time(const char *text, const struct units_span *span, uint64_t *ret_ns);
/* Whether @text has the first form, which needs a day. */
int units_time_needs_day(const char *text);

#define UNITS_TEXT_MAX 40
/* "1.2 GiB", "3.4 ms", "12,345".  They return @text, for use in printf. */
const char *units_bytes(char text[UNITS_TEXT_MAX], uint64_t bytes);
const char *units_ns(char text[UNITS_TEXT_MAX], uint64_t ns);
const char *units_count(char text[UNITS_TEXT_MAX], uint64_t count);
/* "FIFO/RR 40", "nice 0", "deadline": a priority as the tracer gives it (definitions.md, 0.4). */
const char *units_prio(char text[UNITS_TEXT_MAX], int32_t prio);
/* "14:03:07.250000000", local time. */
const char *units_clock(char text[UNITS_TEXT_MAX], uint64_t ns);
/*
 * How local times of one text are written, so that none is mistaken for another: with the day if
 * they are of several days, and with the offset from UTC if that changes between them.
 */
struct units_times {
	bool has_day, has_zone;
	bool has_us; /* with microseconds; else milliseconds */
};
struct units_times units_times_of(uint64_t begin, uint64_t end);
/* "14:03:07.250", "2026-11-24 14:03:07.250", "14:03:07.250+01:00", or both. */
const char *units_time(char text[UNITS_TEXT_MAX], struct units_times times, uint64_t ns);
/* How many letters that are. */
int units_time_width(struct units_times times);
/* "2026-11-24T08:01:02.123456789Z", in UTC. */
const char *units_iso(char text[UNITS_TEXT_MAX], uint64_t ns);
