/*
 * requests: the requests of one disk that have not completed, and which event belongs to which of
 * them (doc/definitions.md, 4.7).
 *
 *              requests_insert     requests_issue          requests_complete
 *     (none) ─────────► WAITING ─────────► IN FLIGHT ─────────────────────────► (none)
 *        └─────────────────────────────────► │   ▲ │ part: the rest goes on
 *                             requests_requeue│   │ └─┐
 *                                             ▼   │◄──┘
 *                                           REQUEUED
 *
 * What happens at a place of the disk is known by its direction and first sector.  Several may be
 * the same in that.  A flush, a command, a write of zeroes or an append to a zone has no place: its
 * completion says another sector than its issue, or none.
 *
 * Where events are lost, all of them are cut: whether and when they completed is not known.  They
 * are kept, so that a completion that is seen nevertheless counts.  The same is done with one that
 * is open for REQUEST_OPEN_MAX_NS, which then is forgotten.
 *
 * Invariants (requests_check()): they lie in the order of `since`; `depth` is the number of those
 * in flight that are not cut; `keys` has the key of each, 0 where one is gone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/vec.h"

/* Bits of rwbs as LTTng writes it. */
enum {
	RWBS_WRITE = 1,
	RWBS_DISCARD = 2,
	RWBS_READ = 4,
	RWBS_FLUSH = 256,
	RWBS_PREFLUSH = 1024,
	RWBS_DIRECTION = RWBS_WRITE | RWBS_DISCARD | RWBS_READ,
};

/* In place of a sector: there is none. */
#define SECTOR_NONE UINT64_MAX

enum request_phase { REQUEST_WAITING, REQUEST_IN_FLIGHT, REQUEST_REQUEUED, REQUEST_PHASES };

struct request {
	uint64_t sector;        /* the first that has not completed */
	uint64_t sectors, left; /* at issue, and those of them that have not completed */
	uint64_t since;         /* ns: of its insert while it waits, else of its first issue */
	uint64_t insert_ts;     /* of an issued one; 0: it was not seen */
	uint32_t rwbs;
	int32_t tid; /* the thread that inserted it, else that issued it; 0: not known */
	uint8_t phase;
	bool is_cut, has_failed;
};

/* A completion whose issue was not seen: on another CPU, whose clock is behind, it may follow. */
struct early_end {
	uint64_t ts; /* 0: none */
	uint64_t sector, sectors;
	uint32_t rwbs;
};
#define EARLY_ENDS 4

struct requests {
	VEC(uint64_t) keys;
	VEC(struct request) all;
	size_t first;                        /* the index of the oldest */
	size_t gone, phases[REQUEST_PHASES]; /* how many are gone, and how many in each phase */
	uint64_t depth;
	struct early_end early[EARLY_ENDS]; /* the newest first */
};

void requests_fini(struct requests *open);

/* @request: what the event says; `since` is its time. */
void requests_insert(struct requests *open, const struct request *request);

enum issued {
	ISSUED,
	ISSUED_CUT,   /* and its completion may have come before */
	ISSUED_AGAIN, /* it was issued before */
};
/* @repeats: requeues are not recorded, so an equal one that is in flight is issued again.
 * @ret_queued: whether it was inserted before, and how long ago. */
enum issued requests_issue(struct requests *open, const struct request *request, bool repeats,
			   bool *ret_queued, uint64_t *ret_queued_ns);

/* False: it was not in flight. */
bool requests_requeue(struct requests *open, const struct request *request);

enum completed { COMPLETED, COMPLETED_IN_PART, COMPLETED_ORPHAN, COMPLETED_NOTHING };
/* @part: what the event says, with has_failed.  @ret_done: COMPLETED: the request. */
enum completed requests_complete(struct requests *open, const struct request *part,
				 struct request *ret_done);

/* Cuts all; returns how many were not cut before. */
uint64_t requests_cut(struct requests *open);
/* Whether the oldest is open for too long at @ts, or one of too many; since when. */
bool requests_oldest_is_over(const struct requests *open, uint64_t ts, uint64_t *ret_ts);
/* Forgets it.  True: it is cut by that. */
bool requests_forget_oldest(struct requests *open);

void requests_codec(struct codec *codec, struct requests *open);
/* Asserts the invariants. */
void requests_check(const struct requests *open);
