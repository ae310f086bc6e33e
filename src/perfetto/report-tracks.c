/*
 * report-tracks: see report-tracks.h.
 */
#include "perfetto/report-tracks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "deep/report/report.h"
#include "perfetto/tracks.h"

#define NAME_MAX_BYTES 96 /* of a thread, with its tid */

struct tracks_of {
	struct perfetto *writer;
	const struct deep_report *report;
	const struct timeline *timeline;
	bool *is_shown; /* by thread: its states are wanted */
};

static void name_thread(const struct tracks_of *tracks, uint32_t thread, char *text, size_t size)
{
	const struct deep_thread *of;

	assert(size > 0);
	if (thread == NOBODY) {
		(void)snprintf(text, size, "nobody");
		return;
	}
	of = tracks->timeline->threads.at[thread];
	(void)snprintf(text, size, "%s (%d)", of->comm[0] ? of->comm : "?", (int)of->tid);
}

/* ---- slices that may overlap: each goes to the first track that is free ---- */

struct track_span {
	uint64_t begin, end;
	char *name;
};

struct track_spans {
	VEC(struct track_span) at;
};

ORDER(by_begin, struct track_span, UP(begin) DOWN(end) UP_TEXT(name))

struct lane {
	uint64_t track, until;
};

static struct lane *free_lane(struct lane *lanes, size_t count, uint64_t begin)
{
	for (size_t i = 0; i < count; i++) {
		if (lanes[i].until <= begin) {
			return &lanes[i];
		}
	}
	return NULL;
}

/* Draws the slices on tracks of this name, and forgets them. */
static void draw(const struct tracks_of *tracks, struct track_spans *spans, uint64_t parent,
		 const char *name)
{
	VEC(struct lane) lanes = { 0 };

	vec_sort(&spans->at, by_begin);
	VEC_EACH(&spans->at, span) {
		struct lane *lane = free_lane(lanes.at, lanes.count, span->begin);

		if (!lane) {
			lane = vec_push(&lanes);
			*lane = (struct lane){ .track = tracks_add(tracks->writer, parent, name) };
		}
		assert(lane->until <= span->begin && span->begin <= span->end);
		lane->until = span->end;
		tracks_begin(tracks->writer, lane->track, span->begin, span->name,
			     (struct tracks_flow){ 0 });
		tracks_end(tracks->writer, lane->track, span->end);
		free(span->name);
	}
	vec_fini(&lanes);
	vec_fini(&spans->at);
}

static void add_span(struct track_spans *spans, uint64_t begin, uint64_t end, char *name)
{
	*vec_push(&spans->at) = (struct track_span){ .begin = begin, .end = end, .name = name };
}

/* ---- the critical path ---- */

static void name_segment(const struct path_segment *segment, char *text, size_t size)
{
	const char *state = segment->state == STATE_USER
				    ? "running"
				    : timeline_state_name((enum state)segment->state);

	if (segment->state == STATE_BLOCKED) {
		(void)snprintf(text, size, "%s: %s", state,
			       timeline_cause_name((enum cause)segment->cause));
	} else {
		(void)snprintf(text, size, "%s", state);
	}
}

/* Which thread the path is on: a slice for each stretch of one thread. */
static void draw_stretches(const struct tracks_of *tracks, uint64_t track)
{
	const struct path *path = &tracks->report->path;
	char name[NAME_MAX_BYTES];

	for (size_t i = 0, next; i < path->segments.count; i = next) {
		const struct path_segment *first = &path->segments.at[i];

		for (next = i + 1;
		     next < path->segments.count && path->segments.at[next].thread == first->thread;
		     next++) {
		}
		name_thread(tracks, first->thread, name, sizeof(name));
		tracks_begin(tracks->writer, track, first->begin, name, (struct tracks_flow){ 0 });
		tracks_end(tracks->writer, track, path->segments.at[next - 1].end);
	}
}

