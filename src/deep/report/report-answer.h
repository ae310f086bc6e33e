/*
 * report-answer: which thread a report explains if nobody named one, and its first sentence.
 *
 * The thread that was wronged most: the most urgent real-time thread that less urgent ones delayed,
 * or that lost its CPU (doc/definitions.md, 7.7); if there is none, the one with the longest wait
 * for a CPU or a lock that others caused.
 */
#pragma once

#include "deep/report/report.h"

/* Index of the thread; NOBODY: the report has none. */
uint32_t report_most_wronged(const struct deep_report *report);

/* What happened, in a sentence or two, which the caller frees; NULL: no thread is explained. */
char *report_answer(const struct deep_report *report);
/* The same as lines, before all figures. */
void report_answer_text(const struct deep_report *report, FILE *out);
