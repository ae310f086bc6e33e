/*
 * metrics: see metrics.h.
 *
 * Names follow Prometheus' conventions: sillage_ANALYSIS_TABLE_COLUMN, base units (seconds,
 * bytes), _total for counters.  Formats: prometheus.io/docs/instrumenting/exposition_formats
 * and the OpenMetrics specification 1.0.0.
 */
#include "live/metrics-server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "engine/contract/row-key.h"
#include "engine/tables/columns.h"
#include "output/snapshot.h"
#include "version.h"

/* Buckets of histograms: 2^10 ns (1 us) to 2^34 ns (17 s). */
#define POWER_FIRST 10
#define POWER_LAST  34

/* What was added up for one row of a table. */
struct total_row {
	char *labels; /* cpu="0", without the trace's */
	uint64_t values[COLUMNS_MAX];
};

KHASH_MAP_INIT_STR(total_rows, struct total_row *)

struct total_table {
	const struct analysis *analysis;
	const struct table *table;
	struct columns columns;
	khash_t(total_rows) * by_labels;
	VEC(struct total_row *) rows;
};

struct metrics_trace {
	char *labels; /* host="...",session="...",domain="..." */
	uint64_t events, windows;
	uint64_t reported; /* when, in windows of all traces */
	double end_s, lag_s;
	bool has_lag;
	VEC(struct total_table *) tables;
	struct snapshot *last; /* window, for threads */
};

struct metrics {
	struct evhttp *http;
	uint64_t windows; /* of all traces */
	VEC(struct metrics_trace *) traces;
};

/* ---- labels ---- */

/* Adds name="value" to @text; what a trace says is escaped, and made ASCII. */
static void add_label(FILE *out, bool *is_first, const char *name, const char *value)
{
	(void)fprintf(out, "%s%s=\"", *is_first ? "" : ",", name);
	*is_first = false;
	for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
		if (*at == '"' || *at == '\\') {
			(void)fprintf(out, "\\%c", *at);
		} else {
			(void)fputc(*at < 0x20 || *at >= 0x7F ? '?' : *at, out);
		}
	}
	(void)fputc('"', out);
}

static char *trace_labels(const struct trace_identity *trace)
{
	const char *names[] = { "host", "session", "domain" };
	const char *values[] = { trace->host, trace->session, trace->domain };
	bool is_first = true;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (values[i]) {
			add_label(out, &is_first, names[i], values[i]);
		}
	}
	(void)fclose(out);
	return text;
}

static void item_labels(FILE *out, bool *is_first, const struct table *table, uint64_t id,
			const char *name)
{
	const char *id_name = table->id_name ? table->id_name(id) : NULL;
	char number[24];

	if (table->id_key && id != ROW_KEY_NO_ID) {
		(void)snprintf(number, sizeof(number), "%" PRId64, (int64_t)id);
		add_label(out, is_first, table->id_key, id_name ? id_name : number);
	}
	if (table->name_key) {
		add_label(out, is_first, table->name_key, name);
	}
}

static char *row_labels(const struct table *table, const struct report_row *row)
{
	bool is_first = true;
	char *text = NULL, number[24];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	switch (table->scope) {
	case SCOPE_CPU:
		(void)snprintf(number, sizeof(number), "%" PRIu64, row->id);
		add_label(out, &is_first, "cpu", number);
		break;
	case SCOPE_EVENT:
		add_label(out, &is_first, "event", row->name);
		break;
	case SCOPE_KEYED:
		item_labels(out, &is_first, table, row->id, row->name);
		break;
	default:
		break;
	}
	(void)fclose(out);
	return text;
}

/* ---- adding up ---- */

static void free_table(struct total_table *total)
{
	for (size_t r = 0; r < total->rows.count; r++) {
		columns_empty(&total->columns, total->rows.at[r]->values);
		free(total->rows.at[r]->labels);
		free(total->rows.at[r]);
	}
	kh_destroy(total_rows, total->by_labels);
	vec_fini(&total->rows);
	columns_fini(&total->columns);
	free(total);
}

static void free_trace(struct metrics_trace *trace)
{
	for (size_t i = 0; i < trace->tables.count; i++) {
		free_table(trace->tables.at[i]);
	}
	vec_fini(&trace->tables);
	snapshot_free(trace->last);
	free(trace->labels);
	free(trace);
}

