/*
 * control: a socket that asks a running sillage to capture now.
 *
 *     client                         server
 *       "capture\n"  ─────────────►    starts captures, maybe of several sessions
 *       one line per capture  ◄────    when it is written: the `capture` object of the JSON output
 *       end of file  ◄─────────────    after the last one
 *
 * Anything else is answered by one line {"type":"error","message":...} and the end of file, and so
 * is a request when there is nothing to capture.
 *
 * Only the user that runs sillage may connect (mode 0600).  At most CONTROL_CLIENTS_MAX clients are
 * connected; others are closed at once.  A line is at most CONTROL_LINE_MAX bytes long.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct control;
struct event_base;
struct sink;

/* Starts captures of all sessions that are followed.  Stores at most @most numbers of captures and
 * returns how many. */
typedef size_t control_capture_fn(void *user, uint64_t *ret_numbers, size_t most);

/* Listens at @path.  A socket there that no process listens on is replaced.  NULL with the reason.
 */
struct control *control_new(struct event_base *base, const char *path, control_capture_fn *capture,
			    void *user, struct err *err);
void control_free(
	struct control *control); /* NULL is fine; sends pending lines if that is possible */

/* Reports a finished capture to the clients that wait for it; the state is a struct control. */
extern const struct sink sink_control;

/* The client's side: sends the request to @path.  Returns a socket to read the lines from, or
 * -errno with the reason. */
int control_ask(const char *path, struct err *err);
