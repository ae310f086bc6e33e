/*
 * publish-talk: the connections to a relay: see publish-state.h.
 */
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/process/lookup.h"
#include "base/units.h"
#include "publish/publish-state.h"

/* Until the socket is ready.  A relay that does nothing is left, soon after a signal. */
static int wait_for_socket(struct publish *publish, int fd, short events)
{
	struct pollfd socket = { .fd = fd, .events = events };
	uint64_t begin = now_monotonic_ns();

	while (poll(&socket, 1, WAIT_POLL_MS) <= 0) {
		if (now_must_hang_up(begin)) {
			return err_raise(publish->err, -EINTR,
					 "interrupted: the relay does not answer");
		}
		if (now_monotonic_ns() - begin > publish->silence_ns) {
			char text[UNITS_TEXT_MAX];

			return err_raise(publish->err, -ETIMEDOUT,
					 "the relay has not answered for %s",
					 units_ns(text, publish->silence_ns));
		}
	}
	return 0;
}

static int connect_address(struct publish *publish, const struct addrinfo *at)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r = 0;
	socklen_t len = sizeof(r);

	if (fd < 0) {
		return -errno;
	}
	if (connect(fd, at->ai_addr, at->ai_addrlen) < 0) {
		r = errno;
	}
	if (r == EINPROGRESS) {
		r = -wait_for_socket(publish, fd, POLLOUT);
		if (r == 0) {
			(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &r, &len);
		}
	}
	if (r != 0) {
		(void)close(fd);
	}
	return r == 0 ? fd : -r;
}

int talk_connect(struct publish *publish, uint16_t port)
{
	const struct url *url = publish->relay;
	struct addrinfo *found;
	int fd = -1, one = 1, r = lookup_wait(url->host, port, url->family, &found);

	if (r == EAI_INTR) {
		return err_raise(publish->err, -EINTR, "relay %s: interrupted", url->host);
	}
	if (r != 0) {
		return err_raise(publish->err, -ENOENT, "relay %s: %s", url->host, gai_strerror(r));
	}
	for (const struct addrinfo *at = found; at && fd < 0 && fd != -EINTR; at = at->ai_next) {
		fd = connect_address(publish, at);
	}
	freeaddrinfo(found);
	if (fd < 0) {
		return fd == -EINTR ? fd
				    : err_raise(publish->err, fd, "relay %s:%u: %s", url->host,
						port, strerror(-fd));
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

int talk_send(struct publish *publish, int fd, const void *bytes, size_t len)
{
	size_t done = 0;
	int r = 0;

	assert(fd >= 0);
	while (r == 0 && done < len) {
		ssize_t put = send(fd, (const char *)bytes + done, len - done, MSG_NOSIGNAL);

		if (put < 0 && (errno == EINTR || errno == EAGAIN)) {
			r = wait_for_socket(publish, fd, POLLOUT);
		} else if (put <= 0) {
			r = err_raise(publish->err, -EIO, "sending to the relay: %s",
				      strerror(errno));
		} else {
			done += (size_t)put;
		}
	}
	return r;
}

ssize_t talk_receive(struct publish *publish, int fd, void *bytes, size_t len)
{
	ssize_t got = -1;
	int r = 0;

	assert(len > 0);
	while (r == 0 && (got = recv(fd, bytes, len, 0)) < 0 &&
	       (errno == EINTR || errno == EAGAIN)) {
		r = wait_for_socket(publish, fd, POLLIN);
	}
	if (r == 0 && got <= 0) {
		r = err_raise(publish->err, -EIO, "the relay closed the connection%s%s",
			      got < 0 ? ": " : "", got < 0 ? strerror(errno) : "");
	}
	return r < 0 ? r : got;
}

static int receive_all(struct publish *publish, void *bytes, size_t len)
{
	ssize_t got = 0;

	for (size_t done = 0; done < len && got >= 0; done += (size_t)got) {
		got = talk_receive(publish, publish->control, (char *)bytes + done, len - done);
	}
	return got < 0 ? (int)got : 0;
}

int talk_send_message(struct publish *publish)
{
	return talk_send(publish, publish->control, publish->message.bytes.at,
			 publish->message.bytes.count);
}

/* ---- replies to indexes and beacons ---- */

static void take_answer(struct publish *publish)
{
	const struct publish_awaited *what = &publish->awaited[publish->answered % REPLIES_AHEAD];

	assert(publish->answered < publish->asked);
	publish->account.packets += what->packets;
	publish->account.bytes += what->bytes;
	publish->account.events += what->events;
	publish->answered++;
}

/* Until at most @left are outstanding. */
static int read_codes(struct publish *publish, unsigned int left)
{
	while (publish->asked - publish->answered > left) {
		uint8_t code[PRODUCER_REPLY_CODE];
		int r = receive_all(publish, code, sizeof(code));

		if (r < 0) {
			return r;
		}
		if (wire_get_u32(code) != PRODUCER_OK) {
			return err_raise(publish->err, -EPROTO,
					 "the relay refuses an index (code %u)",
					 wire_get_u32(code));
		}
		take_answer(publish);
	}
	return 0;
}

/* One that has not come whole, or is none, stays for who waits for it. */
void talk_read_rest(struct publish *publish)
{
	uint8_t code[PRODUCER_REPLY_CODE];

	while (publish->asked > publish->answered &&
	       recv(publish->control, code, sizeof(code), MSG_DONTWAIT | MSG_PEEK) ==
		       sizeof(code) &&
	       wire_get_u32(code) == PRODUCER_OK) {
		(void)!recv(publish->control, code, sizeof(code), MSG_DONTWAIT);
		take_answer(publish);
	}
}

int talk_send_awaited(struct publish *publish, const struct publish_awaited *what)
{
	int r;

	talk_read_rest(publish); /* what is known of a relay that goes away later */
	r = read_codes(publish, REPLIES_AHEAD - 1);
	if (r == 0) {
		publish->awaited[publish->asked++ % REPLIES_AHEAD] = *what;
		r = talk_send_message(publish);
	}
	assert(publish->asked - publish->answered <= REPLIES_AHEAD);
	return r;
}

/* ---- questions ---- */

int talk_exchange(struct publish *publish, uint8_t *reply, size_t len)
{
	int r = read_codes(publish, 0);

	assert(r < 0 || publish->asked == publish->answered);
	if (r == 0) {
		r = talk_send_message(publish);
	}
	return r < 0 ? r : receive_all(publish, reply, len);
}

int talk_exchange_code(struct publish *publish, const char *doing)
{
	uint8_t code[PRODUCER_REPLY_CODE];
	int r = talk_exchange(publish, code, sizeof(code));

	if (r == 0 && wire_get_u32(code) != PRODUCER_OK) {
		r = err_raise(publish->err, -EPROTO, "the relay refuses %s (code %u)", doing,
			      wire_get_u32(code));
	}
	return r;
}

int talk_skip_path(struct publish *publish, uint32_t len)
{
	uint8_t path[4096]; /* PATH_MAX of the relay */

	if (len > sizeof(path)) {
		return err_raise(publish->err, -EPROTO, "the relay sends a path of %u bytes", len);
	}
	return receive_all(publish, path, len);
}
