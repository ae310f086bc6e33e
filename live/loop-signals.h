/*
 * loop-signals: SIGINT and SIGTERM, which end the loop.
 *
 * libevent reports a signal between two callbacks.  Without workers a callback decodes packets, of
 * up to 1 GiB each, so that a signal would be seen only behind them.  Therefore these two have a
 * handler, which says at once that the work is to be left (now.h) and then wakes the loop up.
 */
#pragma once

#include <event2/event.h>

struct loop_signals;

/* One at a time.  Calls @stop from the loop. */
struct loop_signals *loop_signals_new(struct event_base *base, event_callback_fn stop, void *user);
/* Sets the handlers that were there before. */
void loop_signals_free(struct loop_signals *signals); /* NULL is fine */
