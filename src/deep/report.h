/*
 * report: what a stretch of trace says of itself: who used the CPUs, who waited for them, and
 * where the time of one thread went.
 */
#ifndef SILLAGE_DEEP_REPORT_H
#define SILLAGE_DEEP_REPORT_H

#include <stdio.h>

#include "deep/jobs.h"
#include "deep/links.h"
#include "deep/path.h"
#include "deep/timeline.h"

/* A thread's time in the range. */
struct report_thread {
	uint32_t thread;
	uint64_t run_ns, ns[STATES];
};

/* A thread waited for a CPU: woken, made to leave, or new. */
struct report_wait {
	uint32_t thread;
	uint64_t begin, end;
	uint8_t state;
	uint16_t cpu;
	uint32_t waker; /* of a woken one; NOBODY: no thread, or not known */
	uint8_t cause;
};

/* How much of the time a thread ran before something changed, and from then on; shares of 1. */
struct report_change {
	uint32_t thread;
	double before, after;
};

struct deep_report {
	const char *name; /* of the trace */
	const char *why;  /* names of a capture's triggers, NULL: none */
	struct timeline *timeline;
	struct timeline
		*before; /* of as long before it, built from the same trace; NULL: not asked for */
	VEC(struct report_thread) threads; /* that were there, most running time first */
	VEC(struct report_wait) waits;     /* longest first, at most `most` */
	uint64_t changed_at; /* ns: when a capture's trigger began to hold, or the range; 0: neither
			      */
	VEC(struct report_change) changes; /* most first, at most `most` */
	uint32_t thread;                   /* the one that is explained, NOBODY: none is */
	struct path path;
	struct path_parts parts;
	struct rivals rivals;
	struct links links;
	const struct jobs *jobs; /* NULL: not asked for */
};

/*
 * Fills all but name, why, changed_at and timeline.  @who: a tid, or a name; of several threads the
 * one that ran longest; NULL: the one that ran longest of all.  False: there is none.
 */
bool deep_report_fill(struct deep_report *report, const char *who, size_t most);
void deep_report_fini(struct deep_report *report); /* its timelines, too */

/* At most @most rows of each list, 0: all. */
void deep_report_text(const struct deep_report *report, size_t most, FILE *out);
/* One object in a line (doc/json.md). */
void deep_report_json(const struct deep_report *report, size_t most, FILE *out);
/* A page that needs nothing else. */
void deep_report_html(const struct deep_report *report, size_t most, FILE *out);

/* ---- for those ---- */

static inline size_t deep_report_rows(size_t count, size_t most)
{
	return most > 0 && count > most ? most : count;
}

/* How long the CPU was busy in the range, and not known. */
uint64_t deep_report_busy(const struct timeline *timeline, const struct deep_cpu *cpu,
			  uint64_t *ret_unknown);
/* Who ran longest on the CPU meanwhile; NOBODY: nobody did. */
uint32_t deep_report_rival(const struct deep_report *report, const struct report_wait *wait);

#endif