/* Sessions come and go for months: the one that was silent longest makes room. */
static void make_room(struct metrics *metrics)
{
	size_t oldest = 0;

	if (metrics->traces.count < METRICS_TRACES_MAX) {
		return;
	}
	for (size_t i = 1; i < metrics->traces.count; i++) {
		if (metrics->traces.at[i]->reported < metrics->traces.at[oldest]->reported) {
			oldest = i;
		}
	}
	free_trace(metrics->traces.at[oldest]);
	metrics->traces.at[oldest] = metrics->traces.at[--metrics->traces.count];
}

static struct metrics_trace *trace_of(struct metrics *metrics, const struct trace_identity *trace)
{
	char *labels = trace_labels(trace);
	struct metrics_trace *found;

	for (size_t i = 0; i < metrics->traces.count; i++) {
		if (strcmp(metrics->traces.at[i]->labels, labels) == 0) {
			free(labels);
			return metrics->traces.at[i];
		}
	}
	make_room(metrics);
	found = mem_alloc(sizeof(*found));
	found->labels = labels;
	*vec_push(&metrics->traces) = found;
	return found;
}

static struct total_table *table_of(struct metrics_trace *trace, const struct report_table *table)
{
	struct total_table *found;

	for (size_t i = 0; i < trace->tables.count; i++) {
		if (trace->tables.at[i]->table == table->table) {
			return trace->tables.at[i];
		}
	}
	found = mem_alloc(sizeof(*found));
	found->analysis = table->analysis;
	found->table = table->table;
	columns_append(&found->columns, table->table);
	found->by_labels = kh_init(total_rows);
	*vec_push(&trace->tables) = found;
	return found;
}

/* More rows than METRICS_ROWS_MAX are one: a client has to keep a series for each. */
static struct total_row *total_of(struct total_table *total, const struct report_row *row)
{
	char *labels = row_labels(total->table, row);
	khint_t at = kh_get(total_rows, total->by_labels, labels);
	struct total_row *found;
	int is_new;

	if (at == kh_end(total->by_labels) && total->rows.count >= METRICS_ROWS_MAX) {
		free(labels);
		labels = mem_strdup("other=\"all\"");
		at = kh_get(total_rows, total->by_labels, labels);
	}
	if (at != kh_end(total->by_labels)) {
		free(labels);
		return kh_value(total->by_labels, at);
	}
	found = mem_alloc(sizeof(*found));
	found->labels = labels;
	at = kh_put(total_rows, total->by_labels, found->labels, &is_new);
	kh_value(total->by_labels, at) = found;
	*vec_push(&total->rows) = found;
	return found;
}

/* Sums go on, what is as of the window's end is replaced. */
static void add_row(struct total_table *total, struct total_row *row, const uint64_t *values)
{
	uint64_t *window = mem_alloc((total->columns.count + 1) * sizeof(*window));

	columns_add(&total->columns, window, values);
	columns_close(&total->columns, row->values, window);
	columns_empty(&total->columns, window);
	free(window);
}

/* Lists whose rows are few: not those of descriptors. */
static bool is_counted(const struct table *table)
{
	enum scope scope = table->scope;

	return scope == SCOPE_TRACE || scope == SCOPE_CPU || scope == SCOPE_EVENT ||
	       (scope == SCOPE_KEYED && !table->owner_key);
}

void metrics_add(struct metrics *metrics, const struct trace_identity *identity,
		 const struct report *report)
{
	struct metrics_trace *trace;

	if (report->kind != REPORT_WINDOW) {
		return;
	}
	trace = trace_of(metrics, identity);
	trace->events += report->events;
	trace->windows++;
	trace->reported = ++metrics->windows;
	trace->end_s = (double)report->end / 1e9;
	trace->has_lag = report->has_lag;
	trace->lag_s = (double)report->lag_ns / 1e9;
	for (size_t t = 0; t < report->table_count; t++) {
		const struct report_table *table = &report->tables[t];

		for (size_t r = 0; is_counted(table->table) && r < table->row_count; r++) {
			struct total_table *total = table_of(trace, table);

			add_row(total, total_of(total, &table->rows[r]), table->rows[r].values);
		}
	}
	snapshot_free(trace->last);
	trace->last = snapshot_new(identity, report, METRICS_THREADS);
}

