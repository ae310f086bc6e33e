/*
 * relay-connection: see relay-connection.h.
 */
#include "live/session/relay-connection.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/probe.h"
#include "live/session/resolve.h"
#include "live/session/turn.h"

struct relay_connection {
	const struct relay_connection_events *events;
	void *user;
	struct viewer viewer;
	struct event_base *base;
	struct resolve *resolving;
	struct addrinfo *addresses, *address; /* of the host, and the one being tried */
	int fd;
	bool is_connected;
	bool has_heard;   /* anything from the relay */
	bool is_wrong;    /* see relay_connection_is_wrong() */
	bool is_waiting;  /* for a reply */
	uint64_t heard;   /* monotonic ns, while waiting: the last progress, or the request */
	uint64_t now;     /* monotonic ns: of the receives of this turn */
	uint64_t trickle; /* bytes since `heard` */
	struct event *reading, *writing, *timer; /* the first two only with a socket */
	struct event *more;  /* fires in the next turn: bytes are left in `ahead` */
	uint8_t ahead[4096]; /* received but not yet used: several small replies together */
	size_t ahead_used, ahead_count;
	bool is_drained; /* the last receive has emptied the socket */
	size_t sent;     /* bytes of viewer.out already written */
	struct err err;
	bool *is_freed; /* set if the connection is freed inside a callback */
};

static void close_socket(struct relay_connection *connection)
{
	if (connection->fd >= 0) {
		(void)event_del(connection->more);
		event_free(connection->reading);
		event_free(connection->writing);
		(void)close(connection->fd);
		connection->fd = -1;
	}
}

static void fail(struct relay_connection *connection)
{
	close_socket(connection);
	(void)event_del(connection->timer);
	connection->events->on_closed(connection->user, &connection->err);
}

/* Limits the silence of a relay that owes a reply.  The timer is not moved by each reply: it looks
 * how long the silence is. */
static void watch_silence(struct relay_connection *connection)
{
	struct timeval limit = { .tv_sec = RELAY_SILENCE_S };

	if (viewer_pending(&connection->viewer) == 0) {
		connection->is_waiting = false;
	} else if (!connection->is_waiting) {
		connection->is_waiting = true;
		connection->heard = now_monotonic_ns();
		connection->trickle = 0;
		(void)event_add(connection->timer, &limit);
	}
}

/* Sets the timer to the end of the silence that is allowed; false: it is over. */
static bool may_be_silent(struct relay_connection *connection)
{
	uint64_t silent = now_monotonic_ns() - connection->heard;
	uint64_t limit = RELAY_SILENCE_S * UINT64_C(1000000000);
	uint64_t left = silent < limit ? limit - silent : 0;
	struct timeval wait = { .tv_sec = (time_t)(left / 1000000000),
				.tv_usec = (suseconds_t)(left % 1000000000 / 1000) };

	if (connection->is_waiting && left > 0) {
		(void)event_add(connection->timer, &wait);
	}
	return !connection->is_waiting || left > 0;
}

static void on_silence(evutil_socket_t fd, short what, void *arg)
{
	struct relay_connection *connection = arg;

	if (connection->is_connected && may_be_silent(connection)) {
		return;
	}
	if (!connection->is_connected) {
		(void)err_raise(&connection->err, -ETIMEDOUT, "no connection for %d s",
				RELAY_CONNECT_S);
	} else if (connection->trickle == 0) {
		(void)err_raise(&connection->err, -ETIMEDOUT, "no reply for %d s", RELAY_SILENCE_S);
	} else {
		(void)err_raise(&connection->err, -ETIMEDOUT,
				"no reply for %d s, only %" PRIu64 " bytes of one", RELAY_SILENCE_S,
				connection->trickle);
	}
	fail(connection);
}

