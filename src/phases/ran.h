/*
 * ran: which processes ran how long in each slice.  They describe phases, and cut none.  Of each
 * slice those that ran most are known, RAN_ROWS_MAX of each host, so that memory is bounded
 * whatever the trace.
 */
#pragma once

#include "engine/tables/report.h"
#include "phases/cut/partition.h"

#define RAN_ROWS_MAX 64 /* of a slice */

/* What a process ran in one slice. */
struct ran_slice {
	uint32_t slice;
	uint64_t ns;
};

struct ran_process {
	char *name;       /* "comm (pid)" */
	const char *host; /* NULL: there is one */
	double ns;        /* run time within the part in question */
};

struct ran;

struct ran *ran_new(void);
void ran_free(struct ran *ran); /* NULL is fine */

/* Adds the processes of a window, which is one slice.  @host: the number and, if there are several,
 * the name of their host, which lives as long as @ran. */
void ran_report(struct ran *ran, size_t number, const char *host, size_t slice,
		const struct report *report);

/* The processes that ran most in a part, at most @room; returns how many. */
size_t ran_most(const struct ran *ran, const struct part *part, struct ran_process *ret,
		size_t room);
/* All that were seen, by @index; NULL: there are no more.  Its name lives as long as @ran. */
const struct ran_slice *ran_slices(const struct ran *ran, size_t index, const char **ret_name,
				   size_t *ret_count);
