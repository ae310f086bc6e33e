/*
 * capture-write: a capture on disk.
 *
 *     DIR/HOST-SESSION-20261121T173304.123Z/      written as DIR/.sillage-PID-N, then renamed
 *         capture.json                            why, what range, what is missing
 *         kernel/                                 the path of each trace in its session
 *             metadata  channel0_0 ...            as LTTng writes them
 *             index/channel0_0.idx ...
 *
 * Everything here blocks, and runs in a thread of its own.
 */
#ifndef SILLAGE_LIVE_CAPTURE_CAPTURE_WRITE_H
#define SILLAGE_LIVE_CAPTURE_CAPTURE_WRITE_H

#include "base/err.h"
#include "history/history.h"

/* One trace of the session. */
struct capture_trace {
	char *path; /* in its session, as the relay named it: not to be trusted; may be NULL */
	struct history_stretch stretch;
};

/* What is to be written, and what came of it.  Owns all it points to. */
struct capture_order {
	struct capture_order *next;
	uint64_t number; /* of this process, from 1 */
	char *host, *session;
	char *triggers;          /* JSON objects with commas between, "" if somebody asked for it */
	char *names;             /* of those triggers, for people */
	bool has_kernel;         /* one of the traces is the kernel's */
	bool wants_report;       /* also as a page */
	uint64_t at, begin, end; /* ns: the occasion, and what is wanted */
	VEC(struct capture_trace) traces;

	char *path;              /* of the capture, NULL: it failed */
	uint64_t packets, bytes; /* that were written */
	bool has_report;         /* beside it */
	bool is_complete;        /* nothing is known to be missing in it */
	struct err err;          /* why it failed */
};

void capture_order_free(struct capture_order *order); /* NULL is fine */

/* Writes it into @dir, which is made when it is not there; -errno with the reason, and nothing
 * is left. */
int capture_write(struct capture_order *order, const char *dir, struct err *err);

/* Has `sillage report` make report.html in the capture, if one is wanted; that is done beside us,
 * and may fail: the capture is there. */
void capture_report(struct capture_order *order);

/* Removes the oldest captures in @dir, so that at most @count and @bytes of them are left, the
 * newest in any case.  What has no capture.json of ours is not touched. */
void capture_prune(const char *dir, uint64_t count, uint64_t bytes);

/* Removes what processes that are gone have not finished in @dir. */
void capture_sweep(const char *dir);

#endif
