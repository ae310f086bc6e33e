/*
 * day-hour: see day-hour.h.
 */
#include "compare/day-hour.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

/* Clocks differ from UTC by a multiple of this, and change at one. */
#define STEP_S 900
/* No hour of a day is further from its noon. */
#define HALF_S (15 * 3600)

static bool is_in(time_t moment, const struct day_hour *hour)
{
	struct tm tm;

	return localtime_r(&moment, &tm) && tm.tm_year + 1900 == hour->year &&
	       tm.tm_mon + 1 == hour->month && tm.tm_mday == hour->day && tm.tm_hour == hour->hour;
}

/* Finds begin and end.  False: the day lacks the hour, or lies before the epoch. */
static bool find(struct day_hour *hour)
{
	struct tm noon = { .tm_year = hour->year - 1900,
			   .tm_mon = hour->month - 1,
			   .tm_mday = hour->day,
			   .tm_hour = 12,
			   .tm_isdst = -1 };
	time_t middle = mktime(&noon), first = 0, last = 0;

	middle -= middle % STEP_S;
	for (time_t at = middle - HALF_S; at <= middle + HALF_S; at += STEP_S) {
		if (at >= 0 && is_in(at, hour)) {
			first = last > 0 ? first : at;
			last = at + STEP_S;
		}
	}
	hour->begin = (uint64_t)first * NS_PER_S;
	hour->end = (uint64_t)last * NS_PER_S;
	assert(hour->begin <= hour->end);
	return last > 0;
}

struct day_hour day_hour_of(uint64_t ns)
{
	time_t moment = (time_t)(ns / NS_PER_S);
	struct day_hour hour = { 0 };
	struct tm tm;

	if (localtime_r(&moment, &tm)) {
		hour = (struct day_hour){ .year = tm.tm_year + 1900,
					  .month = tm.tm_mon + 1,
					  .day = tm.tm_mday,
					  .hour = tm.tm_hour };
		(void)find(&hour);
	}
	if (ns < hour.begin || ns >= hour.end) { /* a clock of no known place */
		hour.begin = ns - ns % (STEP_S * NS_PER_S);
		hour.end = hour.begin + STEP_S * NS_PER_S;
	}
	return hour;
}

bool day_hour_before(const struct day_hour *of, int days, struct day_hour *ret)
{
	struct tm noon = { .tm_year = of->year - 1900,
			   .tm_mon = of->month - 1,
			   .tm_mday = of->day - days,
			   .tm_hour = 12,
			   .tm_isdst = -1 };

	assert(days > 0);
	(void)mktime(&noon); /* normalises the day */
	*ret = (struct day_hour){ .year = noon.tm_year + 1900,
				  .month = noon.tm_mon + 1,
				  .day = noon.tm_mday,
				  .hour = of->hour };
	return find(ret);
}
