/*
 * side: see side.h.
 */
#include "cmd/compare/side-state.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/process/foreign.h"
#include "base/units.h"
#include "engine/engine.h"
#include "output/shown.h"
#include "recorded/recorded.h"
#include "relay/url.h"
#include "rollup/rollup.h"
#include "run/check-names.h"
#include "run/run.h"
#include "run/say.h"
#include "store/reader.h"
#include "store/store.h"
#include "stored/stored.h"

/* Rows as they are shown: with --per comm processes are those of one name. */
static void add_report(struct compared_side *side, const struct report *report)
{
	const struct output as = { .analyses = side->list, .display = &side->options.display };
	struct shown shown = { .sums = { 0 } };

	shown_init(&shown, &as, report);
	profile_add_report(side->profile, &shown.report);
	shown_fini(&shown);
}

/* ---- traces ---- */

static void on_report(void *user, const struct report *report)
{
	struct compared_side *side = user;

	if (report->kind == REPORT_WINDOW && side->objectives) {
		objectives_take(side->objectives, side->at, &side->identity, report);
	}
	if (report->kind == REPORT_TOTAL) {
		profile_add_span(side->profile, report->begin, report->end);
		add_report(side, report);
	}
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct compared_side *side = user;

	if (side->options.verbosity >= 0) {
		say("%s: %s", side->name, warning->message);
	}
}

static int on_trace(void *user, struct trace *trace, struct err *err)
{
	struct compared_side *side = user;

	run_identify(&side->identity, trace_plan(trace)->metadata, side->path);
	return 0;
}

/* Analyses of what the user asks for are only there if something is asked for. */
static bool is_asked(const struct compared_side *side, const struct analysis *analysis)
{
	const struct period_set *periods = &side->options.periods;

	return strcmp(analysis->name, "periods") == 0 ? periods->all.count > 0
	       : strcmp(analysis->name, "jobs") == 0  ? periods->jobs.count > 0
						      : true;
}

/* What is compared, and what objectives are about. */
static void side_wanted(const struct compared_side *side, const struct analysis *ret[ANALYSES_MAX])
{
	size_t i = 0;

	for (; side->list[i]; i++) {
		ret[i] = side->list[i];
	}
	ret[i] = NULL;
	if (side->objectives) {
		objectives_add_analyses(side->objectives, ret);
	}
}

static bool wants_containers(const struct compared_side *side)
{
	return side->options.display.per == PER_CONTAINER ||
	       (side->objectives && objectives_use_containers(side->objectives));
}

/* -EINVAL: there is nothing to measure. */
static int fill_config(const struct compared_side *side, struct engine_config *ret)
{
	const struct options *options = &side->options;
	const struct analysis *list[ANALYSES_MAX];
	size_t count = 0;

	assert(side->list[0]);
	side_wanted(side, list);
	*ret = (struct engine_config){ .interval_ns = options->interval_ns,
				       .shown_interval_ns = options->interval_ns,
				       .wants_windows = side->objectives != NULL,
				       .wants_containers = wants_containers(side),
				       .is_usual = !options->has_analyses,
				       .selection = &options->selection,
				       .periods = &options->periods,
				       .jobs = (unsigned int)options->jobs,
				       .chunk_bytes = options->chunk_bytes,
				       .max_memory = options->max_memory,
				       .on_report = on_report,
				       .on_warning = on_warning };
	for (size_t i = 0; list[i]; i++) {
		if (is_asked(side, list[i])) {
			ret->analyses[count++] = list[i];
		}
	}
	return count > 0 ? 0
			 : err_raise(side->err, -EINVAL,
				     "no period or job to measure: --period and --job say which");
}

static int analyze_one(struct compared_side *side, const struct recorded_path *path)
{
	struct engine_config config;
	struct recorded_run run = {
		.user = side, .stop = &run_stop, .session = &side->session, .on_trace = on_trace
	};
	int r;

	assert(path->name);
	side->name = path->name;
	side->path = path;
	r = fill_config(side, &config);
	r = r < 0 ? r
		  : run_range(&side->options, path, &config.range_begin, &config.range_end,
			      side->err);
	if (r < 0) {
		return err_note(side->err, r, "%s", path->name);
	}
	run.chunk_bytes = config.chunk_bytes;
	run.range_end = config.range_end;
	run.engine = engine_new(&config);
	r = recorded_analyze(path, &run, side->err);
	engine_free(run.engine);
	return r;
}

