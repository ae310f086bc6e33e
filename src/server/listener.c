/*
 * listener: see listener.h.
 */
#include "server/listener.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "server/repeat.h"

struct listener {
	struct listener *next;
	struct evconnlistener *own;
	struct event *pause; /* pending while it is paused */
	const char *name;
	bool is_lent; /* evhttp frees `own` */
};

/* All of this process: what libevent gives to on_error() is evhttp's. */
static struct listener *listeners;

static struct listener *listener_of(const struct evconnlistener *own)
{
	struct listener *listener = listeners;

	while (listener->own != own) {
		listener = listener->next;
		assert(listener);
	}
	return listener;
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;

	(void)evconnlistener_enable(listener->own);
}

/* Only what is not over with the next connection comes here. */
static void on_error(struct evconnlistener *own, void *arg)
{
	const struct timeval pause = { .tv_usec = SERVER_PAUSE_MS * 1000 };
	struct listener *listener = listener_of(own);
	int why = EVUTIL_SOCKET_ERROR();

	(void)evconnlistener_disable(own);
	(void)event_add(listener->pause, &pause);
	repeat_say(listener->name, "connections have to wait: %s", strerror(why));
}

struct listener *listener_new(struct event_base *base, evutil_socket_t fd, const char *name,
			      evconnlistener_cb on_accept, void *user)
{
	struct listener *listener = mem_alloc(sizeof(*listener));

	listener->name = name;
	listener->own = evconnlistener_new(base, on_accept, user,
					   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	evconnlistener_set_error_cb(listener->own, on_error);
	listener->pause = event_new(base, -1, 0, on_pause_over, listener);
	listener->next = listeners;
	listeners = listener;
	return listener;
}

void listener_free(struct listener *listener)
{
	struct listener **at = &listeners;

	if (!listener) {
		return;
	}
	while (*at != listener) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = listener->next;
	event_free(listener->pause);
	evconnlistener_set_error_cb(listener->own, NULL);
	if (!listener->is_lent) {
		evconnlistener_free(listener->own);
	}
	free(listener);
}

struct evconnlistener *listener_lend(struct listener *listener)
{
	assert(!listener->is_lent);
	listener->is_lent = true;
	return listener->own;
}
