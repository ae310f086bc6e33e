/*
 * viewer: see viewer.h.
 *
 * Receiving is a sequence of decisions, each made once `need` bytes of the body have arrived: first
 * about the fixed part of the reply, then about what its counts and lengths announce.
 */
#include "relay/viewer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "base/limits.h"
#include "base/probe.h"

#define METADATA_MAGIC 0x75D11D57u /* of a packet of metadata */

void viewer_init(struct viewer *viewer)
{
	memset(viewer, 0, sizeof(*viewer));
}

/* The reply takes @bytes; false: there is no memory for them. */
static bool take_memory(struct viewer *viewer, enum account_kind kind, uint64_t bytes)
{
	assert(viewer->charged == 0);
	if (bytes <= RELAY_RECEIVE_BYTES) {
		return true;
	}
	if (kind == ACCOUNT_LISTS ? !account_may_list(viewer->account, bytes)
				  : !account_may_last(viewer->account, bytes)) {
		return false;
	}
	viewer->kind = kind;
	viewer->charged = bytes;
	account_take(viewer->account, kind, bytes);
	return true;
}

/* The reply was taken: what it needed goes back. */
static void give_memory(struct viewer *viewer)
{
	if (viewer->charged > 0) {
		account_give(viewer->account, viewer->kind, viewer->charged);
		viewer->charged = 0;
		vec_fini(&viewer->body);
		vec_fini(&viewer->sessions);
		vec_fini(&viewer->streams);
	}
}

void viewer_fini(struct viewer *viewer)
{
	give_memory(viewer);
	vec_fini(&viewer->out);
	vec_fini(&viewer->pending);
	vec_fini(&viewer->body);
	vec_fini(&viewer->sessions);
	vec_fini(&viewer->streams);
}

/* ---- requests ---- */

static void request(struct viewer *viewer, const struct viewer_request *one, const uint8_t *payload,
		    size_t len)
{
	uint8_t header[VIEWER_HEADER_BYTES];
	struct wire_out out = { .at = header };

	wire_put_u64(&out, len);
	wire_put_u32(&out, one->command);
	probe_request((uint32_t)one->command);
	wire_put_u32(&out, 0);
	for (size_t i = 0; i < sizeof(header); i++) {
		*vec_push(&viewer->out) = header[i];
	}
	for (size_t i = 0; i < len; i++) {
		*vec_push(&viewer->out) = payload[i];
	}
	if (viewer->pending_first > 0 && viewer->pending_first == viewer->pending.count) {
		viewer->pending_first = 0;
		viewer->pending.count = 0;
	}
	*vec_push(&viewer->pending) = *one;
	assert(viewer->pending_first < viewer->pending.count);
}

static void request_u64(struct viewer *viewer, enum viewer_command command, uint64_t value,
			uint64_t tag)
{
	struct viewer_request one = { .command = command, .tag = tag };
	uint8_t payload[8];
	struct wire_out out = { .at = payload };

	wire_put_u64(&out, value);
	request(viewer, &one, payload, sizeof(payload));
}

void viewer_connect(struct viewer *viewer)
{
	struct viewer_request one = { .command = VIEWER_CONNECT };
	uint8_t payload[VIEWER_CONNECT_BYTES];
	struct wire_out out = { .at = payload };

	wire_put_u64(&out, UINT64_MAX);
	wire_put_u32(&out, VIEWER_MAJOR);
	wire_put_u32(&out, VIEWER_MINOR);
	wire_put_u32(&out, 1); /* a command connection */
	assert(out.at == payload + sizeof(payload));
	request(viewer, &one, payload, sizeof(payload));
}

void viewer_list_sessions(struct viewer *viewer)
{
	struct viewer_request one = { .command = VIEWER_LIST_SESSIONS };

	request(viewer, &one, NULL, 0);
}

void viewer_create_session(struct viewer *viewer)
{
	struct viewer_request one = { .command = VIEWER_CREATE_SESSION };

	request(viewer, &one, NULL, 0);
}

void viewer_attach(struct viewer *viewer, uint64_t session_id, uint32_t seek)
{
	struct viewer_request one = { .command = VIEWER_ATTACH_SESSION };
	uint8_t payload[20];
	struct wire_out out = { .at = payload };

	wire_put_u64(&out, session_id);
	wire_put_u64(&out, 0);
	wire_put_u32(&out, seek);
	assert(out.at == payload + sizeof(payload));
	request(viewer, &one, payload, sizeof(payload));
}

