/*
 * player: see player.h.
 */
#include "live/player.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "base/units.h"
#include "engine/clock.h"
#include "recorded/recorded.h"
#include "relay/producer.h"
#include "relay/viewer.h"

#define CONTROL_PORT   5342
#define NS_PER_S       UINT64_C(1000000000)
#define DATA_WAIT_S    30
#define VIEWER_WAIT_US 150000 /* viewers poll at least every 50 ms */
#define REPLIES_AHEAD  64     /* index replies not waited for */
#define NO_PACKET      UINT64_MAX

struct play_stream {
	uint64_t handle; /* of the relay */
	uint64_t sent;   /* packets */
	uint64_t last_seq_num;
	uint64_t beacon; /* cycles, the last one sent */
};

/* One trace being played. */
struct play {
	const struct player_config *config;
	const struct recorded_path *source;
	unsigned int number; /* among those played at once */
	int control, data;
	struct recorded trace;
	struct message message;
	char *session, *host, *path;
	uint64_t session_id, metadata_handle;
	VEC(struct play_stream) streams; /* by file */
	unsigned int replies;            /* codes not yet read */
	uint64_t first_ns;               /* of the trace */
	uint64_t start;                  /* monotonic, when it began to play */
	uint64_t next_beacon;
	uint64_t packets, bytes;
	uint8_t *buffer;
	size_t buffer_size;
	struct err err;
};

/* ---- sockets ---- */

/* To the first address of the host that takes it. */
static int connect_to(const struct url *url, uint16_t port, struct err *err)
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

static int send_all(struct play *play, int fd, const void *bytes, size_t len)
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

static int send_message(struct play *play)
{
	return send_all(play, play->control, play->message.bytes.at, play->message.bytes.count);
}

/* Reads codes of index and beacon replies until at most @left are owed. */
static int read_codes(struct play *play, unsigned int left)
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
	int r = read_codes(play, 0);

	if (r == 0) {
		r = send_message(play);
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

static int send_metadata(struct play *play)
{
	const struct metadata *types = play->trace.plan->metadata;
	struct message packets = { 0 };
	int64_t shift = play->config->as_now ? (int64_t)(wall_ns() - play->first_ns) : 0;
	size_t len;
	char *text = shift_clocks(&play->trace, shift, &len);
	int r;

	producer_wrap_metadata(&packets, text, len, types->uuid, types->order == ORDER_BE);
	producer_send_metadata(&play->message, play->metadata_handle, packets.bytes.at,
			       packets.bytes.count);
	r = send_message(play); /* has no reply */
	message_fini(&packets);
	free(text);
	return r;
}

/* ---- waiting for a viewer ---- */

static int viewer_exchange(struct play *play, int fd, struct viewer *viewer,
			   enum viewer_command until, struct viewer_reply *reply)
{
	int r = send_all(play, fd, viewer->out.at, viewer->out.count);

	viewer->out.count = 0;
	while (r >= 0) {
		size_t len;
		uint8_t *into = viewer_want(viewer, &len);
		ssize_t got = recv(fd, into, len, 0);

		if (got <= 0) {
			return err_raise(&play->err, -EIO,
					 "the relay's live port: connection lost");
		}
		r = viewer_fed(viewer, (size_t)got, reply, &play->err);
		if (r > 0 && reply->command == until) {
			return 0;
		}
	}
	return r;
}

static bool is_watched(const struct play *play, const struct viewer_reply *reply)
{
	for (uint32_t i = 0; i < reply->count; i++) {
		if (reply->sessions[i].id == play->session_id && reply->sessions[i].clients > 0) {
			return true;
		}
	}
	return false;
}

static int wait_viewer(struct play *play)
{
	const struct url *url = play->config->relay;
	uint16_t control = url->port ? url->port : CONTROL_PORT;
	struct viewer_reply reply = { 0 };
	struct viewer viewer;
	int fd = connect_to(url, (uint16_t)(control + 2), &play->err);
	int r = fd < 0 ? fd : 0;

	viewer_init(&viewer);
	if (r == 0) {
		viewer_connect(&viewer);
	}
	while (r == 0 && !*play->config->stop) {
		viewer_list_sessions(&viewer);
		r = viewer_exchange(play, fd, &viewer, VIEWER_LIST_SESSIONS, &reply);
		if (r == 0 && is_watched(play, &reply)) {
			/* It may have attached before the streams were there: let it find them. */
			(void)usleep(VIEWER_WAIT_US);
			break;
		}
		(void)usleep(20000);
	}
	viewer_fini(&viewer);
	if (fd >= 0) {
		(void)close(fd);
	}
	return r;
}

/* ---- playing ---- */

static uint64_t file_ns(const struct recorded_file *file, uint64_t cycles)
{
	struct clock clock;

	clock_init(&clock, file->info.stream->clock);
	return clock_ns(&clock, cycles);
}

static uint64_t first_begin(const struct recorded *trace)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < trace->files.at.count; i++) {
		const struct recorded_file *file = &trace->files.at.at[i];

		if (file->has_info && file_ns(file, file->info.begin) < first) {
			first = file_ns(file, file->info.begin);
		}
	}
	return first == UINT64_MAX ? 0 : first;
}