/* Like recv(), but reads ahead if @len is small. */
static ssize_t get_bytes(struct relay_connection *connection, uint8_t *into, size_t len)
{
	int one = 1;

	assert(len > 0);
	assert(connection->ahead_used <= connection->ahead_count);
	assert(connection->ahead_count <= sizeof(connection->ahead));
	if (connection->ahead_used == connection->ahead_count) {
		bool is_small = len < sizeof(connection->ahead);
		ssize_t got;

		if (connection->is_drained) {
			errno = EAGAIN;
			return -1;
		}
		(void)setsockopt(connection->fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
		got = recv(connection->fd, is_small ? connection->ahead : into,
			   is_small ? sizeof(connection->ahead) : len, 0);
		connection->is_drained =
			got >= 0 && (size_t)got < (is_small ? sizeof(connection->ahead) : len);
		if (got <= 0 || !is_small) {
			return got;
		}
		connection->ahead_used = 0;
		connection->ahead_count = (size_t)got;
	}
	if (len > connection->ahead_count - connection->ahead_used) {
		len = connection->ahead_count - connection->ahead_used;
	}
	memcpy(into, connection->ahead + connection->ahead_used, len);
	connection->ahead_used += len;
	return (ssize_t)len;
}

/*
 * The peer has closed the connection, or reset it (@code).  The ports of a relay that tracers
 * connect to do so at the first message of a viewer.
 */
static void fail_closed(struct relay_connection *connection, int code)
{
	if (code == 0) {
		(void)err_raise(&connection->err, -EPIPE, "the relay closed the connection");
	} else {
		(void)err_raise(&connection->err, -EIO, "receiving: %s", strerror(code));
	}
	if (!connection->has_heard && (code == 0 || code == ECONNRESET)) {
		(void)err_note(&connection->err, -EIO,
			       "is this the live port of a relay (5344, not 5342 or 5343)?  it did "
			       "not answer");
	}
	fail(connection);
}

enum received { RECEIVED, RECEIVED_ALL, RECEIVED_END };

/* What counts as a sign of life: a whole reply, or enough bytes of one. */
static void note_progress(struct relay_connection *connection, uint64_t bytes, bool is_whole)
{
	connection->trickle += bytes;
	if (is_whole || connection->trickle >= RELAY_TRICKLE_BYTES) {
		connection->heard = connection->now;
		connection->trickle = 0;
	}
}

/* One receive.  RECEIVED_ALL: nothing is available now; RECEIVED_END: the connection is closed, and
 * may be freed. */
static enum received receive(struct relay_connection *connection)
{
	struct viewer_reply reply;
	bool is_freed = false;
	int r;
	size_t len;
	uint8_t *into = viewer_want(&connection->viewer, &len);
	ssize_t got = get_bytes(connection, into, len);

	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		return RECEIVED_ALL;
	}
	if (got <= 0) {
		fail_closed(connection, got == 0 ? 0 : errno);
		return RECEIVED_END;
	}
	connection->has_heard = true;
	connection->is_wrong = false;
	r = viewer_fed(&connection->viewer, (size_t)got, &reply, &connection->err);
	note_progress(connection, (uint64_t)got, r > 0);
	if (r > 0) {
		probe_reply((uint32_t)reply.command, (uint64_t)got);
		connection->is_freed = &is_freed;
		r = connection->events->on_reply(connection->user, &reply, &connection->err);
		if (is_freed) {
			return RECEIVED_END;
		}
		connection->is_freed = NULL;
		watch_silence(connection);
	}
	if (r < 0) {
		connection->is_wrong = r != -ENOMEM; /* which is ours */
		fail(connection);
		return RECEIVED_END;
	}
	return RECEIVED;
}

/* Other connections have their turn after so many receives, and all of them end with the turn of
 * the loop. */
static void receive_some(struct relay_connection *connection)
{
	const struct timeval next_turn = { 0 };
	enum received received = RECEIVED;

	connection->is_drained = false;
	connection->now = now_monotonic_ns();
	for (unsigned int i = 0; i < RELAY_RECEIVES_MAX && received == RECEIVED; i++) {
		received = turn_is_spent() && i > 0 ? RECEIVED_ALL : receive(connection);
	}
	if (received == RECEIVED_END) {
		return;
	}
	if (connection->ahead_used < connection->ahead_count) {
		/* The socket does not become readable for bytes that are already here.  An event
		 * that is made active would be served before the loop looks at others. */
		(void)event_add(connection->more, &next_turn);
	}
	if (connection->events->on_pause) {
		connection->events->on_pause(connection->user);
	}
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	receive_some(arg);
}

static void try_address(struct relay_connection *connection);

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct relay_connection *connection = arg;
	socklen_t len = sizeof(int);
	int code = 0;

	if (!connection->is_connected) {
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 || code != 0) {
			(void)err_raise(&connection->err, -EIO, "connecting: %s",
					strerror(code ? code : errno));
			connection->address = connection->address->ai_next;
			try_address(connection);
			return;
		}
		connection->is_connected = true;
		(void)event_del(connection->timer);
		(void)event_add(connection->reading, NULL);
		connection->events->on_connected(connection->user);
		return;
	}
	relay_connection_send(connection);
}

