/*
 * json: see json.h.
 */
#include "output/sinks/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "engine/contract/row-key.h"
#include "engine/engine.h"
#include "engine/tables/columns.h"
#include "output/notice.h"
#include "output/sinks/json-known.h"
#include "phases/phases.h"

static void put_trace(struct json *json, const struct trace_identity *trace)
{
	if (!trace) {
		return;
	}
	json_open(json, "trace", '{');
	if (trace->host) {
		json_text(json, "host", trace->host);
	}
	if (trace->session) {
		json_text(json, "session", trace->session);
	}
	if (trace->domain) {
		json_text(json, "domain", trace->domain);
	}
	if (trace->path) {
		json_text(json, "path", trace->path);
	}
	json_close(json, '}');
}

static void start(struct output *output)
{
	struct json json;

	json_begin_object(&json, output->out, "start");
	json_version(&json);
	json_open(&json, "analyses", '[');
	for (size_t i = 0; output->analyses[i]; i++) {
		json_text(&json, NULL, output->analyses[i]->name);
	}
	json_close(&json, ']');
	json_u64(&json, "interval_ns", output->interval_ns);
	if (output->top > 0) {
		json_u64(&json, "top", output->top);
	}
	json_end_object(&json);
}

static void attach(struct output *output, const struct trace_identity *trace, bool is_attach,
		   const char *reason)
{
	struct json json;

	json_begin_object(&json, output->out, is_attach ? "attach" : "detach");
	put_trace(&json, trace);
	json_text(&json, "reason", reason);
	json_end_object(&json);
}

static void put_thread(struct json *json, const struct thread_view *thread)
{
	if (thread->tid >= 0) {
		json_i64(json, "tid", thread->tid);
	}
	if (thread->pid >= 0) {
		json_i64(json, "pid", thread->pid);
	}
	if (thread->comm[0]) {
		json_text(json, "comm", thread->comm);
	}
}

/* The distribution by powers of two, which has few lines.  Rows of threads are too many for it. */
static void put_powers(struct json *json, const struct histogram *histogram)
{
	uint64_t counts[HISTOGRAM_POWERS];
	char power[12];

	histogram_powers(histogram, counts);
	json_open(json, "log2", '{');
	for (unsigned int i = 0; i < HISTOGRAM_POWERS; i++) {
		if (counts[i] > 0) {
			(void)snprintf(power, sizeof(power), "%u", i);
			json_u64(json, power, counts[i]);
		}
	}
	json_close(json, '}');
}

static void put_buckets(struct json *json, const struct histogram *histogram)
{
	struct histogram_bucket *buckets = mem_alloc(HISTOGRAM_BUCKETS_MAX * sizeof(*buckets));
	uint32_t count = histogram_list(histogram, buckets);
	char end[24];

	json_open(json, "buckets", '{');
	for (uint32_t i = 0; i < count; i++) {
		(void)snprintf(end, sizeof(end), "%" PRIu64, histogram_end(buckets[i].index));
		json_u64(json, end, buckets[i].count);
	}
	json_close(json, '}');
	free(buckets);
}

static void put_histogram(struct json *json, const char *key, const struct histogram *histogram,
			  bool with_powers, bool with_buckets)
{
	json_open(json, key, '{');
	json_u64(json, "count", histogram ? histogram->count : 0);
	if (histogram) {
		json_u64(json, "sum_ns", histogram->sum);
		json_u64(json, "min_ns", histogram->min);
		json_fixed(json, "mean_ns", histogram_mean(histogram));
		json_u64(json, "max_ns", histogram->max);
		if (histogram->count > 1) {
			json_fixed(json, "stdev_ns", histogram_deviation(histogram));
		} else {
			json_null(json, "stdev_ns");
		}
		json_u64(json, "p50_ns", histogram_percentile(histogram, 500));
		json_u64(json, "p95_ns", histogram_percentile(histogram, 950));
		json_u64(json, "p99_ns", histogram_percentile(histogram, 990));
		json_u64(json, "p999_ns", histogram_percentile(histogram, 999));
		if (with_powers) {
			put_powers(json, histogram);
		}
		if (with_buckets) {
			put_buckets(json, histogram);
		}
	}
	json_close(json, '}');
}

