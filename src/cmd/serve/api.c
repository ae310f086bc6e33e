/*
 * api: one reply of `serve`, without a server.  It is also the process that computes the replies of
 * one (serve/workers.h), which tells it in the environment who it is, and the URLs of sources.
 */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api/request.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/child.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/serve/answer.h"
#include "serve/workers.h"
#include "store/rows/store-url.h"

/* Sanitizers reserve more than any limit allows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAY_LIMIT false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MAY_LIMIT false
#endif
#endif
#ifndef MAY_LIMIT
#define MAY_LIMIT true
#endif

static void set_process_limit(__rlimit_resource_t what, uint64_t most)
{
	const struct rlimit limit = { .rlim_cur = most, .rlim_max = most };

	(void)setrlimit(what, &limit);
}

/* What is beyond ends the process, and leaves no core; of what it prints, the command. */
static void bound_memory(uint64_t most)
{
	set_process_limit(RLIMIT_CORE, 0);
	(void)signal(SIGXFSZ, SIG_IGN);                     /* it is an error of writing */
	set_process_limit(RLIMIT_FSIZE, API_PRINTED_BYTES); /* of a file in memory, too */
	if (MAY_LIMIT) {
		set_process_limit(RLIMIT_DATA, most);
	}
}

/* Ends the process when the server, which has that patience, does not: it may be stopped. */
static void end_after(uint64_t ns)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	const struct itimerspec once = { .it_value = { .tv_sec = (time_t)(ns / NS_PER_S) + 1,
						       .tv_nsec = (long)(ns % NS_PER_S) } };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) {
		(void)timer_settime(timer, 0, &once, NULL);
	}
}

/* @server: "PID NS".  Without it nobody is left to read the reply. */
static void serve_alone(const char *server, struct answering *with)
{
	char *after;
	long pid = strtol(server, &after, 10);
	uint64_t max_time_ns = strtoull(after, NULL, 10);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pid != getppid()) { /* it ended before that was set */
		_exit(EXIT_FAILED);
	}
	if (max_time_ns > 0) {
		end_after(max_time_ns);
		/* The rest is for the reply. */
		with->end_ns = now_monotonic_ns() + max_time_ns / 4 * 3;
	}
}

/* The sources, where URLs are in the environment: the caller frees those. */
static void take_urls(const char **sources, size_t count)
{
	char name[sizeof(SOURCE_VARIABLE) + 20];

	for (size_t i = 0; i < count; i++) {
		if (store_is_clickhouse(sources[i])) {
			char *url;

			(void)snprintf(name, sizeof(name), SOURCE_VARIABLE, i);
			url = child_take_variable(name);
			sources[i] = url ? url : sources[i];
		}
	}
}

static int run(const struct options *options)
{
	struct answering with = { .jobs = options->jobs };
	const char **sources;
	char *server = child_take_variable(WORKERS_VARIABLE);
	int status;
	FILE *out;

	while (options->args[1 + with.source_count]) {
		with.source_count++;
	}
	sources = mem_alloc((with.source_count + 1) * sizeof(*sources));
	memcpy(sources, options->args + 1, with.source_count * sizeof(*sources));
	if (server) {
		serve_alone(server, &with);
		take_urls(sources, with.source_count);
	}
	if (options->has_max_memory) {
		bound_memory(options->max_memory);
		with.max_memory = options->max_memory / 2; /* the reply needs some, too */
	}
	with.sources = sources;
	out = fdopen(dup(STDOUT_FILENO), "w");
	if (!out) {
		mem_lacks("an output");
	}
	status = answer_request(&with, options->args[0], out);
	(void)fclose(out);
	for (size_t i = 0; i < with.source_count; i++) {
		if (sources[i] != options->args[1 + i]) {
			free((char *)(uintptr_t)sources[i]);
		}
	}
	free(sources);
	free(server);
	return status;
}

const struct command cmd_api = {
	.name = "api",
	.args = "REQUEST SOURCE...",
	.summary = "print a reply of serve, without a server",
	.examples = "  sillage api sources TRACE store.db\n"
		    "  sillage api 'tables?source=0&analyses=cpu&table=cpu.threads&limit=5' TRACE\n"
		    "  sillage help requests\n",
	.options = FOR_API,
	.args_min = 1,
	.run = run,
};
