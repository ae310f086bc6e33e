/*
 * capture-write: writes a capture to disk.
 *
 *     DIR/HOST-SESSION-20261121T173304.123Z/      written as DIR/.sillage-PID-N, then renamed
 *         capture.json                            reasons, range, what is missing
 *         kernel/                                 the path of each trace in its session
 *             metadata  channel0_0 ...            as LTTng writes them
 *             index/channel0_0.idx ...
 *
 * Promises:
 *   - A directory with a final name is complete and on disk, even if the machine stops right after.
 *   - Host, session, path and stream names come from a relay and are untrusted.  All characters but
 *     letters, digits and "-_.+:@" become '_', and no name starts with '.' or '-'.
 *   - Nothing is overwritten: a name that exists gets a number.
 *   - Failure leaves nothing behind.
 *
 * Everything here blocks; it runs in a thread of its own.
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"
#include "history/history.h"
#include "output/notice.h"

/* One trace of the session. */
struct capture_trace {
	char *path; /* in its session, as the relay named it: untrusted; may be NULL */
	struct history_stretch stretch;
	/* What of each packet is written: @len bytes at @to; NULL: the packet.  false: nothing can
	 * be. */
	bool (*rewrite)(void *user, const uint8_t *bytes, uint64_t len, uint8_t *to);
	void *user;
	const atomic_bool *stop; /* gives the capture up; NULL: it is written whatever comes */
};

/* What to write, and the result.  Owns all it points to. */
struct capture_order {
	struct capture_order *next;
	uint64_t number; /* within this process, from 1 */
	char *host, *session;
	char *triggers;       /* JSON objects separated by commas; "": the user asked for it */
	char *names;          /* of those triggers, for people */
	char *job;            /* that the first of them is about, as --job has it; NULL: none is */
	const char *asked;    /* what the run measured, as options; not owned; NULL: not known */
	const char *measured; /* the same as JSON (captures.h) */
	bool has_spans;       /* it measured periods or jobs */
	bool has_kernel;      /* one of the traces is a kernel trace */
	unsigned int
		extras; /* what else is wanted: CAPTURE_REPORT, CAPTURE_JOBS, CAPTURE_PERFETTO */
	uint64_t at;    /* ns: the occasion */
	uint64_t begin, end; /* ns: the range */
	VEC(struct capture_trace) traces;

	/* the result */
	char *path;              /* of the capture; NULL: it failed */
	uint64_t packets, bytes; /* written */
	unsigned int has_extras; /* what of that was written */
	bool is_complete;        /* nothing is known to be missing in it */
	struct err err;          /* why it failed */
	char *found;             /* text, by captures_config.on_written; NULL: none */
};

/* The result, for output; borrows from the order. */
struct capture_result capture_order_result(const struct capture_order *order);
void capture_order_free(struct capture_order *order); /* NULL is fine */

/* Writes the capture into @dir, which is created if it does not exist.  -errno with the reason. */
int capture_write(struct capture_order *order, const char *dir, struct err *err);

/* Runs this program with @argv in @dir (NULL: here) and waits for it, so long at most; true: it
 * said that all is well. What it leaves empty at @made is removed. */
bool capture_run(const char *dir, char *const argv[], uint64_t seconds, const char *made);

/* Runs `sillage report` and `sillage export` to write report.html and trace.perfetto into the
 * capture, as far as they are wanted, and waits for them.  Without a kernel trace the report is
 * report.txt, of `sillage analyze`, if the run measured periods or jobs.  Only has_extras tells of
 * failures. */
void capture_write_extras(struct capture_order *order);
