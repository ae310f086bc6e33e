/*
 * serve: replies about traces, captures and stores, for programs and for browsers.
 */
#include "serve/serve.h"

#include <assert.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/process/service.h"
#include "cmd/cmd.h"
#include "cmd/serve/source.h"
#include "engine/contract/analysis.h"
#include "live/loop-signals.h"
#include "run/say.h"
#include "server/access.h"
#include "server/repeat.h"
#include "store/clickhouse/clickhouse-url.h"
#include "store/rows/store-url.h"

struct serving {
	const struct options *options;
	struct event_base *base;
	struct access *access; /* NULL: neither TLS nor users */
	VEC(struct served_source) sources;
	VEC(struct serve_source) shown;
	VEC(const char *) paths, environment; /* of workers */
	char *analyses;
	struct serve *serve;
	struct err err;
};

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
	const struct serving *run = arg;

	(void)event_base_loopbreak(run->base);
}

static void on_access_signal(evutil_socket_t fd, short what, void *arg)
{
	struct serving *run = arg;

	if (run->access && access_read_again(run->access, &run->err) < 0) {
		say("%s: all is served as before", run->err.text);
	}
}

/* What a process that computes a reply is told: a URL, which may have a password, not among its
 * words. */
static void hand_on(struct serving *run, const struct served_source *source)
{
	if (store_is_clickhouse(source->path)) {
		*vec_push(&run->paths) = source->name;
		*vec_push(&run->environment) =
			mem_printf(SOURCE_VARIABLE "=%s", run->sources.count - 1, source->path);
	} else {
		*vec_push(&run->paths) = source->path;
	}
}

/* That of all URLs without one. */
static void hand_password_on(struct serving *run)
{
	const char *password = clickhouse_url_kept_password();

	if (password && run->environment.count > 0) {
		*vec_push(&run->environment) = mem_printf("SILLAGE_STORE_PASSWORD=%s", password);
	}
	*vec_push(&run->paths) = NULL;
	*vec_push(&run->environment) = NULL;
}

static int find_sources(struct serving *run)
{
	for (size_t i = 0; run->options->args[i]; i++) {
		struct served_source *source;
		int r;

		if (i == SERVE_SOURCES_MAX) {
			return err_raise(&run->err, -E2BIG, "%d sources at most",
					 SERVE_SOURCES_MAX);
		}
		source = vec_push(&run->sources);
		r = source_find(run->options->args[i], source, &run->err);
		if (r < 0) {
			return r;
		}
		hand_on(run, source);
		*vec_push(&run->shown) = (struct serve_source){ source->kind, source->name };
	}
	hand_password_on(run);
	return 0;
}

/* Two at least: a long one does not hold a short one up. */
static void fill_workers(const struct serving *run, struct workers_config *ret)
{
	const struct options *options = run->options;
	uint64_t cpus = options->jobs > 0 ? options->jobs : 1;
	uint64_t most = cpus < 2 ? 2 : cpus < SERVE_WORKERS_MAX ? cpus : SERVE_WORKERS_MAX;

	*ret = (struct workers_config){
		.sources = run->paths.at,
		.environment = run->environment.at,
		.most = (size_t)most,
		.jobs = cpus / most > 0 ? cpus / most : 1,
		.max_memory = options->has_max_memory ? options->max_memory : SERVE_MEMORY_BYTES,
		.max_time_ns = options->max_time_ns,
	};
}

/* [[name, what it is], ...], which the page offers. */
static char *analyses_text(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct json json;

	if (!out) {
		mem_lacks("a text in memory");
	}
	json_init(&json, out);
	json_open(&json, NULL, '[');
	for (size_t i = 0; analyses[i]; i++) {
		json_open(&json, NULL, '[');
		json_text(&json, NULL, analyses[i]->name);
		json_text(&json, NULL, analyses[i]->summary);
		json_close(&json, ']');
	}
	json_close(&json, ']');
	json_flush(&json);
	(void)fclose(out);
	return text;
}

static int open_serve(struct serving *run)
{
	const struct options *options = run->options;
	struct serve_config config = {
		.option = options->listen ? "--listen" : "--port",
		.is_insecure = options->is_insecure,
		.source_count = run->sources.count,
		.sources = run->shown.at,
		.analyses = run->analyses,
	};
	char *address = options->listen ? mem_strdup(options->listen)
					: mem_printf(":%u", (unsigned int)options->port);

	assert(run->sources.count > 0 && run->shown.count == run->sources.count);
	if (options->server_config) {
		run->access = access_new(run->base, options->server_config, &run->err);
	}
	if (run->access || !options->server_config) {
		config.access = run->access;
		config.address = address;
		fill_workers(run, &config.workers);
		run->serve = serve_new(run->base, &config, &run->err);
	}
	free(address);
	return run->serve ? 0 : -1;
}

/* The first line: what a browser opens. */
static void print_address(const struct serving *run)
{
	const char *text = run->options->listen ? run->options->listen : ":";
	const char *port = strrchr(text, ':');
	int len = port ? (int)(port - text) : 0;

	assert(port); /* else it could not be listened on */
	(void)printf("http%s://%.*s:%u/\n", run->access ? "s" : "", len > 0 ? len : 9,
		     len > 0 ? text : "localhost", serve_port(run->serve));
	(void)fflush(stdout);
}

static void serve_all(struct serving *run)
{
	struct loop_signals *signals = loop_signals_new(run->base, on_stop, run);
	struct event *hangup = evsignal_new(run->base, SIGHUP, on_access_signal, run);

	assert(run->serve);
	(void)event_add(hangup, NULL);
	print_address(run);
	service_notify("READY=1");
	(void)event_base_dispatch(run->base);
	service_notify("STOPPING=1");
	serve_free(run->serve);
	event_free(hangup);
	loop_signals_free(signals);
}

static int run(const struct options *options)
{
	struct serving run = { .options = options, .base = event_base_new() };
	int status = EXIT_FAILED;

	if (!run.base) {
		mem_lacks("an event loop");
	}
	repeat_say_to(options->verbosity >= 0 ? say : NULL);
	run.analyses = analyses_text();
	if (find_sources(&run) == 0 && open_serve(&run) == 0) {
		serve_all(&run);
		status = EXIT_DONE;
	} else {
		say("%s", run.err.text);
	}
	repeat_say_to(NULL);
	access_free(run.access);
	event_base_free(run.base);
	vec_fini_each(&run.sources, source_fini);
	vec_fini(&run.shown);
	vec_fini(&run.paths);
	VEC_EACH(&run.environment, one) {
		free((char *)(uintptr_t)*one);
	}
	vec_fini(&run.environment);
	free(run.analyses);
	return status;
}

const struct command cmd_serve = {
	.name = "serve",
	.args = "TRACE|CAPTURE|STORE...",
	.summary = "show them in a browser, and answer programs (doc/api.md)",
	.examples = "  sillage serve ~/lttng-traces/prod-20260101-120000 store.db\n"
		    "  sillage serve --port 0 TRACE\n"
		    "  curl 'http://localhost:4242/api/v1/tables?source=0&analyses=cpu'\n",
	.options = FOR_SERVE,
	.args_min = 1,
	.run = run,
};