/* ---- writing ---- */

struct writer {
	FILE *out;
	bool is_open_metrics;
	const struct metrics *metrics;
};

/* sillage_cpu_cpus_busy_seconds: a figure's name, in base units. */
static void name_of(char name[128], const struct analysis *analysis, const struct table *table,
		    const struct column *column)
{
	size_t len = strlen(column->key);
	bool is_ns = len > 3 && strcmp(column->key + len - 3, "_ns") == 0;
	bool is_time = column->unit == UNIT_NS;

	(void)snprintf(name, 128, "sillage_%s_%s%s%.*s%s", analysis->name,
		       table->key ? table->key : "", table->key ? "_" : "",
		       (int)(is_ns ? len - 3 : len), column->key, is_time ? "_seconds" : "");
}

static const char *type_of(const struct column *column)
{
	switch (column->kind) {
	case COLUMN_SUM:
		return "counter";
	case COLUMN_HISTOGRAM:
		return "histogram";
	default:
		return "gauge";
	}
}

/* Both formats want a family's samples together, its type before them. */
static void put_family(const struct writer *w, const char *name, const char *type, const char *help)
{
	const char *suffix = !w->is_open_metrics && strcmp(type, "counter") == 0 ? "_total" : "";

	(void)fprintf(w->out, "# TYPE %s%s %s\n# HELP %s%s %s\n", name, suffix, type, name, suffix,
		      help);
}

static void put_labels(const struct writer *w, const struct metrics_trace *trace,
		       const char *labels, const char *more)
{
	const char *parts[] = { trace->labels, labels, more };
	bool is_first = true;

	(void)fputc('{', w->out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i] && parts[i][0]) {
			(void)fprintf(w->out, "%s%s", is_first ? "" : ",", parts[i]);
			is_first = false;
		}
	}
	(void)fputc('}', w->out);
}

static void put_number(const struct writer *w, enum unit unit, uint64_t value)
{
	if (unit == UNIT_NS) {
		(void)fprintf(w->out, " %.9f\n", (double)value / 1e9);
	} else {
		(void)fprintf(w->out, " %" PRIu64 "\n", value);
	}
}

static void put_histogram(const struct writer *w, const struct metrics_trace *trace,
			  const char *name, const char *labels, const struct histogram *histogram)
{
	uint64_t powers[HISTOGRAM_POWERS] = { 0 }, seen = 0;
	char bound[48];

	if (histogram) {
		histogram_powers(histogram, powers);
	}
	for (unsigned int i = 0; i <= POWER_LAST; i++) {
		seen += powers[i];
		if (i + 1 >= POWER_FIRST) { /* all below 2^(i+1), which is how histograms count */
			(void)snprintf(bound, sizeof(bound), "le=\"%.9f\"",
				       (double)(((uint64_t)1 << (i + 1)) - 1) / 1e9);
			(void)fprintf(w->out, "%s_bucket", name);
			put_labels(w, trace, labels, bound);
			(void)fprintf(w->out, " %" PRIu64 "\n", seen);
		}
	}
	(void)fprintf(w->out, "%s_bucket", name);
	put_labels(w, trace, labels, "le=\"+Inf\"");
	(void)fprintf(w->out, " %" PRIu64 "\n%s_sum", histogram ? histogram->count : 0, name);
	put_labels(w, trace, labels, NULL);
	put_number(w, UNIT_NS, histogram ? histogram->sum : 0);
	(void)fprintf(w->out, "%s_count", name);
	put_labels(w, trace, labels, NULL);
	(void)fprintf(w->out, " %" PRIu64 "\n", histogram ? histogram->count : 0);
}

static void put_sample(const struct writer *w, const struct metrics_trace *trace, const char *name,
		       const struct column *column, const char *labels, const uint64_t *values,
		       unsigned int c)
{
	if (column->kind == COLUMN_HISTOGRAM) {
		put_histogram(w, trace, name, labels, column_histogram(values, c));
		return;
	}
	(void)fprintf(w->out, "%s%s", name, column->kind == COLUMN_SUM ? "_total" : "");
	put_labels(w, trace, labels, NULL);
	put_number(w, column->unit, values[c]);
}

