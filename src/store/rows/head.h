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
	char *unknown; /* "cpu.1:7 ": columns that are not known, by analysis and table */
};

void store_head_of(const struct report *report, struct store_head *ret);
void store_head_fini(struct store_head *head);

/* Whether "count,cpu" names the analysis. */
bool store_head_names(const char *lists, const char *name);
/* What @before has of analyses that are not in "count,cpu"; the caller ends it. */
void store_head_others(const struct store_head *before, const char *lists, struct store_head *ret);
/* Adds what @more has, of other analyses. */
void store_head_join(struct store_head *to, const struct store_head *more);
