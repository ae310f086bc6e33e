/*
 * stats: see stats.h.
 */
#include "engine/stats.h"

#include <inttypes.h>

#include "base/now.h"

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

void stats_print(const struct stats *stats, uint64_t events, uint64_t packets, uint64_t bytes,
		 uint64_t wall_ns, void (*say)(const char *fmt, ...))
{
	uint64_t worker = stats->job_ns[JOB_WORKER], merger = stats->job_ns[JOB_MERGER];
	uint64_t find = stats->job_ns[JOB_FIND];
	uint64_t thread = now_thread_cpu_ns(), rest = stats->coordinator_ns + stats->emit_ns;
	uint64_t read, all;
	double seconds = (double)wall_ns / 1e9;

	/* Without workers the coordinator ran the jobs. */
	rest += stats->jobs_are_coordinator ? worker + merger + find : 0;
	read = thread > rest ? thread - rest : 0;
	all = read + stats->coordinator_ns + stats->emit_ns + worker + merger + find;
	all = all ? all : 1;
	say("stats: %" PRIu64 " events, %" PRIu64 " packets, %" PRIu64 " bytes in %.3f s: %.1f M "
	    "events/s, %.1f MB/s",
	    events, packets, bytes, seconds, (double)events / 1e6 / seconds,
	    (double)bytes / 1e6 / seconds);
	say("stats: map   %10.1f ms %5.1f %%, %" PRIu64 " chunks", ms(worker),
	    100.0 * (double)worker / (double)all, stats->jobs[JOB_WORKER]);
	say("stats: merge %10.1f ms %5.1f %%, %" PRIu64 " tasks", ms(merger),
	    100.0 * (double)merger / (double)all, stats->jobs[JOB_MERGER]);
	if (stats->jobs[JOB_FIND] > 0) {
		say("stats: find  %10.1f ms %5.1f %%, packets in files", ms(find),
		    100.0 * (double)find / (double)all);
	}
	say("stats: front %10.1f ms %5.1f %%, merging by itself", ms(stats->coordinator_ns),
	    100.0 * (double)stats->coordinator_ns / (double)all);
	say("stats: emit  %10.1f ms %5.1f %%, %" PRIu64 " windows", ms(stats->emit_ns),
	    100.0 * (double)stats->emit_ns / (double)all, stats->windows);
	say("stats: read  %10.1f ms %5.1f %%, and the coordinator's other work", ms(read),
	    100.0 * (double)read / (double)all);
	say("stats: at most %" PRIu64 " jobs in flight, %.1f MiB held", stats->jobs_max,
	    (double)stats->held_max / 1048576);
	if (stats->turn_ns > 0) {
		say("stats: longest turn of the loop %.1f ms", ms(stats->turn_ns));
	}
	if (stats->lag) {
		say("stats: lag of windows: p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, max %.1f ms",
		    ms(histogram_percentile(stats->lag, 500)),
		    ms(histogram_percentile(stats->lag, 950)),
		    ms(histogram_percentile(stats->lag, 990)), ms(stats->lag->max));
	}
}

void stats_fini(struct stats *stats)
{
	histogram_free(stats->lag);
}