void viewer_get_new_streams(struct viewer *viewer, uint64_t session_id)
{
	request_u64(viewer, VIEWER_GET_NEW_STREAMS, session_id, 0);
}

void viewer_get_metadata(struct viewer *viewer, uint64_t stream_id, uint64_t tag, bool begins)
{
	request_u64(viewer, VIEWER_GET_METADATA, stream_id, tag);
	viewer->pending.at[viewer->pending.count - 1].begins = begins;
}

void viewer_get_index(struct viewer *viewer, uint64_t stream_id, uint64_t tag)
{
	request_u64(viewer, VIEWER_GET_NEXT_INDEX, stream_id, tag);
}

void viewer_get_packet(struct viewer *viewer, uint64_t stream_id, uint64_t offset, uint8_t *into,
		       uint32_t len, uint64_t tag)
{
	struct viewer_request one = {
		.command = VIEWER_GET_PACKET, .tag = tag, .into = into, .len = len
	};
	uint8_t payload[20];
	struct wire_out out = { .at = payload };

	assert(into);
	assert(len > 0);
	assert(len <= RELAY_PIECE_BYTES);
	wire_put_u64(&out, stream_id);
	wire_put_u64(&out, offset);
	wire_put_u32(&out, len);
	assert(out.at == payload + sizeof(payload));
	request(viewer, &one, payload, sizeof(payload));
}

size_t viewer_pending(const struct viewer *viewer)
{
	assert(viewer->pending_first <= viewer->pending.count);
	return viewer->pending.count - viewer->pending_first;
}

/* ---- replies ---- */

static const struct viewer_request *expected(const struct viewer *viewer)
{
	assert(viewer_pending(viewer) > 0);
	return &viewer->pending.at[viewer->pending_first];
}

/* The size of the fixed part of each reply, whatever follows it. */
static size_t head_bytes(enum viewer_command command)
{
	switch (command) {
	case VIEWER_CONNECT:
		return VIEWER_CONNECT_BYTES;
	case VIEWER_LIST_SESSIONS:
	case VIEWER_CREATE_SESSION:
		return 4;
	case VIEWER_ATTACH_SESSION:
	case VIEWER_GET_NEW_STREAMS:
		return 8;
	case VIEWER_GET_NEXT_INDEX:
		return VIEWER_INDEX_BYTES;
	case VIEWER_GET_PACKET:
	case VIEWER_GET_METADATA:
		return 12;
	}
	return 4;
}

/* Where bytes go that nobody needs. */
static uint8_t *want_skipped(struct viewer *viewer, size_t *ret_len)
{
	while (viewer->body.room < viewer->body.count + RELAY_RECEIVE_BYTES) {
		vec_grow_slow_((void **)&viewer->body.at, &viewer->body.room, 1);
	}
	*ret_len = viewer->skip < RELAY_RECEIVE_BYTES ? viewer->skip : RELAY_RECEIVE_BYTES;
	return viewer->body.at + viewer->body.count;
}

uint8_t *viewer_want(struct viewer *viewer, size_t *ret_len)
{
	size_t room;

	if (viewer->skip > 0) {
		return want_skipped(viewer, ret_len);
	}

	if (viewer->direct > 0) {
		const struct viewer_request *one = expected(viewer);

		assert(viewer->direct <= one->len);
		*ret_len = viewer->direct;
		return one->into + one->len - viewer->direct;
	}
	if (!viewer->is_receiving) {
		/* Unrequested bytes are an error, which viewer_fed() reports; until then they need
		 * a place. */
		give_memory(viewer);
		viewer->is_refused = false;
		viewer->is_receiving = viewer_pending(viewer) > 0;
		viewer->need = viewer->is_receiving ? head_bytes(expected(viewer)->command) : 1;
		viewer->body.count = 0;
		viewer->has_head = false;
	}
	assert(viewer->need > 0);
	/* Memory grows as bytes arrive, not as a length announces them; nor beyond that. */
	room = viewer->need < RELAY_RECEIVE_BYTES ? viewer->need : RELAY_RECEIVE_BYTES;
	if (viewer->body.room < viewer->body.count + room) {
		size_t all = viewer->body.count + viewer->need, twice = 2 * viewer->body.room;

		twice = twice < RELAY_RECEIVE_BYTES ? RELAY_RECEIVE_BYTES : twice;
		vec_reserve(&viewer->body, twice < all ? twice : all);
	}
	*ret_len = viewer->body.room - viewer->body.count < room
			   ? viewer->body.room - viewer->body.count
			   : room;
	return viewer->body.at + viewer->body.count;
}

