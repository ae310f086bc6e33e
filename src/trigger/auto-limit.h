/*
 * auto-limit: a limit that a figure finds by itself: auto(q) and auto(q, drift D) of triggers.
 *
 * After Siffer, Fouque, Termier, Largouet: Anomaly Detection in Streams with Extreme Value Theory
 * (KDD 2017).  Whatever law the values follow, what exceeds a high level t follows a generalised
 * Pareto law, whose parameters are fitted.  It says which limit a share q of all values exceeds.
 *
 *     values 1 .. 100    warm-up: t is their 98 % quantile, and there is no limit
 *     value <= t         counts
 *     t < value <= limit counts, and its excess over t changes the limit
 *     value > limit      is beyond: the limit changes as if the value had been at the limit, once
 *                        for values that are beyond one after the other
 *
 * The paper leaves out the last.  Then the sample lacks what lies beyond its own limit, and each
 * fit puts the limit lower than the one before; the more so as the last 200 excesses are kept only.
 *
 * With drift the value is compared with the mean of the last D values that were not beyond; the
 * first D values only make the mean.  A limit for values below (FIGURE < auto(q)) is that of the
 * negative values.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"

struct auto_limit;

/* What a limit is made for. */
struct auto_setup {
	double q;       /* the share of values that may be beyond, above 0, at most AUTO_Q_MAX */
	uint64_t drift; /* values that make the mean; 0: no mean */
	bool is_lower;  /* values below the limit are beyond */
};

struct auto_limit *auto_limit_new(const struct auto_setup *setup);
void auto_limit_free(struct auto_limit *limit); /* NULL is fine */

/* Takes the next value.  True: it is beyond *ret_limit, the limit before it.  During the warm-up
 * *ret_limit is not changed.  A value that is not finite is none. */
bool auto_limit_take(struct auto_limit *limit, double value, double *ret_limit);

/* Values that are missing until there is a limit; 0: there is one. */
uint64_t auto_limit_warms_up(const struct auto_limit *limit);

/* Writes what it has learnt, or reads it into a new one of the same setup. */
void auto_limit_codec(struct auto_limit *limit, struct codec *codec);