/* The file whose next packet is complete first; SIZE_MAX at the end. */
static size_t next_file(const struct play *play)
{
	size_t found = SIZE_MAX;
	uint64_t low = UINT64_MAX;

	for (size_t i = 0; i < play->trace.files.at.count; i++) {
		const struct recorded_file *file = &play->trace.files.at.at[i];

		if (file->has_info && (found == SIZE_MAX || file_ns(file, file->info.end) < low)) {
			found = i;
			low = file_ns(file, file->info.end);
		}
	}
	return found;
}

/* Where the trace's own time is now. */
static uint64_t trace_now(const struct play *play)
{
	double elapsed = (double)(monotonic_ns() - play->start) * play->config->speed;

	return play->first_ns + (uint64_t)elapsed;
}

static int beacon(struct play *play, size_t i, uint64_t now_ns)
{
	struct recorded_file *file = &play->trace.files.at.at[i];
	struct play_stream *stream = &play->streams.at[i];
	struct clock clock;
	uint64_t cycles;

	/* Before its first packet the relay drops beacons; after the last there is no class. */
	if (stream->sent == 0 || !file->info.stream) {
		return 0;
	}
	clock_init(&clock, file->info.stream->clock);
	cycles = clock_cycles(&clock, now_ns);
	if (file->has_info && cycles > file->info.begin) {
		cycles = file->info.begin;
	}
	if (cycles <= stream->beacon) {
		return 0;
	}
	stream->beacon = cycles;
	producer_send_beacon(&play->message, stream->handle, stream->sent - 1, cycles,
			     file->info.stream->id);
	play->replies++;
	return send_message(play);
}

static int beacons(struct play *play)
{
	uint64_t now = monotonic_ns();
	int r = 0;

	if (play->config->speed == 0 || now < play->next_beacon) {
		return 0;
	}
	play->next_beacon = now + play->config->live_timer_ns;
	for (size_t i = 0; r == 0 && i < play->streams.count; i++) {
		r = beacon(play, i, trace_now(play));
	}
	return r < 0 ? r : read_codes(play, REPLIES_AHEAD);
}

/* Waits until the trace's time is @ns, with beacons meanwhile. */
static int wait_until(struct play *play, uint64_t ns)
{
	while (play->config->speed > 0 && !*play->config->stop) {
		double wait = ((double)ns - (double)play->first_ns) / play->config->speed;
		uint64_t at = play->start + (wait > 0 ? (uint64_t)wait : 0), now;
		int r = beacons(play);

		if (r < 0) {
			return r;
		}
		now = monotonic_ns();
		if (now >= at) {
			return 0;
		}
		at = at - now < 20000000 ? at - now : 20000000;
		(void)nanosleep(&(struct timespec){ .tv_nsec = (long)at }, NULL);
	}
	return 0;
}

/* What cannot be read is not played, and said. */
static void say_fault(const struct play *play, struct recorded_file *file)
{
	char *fault = recorded_take_fault(file);

	if (fault) {
		play->config->say("%s: stream %s: %s", play->source->name, file->name, fault);
		free(fault);
	}
}

