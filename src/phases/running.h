/*
 * running: the series of a run that goes on, of its newest slices, and their parts.
 *
 *     window ── running_report() ──► series.h: a value each ──► rolling.h ──► parts
 *                      └──► groups.h: processes and containers ──┘
 *
 * A window is a slice.  Series are those of an overview: states; in a trace without CPU time, the
 * figures of the analyses, too.  The largest value of a run that goes on is not known, so rates are
 * divided by the largest one so far.  What processes and containers do is known of the slices that
 * are held, and again with each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/units.h"
#include "engine/tables/report.h"
#include "phases/rolling.h"

struct running;

struct running_series {
	char *name;
	bool is_share, is_level, is_counterpart; /* as in series.h */
	enum unit unit;
	double scale; /* what its values are divided by; 0: none came */
	double sum;   /* over the phase that goes on, of divided values */
	double value; /* in the window that is being taken */
	bool holds;   /* a window that lacks it has the value before; one that is new has no past */
};

/* @has_calls: as in series_each(). */
struct running *running_new(bool has_calls);
void running_free(struct running *running); /* NULL is fine */

/* Takes a window, and finds the parts. */
void running_report(struct running *running, const struct report *report, bool has_cpus);
/* After the last window: no slice follows. */
void running_end(struct running *running);
/* The slices held, and their parts. */
const struct rolling *running_slices(const struct running *running);

/* A phase begins at a slice that is held. */
void running_begin(struct running *running, uint64_t slice);
uint64_t running_first(const struct running *running); /* slice of the phase that goes on */

/* ---- series: those of all slices, then those of what is held ---- */

size_t running_count(const struct running *running);
const struct running_series *running_series(const struct running *running, size_t series);
/* The mean of divided values over slices that are held. */
double running_mean(const struct running *running, size_t series, const struct rolling_part *part);
/* The same from the begin of the phase to before a slice; of some series only as far as held. */
double running_mean_until(const struct running *running, size_t series, uint64_t slice);

/* Writes the state, or reads it into a new one. */
void running_codec(struct running *running, struct codec *codec);
