/*
 * replay: see replay.h.
 */
#include "replay/replay-state.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/process/thread.h"
#include "base/units.h"
#include "ctf/clock.h"
#include "output/plain-name.h"
#include "relay/viewer.h"

#define CONTROL_PORT   5342
#define VIEWER_WAIT_US 150000 /* viewers poll at least every 50 ms */
#define REPLIES_AHEAD  64     /* reply codes that may be outstanding */

/* ---- waiting for a viewer ---- */

static int viewer_exchange(struct replay *replay, int fd, struct viewer *viewer,
			   enum viewer_command until, struct viewer_reply *reply)
{
	int r = replay_send(replay, fd, viewer->out.at, viewer->out.count);

	viewer->out.count = 0;
	while (r >= 0) {
		size_t len;
		uint8_t *into = viewer_want(viewer, &len);
		ssize_t got = replay_receive(replay, fd, into, len);

		if (got < 0) {
			return err_note(&replay->err, (int)got, "the relay's live port");
		}
		r = viewer_fed(viewer, (size_t)got, reply, &replay->err);
		if (r > 0 && reply->command == until) {
			return 0;
		}
	}
	return r;
}

static bool is_watched(const struct replay *replay, const struct viewer_reply *reply)
{
	for (uint32_t i = 0; i < reply->count; i++) {
		if (reply->sessions[i].id == replay->session_id && reply->sessions[i].clients > 0) {
			return true;
		}
	}
	return false;
}

