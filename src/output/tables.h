/*
 * tables: outputs in the form of csv: a file of one table, or a directory with a file for each.
 *
 * Sinks and commands write JSON; what they write becomes tables (csv/csv.h), which are written when
 * the output is closed.
 */
#pragma once

#include "output/sink.h"

/* The directory, or -errno with the reason; -ENOENT: a file is wanted, which is to be opened. */
int tables_open(struct output *output, struct err *err);
/* Bytes of JSON.  False: a failure that tables_close() reports. */
bool tables_take(struct output *output, const char *bytes, size_t len);
/* Writes all of them. */
int tables_close(struct output *output, struct err *err);
