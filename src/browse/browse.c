/*
 * browse: see browse.h.
 *
 *     keys ──► view: a move ──► news: where is the next window? ──► reader: its rows ──► view
 *     every second, at the end ──► news: has something landed?  ──┘
 *
 * Only what is shown is read.  The store is opened again for each window, so that no old state of a
 * file is held while somebody looks at it.
 */
#include "browse/browse.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/units.h"
#include "output/screen/screen.h"
#include "output/shown.h"
#include "query/period.h"
#include "rollup/rollup.h"
#include "run/say.h"
#include "store/reader-news.h"
#include "store/store.h"
#include "stored/stored.h"

#define LOOK_MS 1000            /* between looks at what lands */
#define NEAR_NS (60 * NS_PER_S) /* a trace that goes on has a window so near to the newest */

struct browser {
	const struct options *options;
	struct view *view;
	struct store_news *news; /* NULL: the store is not there, or away */
	VEC(uint32_t) traces;    /* those that are wanted, by name; indices of news */
	size_t known;            /* so many traces of news were looked at */
	char *id;                /* the shown trace; NULL: none yet */
	bool has_range, has_window, follows, is_away;
	bool says_shown;                 /* what is not as asked in the shown window */
	uint64_t interval_ns;            /* of the shown long windows */
	uint64_t begin, end;             /* of the range */
	uint64_t at, shown_end;          /* the shown long window: its slot, and its end */
	struct store_news_window newest; /* the newest window when it was shown, following */
	struct err err;
};

/* ---- options ---- */

bool browse_is_store(const char *arg)
{
	struct stat file;
	struct err ignored;

	return store_is_clickhouse(arg) ||
	       (store_file_of(arg, &ignored) && (stat(arg, &file) < 0 || !S_ISDIR(file.st_mode)));
}

static int refuse(struct err *err, const char *option, const char *why)
{
	return err_raise(err, -EINVAL, "--%s: %s", option, why);
}

int browse_check(const struct options *options, struct err *err)
{
	static const char live[] = "only with live sessions, not with a store";
	static const char events[] = "it looks at events, which a store does not have";
	bool is_any = false;
	size_t count = 0;

	for (; options->args[count]; count++) {
		is_any |= browse_is_store(options->args[count]);
	}
	if (!is_any) {
		return options->host      ? refuse(err, "host", "only with a store")
		       : options->session ? refuse(err, "session", "only with a store")
					  : 0;
	}
	if (count > 1) {
		return err_raise(err, -EINVAL,
				 "top shows one store at a time, and no trace beside it");
	}
	if (options->names_of_host) {
		return refuse(err, "containers auto", "a store has the names that containers had");
	}
	return options->metrics                 ? refuse(err, "metrics", live)
	       : options->has_history           ? refuse(err, "history", live)
	       : options->from                  ? refuse(err, "from", live)
	       : options->regenerate            ? refuse(err, "regenerate", live)
	       : *options->on_lag != 'k'        ? refuse(err, "on-lag", live)
	       : options->retry_ns < UINT64_MAX ? refuse(err, "retry", live)
	       : period_set_count(&options->periods) > 0 || options->periods.labels.all.count > 0
		       ? refuse(err, "period, --job, --label, --model", events)
		       : 0;
}

/* ---- traces ---- */

static const struct store_trace *trace_at(const struct browser *b, uint32_t index)
{
	size_t count;
	const struct store_trace *traces = store_news_traces(b->news, &count);

	assert(index < count);
	return &traces[index];
}

static const struct store_trace *sorted; /* for by_name() */

static int by_name(const void *left, const void *right)
{
	const struct trace_identity *a = &sorted[*(const uint32_t *)left].identity;
	const struct trace_identity *b = &sorted[*(const uint32_t *)right].identity;
	const char *texts[][2] = { { a->host, b->host },
				   { a->session, b->session },
				   { a->domain, b->domain },
				   { a->path, b->path } };
	int order = 0;

	for (size_t i = 0; order == 0 && i < ARRAY_COUNT(texts); i++) {
		order = strcmp(texts[i][0] ? texts[i][0] : "", texts[i][1] ? texts[i][1] : "");
	}
	return order;
}

