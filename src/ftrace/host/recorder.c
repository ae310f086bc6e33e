/*
 * recorder: see recorder.h.
 */
#include "ftrace/host/recorder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/boot.h"
#include "base/process/host-file.h"
#include "base/vec.h"
#include "containers/containers.h"
#include "ftrace/host/places.h"
#include "ftrace/host/statedump.h"

/* An event's time is taken a little before it can be read. */
#define COMMIT_NS NS_PER_MS
/* What is taken of a CPU before the others have their turn, and before it is converted. */
#define TURN_BYTES ((size_t)4 << 20)
/* What waits until a state dump has told of all threads. */
#define DUMP_WAITING_MAX ((size_t)64 << 20)

struct recorder {
	struct recorder_config config;
	struct ftrace_instance *instance;
	struct convert_sink sink; /* whose it is */
	struct convert *convert;
	struct ftrace_layout layout;
	VEC(struct ftrace_format *) formats;
	struct statedump dump;
	struct host_places *places;
	uint64_t begin, end, flushed;
	size_t waiting;                   /* bytes that were read, and are not converted */
	uint8_t uuid[CONVERT_UUID_BYTES]; /* of the trace that is made */
	struct recorder_account account;
	char *odd; /* what is to be said of its events */
};

int recorder_new(const struct recorder_config *config, struct recorder **ret, struct err *err)
{
	struct recorder *recorder = mem_alloc(sizeof(*recorder));
	int r;

	recorder->config = *config;
	r = instance_new(&config->instance, &recorder->instance, err);
	if (r < 0) {
		recorder_free(recorder);
		return r;
	}
	*ret = recorder;
	return 0;
}

void recorder_free(struct recorder *recorder)
{
	if (recorder) {
		instance_free(recorder->instance);
		places_free(recorder->places);
		convert_free(recorder->convert);
		vec_free_each(&recorder->formats, ftrace_format_free);
		free(recorder->odd);
		free(recorder);
	}
}

const uint8_t *recorder_uuid(const struct recorder *recorder)
{
	return recorder->uuid;
}

const struct ftrace_instance *recorder_instance(const struct recorder *recorder)
{
	return recorder->instance;
}

int recorder_enable(struct recorder *recorder, const char *system, const char *name,
		    struct err *err)
{
	struct ftrace_format *format;
	int r;

	VEC_EACH_OF(&recorder->formats, one) {
		if (strcmp(one->system, system) == 0 && strcmp(one->name, name) == 0) {
			return 0;
		}
	}
	r = instance_enable(recorder->instance, system, name, &format, err);
	if (r == 0) {
		*vec_push(&recorder->formats) = format;
	}
	return r;
}

size_t recorder_events(const struct recorder *recorder)
{
	return recorder->formats.count;
}

/* ---- the trace ---- */

/* What the wall clock was when the monotonic one began. */
static int64_t clock_offset(void)
{
	struct timespec wall;
	uint64_t before = now_monotonic_ns(), after;

	(void)clock_gettime(CLOCK_REALTIME, &wall);
	after = now_monotonic_ns();
	return (int64_t)wall.tv_sec * (int64_t)NS_PER_S + wall.tv_nsec -
	       (int64_t)(before + (after - before) / 2);
}

static int make_convert(struct recorder *recorder, const struct convert_sink *sink,
			bool is_snapshot, struct err *err)
{
	struct utsname host;
	char boot[BOOT_ID_BYTES], when[32];
	time_t now = (time_t)(now_wall_ns() / NS_PER_S);
	struct tm tm;

	(void)uname(&host);
	boot_id(boot);
	(void)strftime(when, sizeof(when), "%Y%m%dT%H%M%S%z", localtime_r(&now, &tm));
	const struct convert_env env[] = {
		{ "hostname", host.nodename, 0 },      { "sysname", host.sysname, 0 },
		{ "kernel_release", host.release, 0 }, { "kernel_version", host.version, 0 },
		{ "trace_name", "sillage", 0 },        { "trace_creation_datetime", when, 0 },
	};
	struct convert_setup setup = {
		.env = env,
		.env_count = ARRAY_COUNT(env),
		.clock_name = "monotonic",
		.clock_uuid = boot[0] ? boot : NULL,
		.clock_offset = clock_offset(),
		.clock_frequency = NS_PER_S,
		.machine = convert_machine_of(host.machine),
		.cpus = instance_cpus(recorder->instance),
		.packet_bytes = recorder->config.packet_bytes,
		.begin = is_snapshot ? 0 : recorder->begin,
		.is_snapshot = is_snapshot,
		.pid_ns = containers_pid_ns("", (int32_t)getpid()),
	};

	if (getrandom(setup.uuid, sizeof(setup.uuid), 0) != sizeof(setup.uuid)) {
		return err_raise(err, -EIO, "getrandom: %s", strerror(errno));
	}
	memcpy(recorder->uuid, setup.uuid, sizeof(setup.uuid));
	recorder->convert = convert_new(&setup, sink, err);
	return recorder->convert ? 0 : -EINVAL;
}