/* @item_bytes on the way, and as many of @memory_bytes then. */
static int announce(struct viewer *viewer, uint64_t items, uint64_t item_bytes,
		    uint64_t memory_bytes, uint64_t max, const char *what, struct err *err)
{
	if (items > max) {
		return err_raise(err, -EPROTO,
				 "the relay announces %" PRIu64 " %s, the limit is %" PRIu64, items,
				 what, max);
	}
	if (!take_memory(viewer, ACCOUNT_LISTS, items * (item_bytes + memory_bytes))) {
		return err_raise(err, -ENOMEM,
				 "a list of %" PRIu64 " %s does not fit into --max-memory", items,
				 what);
	}
	viewer->count = (uint32_t)items;
	viewer->need = items * item_bytes;
	return 0;
}

static int connect_head(struct viewer *viewer, const uint8_t *at, struct err *err)
{
	uint32_t major = wire_get_u32(at + 8), minor = wire_get_u32(at + 12);

	if (major == 0 || major > RELAY_VERSION_MAX || minor > RELAY_VERSION_MAX) {
		return err_raise(err, -EPROTO, "what answers is not a relay");
	}
	viewer->is_other_version = major != VIEWER_MAJOR || minor < VIEWER_MINOR_LEAST;
	if (major != VIEWER_MAJOR) {
		return err_raise(err, -EPROTO,
				 "the relay speaks viewer protocol %u.%u, this program "
				 "speaks %d.%d",
				 major, minor, VIEWER_MAJOR, VIEWER_MINOR);
	}
	if (minor < VIEWER_MINOR_LEAST) {
		return err_raise(err, -EPROTO,
				 "the relay speaks viewer protocol %u.%u, this program "
				 "needs %d.%d or later",
				 major, minor, VIEWER_MAJOR, VIEWER_MINOR_LEAST);
	}
	viewer->minor = minor < VIEWER_MINOR ? minor : VIEWER_MINOR;
	return 0;
}

static bool has_long_sessions(const struct viewer *viewer)
{
	return viewer->minor >= 15 && expected(viewer)->command == VIEWER_LIST_SESSIONS;
}

/* Minor 15: each session has a size of its own.  The body holds one session at a time. */
static int sessions_head(struct viewer *viewer, uint32_t count, struct err *err)
{
	const uint64_t memory = 2 * sizeof(struct viewer_session); /* an array that doubles */
	int r;

	if (!has_long_sessions(viewer)) {
		return announce(viewer, count, VIEWER_SESSION_BYTES, memory, RELAY_SESSIONS_MAX,
				"sessions", err);
	}
	r = announce(viewer, count, 0, memory, RELAY_SESSIONS_MAX, "sessions", err);
	if (r < 0) {
		return r;
	}
	viewer->sessions.count = 0;
	viewer->sessions_left = count;
	viewer->session_at = viewer->body.count;
	viewer->need = count > 0 ? VIEWER_SESSION_LONG_BYTES : 0;
	return 0;
}

/* The fixed part of a session has arrived, or the whole session with its names. */
static int session_more(struct viewer *viewer, struct err *err)
{
	const uint8_t *at = viewer->body.at + viewer->session_at;
	uint32_t host_len = wire_get_u32(at + 20), name_len = wire_get_u32(at + 24);
	size_t got = viewer->body.count - viewer->session_at;

	if (host_len > VIEWER_HOST_LONG_BYTES || name_len > VIEWER_NAME_LONG_BYTES) {
		return err_raise(err, -EPROTO,
				 "the relay announces names of %u and %u bytes, the limits are "
				 "%d and %d",
				 host_len, name_len, VIEWER_HOST_LONG_BYTES,
				 VIEWER_NAME_LONG_BYTES);
	}
	assert(viewer->sessions_left > 0);
	assert(got <= VIEWER_SESSION_LONG_BYTES + host_len + name_len);
	viewer->need = VIEWER_SESSION_LONG_BYTES + host_len + name_len - got;
	if (viewer->need == 0) {
		wire_get_session_long(at, host_len, name_len, vec_push(&viewer->sessions));
		viewer->body.count = viewer->session_at;
		viewer->need = --viewer->sessions_left > 0 ? VIEWER_SESSION_LONG_BYTES : 0;
	}
	return 0;
}

