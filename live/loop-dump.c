/*
 * loop-dump: the state dump of a session whose begin is missed.
 *
 * When tracing starts, the tracer writes which threads there are, their names and open files.  Who
 * attaches later does not see that.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/shell.h"
#include "live/loop-state.h"
#include "setup/runner.h"

/* `lttng regenerate statedump` while it runs. */
struct dump {
	struct loop *loop;
	char *host, *session;
	struct runner runner;
	struct event *event;
};

static void dump_free(struct dump *dump)
{
	event_free(dump->event);
	free(dump->host);
	free(dump->session);
	free(dump);
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
	struct dump *dump = arg;
	struct loop *loop = dump->loop;
	const struct loop_config *config = loop->config;
	struct err err;

	if (runner_read(&dump->runner)) {
		return;
	}
	if (runner_end(&dump->runner, false, &err) < 0) {
		loop_say(loop, "%s/%s: the state dump that is missed cannot be had again: %s",
			 dump->host, dump->session, err.text);
	} else if (config->verbosity >= 0) {
		loop_say(loop, "%s/%s: its state is dumped again", dump->host, dump->session);
	}
	for (size_t i = 0; i < loop->dumps.count; i++) {
		if (loop->dumps.at[i] == dump) {
			loop->dumps.at[i] = loop->dumps.at[--loop->dumps.count];
		}
	}
	dump_free(dump);
}

static void ask(struct loop *loop, const struct trace_identity *trace)
{
	const char *const words[] = { "lttng", "--no-sessiond", "regenerate", "statedump",
				      "-s",    trace->session,  NULL };
	struct dump *dump = mem_alloc(sizeof(*dump));
	struct err err;

	if (runner_begin(&dump->runner, words, &err) < 0) {
		loop_say(loop, "%s/%s: %s", trace->host, trace->session, err.text);
		free(dump);
		return;
	}
	dump->loop = loop;
	dump->host = mem_strdup(trace->host);
	dump->session = mem_strdup(trace->session);
	dump->event = event_new(loop->base, dump->runner.fd, EV_READ | EV_PERSIST, on_output, dump);
	(void)event_add(dump->event, NULL);
	*vec_push(&loop->dumps) = dump;
}

void loop_on_late(void *user, const struct trace_identity *trace)
{
	struct loop *loop = user;
	const struct loop_config *config = loop->config;
	char here[HOST_NAME_MAX + 1] = "", *session = shell_word(trace->session);

	(void)gethostname(here, sizeof(here) - 1);
	if (config->regenerates && strcmp(trace->host, here) == 0) {
		ask(loop, trace);
	} else if (config->regenerates) {
		loop_say(loop,
			 "%s/%s: its state dump is missed, and it is not of this host: run "
			 "there `lttng regenerate statedump -s %s`",
			 trace->host, trace->session, session);
	} else if (config->verbosity >= 0) {
		loop_say(loop,
			 "%s/%s: attached after its start: names of threads and open files are "
			 "unknown until they change; `lttng regenerate statedump -s %s`, "
			 "--regenerate or --from beginning tells them",
			 trace->host, trace->session, session);
	}
	free(session);
}

void loop_free_dumps(struct loop *loop)
{
	struct err ignored;

	for (size_t i = 0; i < loop->dumps.count; i++) {
		(void)runner_end(&loop->dumps.at[i]->runner, true, &ignored);
		dump_free(loop->dumps.at[i]);
	}
	vec_fini(&loop->dumps);
}
