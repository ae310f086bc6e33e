/*
 * player: see player.h.
 */
#include "live/replay/replay-state.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "base/units.h"
#include "ctf/clock.h"
#include "relay/viewer.h"

#define CONTROL_PORT   5342
#define VIEWER_WAIT_US 150000 /* viewers poll at least every 50 ms */
#define REPLIES_AHEAD  64     /* index replies not waited for */

/* ---- waiting for a viewer ---- */

static int viewer_exchange(struct play *play, int fd, struct viewer *viewer,
			   enum viewer_command until, struct viewer_reply *reply)
{
	int r = play_send(play, fd, viewer->out.at, viewer->out.count);

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
	int fd = play_connect(url, (uint16_t)(control + 2), &play->err);
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
	double elapsed = (double)(now_monotonic_ns() - play->start) * play->config->speed;

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
	return play_send_message(play);
}

static int beacons(struct play *play)
{
	uint64_t now = now_monotonic_ns();
	int r = 0;

	if (play->config->speed == 0 || now < play->next_beacon) {
		return 0;
	}
	play->next_beacon = now + play->config->live_timer_ns;
	for (size_t i = 0; r == 0 && i < play->streams.count; i++) {
		r = beacon(play, i, trace_now(play));
	}
	return r < 0 ? r : play_read_codes(play, REPLIES_AHEAD);
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
		now = now_monotonic_ns();
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
	r = r < 0 ? r : play_send(play, play->data, header, sizeof(header));
	r = r < 0 ? r : play_send(play, play->data, play->buffer, bytes);
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
	r = play_send_message(play);
	return r < 0 ? r : play_read_codes(play, REPLIES_AHEAD);
}

static int play_packets(struct play *play)
{
	uint64_t last_ns = play->first_ns;
	size_t i;
	int r = 0;

	for (i = 0; i < play->trace.files.at.count; i++) {
		say_fault(play, &play->trace.files.at.at[i]);
	}
	play->start = now_monotonic_ns();
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
		uint64_t until = now_monotonic_ns() + play->config->linger_ns;

		while (r == 0 && !*play->config->stop && now_monotonic_ns() < until) {
			(void)usleep(20000);
			r = beacons(play);
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
	play->control = play_connect(url, control, &play->err);
	play->data = play->control < 0 ? -1 : play_connect(url, data, &play->err);
	r = play->control < 0 ? play->control : play->data < 0 ? play->data : 0;
	r = r < 0 ? r : play_open(play);
	r = r < 0 || !play->config->wait_viewer ? r : wait_viewer(play);
	r = r < 0 ? r : play_send_metadata(play);
	r = r < 0 ? r : play_packets(play);
	return r < 0 ? r : play_close(play);
}

static void hang_up(struct play *play)
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
		uint64_t begin = now_monotonic_ns();

		play->control = play->data = -1;
		play->packets = play->bytes = 0;
		r = play_once(play);
		hang_up(play);
		if (r < 0) {
			play->config->say("%s: %s", play->source->name, play->err.text);
		} else {
			say_done(play, now_monotonic_ns() - begin);
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
