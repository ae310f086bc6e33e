/*
 * rate: see rate.h.
 *
 * A packet tells how many bytes it has, when it began and when it ended.  Between these two its
 * bytes are taken to come evenly.  So what a CPU has recorded up to a time is a line from corner to
 * corner, and what came in a time of a fixed length is most where that begins or ends at a corner.
 */
#include "cmd/setup/rate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/units.h"
#include "ctf/clock.h"
#include "ctf/metadata/type.h"
#include "recorded/recorded.h"
#include "run/run.h"
#include "run/say.h"

/* With header and contexts.  Recorded traces have 20 to 44, and 44 where all are of sched. */
#define KERNEL_EVENT_BYTES 48
#define USER_EVENT_BYTES   64

/* @bytes * @of / @in; UINT64_MAX: more than that. */
static uint64_t scaled(uint64_t bytes, uint64_t of, uint64_t in)
{
	unsigned __int128 all = (unsigned __int128)bytes * of / in;

	assert(in > 0);
	return all < UINT64_MAX ? (uint64_t)all : UINT64_MAX;
}

/* ---- what a CPU recorded ---- */

/* A packet, and the bytes of those of its stream before it. */
struct filled {
	uint64_t begin, end; /* ns */
	uint64_t before, bytes;
};

struct stream_of {
	uint64_t cpu;
	VEC(struct filled) at; /* in order of time */
};

struct streams {
	VEC(struct stream_of) at;
};

static void take_packet(struct stream_of *stream, const struct packet_info *info)
{
	const struct filled *last =
		stream->at.count > 0 ? &stream->at.at[stream->at.count - 1] : NULL;
	struct filled one = { 0 };
	struct clock clock;

	assert(!last || last->begin <= last->end);
	if (!info->has_begin || !info->has_end || !info->stream->clock) {
		return;
	}
	clock_init(&clock, info->stream->clock);
	one.begin = clock_ns(&clock, info->begin);
	one.end = clock_ns(&clock, info->end);
	one.bytes = info->content_bits / 8;
	if (one.end < one.begin || (last && one.begin < last->end)) {
		return; /* no stream of a tracer has such packets */
	}
	one.before = last ? last->before + last->bytes : 0;
	stream->cpu = info->cpu_id;
	assert(one.begin <= one.end && (!last || last->end <= one.begin));
	*vec_push(&stream->at) = one;
}

/* Bytes of the stream before @ts; @with_it: and those of a packet that has no length, at that time.
 */
