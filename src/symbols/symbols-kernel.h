/*
 * symbols-kernel: the functions of the kernel that a trace is of: those of a list that the user
 * gave, else of this host, if it still runs the very boot that was traced.  Another boot has its
 * functions elsewhere.
 */
#pragma once

#include "ctf/metadata/type.h"
#include "symbols/functions.h"

struct symbols_kernel {
	const struct functions *given; /* borrowed; NULL: none */
	const struct metadata *of;     /* the trace, borrowed; NULL: it is of no kernel */
	bool has_looked;
	struct functions here;
	char *fault; /* why there are no names; NULL: there are */
};

/* The function that has the address; NULL: unknown, or there are no names. */
const char *symbols_kernel_find(struct symbols_kernel *kernel, uint64_t address);
/* Whether this host is not known to run the very boot of which the trace is. */
bool symbols_kernel_is_other(const struct metadata *trace);
void symbols_kernel_fini(struct symbols_kernel *kernel);
