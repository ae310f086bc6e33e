/*
 * player-session: see player-state.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "live/replay/replay-state.h"

#define NS_PER_S    UINT64_C(1000000000)
#define DATA_WAIT_S 30
#define NO_PACKET   UINT64_MAX

/* ---- sockets ---- */

int play_connect(const struct url *url, uint16_t port, struct err *err)
{
	struct addrinfo hints = { .ai_family = url->family, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char service[8];
	int fd = -1, one = 1, r;

	(void)snprintf(service, sizeof(service), "%u", port);
	r = getaddrinfo(url->host, service, &hints, &found);
	if (r != 0) {
		return err_raise(err, -ENOENT, "relay %s: %s", url->host, gai_strerror(r));
	}
	for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		r = fd < 0 || connect(fd, at->ai_addr, at->ai_addrlen) < 0 ? -errno : 0;
		if (fd >= 0 && r < 0) {
			(void)close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	if (fd < 0) {
		return err_raise(err, r, "relay %s:%u: %s", url->host, port, strerror(-r));
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

int play_send(struct play *play, int fd, const void *bytes, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t put = send(fd, (const char *)bytes + done, len - done, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR) {
			continue;
		}
		if (put <= 0) {
			return err_raise(&play->err, -EIO, "sending to the relay: %s",
					 strerror(errno));
		}
		done += (size_t)put;
	}
	return 0;
}

static int receive_all(struct play *play, void *bytes, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t got = recv(play->control, (char *)bytes + done, len - done, 0);

		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			return err_raise(&play->err, -EIO,
					 "the relay closed the control connection%s%s",
					 got < 0 ? ": " : "", got < 0 ? strerror(errno) : "");
		}
		done += (size_t)got;
	}
	return 0;
}

int play_send_message(struct play *play)
{
	return play_send(play, play->control, play->message.bytes.at, play->message.bytes.count);
}

int play_read_codes(struct play *play, unsigned int left)
{
	while (play->replies > left) {
		uint8_t code[PRODUCER_REPLY_CODE];
		int r = receive_all(play, code, sizeof(code));

		if (r < 0) {
			return r;
		}
		if (wire_get_u32(code) != PRODUCER_OK) {
			return err_raise(&play->err, -EPROTO,
					 "the relay refuses an index (code %u)",
					 wire_get_u32(code));
		}
		play->replies--;
	}
	return 0;
}

/* Sends the message and reads a reply of fixed size. */
static int exchange(struct play *play, uint8_t *reply, size_t len)
{
	int r = play_read_codes(play, 0);

	if (r == 0) {
		r = play_send_message(play);
	}
	return r < 0 ? r : receive_all(play, reply, len);
}

static int exchange_code(struct play *play, const char *doing)
{
	uint8_t code[PRODUCER_REPLY_CODE];
	int r = exchange(play, code, sizeof(code));

	if (r == 0 && wire_get_u32(code) != PRODUCER_OK) {
		r = err_raise(&play->err, -EPROTO, "the relay refuses %s (code %u)", doing,
			      wire_get_u32(code));
	}
	return r;
}

/* Replies that end in a path, which nobody needs. */
static int skip_path(struct play *play, uint32_t len)
{
	uint8_t path[4096];

	if (len > sizeof(path)) {
		return err_raise(&play->err, -EPROTO, "the relay sends a path of %u bytes", len);
	}
	return receive_all(play, path, len);
}

/* ---- opening ---- */

static int open_session(struct play *play)
{
	struct producer_session session = {
		.name = play->session,
		.host = play->host,
		.live_timer_us = (uint32_t)(play->config->live_timer_ns / 1000),
		.id = play->number + 1,
		.creation_s = (uint64_t)time(NULL),
	};
	uint8_t reply[PRODUCER_REPLY_SESSION];
	int r;

	(void)!getrandom(session.uuid, sizeof(session.uuid), 0);
	session.uuid[0] |= 1; /* never all zero */
	producer_version(&play->message);
	r = exchange(play, reply, PRODUCER_REPLY_VERSION);
	if (r < 0) {
		return r;
	}
	if (wire_get_u32(reply) != PRODUCER_MAJOR || wire_get_u32(reply + 4) < 11) {
		return err_raise(&play->err, -EPROTO,
				 "the relay speaks protocol %u.%u, this program "
				 "speaks %d.%d and needs 2.11",
				 wire_get_u32(reply), wire_get_u32(reply + 4), PRODUCER_MAJOR,
				 PRODUCER_MINOR);
	}
	producer_create_session(&play->message, &session);
	r = exchange(play, reply, PRODUCER_REPLY_SESSION);
	if (r < 0) {
		return r;
	}
	if (wire_get_u32(reply + 8) != PRODUCER_OK) {
		return err_raise(&play->err, -EPROTO,
				 "the relay refuses the session \"%s\" (code %u)", play->session,
				 wire_get_u32(reply + 8));
	}
	play->session_id = wire_get_u64(reply);
	r = skip_path(play, wire_get_u32(reply + 12));
	if (r < 0) {
		return r;
	}
	producer_create_chunk(&play->message, 0, session.creation_s);
	return exchange_code(play, "a trace chunk");
}

static int add_stream(struct play *play, const char *channel, uint64_t *ret_handle)
{
	uint8_t reply[PRODUCER_REPLY_STREAM];
	int r;

	producer_add_stream(&play->message, channel, play->path);
	r = exchange(play, reply, sizeof(reply));
	if (r == 0 && wire_get_u32(reply + 8) != PRODUCER_OK) {
		r = err_raise(&play->err, -EPROTO, "the relay refuses the stream \"%s\" (code %u)",
			      channel, wire_get_u32(reply + 8));
	}
	*ret_handle = wire_get_u64(reply);
	return r;
}

static int add_streams(struct play *play)
{
	int r = add_stream(play, "metadata", &play->metadata_handle);

	play->streams.count = 0;
	for (size_t i = 0; r == 0 && i < play->trace.files.at.count; i++) {
		struct play_stream *stream = vec_push(&play->streams);

		memset(stream, 0, sizeof(*stream));
		r = add_stream(play, play->trace.files.at.at[i].name, &stream->handle);
	}
	if (r < 0) {
		return r;
	}
	producer_streams_sent(&play->message);
	return exchange_code(play, "the streams");
}

int play_open(struct play *play)
{
	int r = open_session(play);

	return r < 0 ? r : add_streams(play);
}

/* The text with the offset of each clock block moved by @shift_ns. */
static char *shift_clocks(const struct recorded *trace, int64_t shift_ns, size_t *ret_len)
{
	size_t len;
	const char *text = metadata_stream_text(trace->metadata, &len);
	char *copy = mem_alloc(len + 1), *at = copy, *shifted = NULL;
	char *result = NULL;
	size_t result_len = 0;
	FILE *out = open_memstream(&result, &result_len);

	memcpy(copy, text, len);
	while ((shifted = strstr(at, "\n\toffset = "))) {
		char *number = shifted + strlen("\n\toffset = "), *past;
		int64_t offset = (int64_t)strtoull(number, &past, 10);

		/* In cycles: LTTng's clocks are of 1 GHz. */
		(void)fprintf(out, "%.*s%" PRId64, (int)(number - at), at, offset + shift_ns);
		at = past;
	}
	(void)fputs(at, out);
	(void)fclose(out);
	free(copy);
	*ret_len = result_len;
	return result;
}

int play_send_metadata(struct play *play)
{
	const struct metadata *types = play->trace.plan->metadata;
	struct message packets = { 0 };
	int64_t shift = play->config->as_now ? (int64_t)(now_wall_ns() - play->first_ns) : 0;
	size_t len;
	char *text = shift_clocks(&play->trace, shift, &len);
	int r;

	producer_wrap_metadata(&packets, text, len, types->uuid, types->order == ORDER_BE);
	producer_send_metadata(&play->message, play->metadata_handle, packets.bytes.at,
			       packets.bytes.count);
	r = play_send_message(play); /* has no reply */
	message_fini(&packets);
	free(text);
	return r;
}

/* ---- closing ---- */

/* Sends a question about data on its way; notes whether there is some. */
static int ask_pending(struct play *play, bool *is_pending)
{
	uint8_t reply[PRODUCER_REPLY_CODE];
	int r = exchange(play, reply, sizeof(reply));

	*is_pending |= r == 0 && wire_get_u32(reply) == 1;
	return r;
}

/* One round: the relay wants to hear of every stream between begin and end. */
static int check_data(struct play *play, bool *is_pending)
{
	int r;

	producer_begin_data_pending(&play->message, play->session_id);
	r = exchange_code(play, "a data-pending check");
	if (r == 0) {
		producer_quiescent(&play->message, play->metadata_handle);
		r = exchange_code(play, "a quiescent check");
	}
	for (size_t i = 0; r == 0 && i < play->streams.count; i++) {
		const struct play_stream *stream = &play->streams.at[i];

		if (stream->sent > 0) {
			producer_data_pending(&play->message, stream->handle, stream->sent - 1);
			r = ask_pending(play, is_pending);
		} else {
			producer_quiescent(&play->message, stream->handle);
			r = exchange_code(play, "a quiescent check");
		}
	}
	if (r == 0) {
		producer_end_data_pending(&play->message, play->session_id);
		r = ask_pending(play, is_pending);
	}
	return r;
}

/* Data travels on a connection without replies: ask until the relay has all of it. */
static int wait_data(struct play *play)
{
	uint64_t until = now_monotonic_ns() + DATA_WAIT_S * NS_PER_S;
	bool is_pending = true;
	int r = 0;

	while (r == 0 && is_pending) {
		is_pending = false;
		r = check_data(play, &is_pending);
		if (now_monotonic_ns() > until) {
			return err_raise(&play->err, -ETIMEDOUT,
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

/* Without leaving the trace chunk first, relayd before 2.14 forgets unread packets. */
static int leave_chunk(struct play *play)
{
	struct producer_position *positions =
		mem_alloc((play->streams.count + 1) * sizeof(*positions));
	uint8_t reply[PRODUCER_REPLY_CLOSED_CHUNK];
	uint32_t count = 0;
	int r;

	positions[count++] = (struct producer_position){ .stream = play->metadata_handle };
	for (size_t i = 0; i < play->streams.count; i++) {
		const struct play_stream *stream = &play->streams.at[i];

		if (stream->sent > 0) {
			positions[count].stream = stream->handle;
			positions[count++].seq_num = stream->last_seq_num + 1;
		}
	}
	producer_rotate(&play->message, positions, count);
	free(positions);
	r = exchange_code(play, "to end the trace chunk");
	if (r < 0) {
		return r;
	}
	producer_close_chunk(&play->message, 0, (uint64_t)time(NULL));
	r = exchange(play, reply, sizeof(reply));
	return r < 0 ? r : skip_path(play, wire_get_u32(reply + 4));
}

static int close_streams(struct play *play)
{
	int r;

	producer_close_stream(&play->message, play->metadata_handle, NO_PACKET);
	r = exchange_code(play, "to close the metadata");
	for (size_t i = 0; r == 0 && i < play->streams.count; i++) {
		const struct play_stream *stream = &play->streams.at[i];

		producer_close_stream(&play->message, stream->handle,
				      stream->sent > 0 ? stream->sent - 1 : NO_PACKET);
		r = exchange_code(play, "to close a stream");
	}
	return r;
}

int play_close(struct play *play)
{
	int r = wait_data(play);

	r = r < 0 ? r : leave_chunk(play);
	return r < 0 ? r : close_streams(play);
}