static void find_traces(struct browser *b)
{
	size_t count;

	sorted = store_news_traces(b->news, &count);
	assert(b->known <= count); /* those of an open store only grow */
	if (count == b->known) {
		return;
	}
	for (; b->known < count; b->known++) {
		if (stored_wants(b->options, &sorted[b->known].identity)) {
			*vec_push(&b->traces) = (uint32_t)b->known;
		}
	}
	vec_sort(&b->traces, by_name);
}

/* The place of the shown trace in traces; SIZE_MAX: none is shown. */
static size_t shown_at(const struct browser *b)
{
	for (size_t i = 0; b->id && i < b->traces.count; i++) {
		if (strcmp(trace_at(b, b->traces.at[i])->id, b->id) == 0) {
			return i;
		}
	}
	return SIZE_MAX;
}

/* ---- where windows are ---- */

static uint64_t slot_of(const struct browser *b, uint64_t time)
{
	return time / b->interval_ns * b->interval_ns;
}

/* The newest of those that news gives. */
struct newest {
	bool is_any;
	uint32_t trace;
	struct store_news_window window;
};

static void take_newest(void *user, uint32_t trace, const struct store_news_window *window)
{
	struct newest *newest = user;

	if (!newest->is_any || window->end > newest->window.end ||
	    (window->end == newest->window.end && window->level < newest->window.level)) {
		*newest = (struct newest){ true, trace, *window };
	}
}

/* The trace that has the newest window, the first by name of several. */
static int choose_trace(struct browser *b, size_t *ret)
{
	VEC(struct store_news_range) ranges = { 0 };
	struct newest newest = { .is_any = false };
	uint64_t first, last;
	int r = store_news_span(b->news, &first, &last, &b->err);

	last = last < b->end ? last : b->end;
	for (size_t i = 0; i < b->traces.count; i++) {
		*vec_push(&ranges) =
			(struct store_news_range){ b->traces.at[i], 0,
						   last > NEAR_NS ? last - NEAR_NS : 0, b->end };
	}
	r = r < 0 ? r
		  : store_news_windows(b->news, ranges.at, ranges.count, take_newest, &newest,
				       &b->err);
	assert(!newest.is_any || b->traces.count > 0);
	*ret = 0;
	for (size_t i = 0; newest.is_any && i < b->traces.count; i++) {
		*ret = b->traces.at[i] == newest.trace ? i : *ret;
	}
	vec_fini(&ranges);
	return r;
}

/* The begin of the trace's window next to a time.  1: there is one. */
static int next_to(struct browser *b, uint32_t trace, uint64_t time, bool is_before,
		   uint64_t *ret_begin)
{
	const struct store_news_range range = { trace, 0, b->begin, b->end };
	uint64_t first, last;
	int r = 0;

	if (is_before && time > b->end) { /* before the end of all */
		r = store_news_span(b->news, &first, &last, &b->err);
		time = last + 1;
	}
	return r < 0 ? r : store_news_next(b->news, &range, time, is_before, ret_begin, &b->err);
}

/* ---- showing ---- */

/* What is not as it was asked for in the window; said as long as it is shown. */
static void say_shown(struct browser *b, const struct report *report,
		      const struct store_windows *windows)
{
	char text[300] = "", level[UNITS_TEXT_MAX], asked[UNITS_TEXT_MAX];
	size_t used = 0;

	for (size_t i = 0; i < windows->at.count && used == 0; i++) {
		if (b->interval_ns % windows->at.at[i].level != 0) {
			used = (size_t)snprintf(text, sizeof(text),
						"stored windows of %s do not fit into %s",
						units_ns(level, windows->at.at[i].level),
						units_ns(asked, b->interval_ns));
		}
	}
	for (size_t i = 0, count = 0; i < report->part_count && used < sizeof(text); i++) {
		if (report_part_is_short(&report->parts[i])) {
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s%s",
						 used > 0 && count == 0 ? "; " : "",
						 count == 0 ? "not stored:" : ",",
						 report->parts[i].analysis->name,
						 report->parts[i].known_ns > 0 ? " (in part)" : "");
			count++;
		}
	}
	if (text[0] || b->says_shown) {
		view_say(b->view, text);
	}
	b->says_shown = text[0];
}

