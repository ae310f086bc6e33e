/*
 * text-freq: distributions as lines of text, for the text sink.
 */
#pragma once

#include "output/sink.h"

/* The distributions in the first @rows rows of a table. */
void text_freq_put(FILE *out, const struct output *output, const struct report_table *table,
		   size_t rows);
