/*
 * resolve: see resolve.h.
 */
#include "live/session/resolve.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/process/lookup.h"

struct resolve {
	struct lookup *lookup;
	struct event *event;
	resolve_fn *done;
	void *user;
};

void resolve_cancel(struct resolve *resolve)
{
	if (resolve) {
		event_free(resolve->event);
		lookup_free(resolve->lookup);
		free(resolve);
	}
}

static void on_done(evutil_socket_t fd, short what, void *arg)
{
	struct resolve *resolve = arg;
	resolve_fn *done = resolve->done;
	void *user = resolve->user;
	struct addrinfo *found;
	int code = lookup_take(resolve->lookup, &found);

	resolve_cancel(resolve); /* the callee may begin another one */
	done(user, code, found);
}

struct resolve *resolve_start(struct event_base *base, const char *host, uint16_t port, int family,
			      resolve_fn *done, void *user)
{
	struct resolve *resolve = mem_alloc(sizeof(*resolve));

	resolve->lookup = lookup_start(host, port, family);
	resolve->done = done;
	resolve->user = user;
	resolve->event = event_new(base, lookup_fd(resolve->lookup), EV_READ, on_done, resolve);
	(void)event_add(resolve->event, NULL);
	return resolve;
}