static int packet_head(struct viewer *viewer, const uint8_t *at, struct err *err)
{
	uint32_t status = wire_get_u32(at), len = wire_get_u32(at + 4);

	if (status != PACKET_OK) {
		return 0;
	}
	viewer->is_of_other_length = len != expected(viewer)->len;
	if (viewer->is_of_other_length && viewer->takes_any_length && len <= PACKET_BYTES_MAX) {
		viewer->skip = len;
		return 0;
	}
	if (viewer->is_of_other_length) {
		return err_raise(err, -EPROTO,
				 "the relay sends %u bytes of a packet, %u were asked for", len,
				 expected(viewer)->len);
	}
	viewer->direct = len;
	return 0;
}

/*
 * Metadata begins with the magic number of its packets in either byte order (CTF 1.8), with text,
 * or with a record separator (CTF 2).  The replies to all other requests begin with a zero.
 */
static int check_metadata(const struct viewer *viewer, struct err *err)
{
	const uint8_t *at = viewer->body.at + 12;
	size_t len = viewer->body.count - 12;
	uint32_t magic;

	if (!expected(viewer)->begins || len == 0 || (len < 4 && viewer->need > 0)) {
		return 0;
	}
	magic = len < 4 ? 0 : wire_get_u32(at);
	if (magic == METADATA_MAGIC || magic == __builtin_bswap32(METADATA_MAGIC) ||
	    *at == '\x1E' || *at == '\t' || *at == '\n' || *at == '\r' ||
	    (*at >= ' ' && *at <= '~')) {
		return 0;
	}
	return err_raise(err, -EPROTO,
			 "metadata begins with 0x%02x: it is not metadata that the relay sent",
			 *at);
}

/* What is made of metadata takes some times as much. */
static int metadata_head(struct viewer *viewer, uint64_t len, struct err *err)
{
	if (len > METADATA_BYTES_MAX) {
		return err_raise(err, -EPROTO,
				 "the relay announces %" PRIu64
				 " bytes of metadata, the limit is %zu",
				 len, METADATA_BYTES_MAX);
	}
	if (viewer->advance) {
		account_give(viewer->account, ACCOUNT_SESSIONS, *viewer->advance);
		*viewer->advance = 0;
	}
	viewer->is_refused = !account_may_last(viewer->account, len * METADATA_MEMORY_FACTOR) ||
			     !take_memory(viewer, ACCOUNT_METADATA, len);
	if (viewer->is_refused) {
		viewer->skip = len;
	} else {
		viewer->need = len;
	}
	return 0;
}

/* The fixed part has arrived: decides what follows. */
static int head(struct viewer *viewer, struct err *err)
{
	const uint8_t *at = viewer->body.at;

	switch (expected(viewer)->command) {
	case VIEWER_CONNECT:
		return connect_head(viewer, at, err);
	case VIEWER_LIST_SESSIONS:
		return sessions_head(viewer, wire_get_u32(at), err);
	case VIEWER_ATTACH_SESSION:
		/* With any other status no streams follow, whatever the count says. */
		return announce(viewer, wire_get_u32(at) == ATTACH_OK ? wire_get_u32(at + 4) : 0,
				VIEWER_STREAM_BYTES, sizeof(struct viewer_stream),
				RELAY_STREAMS_MAX, "streams", err);
	case VIEWER_GET_NEW_STREAMS:
		return announce(viewer, wire_get_u32(at) == STREAMS_OK ? wire_get_u32(at + 4) : 0,
				VIEWER_STREAM_BYTES, sizeof(struct viewer_stream),
				RELAY_STREAMS_MAX, "streams", err);
	case VIEWER_GET_METADATA:
		return wire_get_u32(at + 8) == METADATA_OK
			       ? metadata_head(viewer, wire_get_u64(at), err)
			       : 0;
	case VIEWER_GET_PACKET:
		return packet_head(viewer, at, err);
	case VIEWER_GET_NEXT_INDEX:
	case VIEWER_CREATE_SESSION:
		return 0;
	}
	return 0;
}

