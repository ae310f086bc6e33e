/*
 * report-differences: differences of counters in a report, for report-jobs.c and
 * report-json.c.
 */
#pragma once

#include <stdio.h>

#include "deep/executions/executions.h"
#include "deep/report/report-print.h"

/* What they counted in an execution: "  bytes +4096". */
void report_put_differences(const struct executions *jobs, const struct execution *one, FILE *out);
/* A table of all, by field. */
void report_put_all_differences(const struct executions *jobs, FILE *out);
/* The same as JSON: what is known of one, and all. */
void report_json_differences(struct printer *p, const struct execution *one);
void report_json_all_differences(struct printer *p);
