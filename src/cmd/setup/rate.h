/*
 * rate: --rate of setup: how much one CPU records in the time of --away, and buffers for it.
 */
#pragma once

#include "base/err.h"
#include "options/options.h"
#include "setup/commands.h"

/* What came, or may come, on one CPU in that time; 0: that is not known. */
struct rate {
	uint64_t kernel_bytes, user_bytes;
	bool is_measured;
};

/* --rate is a number of events in a second on one CPU, or a trace: then it is the most that a CPU
 * has in any such time.  -EINVAL: neither; -ENODATA: its packets have no times; else as
 * recorded_find() and recorded_open() fail. */
int rate_find(const struct options *options, struct rate *ret, struct err *err);
/* Sets the sizes of @config; those of a domain of which nothing is known stay.  -EINVAL: no buffers
 * are large enough. */
int rate_sizes(const struct options *options, const struct rate *rate,
	       struct commands_config *config, struct err *err);
/* Comments: how much memory that is, and what it holds. */
void rate_print(const struct options *options, const struct rate *rate,
		const struct commands_config *config, bool has_kernel, bool has_user);
