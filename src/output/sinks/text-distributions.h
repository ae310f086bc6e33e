/*
 * text-distributions: the distributions in the rows of a table, a line a bin (--freq).
 *
 *       wake of job (28424)
 *         1.02 us .. 2.05 us         17  ||||||||
 */
#pragma once

#include <stdio.h>

#include "engine/tables/report.h"
#include "output/sink.h"

/* Of the rows that are shown. */
void text_put_distributions(FILE *out, const struct output *output,
			    const struct report_table *table);
