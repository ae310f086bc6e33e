/*
 * baseline-hour: reads what was in one hour of the days before.
 *
 * The store is opened for each hour, and closed again: a run of weeks holds nothing of it, and each
 * time sees what others wrote meanwhile.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "baseline/baseline.h"
#include "compare/profile.h"
#include "rollup/rollup.h"
#include "store/reader.h"

#define HOUR_NS (3600 * NS_PER_S)

struct hour_reading {
	const struct baseline_setup *setup;
	struct baseline_hour *hour;
	struct store_reader *reader;
	const struct analysis *list[ANALYSES_MAX];
	uint16_t tables[ANALYSES_MAX][TABLES_MAX]; /* the columns that are needed */
	bool *wanted;                              /* by trace */
	struct store_windows windows;
};

/* ---- which traces ---- */

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

bool baseline_hour_is_at(const struct baseline_hour *hour, const struct trace_identity *trace)
{
	return is_same(hour->host, trace->host) && is_same(hour->domain, trace->domain);
}

/* Without a time at its end: "auto-20260101-120000" is "auto". */
static size_t session_len(const char *name)
{
	static const char form[] = "-dddddddd-dddddd";
	size_t len = strlen(name), size = sizeof(form) - 1;

	for (size_t i = 0; len > size && i < size; i++) {
		char letter = name[len - size + i];

		if (form[i] == 'd' ? letter < '0' || letter > '9' : letter != form[i]) {
			return len;
		}
	}
	return len > size ? len - size : len;
}

static bool is_same_session(const char *a, const char *b)
{
	if (!a || !b) {
		return !a && !b;
	}
	return session_len(a) == session_len(b) && strncmp(a, b, session_len(a)) == 0;
}

static void choose_traces(struct hour_reading *reading)
{
	const struct baseline_hour *hour = reading->hour;
	size_t count;
	const struct store_trace *traces = store_reader_traces(reading->reader, &count);

	reading->wanted = mem_alloc(count + 1);
	for (size_t i = 0; i < count; i++) {
		const struct trace_identity *identity = &traces[i].identity;

		reading->wanted[i] = baseline_hour_is_at(hour, identity) &&
				     is_same_session(identity->session, hour->session);
	}
}

/* ---- one day ---- */

/* A window of more than an hour is not of one hour. */
static void drop_long(struct store_windows *windows)
{
	size_t kept = 0;

	for (size_t i = 0; i < windows->at.count; i++) {
		const struct store_window *window = &windows->at.at[i];

		if (window->end > window->begin && window->end - window->begin <= HOUR_NS) {
			windows->at.at[kept++] = *window;
		}
	}
	windows->at.count = kept;
}

/* The time that some window covers. */
static uint64_t covered(const struct store_windows *windows)
{
	VEC(struct profile_span) spans = { 0 };
	uint64_t sum, end;

	for (size_t i = 0; i < windows->at.count; i++) {
		*vec_push(&spans) =
			(struct profile_span){ windows->at.at[i].begin, windows->at.at[i].end };
	}
	sum = profile_covered(spans.at, spans.count, &end);
	vec_fini(&spans);
	return sum;
}

/* The windows of the traces one after the other; @all: of all; NULL: there is one trace. */
static int add_up(struct hour_reading *reading, struct rollup *one, struct rollup *all)
{
	const struct store_windows *windows = &reading->windows;
	struct report report;

	for (size_t i = 0; i < windows->at.count; i++) {
		const struct store_window *window = &windows->at.at[i];
		int r = store_reader_read(reading->reader, window, &report, &reading->hour->err);

		if (r < 0 || *reading->setup->stop) {
			return r < 0 ? r : -EINTR;
		}
		rollup_add(one, &report, 0);
		if (all &&
		    (i + 1 == windows->at.count || windows->at.at[i + 1].trace != window->trace)) {
			rollup_add(all, rollup_take(one), window->trace + 1);
		}
	}
	return 0;
}

static int add_day(struct hour_reading *reading)
{
	const struct store_windows *windows = &reading->windows;
	bool has_one = windows->at.at[0].trace == windows->at.at[windows->at.count - 1].trace;
	struct rollup *one = rollup_new(1, 0, reading->setup->selection, false), *all = NULL;
	struct report report;
	int r;

	if (!has_one) {
		all = rollup_new(1, 0, reading->setup->selection, false);
		rollup_join(all);
	}
	assert(windows->at.count > 0 && reading->hour->days < BASELINE_DAYS_MAX);
	r = add_up(reading, one, all);
	if (r == 0) {
		report = *rollup_take(all ? all : one);
		report.begin = 0;
		report.end = covered(windows);
		medians_add_day(reading->hour->medians, &report);
		reading->hour->days++;
	}
	rollup_free(all);
	rollup_free(one);
	return r;
}

/* ---- the days before ---- */

static int read_days(struct hour_reading *reading)
{
	struct baseline_hour *hour = reading->hour;
	uint64_t first = 0, last = 0;
	int r = store_reader_span(reading->reader, &first, &last, &hour->err);

	for (int back = 1; r == 0 && back <= BASELINE_DAYS_BACK_MAX; back++) {
		struct day_hour day;

		if (hour->days == BASELINE_DAYS_MAX || *reading->setup->stop) {
			break;
		}
		if (!day_hour_before(&hour->at, back, &day) || day.begin >= last ||
		    day.end <= first) {
			continue;
		}
		reading->windows.at.count = 0;
		r = store_reader_windows(reading->reader, reading->wanted, HOUR_NS, day.begin,
					 day.end, &reading->windows, &hour->err);
		drop_long(&reading->windows);
		if (r == 0 && reading->windows.at.count > 0) {
			r = add_day(reading);
		}
	}
	return r == 0 && *reading->setup->stop ? -EINTR : r;
}

/* What the figures need. */
static int want(struct hour_reading *reading)
{
	const struct figure_list *figures = reading->setup->figures;

	for (size_t i = 0; i < figures->at.count; i++) {
		figure_uses(figures->at.at[i], reading->tables);
	}
	figure_needs(reading->tables, reading->list);
	store_reader_want(reading->reader, reading->list, reading->setup->selection, false);
	return store_reader_want_tables(reading->reader,
					(const uint16_t(*)[TABLES_MAX])reading->tables,
					&reading->hour->err);
}

int baseline_hour_read(const struct baseline_setup *setup, struct baseline_hour *hour)
{
	struct hour_reading reading = { .setup = setup, .hour = hour };
	int r = store_reader_open(setup->url, setup->stop, &reading.reader, &hour->err);

	if (r < 0) {
		return r;
	}
	assert(!hour->medians);
	hour->medians = medians_new(setup->figures);
	r = want(&reading);
	choose_traces(&reading);
	r = r < 0 ? r : read_days(&reading);
	if (r < 0) {
		medians_free(hour->medians);
		hour->medians = NULL;
	} else {
		medians_end(hour->medians);
	}
	vec_fini(&reading.windows.at);
	free(reading.wanted);
	store_reader_close(reading.reader);
	return r;
}
