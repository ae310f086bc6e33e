/*
 * units: see units.h.
 */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct suffix {
	const char *text;
	uint64_t factor;
};

static const struct suffix size_suffixes[] = {
	{ "", 1 },
	{ "K", UINT64_C(1) << 10 },
	{ "M", UINT64_C(1) << 20 },
	{ "G", UINT64_C(1) << 30 },
	{ "T", UINT64_C(1) << 40 },
	{ NULL, 0 },
};

static const struct suffix duration_suffixes[] = {
	{ "ns", 1 },       { "us", 1000 },         { "ms", 1000000 },
	{ "s", NS_PER_S }, { "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
	{ NULL, 0 },
};

static int parse_scaled(const char *text, const struct suffix *suffixes, uint64_t *ret)
{
	long double value;
	char *past;

	if (!isdigit((unsigned char)text[0])) {
		return -EINVAL;
	}
	errno = 0;
	value = strtold(text, &past);
	if (past == text || errno || strspn(text, "0123456789.") != (size_t)(past - text)) {
		return -EINVAL;
	}
	for (; suffixes->text; suffixes++) {
		if (strcasecmp(past, suffixes->text) == 0) {
			value *= (long double)suffixes->factor;
			if (value >= 9.2e18L) {
				return -ERANGE;
			}
			*ret = (uint64_t)roundl(value);
			return 0;
		}
	}
	return -EINVAL;
}

int units_parse_size(const char *text, uint64_t *ret_bytes)
{
	char copy[32];
	size_t len = strlen(text);

	/* "64KiB" and "64KB" mean "64K". */
	if (len >= sizeof(copy) || len == 0) {
		return -EINVAL;
	}
	memcpy(copy, text, len + 1);
	if (len > 1 && toupper((unsigned char)copy[len - 1]) == 'B') {
		copy[--len] = '\0';
	}
	if (len > 1 && copy[len - 1] == 'i') {
		copy[--len] = '\0';
	}
	return parse_scaled(copy, size_suffixes, ret_bytes);
}

int units_parse_duration(const char *text, uint64_t *ret_ns)
{
	if (strcmp(text, "0") == 0) {
		*ret_ns = 0;
		return 0;
	}
	return parse_scaled(text, duration_suffixes, ret_ns);
}

/* What may follow "HH:MM:SS": a point and digits, then "Z". */
static int parse_fraction(const char *text, uint64_t *ret_ns, int *ret_utc)
{
	uint64_t unit = NS_PER_S;

	*ret_ns = 0;
	*ret_utc = 0;
	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text); text++) {
			unit /= 10;
			*ret_ns += (uint64_t)(*text - '0') * unit;
		}
	}
	if (*text == 'Z') {
		*ret_utc = 1;
		text++;
	}
	return *text ? -EINVAL : 0;
}

static int has_shape(const char *text, const char *shape)
{
	for (; *shape; shape++, text++) {
		if (*shape == '0' ? !isdigit((unsigned char)*text) : *text != *shape) {
			return 0;
		}
	}
	return 1;
}

int units_time_needs_day(const char *text)
{
	return has_shape(text, "00:00:00");
}

/* Adds a fraction of a second; a time before the epoch is the epoch. */
static uint64_t ns_of(time_t seconds, uint64_t fraction)
{
	return seconds < 0 ? 0 : (uint64_t)seconds * NS_PER_S + fraction;
}

static uint64_t distance(uint64_t ts, const struct units_span *span)
{
	return ts < span->first ? span->first - ts : ts > span->last ? ts - span->last : 0;
}

/* The time of day in @clock, on the day of span->first or the one after. */
static uint64_t on_day(const struct tm *clock, uint64_t fraction, const struct units_span *span)
{
	time_t first = (time_t)(span->first / NS_PER_S);
	uint64_t at[2];

	for (int days = 0; days < 2; days++) {
		struct tm tm;

		(void)localtime_r(&first, &tm);
		tm.tm_mday += days;
		tm.tm_hour = clock->tm_hour;
		tm.tm_min = clock->tm_min;
		tm.tm_sec = clock->tm_sec;
		tm.tm_isdst = -1;
		at[days] = ns_of(mktime(&tm), fraction);
	}
	return distance(at[1], span) < distance(at[0], span) ? at[1] : at[0];
}

static int parse_of_day(const char *text, const struct units_span *span, uint64_t *ret_ns)
{
	struct tm clock = { 0 };
	const char *rest = strptime(text, "%H:%M:%S", &clock);
	uint64_t fraction;
	int is_utc;

	if (!rest || parse_fraction(rest, &fraction, &is_utc) < 0 || is_utc) {
		return -EINVAL;
	}
	*ret_ns = span ? on_day(&clock, fraction, span) : 0;
	return 0;
}

static int parse_date(const char *text, uint64_t *ret_ns)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *rest =
		strptime(text, text[10] == 'T' ? "%Y-%m-%dT%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
	uint64_t fraction;
	time_t seconds;
	int is_utc;

	tm.tm_isdst = -1;
	if (!rest || parse_fraction(rest, &fraction, &is_utc) < 0) {
		return -EINVAL;
	}
	seconds = is_utc ? timegm(&tm) : mktime(&tm);
	*ret_ns = ns_of(seconds, fraction);
	return seconds < 0 ? -EINVAL : 0;
}