static int read_packet(struct play *play, const struct recorded_file *file, size_t bytes)
{
	if (bytes > play->buffer_size) {
		play->buffer = mem_realloc(play->buffer, bytes);
		play->buffer_size = bytes;
	}
	if (pread(file->fd, play->buffer, bytes, (off_t)file->offset) != (ssize_t)bytes) {
		return err_raise(&play->err, -EIO, "%s/%s: cannot read %zu bytes at %" PRIu64,
				 play->source->name, file->name, bytes, file->offset);
	}
	return 0;
}

static int send_packet(struct play *play, size_t i)
{
	struct recorded_file *file = &play->trace.files.at.at[i];
	struct play_stream *stream = &play->streams.at[i];
	const struct packet_info *info = &file->info;
	size_t bytes = info->size_bits / 8;
	uint8_t header[PRODUCER_DATA_HEADER_BYTES];
	struct producer_index index = {
		.stream = stream->handle,
		.net_seq_num = stream->sent,
		.packet_bits = info->size_bits,
		.content_bits = info->content_bits,
		.begin = info->begin,
		.end = info->end,
		.discarded = info->discarded == UINT64_MAX ? 0 : info->discarded,
		.class_id = info->stream->id,
		.instance_id = info->instance_id == UINT64_MAX ? 0 : info->instance_id,
		.packet_seq_num = info->seq_num == UINT64_MAX ? stream->sent : info->seq_num,
	};
	int r = read_packet(play, file, bytes);

	producer_data_header(header, stream->handle, stream->sent, (uint32_t)bytes);
	r = r < 0 ? r : send_all(play, play->data, header, sizeof(header));
	r = r < 0 ? r : send_all(play, play->data, play->buffer, bytes);
	if (r < 0) {
		return r;
	}
	producer_send_index(&play->message, &index);
	play->replies++;
	stream->sent++;
	stream->last_seq_num = index.packet_seq_num;
	stream->beacon = info->end;
	play->packets++;
	play->bytes += bytes;
	recorded_next(file, play->trace.plan, play->trace.decoder);
	say_fault(play, file);
	r = send_message(play);
	return r < 0 ? r : read_codes(play, REPLIES_AHEAD);
}