static int wait_viewer(struct replay *replay)
{
	const struct url *url = replay->config->relay;
	uint16_t control = url->port ? url->port : CONTROL_PORT;
	struct viewer_reply reply = { 0 };
	struct viewer viewer;
	int fd = replay_connect(replay, (uint16_t)(control + 2));
	int r = fd < 0 ? fd : 0;

	viewer_init(&viewer);
	if (r == 0) {
		viewer_connect(&viewer);
	}
	while (r == 0 && !*replay->config->stop) {
		viewer_list_sessions(&viewer);
		r = viewer_exchange(replay, fd, &viewer, VIEWER_LIST_SESSIONS, &reply);
		if (r == 0 && is_watched(replay, &reply)) {
			/* It may have attached before the streams existed: lets it find them. */
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

/* ---- packets ---- */

static uint64_t file_ns(const struct recorded_file *file, uint64_t cycles)
{
	struct clock clock;

	clock_init(&clock, file->info.stream->clock);
	return clock_ns(&clock, cycles);
}

static uint64_t first_begin(const struct recorded *trace)
{
	uint64_t first = UINT64_MAX;

	VEC_EACH(&trace->files.at, file) {
		if (file->has_info && file_ns(file, file->info.begin) < first) {
			first = file_ns(file, file->info.begin);
		}
	}
	return first == UINT64_MAX ? 0 : first;
}

/* The file whose next packet ends first; SIZE_MAX: no file has one. */
static size_t next_file(const struct replay *replay)
{
	size_t found = SIZE_MAX;
	uint64_t low = UINT64_MAX;

	for (size_t i = 0; i < replay->trace.files.at.count; i++) {
		const struct recorded_file *file = &replay->trace.files.at.at[i];

		if (file->has_info && (found == SIZE_MAX || file_ns(file, file->info.end) < low)) {
			found = i;
			low = file_ns(file, file->info.end);
		}
	}
	return found;
}

/* The present in the trace's time. */
static uint64_t trace_now(const struct replay *replay)
{
	double elapsed = (double)(now_monotonic_ns() - replay->start) * replay->config->speed;

	return replay->first_ns + (uint64_t)elapsed;
}

static int beacon(struct replay *replay, size_t i, uint64_t now_ns)
{
	struct recorded_file *file = &replay->trace.files.at.at[i];
	struct replay_stream *stream = &replay->streams.at[i];
	struct clock clock;
	uint64_t cycles;

	assert(i < replay->streams.count && replay->streams.count == replay->trace.files.at.count);
	/* The relay drops beacons before the first packet; after the last one the class is unknown.
	 */
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
	producer_send_beacon(&replay->message, stream->handle, stream->sent - 1, cycles,
			     file->info.stream->id);
	replay->replies++;
	return replay_send_message(replay);
}

static int beacons(struct replay *replay)
{
	uint64_t now = now_monotonic_ns();
	int r = 0;

	if (replay->config->speed == 0 || now < replay->next_beacon) {
		return 0;
	}
	replay->next_beacon = now + replay->config->live_timer_ns;
	for (size_t i = 0; r == 0 && i < replay->streams.count; i++) {
		r = beacon(replay, i, trace_now(replay));
	}
	return r < 0 ? r : replay_read_codes(replay, REPLIES_AHEAD);
}

/* Waits until the trace's time is @ns, and sends beacons meanwhile. */
static int wait_until(struct replay *replay, uint64_t ns)
{
	while (replay->config->speed > 0 && !*replay->config->stop) {
		double wait = ((double)ns - (double)replay->first_ns) / replay->config->speed;
		uint64_t at = replay->start + (wait > 0 ? (uint64_t)wait : 0), now;
		int r = beacons(replay);

		if (r < 0) {
			return r;
		}
		now = now_monotonic_ns();
		if (now >= at) {
			return 0;
		}
		at = at - now < 20000000 ? at - now : 20000000;
		(void)nanosleep(&(struct timespec){ .tv_nsec = (long)at }, NULL);
	}
	return 0;
}

/* Reports a part of the file that cannot be read and is left out. */
static void say_fault(const struct replay *replay, struct recorded_file *file)
{
	char *fault = recorded_take_fault(file);

	if (fault) {
		replay->config->say("%s: stream %s: %s", replay->source->name, file->name, fault);
		free(fault);
	}
}

static int read_packet(struct replay *replay, const struct recorded_file *file, size_t bytes)
{
	if (bytes > replay->buffer_size) {
		replay->buffer = mem_realloc(replay->buffer, bytes);
		replay->buffer_size = bytes;
	}
	if (pread(file->fd, replay->buffer, bytes, (off_t)file->offset) != (ssize_t)bytes) {
		return err_raise(&replay->err, -EIO, "%s/%s: cannot read %zu bytes at %" PRIu64,
				 replay->source->name, file->name, bytes, file->offset);
	}
	return 0;
}

static int send_packet(struct replay *replay, size_t i)
{
	struct recorded_file *file = &replay->trace.files.at.at[i];
	struct replay_stream *stream = &replay->streams.at[i];
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
	int r = read_packet(replay, file, bytes);

	assert(file->has_info);
	assert(bytes <= PACKET_BYTES_MAX);
	producer_data_header(header, stream->handle, stream->sent, (uint32_t)bytes);
	r = r < 0 ? r : replay_send(replay, replay->data, header, sizeof(header));
	r = r < 0 ? r : replay_send(replay, replay->data, replay->buffer, bytes);
	if (r < 0) {
		return r;
	}
	producer_send_index(&replay->message, &index);
	replay->replies++;
	stream->sent++;
	stream->last_seq_num = index.packet_seq_num;
	stream->beacon = info->end;
	replay->packets++;
	replay->bytes += bytes;
	recorded_next(file, replay->trace.plan, replay->trace.decoder);
	say_fault(replay, file);
	r = replay_send_message(replay);
	return r < 0 ? r : replay_read_codes(replay, REPLIES_AHEAD);
}

static int replay_packets(struct replay *replay)
{
	size_t i;
	int r = 0;

	for (i = 0; i < replay->trace.files.at.count; i++) {
		say_fault(replay, &replay->trace.files.at.at[i]);
	}
	replay->start = now_monotonic_ns();
	replay->next_beacon = replay->start + replay->config->live_timer_ns;
	while (r == 0 && !*replay->config->stop && (i = next_file(replay)) != SIZE_MAX) {
		const struct recorded_file *file = &replay->trace.files.at.at[i];

		r = wait_until(replay, file_ns(file, file->info.end));
		if (r == 0 && !*replay->config->stop) {
			r = send_packet(replay, i);
		}
	}
	if (r == 0 && replay->config->linger_ns > 0) {
		uint64_t until = now_monotonic_ns() + replay->config->linger_ns;

		while (r == 0 && !*replay->config->stop && now_monotonic_ns() < until) {
			(void)usleep(20000);
			r = beacons(replay);
		}
	}
	return r;
}

/* ---- one trace ---- */

static const char *env_text(const struct metadata *types, const char *name)
{
	const struct env_entry *entry = metadata_env(types, name);

	return entry && entry->text && entry->text[0] ? entry->text : NULL;
}

/* What a relay stores of a name.  It makes a file name of the session's, with the time behind it.
 */
#define RELAY_HOST_MAX    63
#define RELAY_SESSION_MAX 200

/* Makes a name that the relay accepts, since it makes a directory of it: not empty, at most @most
 * bytes, no slash, no leading dot, no control characters. */
static char *relay_name(const char *wanted, const char *otherwise, int most)
{
	char *name = mem_printf("%.*s", most, wanted && wanted[0] ? wanted : otherwise);

	for (char *at = name; *at; at++) {
		if (*at == '/' || (at == name && *at == '.') || (unsigned char)*at < ' ' ||
		    *at == 0x7F) {
			*at = '_';
		}
	}
	return name;
}

static void choose_names(struct replay *replay)
{
	const struct metadata *types = replay->trace.plan->metadata;
	const char *session = env_text(types, "trace_name");
	const char *host = env_text(types, "hostname");
	const char *domain = env_text(types, "domain");

	char *path = plain_name(domain ? domain : "ust");

	replay->session = relay_name(replay->config->session ? replay->config->session : session,
				     "replay", RELAY_SESSION_MAX);
	replay->host = relay_name(replay->config->host ? replay->config->host : host, "localhost",
				  RELAY_HOST_MAX);
	/* Traces of one session need different paths. */
	replay->path = replay->number == 0 ? mem_printf("%s", path)
					   : mem_printf("%s-%u", path, replay->number);
	free(path);
}

static int replay_once(struct replay *replay)
{
	const struct url *url = replay->config->relay;
	uint16_t control = url->port ? url->port : CONTROL_PORT;
	uint16_t data = url->second_port ? url->second_port : (uint16_t)(control + 1);
	int r = recorded_open(replay->source, &replay->trace, &replay->err);

	if (r < 0) {
		return r;
	}
	choose_names(replay);
	replay->first_ns = first_begin(&replay->trace);
	replay->control = replay_connect(replay, control);
	replay->data = replay->control < 0 ? -1 : replay_connect(replay, data);
	if (replay->control >= 0 && replay->data < 0 && url->second_port == 0) {
		(void)err_note(
			&replay->err, replay->data,
			"port %u answers, the one behind it for data does not (is it the relay's "
			"live port? --to takes that of control, %u)",
			control, CONTROL_PORT);
	}
	r = replay->control < 0 ? replay->control : replay->data < 0 ? replay->data : 0;
	r = r < 0 ? r : replay_open(replay);
	r = r < 0 || !replay->config->wait_viewer ? r : wait_viewer(replay);
	r = r < 0 ? r : replay_send_metadata(replay);
	r = r < 0 ? r : replay_packets(replay);
	return r < 0 ? r : replay_close(replay);
}

static void hang_up(struct replay *replay)
{
	if (replay->data >= 0) {
		(void)close(replay->data);
	}
	if (replay->control >= 0) {
		(void)close(replay->control);
	}
	recorded_close(&replay->trace);
	free(replay->session);
	free(replay->host);
	free(replay->path);
	replay->session = replay->host = replay->path = NULL;
	replay->replies = 0;
}

static void say_done(const struct replay *replay, uint64_t wall)
{
	char bytes[UNITS_TEXT_MAX], time_text[UNITS_TEXT_MAX];

	if (replay->config->verbosity >= 0) {
		replay->config->say("%s: %" PRIu64 " packets, %s in %s", replay->source->name,
				    replay->packets, units_bytes(bytes, replay->bytes),
				    units_ns(time_text, wall));
	}
}

static void *replay_thread(void *arg)
{
	struct replay *replay = arg;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < replay->config->loops && !*replay->config->stop; i++) {
		uint64_t begin = now_monotonic_ns();

		replay->control = replay->data = -1;
		replay->packets = replay->bytes = 0;
		r = replay_once(replay);
		hang_up(replay);
		if (r < 0) {
			replay->config->say("%s: %s", replay->source->name, replay->err.text);
		} else {
			say_done(replay, now_monotonic_ns() - begin);
		}
	}
	producer_message_fini(&replay->message);
	vec_fini(&replay->streams);
	free(replay->buffer);
	replay->result = r;
	return NULL;
}

int replay_run(const struct replay_config *config, const struct recorded_paths *traces)
{
	size_t count = traces->at.count;
	struct replay *replays = mem_alloc((count + 1) * sizeof(*replays));
	pthread_t *threads = mem_alloc((count + 1) * sizeof(*threads));
	int failed = 0;

	for (size_t i = 0; i < count; i++) {
		replays[i].config = config;
		replays[i].source = &traces->at.at[i];
		replays[i].number = (unsigned int)i;
		if (thread_start(&threads[i], replay_thread, &replays[i]) != 0) {
			config->say("cannot start a thread for %s", traces->at.at[i].name);
			abort();
		}
	}
	for (size_t i = 0; i < count; i++) {
		thread_join(threads[i], NULL);
		failed = replays[i].result < 0 && failed != -EINTR ? replays[i].result : failed;
	}
	free(threads);
	free(replays);
	return failed;
}