/* One figure of all traces. */
static void put_figure(const struct writer *w, const struct total_table *like, unsigned int c)
{
	const struct column *column = &like->table->columns[c];
	char name[128], help[160];

	name_of(name, like->analysis, like->table, column);
	(void)snprintf(help, sizeof(help), "%s of the analysis %s", column->key,
		       like->analysis->name);
	put_family(w, name, type_of(column), help);
	for (size_t t = 0; t < w->metrics->traces.count; t++) {
		const struct metrics_trace *trace = w->metrics->traces.at[t];

		for (size_t i = 0; i < trace->tables.count; i++) {
			const struct total_table *total = trace->tables.at[i];

			for (size_t r = 0; total->table == like->table && r < total->rows.count;
			     r++) {
				put_sample(w, trace, name, column, total->rows.at[r]->labels,
					   total->rows.at[r]->values, c);
			}
		}
	}
}

/* Whether an earlier trace has this table, too, so that it has been written. */
static bool was_written(const struct metrics *metrics, size_t trace, const struct table *table)
{
	for (size_t t = 0; t < trace; t++) {
		for (size_t i = 0; i < metrics->traces.at[t]->tables.count; i++) {
			if (metrics->traces.at[t]->tables.at[i]->table == table) {
				return true;
			}
		}
	}
	return false;
}

/* The first threads of the last window, by the figure that sorts them. */
static void put_thread_samples(const struct writer *w, const struct metrics_trace *trace,
			       const struct report_table *table, const char *name,
			       const struct column *column, unsigned int c)
{
	for (size_t r = 0; r < table->row_count && r < METRICS_THREADS; r++) {
		const struct report_row *row = &table->rows[r];
		char *labels = NULL, tid[16];
		bool is_first = true;
		size_t size;
		FILE *out = open_memstream(&labels, &size);

		(void)snprintf(tid, sizeof(tid), "%" PRId32, row->thread->tid);
		add_label(out, &is_first, "tid", tid);
		add_label(out, &is_first, "comm", row->thread->comm);
		(void)fprintf(out, ",rank=\"%zu\"", r + 1); /* a tid may have been two threads */
		(void)fclose(out);
		(void)fputs(name, w->out);
		put_labels(w, trace, labels, NULL);
		put_number(w, column->unit, row->values[c]);
		free(labels);
	}
}

static void put_threads(const struct writer *w, const struct analysis *analysis,
			const struct table *table)
{
	for (unsigned int c = 0; c < COLUMNS_MAX && table->columns[c].key; c++) {
		const struct column *column = &table->columns[c];
		char name[128];

		if (!(table->sort_mask >> c & 1) || column->kind != COLUMN_SUM) {
			continue;
		}
		name_of(name, analysis, table, column);
		(void)strncat(name, "_last_window", sizeof(name) - strlen(name) - 1);
		put_family(w, name, "gauge", "the first threads of the last window");
		for (size_t t = 0; t < w->metrics->traces.count; t++) {
			const struct metrics_trace *trace = w->metrics->traces.at[t];
			const struct report_table *rows =
				snapshot_table(trace->last, analysis->name, SCOPE_THREAD);

			if (rows) {
				put_thread_samples(w, trace, rows, name, column, c);
			}
		}
	}
}

static void put_traces(const struct writer *w)
{
	static const struct {
		const char *name, *type, *help;
	} families[] = {
		{ "sillage_events", "counter", "events in the windows reported" },
		{ "sillage_windows", "counter", "windows reported" },
		{ "sillage_window_end_timestamp_seconds", "gauge", "end of the last window" },
		{ "sillage_lag_seconds", "gauge", "from a window's end to its report" },
	};

	put_family(w, "sillage_build_info", "gauge", "which sillage this is");
	(void)fprintf(w->out, "sillage_build_info{version=\"%s\"} 1\n", SILLAGE_VERSION);
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		put_family(w, families[f].name, families[f].type, families[f].help);
		for (size_t t = 0; t < w->metrics->traces.count; t++) {
			const struct metrics_trace *trace = w->metrics->traces.at[t];
			double values[] = { (double)trace->events, (double)trace->windows,
					    trace->end_s, trace->lag_s };

			if (f == 3 && !trace->has_lag) {
				continue;
			}
			(void)fprintf(w->out, "%s%s", families[f].name, f < 2 ? "_total" : "");
			put_labels(w, trace, NULL, NULL);
			(void)fprintf(w->out, f < 2 ? " %.0f\n" : " %.9f\n", values[f]);
		}
	}
}

