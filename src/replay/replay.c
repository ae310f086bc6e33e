/*
 * replay: see replay.h.
 */
#include "replay/replay.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/thread.h"
#include "base/units.h"
#include "ctf/clock.h"
#include "output/plain-name.h"
#include "publish/publish.h"
#include "replay/replay-clocks.h"

/* One trace being replayed.  Functions return 0, or a negative errno with the reason in err. */
struct replay {
	const struct replay_config *config;
	const struct recorded_path *source;
	unsigned int number; /* among the traces replayed together */
	struct recorded trace;
	struct publish *publish; /* its streams are the trace's files; NULL: not open */
	uint64_t first_ns;       /* of the trace */
	uint64_t start;          /* monotonic ns: when first_ns was replayed */
	uint64_t next_beacon;    /* monotonic ns */
	uint8_t *buffer;
	size_t buffer_size;
	int result; /* of its thread */
	struct err err;
};

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
	struct clock clock;
	uint64_t cycles;

	assert(i < replay->trace.files.at.count);
	if (!file->info.stream) { /* after the last packet the class is unknown */
		return 0;
	}
	clock_init(&clock, file->info.stream->clock);
	cycles = clock_cycles(&clock, now_ns);
	if (file->has_info && cycles > file->info.begin) {
		cycles = file->info.begin;
	}
	return publish_beacon(replay->publish, i, cycles, file->info.stream->id);
}

static int beacons(struct replay *replay)
{
	uint64_t now = now_monotonic_ns();
	int r = 0;

	if (replay->config->speed == 0 || now < replay->next_beacon) {
		return 0;
	}
	replay->next_beacon = now + replay->config->live_timer_ns;
	for (size_t i = 0; r == 0 && i < replay->trace.files.at.count; i++) {
		r = beacon(replay, i, trace_now(replay));
	}
	return r;
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
	assert(bytes <= PACKET_BYTES_MAX);
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
	const struct packet_info *info = &file->info;
	struct publish_packet packet = {
		.len = info->size_bits / 8,
		.content_bits = info->content_bits,
		.begin = info->begin,
		.end = info->end,
		.discarded = info->discarded == UINT64_MAX ? 0 : info->discarded,
		.class_id = info->stream->id,
		.instance_id = info->instance_id == UINT64_MAX ? 0 : info->instance_id,
		.seq_num = info->seq_num,
	};
	int r = read_packet(replay, file, packet.len);

	assert(file->has_info);
	packet.bytes = replay->buffer;
	r = r < 0 ? r : publish_packet(replay->publish, i, &packet);
	if (r == 0) {
		recorded_next(file, replay->trace.plan, replay->trace.decoder);
		say_fault(replay, file);
	}
	return r;
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

/* What was given, also if it is empty, before what the trace says. */
static const char *first_of(const char *one, const char *other, const char *otherwise)
{
	const char *wanted = one ? one : other;

	return wanted && wanted[0] ? wanted : otherwise;
}

/* Metadata of CTF 2 is JSON; each object may follow a record separator. */
static bool is_ctf2(const struct replay *replay)
{
	size_t len;
	const char *text = metadata_stream_text(replay->trace.metadata, &len);

	return len > 0 && (text[0] == '\x1E' || text[0] == '{');
}

static int begin_session(struct replay *replay)
{
	const struct metadata *types = replay->trace.plan->metadata;
	const struct replay_config *config = replay->config;
	const char *domain = env_text(types, "domain");
	char *plain = plain_name(domain ? domain : "ust");
	/* Traces of one session need different paths. */
	char *path = replay->number == 0 ? mem_strdup(plain)
					 : mem_printf("%s-%u", plain, replay->number);
	const struct publish_config session = {
		.relay = config->relay,
		.session = first_of(config->session, env_text(types, "trace_name"), "replay"),
		.host = first_of(config->host, env_text(types, "hostname"), "localhost"),
		.path = path,
		.number = replay->number,
		.live_timer_ns = config->live_timer_ns,
		.is_ctf2 = is_ctf2(replay),
	};
	int r = publish_open(&session, &replay->publish, &replay->err);

	VEC_EACH(&replay->trace.files.at, file) {
		r = r < 0 ? r : publish_add_stream(replay->publish, file->name);
	}
	free(plain);
	free(path);
	return r < 0 ? r : publish_streams(replay->publish);
}

static int send_shifted(struct replay *replay)
{
	const struct metadata *types = replay->trace.plan->metadata;
	int64_t shift = replay->config->as_now ? (int64_t)(now_wall_ns() - replay->first_ns) : 0;
	size_t len;
	const char *original = metadata_stream_text(replay->trace.metadata, &len);
	char *text = replay_clocks_shift(original, len, shift, &len);
	int r = publish_metadata(replay->publish, text, len, types->uuid, types->order == ORDER_BE);

	free(text);
	return r;
}

static int replay_once(struct replay *replay)
{
	int r = recorded_open(replay->source, &replay->trace, &replay->err);

	assert(!replay->publish);
	if (r < 0) {
		return r;
	}
	replay->first_ns = first_begin(&replay->trace);
	r = begin_session(replay);
	r = r < 0 || !replay->config->wait_viewer
		    ? r
		    : publish_wait_viewer(replay->publish, replay->config->stop);
	r = r < 0 ? r : send_shifted(replay);
	r = r < 0 ? r : replay_packets(replay);
	return r < 0 ? r : publish_close(replay->publish);
}

static void hang_up(struct replay *replay)
{
	publish_free(replay->publish);
	replay->publish = NULL;
	recorded_close(&replay->trace);
}

static void say_done(const struct replay *replay, uint64_t wall)
{
	const struct publish_account account = publish_account(replay->publish);
	char bytes[UNITS_TEXT_MAX], time_text[UNITS_TEXT_MAX];

	if (replay->config->verbosity >= 0) {
		replay->config->say("%s: %" PRIu64 " packets, %s in %s", replay->source->name,
				    account.packets, units_bytes(bytes, account.bytes),
				    units_ns(time_text, wall));
	}
}

static void *replay_thread(void *arg)
{
	struct replay *replay = arg;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < replay->config->loops && !*replay->config->stop; i++) {
		uint64_t begin = now_monotonic_ns();

		r = replay_once(replay);
		if (r < 0) {
			replay->config->say("%s: %s", replay->source->name, replay->err.text);
		} else {
			say_done(replay, now_monotonic_ns() - begin);
		}
		hang_up(replay);
	}
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