static int read_window(struct browser *b, struct store_reader *reader, size_t trace, uint64_t slot)
{
	const struct options *options = b->options;
	uint64_t begin = slot > b->begin ? slot : b->begin, end = slot + b->interval_ns;
	struct store_windows windows = { 0 };
	bool by_container = options->display.per == PER_CONTAINER;
	const struct output as = { .analyses = options->analyses,
				   .display = &options->display,
				   .top = VIEW_ROWS_MAX,
				   .hides_containers = !by_container };
	struct rollup *rollup =
		rollup_new(b->interval_ns, VIEW_ROWS_MAX, &options->selection, by_container);
	struct report report;
	size_t count;
	const struct store_trace *traces = store_reader_traces(reader, &count);
	bool *wanted = mem_alloc(count + 1);
	int r;

	assert(trace < count);
	wanted[trace] = true;
	r = store_reader_windows(reader, wanted, b->interval_ns, begin, end < b->end ? end : b->end,
				 &windows, &b->err);
	for (size_t i = 0; r == 0 && i < windows.at.count; i++) {
		r = store_reader_read(reader, &windows.at.at[i], &report, &b->err);
		if (r == 0) {
			rollup_add(rollup, &report, 0);
		}
	}
	if (r == 0 && windows.at.count > 0) {
		const struct report *whole = rollup_take(rollup);
		struct shown shown = { .sums = { 0 } };

		shown_init(&shown, &as, whole);
		view_show(b->view, &traces[trace].identity, &shown.report, "", shown_at(b),
			  b->traces.count);
		shown_fini(&shown);
		say_shown(b, whole, &windows);
		b->shown_end = whole->end;
		b->at = slot;
		b->has_window = true;
	}
	vec_fini(&windows.at);
	rollup_free(rollup);
	free(wanted);
	return r;
}

static int show(struct browser *b, uint32_t trace, uint64_t begin)
{
	struct store_reader *reader = NULL;
	const struct store_trace *traces = NULL;
	size_t count = 0, at = 0;
	char *id = mem_strdup(trace_at(b, trace)->id);
	int r = store_reader_open(b->options->args[0], &run_stop, &reader, &b->err);

	if (r == 0) {
		stored_want(b->options, b->options->analyses, reader);
		traces = store_reader_traces(reader, &count);
	}
	free(b->id);
	b->id = id;
	while (at < count && strcmp(traces[at].id, id) != 0) {
		at++;
	}
	if (at < count) {
		r = read_window(b, reader, at, slot_of(b, begin));
	}
	store_reader_close(reader);
	return r;
}

static bool is_same(const struct store_news_window *a, const struct store_news_window *b)
{
	return a->level == b->level && a->begin == b->begin && a->end == b->end &&
	       a->is_complete == b->is_complete;
}

/* The newest window, as far as it is there. */
static int show_newest(struct browser *b)
{
	struct newest newest = { .is_any = false };
	size_t at = shown_at(b);
	uint64_t begin = 0;
	int r = at == SIZE_MAX ? choose_trace(b, &at) : 0;

	if (r < 0 || at >= b->traces.count) {
		return r;
	}
	r = next_to(b, b->traces.at[at], UINT64_MAX, true, &begin);
	if (r > 0) {
		const struct store_news_range range = { b->traces.at[at], 0, begin, begin + 1 };

		r = store_news_windows(b->news, &range, 1, take_newest, &newest, &b->err);
		if (r < 0 || (b->has_window && b->follows && is_same(&newest.window, &b->newest))) {
			return r;
		}
		b->newest = newest.window;
		if (!b->options->has_interval) { /* a store of minutes is shown in minutes */
			b->interval_ns = newest.window.level > b->options->interval_ns
						 ? newest.window.level
						 : b->options->interval_ns;
		}
		r = show(b, b->traces.at[at], begin);
	}
	b->follows = true;
	return r;
}

