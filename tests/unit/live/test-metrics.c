/*
 * metrics: what is written of made-up windows, and that rows and traces are bounded.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "live/metrics/metrics-accept.h"
#include "live/metrics/metrics.h"
#include "trigger/made-report.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static struct made made;

static size_t lines_with(const char *text, const char *what)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) {
		count++;
	}
	return count;
}

/* A window of two CPUs with one thread and one interrupt of 3 us. */
static void make_window(uint64_t second)
{
	made_window(&made, second);
	made.report.events = 1000;
	made.report.has_lag = true;
	made.report.lag_ns = 5000000;
	(void)made_table(&made, "cpu", SCOPE_TRACE, NULL);
	(void)made_row(&made, 0, 0, "");
	*made_value(&made, "busy_ns") = 3 * MADE_NS_PER_S / 2;
	(void)made_table(&made, "cpu", SCOPE_CPU, NULL);
	for (uint64_t cpu = 0; cpu < 2; cpu++) {
		(void)made_row(&made, cpu, 0, "");
		*made_value(&made, "busy_ns") = cpu == 0 ? MADE_NS_PER_S : MADE_NS_PER_S / 2;
	}
	(void)made_table(&made, "cpu", SCOPE_THREAD, NULL);
	(void)made_row(&made, 0, 42, "a\"b\xE9");
	*made_value(&made, "run_ns") = MADE_NS_PER_S / 4;
	(void)made_table(&made, "irq", SCOPE_KEYED, "hard");
	made_row(&made, 17, 0, "")->name = "nic\\0";
	column_add(made.values[made.row_count - 1],
		   (unsigned int)(made_value(&made, "time") - made.values[made.row_count - 1]),
		   3000);
}

static void free_window(void)
{
	histogram_free((struct histogram *)(uintptr_t)*made_value(&made, "time"));
}

static char *text_after(unsigned int windows, bool is_open_metrics)
{
	const struct trace_identity trace = { .host = (char *)"web\"1",
					      .session = (char *)"s",
					      .domain = (char *)"kernel" };
	struct metrics *metrics = metrics_new();
	char *text;
	size_t len;

	for (unsigned int i = 0; i < windows; i++) {
		make_window(100 + i);
		metrics_add(metrics, &trace, &made.report);
		made.report.kind = REPORT_TOTAL; /* not added */
		metrics_add(metrics, &trace, &made.report);
		free_window();
	}
	text = metrics_text(metrics, is_open_metrics, &len);
	metrics_free(metrics);
	return text;
}

#define TRACE "host=\"web\\\"1\",session=\"s\",domain=\"kernel\""

/* After two windows. */
static const char *const lines[] = {
	"# TYPE sillage_events_total counter\n",
	"\nsillage_events_total{" TRACE "} 2000\n",
	"\nsillage_windows_total{" TRACE "} 2\n",
	"\nsillage_window_end_timestamp_seconds{" TRACE "} 102.000000000\n",
	"\nsillage_lag_seconds{" TRACE "} 0.005000000\n",
	"\nsillage_cpu_busy_seconds_total{" TRACE "} 3.000000000\n",
	"\n# TYPE sillage_cpu_cpus_busy_seconds_total counter\n",
	"\nsillage_cpu_cpus_busy_seconds_total{" TRACE ",cpu=\"1\"} 1.000000000\n",
	"\nsillage_irq_hard_time_seconds_bucket{" TRACE
	",irq=\"17\",name=\"nic\\\\0\",le=\"0.000002047\"} 0\n",
	"\nsillage_irq_hard_time_seconds_bucket{" TRACE
	",irq=\"17\",name=\"nic\\\\0\",le=\"0.000004095\"} 2\n",
	",le=\"+Inf\"} 2\n",
	"\nsillage_irq_hard_time_seconds_sum{" TRACE ",irq=\"17\",name=\"nic\\\\0\"} 0.000006000\n",
	/* threads: of the last window only */
	"\nsillage_cpu_threads_run_seconds_last_window{" TRACE
	",tid=\"42\",comm=\"a\\\"b?\"} 0.250000000\n",
};

START_TEST(writes_lines)
{
	char *text = text_after(2, false);

	ck_assert_msg(lines_with(text, lines[_i]) == 1, "not once: %s in %s", lines[_i], text);
	ck_assert_ptr_null(strstr(text, "# EOF"));
	free(text);
}
END_TEST

/* OpenMetrics: families are named without _total, and there is an end. */
START_TEST(writes_open_metrics)
{
	char *text = text_after(1, true);

	ck_assert_ptr_nonnull(strstr(text, "# TYPE sillage_events counter\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_events_total{" TRACE "} 1000\n"));
	ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
	free(text);
}
END_TEST

START_TEST(is_empty_at_first)
{
	char *text = text_after(0, false);

	ck_assert_ptr_nonnull(strstr(text, "sillage_build_info{version="));
	ck_assert_uint_eq(lines_with(text, "host="), 0);
	free(text);
}
END_TEST

