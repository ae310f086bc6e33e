/*
 * merger-fixture: a merger with a host that keeps its reports, and partials made by hand.
 *
 * One analysis writes what the merger calls it with into a log, a line a call:
 *
 *     in TID TS        out TID TS        run TID NS        fork TID TS
 *     gap TID          initial TID NAME  rec TID TS N      ordered TID TS N
 *     current TID TS   count TID N
 *
 * The tid of an unknown thread is -1.  Windows are 1000 ns long.
 */
#pragma once

#include <check.h>

#include "base/mem.h"
#include "engine/merger/merger-state.h"

#define WINDOW_NS 1000u

struct fixture_report {
	enum report_kind kind;
	uint64_t begin, end, events, late_events;
	bool complete;
};

struct fixture {
	struct setup setup;
	struct merger *merger;
	unsigned int tasks_max; /* at most so many jobs of one round */
	VEC(struct job *) jobs; /* submitted and not run */
	unsigned int jobs_run;
	VEC(struct fixture_report) reports;
	/* What the analysis was told of. */
	uint64_t cpu_ns[RUN_KINDS], slices, tallied, late, sum;
};

/* Members that are set beforehand stay: tasks_max, setup.range_begin, range_end. */
void fixture_init(struct fixture *fixture);
void fixture_fini(struct fixture *fixture);

/* The log since it was last asked for; it dies at the next call. */
const char *fixture_log(void);
#define expect_log(text) ck_assert_str_eq(fixture_log(), text)

/* A stream of @cpu_id (UINT64_MAX: none) that is known. */
struct merger_stream *fixture_stream(struct fixture *fixture, uint64_t class_id, uint64_t cpu_id,
				     bool has_switches);

/* Runs the jobs, the last one first. */
void fixture_run_jobs(struct fixture *fixture);

/* The last report. */
const struct fixture_report *fixture_last(const struct fixture *fixture);

/* ---- partials ---- */

/* Records of the analysis. */
enum {
	RECORD_SAY = RECORD_OWN, /* "rec", with arg64 as N */
	RECORD_ORDER,            /* notes an ordered event, with arg64 as N */
	RECORD_CURRENT,          /* "current": the thread that runs */
	RECORD_COUNT,            /* "count": records that the thread has had */
	RECORD_ADD,              /* adds arg64 to fixture.sum */
};

struct maker {
	struct partial *partial, *draft;
};

/* A chunk from @begin to @end. */
struct maker maker_start(uint64_t begin, uint64_t end);
/* A record of @key, in the newest group of that key in the slice.  Dies at the next call. */
struct record *maker_add(struct maker *maker, int64_t key, uint64_t ts, unsigned int kind,
			 uint64_t arg64);
/* The next record of @key has a group of its own. */
void maker_new_group(struct maker *maker, int64_t key);
/* A thread is on a CPU for @ns, and leaves. */
void maker_run(struct maker *maker, int64_t key, uint64_t ts, uint64_t ns);
/* A record of the analysis' own that asks which thread runs. */
void maker_current(struct maker *maker, uint64_t ts);
/* What was added, and @events events, lie in this window. */
void maker_slice(struct maker *maker, int64_t window, uint64_t events);
/* The first evidence: @tid left its CPU at @ts, or a gap began. */
void maker_initial(struct maker *maker, uint64_t ts, int32_t tid, const char *name);
void maker_initial_gap(struct maker *maker, uint64_t ts);
/* The last evidence: from @ts on @tid runs (0: nothing, below 0: unknown). */
void maker_tail(struct maker *maker, uint64_t ts, int32_t tid);
struct partial *maker_done(struct maker *maker);

/* Takes the partial as the next one of its stream. */
void maker_take(struct maker *maker, struct merger_stream *stream);

/* A partial with @events events and nothing else, in window begin / WINDOW_NS. */
void fixture_take(struct merger_stream *stream, uint64_t begin, uint64_t end, uint64_t events);
