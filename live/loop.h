/*
 * hub: all relays and sessions of one `sillage live`, in one event loop.
 *
 * For each relay one connection lists sessions; each session that a URL names gets a
 * connection of its own (session.h).  The hub decides what to attach to, retries relays
 * that are away, passes reports on, and knows when everything is done.
 */
#ifndef SILLAGE_LIVE_LOOP_H
#define SILLAGE_LIVE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/engine.h"
#include "live/url.h"
#include "output/sink.h"

struct captures;
struct loop;
struct checkpoint_file;
struct actions;

struct loop_config {
	const struct url *urls;
	size_t url_count;
	struct engine_config engine; /* callbacks are the hub's */
	struct output *output;
	struct actions *actions;   /* triggers; NULL: none */
	struct captures *captures; /* NULL: nothing is captured */
	const char *control;       /* path of a socket to ask for captures at; NULL: none */
	const char *metrics;       /* [HOST]:PORT to serve metrics on; NULL: none */
	bool from_beginning;
	struct checkpoint_file *checkpoint_file; /* to go on from, and to leave; NULL: none */
	uint64_t retry_ns;                       /* UINT64_MAX: for ever; 0: do not retry */
	uint64_t grace_ns;
	uint64_t lag_limit_ns;         /* a session that is further behind skips to now; 0: never */
	uint64_t duration_ns, windows; /* 0: no limit */
	int verbosity;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* There is something on standard input, or the terminal has another size; false: stop.
	 * NULL: nobody listens. */
	bool (*on_input)(void *user);
	void *input_user;
};

/* Begins the output and runs until everything is done or a signal says so; fills @summary.
 * Negative: failed. */
int loop_run(const struct loop_config *config, struct run_summary *summary, struct err *err);

/* Asks a relay for its sessions, once. */
struct loop_listed {
	char *host, *name;
	uint64_t live_timer_us;
	uint32_t clients, streams;
};
typedef void loop_list_fn(void *user, const struct url *url, const struct loop_listed *session);
int loop_list(const struct url *url, loop_list_fn *each, void *user, struct err *err);

#endif
