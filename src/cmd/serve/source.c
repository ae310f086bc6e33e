/*
 * source: see source.h.
 */
#include "cmd/serve/source.h"

#include <assert.h>
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "output/sink.h"
#include "recorded/recorded.h"
#include "relay/url.h"
#include "run/captured.h"
#include "run/run.h"
#include "store/clickhouse/clickhouse-url.h"
#include "store/reader.h"
#include "store/rows/store-url.h"

static bool is_capture(const char *path)
{
	struct err ignored;
	struct json_object *capture = captured_open(path, &ignored);
	bool is = capture;

	(void)json_object_put(capture);
	return is;
}

static int check_trace(const char *path, struct err *err)
{
	struct recorded_paths paths = { 0 };
	int r = recorded_is_file(path) ? 0 : recorded_find(path, &paths, err);

	recorded_paths_fini(&paths);
	return r;
}

/* Whoever is served sees the name: it has no password. */
static int find_server(const char *url, struct served_source *ret, struct err *err)
{
	struct clickhouse_url parsed;
	int r = clickhouse_url_parse(url, &parsed, err);

	ret->name = mem_strdup(r < 0 ? "clickhouse:" : parsed.shown);
	if (r == 0) {
		ret->path = mem_strdup(url);
		clickhouse_url_fini(&parsed);
	}
	return r;
}

int source_find(const char *arg, struct served_source *ret, struct err *err)
{
	struct err ignored;
	const char *file;
	char *real;

	*ret = (struct served_source){ .kind = API_STORE };
	if (store_is_clickhouse(arg)) {
		return find_server(arg, ret, err);
	}
	ret->name = mem_strdup(arg);
	if (url_is_one(arg)) {
		ret->kind = API_TRACE;
		return err_raise(err, -EINVAL, "%s: relays are no source", arg);
	}
	file = store_file_of(arg, &ignored);
	ret->kind = file ? API_STORE : API_TRACE;
	if (file && store_file_of(file, &ignored)) {
		free(ret->name);
		ret->name = mem_strdup(file); /* without "sqlite:", which it does not need */
	}
	real = realpath(file ? file : arg, NULL);
	if (!real) {
		return err_raise(err, -errno, "%s: %s", arg, strerror(errno));
	}
	/* Its name need not say that it is a store, nor that of what a link leads to. */
	ret->path = file ? mem_printf("sqlite:%s", real) : mem_strdup(real);
	free(real);
	if (file) {
		return store_reader_check(ret->path, err);
	}
	ret->kind = is_capture(ret->path) ? API_CAPTURE : API_TRACE;
	return check_trace(ret->path, err);
}

void source_fini(struct served_source *source)
{
	free(source->name);
	free(source->path);
	*source = (struct served_source){ 0 };
}

/* ---- rows ---- */

static void add_text(struct json_object *to, const char *key, const char *text)
{
	if (text) {
		json_object_object_add(to, key, json_object_new_string(text));
	}
}

static void add_time(struct json_object *to, const char *key, bool is_known, uint64_t ns)
{
	json_object_object_add(to, key, is_known ? json_object_new_uint64(ns) : NULL);
}

static struct json_object *trace_object(const struct trace_identity *identity)
{
	struct json_object *ret = json_object_new_object();

	add_text(ret, "host", identity->host);
	add_text(ret, "session", identity->session);
	add_text(ret, "domain", identity->domain);
	add_text(ret, "path", identity->path);
	return ret;
}

struct source_span {
	uint64_t first, last;
};

static struct json_object *trace_row(const struct recorded_path *path, struct source_span *all,
				     struct err *err)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct trace_identity identity = { 0 };
	struct json_object *ret;
	uint64_t first = UINT64_MAX, last = 0;
	int r = recorded_read_metadata(path, stream, err);

	if (r == 0) {
		run_identify(&identity, metadata_stream_types(stream), path);
		r = recorded_span(path, &first, &last, err);
	} else {
		identity.path = mem_strdup(path->name);
	}
	ret = trace_object(&identity);
	add_time(ret, "begin", first <= last, first);
	add_time(ret, "end", first <= last, last);
	add_text(ret, "why", r < 0 ? err->text : NULL);
	all->first = first < all->first ? first : all->first;
	all->last = last > all->last ? last : all->last;
	output_trace_fini(&identity);
	metadata_stream_free(stream);
	return ret;
}

static int add_traces(const struct served_source *source, struct json_object *list,
		      struct source_span *all, struct err *err)
{
	struct recorded_paths paths = { 0 };
	int r = recorded_find(source->path, &paths, err);

	assert(source->kind != API_STORE);
	VEC_EACH(&paths.at, path) {
		struct err of_one = { "" };

		json_object_array_add(list, trace_row(path, all, &of_one));
	}
	recorded_paths_fini(&paths);
	return r;
}

static int add_stored(const struct served_source *source, struct json_object *list,
		      struct source_span *all, struct err *err)
{
	const struct store_trace *traces;
	struct store_reader *reader = NULL;
	size_t count = 0;
	int r = store_reader_open(source->path, &run_stop, &reader, err);

	assert(source->kind == API_STORE);
	if (r == 0) {
		r = store_reader_span(reader, &all->first, &all->last, err);
		traces = store_reader_traces(reader, &count);
		for (size_t i = 0; i < count; i++) {
			json_object_array_add(list, trace_object(&traces[i].identity));
		}
	}
	store_reader_close(reader);
	return r;
}

static int add_what_it_has(const struct served_source *source, struct json_object *traces,
			   struct source_span *all, struct err *err)
{
	return source->kind == API_STORE ? add_stored(source, traces, all, err)
					 : add_traces(source, traces, all, err);
}

struct json_object *source_row(const struct served_source *source, size_t number, const char *why)
{
	struct json_object *ret = json_object_new_object(), *traces = json_object_new_array();
	struct json_object *answers = json_object_new_array();
	struct source_span all = { .first = UINT64_MAX };
	struct err err;

	assert(source->name && (source->path || why));
	if (!why && add_what_it_has(source, traces, &all, &err) < 0) {
		why = err.text;
	}
	for (int what = 0; what < API_WHATS; what++) {
		if (api_can(source->kind, (enum api_what)what)) {
			json_object_array_add(answers, json_object_new_string(
							       api_what_name((enum api_what)what)));
		}
	}
	json_object_object_add(ret, "source", json_object_new_uint64(number));
	add_text(ret, "kind", api_kind_name(source->kind));
	add_text(ret, "name", source->name);
	add_time(ret, "begin", all.first <= all.last, all.first);
	add_time(ret, "end", all.first <= all.last, all.last);
	json_object_object_add(ret, "events", NULL); /* not counted */
	json_object_object_add(ret, "traces", traces);
	json_object_object_add(ret, "answers", answers);
	add_text(ret, "why", why);
	return ret;
}