/* Rows beyond the limit are added to one. */
START_TEST(bounds_rows)
{
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new();
	char *text;
	size_t len;

	for (uint64_t window = 0; window < 2; window++) {
		made_window(&made, window);
		(void)made_table(&made, "cpu", SCOPE_CPU, NULL);
		for (uint64_t cpu = 0; cpu < METRICS_SERIES_MAX / 5 + 50; cpu++) {
			(void)made_row(&made, cpu, 0, "");
			*made_value(&made, "busy_ns") = MADE_NS_PER_S;
		}
		metrics_add(metrics, &trace, &made.report);
	}
	text = metrics_text(metrics, false, &len);
	ck_assert_uint_eq(lines_with(text, "\nsillage_cpu_cpus_busy_seconds_total{"),
			  METRICS_SERIES_MAX / 5 + 1); /* it has five figures */
	ck_assert_ptr_nonnull(strstr(text, "cpus_busy_seconds_total{host=\"h\",other=\"all\"} "
					   "100.000000000\n"));
	free(text);
	metrics_free(metrics);
}
END_TEST

/* Labels are the same in each scrape: no rank; paths would be without end. */
START_TEST(has_steady_series)
{
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new();
	char *text;
	size_t len;

	made_window(&made, 1);
	(void)made_table(&made, "cpu", SCOPE_THREAD, NULL);
	for (unsigned int i = 0; i < 3; i++) {
		(void)made_row(&made, 0, i < 2 ? 7 : 8, "a");
		*made_value(&made, "run_ns") = MADE_NS_PER_S / 4;
	}
	(void)made_table(&made, "files", SCOPE_KEYED, "files");
	made_row(&made, 0, 0, "")->name = "/etc/passwd";
	*made_value(&made, "reads") = 1;
	metrics_add(metrics, &trace, &made.report);
	text = metrics_text(metrics, false, &len);
	ck_assert_uint_eq(lines_with(text, "\nsillage_cpu_threads_run_seconds_last_window{"), 2);
	ck_assert_ptr_nonnull(strstr(text, "{host=\"h\",tid=\"7\",comm=\"a\"} 0.500000000\n"));
	ck_assert_ptr_nonnull(strstr(text, "{host=\"h\",tid=\"8\",comm=\"a\"} 0.250000000\n"));
	ck_assert_ptr_null(strstr(text, "passwd"));
	free(text);
	metrics_free(metrics);
}
END_TEST

START_TEST(tells_what_it_does)
{
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new();
	char *text;
	size_t len;

	metrics_own_add(NULL, METRICS_CAPTURES_WRITTEN, "", 1); /* nobody asks for metrics */
	metrics_own_set(NULL, METRICS_RELAY_UP, "r", 1);
	metrics_own_add(metrics, METRICS_TRIGGERS_FIRED, "a\"b", 0);
	metrics_own_add(metrics, METRICS_TRIGGERS_FIRED, "c", 1);
	metrics_own_add(metrics, METRICS_TRIGGERS_FIRED, "c", 1);
	metrics_own_add(metrics, METRICS_CAPTURES_WRITTEN, "", 1);
	metrics_own_set(metrics, METRICS_RELAY_UP, "r:1", 1);
	metrics_own_set(metrics, METRICS_RELAY_UP, "r:1", 0);
	made_window(&made, 1);
	made.report.lost_packets = 5;
	metrics_add(metrics, &trace, &made.report);
	metrics_add(metrics, &trace, &made.report);
	text = metrics_text(metrics, false, &len);
	ck_assert_ptr_nonnull(
		strstr(text, "\nsillage_triggers_fired_total{trigger=\"a\\\"b\"} 0\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_triggers_fired_total{trigger=\"c\"} 2\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_captures_written_total 1\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_relay_up{relay=\"r:1\"} 0\n"));
	ck_assert_ptr_nonnull(
		strstr(text, "\nsillage_losses_total{host=\"h\",kind=\"lost_packets\"} 10\n"));
	free(text);
	metrics_free(metrics);
}
END_TEST

/* The trace that was silent for the longest time goes. */
START_TEST(bounds_traces)
{
	struct metrics *metrics = metrics_new();
	char *text;
	size_t len;

	made_window(&made, 1);
	for (unsigned int i = 0; i < METRICS_TRACES_MAX + 1; i++) {
		char name[24];
		const struct trace_identity trace = { .session = name };
		const struct trace_identity first = { .session = (char *)"s0" };

		(void)snprintf(name, sizeof(name), "s%u", i);
		metrics_add(metrics, &trace, &made.report);
		metrics_add(metrics, &first, &made.report);
	}
	text = metrics_text(metrics, false, &len);
	ck_assert_uint_eq(lines_with(text, "\nsillage_windows_total{"), METRICS_TRACES_MAX);
	ck_assert_ptr_nonnull(strstr(text, "session=\"s0\""));
	ck_assert_ptr_null(strstr(text, "session=\"s1\""));
	ck_assert_ptr_nonnull(strstr(text, "session=\"s2\""));
	free(text);
	metrics_free(metrics);
}
END_TEST

