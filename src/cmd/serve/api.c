/*
 * api: one reply of `serve`, without a server.  It is also the process that computes the replies of
 * one (serve/workers.h).
 */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/request.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/serve/answer.h"

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
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody is left to read it */
	set_process_limit(RLIMIT_CORE, 0);
	(void)signal(SIGXFSZ, SIG_IGN);                     /* it is an error of writing */
	set_process_limit(RLIMIT_FSIZE, API_PRINTED_BYTES); /* of a file in memory, too */
	if (MAY_LIMIT) {
		set_process_limit(RLIMIT_DATA, most);
	}
}

static int run(const struct options *options)
{
	struct answering with = { .jobs = options->jobs };
	struct served_source *sources;
	struct err err;
	int status = EXIT_DONE;
	FILE *out;

	while (options->args[1 + with.source_count]) {
		with.source_count++;
	}
	if (options->has_max_memory) {
		bound_memory(options->max_memory);
		with.max_memory = options->max_memory / 2; /* the reply needs some, too */
	}
	sources = mem_alloc((with.source_count + 1) * sizeof(*sources));
	with.sources = sources;
	for (size_t i = 0; i < with.source_count && status == EXIT_DONE; i++) {
		if (source_find(options->args[1 + i], &sources[i], &err) < 0) {
			status = EXIT_FAILED;
		}
	}
	out = fdopen(dup(STDOUT_FILENO), "w");
	if (!out) {
		mem_lacks("an output");
	}
	if (status == EXIT_DONE) {
		status = answer_request(&with, options->args[0], out);
	} else {
		char *text = api_error(422, err.text);

		(void)fputs(text, out);
		free(text);
	}
	(void)fclose(out);
	for (size_t i = 0; i < with.source_count; i++) {
		source_fini(&sources[i]);
	}
	free(sources);
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