static void put_columns(struct json *json, const struct output *output,
			const struct report_table *table, const struct report_row *row)
{
	bool has_powers = table->table->scope == SCOPE_TRACE || table->table->scope == SCOPE_KEYED;

	for (unsigned int i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct column *column = &table->table->columns[i];

		if (report_is_unknown(table, i) && column->kind != COLUMN_PRIO) {
			json_null(json, column->key);
			continue;
		}
		switch (column->kind) {
		case COLUMN_PRIO:
			if (row->thread && row->thread->has_prio) {
				json_i64(json, column->key, row->thread->prio);
			}
			break;
		case COLUMN_HISTOGRAM:
			put_histogram(json, column->key, column_histogram(row->values, i),
				      has_powers, output->shows_buckets);
			break;
		case COLUMN_SUM:
		case COLUMN_MAX:
		case COLUMN_LAST:
		case COLUMN_LAST_MAX:
			json_u64(json, column->key, row->values[i]);
			break;
		}
	}
}

static void put_names(struct json *json, const struct report_table *table, size_t count)
{
	json_open(json, table->table->key, '{');
	for (size_t i = 0; i < count; i++) {
		json_u64_named(json, table->rows[i].name, table->rows[i].values[0]);
	}
	json_close(json, '}');
}

static void put_keyed(struct json *json, const struct table *table, uint64_t id, const char *name)
{
	const char *id_name = table->id_name ? table->id_name(id) : NULL;
	char key[ROW_KEY_NAME_BYTES];

	if (report_shows_id(table, id)) {
		json_i64(json, table->id_key, (int64_t)id);
	}
	if (id_name) {
		(void)snprintf(key, sizeof(key), "%s_name", table->id_key);
		json_text(json, key, id_name);
	}
	if (table->name_key && name[0]) {
		json_text(json, table->name_key, name);
	}
}

static void put_label(struct json *json, const struct report_row *row)
{
	if (row->label) {
		json_text(json, "label", row->label);
	}
}

static void put_instance(struct json *json, const struct report_table *of,
			 const struct report_row *row)
{
	const struct instance *instance = row->instance;
	const struct table *table = of->table;

	json_u64(json, "begin", instance->end - instance->ns);
	json_u64(json, "end", instance->end);
	json_u64(json, table->columns[0].key, instance->ns);
	for (size_t i = 0; i < INSTANCE_MORE && table->columns[i + 1].key; i++) {
		if (report_is_unknown(of, (unsigned int)i + 1)) {
			json_null(json, table->columns[i + 1].key);
		} else {
			json_i64(json, table->columns[i + 1].key, instance->more[i]);
		}
	}
	if (instance->cpu != UINT64_MAX) {
		json_u64(json, "cpu", instance->cpu);
	}
	put_keyed(json, table, instance->keyed.id, instance->keyed.name);
	put_label(json, row);
	if (table->by_key && instance->by[0]) {
		json_text(json, table->by_key, instance->by);
	}
	if (row->thread) {
		put_thread(json, row->thread);
	}
}

static void put_pair(struct json *json, const struct table *table, const struct report_row *row)
{
	if (row->thread) {
		put_thread(json, row->thread);
	} else {
		put_keyed(json, table, row->id, row->name);
	}
	if (report_shows_owner(table, row)) {
		json_i64(json, table->owner_key, row->owner);
	}
	if (row->by[0]) {
		json_text(json, table->by_key, row->by);
	}
}

/* The container that a process is in, as far as it is known. */
static void put_place(struct json *json, const struct report_row *row)
{
	bool is_service = row->owner != REPORT_NO_NUMBER && row->owner > UINT32_MAX;

	if (row->owner != REPORT_NO_NUMBER && !is_service) {
		json_i64(json, "pid_ns", row->owner);
	}
	if (row->by[0]) {
		json_text(json, is_service ? "service" : "container", row->by);
	}
}

