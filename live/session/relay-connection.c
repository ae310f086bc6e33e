/*
 * link: see link.h.
 */
#include "live/session/relay-connection.h"

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
#include <unistd.h>

#include "base/limits.h"
#include "base/probe.h"
#include "live/resolve.h"

struct link {
	const struct link_events *events;
	void *user;
	struct viewer viewer;
	struct event_base *base;
	struct resolve *resolving;
	struct addrinfo *addresses, *address; /* of the host, and the one being tried */
	int fd;
	bool is_connected;
	struct event *reading, *writing, *timer; /* the first two only with a socket */
	uint8_t ahead[4096]; /* received, not yet used: several small replies at once */
	size_t ahead_used, ahead_count;
	bool is_drained; /* the socket, as far as the last event told */
	size_t sent;     /* bytes of viewer.out already written */
	struct err err;
	bool *is_freed; /* set when freed inside a callback */
};

static void close_socket(struct link *link)
{
	if (link->fd >= 0) {
		event_free(link->reading);
		event_free(link->writing);
		(void)close(link->fd);
		link->fd = -1;
	}
}

static void fail(struct link *link)
{
	close_socket(link);
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
	(void)err_raise(&link->err, -ETIMEDOUT, "no %s for %d s",
			link->is_connected ? "reply" : "connection",
			link->is_connected ? RELAY_SILENCE_S : RELAY_CONNECT_S);
	fail(link);
}

/* Like recv(): small replies come several at once, packets go where they belong. */
static ssize_t get_bytes(struct link *link, uint8_t *into, size_t len)
{
	int one = 1;

	if (link->ahead_used == link->ahead_count) {
		bool is_small = len < sizeof(link->ahead);
		ssize_t got;

		if (link->is_drained) {
			errno = EAGAIN;
			return -1;
		}
		(void)setsockopt(link->fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
		got = recv(link->fd, is_small ? link->ahead : into,
			   is_small ? sizeof(link->ahead) : len, 0);
		link->is_drained = got >= 0 && (size_t)got < (is_small ? sizeof(link->ahead) : len);
		if (got <= 0 || !is_small) {
			return got;
		}
		link->ahead_used = 0;
		link->ahead_count = (size_t)got;
	}
	if (len > link->ahead_count - link->ahead_used) {
		len = link->ahead_count - link->ahead_used;
	}
	memcpy(into, link->ahead + link->ahead_used, len);
	link->ahead_used += len;
	return (ssize_t)len;
}

/* One receive; false when there is nothing more now or the link is gone. */
static bool receive(struct link *link)
{
	struct viewer_reply reply;
	bool is_freed = false;
	int r;
	size_t len;
	uint8_t *into = viewer_want(&link->viewer, &len);
	ssize_t got = get_bytes(link, into, len);

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
		probe_reply((uint32_t)reply.command, (uint64_t)got);
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
	link->is_drained = false;
	for (unsigned int i = 0; i < RELAY_RECEIVES_MAX; i++) {
		if (!receive(link)) {
			return;
		}
	}
	if (link->ahead_used < link->ahead_count) {
		event_active(link->reading, EV_READ, 0); /* the socket does not tell of these */
	}
}

static void try_address(struct link *link);

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct link *link = arg;
	socklen_t len = sizeof(int);
	int code = 0;

	(void)what;
	if (!link->is_connected) {
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 || code != 0) {
			(void)err_raise(&link->err, -EIO, "connecting: %s",
					strerror(code ? code : errno));
			link->address = link->address->ai_next;
			try_address(link);
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

/* Connects to the next address of the host; when all have refused, the link has failed. */
static void try_address(struct link *link)
{
	int one = 1;

	for (; link->address; link->address = link->address->ai_next) {
		close_socket(link);
		link->fd = socket(link->address->ai_family,
				  SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (link->fd < 0) {
			(void)err_raise(&link->err, -errno, "connecting: %s", strerror(errno));
			continue;
		}
		link->reading =
			event_new(link->base, link->fd, EV_READ | EV_PERSIST, on_readable, link);
		link->writing = event_new(link->base, link->fd, EV_WRITE, on_writable, link);
		(void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		(void)setsockopt(link->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
		if (connect(link->fd, link->address->ai_addr, link->address->ai_addrlen) == 0 ||
		    errno == EINPROGRESS) {
			(void)event_add(link->writing, NULL);
			return;
		}
		(void)err_raise(&link->err, -errno, "connecting: %s", strerror(errno));
	}
	fail(link);
}

static void on_resolved(void *user, int code, struct addrinfo *found)
{
	struct link *link = user;

	link->resolving = NULL;
	if (code != 0) {
		(void)err_raise(&link->err, -ENOENT, "%s", gai_strerror(code));
		fail(link);
		return;
	}
	link->addresses = found;
	link->address = found;
	try_address(link);
}

struct link *link_new(struct event_base *base, const struct link_address *address,
		      const struct link_events *events, void *user)
{
	struct link *link = mem_alloc(sizeof(*link));
	struct timeval limit = { .tv_sec = RELAY_CONNECT_S };

	link->events = events;
	link->user = user;
	link->base = base;
	link->fd = -1;
	viewer_init(&link->viewer);
	link->timer = event_new(base, -1, 0, on_silence, link);
	(void)event_add(link->timer, &limit);
	link->resolving = resolve_start(base, address->host, address->port, address->family,
					on_resolved, link);
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
	resolve_cancel(link->resolving);
	close_socket(link);
	event_free(link->timer);
	if (link->addresses) {
		freeaddrinfo(link->addresses);
	}
	viewer_fini(&link->viewer);
	free(link);
}

struct viewer *link_viewer(struct link *link)
{
	return &link->viewer;
}
