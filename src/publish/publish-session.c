/*
 * publish-session: a session and its streams, opened and closed.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "base/units.h"
#include "publish/publish-state.h"

#define DATA_WAIT_S 30
#define NO_PACKET   UINT64_MAX

/* ---- opening ---- */

static int agree(struct publish *publish)
{
	uint8_t reply[PRODUCER_REPLY_VERSION];
	int r;

	producer_version(&publish->message);
	r = talk_exchange(publish, reply, sizeof(reply));
	if (r < 0) {
		return r;
	}
	if (wire_get_u32(reply) != PRODUCER_MAJOR || wire_get_u32(reply + 4) < 11) {
		return err_raise(publish->err, -EPROTO,
				 "the relay speaks protocol %u.%u, this program "
				 "speaks %d.%d and needs 2.11",
				 wire_get_u32(reply), wire_get_u32(reply + 4), PRODUCER_MAJOR,
				 PRODUCER_MINOR);
	}
	publish->minor = wire_get_u32(reply + 4);
	publish->minor = publish->minor < PRODUCER_MINOR ? publish->minor : PRODUCER_MINOR;
	return 0;
}

static int create_session(struct publish *publish, uint64_t creation_s)
{
	struct producer_session session = {
		.name = publish->session,
		.host = publish->host,
		.live_timer_us = (uint32_t)(publish->live_timer_ns / 1000),
		.id = publish->number + 1,
		.creation_s = creation_s,
		.minor = publish->minor,
		.is_ctf2 = publish->is_ctf2,
	};
	uint8_t reply[PRODUCER_REPLY_SESSION];
	int r;

	(void)!getrandom(session.uuid, sizeof(session.uuid), 0);
	session.uuid[0] |= 1; /* all zeros would mean: unknown */
	producer_create_session(&publish->message, &session);
	r = talk_exchange(publish, reply, sizeof(reply));
	if (r < 0) {
		return r;
	}
	if (wire_get_u32(reply + 8) != PRODUCER_OK) {
		return err_raise(publish->err, -EPROTO,
				 "the relay refuses the session \"%s\" (code %u)", publish->session,
				 wire_get_u32(reply + 8));
	}
	publish->session_id = wire_get_u64(reply);
	return talk_skip_path(publish, wire_get_u32(reply + 12));
}

/* The message has been made. */
static int take_handle(struct publish *publish, const char *channel, uint64_t *ret_handle)
{
	uint8_t reply[PRODUCER_REPLY_STREAM];
	int r = talk_exchange(publish, reply, sizeof(reply));

	if (r == 0 && wire_get_u32(reply + 8) != PRODUCER_OK) {
		r = err_raise(publish->err, -EPROTO,
			      "the relay refuses the stream \"%s\" (code %u)", channel,
			      wire_get_u32(reply + 8));
	}
	*ret_handle = r < 0 ? 0 : wire_get_u64(reply);
	return r;
}

int session_open(struct publish *publish)
{
	uint64_t creation_s = (uint64_t)time(NULL);
	int r = agree(publish);

	r = r < 0 ? r : create_session(publish, creation_s);
	if (r == 0) {
		producer_create_chunk(&publish->message, 0, creation_s);
		r = talk_exchange_code(publish, "a trace chunk");
	}
	if (r == 0) {
		producer_add_stream(&publish->message, "metadata", publish->path, 0, 0);
		r = take_handle(publish, "metadata", &publish->metadata_handle);
	}
	return r;
}

int publish_add_stream(struct publish *publish, const char *channel)
{
	struct publish_stream *stream = vec_push(&publish->streams);

	memset(stream, 0, sizeof(*stream));
	producer_add_stream(&publish->message, channel, publish->path, publish->file_bytes,
			    publish->file_count);
	return take_handle(publish, channel, &stream->handle);
}

int publish_streams(struct publish *publish)
{
	producer_streams_sent(&publish->message);
	return talk_exchange_code(publish, "the streams");
}

/* ---- closing ---- */

/* Sends a question about data in flight; sets @is_pending if there is any. */
static int ask_pending(struct publish *publish, bool *is_pending)
{
	uint8_t reply[PRODUCER_REPLY_CODE];
	int r = talk_exchange(publish, reply, sizeof(reply));

	*is_pending |= r == 0 && wire_get_u32(reply) == 1;
	return r;
}

/* One round of questions: between begin and end the relay expects one about each stream. */
static int check_data(struct publish *publish, bool *is_pending)
{
	int r;

	producer_begin_data_pending(&publish->message, publish->session_id);
	r = talk_exchange_code(publish, "a data-pending check");
	if (r == 0) {
		producer_quiescent(&publish->message, publish->metadata_handle);
		r = talk_exchange_code(publish, "a quiescent check");
	}
	for (size_t i = 0; r == 0 && i < publish->streams.count; i++) {
		const struct publish_stream *stream = &publish->streams.at[i];

		if (stream->sent > 0) {
			producer_data_pending(&publish->message, stream->handle, stream->sent - 1);
			r = ask_pending(publish, is_pending);
		} else {
			producer_quiescent(&publish->message, stream->handle);
			r = talk_exchange_code(publish, "a quiescent check");
		}
	}
	if (r == 0) {
		producer_end_data_pending(&publish->message, publish->session_id);
		r = ask_pending(publish, is_pending);
	}
	return r;
}

/* The data connection has no replies: asks until the relay has all data. */
static int wait_data(struct publish *publish)
{
	uint64_t until = now_monotonic_ns() + DATA_WAIT_S * NS_PER_S;
	bool is_pending = true;
	int r = 0;

	while (r == 0 && is_pending) {
		is_pending = false;
		r = check_data(publish, &is_pending);
		if (now_monotonic_ns() > until) {
			return err_raise(publish->err, -ETIMEDOUT,
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
static int leave_chunk(struct publish *publish)
{
	struct producer_position *positions =
		mem_alloc((publish->streams.count + 1) * sizeof(*positions));
	uint8_t reply[PRODUCER_REPLY_CLOSED_CHUNK];
	uint32_t count = 0;
	int r;

	positions[count++] = (struct producer_position){ .stream = publish->metadata_handle };
	VEC_EACH(&publish->streams, stream) {
		if (stream->sent > 0) {
			positions[count].stream = stream->handle;
			positions[count++].seq_num = stream->last_seq_num + 1;
		}
	}
	assert(count <= publish->streams.count + 1);
	producer_rotate(&publish->message, positions, count);
	free(positions);
	r = talk_exchange_code(publish, "to end the trace chunk");
	if (r < 0) {
		return r;
	}
	producer_close_chunk(&publish->message, 0, (uint64_t)time(NULL));
	r = talk_exchange(publish, reply, sizeof(reply));
	return r < 0 ? r : talk_skip_path(publish, wire_get_u32(reply + 4));
}

static int close_streams(struct publish *publish)
{
	int r;

	producer_close_stream(&publish->message, publish->metadata_handle, NO_PACKET);
	r = talk_exchange_code(publish, "to close the metadata");
	for (size_t i = 0; r == 0 && i < publish->streams.count; i++) {
		const struct publish_stream *stream = &publish->streams.at[i];

		producer_close_stream(&publish->message, stream->handle,
				      stream->sent > 0 ? stream->sent - 1 : NO_PACKET);
		r = talk_exchange_code(publish, "to close a stream");
	}
	return r;
}

int publish_close(struct publish *publish)
{
	int r = wait_data(publish);

	r = r < 0 ? r : leave_chunk(publish);
	return r < 0 ? r : close_streams(publish);
}
