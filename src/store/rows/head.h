/*
 * head: what a window says of itself beside its figures.
 */
#pragma once

#include <stdbool.h>

#include "engine/tables/report.h"

/* What a window says of itself beside its figures; texts. */
struct store_head {
	char *lists;   /* "count,cpu": what was analysed */
	char *missing; /* "cpu:sched_switch", a line each: what is not recorded */
	char *unknown; /* "cpu.cpu_threads:run_ns,prio ": columns that are not known, by table */
};

void store_head_of(const struct report *report, struct store_head *ret);
void store_head_fini(struct store_head *head);

/* Of such a text: the columns of table @t that are unknown, bit by bit.  In stores of sillage 0.1.0
 * it is "cpu.2:7 ": tables and columns by number, so new ones come last. */
uint16_t store_head_unknown(const char *unknown, const struct analysis *analysis, size_t t);

/* Whether "count,cpu" names the analysis. */
bool store_head_names(const char *lists, const char *name);
/* What @before has of analyses that are not in "count,cpu"; the caller ends it. */
void store_head_others(const struct store_head *before, const char *lists, struct store_head *ret);
/* Adds what @more has, of other analyses. */
void store_head_join(struct store_head *to, const struct store_head *more);
