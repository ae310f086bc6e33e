/*
 * taken: the packets of a recorded trace that a range has, for a capture of them.
 *
 *     recorded trace ── headers of packets ──► history_stretch: places in its files ──► capture
 *
 * Nothing is copied: a packet is read when it is written.  A packet without times is of any range;
 * of one that its file cuts off what is there is taken, if it is the last of its stream.
 */
#pragma once

#include "anonymous/anonymous.h"
#include "capture/capture-write.h"
#include "recorded/recorded.h"

struct taken {
	struct recorded trace;
	struct anonymous_trace *rewriter; /* NULL: names stay */
	uint64_t first, last;             /* ns: of its packets; first > last: it has none */
	uint64_t left_out;                /* packets that are cut off and have others behind them */
};

/* Fills @ret, but for its path, with the packets that overlap [begin, end].  @taken has to stay
 * until the capture is written; call taken_fini() whatever the result.  @anonymous NULL: names
 * stay. */
int taken_open(const struct recorded_path *path, uint64_t begin, uint64_t end,
	       struct anonymous *anonymous, struct taken *taken, struct capture_trace *ret,
	       struct err *err);
void taken_fini(struct taken *taken);
