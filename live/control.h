/*
 * control: a socket on which a running sillage is asked to capture now.
 *
 * A client sends the line "capture" and gets a line for each capture that this makes, the `capture`
 * object of the JSON output, and then the end; or one line {"type":"error","message":...}.
 * Only the user that runs sillage may connect (mode 0600).
 */
#ifndef SILLAGE_LIVE_CONTROL_H
#define SILLAGE_LIVE_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct capture_order;
struct control;
struct event_base;

/* Begins captures of everything that is followed: their numbers, at most @most; how many. */
typedef size_t control_capture_fn(void *user, uint64_t *ret_numbers, size_t most);

/* Listens at @path.  NULL with the reason; a socket that nobody listens at is replaced. */
struct control *control_new(struct event_base *base, const char *path, control_capture_fn *capture,
			    void *user, struct err *err);
void control_free(struct control *control); /* NULL is fine; sends what is to be sent first */

/* Tells who asked for it. */
void control_captured(struct control *control, const struct capture_order *order);

/* The other side: asks at @path; a socket to read the lines from, or -errno with the reason. */
int control_ask(const char *path, struct err *err);

#endif
