/*
 * report-resources: the timers, futexes and message queues of a report, as text and JSON.
 */
#pragma once

#include "deep/report/report-print.h"

/* The report has resources. */
void report_resources_text(const struct deep_report *report, size_t most, FILE *out);
/* The object "resources" (doc/json.md).  Of a page: without intervals and threads, names in place
 * of addresses, the first pairs, and what the page says besides the figures. */
void report_resources_json(struct printer *p);
