/*
 * recorder: this host's kernel as a CTF trace, while it runs.
 *
 *     recorder_new() ─► recorder_enable() ... ─► recorder_start() ─► recorder_step() ... ─►
 *     recorder_stop() ─► recorder_account() ─► recorder_free()
 *
 * What it makes goes to the sink of convert.h: files, or a relay.
 */
#pragma once

#include "base/err.h"
#include "ftrace/convert.h"
#include "ftrace/host/instance.h"

struct recorder;

struct recorder_config {
	struct instance_config instance;
	uint32_t packet_bytes;    /* of the trace's packets, at most */
	uint64_t flush_ns;        /* packets are whole at least so often */
	struct convert_sink sink; /* metadata(), packet() and user */
	/* All before @until has been given, of each CPU, which had a packet at the begin already,
	 * if only an empty one.  NULL: nobody wants to know.  @user: the sink's. */
	int (*flushed)(void *user, uint64_t until, struct err *err);
};

/* Call it before any thread starts: it forks. */
int recorder_new(const struct recorder_config *config, struct recorder **ret, struct err *err);
void recorder_free(struct recorder *recorder); /* NULL is fine */

/* CONVERT_UUID_BYTES of the trace, which are there when its metadata comes. */
const uint8_t *recorder_uuid(const struct recorder *recorder);
const struct ftrace_instance *recorder_instance(const struct recorder *recorder);
/* An event that is recorded, once however often it is asked for.  -ENOENT: the kernel has none. */
int recorder_enable(struct recorder *recorder, const char *system, const char *name,
		    struct err *err);
size_t recorder_events(const struct recorder *recorder); /* that are enabled */

/* What is to be said of the events of a trace that has begun (convert_odd()); NULL: nothing. */
const char *recorder_odd(const struct recorder *recorder);

/* Begins, with a state dump. */
int recorder_start(struct recorder *recorder, struct err *err);
/* Takes what the buffers have, or waits for WAIT_POLL_MS until there is more. */
int recorder_step(struct recorder *recorder, struct err *err);
/* Takes the rest. */
int recorder_stop(struct recorder *recorder, struct err *err);

/*
 * The other way to use one: nothing is read until it is asked for, and the kernel's buffers keep
 * what was last, the newest in place of the oldest.
 *
 *     recorder_new() ─► recorder_enable() ... ─► recorder_hold() ─► recorder_snapshot() ...
 */
int recorder_hold(struct recorder *recorder, struct err *err);
/* What the buffers have is a trace of its own, with a state dump at its end; they are empty then.
 * What was overwritten is not missing in it.  *ret: of this snapshot. */
struct recorder_account;
int recorder_snapshot(struct recorder *recorder, const struct convert_sink *sink,
		      struct recorder_account *ret, struct err *err);

/* What the kernel says, and what became of it:
 *
 *     read + entries + overrun + commit_overrun + dropped = records + missed */
struct recorder_account {
	struct instance_stats kernel;
	struct convert_account trace;
	uint64_t missed; /* by the kernel, as packets say it */
	uint64_t ns;     /* from begin to end */
};
void recorder_account(const struct recorder *recorder, struct recorder_account *ret);