static int add_formats(struct recorder *recorder, struct err *err)
{
	int r = 0;

	VEC_EACH_OF(&recorder->formats, format) {
		r = r < 0 ? r : convert_format(recorder->convert, format, err);
	}
	return r;
}

/* ---- what events tell ---- */

static int pass_metadata(void *user, const char *text, size_t len, struct err *err)
{
	const struct recorder *recorder = user;

	return recorder->sink.metadata(recorder->sink.user, text, len, err);
}

static int take_whole_packet(void *user, const struct convert_packet *packet, struct err *err)
{
	const struct recorder *recorder = user;

	return recorder->sink.packet(recorder->sink.user, packet, err);
}

/* Another program may be of 32 bits, and a new process in a namespace of its own. */
static void on_executed(void *user, uint64_t time, uint32_t cpu, int32_t tid)
{
	struct recorder *recorder = user;

	statedump_thread(recorder->convert, tid);
	places_executed(recorder->places, time, cpu, tid);
}

static void on_forked(void *user, uint64_t time, uint32_t cpu, int32_t tid)
{
	places_forked(((struct recorder *)user)->places, time, cpu, tid);
}

static void on_moved(void *user, uint64_t time, uint32_t cpu, int32_t tid, const char *path)
{
	places_moved(((struct recorder *)user)->places, time, cpu, tid, path);
}

static void on_opened(void *user, uint32_t cpu, int32_t pid, int32_t fd)
{
	struct recorder *recorder = user;

	if (pid != (int32_t)getpid()) {
		statedump_opened(&recorder->dump, recorder->convert, cpu, pid, fd);
	}
}

/* A conversion of all events, which begins with the classes of a state dump. */
static int begin_convert(struct recorder *recorder, const struct convert_sink *sink,
			 bool is_snapshot, struct err *err)
{
	/* A snapshot's events are past: what /proc says now is of another time. */
	const struct convert_sink own = { .metadata = pass_metadata,
					  .packet = take_whole_packet,
					  .executed = is_snapshot ? NULL : on_executed,
					  .forked = on_forked,
					  .moved = is_snapshot ? NULL : on_moved,
					  .opened = is_snapshot ? NULL : on_opened,
					  .user = recorder };
	int r;

	recorder->sink = *sink;
	r = make_convert(recorder, &own, is_snapshot, err);

	if (r < 0) {
		return r;
	}
	convert_layout(recorder->convert, &recorder->layout);
	r = add_formats(recorder, err);
	if (r == 0) {
		statedump_begin(&recorder->dump, recorder->convert);
		recorder->places = places_new(recorder->convert);
		r = convert_start(recorder->convert, err);
	}
	free(recorder->odd);
	recorder->odd = convert_odd(recorder->convert);
	return r;
}

const char *recorder_odd(const struct recorder *recorder)
{
	return recorder->odd;
}

/* ---- what the buffers have ---- */

/*
 * Takes what a CPU has.  While events come (@is_on) up to a sub-buffer that is not full: reading is
 * a system call, and so an event, of which there is always one more.  *ret_until: lowered to where
 * it was left: a sub-buffer that is not full may be the rest of one of which a part was read, and
 * full ones be behind it.
 */
