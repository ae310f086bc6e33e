/*
 * report-ranges: what to explain of a trace that is too large to be explained as a whole.
 */
#pragma once

#include "deep/report/report.h"
#include "options/options.h"
#include "recorded/recorded.h"

#define REPORT_RANGES_MAX 5

/* Of options.max_memory, the part that a timeline may have; the rest is for what is made of it. */
uint64_t report_ranges_timeline(const struct options *options);

/* Analyses the trace from @begin to @end once and chooses ranges (phases/ranges.h).  Returns how
 * many, at least one, or a negative error.  The caller frees each `why`. */
int report_ranges_choose(const struct options *options, const struct recorded_path *path,
			 uint64_t begin, uint64_t end, struct report_range ret[REPORT_RANGES_MAX],
			 struct err *err);