void relay_connection_send(struct relay_connection *connection)
{
	while (connection->is_connected && connection->sent < connection->viewer.out.count) {
		ssize_t put = send(connection->fd, connection->viewer.out.at + connection->sent,
				   connection->viewer.out.count - connection->sent, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR) {
			continue;
		}
		if (put < 0) {
			if (errno == EAGAIN) {
				(void)event_add(connection->writing, NULL);
			}
			break; /* receiving reports any other error */
		}
		connection->sent += (size_t)put;
	}
	assert(connection->sent <= connection->viewer.out.count);
	if (connection->sent == connection->viewer.out.count) {
		connection->sent = 0;
		connection->viewer.out.count = 0;
	}
	if (connection->is_connected) {
		watch_silence(connection);
	}
}

/* A host that vanishes (power, network) sends nothing: neither data nor a request may remain
 * without an acknowledgement for longer than RELAY_SILENCE_S. */
static void notice_gone_hosts(int fd)
{
	const struct {
		int level, name, value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, RELAY_SILENCE_S / 4 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, RELAY_SILENCE_S / 4 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, RELAY_SILENCE_S * 1000 },
	};

	for (size_t i = 0; i < ARRAY_COUNT(options); i++) {
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof(options[i].value));
	}
}

/* Connects to the next address of the host.  Fails when there is none left. */
static void try_address(struct relay_connection *connection)
{
	int one = 1;

	for (; connection->address; connection->address = connection->address->ai_next) {
		close_socket(connection);
		connection->fd = socket(connection->address->ai_family,
					SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (connection->fd < 0) {
			(void)err_raise(&connection->err, -errno, "connecting: %s",
					strerror(errno));
			continue;
		}
		connection->reading = event_new(connection->base, connection->fd,
						EV_READ | EV_PERSIST, on_readable, connection);
		connection->writing = event_new(connection->base, connection->fd, EV_WRITE,
						on_writable, connection);
		(void)setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		notice_gone_hosts(connection->fd);
		if (connect(connection->fd, connection->address->ai_addr,
			    connection->address->ai_addrlen) == 0 ||
		    errno == EINPROGRESS) {
			(void)event_add(connection->writing, NULL);
			return;
		}
		(void)err_raise(&connection->err, -errno, "connecting: %s", strerror(errno));
	}
	fail(connection);
}

static void on_resolved(void *user, int code, struct addrinfo *found)
{
	struct relay_connection *connection = user;

	assert(connection->fd < 0);
	assert(!connection->addresses);
	connection->resolving = NULL;
	if (code != 0) {
		(void)err_raise(&connection->err, -ENOENT, "%s", gai_strerror(code));
		fail(connection);
		return;
	}
	connection->addresses = found;
	connection->address = found;
	try_address(connection);
}

struct relay_connection *relay_connection_new(struct event_base *base,
					      const struct relay_address *address,
					      const struct relay_connection_events *events,
					      void *user)
{
	struct relay_connection *connection = mem_alloc(sizeof(*connection));
	struct timeval limit = { .tv_sec = RELAY_CONNECT_S };

	connection->events = events;
	connection->user = user;
	connection->base = base;
	connection->fd = -1;
	viewer_init(&connection->viewer);
	connection->timer = event_new(base, -1, 0, on_silence, connection);
	connection->more = event_new(base, -1, 0, on_readable, connection);
	(void)event_add(connection->timer, &limit);
	connection->resolving = resolve_start(base, address->host, address->port, address->family,
					      on_resolved, connection);
	return connection;
}

void relay_connection_free(struct relay_connection *connection)
{
	if (!connection) {
		return;
	}
	if (connection->is_freed) {
		*connection->is_freed = true;
	}
	resolve_cancel(connection->resolving);
	close_socket(connection);
	event_free(connection->timer);
	event_free(connection->more);
	if (connection->addresses) {
		freeaddrinfo(connection->addresses);
	}
	viewer_fini(&connection->viewer);
	free(connection);
}

bool relay_connection_is_wrong(const struct relay_connection *connection)
{
	return connection->is_wrong;
}

struct viewer *relay_connection_viewer(struct relay_connection *connection)
{
	return &connection->viewer;
}