int side_find(const struct compared_side *side, const char *arg, struct recorded_paths *ret)
{
	int r = run_find(&side->options, arg, ret, side->err);

	return r < 0 ? r : run_check_names(&side->options, NULL, ret, NULL, side->err);
}

int side_add_traces(struct compared_side *side, const struct recorded_paths *paths)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < paths->at.count && !run_stop; i++) {
		r = analyze_one(side, &paths->at.at[i]);
	}
	recorded_session_fini(&side->session);
	output_trace_fini(&side->identity);
	return r;
}

static int read_traces(struct compared_side *side, const char *arg)
{
	struct recorded_paths paths = { 0 };
	int r = side_find(side, arg, &paths);

	r = r < 0 ? r : side_add_traces(side, &paths);
	recorded_paths_fini(&paths);
	return r;
}

/* ---- stores ---- */

int side_store_range(const struct compared_side *side, struct store_reader *reader,
		     uint64_t *ret_begin, uint64_t *ret_end)
{
	struct units_span span;
	int r = store_reader_span(reader, &span.first, &span.last, side->err);

	if (r == 0) {
		r = run_range_in(&side->options, &span, ret_begin, ret_end, side->err);
		r = r < 0 ? err_note(side->err, r, "%s", side->name) : 0;
	}
	return r;
}

static int find_windows(struct compared_side *side, struct store_reader *reader,
			struct store_windows *ret)
{
	uint64_t begin = 0, end = 0;
	uint64_t interval = side->slice_ns > 0 ? side->slice_ns
			    : side->objectives ? side->options.interval_ns
					       : UINT64_MAX;
	bool *wanted = stored_wanted(&side->options, reader);
	int r = side_store_range(side, reader, &begin, &end);

	r = r < 0 ? r : store_reader_windows(reader, wanted, interval, begin, end, ret, side->err);
	r = r < 0 ? r
		  : stored_say_gaps(reader, begin, end, &side->profile->lost_windows, side->err);
	free(wanted);
	return r;
}

/* The windows of one time, which objectives see as one. */
static void end_together(struct compared_side *side, struct store_reader *reader,
			 struct rollup *window, uint32_t trace)
{
	const struct report *report = window ? rollup_take(window) : NULL;
	size_t count;

	if (report) {
		objectives_take(side->objectives, side->at,
				&store_reader_traces(reader, &count)[trace].identity, report);
	}
}

/* Windows come by trace. */
static int add_windows(struct compared_side *side, struct store_reader *reader,
		       const struct store_windows *windows)
{
	struct rollup *total = rollup_new(1, 0, &side->options.selection, false);
	struct rollup *together = NULL;
	struct account account;
	struct report report;
	int r = 0;

	account_init(&account, side->options.max_memory, 0, false);
	rollup_bound(total, &account);
	if (side->objectives) {
		together = rollup_new(side->options.interval_ns, 0, &side->options.selection,
				      wants_containers(side));
		rollup_bound(together, &account);
	}

	assert(windows->at.count > 0);
	for (size_t i = 0; r == 0 && i < windows->at.count && !run_stop; i++) {
		const struct store_window *window = &windows->at.at[i];
		bool is_last;

		r = store_reader_read(reader, window, &report, side->err);
		if (r < 0) {
			break;
		}
		if (together) {
			rollup_add(together, &report, 0);
		}
		rollup_add(total, &report, 0);
		profile_add_span(side->profile, report.begin, report.end);
		is_last =
			i + 1 == windows->at.count || windows->at.at[i + 1].trace != window->trace;
		if (is_last || stored_are_apart(window, window + 1, side->options.interval_ns)) {
			end_together(side, reader, together, window->trace);
		}
		if (is_last) {
			add_report(side, rollup_take(total));
		}
	}
	rollup_free(total);
	rollup_free(together);
	return r;
}

