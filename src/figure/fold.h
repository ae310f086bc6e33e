/*
 * fold: rows of a table by name, for what is compared with other days.
 *
 * Numbers of threads and processes mean nothing on another day.  So rows of one name are one row:
 * sums and levels are added, of maxima the largest counts, distributions are merged.
 */
#pragma once

#include "figure/figure.h"

struct fold;

/* The rows of @from that the figure is about.  It may outlive @from, but not the texts there. */
struct fold *fold_new(const struct figure *figure, const struct report_table *from);
void fold_free(struct fold *fold); /* NULL is fine */

/* The table with a row for each name.  Threads, processes and containers have no number there. */
const struct report_table *fold_table(const struct fold *fold);
/* The name of its row number @at. */
const char *fold_name(const struct fold *fold, size_t at);
/* The thread of the first row of that name; below 0: none. */
int64_t fold_tid(const struct fold *fold, size_t at);
