/*
 * report-answer: the first sentence of a report: what happened to the thread that it explains.
 */
#pragma once

#include "deep/report/report.h"

/* What happened, in a sentence or two, which the caller frees; NULL: no thread is explained. */
char *report_answer(const struct deep_report *report);
/* The same as lines, before all figures. */
void report_answer_text(const struct deep_report *report, FILE *out);