static int take_cpu(struct recorder *recorder, uint32_t cpu, size_t most, bool is_on,
		    uint64_t *ret_until, struct err *err)
{
	const uint8_t *bytes;
	size_t len;
	uint64_t time = 0;
	int r;

	for (size_t i = 0; i < most; i++) {
		len = instance_read(recorder->instance, cpu, &bytes);
		if (len == 0) {
			return 0;
		}
		recorder->waiting += len;
		r = convert_page(recorder->convert, cpu, bytes, len, err);
		if (r < 0 && r != -EINVAL) {
			return r;
		}
		if (r == 0) {
			time = ftrace_page_time(&recorder->layout, bytes);
			if (is_on && ftrace_page_used(&recorder->layout, bytes) < len / 2) {
				break;
			}
		}
	}
	/* Of sub-buffers that are all bad nothing is known: what is behind them waits. */
	*ret_until = time < *ret_until ? time : *ret_until;
	return 0;
}

/* A turn of all CPUs; what is before *@until, which may be lowered, is there then. */
static int read_cpus(struct recorder *recorder, bool is_on, uint64_t *until, struct err *err)
{
	size_t most = TURN_BYTES / recorder->layout.bytes + 1;
	int r = 0;

	for (uint32_t i = 0; i < instance_cpus(recorder->instance) && r == 0; i++) {
		r = take_cpu(recorder, i, most, is_on, until, err);
	}
	return r;
}

static int take_turn(struct recorder *recorder, bool is_on, uint64_t *until, struct err *err)
{
	int r = read_cpus(recorder, is_on, until, err);

	recorder->waiting = 0;
	return r < 0 ? r : convert_until(recorder->convert, *until, err);
}

static int take_cpus(struct recorder *recorder, struct err *err)
{
	uint64_t until = now_monotonic_ns() - COMMIT_NS;
	int r = take_turn(recorder, true, &until, err);

	if (r == 0 && until >= recorder->flushed + recorder->config.flush_ns) {
		recorder->flushed = until;
		r = convert_flush(recorder->convert, until, false, err);
		if (r == 0 && recorder->config.flushed) {
			r = recorder->config.flushed(recorder->config.sink.user, until, err);
		}
	}
	return r;
}

/* ---- the begin ---- */

struct dump_turn {
	struct recorder *recorder;
	int failure;
	struct err *err;
};

/* While the dump looks, events come.  They are read; what they are is told once all threads are
 * known, unless they have become many. */
static bool take_meanwhile(void *user, bool knows_threads)
{
	struct dump_turn *turn = user;
	struct recorder *recorder = turn->recorder;
	uint64_t until = now_monotonic_ns() - COMMIT_NS;

	turn->failure = knows_threads || recorder->waiting > DUMP_WAITING_MAX
				? take_cpus(recorder, turn->err)
				: read_cpus(recorder, true, &until, turn->err);
	return turn->failure == 0 && !now_is_leaving();
}

static int write_dump(struct recorder *recorder, struct err *err)
{
	struct dump_turn state = { .recorder = recorder, .err = err };
	const struct statedump_turn turn = { .take = take_meanwhile, .user = &state };

	statedump_write(&recorder->dump, recorder->convert, recorder->places, 0, &turn);
	return state.failure;
}

int recorder_start(struct recorder *recorder, struct err *err)
{
	int r = instance_layout(recorder->instance, &recorder->layout, err);

	recorder->begin = recorder->flushed = now_monotonic_ns();
	r = r < 0 ? r : begin_convert(recorder, &recorder->config.sink, false, err);
	if (r == 0 && recorder->config.flushed) {
		r = convert_flush(recorder->convert, recorder->begin, true, err);
	}
	r = r < 0 ? r : instance_on(recorder->instance, err);
	return r < 0 ? r : write_dump(recorder, err);
}

int recorder_hold(struct recorder *recorder, struct err *err)
{
	int r = instance_layout(recorder->instance, &recorder->layout, err);

	recorder->begin = now_monotonic_ns();
	return r < 0 ? r : instance_on(recorder->instance, err);
}

int recorder_step(struct recorder *recorder, struct err *err)
{
	assert(recorder->convert);
	instance_wait(recorder->instance, WAIT_POLL_MS);
	return take_cpus(recorder, err);
}

/* ---- the end ---- */