static void fill_lists(struct viewer *viewer, struct viewer_reply *reply)
{
	bool is_list = reply->command == VIEWER_LIST_SESSIONS;

	if (is_list && !has_long_sessions(viewer)) {
		viewer->sessions.count = 0;
	}
	viewer->streams.count = 0;
	if (!is_list) {
		vec_reserve(&viewer->streams, viewer->count);
	}
	for (uint32_t i = 0; i < viewer->count; i++) {
		if (is_list && has_long_sessions(viewer)) {
			break; /* session_more() has filled it */
		} else if (is_list) {
			wire_get_session(viewer->body.at + 4 + i * VIEWER_SESSION_BYTES,
					 vec_push(&viewer->sessions));
		} else {
			wire_get_stream(viewer->body.at + 8 + i * VIEWER_STREAM_BYTES,
					vec_push(&viewer->streams));
		}
	}
	assert(viewer->count == (is_list ? viewer->sessions.count : viewer->streams.count));
	reply->sessions = viewer->sessions.at;
	reply->streams = viewer->streams.at;
	reply->count = viewer->count;
}

static void complete(struct viewer *viewer, struct viewer_reply *reply)
{
	const struct viewer_request *one = expected(viewer);
	const uint8_t *at = viewer->body.at;

	assert(viewer->has_head);
	assert(viewer->sessions_left == 0);
	memset(reply, 0, sizeof(*reply));
	reply->command = one->command;
	reply->tag = one->tag;
	switch (one->command) {
	case VIEWER_CONNECT:
		reply->major = wire_get_u32(at + 8);
		reply->minor = wire_get_u32(at + 12);
		break;
	case VIEWER_LIST_SESSIONS:
	case VIEWER_ATTACH_SESSION:
	case VIEWER_GET_NEW_STREAMS:
		reply->status = wire_get_u32(at);
		fill_lists(viewer, reply);
		break;
	case VIEWER_CREATE_SESSION:
		reply->status = wire_get_u32(at);
		break;
	case VIEWER_GET_PACKET:
		reply->status = wire_get_u32(at);
		if (reply->status == PACKET_OK && viewer->is_of_other_length) {
			reply->status = PACKET_ERROR; /* it was dropped */
		}
		break;
	case VIEWER_GET_NEXT_INDEX:
		wire_get_index(at, &reply->index);
		reply->status = reply->index.status;
		break;
	case VIEWER_GET_METADATA:
		reply->status = wire_get_u32(at + 8);
		reply->bytes = viewer->is_refused ? NULL : at + 12;
		reply->len = reply->status == METADATA_OK ? wire_get_u64(at) : 0;
		assert(viewer->is_refused || viewer->body.count == 12 + reply->len);
		break;
	}
	viewer->count = 0;
	viewer->is_receiving = false;
	viewer->pending_first++;
}

int viewer_fed(struct viewer *viewer, size_t len, struct viewer_reply *ret_reply, struct err *err)
{
	int r;

	if (viewer->direct > 0) {
		assert(len <= viewer->direct);
		viewer->direct -= len;
	} else if (viewer->skip > 0) {
		assert(len <= viewer->skip);
		viewer->skip -= len;
	} else {
		assert(len <= viewer->need);
		viewer->body.count += len;
		viewer->need -= len;
		if (viewer->has_head && viewer_pending(viewer) > 0 &&
		    expected(viewer)->command == VIEWER_GET_METADATA &&
		    check_metadata(viewer, err) < 0) {
			return -EPROTO;
		}
		if (viewer->need > 0) {
			return 0;
		}
		if (viewer_pending(viewer) == 0) {
			return err_raise(err, -EPROTO,
					 "the relay sends bytes that were not requested");
		}
		if (!viewer->has_head) {
			viewer->has_head = true;
			r = head(viewer, err);
		} else {
			r = viewer->sessions_left > 0 ? session_more(viewer, err) : 0;
		}
		if (r < 0) {
			return r;
		}
	}
	if (viewer->direct > 0 || viewer->skip > 0 || viewer->need > 0) {
		return 0;
	}
	complete(viewer, ret_reply);
	return 1;
}