static int play_packets(struct play *play)
{
	uint64_t last_ns = play->first_ns;
	size_t i;
	int r = 0;

	for (i = 0; i < play->trace.files.at.count; i++) {
		say_fault(play, &play->trace.files.at.at[i]);
	}
	play->start = monotonic_ns();
	play->next_beacon = play->start + play->config->live_timer_ns;
	while (r == 0 && !*play->config->stop && (i = next_file(play)) != SIZE_MAX) {
		const struct recorded_file *file = &play->trace.files.at.at[i];

		last_ns = file_ns(file, file->info.end);
		r = wait_until(play, last_ns);
		if (r == 0 && !*play->config->stop) {
			r = send_packet(play, i);
		}
	}
	if (r == 0 && play->config->linger_ns > 0) {
		uint64_t until = monotonic_ns() + play->config->linger_ns;

		while (r == 0 && !*play->config->stop && monotonic_ns() < until) {
			(void)usleep(20000);
			r = beacons(play);
		}
	}
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
	uint64_t until = monotonic_ns() + DATA_WAIT_S * NS_PER_S;
	bool is_pending = true;
	int r = 0;

	while (r == 0 && is_pending) {
		is_pending = false;
		r = check_data(play, &is_pending);
		if (monotonic_ns() > until) {
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

/* ---- one trace ---- */

static const char *env_text(const struct metadata *types, const char *name)
{
	const struct env_entry *entry = metadata_env(types, name);

	return entry && entry->text && entry->text[0] ? entry->text : NULL;
}

/* A name the relay accepts: not empty, no slash, no dot in front. */
static char *relay_name(const char *wanted, const char *otherwise)
{
	char *name = mem_strdup(wanted ? wanted : otherwise);

	for (char *at = name; *at; at++) {
		if (*at == '/' || (at == name && *at == '.')) {
			*at = '_';
		}
	}
	return name;
}

static void choose_names(struct play *play)
{
	const struct metadata *types = play->trace.plan->metadata;
	const char *session = env_text(types, "trace_name");
	const char *host = env_text(types, "hostname");
	const char *domain = env_text(types, "domain");

	play->session =
		relay_name(play->config->session ? play->config->session : session, "replay");
	play->host = relay_name(play->config->host ? play->config->host : host, "localhost");
	/* Traces of one session must differ in their path. */
	play->path = play->number == 0 ? mem_printf("%s", domain ? domain : "ust")
				       : mem_printf("%s-%u", domain ? domain : "ust", play->number);
}

static int play_once(struct play *play)
{
	const struct url *url = play->config->relay;
	uint16_t control = url->port ? url->port : CONTROL_PORT;
	uint16_t data = url->second_port ? url->second_port : (uint16_t)(control + 1);
	int r = recorded_open(play->source, &play->trace, &play->err);

	if (r < 0) {
		return r;
	}
	choose_names(play);
	play->first_ns = first_begin(&play->trace);
	play->control = connect_to(url, control, &play->err);
	play->data = play->control < 0 ? -1 : connect_to(url, data, &play->err);
	r = play->control < 0 ? play->control : play->data < 0 ? play->data : 0;
	r = r < 0 ? r : open_session(play);
	r = r < 0 ? r : add_streams(play);
	r = r < 0 || !play->config->wait_viewer ? r : wait_viewer(play);
	r = r < 0 ? r : send_metadata(play);
	r = r < 0 ? r : play_packets(play);
	r = r < 0 ? r : wait_data(play);
	r = r < 0 ? r : leave_chunk(play);
	return r < 0 ? r : close_streams(play);
}

static void close_play(struct play *play)
{
	if (play->data >= 0) {
		(void)close(play->data);
	}
	if (play->control >= 0) {
		(void)close(play->control);
	}
	recorded_close(&play->trace);
	free(play->session);
	free(play->host);
	free(play->path);
	play->session = play->host = play->path = NULL;
	play->replies = 0;
}

static void say_done(const struct play *play, uint64_t wall)
{
	char bytes[UNITS_TEXT_MAX], time_text[UNITS_TEXT_MAX];

	if (play->config->verbosity >= 0) {
		play->config->say("%s: %" PRIu64 " packets, %s in %s", play->source->name,
				  play->packets, units_bytes(bytes, play->bytes),
				  units_ns(time_text, wall));
	}
}

static void *play_thread(void *arg)
{
	struct play *play = arg;
	intptr_t r = 0;

	for (uint64_t i = 0; r == 0 && i < play->config->loops && !*play->config->stop; i++) {
		uint64_t begin = monotonic_ns();

		play->control = play->data = -1;
		play->packets = play->bytes = 0;
		r = play_once(play);
		close_play(play);
		if (r < 0) {
			play->config->say("%s: %s", play->source->name, play->err.text);
		} else {
			say_done(play, monotonic_ns() - begin);
		}
	}
	message_fini(&play->message);
	vec_fini(&play->streams);
	free(play->buffer);
	return (void *)r;
}

int player_run(const struct player_config *config, const struct recorded_paths *traces)
{
	size_t count = traces->at.count;
	struct play *plays = mem_alloc((count + 1) * sizeof(*plays));
	pthread_t *threads = mem_alloc((count + 1) * sizeof(*threads));
	int failed = 0;

	for (size_t i = 0; i < count; i++) {
		plays[i].config = config;
		plays[i].source = &traces->at.at[i];
		plays[i].number = (unsigned int)i;
		if (pthread_create(&threads[i], NULL, play_thread, &plays[i]) != 0) {
			config->say("cannot start a thread for %s", traces->at.at[i].name);
			abort();
		}
	}
	for (size_t i = 0; i < count; i++) {
		void *result;

		(void)pthread_join(threads[i], &result);
		failed = (intptr_t)result < 0 ? -EIO : failed;
	}
	free(threads);
	free(plays);
	return failed;
}
