/*
 * stored: which traces and windows of a store the options ask for.
 */
#pragma once

#include "options/options.h"
#include "store/reader.h"

/* Whether --host and --session want the trace. */
bool stored_wants(const struct options *options, const struct trace_identity *trace);
/* By trace, whether --host and --session want it; from malloc(). */
bool *stored_wanted(const struct options *options, struct store_reader *reader);
/* Says where windows are longer than asked: of old times a store may have such only
 * (--store-keep). */
void stored_say_longer(struct store_reader *reader, const struct store_windows *windows,
		       uint64_t interval_ns);
/* Says which analyses the windows lack, though others of their trace have them, or the user named
 * them. */
void stored_say_short(struct store_reader *reader, const struct store_windows *windows);
/* Says which windows in [begin, end) were lost, and adds how many to *ret_windows; after
 * store_reader_windows().  Negative: they cannot be read. */
int stored_say_gaps(struct store_reader *reader, uint64_t begin, uint64_t end,
		    uint64_t *ret_windows, struct err *err);