static void draw_path(const struct tracks_of *tracks)
{
	const struct path *path = &tracks->report->path;
	uint64_t *of_thread = mem_alloc((tracks->timeline->threads.count + 1) * sizeof(uint64_t));
	struct tracks_flow flow = { 0 };
	char name[NAME_MAX_BYTES], *title;
	uint64_t parent;

	name_thread(tracks, tracks->report->thread, name, sizeof(name));
	title = mem_printf("critical path of %s", name);
	parent = tracks_add(tracks->writer, 0, title);
	draw_stretches(tracks, parent);
	for (size_t i = 0; i < path->segments.count; i++) {
		const struct path_segment *segment = &path->segments.at[i];
		bool leaves = i + 1 < path->segments.count &&
			      path->segments.at[i + 1].thread != segment->thread;

		if (of_thread[segment->thread] == 0) {
			name_thread(tracks, segment->thread, name, sizeof(name));
			of_thread[segment->thread] = tracks_add(tracks->writer, parent, name);
		}
		flow.out = leaves ? writer_number(tracks->writer) : 0;
		name_segment(segment, name, sizeof(name));
		tracks_begin(tracks->writer, of_thread[segment->thread], segment->begin, name,
			     flow);
		tracks_end(tracks->writer, of_thread[segment->thread], segment->end);
		flow.in = flow.out;
		tracks->is_shown[segment->thread] = true;
	}
	free(of_thread);
	free(title);
}

/* ---- states ---- */

static void name_state(const struct tracks_of *tracks, const struct interval *interval, char *text,
		       size_t size)
{
	const char *state = timeline_state_name((enum state)interval->state);
	char who[NAME_MAX_BYTES];

	if (interval->state == STATE_BLOCKED && interval->who != NOBODY) {
		name_thread(tracks, interval->who, who, sizeof(who));
		(void)snprintf(text, size, "%s, woken by %s", state, who);
	} else if (interval->state == STATE_BLOCKED) {
		(void)snprintf(text, size, "%s: %s", state,
			       timeline_cause_name((enum cause)interval->cause));
	} else {
		(void)snprintf(text, size, "%s", state);
	}
}

static void draw_states(const struct tracks_of *tracks, uint64_t parent, uint32_t thread)
{
	const struct deep_thread *of = tracks->timeline->threads.at[thread];
	char name[2 * NAME_MAX_BYTES];
	uint64_t track;

	assert(tracks->is_shown[thread]);
	name_thread(tracks, thread, name, sizeof(name));
	track = tracks_add(tracks->writer, parent, name);
	for (size_t i = 0; i < of->intervals.count; i++) {
		uint64_t begin = of->intervals.at[i].begin, end = timeline_thread_until(of, i);

		begin = begin < tracks->timeline->begin ? tracks->timeline->begin : begin;
		end = end > tracks->timeline->end ? tracks->timeline->end : end;
		if (begin >= end || of->intervals.at[i].state == STATE_DEAD) {
			continue;
		}
		name_state(tracks, &of->intervals.at[i], name, sizeof(name));
		tracks_begin(tracks->writer, track, begin, name, (struct tracks_flow){ 0 });
		tracks_end(tracks->writer, track, end);
	}
}

static void draw_all_states(const struct tracks_of *tracks)
{
	uint64_t parent = tracks_add(tracks->writer, 0, "states");

	for (uint32_t i = 0; i < tracks->timeline->threads.count; i++) {
		if (tracks->is_shown[i]) {
			draw_states(tracks, parent, i);
		}
	}
}

/* ---- jobs and inversions ---- */

static void add_execution(const struct tracks_of *tracks, struct track_spans *by_thread,
			  const struct execution *one)
{
	uint32_t thread = one->thread != NOBODY ? one->thread : one->last;
	char length[UNITS_TEXT_MAX], last[NAME_MAX_BYTES] = "";

	if (execution_leaves(one)) {
		name_thread(tracks, one->last, last, sizeof(last));
	}
	if (thread == NOBODY) {
		return; /* from one idle CPU to another */
	}
	add_span(&by_thread[thread], one->begin, one->end,
		 mem_printf("%s: %s%s%s%s", one->is_open ? "open execution" : "execution",
			    units_ns(length, one->end - one->begin),
			    one->is_missed ? ", missed its deadline" : "",
			    execution_leaves(one) ? ", to " : "", last));
	tracks->is_shown[thread] = true;
	if (execution_leaves(one)) {
		tracks->is_shown[one->last] = true;
	}
}

/* Draws what the threads have, a track each, and frees @by_thread. */
static void draw_by_thread(const struct tracks_of *tracks, struct track_spans *by_thread,
			   const char *title)
{
	uint64_t parent = 0;
	char name[NAME_MAX_BYTES];

	for (uint32_t i = 0; i < tracks->timeline->threads.count; i++) {
		if (by_thread[i].at.count > 0) {
			parent = parent ? parent : tracks_add(tracks->writer, 0, title);
			name_thread(tracks, i, name, sizeof(name));
			draw(tracks, &by_thread[i], parent, name);
		}
	}
	free(by_thread);
}

