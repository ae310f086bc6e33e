/*
 * programs: requests and loops of programs, found in the events of user space.
 *
 *     events ── of each key, and of each thread, which event follows which ──┬─► requests: "by id"
 *            └─ of each thread, when each event came ──► pace.h ─────────────┴─► loops
 *
 * Two events alternate in a field if each value of the first one is followed by the same value of
 * the second, DISCOVERY_SUPPORT of the time.  Those that alternate with each other are a request,
 * from the first to the last.  A field counts if its values vary.  A loop is an event that comes on
 * its threads in regular distances, up to the last one that alternates with it there.
 *
 * COUNT and MEAN are those that --job finds of what is printed.  What is found depends on the trace
 * and the limits alone.
 */
#pragma once

#include "discovery/discovery.h"

struct program_found {
	char *spec;         /* of --job, or of a lone event of --period */
	char *parts;        /* of --period: all events of a request that has more than two; NULL */
	bool is_period;     /* spec is of --period */
	size_t count;       /* that ended */
	uint64_t mean_ns;   /* of one */
	uint64_t period_ns; /* of a loop; 0: it is a request */
	uint64_t jitter_ns;
	int32_t tid; /* of a loop on one thread; -1: there are several */
	char comm[16];
};

struct programs {
	VEC(struct program_found) at; /* loops first, then requests; by count */
	uint64_t events;              /* that were looked at */
	bool is_cut;                  /* a limit was reached: there may be more */
};

/* Of a trace that is no kernel's.  0, or a negative errno with the reason. */
int programs_find(const struct reader_setup *setup, const struct discovery_config *config,
		  struct programs *ret, struct err *err);
void programs_fini(struct programs *programs);

/* ---- output (programs-output.c) ---- */

void programs_text(const struct programs *programs, const char *path, size_t top, FILE *out);
/* One line. */
void programs_json(const struct programs *programs, const char *path, size_t top, FILE *out);