static void put_row(struct json *json, const struct output *output,
		    const struct report_table *table, const struct report_row *row)
{
	switch (table->table->scope) {
	case SCOPE_CPU:
		json_u64(json, "cpu", row->id);
		break;
	case SCOPE_CONTAINER:
	case SCOPE_KEYED:
		if (table->table->owner_key && row->id != ROW_KEY_NO_ID) {
			json_i64(json, table->table->owner_key, row->owner);
		}
		put_keyed(json, table->table, row->id, row->name);
		put_label(json, row);
		break;
	case SCOPE_PAIR:
	case SCOPE_PROCESS_PAIR:
	case SCOPE_CONTAINER_PAIR:
		put_pair(json, table->table, row);
		break;
	case SCOPE_LONGEST:
		put_instance(json, table, row);
		return;
	default:
		put_thread(json, row->thread);
		if (row->named_by != 0) {
			json_i64(json, "comm_of", row->named_by);
		}
		if (row->by) {
			put_place(json, row);
		}
		break;
	}
	put_columns(json, output, table, row);
}

static void put_rows(struct json *json, const struct output *output,
		     const struct report_table *table, size_t count)
{
	json_open(json, table->table->key, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, NULL, '{');
		put_row(json, output, table, &table->rows[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_table(struct json *json, const struct output *output,
		      const struct report_table *table)
{
	size_t count =
		output->top > 0 && output->top < table->row_count ? output->top : table->row_count;

	switch (table->table->scope) {
	case SCOPE_TRACE:
		put_columns(json, output, table, &table->rows[0]);
		break;
	case SCOPE_EVENT:
		put_names(json, table, count);
		break;
	default:
		put_rows(json, output, table, count);
		break;
	}
}

static void put_tables(struct json *json, const struct output *output, const struct report *report)
{
	for (size_t i = 0, end; i < report->table_count; i = end) {
		const struct analysis *analysis = report->tables[i].analysis;

		json_open(json, analysis->name, '{');
		json_known_missing(json, report, analysis);
		for (end = i; end < report->table_count && report->tables[end].analysis == analysis;
		     end++) {
			put_table(json, output, &report->tables[end]);
		}
		json_known_whole(json, report, i);
		json_close(json, '}');
	}
}

static void put_range(struct json *json, const struct report *report)
{
	if (report_has_time(report)) {
		json_moment(json, "begin", report->begin);
		json_moment(json, "end", report->end);
		return;
	}
	json_null(json, "begin");
	json_null(json, "begin_time");
	json_null(json, "end");
	json_null(json, "end_time");
}

static void report_line(struct output *output, const struct trace_identity *trace,
			const struct report *report)
{
	struct json json;

	json_begin_object(&json, output->out, report->kind == REPORT_WINDOW ? "window" : "total");
	put_trace(&json, trace);
	if (report->kind == REPORT_WINDOW) {
		json_u64(&json, "seq", report->seq);
	}
	put_range(&json, report);
	if (report->empty > 0) {
		json_u64(&json, "empty_windows", report->empty);
	}
	if (report->span_count > 0) {
		json_u64(&json, "covered_ns", report_covered_ns(report));
	}
	if (report->kind == REPORT_WINDOW || report->is_cut) {
		json_bool(&json, "complete", report->complete);
	} else if (report->kind == REPORT_SO_FAR) {
		json_bool(&json, "so_far", true);
	}
	if (report->is_interrupted) {
		json_bool(&json, "interrupted", true);
	}
	if (report->has_lag) {
		json_i64(&json, "lag_ns", report->lag_ns);
	}
	if (report->summed_threads > 0) {
		json_u64(&json, "summed_threads", report->summed_threads);
	}
	if (report->lost.of[LOSS_ANOMALIES] > 0) {
		json_u64(&json, "anomalies", report->lost.of[LOSS_ANOMALIES]);
		json_u64(&json, "misfits", report->lost.of[LOSS_MISFITS]);
	}
	json_known_parts(&json, output, report);
	put_tables(&json, output, report);
	json_end_object(&json);
}

static void warning_line(struct output *output, const struct trace_identity *trace,
			 const struct engine_warning *warning)
{
	struct json json;

	json_begin_object(&json, output->out, "warning");
	put_trace(&json, trace);
	json_text(&json, "what", warning->what);
	json_text(&json, "message", warning->message);
	if (warning->stream_name) {
		json_text(&json, "stream", warning->stream_name);
	}
	if (warning->packet >= 0) {
		json_i64(&json, "packet", warning->packet);
	}
	if (warning->begin != 0) {
		json_moment(&json, "begin", warning->begin);
	}
	if (warning->end != 0) {
		json_moment(&json, "end", warning->end);
	}
	json_end_object(&json);
}

static void put_trigger_value(struct json *json, const struct trigger_value *value)
{
	json_open(json, NULL, '{');
	json_text(json, "figure", value->figure);
	if (value->row[0]) {
		json_text(json, "row", value->row);
	}
	json_bool(json, "holds", value->holds);
	(value->is_quotient ? json_real : json_fixed)(json, "value", value->value);
	json_text(json, "op", op_text(value->op));
	if (value->is_baseline || value->is_quotient || !isfinite(value->limit)) {
		json_real(json, "limit", value->limit);
	} else {
		json_fixed(json, "limit", value->limit);
	}
	if (value->is_baseline) {
		json_real(json, "baseline", value->baseline);
		json_u64(json, "days", value->days);
	}
	json_close(json, '}');
}

static void put_trigger_values(struct json *json, const struct trigger_event *event)
{
	if (event->rows > 1) {
		json_u64(json, "rows", event->rows);
	}
	json_open(json, "values", '[');
	for (size_t i = 0; i < event->count; i++) {
		put_trigger_value(json, &event->values[i]);
	}
	json_close(json, ']');
}

/* Of a trigger on several hosts: what holds on each. */
static void put_trigger_hosts(struct json *json, const struct trigger_event *event)
{
	if (event->host_count == 0) {
		return;
	}
	json_open(json, "hosts", '[');
	for (size_t i = 0; i < event->host_count; i++) {
		json_open(json, NULL, '{');
		json_text(json, "host", event->hosts[i].host);
		json_moment(json, "begin", event->hosts[i].event->begin);
		put_trigger_values(json, event->hosts[i].event);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void json_budget(struct json *json, const struct trigger_budget *budget)
{
	json_open(json, "budget", '{');
	json_real(json, "objective", budget->objective);
	if (budget->ns > 0) {
		json_u64(json, "ns", budget->ns);
	}
	json_u64(json, "windows", budget->windows);
	json_u64(json, "bad", budget->bad);
	json_real(json, "allowed", budget->allowed);
	json_real(json, "left", budget->allowed - (double)budget->bad);
	json_close(json, '}');
}

void json_trigger(FILE *out, const struct trace_identity *trace, const struct trigger_event *event)
{
	struct json json;

	json_begin_object(&json, out, "trigger");
	put_trace(&json, trace);
	json_text(&json, "name", event->name);
	json_text(&json, "when", event->text);
	json_moment(&json, "begin", event->begin);
	json_moment(&json, "end", event->end);
	put_trigger_values(&json, event);
	if (event->budget.objective > 0) {
		json_budget(&json, &event->budget);
	}
	put_trigger_hosts(&json, event);
	json_end_object(&json);
}

/* Bad windows only. */
static void budget_line(struct output *output, const struct trace_identity *trace,
			const struct trigger_event *event)
{
	struct json json;

	assert(event->budget.counts);
	if (!event->budget.is_charged) {
		return;
	}
	json_begin_object(&json, output->out, "budget");
	put_trace(&json, trace);
	json_text(&json, "name", event->name);
	json_text(&json, "when", event->text);
	json_moment(&json, "begin", event->begin);
	json_moment(&json, "end", event->end);
	json_budget(&json, &event->budget);
	json_end_object(&json);
}

static void trigger_line(struct output *output, const struct trace_identity *trace,
			 const struct trigger_event *event)
{
	json_trigger(output->out, trace, event);
}

void json_phase(FILE *out, const struct trace_identity *trace, const struct phase_record *phase)
{
	struct json json;

	json_begin_object(&json, out, "phase");
	put_trace(&json, trace);
	json_u64(&json, "number", phase->number);
	json_moment(&json, "begin", phase->begin);
	json_moment(&json, "end", phase->end);
	json_bool(&json, "open", phase->is_open);
	json_u64(&json, "slices", phase->slices);
	json_open(&json, "means", '[');
	for (size_t i = 0; i < phase->mean_count; i++) {
		json_open(&json, NULL, '{');
		json_text(&json, "series", phase->means[i].series);
		json_text(&json, "unit",
			  series_unit(phase->means[i].is_share, phase->means[i].is_level,
				      phase->means[i].unit));
		json_real(&json, "mean", phase->means[i].mean);
		if (phase->means[i].is_counterpart) {
			json_bool(&json, "counterpart", true);
		}
		json_close(&json, '}');
	}
	json_close(&json, ']');
	if (phase->change) {
		json_open(&json, "change", '{');
		json_text(&json, "series", phase->change->series);
		json_real(&json, "before", phase->before);
		json_real(&json, "after", phase->change->mean);
		json_close(&json, '}');
	}
	json_end_object(&json);
}

static void phase_line(struct output *output, const struct trace_identity *trace,
		       const struct phase_record *phase)
{
	json_phase(output->out, trace, phase);
}

void json_capture(FILE *out, const struct capture_result *capture)
{
	struct json json;

	json_begin_object(&json, out, "capture");
	json_text(&json, "host", capture->host);
	json_text(&json, "session", capture->session);
	json_text(&json, "triggers", capture->triggers);
	json_moment(&json, "begin", capture->begin);
	json_moment(&json, "end", capture->end);
	if (capture->path) {
		json_text(&json, "path", capture->path);
		json_u64(&json, "packets", capture->packets);
		json_u64(&json, "bytes", capture->bytes);
		json_bool(&json, "complete", capture->is_complete);
		if (capture->extras & CAPTURE_REPORT) {
			json_bool(&json, "report",
				  capture->has_extras & (CAPTURE_REPORT | CAPTURE_SPANS));
		}
		if (capture->extras & CAPTURE_PERFETTO) {
			json_bool(&json, "perfetto", capture->has_extras & CAPTURE_PERFETTO);
		}
	} else {
		json_text(&json, "error", capture->error);
	}
	json_end_object(&json);
}

static void capture_line(struct output *output, const struct capture_result *capture)
{
	json_capture(output->out, capture);
}

static void end(struct output *output, const struct run_summary *summary)
{
	struct json json;

	json_begin_object(&json, output->out, "end");
	json_u64(&json, "events", summary->events);
	json_u64(&json, "packets", summary->packets);
	json_u64(&json, "bytes", summary->bytes);
	if (summary->is_live) {
		json_u64(&json, "announced", summary->announced);
		json_u64(&json, "duplicates", summary->duplicates);
		json_u64(&json, "unfetched_packets", summary->unfetched_packets);
		json_u64(&json, "lost_packets", summary->lost_packets);
		json_u64(&json, "fetched_bytes", summary->fetched_bytes);
		json_u64(&json, "passed_packets", summary->passed_packets);
		json_u64(&json, "turn_max_ns", summary->turn_ns);
	}
	json_u64(&json, "wall_ns", summary->wall_ns);
	if (summary->is_interrupted) {
		json_bool(&json, "interrupted", true);
	}
	json_i64(&json, "exit", summary->exit);
	json_end_object(&json);
}

const struct sink sink_json = {
	.name = "json",
	.start = start,
	.attach = attach,
	.report = report_line,
	.warning = warning_line,
	.trigger = trigger_line,
	.budget = budget_line,
	.phase = phase_line,
	.capture = capture_line,
	.end = end,
};
