/*
 * found: see found.h.
 */
#include "cmd/found/found.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"
#include "deep/reader.h"
#include "discovery/programs.h"
#include "perfetto/trace.h"
#include "recorded/recorded.h"
#include "run/run.h"
#include "run/say.h"

#define THREADS_MAX 16
#define EVENTS_MAX  1000000              /* of a thread */
#define WORK_MAX    UINT64_C(2000000000) /* some seconds */

/* Live: a user waits, and the session goes on beside it. */
#define LIVE_THREADS_MAX  10
#define LIVE_EVENTS_MAX   200000
#define LIVE_WORK_MAX     (WORK_MAX / 4)
#define LIVE_BYTES_MAX    (UINT64_C(256) << 20) /* of the timeline */
#define LIVE_ROWS         3                     /* of a thread */
#define LIVE_PROGRAM_ROWS 10                    /* of programs */

static struct discovery_config search_config(const struct options *options)
{
	size_t executions = options->executions > 0 && options->executions < DISCOVERY_EXECUTIONS
				    ? DISCOVERY_EXECUTIONS
				    : options->executions;

	return (struct discovery_config){
		.who = options->thread,
		.start = options->start,
		.support = options->support,
		.support_min = options->support_min,
		.executions_max = executions,
		.threads_max = THREADS_MAX,
		.events_max = options->events_max > 0 ? options->events_max : EVENTS_MAX,
		.work_max = WORK_MAX,
	};
}

int found_search(const struct options *options, const struct reader_setup *setup,
		 const struct timeline *timeline, struct discovery *ret, struct err *err)
{
	const struct discovery_config config = search_config(options);

	return discovery_find(setup, timeline, &config, ret, err);
}

/* ---- programs ---- */

bool found_is_of_programs(const struct recorded_path *path)
{
	const struct reader_setup setup = { .path = path };
	struct err err;
	struct reader *reader = reader_open(&setup, NULL, 0, &err);
	bool is = reader && !trace_is_kernel(reader_plan(reader));

	reader_close(reader);
	return is;
}

int found_programs(const struct options *options, const struct recorded_path *path,
		   const struct output *output)
{
	struct discovery_config config = search_config(options);
	const struct reader_setup setup = { .path = path };
	struct programs programs;
	struct err err;
	int r;

	if (!found_is_of_programs(path) || strcmp(options->format, "html") == 0) {
		return EXIT_USAGE;
	}
	r = run_range(options, path, &config.begin, &config.end, &err);
	r = r < 0 ? r : programs_find(&setup, &config, &programs, &err);
	if (r < 0) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	if (strcmp(options->format, "json") == 0) {
		programs_json(&programs, path->name, output->top, output->out);
	} else {
		programs_text(&programs, path->name, output->top, output->out);
	}
	programs_fini(&programs);
	return EXIT_DONE;
}

struct report_found *found_rows(const struct discovery *discovery, size_t top, size_t *ret_count)
{
	struct report_found *rows = mem_alloc((discovery->at.count + 1) * sizeof(*rows));
	size_t of_thread = 0;

	*ret_count = 0;
	for (size_t i = 0; i < discovery->at.count; i++) {
		const struct discovered *one = &discovery->at.at[i];

		of_thread = i > 0 && one->thread == one[-1].thread ? of_thread + 1 : 1;
		if (top > 0 && of_thread > top) {
			continue;
		}
		assert(*ret_count < discovery->at.count);
		rows[(*ret_count)++] = (struct report_found){ .thread = one->thread,
							      .job = one->job,
							      .count = one->count,
							      .period_ns = one->period_ns,
							      .jitter_ns = one->jitter_ns,
							      .mean_ns = one->mean_ns,
							      .coverage = one->coverage };
	}
	return rows;
}

/* ---- live ---- */

/* False: it is a kernel's. */
static bool add_programs(const struct reader_setup *setup, const struct discovery_config *config,
			 FILE *out)
{
	struct programs programs;
	struct err err;

	if (!found_is_of_programs(setup->path)) {
		return false;
	}
	if (programs_find(setup, config, &programs, &err) < 0) {
		(void)fprintf(out, "%s\n", err.text);
		return true;
	}
	programs_text(&programs, setup->path->name, LIVE_PROGRAM_ROWS, out);
	programs_fini(&programs);
	return true;
}

/* False: the trace shows nothing of threads. */
static bool add_trace(const struct recorded_path *path, const atomic_bool *stop, FILE *out)
{
	const struct discovery_config config = { .threads_max = LIVE_THREADS_MAX,
						 .events_max = LIVE_EVENTS_MAX,
						 .work_max = LIVE_WORK_MAX,
						 .stop = stop };
	const struct reader_setup setup = { .path = path };
	struct discovery discovery = { 0 };
	struct timeline *timeline;
	char length[UNITS_TEXT_MAX];
	struct err err;

	timeline = timeline_build_within(&setup, 0, UINT64_MAX, LIVE_BYTES_MAX, &err);
	if (!timeline || timeline->lacks >> LACKS_SWITCHES & 1 || timeline->threads.count == 0) {
		timeline_free(timeline);
		return add_programs(&setup, &config, out);
	}
	if (discovery_find(&setup, timeline, &config, &discovery, &err) < 0) {
		(void)fprintf(out, "%s\n", err.text);
	} else {
		(void)fprintf(out, "The last %s:\n\n",
			      units_ns(length, timeline->end - timeline->begin));
		discovery_text(&discovery, timeline, LIVE_ROWS, out);
	}
	discovery_fini(&discovery);
	timeline_free(timeline);
	return true;
}

char *found_in_capture(const char *path, const atomic_bool *stop)
{
	struct recorded_paths paths = { 0 };
	bool has_any = false;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct err err;

	if (recorded_find(path, &paths, &err) < 0) {
		(void)fprintf(out, "%s\n", err.text);
		has_any = true;
	}
	for (size_t i = 0; i < paths.at.count && !atomic_load(stop); i++) {
		has_any |= add_trace(&paths.at.at[i], stop, out);
	}
	if (!has_any) {
		(void)fputs("Jobs are found by what threads do: these packets have no "
			    "sched_switch.\n",
			    out);
	}
	(void)fclose(out);
	recorded_paths_fini(&paths);
	return text;
}
