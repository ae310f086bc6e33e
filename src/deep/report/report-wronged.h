/*
 * report-wronged: which thread was wronged most, and the longest waits that others caused.
 */
#pragma once

#include "deep/report/report.h"

/* A sleep for a lock. */
struct lock_wait {
	uint32_t thread, by; /* by: who did most meanwhile */
	uint64_t begin, end;
};

/* The longest waits of one thread, or of all. */
struct longest_waits {
	struct report_wait cpu; /* another thread had it */
	bool has_cpu;
	struct lock_wait lock;
	uint64_t lock_ns; /* that others took of a wait for a lock; 0: there is none */
};

/* Of @only, or of all threads (NOBODY). */
void report_longest(const struct deep_report *report, uint32_t only, struct longest_waits *longest);

/* 0: there is none. */
static inline uint64_t report_longest_cpu_ns(const struct longest_waits *longest)
{
	return longest->has_cpu ? longest->cpu.end - longest->cpu.begin : 0;
}

/*
 * Index of the most urgent real-time thread that less urgent ones delayed, or that lost its CPU
 * (doc/definitions.md, 7.7); if there is none, of the one with the longest wait for a CPU or a lock
 * that others caused.  NOBODY: the report has no thread.
 */
uint32_t report_most_wronged(const struct deep_report *report);