/* ---- moves ---- */

static int move_back(struct browser *b, uint32_t trace, uint64_t before)
{
	uint64_t begin;
	int r = next_to(b, trace, before, true, &begin);

	if (r == 0) {
		r = next_to(b, trace, 0, false, &begin);
	}
	if (r > 0) {
		b->follows = false;
		r = show(b, trace, begin);
	}
	return r;
}

static int move_on(struct browser *b, uint32_t trace, uint64_t from)
{
	uint64_t begin;
	int r = next_to(b, trace, from, false, &begin);

	return r > 0 ? show(b, trace, begin) : r < 0 ? r : show_newest(b);
}

/* The same time of another trace, if it is not the newest that is shown. */
static int move_to_trace(struct browser *b, size_t at)
{
	uint32_t other = b->traces.at[at];

	assert(at < b->traces.count);
	if (!b->follows) {
		return move_back(b, other, b->at + b->interval_ns);
	}
	free(b->id);
	b->id = mem_strdup(trace_at(b, other)->id);
	b->has_window = false;
	return show_newest(b);
}

/* The next trace whose host or session has the text in its name, after number @at. */
static int move_to_named_trace(struct browser *b, size_t at, const char *text)
{
	for (size_t i = 1; i <= b->traces.count; i++) {
		size_t other = (at + i) % b->traces.count;
		const struct trace_identity *trace = &trace_at(b, b->traces.at[other])->identity;

		if (view_trace_matches(trace->host, trace->session, text)) {
			return move_to_trace(b, other);
		}
	}
	view_say(b->view, "no host or session of the store has this in its name");
	return 0;
}

static int move_to_time(struct browser *b, uint32_t trace, const char *text)
{
	struct options one = *b->options;
	struct units_span span = { b->at, b->at };
	uint64_t newest, time, ignored;
	int r = next_to(b, trace, UINT64_MAX, true, &newest);

	if (r < 0) {
		return r;
	}
	one.begin = text;
	one.begin_option = "g";
	one.end = NULL;
	span.last = text[0] == '-' ? newest : span.last;
	if (run_range_in(&one, &span, &time, &ignored, &b->err) < 0) {
		view_say(b->view, b->err.text);
		return 0;
	}
	return move_back(b, trace, time + 1);
}

static int move(struct browser *b, enum view_move move, const char *text)
{
	uint64_t interval = b->interval_ns, far = VIEW_FAR * interval;
	size_t at = shown_at(b);
	uint64_t after = b->at + interval > b->shown_end ? b->at + interval : b->shown_end;
	uint32_t trace;

	if (at == SIZE_MAX || !b->has_window) {
		return show_newest(b);
	}
	trace = b->traces.at[at];
	switch (move) {
	case VIEW_BACK:
		return move_back(b, trace, b->at);
	case VIEW_ON:
		return b->follows ? 0 : move_on(b, trace, after);
	case VIEW_FAR_BACK:
		return move_back(b, trace, b->at > far ? b->at - far + interval : 0);
	case VIEW_FAR_ON:
		return b->follows ? 0 : move_on(b, trace, b->at + far);
	case VIEW_FIRST:
		return move_back(b, trace, 0);
	case VIEW_PAUSES:
		b->follows = !b->follows;
		b->has_window = !b->follows;
		return b->follows ? show_newest(b) : 0;
	case VIEW_LAST:
		b->has_window = false;
		return show_newest(b);
	case VIEW_NEXT_TRACE:
		return move_to_trace(b, (at + 1) % b->traces.count);
	case VIEW_LAST_TRACE:
		return move_to_trace(b, (at + b->traces.count - 1) % b->traces.count);
	case VIEW_TO_TRACE:
		return move_to_named_trace(b, at, text);
	case VIEW_TO_TIME:
		return move_to_time(b, trace, text);
	default:
		return 0;
	}
}

