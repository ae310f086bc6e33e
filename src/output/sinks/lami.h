/*
 * lami: the LAMI sink: LAMI 1.0, the machine interface of lttng-analyses, whose tables Trace
 * Compass shows and plots.
 *
 * Each list of each analysis is a table class.  A row begins with what it is about, in LAMI's
 * classes (process, cpu, irq, syscall, disk, netif); its figures follow.  The format is what the
 * programs of lttng-analyses 0.6.1 print; the test `lami` compares with them.  Only totals are
 * printed.
 *
 * output.state points to a struct json, which the sink writes with.
 */
#pragma once

#include "output/sink.h"

extern const struct sink sink_lami;

/* Describes the table classes of @list (lami --metadata). */
void lami_describe(FILE *out, const struct analysis *const *list);