char *metrics_text(const struct metrics *metrics, bool is_open_metrics)
{
	struct writer w = { .is_open_metrics = is_open_metrics, .metrics = metrics };
	char *text = NULL;
	size_t size;

	w.out = open_memstream(&text, &size);
	put_traces(&w);
	for (size_t t = 0; t < metrics->traces.count; t++) {
		const struct metrics_trace *trace = metrics->traces.at[t];

		for (size_t i = 0; i < trace->tables.count; i++) {
			const struct total_table *total = trace->tables.at[i];

			for (unsigned int c = 0;
			     !was_written(metrics, t, total->table) && c < total->columns.count;
			     c++) {
				put_figure(&w, total, c);
			}
		}
	}
	for (size_t i = 0;
	     metrics->traces.count > 0 && i < metrics->traces.at[0]->last->report.table_count;
	     i++) {
		const struct report_table *table = &metrics->traces.at[0]->last->report.tables[i];

		if (table->table->scope == SCOPE_THREAD) {
			put_threads(&w, table->analysis, table->table);
		}
	}
	if (is_open_metrics) {
		(void)fputs("# EOF\n", w.out);
	}
	(void)fclose(w.out);
	return text;
}

/* ---- serving ---- */

static void on_metrics(struct evhttp_request *request, void *arg)
{
	const char *accept =
		evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
	bool is_open = accept && strstr(accept, "application/openmetrics-text");
	struct evbuffer *body = evbuffer_new();
	char *text = metrics_text(arg, is_open);

	(void)evbuffer_add(body, text, strlen(text));
	(void)evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
				is_open ? "application/openmetrics-text; version=1.0.0; "
					  "charset=utf-8"
					: "text/plain; version=0.0.4; charset=utf-8");
	evhttp_send_reply(request, HTTP_OK, "OK", body);
	evbuffer_free(body);
	free(text);
}

static void on_other(struct evhttp_request *request, void *arg)
{
	(void)arg;
	evhttp_send_error(request, HTTP_NOTFOUND, "only /metrics is here");
}

/* HOST:PORT, with brackets around an IPv6 address; no host: this machine only. */
static int split_address(const char *address, char host[256], uint16_t *ret_port, struct err *err)
{
	const char *colon = strrchr(address, ':');
	size_t len = colon ? (size_t)(colon - address) : 0;
	char *past;
	unsigned long port = colon ? strtoul(colon + 1, &past, 10) : 0;

	if (!colon || colon[1] < '0' || colon[1] > '9' || *past || port > UINT16_MAX || len > 255) {
		return err_raise(err, -EINVAL, "--metrics: \"%s\" is not [HOST]:PORT", address);
	}
	if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
		address++;
		len -= 2;
	}
	(void)snprintf(host, 256, "%.*s", len > 0 ? (int)len : 9, len > 0 ? address : "127.0.0.1");
	*ret_port = (uint16_t)port;
	return 0;
}

struct metrics *metrics_new(struct event_base *base, const char *address, struct err *err)
{
	struct metrics *metrics = mem_alloc(sizeof(*metrics));
	char host[256];
	uint16_t port = 0;

	if (split_address(address, host, &port, err) < 0) {
		free(metrics);
		return NULL;
	}
	metrics->http = evhttp_new(base);
	evhttp_set_allowed_methods(metrics->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(metrics->http, METRICS_HEADERS_MAX);
	evhttp_set_max_body_size(metrics->http, 0);
	evhttp_set_timeout(metrics->http, METRICS_TIMEOUT_S);
	evhttp_set_gencb(metrics->http, on_other, NULL);
	(void)evhttp_set_cb(metrics->http, "/metrics", on_metrics, metrics);
	if (evhttp_bind_socket(metrics->http, host, port) < 0) {
		(void)err_raise(err, -errno, "--metrics: cannot listen on %s port %u: %s", host,
				port, strerror(errno));
		metrics_free(metrics);
		return NULL;
	}
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics) {
		return;
	}
	for (size_t t = 0; t < metrics->traces.count; t++) {
		free_trace(metrics->traces.at[t]);
	}
	vec_fini(&metrics->traces);
	evhttp_free(metrics->http);
	free(metrics);
}