int side_add_store(struct compared_side *side, const char *url)
{
	struct store_windows windows = { 0 };
	const struct analysis *list[ANALYSES_MAX];
	struct store_reader *reader = NULL;
	int r = store_reader_open(url, &run_stop, &reader, side->err);

	if (r == 0) {
		side_wanted(side, list);
		store_reader_want(reader, list, &side->options.selection, wants_containers(side));
		side->name = store_reader_name(reader);
		r = find_windows(side, reader, &windows);
	}
	if (r == 0 && windows.at.count == 0) {
		r = err_raise(side->err, -ENOENT, "%s: it has no such windows", side->name);
	}
	r = r < 0 ? r : add_windows(side, reader, &windows);
	vec_fini(&windows.at);
	store_reader_close(reader);
	return r;
}

/* ---- JSON ---- */

int side_open_json(const char *path, FILE **ret, struct err *err)
{
	return strcmp(path, "-") == 0 ? foreign_stdin(ret, err) : foreign_stream(path, ret, err);
}

static int read_json(struct compared_side *side, const char *path)
{
	FILE *in;
	int r = side_open_json(path, &in, side->err);

	if (r < 0) {
		return r;
	}
	r = profile_add_json(side->profile, side->list, in, side->err);
	r = r < 0 ? err_note(side->err, r, "%s", path) : r;
	(void)fclose(in);
	return r;
}

/* ---- which of them ---- */

void side_take_range(struct options *options, char *name)
{
	char *dots = NULL, *at;
	struct stat ignored;

	for (char *next = name; (next = strstr(next, "..")); next++) {
		dots = next;
	}
	at = dots ? memrchr(name, '@', (size_t)(dots - name)) : NULL;
	if (!at || stat(name, &ignored) == 0) {
		return;
	}
	at -= at > name && at[-1] == '@'; /* a time may begin with one */
	*at = *dots = '\0';
	options->begin_option = "begin of the range";
	options->end_option = "end of the range";
	options->begin = at[1] ? at + 1 : NULL;
	options->end = dots[2] ? dots + 2 : NULL;
}

static bool is_store(const char *name)
{
	struct err ignored;

	return store_is_clickhouse(name) || store_file_of(name, &ignored);
}

enum side_kind side_kind_of(const char *name)
{
	struct stat file;

	if (is_store(name)) {
		return SIDE_STORE;
	}
	if (strcmp(name, "-") == 0) {
		return SIDE_JSON;
	}
	return !url_is_one(name) && stat(name, &file) == 0 && !S_ISDIR(file.st_mode) &&
			       !recorded_is_file(name)
		       ? SIDE_JSON
		       : SIDE_TRACES;
}

enum side_kind side_kind(const char *arg)
{
	struct options ignored = { 0 };
	char *name = mem_strdup(arg);
	enum side_kind kind;

	side_take_range(&ignored, name);
	kind = side_kind_of(name);
	free(name);
	return kind;
}

static int read_any(struct compared_side *side, const char *name)
{
	bool has_range = side->options.begin || side->options.end;
	enum side_kind kind = side_kind_of(name);
	struct stat file;

	if (kind == SIDE_STORE) {
		return side_add_store(side, name);
	}
	assert(kind != SIDE_JSON || !side->objectives);
	if (kind == SIDE_JSON) {
		return has_range
			       ? err_raise(side->err, -EINVAL,
					   "%s: JSON has totals only: no range of it can be taken",
					   name)
			       : read_json(side, name);
	}
	return !url_is_one(name) && stat(name, &file) < 0
		       ? err_raise(side->err, -errno, "%s: %s", name, strerror(errno))
		       : read_traces(side, name);
}

int side_read(const struct options *options, const char *arg, const struct analysis *const *list,
	      const struct side_objectives *objectives, struct profile **ret, struct err *err)
{
	struct compared_side side = { .options = *options,
				      .list = list,
				      .objectives = objectives->take,
				      .at = objectives->side,
				      .profile = profile_new(arg),
				      .err = err };
	char *name = mem_strdup(arg);
	int r;

	assert(arg && ret);
	side_take_range(&side.options, name);
	r = read_any(&side, name);
	if (r == 0 && run_stop) {
		r = err_raise(err, -EINTR, "%s: interrupted before all was read", arg);
	}
	r = r < 0 ? r : profile_end(side.profile, err);
	free(name);
	if (r < 0) {
		profile_free(side.profile);
		return r;
	}
	*ret = side.profile;
	return 0;
}
