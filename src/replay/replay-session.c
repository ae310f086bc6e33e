/*
 * replay-session: see replay-state.h.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "base/process/lookup.h"
#include "base/units.h"
#include "replay/replay-clocks.h"
#include "replay/replay-state.h"

#define WAIT_MS     100 /* how soon a signal is noticed */
#define DATA_WAIT_S 30
#define NO_PACKET   UINT64_MAX

/* ---- sockets ---- */

/* Until the socket is ready.  A relay that does not answer is left soon after a signal. */
static int wait_for(struct replay *replay, int fd, short events)
{
	struct pollfd socket = { .fd = fd, .events = events };
	uint64_t begin = now_monotonic_ns();

	while (poll(&socket, 1, WAIT_MS) <= 0) {
		if (now_must_hang_up(begin)) {
			return err_raise(&replay->err, -EINTR,
					 "interrupted: the relay does not answer");
		}
	}
	return 0;
}

static int connect_to(struct replay *replay, const struct addrinfo *at)
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
		r = wait_for(replay, fd, POLLOUT) < 0 ? EINTR : 0;
		if (r == 0) {
			(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &r, &len);
		}
	}
	if (r != 0) {
		(void)close(fd);
	}
	return r == 0 ? fd : -r;
}

int replay_connect(struct replay *replay, uint16_t port)
{
	const struct url *url = replay->config->relay;
	struct addrinfo *found;
	int fd = -1, one = 1, r = lookup_wait(url->host, port, url->family, &found);

	if (r == EAI_INTR) {
		return err_raise(&replay->err, -EINTR, "relay %s: interrupted", url->host);
	}
	if (r != 0) {
		return err_raise(&replay->err, -ENOENT, "relay %s: %s", url->host, gai_strerror(r));
	}
	for (const struct addrinfo *at = found; at && fd < 0 && fd != -EINTR; at = at->ai_next) {
		fd = connect_to(replay, at);
	}
	freeaddrinfo(found);
	if (fd < 0) {
		return fd == -EINTR ? fd
				    : err_raise(&replay->err, fd, "relay %s:%u: %s", url->host,
						port, strerror(-fd));
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

int replay_send(struct replay *replay, int fd, const void *bytes, size_t len)
{
	size_t done = 0;
	int r = 0;

	assert(fd >= 0);
	while (r == 0 && done < len) {
		ssize_t put = send(fd, (const char *)bytes + done, len - done, MSG_NOSIGNAL);

		if (put < 0 && (errno == EINTR || errno == EAGAIN)) {
			r = wait_for(replay, fd, POLLOUT);
		} else if (put <= 0) {
			r = err_raise(&replay->err, -EIO, "sending to the relay: %s",
				      strerror(errno));
		} else {
			done += (size_t)put;
		}
	}
	return r;
}

ssize_t replay_receive(struct replay *replay, int fd, void *bytes, size_t len)
{
	ssize_t got = -1;
	int r = 0;

	assert(len > 0);
	while (r == 0 && (got = recv(fd, bytes, len, 0)) < 0 &&
	       (errno == EINTR || errno == EAGAIN)) {
		r = wait_for(replay, fd, POLLIN);
	}
	if (r == 0 && got <= 0) {
		r = err_raise(&replay->err, -EIO, "the relay closed the connection%s%s",
			      got < 0 ? ": " : "", got < 0 ? strerror(errno) : "");
	}
	return r < 0 ? r : got;
}

static int receive_all(struct replay *replay, void *bytes, size_t len)
{
	ssize_t got = 0;

	for (size_t done = 0; done < len && got >= 0; done += (size_t)got) {
		got = replay_receive(replay, replay->control, (char *)bytes + done, len - done);
	}
	return got < 0 ? (int)got : 0;
}

int replay_send_message(struct replay *replay)
{
	return replay_send(replay, replay->control, replay->message.bytes.at,
			   replay->message.bytes.count);
}

int replay_read_codes(struct replay *replay, unsigned int left)
{
	while (replay->replies > left) {
		uint8_t code[PRODUCER_REPLY_CODE];
		int r = receive_all(replay, code, sizeof(code));

		if (r < 0) {
			return r;
		}
		if (wire_get_u32(code) != PRODUCER_OK) {
			return err_raise(&replay->err, -EPROTO,
					 "the relay refuses an index (code %u)",
					 wire_get_u32(code));
		}
		replay->replies--;
	}
	return 0;
}

/* Sends the message and reads a reply of fixed size. */
static int exchange(struct replay *replay, uint8_t *reply, size_t len)
{
	int r = replay_read_codes(replay, 0);

	assert(r < 0 || replay->replies == 0);
	if (r == 0) {
		r = replay_send_message(replay);
	}
	return r < 0 ? r : receive_all(replay, reply, len);
}

static int exchange_code(struct replay *replay, const char *doing)
{
	uint8_t code[PRODUCER_REPLY_CODE];
	int r = exchange(replay, code, sizeof(code));

	if (r == 0 && wire_get_u32(code) != PRODUCER_OK) {
		r = err_raise(&replay->err, -EPROTO, "the relay refuses %s (code %u)", doing,
			      wire_get_u32(code));
	}
	return r;
}

/* Reads the path at the end of a reply, which is not used. */
static int skip_path(struct replay *replay, uint32_t len)
{
	uint8_t path[4096]; /* PATH_MAX of the relay */

	if (len > sizeof(path)) {
		return err_raise(&replay->err, -EPROTO, "the relay sends a path of %u bytes", len);
	}
	return receive_all(replay, path, len);
}

/* ---- opening ---- */

/* Metadata of CTF 2 is JSON; each object may follow a record separator. */
static bool is_ctf2(const struct replay *replay)
{
	size_t len;
	const char *text = metadata_stream_text(replay->trace.metadata, &len);

	return len > 0 && (text[0] == '\x1E' || text[0] == '{');
}

static int open_session(struct replay *replay)
{
	struct producer_session session = {
		.name = replay->session,
		.host = replay->host,
		.live_timer_us = (uint32_t)(replay->config->live_timer_ns / 1000),
		.id = replay->number + 1,
		.creation_s = (uint64_t)time(NULL),
	};
	uint8_t reply[PRODUCER_REPLY_SESSION];
	int r;

	(void)!getrandom(session.uuid, sizeof(session.uuid), 0);
	session.uuid[0] |= 1; /* all zeros would mean: unknown */
	producer_version(&replay->message);
	r = exchange(replay, reply, PRODUCER_REPLY_VERSION);
	if (r < 0) {
		return r;
	}
	if (wire_get_u32(reply) != PRODUCER_MAJOR || wire_get_u32(reply + 4) < 11) {
		return err_raise(&replay->err, -EPROTO,
				 "the relay speaks protocol %u.%u, this program "
				 "speaks %d.%d and needs 2.11",
				 wire_get_u32(reply), wire_get_u32(reply + 4), PRODUCER_MAJOR,
				 PRODUCER_MINOR);
	}
	replay->minor = wire_get_u32(reply + 4);
	replay->minor = replay->minor < PRODUCER_MINOR ? replay->minor : PRODUCER_MINOR;
	session.minor = replay->minor;
	session.is_ctf2 = is_ctf2(replay);
	producer_create_session(&replay->message, &session);
	r = exchange(replay, reply, PRODUCER_REPLY_SESSION);
	if (r < 0) {
		return r;
	}
	if (wire_get_u32(reply + 8) != PRODUCER_OK) {
		return err_raise(&replay->err, -EPROTO,
				 "the relay refuses the session \"%s\" (code %u)", replay->session,
				 wire_get_u32(reply + 8));
	}
	replay->session_id = wire_get_u64(reply);
	r = skip_path(replay, wire_get_u32(reply + 12));
	if (r < 0) {
		return r;
	}
	producer_create_chunk(&replay->message, 0, session.creation_s);
	return exchange_code(replay, "a trace chunk");
}

static int add_stream(struct replay *replay, const char *channel, uint64_t *ret_handle)
{
	uint8_t reply[PRODUCER_REPLY_STREAM];
	int r;

	producer_add_stream(&replay->message, channel, replay->path);
	r = exchange(replay, reply, sizeof(reply));
	if (r == 0 && wire_get_u32(reply + 8) != PRODUCER_OK) {
		r = err_raise(&replay->err, -EPROTO,
			      "the relay refuses the stream \"%s\" (code %u)", channel,
			      wire_get_u32(reply + 8));
	}
	*ret_handle = wire_get_u64(reply);
	return r;
}

static int add_streams(struct replay *replay)
{
	int r = add_stream(replay, "metadata", &replay->metadata_handle);

	replay->streams.count = 0;
	for (size_t i = 0; r == 0 && i < replay->trace.files.at.count; i++) {
		struct replay_stream *stream = vec_push(&replay->streams);

		memset(stream, 0, sizeof(*stream));
		r = add_stream(replay, replay->trace.files.at.at[i].name, &stream->handle);
	}
	if (r < 0) {
		return r;
	}
	producer_streams_sent(&replay->message);
	return exchange_code(replay, "the streams");
}

int replay_open(struct replay *replay)
{
	int r = open_session(replay);

	return r < 0 ? r : add_streams(replay);
}

int replay_send_metadata(struct replay *replay)
{
	const struct metadata *types = replay->trace.plan->metadata;
	struct producer_message packets = { 0 };
	int64_t shift = replay->config->as_now ? (int64_t)(now_wall_ns() - replay->first_ns) : 0;
	size_t len;
	const char *original = metadata_stream_text(replay->trace.metadata, &len);
	char *text = replay_clocks_shift(original, len, shift, &len);
	int r;

	if (replay->minor >= 15 && is_ctf2(replay)) { /* its metadata has no packets */
		producer_send_metadata(&replay->message, replay->metadata_handle,
				       (const uint8_t *)text, len);
	} else {
		producer_wrap_metadata(&packets, text, len, types->uuid, types->order == ORDER_BE);
		producer_send_metadata(&replay->message, replay->metadata_handle, packets.bytes.at,
				       packets.bytes.count);
	}
	r = replay_send_message(replay); /* the relay sends no reply */
	producer_message_fini(&packets);
	free(text);
	return r;
}

/* ---- closing ---- */

/* Sends a question about data in flight; sets @is_pending if there is any. */
static int ask_pending(struct replay *replay, bool *is_pending)
{
	uint8_t reply[PRODUCER_REPLY_CODE];
	int r = exchange(replay, reply, sizeof(reply));

	*is_pending |= r == 0 && wire_get_u32(reply) == 1;
	return r;
}

/* One round of questions: between begin and end the relay expects one about each stream. */
static int check_data(struct replay *replay, bool *is_pending)
{
	int r;

	producer_begin_data_pending(&replay->message, replay->session_id);
	r = exchange_code(replay, "a data-pending check");
	if (r == 0) {
		producer_quiescent(&replay->message, replay->metadata_handle);
		r = exchange_code(replay, "a quiescent check");
	}
	for (size_t i = 0; r == 0 && i < replay->streams.count; i++) {
		const struct replay_stream *stream = &replay->streams.at[i];

		if (stream->sent > 0) {
			producer_data_pending(&replay->message, stream->handle, stream->sent - 1);
			r = ask_pending(replay, is_pending);
		} else {
			producer_quiescent(&replay->message, stream->handle);
			r = exchange_code(replay, "a quiescent check");
		}
	}
	if (r == 0) {
		producer_end_data_pending(&replay->message, replay->session_id);
		r = ask_pending(replay, is_pending);
	}
	return r;
}

/* The data connection has no replies: asks until the relay has all data. */
static int wait_data(struct replay *replay)
{
	uint64_t until = now_monotonic_ns() + DATA_WAIT_S * NS_PER_S;
	bool is_pending = true;
	int r = 0;

	while (r == 0 && is_pending) {
		is_pending = false;
		r = check_data(replay, &is_pending);
		if (now_monotonic_ns() > until) {
			return err_raise(&replay->err, -ETIMEDOUT,
					 "the relay has not taken all data "
					 "after %d s",
					 DATA_WAIT_S);
		}
		if (is_pending) {
			(void)usleep(2000);
		}
	}
	return r;
}

/* Without this, relayd before 2.14 forgets packets that are not read yet. */
static int leave_chunk(struct replay *replay)
{
	struct producer_position *positions =
		mem_alloc((replay->streams.count + 1) * sizeof(*positions));
	uint8_t reply[PRODUCER_REPLY_CLOSED_CHUNK];
	uint32_t count = 0;
	int r;

	positions[count++] = (struct producer_position){ .stream = replay->metadata_handle };
	VEC_EACH(&replay->streams, stream) {
		if (stream->sent > 0) {
			positions[count].stream = stream->handle;
			positions[count++].seq_num = stream->last_seq_num + 1;
		}
	}
	assert(count <= replay->streams.count + 1);
	producer_rotate(&replay->message, positions, count);
	free(positions);
	r = exchange_code(replay, "to end the trace chunk");
	if (r < 0) {
		return r;
	}
	producer_close_chunk(&replay->message, 0, (uint64_t)time(NULL));
	r = exchange(replay, reply, sizeof(reply));
	return r < 0 ? r : skip_path(replay, wire_get_u32(reply + 4));
}

static int close_streams(struct replay *replay)
{
	int r;

	producer_close_stream(&replay->message, replay->metadata_handle, NO_PACKET);
	r = exchange_code(replay, "to close the metadata");
	for (size_t i = 0; r == 0 && i < replay->streams.count; i++) {
		const struct replay_stream *stream = &replay->streams.at[i];

		producer_close_stream(&replay->message, stream->handle,
				      stream->sent > 0 ? stream->sent - 1 : NO_PACKET);
		r = exchange_code(replay, "to close a stream");
	}
	return r;
}

int replay_close(struct replay *replay)
{
	int r = wait_data(replay);

	r = r < 0 ? r : leave_chunk(replay);
	return r < 0 ? r : close_streams(replay);
}