/* No event comes any more. */
static int take_rest(struct recorder *recorder, struct err *err)
{
	uint64_t until = 0;
	int r = 0;

	while (r == 0 && until != UINT64_MAX) {
		until = UINT64_MAX; /* if no CPU is left within what it has */
		r = take_turn(recorder, false, &until, err);
	}
	return r;
}

/* Losses that no sub-buffer told, so that the trace says all of them. */
static int account_cpu(struct recorder *recorder, uint32_t cpu, struct err *err)
{
	struct recorder_account *sum = &recorder->account;
	struct instance_stats stats;
	struct convert_account trace;
	uint64_t missed, said;
	int r = instance_stats(recorder->instance, cpu, &stats, err);

	if (r < 0) {
		return r;
	}
	convert_account(recorder->convert, cpu, &trace);
	missed = stats.overrun + stats.commit_overrun + stats.dropped;
	said = trace.lost - trace.bad - trace.too_large;
	if (missed > said) {
		convert_lost(recorder->convert, cpu, missed - said);
		convert_account(recorder->convert, cpu, &trace);
	}
	sum->kernel.entries += stats.entries;
	sum->kernel.overrun += stats.overrun;
	sum->kernel.commit_overrun += stats.commit_overrun;
	sum->kernel.dropped += stats.dropped;
	sum->kernel.read += stats.read;
	sum->missed += trace.lost - trace.bad - trace.too_large;
	return 0;
}

static void sum_account(struct convert_account *sum, const struct convert_account *one)
{
	sum->read += one->read;
	sum->written += one->written;
	sum->unwanted += one->unwanted;
	sum->too_large += one->too_large;
	sum->bad += one->bad;
	sum->own += one->own;
	sum->derived += one->derived;
	sum->lost += one->lost;
	sum->unnumbered += one->unnumbered;
	sum->bad_pages += one->bad_pages;
}

int recorder_stop(struct recorder *recorder, struct err *err)
{
	uint32_t cpus = instance_cpus(recorder->instance);
	int r = 0;

	instance_off(recorder->instance);
	recorder->end = now_monotonic_ns();
	r = take_rest(recorder, err);
	for (uint32_t i = 0; i < cpus && r == 0; i++) {
		r = account_cpu(recorder, i, err);
	}
	r = r < 0 ? r : convert_finish(recorder->convert, recorder->end, err);
	for (uint32_t i = 0; i < cpus; i++) {
		struct convert_account one;

		convert_account(recorder->convert, i, &one);
		sum_account(&recorder->account.trace, &one);
	}
	recorder->account.ns = recorder->end - recorder->begin;
	return r;
}

/* All that a CPU has, while more may come: up to a sub-buffer that is not full, behind the rest of
 * one that a snapshot before may have left. */
static int snapshot_cpu(struct recorder *recorder, uint32_t cpu, struct err *err)
{
	uint64_t until = UINT64_MAX;
	int r = take_cpu(recorder, cpu, SIZE_MAX, true, &until, err);

	return r < 0 ? r : take_cpu(recorder, cpu, SIZE_MAX, true, &until, err);
}

int recorder_snapshot(struct recorder *recorder, const struct convert_sink *sink,
		      struct recorder_account *ret, struct err *err)
{
	int r = begin_convert(recorder, sink, true, err);

	*ret = (struct recorder_account){ 0 };
	for (uint32_t i = 0; i < instance_cpus(recorder->instance) && r == 0; i++) {
		r = snapshot_cpu(recorder, i, err);
	}
	/* Its system calls would take the place of what is wanted; names have to be known before
	 * events are converted. */
	if (r == 0) {
		statedump_write(&recorder->dump, recorder->convert, recorder->places, 0, NULL);
	}
	r = r < 0 ? r : convert_finish(recorder->convert, now_monotonic_ns(), err);
	for (uint32_t i = 0; i < instance_cpus(recorder->instance) && r == 0; i++) {
		struct convert_account one;

		convert_account(recorder->convert, i, &one);
		sum_account(&ret->trace, &one);
	}
	places_free(recorder->places);
	convert_free(recorder->convert);
	recorder->places = NULL;
	recorder->convert = NULL;
	return r;
}

void recorder_account(const struct recorder *recorder, struct recorder_account *ret)
{
	*ret = recorder->account;
}