/* "@SECONDS[.frac]", "SECONDS.frac", "NSns" or "NS". */
static int parse_number(const char *text, uint64_t *ret_ns)
{
	const char *digits = text + (*text == '@');
	uint64_t fraction;
	char *past;
	int is_utc;

	errno = 0;
	*ret_ns = strtoull(digits, &past, 10);
	if (!isdigit((unsigned char)*digits) || errno) {
		return -EINVAL;
	}
	if (*text != '@' && strcmp(past, "ns") == 0) {
		return 0;
	}
	if (*text != '@' && *past != '.') {
		return *past ? -EINVAL : *ret_ns >= NS_PER_S && *ret_ns < 10 * NS_PER_S ? -EDOM : 0;
	}
	if (parse_fraction(past, &fraction, &is_utc) < 0 || is_utc ||
	    *ret_ns >= UINT64_MAX / NS_PER_S) {
		return -EINVAL;
	}
	*ret_ns = *ret_ns * NS_PER_S + fraction;
	return 0;
}

int units_parse_time(const char *text, const struct units_span *span, uint64_t *ret_ns)
{
	if (units_time_needs_day(text)) {
		return parse_of_day(text, span, ret_ns);
	}
	if (has_shape(text, "0000-00-00T00:00:00") || has_shape(text, "0000-00-00 00:00:00")) {
		return parse_date(text, ret_ns);
	}
	return parse_number(text, ret_ns);
}

/* Three digits and a unit, each of which is @base of the one before. */
static const char *scaled(char text[UNITS_TEXT_MAX], uint64_t value, const char *const *names,
			  double base)
{
	double shown = (double)value;

	while (names[1] && shown >= base * 0.9995) {
		shown /= base;
		names++;
	}
	(void)snprintf(text, UNITS_TEXT_MAX,
		       shown >= 100 || shown == (double)value ? "%.0f %s"
		       : shown >= 10                          ? "%.1f %s"
							      : "%.2f %s",
		       shown, *names);
	return text;
}

const char *units_bytes(char text[UNITS_TEXT_MAX], uint64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL };

	return scaled(text, bytes, names, 1024);
}

const char *units_ns(char text[UNITS_TEXT_MAX], uint64_t ns)
{
	static const char *const names[] = { "ns", "us", "ms", "s", NULL };

	return scaled(text, ns, names, 1000);
}

const char *units_count(char text[UNITS_TEXT_MAX], uint64_t count)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *to = text;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0) {
			*to++ = ',';
		}
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}

static struct tm local_of(uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm)) {
		memset(&tm, 0, sizeof(tm));
	}
	return tm;
}

const char *units_prio(char text[UNITS_TEXT_MAX], int32_t prio)
{
	if (prio >= 0 && prio < 40) {
		(void)snprintf(text, UNITS_TEXT_MAX, "nice %d", prio - 20);
	} else if (prio >= -100 && prio <= -2) {
		(void)snprintf(text, UNITS_TEXT_MAX, "FIFO/RR %d", -1 - prio);
	} else if (prio == -101) {
		(void)snprintf(text, UNITS_TEXT_MAX, "deadline");
	} else {
		(void)snprintf(text, UNITS_TEXT_MAX, "%d", prio);
	}
	return text;
}

const char *units_clock(char text[UNITS_TEXT_MAX], uint64_t ns)
{
	const struct tm tm = local_of(ns);
	size_t len = strftime(text, UNITS_TEXT_MAX, "%H:%M:%S", &tm);

	(void)snprintf(text + len, UNITS_TEXT_MAX - len, ".%09" PRIu64, ns % NS_PER_S);
	return text;
}

struct units_times units_times_of(uint64_t begin, uint64_t end)
{
	const struct tm first = local_of(begin), last = local_of(end);

	return (struct units_times){
		.has_day = first.tm_yday != last.tm_yday || first.tm_year != last.tm_year,
		.has_zone = first.tm_gmtoff != last.tm_gmtoff,
	};
}

const char *units_time(char text[UNITS_TEXT_MAX], struct units_times times, uint64_t ns)
{
	const struct tm tm = local_of(ns);
	size_t len = strftime(text, UNITS_TEXT_MAX,
			      times.has_day ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &tm);
	unsigned long minutes = (unsigned long)labs(tm.tm_gmtoff) / 60;

	len += (size_t)snprintf(text + len, UNITS_TEXT_MAX - len, ".%0*u", times.has_us ? 6 : 3,
				(unsigned int)(ns % NS_PER_S / (times.has_us ? 1000 : NS_PER_MS)));
	if (times.has_zone) {
		(void)snprintf(text + len, UNITS_TEXT_MAX - len, "%c%02lu:%02lu",
			       tm.tm_gmtoff < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
	}
	return text;
}

int units_time_width(struct units_times times)
{
	return (int)strlen("14:03:07.250") + (times.has_us ? 3 : 0) +
	       (times.has_day ? (int)strlen("2026-11-24 ") : 0) +
	       (times.has_zone ? (int)strlen("+01:00") : 0);
}

const char *units_iso(char text[UNITS_TEXT_MAX], uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm;
	size_t len;

	if (!gmtime_r(&seconds, &tm)) {
		memset(&tm, 0, sizeof(tm));
	}
	len = strftime(text, UNITS_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + len, UNITS_TEXT_MAX - len, ".%09" PRIu64 "Z", ns % NS_PER_S);
	return text;
}