static struct track_spans *new_spans(const struct tracks_of *tracks)
{
	return mem_alloc((tracks->timeline->threads.count + 1) * sizeof(struct track_spans));
}

static void draw_jobs(const struct tracks_of *tracks)
{
	const struct executions *jobs = tracks->report->jobs;
	struct track_spans *by_thread = new_spans(tracks);

	for (size_t i = 0; jobs && i < jobs->all.count; i++) {
		add_execution(tracks, by_thread, &jobs->all.at[i]);
	}
	for (size_t i = 0; jobs && i < jobs->open.count; i++) {
		add_execution(tracks, by_thread, &jobs->open.at[i]);
	}
	draw_by_thread(tracks, by_thread, "executions");
}

/* The level above. */
static void draw_outer(const struct tracks_of *tracks)
{
	const struct executions *jobs = tracks->report->jobs;
	struct track_spans *by_thread = new_spans(tracks);
	char length[UNITS_TEXT_MAX];

	for (size_t i = 0; jobs && i < jobs->outer.count; i++) {
		const struct executions_outer *one = &jobs->outer.at[i];
		uint32_t thread = one->thread != NOBODY ? one->thread : one->last;

		if (thread != NOBODY) {
			add_span(&by_thread[thread], one->begin, one->end,
				 mem_printf("%s, %llu inside",
					    units_ns(length, one->end - one->begin),
					    (unsigned long long)one->count));
			tracks->is_shown[thread] = true;
		}
	}
	draw_by_thread(tracks, by_thread, "around executions");
}

static void add_finding(const struct tracks_of *tracks, struct track_spans *spans,
			const struct finding *finding)
{
	char rival[NAME_MAX_BYTES];

	name_thread(tracks, finding->rival, rival, sizeof(rival));
	add_span(spans, finding->begin, finding->end,
		 mem_printf("%s inversion: %s runs", path_inversion_name(finding->kind), rival));
}

static void draw_inversions(const struct tracks_of *tracks)
{
	const struct deep_report *report = tracks->report;
	struct track_spans *by_thread = new_spans(tracks);

	VEC_EACH(&report->victims, victim) {
		for (size_t k = 0; k < victim->findings.count; k++) {
			add_finding(tracks, &by_thread[victim->thread], &victim->findings.at[k]);
		}
	}
	/* Victims are real-time threads; the explained one may be another. */
	if (report->thread != NOBODY && by_thread[report->thread].at.count == 0) {
		for (size_t i = 0; i < report->rivals.findings.count; i++) {
			add_finding(tracks, &by_thread[report->thread],
				    &report->rivals.findings.at[i]);
		}
	}
	draw_by_thread(tracks, by_thread, "inversions");
}

/* ---- all ---- */

static void draw_about(const struct tracks_of *tracks)
{
	const struct deep_report *report = tracks->report;
	uint64_t track = tracks_add(tracks->writer, 0, "about this report");
	char *text = mem_printf("%s%s%s", report->name, report->range_count > 0 ? ": " : "",
				report->range_count > 0 ? report->ranges[report->range].why : "");

	tracks_begin(tracks->writer, track, tracks->timeline->begin, text,
		     (struct tracks_flow){ 0 });
	free(text);
	if (report->why) {
		uint64_t ts = report->changed_at ? report->changed_at : tracks->timeline->begin;

		text = mem_printf("trigger: %s", report->why);
		tracks_instant(tracks->writer, track, ts, text);
		free(text);
	}
	tracks_end(tracks->writer, track, tracks->timeline->end);
}

void report_tracks_add(struct perfetto *writer, const struct deep_report *report)
{
	struct tracks_of tracks = { .writer = writer,
				    .report = report,
				    .timeline = report->timeline };

	tracks.is_shown = mem_alloc(tracks.timeline->threads.count + 1);
	draw_about(&tracks);
	if (report->thread != NOBODY) {
		tracks.is_shown[report->thread] = true;
		draw_path(&tracks);
	}
	draw_outer(&tracks);
	draw_jobs(&tracks);
	draw_inversions(&tracks);
	draw_all_states(&tracks);
	writer_flush(writer);
	free(tracks.is_shown);
}