static uint64_t bytes_until(const struct stream_of *stream, uint64_t ts, bool with_it)
{
	size_t low = 0, high = stream->at.count;
	const struct filled *one;

	while (low < high) { /* the first that begins later */
		size_t middle = low + (high - low) / 2;
		uint64_t begin = stream->at.at[middle].begin;

		if (begin < ts || (with_it && begin == ts)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (low == 0) {
		return 0;
	}
	one = &stream->at.at[low - 1];
	return ts >= one->end
		       ? one->before + one->bytes
		       : one->before + (uint64_t)((unsigned __int128)one->bytes *
						  (ts - one->begin) / (one->end - one->begin));
}

/* Of all streams of a CPU, from @begin to @end. */
static uint64_t bytes_of_cpu(const struct streams *streams, uint64_t cpu, uint64_t begin,
			     uint64_t end)
{
	uint64_t sum = 0;

	assert_hot(begin <= end);
	VEC_EACH(&streams->at, stream) {
		if (stream->cpu == cpu) {
			sum += bytes_until(stream, end, true) - bytes_until(stream, begin, false);
		}
	}
	return sum;
}

/* From the first packet to the end of the last; 0: there is none. */
static uint64_t span_of(const struct streams *streams)
{
	uint64_t first = UINT64_MAX, last = 0;

	VEC_EACH(&streams->at, stream) {
		if (stream->at.count > 0) {
			uint64_t end = stream->at.at[stream->at.count - 1].end;

			first = stream->at.at[0].begin < first ? stream->at.at[0].begin : first;
			last = end > last ? end : last;
		}
	}
	return last > first ? last - first : 0;
}

/* Of the CPU that has most. */
static uint64_t most_of(const struct streams *streams, uint64_t away_ns)
{
	uint64_t most = 0, span = span_of(streams);

	VEC_EACH(&streams->at, stream) {
		for (size_t p = 0; p < stream->at.count; p++) {
			uint64_t begin = stream->at.at[p].begin, end = stream->at.at[p].end;
			uint64_t since = end > away_ns ? end - away_ns : 0, sums[2];
			uint64_t until =
				begin < UINT64_MAX - away_ns ? begin + away_ns : UINT64_MAX;

			sums[0] = bytes_of_cpu(streams, stream->cpu, begin, until);
			sums[1] = bytes_of_cpu(streams, stream->cpu, since, end);
			most = sums[0] > most ? sums[0] : most;
			most = sums[1] > most ? sums[1] : most;
		}
	}
	/* A trace that is shorter says how fast it comes. */
	return span > 0 && span < away_ns ? scaled(most, away_ns, span) : most;
}

/* ---- traces ---- */

static bool is_user(const struct recorded *trace)
{
	const struct env_entry *domain =
		metadata_env(metadata_stream_types(trace->metadata), "domain");

	return domain && domain->text && strcmp(domain->text, "ust") == 0;
}

/* What cannot be read is not in the measurement. */
static void say_fault(const struct options *options, const struct recorded_path *path,
		      struct recorded_file *file)
{
	char *fault = recorded_take_fault(file);

	if (fault && options->verbosity >= 0) {
		say("--rate: %s/%s: %s", path->name, file->name, fault);
	}
	free(fault);
}

static int measure(const struct options *options, const struct recorded_path *path,
		   struct rate *rate, struct err *err)
{
	struct streams streams = { 0 };
	struct recorded trace;
	int r = recorded_open(path, &trace, err);

	for (size_t i = 0; r == 0 && i < trace.files.at.count; i++) {
		struct recorded_file *file = &trace.files.at.at[i];
		struct stream_of *stream = vec_push(&streams.at);

		*stream = (struct stream_of){ 0 };
		for (; file->has_info && !run_stop;
		     recorded_next(file, trace.plan, trace.decoder)) {
			say_fault(options, path, file);
			take_packet(stream, &file->info);
		}
		say_fault(options, path, file);
	}
	if (r == 0) {
		uint64_t *most = is_user(&trace) ? &rate->user_bytes : &rate->kernel_bytes;
		uint64_t found = most_of(&streams, options->away_ns);

		*most = found > *most ? found : *most;
	}
	for (size_t i = 0; i < streams.at.count; i++) {
		vec_fini(&streams.at.at[i].at);
	}
	vec_fini(&streams.at);
	recorded_close(&trace);
	return r;
}

static int measure_all(const struct options *options, struct rate *rate, struct err *err)
{
	struct recorded_paths paths = { 0 };
	int r = recorded_find(options->rate, &paths, err);

	rate->is_measured = true;
	for (size_t i = 0; r == 0 && i < paths.at.count; i++) {
		r = measure(options, &paths.at.at[i], rate, err);
	}
	recorded_paths_fini(&paths);
	if (r == 0 && rate->kernel_bytes == 0 && rate->user_bytes == 0) {
		r = err_raise(err, -ENODATA,
			      "--rate: %s has no packets that tell when they begin and end",
			      options->rate);
	}
	return r;
}

/* ---- a number ---- */

int rate_find(const struct options *options, struct rate *ret, struct err *err)
{
	uint64_t events = 0;
	char *end;

	*ret = (struct rate){ 0 };
	if (options->rate[strspn(options->rate, "0123456789")] != '\0' || !*options->rate) {
		if (access(options->rate, F_OK) != 0) {
			return err_raise(err, -EINVAL,
					 "--rate: \"%s\" is neither a number of events in a second "
					 "nor a trace",
					 options->rate);
		}
		return measure_all(options, ret, err);
	}
	errno = 0;
	events = strtoull(options->rate, &end, 10);
	if (errno != 0 || events == 0 || events > UINT32_MAX) {
		return err_raise(err, -EINVAL, "--rate: from 1 to %u events in a second",
				 UINT32_MAX);
	}
	ret->kernel_bytes = scaled(events * KERNEL_EVENT_BYTES, options->away_ns, NS_PER_S) + 1;
	ret->user_bytes = scaled(events * USER_EVENT_BYTES, options->away_ns, NS_PER_S) + 1;
	return 0;
}

/* ---- buffers ---- */

static int size_one(const struct options *options, uint64_t bytes, struct sizes *sizes,
		    struct err *err)
{
	char text[2][UNITS_TEXT_MAX];

	if (bytes == 0 || sizes_fit(bytes, options->away_ns, options->live_timer_ns, sizes)) {
		return 0;
	}
	return err_raise(err, -EINVAL,
			 "--rate: no buffers hold what a CPU records in %s; each CPU has 1 GiB at "
			 "most, of which the live timer (%s) closes a part each time",
			 units_ns(text[0], options->away_ns),
			 units_ns(text[1], options->live_timer_ns));
}

int rate_sizes(const struct options *options, const struct rate *rate,
	       struct commands_config *config, struct err *err)
{
	int r = size_one(options, rate->kernel_bytes, &config->kernel, err);

	assert(rate->is_measured || (rate->kernel_bytes > 0 && rate->user_bytes > 0));
	return r < 0 ? r : size_one(options, rate->user_bytes, &config->user, err);
}

static void print_one(const struct options *options, uint64_t bytes, const struct sizes *sizes,
		      const char *domain, const char *each)
{
	char text[4][UNITS_TEXT_MAX];
	uint64_t all = sizes->bytes * sizes->count;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	printf("# %s: %s of buffers for each %s, %s with the %ld CPUs of this host; ", domain,
	       units_bytes(text[0], all), each,
	       units_bytes(text[1], all * (uint64_t)(cpus > 0 ? cpus : 1)), cpus);
	if (bytes == 0) {
		printf("as without --rate, which has no such trace\n");
	} else {
		printf("on one CPU %s may come in %s\n", units_bytes(text[2], bytes),
		       units_ns(text[3], options->away_ns));
	}
}

void rate_print(const struct options *options, const struct rate *rate,
		const struct commands_config *config, bool has_kernel, bool has_user)
{
	if (has_kernel) {
		print_one(options, rate->kernel_bytes, &config->kernel, "kernel", "CPU");
	}
	if (has_user) {
		print_one(options, rate->user_bytes, &config->user, "user space", "user and CPU");
	}
}
