/*
 * loop: the live loop: all relays and sessions of one `sillage live`, in one event loop.
 *
 *     relay A ── connection that lists sessions
 *        ├── session 1 (session/session.h) ── connection of its own ─┐
 *        └── session 2 ── connection of its own ─────────────────────┤
 *     relay B ...                                                    ▼
 *                                                                 engine (its own threads)
 *     captures ◄── triggers ◄── windows and totals ◄─────────────────┘
 *          outputs (text, ◄─────┘
 *     store, metrics, web ...)
 *
 * Owns the event loop, the engine, the relays and sessions, and the servers (metrics, web,
 * control).  It decides which sessions to attach to, retries relays and sessions that are away,
 * passes reports on, and ends when nothing more can come: when each URL names one session and all
 * of these have ended, or on a signal, or at a limit of time or windows.
 *
 * Everything here runs in one thread.  Other threads (the engine's workers, name lookups, the
 * writer of captures) report through descriptors or are polled.
 *
 * Signals: SIGINT and SIGTERM stop, SIGUSR1 reports totals so far, SIGUSR2 captures, SIGHUP reopens
 * the output, and reads the configuration of the servers again.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/engine.h"
#include "output/sink.h"
#include "relay/url.h"

struct captures;
struct capture_order;
struct loop;
struct checkpoint_file;
struct actions;
struct metadata;

struct loop_store_windows {
	uint64_t closed, stored, spooled, lost;
	uint64_t given, settled; /* to it, and of those, from the first, not only in memory */
};

struct loop_config {
	const struct url *urls;
	size_t url_count;
	struct engine_config engine; /* loop_run() sets the callbacks */
	struct output *output;
	struct actions *actions;   /* triggers; NULL: none */
	struct captures *captures; /* NULL: nothing is captured */
	bool recalls;              /* its packets are fetched again from the relay, not kept */
	const char *control;       /* path of the control socket; NULL: none */
	const char *metrics;       /* [HOST]:PORT to serve metrics on; NULL: none */
	bool has_small_metrics;    /* else all that there are */
	const char *web;           /* [HOST]:PORT to serve a page on; NULL: none */
	const char *server_config; /* TLS and users of both, server/access.h; NULL: neither */
	bool is_insecure;          /* the page may leave this host without users */
	bool from_beginning;
	uint64_t from_ns; /* from_beginning is false: from this time on; 0: from now on */
	struct checkpoint_file *checkpoint_file; /* to resume from and to save; NULL: none */
	bool joins; /* traces of programs are one with their kernel's; not with checkpoint_file */
	bool wants_phases;       /* for the output, or for triggers */
	bool regenerates;        /* asks for a state dump where it is missed */
	uint64_t state_every_ns; /* how often it is saved before the end; 0: never */
	uint64_t retry_ns;       /* how long to retry a relay; UINT64_MAX: for ever; 0: never */
	uint64_t grace_ns;       /* windows wait this long for silent streams */
	uint64_t lag_limit_ns;   /* a session further behind skips to the present; 0: never */
	uint64_t duration_ns, windows; /* when to stop; 0: no limit */
	int verbosity;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	/* Called when standard input is readable or the terminal's size changed; false: stop.
	 * NULL: standard input is not used. */
	bool (*on_input)(void *user, struct loop *loop);
	/* Called with each capture that was written, or failed, in place of a line about it. */
	void (*on_captured)(void *user, const struct capture_order *order);
	void *input_user; /* for both */
	/* For metrics and states: what became so far of the windows that went to @store. */
	void (*on_store)(void *store, struct loop_store_windows *ret);
	void *store; /* NULL: there is none */
	/* Called with the metadata of all traces at the first window of each, to look for what the
	 * user named; warnings go to @warn.  NULL: nothing was named. */
	void (*check_names)(void *user, const struct metadata *const *traces, size_t count,
			    void (*warn)(void *warn_user, const char *text), void *warn_user);
	void *names_user;
};

/* Starts the output and runs until the end; fills @summary.  Negative with the reason. */
int loop_run(const struct loop_config *config, struct run_summary *summary, struct err *err);

/* For on_input: captures the kernel traces of these sessions as they are now.  False: none is
 * followed. */
bool loop_capture(struct loop *loop, const char *host, const char *session);

/* A session that a relay lists. */
struct loop_listed {
	uint64_t id;
	char *host, *name;
	uint64_t live_timer_us;
	uint32_t clients, streams;
};
typedef void loop_list_fn(void *user, const struct url *url, const struct loop_listed *session);
/* Lists the sessions of a relay once, those that match @url.  @on_quiet is called once if the relay
 * has not answered for RELAY_QUIET_S; NULL: nothing is.  @stop is set by a signal: -EINTR; NULL:
 * none is.  Negative with the reason. */
int loop_list(const struct url *url, loop_list_fn *each, void (*on_quiet)(const struct url *url),
	      const atomic_bool *stop, void *user, struct err *err);
