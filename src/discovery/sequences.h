/*
 * sequences: what each thread does that is searched, as a list of types of event, and which threads
 * these are.
 *
 *     reader ── events ──► by thread: types, times, what calls wait on
 *
 * A thread's sequence has the events that happen on it, by class, and those about it: it is
 * switched in, it goes to sleep, it is woken.  Events of interrupts, timers, memory and statistics
 * are left out; they come with whatever ran at the time.  So is preemption, unless jobs are to
 * begin with it: it comes from others.
 *
 * Real-time and periodic threads come first, half of threads_max at most, then those that ran most.
 */
#pragma once

#include "discovery/discovery.h"
#include "query/job.h"

/* What is about a thread comes first, then the classes of events. */
enum { TYPE_IN, TYPE_SLEEP, TYPE_PREEMPTED, TYPE_WOKEN, TYPES_OWN };

#define SEQUENCE_NO_TYPE UINT32_MAX
#define SEQUENCE_ANY     UINT64_MAX /* no argument, or any */

struct sequence_type {
	char *pattern;    /* of --job */
	const char *arg;  /* of a call: the field that says what it waits on; NULL: none */
	uint32_t partner; /* of a call's entry its exit, and the reverse; SEQUENCE_NO_TYPE: none */
	bool is_entry;    /* of a call */
};

struct sequence {
	uint32_t thread; /* index in the timeline */
	VEC(uint32_t) types;
	VEC(uint64_t) times;
	VEC(uint64_t) args; /* of calls what they wait on; else SEQUENCE_ANY */
};

struct sequences {
	VEC(struct sequence) at; /* in the order in which they are searched */
	VEC(struct sequence_type) types;
	size_t threads; /* of the trace, that ran */
	bool is_cut;    /* a thread has more events than events_max */
};

/* 0, or a negative errno with the reason. */
int sequences_read(const struct reader_setup *setup, const struct timeline *timeline,
		   const struct discovery_config *config, struct sequences *ret, struct err *err);
void sequences_fini(struct sequences *sequences);

/* A definition of a pattern. */
struct sequence_part {
	uint32_t type;
	uint64_t arg; /* SEQUENCE_ANY: any */
};

/* The executions that a pattern has in the sequence, as --job finds them (doc/definitions.md, 6.1):
 * the first event that fits counts. */
void sequence_match(const struct sequence *sequence, const struct sequence_part *parts,
		    size_t count, episode_windows *ret);