/* ---- the loop ---- */

static int find_range(struct browser *b)
{
	struct units_span span = { 0, 0 };
	int r = store_news_span(b->news, &span.first, &span.last, &b->err);

	if (r == 0 && span.last > 0) {
		r = run_range_in(b->options, &span, &b->begin, &b->end, &b->err);
		b->has_range = r == 0;
	}
	return r;
}

/* 1: something may have landed. */
static int look(struct browser *b)
{
	int found, r;

	r = b->news ? 0 : store_news_open(b->options->args[0], &run_stop, &b->news, &b->err);
	found = r < 0 ? r : store_news_look(b->news, &b->err);
	if (found < 0) {
		return found;
	}
	if (!b->has_range) {
		r = find_range(b);
	}
	find_traces(b);
	return r < 0 ? r : found;
}

static void close_news(struct browser *b)
{
	store_news_close(b->news);
	b->news = NULL;
	b->known = 0;
	b->traces.count = 0;
}

static void show_status(struct browser *b)
{
	char text[600];

	view_show_status(b->view, b->follows ? "following" : "paused");
	(void)snprintf(text, sizeof(text), "%s%s: waiting for the first window ...",
		       b->news ? store_news_name(b->news) : "the store",
		       b->news && b->known > 0 && b->traces.count == 0
			       ? " has no trace of such a host and session"
			       : "");
	view_waits_for(b->view, text);
}

/* One look, and what the user wants.  Negative: it cannot go on. */
static int work(struct browser *b, enum view_move wanted, const char *text)
{
	int r = look(b);

	if (r >= 0 && b->is_away) { /* it is back: what is shown may have changed */
		view_say(b->view, "");
		b->is_away = false;
		b->has_window &= !b->follows;
	}
	if (r >= 0 && b->has_range) {
		r = wanted != VIEW_STAYS                      ? move(b, wanted, text)
		    : !b->has_window || (b->follows && r > 0) ? show_newest(b)
							      : 0;
	}
	show_status(b);
	if (r == -EINVAL || r == -EACCES || r == -ENOTSUP) {
		return r;
	}
	if (r < 0 && r != -EINTR) {
		view_say(b->view, b->err.text);
		view_waits_for(b->view, b->err.text);
		b->is_away = true;
		close_news(b);
	}
	return 0;
}

static int browse(struct browser *b)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	bool goes_on = true;
	int r = 0;

	while (r == 0 && goes_on && !run_stop) {
		const char *host, *session, *text;
		enum view_move wanted;

		do {
			wanted = view_take_move(b->view, &text);
			r = work(b, wanted, text);
		} while (r == 0 && wanted != VIEW_STAYS && !run_stop);
		if (view_asks_jobs(b->view, &host, &session)) {
			view_show_jobs(b->view, "Jobs are found in events, which a store does not "
						"have.\n");
		}
		screen_draw(b->view);
		if (poll(&input, 1, LOOK_MS) != 0) {
			goes_on = screen_keys(b->view);
		}
	}
	return r;
}

int browse_store(const struct options *given)
{
	struct options options = *given;
	struct browser b = { .options = &options,
			     .follows = true,
			     .interval_ns = given->interval_ns,
			     .end = UINT64_MAX };
	uint64_t since, until;
	int r;

	options.begin_option = "--since";
	options.end_option = "--until";
	r = run_range_in(&options, NULL, &since, &until, &b.err);
	if (r == 0) {
		r = look(&b); /* what will not do is said before the screen is taken */
		r = r == -EINVAL || r == -EACCES || r == -ENOTSUP ? r : 0;
	}
	if (r == 0) {
		run_stop_on_signals();
		r = screen_open(&b.err);
	}
	if (r == 0) {
		b.view = view_new();
		view_browse(b.view);
		r = browse(&b);
		screen_close();
		view_free(b.view);
	}
	if (r < 0) {
		say("%s", b.err.text);
	}
	close_news(&b);
	vec_fini(&b.traces);
	free(b.id);
	return r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}