/* What is not recorded has no series until it is. */
START_TEST(leaves_out_what_is_unknown)
{
	static const struct trace_identity trace = { .host = (char *)"h" };
	const struct missing_event missing = { made_analysis("cpu"), "sched_switch" };
	struct metrics *metrics = metrics_new();
	char *text;
	size_t len;

	make_window(1);
	for (size_t t = 0; t < made.report.table_count; t++) {
		if (made.tables[t].analysis == missing.analysis) {
			made.tables[t].unknown = ALL_COLUMNS;
		}
	}
	made.report.missing = &missing;
	made.report.missing_count = 1;
	metrics_add(metrics, &trace, &made.report);
	free_window();
	text = metrics_text(metrics, false, &len);
	ck_assert_uint_eq(lines_with(text, "sillage_cpu_"), 0);
	ck_assert_uint_gt(lines_with(text, "sillage_irq_"), 0);
	ck_assert_ptr_nonnull(strstr(
		text,
		"sillage_not_recorded{host=\"h\",analysis=\"cpu\",event=\"sched_switch\"} 1"));
	free(text);
	make_window(2);
	metrics_add(metrics, &trace, &made.report);
	free_window();
	text = metrics_text(metrics, false, &len);
	ck_assert_ptr_nonnull(
		strstr(text, "sillage_cpu_busy_seconds_total{host=\"h\"} 1.500000000"));
	ck_assert_uint_eq(lines_with(text, "sillage_not_recorded{"), 0);
	free(text);
	metrics_free(metrics);
}
END_TEST

/* ---- protobuf ---- */

static const struct {
	const char *accept;
	enum metrics_form form;
} preferred[] = {
	{ NULL, METRICS_TEXT },
	{ "", METRICS_TEXT },
	{ "*/*", METRICS_TEXT },
	{ "text/html;q=0.9,,;,q=1", METRICS_TEXT },
	{ "application/openmetrics-text; version=1.0.0", METRICS_OPEN },
	{ "text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.8",
	  METRICS_OPEN },
	{ "application/openmetrics-text;q=0.1, text/plain ;q=0.2", METRICS_TEXT },
	/* Prometheus 2.42 with native histograms. */
	{ "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding="
	  "delimited,application/openmetrics-text;version=1.0.0;q=0.8,"
	  "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q="
	  "0.1",
	  METRICS_PROTOBUF },
	{ "Application/vnd.google.protobuf ; Encoding = \"delimited\" ; "
	  "proto=\"io.prometheus.client.MetricFamily\"",
	  METRICS_PROTOBUF },
	{ "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
	  METRICS_TEXT },
	{ "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamilyX;encoding="
	  "delimited",
	  METRICS_TEXT },
	{ "application/vnd.google.protobuf;encoding=delimited,application/openmetrics-text;q=0.1",
	  METRICS_OPEN },
};

START_TEST(takes_what_is_preferred)
{
	ck_assert_int_eq(metrics_accept(preferred[_i].accept), preferred[_i].form);
}
END_TEST

/* Messages fill the bytes; a Prometheus reads them in tests/peer. */
START_TEST(writes_messages)
{
	const struct trace_identity trace = { .host = (char *)"a\"\\b" };
	struct metrics *metrics = metrics_new();
	size_t len, at = 0, families = 0;
	char *bytes;

	make_window(1);
	metrics_add(metrics, &trace, &made.report);
	free_window();
	bytes = metrics_protobuf(metrics, &len);
	while (at < len) {
		size_t size = 0;
		unsigned int shift = 0;

		do {
			ck_assert_uint_lt(at, len);
			size |= (size_t)(bytes[at] & 0x7F) << shift;
			shift += 7;
		} while (bytes[at++] & 0x80);
		ck_assert_uint_le(size, len - at);
		ck_assert_int_eq(bytes[at], 10); /* field 1, a text: its name */
		at += size;
		families++;
	}
	ck_assert(families > 10);
	ck_assert(memmem(bytes, len, "a\"\\b", 4));
	ck_assert(!memmem(bytes, len, "\\\"", 2));
	free(bytes);
	metrics_free(metrics);
}
END_TEST

Suite *suite_metrics(void)
{
	Suite *suite = suite_create("metrics");
	TCase *tcase = tcase_create("metrics");

	tcase_add_loop_test(tcase, writes_lines, 0, COUNT(lines));
	tcase_add_test(tcase, writes_open_metrics);
	tcase_add_test(tcase, writes_messages);
	tcase_add_loop_test(tcase, takes_what_is_preferred, 0, COUNT(preferred));
	tcase_add_test(tcase, is_empty_at_first);
	tcase_add_test(tcase, leaves_out_what_is_unknown);
	tcase_add_test(tcase, bounds_rows);
	tcase_add_test(tcase, has_steady_series);
	tcase_add_test(tcase, tells_what_it_does);
	tcase_add_test(tcase, bounds_traces);
	suite_add_tcase(suite, tcase);
	return suite;
}
