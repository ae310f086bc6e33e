/*
 * series: what phases are made of, of a window: figures over time, each by a name.
 *
 *     report ──► CPU states, waiting                    states: always
 *            └─► sums of the analyses a second          figures: if wanted, or without states
 *
 * - The shares of time in which each CPU was busy, idle and unknown (analysis cpu); of a host with
 *   more than SERIES_CPUS_MAX CPUs those of all together.
 * - The time that threads waited for a CPU, once they were woken or preempted (sched; it counts
 *   where the wait ends): where all CPUs are busy, nothing else tells how much is asked of them.  A
 *   tenth of a CPU's time is the least change, or of the largest value.
 *   With waits it counts where it is spent; that of each CPU, which changes as the scheduler
 *   moves threads, is a figure.
 * - Of each period, job and call that was asked for: executions and missed deadlines a second, how
 *   many are open when the window ends, and how long those took that ended in it.
 * - Each sum of the analyses' own figures a second: calls, bytes, events; without CPU time the
 *   events of each name and of each process of user programs.
 *
 * Those of processes and containers are made once all is known of them (groups.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "engine/tables/report.h"

#define SERIES_CPUS_MAX 64 /* with a series each */
#define SERIES_ALL_CPUS UINT64_MAX
#define SERIES_ROWS_MAX 64 /* of a table: those that did most */

struct series_value {
	const char *name;   /* "CPU 1 busy", "waiting", "syscalls: calls" */
	const char *figure; /* "busy", or a column's title */
	uint64_t cpu;       /* SERIES_ALL_CPUS: of no single one */
	size_t cpus;        /* a share: of so many CPUs */
	bool is_state;      /* of CPUs and threads, or asked for; else a figure */
	bool is_share;      /* of time, from 0 to 1; else a rate a second ... */
	enum unit unit;     /* ... of this */
	bool is_level; /* no rate: a number; a mean duration, which stays if a window lacks it */
	bool is_counterpart; /* says the opposite of another series: idle */
	double least_scale;  /* what the series is divided by, or by more: 0.1 of it is a change */
	double value;
};

/* Calls @on_value for each series of a window that is @seconds long; a name stays until it
 * returns.  They come in the same order for all windows.  @has_calls: calls were asked for; of
 * those that are found by their names, each lone X_begin would be one that is open for ever. */
void series_each(const struct report *report, double seconds, bool has_calls,
		 void (*on_value)(void *user, const struct series_value *value), void *user);

/* "1,234/s", "2.80 s/s", "1.2 MiB/s"; of a level "1.5", "2.80 s". */
const char *series_text(char text[UNITS_TEXT_MAX], bool is_level, enum unit unit, double value);
/* In JSON: "share", "1/s", "B/s", "ns/s"; of a level "1", "B", "ns". */
const char *series_unit(bool is_share, bool is_level, enum unit unit);
