/*
 * link: see link.h.
 */
#include "live/link.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"

struct link {
	const struct link_events *events;
	void *user;
	struct viewer viewer;
	int fd;
	bool is_connected, is_failed;
	struct event *reading, *writing, *timer;
	size_t sent; /* bytes of viewer.out already written */
	struct err err;
	bool *is_freed; /* set when freed inside a callback */
};

uint64_t monotonic_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t wall_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void fail(struct link *link)
{
	(void)event_del(link->reading);
	(void)event_del(link->writing);
	(void)event_del(link->timer);
	link->events->on_closed(link->user, &link->err);
}

static void fail_errno(struct link *link, const char *doing, int code)
{
	(void)err_raise(&link->err, -EIO, "%s: %s", doing, strerror(code));
	fail(link);
}

/* The relay owes a reply: how long it may stay silent. */
static void watch_silence(struct link *link)
{
	struct timeval limit = { .tv_sec = RELAY_SILENCE_S };

	if (viewer_pending(&link->viewer) > 0) {
		(void)event_add(link->timer, &limit);
	} else {
		(void)event_del(link->timer);
	}
}

static void on_silence(evutil_socket_t fd, short what, void *arg)
{
	struct link *link = arg;

	(void)fd;
	(void)what;
	if (link->is_failed) {
		fail(link);
		return;
	}
	(void)err_raise(&link->err, -ETIMEDOUT, "no %s for %d s",
			link->is_connected ? "reply" : "connection",
			link->is_connected ? RELAY_SILENCE_S : RELAY_CONNECT_S);
	fail(link);
}

/* One receive; false when there is nothing more now or the link is gone. */
static bool receive(struct link *link)
{
	struct viewer_reply reply;
	bool is_freed = false;
	int one = 1, r;
	size_t len;
	uint8_t *into = viewer_want(&link->viewer, &len);
	ssize_t got;

	(void)setsockopt(link->fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
	got = recv(link->fd, into, len, 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		return false;
	}
	if (got <= 0) {
		if (got == 0) {
			(void)err_raise(&link->err, -EPIPE, "the relay closed the connection");
			fail(link);
		} else {
			fail_errno(link, "receiving", errno);
		}
		return false;
	}
	r = viewer_fed(&link->viewer, (size_t)got, &reply, &link->err);
	if (r > 0) {
		link->is_freed = &is_freed;
		r = link->events->on_reply(link->user, &reply, &link->err);
		if (is_freed) {
			return false;
		}
		link->is_freed = NULL;
	}
	if (r < 0) {
		fail(link);
		return false;
	}
	return true;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct link *link = arg;

	(void)fd;
	(void)what;
	for (unsigned int i = 0; i < RELAY_RECEIVES_MAX; i++) {
		if (!receive(link)) {
			return;
		}
	}
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct link *link = arg;
	socklen_t len = sizeof(int);
	int code = 0;

	(void)what;
	if (!link->is_connected) {
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 || code != 0) {
			fail_errno(link, "connecting", code ? code : errno);
			return;
		}
		link->is_connected = true;
		(void)event_del(link->timer);
		(void)event_add(link->reading, NULL);
		link->events->on_connected(link->user);
		return;
	}
	link_send(link);
}

void link_send(struct link *link)
{
	while (link->is_connected && link->sent < link->viewer.out.count) {
		ssize_t put = send(link->fd, link->viewer.out.at + link->sent,
				   link->viewer.out.count - link->sent, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR) {
			continue;
		}
		if (put < 0) {
			if (errno == EAGAIN) {
				(void)event_add(link->writing, NULL);
			}
			break; /* any other error shows when receiving */
		}
		link->sent += (size_t)put;
	}
	if (link->sent == link->viewer.out.count) {
		link->sent = 0;
		link->viewer.out.count = 0;
	}
	if (link->is_connected) {
		watch_silence(link);
	}
}

static int start_connecting(struct link *link, const struct link_address *address)
{
	struct addrinfo hints = { .ai_family = address->family, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char port[8];
	int one = 1, r;

	(void)snprintf(port, sizeof(port), "%u", address->port);
	r = getaddrinfo(address->host, port, &hints, &found);
	if (r != 0) {
		return err_raise(&link->err, -ENOENT, "%s", gai_strerror(r));
	}
	link->fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (link->fd >= 0) {
		(void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		(void)setsockopt(link->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	}
	if (link->fd < 0 ||
	    (connect(link->fd, found->ai_addr, found->ai_addrlen) < 0 && errno != EINPROGRESS)) {
		r = err_raise(&link->err, -errno, "connecting: %s", strerror(errno));
	}
	freeaddrinfo(found);
	return r;
}

struct link *link_new(struct event_base *base, const struct link_address *address,
		      const struct link_events *events, void *user)
{
	struct link *link = mem_alloc(sizeof(*link));
	struct timeval limit = { .tv_sec = RELAY_CONNECT_S };

	link->events = events;
	link->user = user;
	link->fd = -1;
	viewer_init(&link->viewer);
	link->is_failed = start_connecting(link, address) < 0;
	link->reading = event_new(base, link->fd, EV_READ | EV_PERSIST, on_readable, link);
	link->writing = event_new(base, link->fd, EV_WRITE, on_writable, link);
	link->timer = event_new(base, -1, 0, on_silence, link);
	if (link->is_failed) {
		limit.tv_sec = 0; /* told from the loop */
	} else {
		(void)event_add(link->writing, NULL);
	}
	(void)event_add(link->timer, &limit);
	return link;
}

void link_free(struct link *link)
{
	if (!link) {
		return;
	}
	if (link->is_freed) {
		*link->is_freed = true;
	}
	event_free(link->reading);
	event_free(link->writing);
	event_free(link->timer);
	if (link->fd >= 0) {
		(void)close(link->fd);
	}
	viewer_fini(&link->viewer);
	free(link);
}

struct viewer *link_viewer(struct link *link)
{
	return &link->viewer;
}
