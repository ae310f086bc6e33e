/*
 * report-resources: the timers, futexes and message queues of a report, as text and JSON.
 */
#ifndef SILLAGE_DEEP_REPORT_RESOURCES_H
#define SILLAGE_DEEP_REPORT_RESOURCES_H

#include "base/json.h"
#include "deep/report/report.h"

/* The report has resources. */
void report_resources_text(const struct deep_report *report, size_t most, FILE *out);
/* The object "resources" (doc/json.md). */
void report_resources_json(const struct deep_report *report, size_t most, struct json *json);

#endif
