/*
 * report-ranges: see report-ranges.h.
 */
#include "cmd/ranges/report-ranges.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "engine/engine.h"
#include "phases/ranges.h"

_Static_assert(REPORT_RANGES_MAX == RANGES_MAX, "all that are found have room");

#define SLICES          200
#define BYTES_PER_EVENT 32 /* of a timeline, at most in most traces */

uint64_t report_ranges_timeline(const struct options *options)
{
	/* An execution takes ten times as much as the intervals that it is made of. */
	return options->max_memory / (options->job ? 10 : 4);
}

struct range_search {
	struct overview *overview;
	struct ranges *ranges;
};

static void on_report(void *user, const struct report *report)
{
	struct range_search *search = user;

	overview_report(search->overview, report);
	ranges_report(search->ranges, report);
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	(void)user; /* said when the timeline was built */
}

static int on_trace(void *user, struct trace *trace, struct err *err)
{
	return 0;
}

static const struct analysis *analysis_named(const char *name)
{
	size_t i = 0;

	while (strcmp(analyses[i]->name, name) != 0) {
		i++;
		assert(analyses[i]);
	}
	return analyses[i];
}

static int analyze(const struct options *options, const struct recorded_path *path,
		   const struct overview_config *span, struct range_search *search, struct err *err)
{
	struct engine_config config = {
		.range_begin = options->begin ? span->begin : 0,
		.range_end = options->end ? span->end : UINT64_MAX,
		.wants_windows = true,
		.jobs = options->has_jobs ? (unsigned int)options->jobs : 1,
		.chunk_bytes = options->chunk_bytes,
		.max_memory = options->max_memory / 4,
		.top = RAN_ROWS_MAX,
		.on_report = on_report,
		.on_warning = on_warning,
	};
	struct recorded_run recorded = { .user = search,
					 .chunk_bytes = config.chunk_bytes,
					 .range_end = config.range_end,
					 .on_trace = on_trace };
	int r;

	config.analyses[0] = analysis_named("cpu");
	config.analyses[1] = analysis_named("sched");
	config.interval_ns = config.shown_interval_ns = overview_interval(span);
	config.keeps_windows = true; /* they are its slices */
	recorded.engine = engine_new(&config);
	r = recorded_analyze(path, &recorded, err);
	engine_free(recorded.engine);
	return r;
}

int report_ranges_choose(const struct options *options, const struct recorded_path *path,
			 uint64_t begin, uint64_t end, struct report_range ret[REPORT_RANGES_MAX],
			 struct err *err)
{
	struct overview_config config = { .slices = SLICES, .uses_figures = true, .p = -1 };
	struct range_search search;
	const struct range *found;
	size_t count = 0;
	int r = recorded_span(path, &config.begin, &config.end, err);

	if (r < 0) {
		return r;
	}
	config.begin = begin > config.begin ? begin : config.begin;
	config.end = end < config.end ? end : config.end;
	if (config.begin >= config.end) {
		return err_raise(err, -ENODATA,
				 "%s: packets do not tell their times: ranges cannot be chosen",
				 path->name);
	}
	search.overview = overview_new(&config);
	search.ranges = ranges_new(&config, options->thread);
	assert(search.overview && search.ranges);
	r = analyze(options, path, &config, &search, err);
	if (r == 0 && overview_find(search.overview)) {
		count = ranges_find(search.ranges, search.overview,
				    report_ranges_timeline(options) / BYTES_PER_EVENT, &found);
	}
	for (size_t i = 0; i < count; i++) {
		ret[i] = (struct report_range){ .begin = found[i].begin,
						.end = found[i].end,
						.why = mem_strdup(found[i].why) };
	}
	ranges_free(search.ranges);
	overview_free(search.overview);
	(void)malloc_trim(0); /* what follows has its own bound */
	if (r == 0 && count == 0) {
		return err_raise(err, -ENODATA, "%s: no figure of the analyses changes with time",
				 path->name);
	}
	return r < 0 ? r : (int)count;
}
