/*
 * phases: the phases of a run while it goes on, from the windows of its analyses.
 *
 *     window ── phases_report() ──► a slice ──► suggested parts of the last ones (rolling.h)
 *                    │                                         │ a cut has stayed
 *                    ▼                                         ▼
 *          figures of analysis_phase                     struct phase_record
 *
 * A window is a slice; its series: running.h.
 *
 * A phase begins where a suggested part of the last slices does (rolling.h).  It is a change when
 * the cut was there after each of PHASES_STAY slices, or is at the end of the run, and the mean of
 * a series has changed by PHASES_CHANGE.  What was reported stays: later changes are behind it.  A
 * cut that moves by PHASES_MOVE slices or less after it was reported is the same change.
 *
 * doc/definitions.md, 8.6.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/units.h"
#include "engine/tables/report.h"
#include "phases/series.h"
#include "phases/suggest.h"

#define PHASES_STAY      5
#define PHASES_MOVE      3
#define PHASES_MEANS_MAX 1024 /* series of a phase */
/* Of a series' largest value; of time, for shares. */
#define PHASES_CHANGE SUGGEST_CHANGE
/* A minute of windows of 1 s: what a run that is killed loses of the end of its last phase. */
#define PHASES_KEEP 60

struct phases;

/* The mean of a series over a phase. */
struct phase_mean {
	const char *series;  /* "CPU 1 busy", "syscalls: calls" */
	bool is_share;       /* of time; else a rate a second ... */
	bool is_level;       /* ... or a level, ... */
	enum unit unit;      /* ... of this */
	bool is_counterpart; /* says the opposite of another series: idle */
	double mean;
};

/* A phase that has begun, or one that is over.  All of it is borrowed. */
struct phase_record {
	uint64_t number;     /* from 1 on */
	uint64_t begin, end; /* ns; of an open one: as far as it is known */
	uint64_t slices;
	bool is_open;
	size_t mean_count;
	const struct phase_mean *means;
	/* What changed most when it began, and the means before and after; NULL: it is the first.
	 */
	const struct phase_mean *change;
	double before;
};

/* @goes_on: a state is kept, so that other windows may follow the total.  @has_calls: calls were
 * asked for, and are series, too. */
struct phases *phases_new(bool goes_on, bool has_calls);
void phases_free(struct phases *phases); /* NULL is fine */

/* Takes a window, or the total, which ends the run. */
void phases_report(struct phases *phases, const struct report *report);
/*
 * What the last report said: for each change that became known, the phase that is over and the one
 * that has begun; of a total, the last phase, which is open.  Valid until the next report.
 */
const struct phase_record *phases_records(const struct phases *phases, size_t *ret_count);

/* The phase that goes on, as it is after the last window: when it has begun, and every PHASES_KEEP
 * windows; NULL: not now, or phases_records() ends with it.  So what keeps phases has one that
 * never ends.  Valid until the next report. */
const struct phase_record *phases_kept(const struct phases *phases);

/* ---- figures, for windows and triggers ---- */

/* One table, of the trace: `change`, `number` and `age_ns`.  It is in no list of analyses: only
 * phases_extend() adds it to reports. */
extern const struct analysis analysis_phase;

/* Changes that became known since phases_rest() count in phases_extend(). */
void phases_rest(struct phases *phases);
/* Makes a report with the table of analysis_phase.  The caller frees the result, which is the list
 * of its tables. */
struct report_table *phases_extend(struct phases *phases, const struct report *report,
				   struct report *ret);

/* ---- checkpoints ---- */

/* Writes the state, or reads it into a new one, which can only be freed if codec->is_wrong. */
void phases_codec(struct phases *phases, struct codec *codec);
/* Reads the state into @phases, which is new.  If @codec has none, or a wrong one, phases begin
 * again.  Returns what replaces @phases. */
struct phases *phases_restore(struct phases *phases, struct codec *codec);
