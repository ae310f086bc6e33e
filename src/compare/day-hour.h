/*
 * day-hour: the hours of a day in local time, and the same hours of other days.
 *
 * Local time is that of this host, or of $TZ.  When clocks go back, one hour of that day takes two;
 * when they go forward, that day lacks an hour.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct day_hour {
	int year, month, day, hour; /* of the calendar: 2026, 1 to 12, 1 to 31, 0 to 23 */
	uint64_t begin, end;        /* ns since the epoch */
};

/* The hour that the moment is in. */
struct day_hour day_hour_of(uint64_t ns);
/* The same hour so many days before.  False: that day has no such hour. */
bool day_hour_before(const struct day_hour *of, int days, struct day_hour *ret);
