/*
 * metrics: what is written of made-up windows, and that rows and traces are bounded.
 */
#include <inttypes.h>
#include <math.h>
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
	(void)made_table(&made, "cpu", SCOPE_PROCESS, NULL);
	(void)made_row(&made, 42, 42, "a\"b\xE9");
	*made_value(&made, "run_ns") = MADE_NS_PER_S / 4;
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = { "\xC3\xA4", "\t", "\xEF\xBF\xBD" };

		(void)made_row(&made, 0, 43 + (int64_t)i, names[i]);
		*made_value(&made, "run_ns") = MADE_NS_PER_S / 2;
	}
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
	struct metrics *metrics = metrics_new(METRICS_FULL);
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
	/* processes: by name, added up as all else is; letters stay, no two names become the same
	 */
	"\n# TYPE sillage_cpu_processes_run_seconds_total counter\n",
	"\nsillage_cpu_processes_run_seconds_total{" TRACE ",comm=\"a\\\"b\xEF\xBF\xBD"
	"e9\"} 0.500000000\n",
	",comm=\"\xC3\xA4\"} 1.000000000\n",
	",comm=\"\xEF\xBF\xBD"
	"09\"} 1.000000000\n",
	",comm=\"\xEF\xBF\xBD"
	"ef\xEF\xBF\xBD"
	"bf\xEF\xBF\xBD"
	"bd\"} 1.000000000\n",
	/* what is not added up says so, and all say the unit that is shown */
	"\n# HELP sillage_cpu_processes_longest_seconds cpu.processes.longest, seconds, the "
	"largest of "
	"all windows so far, by the name of the process\n",
	"\n# HELP sillage_cpu_busy_seconds_total cpu.busy, seconds, added up over windows\n",
	"\n# HELP sillage_lag_seconds from the end of the last window to its report\n",
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
	struct metrics *metrics = metrics_new(METRICS_FULL);
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

/* A window of processes by number: each has run for as many ns as it has a number. */
static void make_processes(const char *const *comms, const uint64_t *run_ns, size_t count)
{
	made_window(&made, 1);
	(void)made_table(&made, "cpu", SCOPE_PROCESS, NULL);
	for (size_t i = 0; i < count; i++) {
		struct report_row *row = made_row(&made, 100 + i, (int32_t)(100 + i), comms[i]);

		*made_value(&made, "run_ns") = run_ns[i];
		row->sort = run_ns[i];
	}
}

static char *text_of(const struct metrics *metrics)
{
	size_t len;

	return metrics_text(metrics, false, &len);
}

/* Labels are the same in each scrape: no pid, no rank; paths would be without end. */
START_TEST(has_steady_series)
{
	static const char *const comms[] = { "a", "b", "a" };
	static const uint64_t run_ns[] = { MADE_NS_PER_S / 4, MADE_NS_PER_S / 4,
					   MADE_NS_PER_S / 2 };
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new(METRICS_FULL);
	char *text;

	make_processes(comms, run_ns, 3);
	(void)made_table(&made, "files", SCOPE_KEYED, "files");
	made_row(&made, 0, 0, "")->name = "/etc/passwd";
	*made_value(&made, "reads") = 1;
	metrics_add(metrics, &trace, &made.report);
	metrics_add(metrics, &trace, &made.report);
	text = text_of(metrics);
	ck_assert_uint_eq(lines_with(text, "\nsillage_cpu_processes_run_seconds_total{"), 2);
	ck_assert_ptr_nonnull(strstr(text, "{host=\"h\",comm=\"a\"} 1.500000000\n"));
	ck_assert_ptr_nonnull(strstr(text, "{host=\"h\",comm=\"b\"} 0.500000000\n"));
	ck_assert_ptr_null(strstr(text, "passwd"));
	free(text);
	metrics_free(metrics);
}
END_TEST

/* No two names have one series: letters beyond ASCII are as they are, and bytes that are none too
 * are told apart. */
START_TEST(keeps_names_apart)
{
	static const char *const comms[] = { "eth-\xc3\xa4", "eth-\xc3\xb6", "eth-\xfe", "eth-\xff",
					     "eth-?" };
	static const uint64_t run_ns[] = { 1, 2, 3, 4, 5 };
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new(METRICS_FULL);
	char *text;

	make_processes(comms, run_ns, ARRAY_COUNT(comms));
	metrics_add(metrics, &trace, &made.report);
	text = text_of(metrics);
	ck_assert_uint_eq(lines_with(text, "\nsillage_cpu_processes_run_seconds_total{"),
			  ARRAY_COUNT(comms));
	ck_assert_ptr_nonnull(strstr(text, "comm=\"eth-\xc3\xa4\"} 0.000000001\n"));
	ck_assert_ptr_nonnull(strstr(text, "comm=\"eth-\xc3\xb6\"} 0.000000002\n"));
	free(text);
	metrics_free(metrics);
}
END_TEST

/* Those names are shown that ran most lately.  One that comes again has its sum: it did not go
 * back to 0. */
START_TEST(shows_names_that_run)
{
	static char names[METRICS_NAMES_SHOWN + 1][12];
	const char *comms[METRICS_NAMES_SHOWN + 1];
	uint64_t run_ns[METRICS_NAMES_SHOWN + 1];
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new(METRICS_FULL);
	char *text, sum[64];

	for (size_t i = 0; i <= METRICS_NAMES_SHOWN; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "n%zu", i);
		comms[i] = names[i];
		run_ns[i] = 1000 * (i + 1);
	}
	for (unsigned int window = 0; window < 200; window++) {
		make_processes(comms, run_ns, METRICS_NAMES_SHOWN + 1);
		metrics_add(metrics, &trace, &made.report);
		if (window == 99) { /* n0 ran least so far, and most from now on */
			text = text_of(metrics);
			ck_assert_ptr_null(strstr(text, "comm=\"n0\""));
			free(text);
			run_ns[0] = 1000 * METRICS_NAMES_SHOWN;
		}
	}
	text = text_of(metrics);
	ck_assert_uint_eq(lines_with(text, "\nsillage_cpu_processes_run_seconds_total{"),
			  METRICS_NAMES_SHOWN);
	(void)snprintf(sum, sizeof(sum), "comm=\"n0\"} %.9f\n", 1e-4 * (METRICS_NAMES_SHOWN + 1));
	ck_assert_ptr_nonnull(strstr(text, sum));
	ck_assert_ptr_null(strstr(text, "comm=\"n1\""));
	free(text);
	metrics_free(metrics);
}
END_TEST

/* Where there are too many names, those that have not run for long make room. */
START_TEST(forgets_names)
{
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new(METRICS_SMALL);
	static char names[2 * METRICS_NAMES_MAX][12];
	const char *comms[METRICS_NAMES_MAX];
	uint64_t run_ns[METRICS_NAMES_MAX];
	char *text, sum[64];

	for (unsigned int round = 0; round < 2; round++) {
		for (size_t i = 0; i < METRICS_NAMES_MAX; i++) {
			size_t at = round * METRICS_NAMES_MAX + i;

			(void)snprintf(names[at], sizeof(names[at]), "n%zu", at);
			comms[i] = names[at];
			run_ns[i] = 1000000 - at;
		}
		make_processes(comms, run_ns, METRICS_NAMES_MAX);
		metrics_add(metrics, &trace, &made.report);
		make_processes(comms, run_ns, 1);
		for (unsigned int window = 0; window < 1000; window++) {
			metrics_add(metrics, &trace, &made.report);
		}
	}
	text = text_of(metrics);
	(void)snprintf(sum, sizeof(sum), "comm=\"n%u\"} %.9f\n", METRICS_NAMES_MAX,
		       1001 * (1e6 - METRICS_NAMES_MAX) / 1e9);
	ck_assert_ptr_nonnull(strstr(text, sum));
	ck_assert_ptr_null(strstr(text, "other=\"all\""));
	free(text);
	metrics_free(metrics);
}
END_TEST

/* All lists of all analyses, with more rows than a host has. */
static void make_busy_host(void)
{
	enum { TABLES = 128, ROWS = 1000 };
	static struct report_table tables[TABLES];
	static struct report_row rows[ROWS];
	static struct thread_view threads[ROWS];
	static const uint64_t values[COLUMNS_MAX];
	static char names[ROWS][12];

	made_window(&made, 1);
	made.report.tables = tables;
	made.report.has_lag = true;
	for (size_t i = 0; i < ROWS; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "n%zu", i);
		threads[i] = (struct thread_view){ .tid = (int32_t)i + 1, .pid = (int32_t)i + 1 };
		(void)snprintf(threads[i].comm, sizeof(threads[i].comm), "n%zu", i);
		rows[i] = (struct report_row){ .id = i,
					       .sort = ROWS - i,
					       .owner = (int64_t)i,
					       .name = names[i],
					       .by = names[i],
					       .thread = &threads[i],
					       .values = values };
	}
	for (size_t a = 0; analyses[a]; a++) {
		for (size_t t = 0; t < TABLES_MAX && analyses[a]->tables[t].columns[0].key; t++) {
			const struct table *table = &analyses[a]->tables[t];

			ck_assert_uint_lt(made.report.table_count, TABLES);
			tables[made.report.table_count++] =
				(struct report_table){ .analysis = analyses[a],
						       .table = table,
						       .rows = rows,
						       .row_count = table->scope == SCOPE_TRACE ? 1
								    : table->scope == SCOPE_LONGEST
									    ? 0
									    : ROWS };
		}
	}
}

START_TEST(bounds_the_small_profile)
{
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new(METRICS_SMALL);
	char *text;

	make_busy_host();
	metrics_add(metrics, &trace, &made.report);
	text = text_of(metrics);
	ck_assert_msg(lines_with(text, "{host=\"h\"") <= METRICS_SMALL_SERIES, "%zu series",
		      lines_with(text, "{host=\"h\""));
	ck_assert_uint_eq(lines_with(text, "\nsillage_cpu_processes_run_seconds_total{"), 20);
	ck_assert_ptr_nonnull(strstr(text, "comm=\"n0\"")); /* those that had most */
	ck_assert_uint_gt(lines_with(text, "\nsillage_sched_wake_seconds_bucket{"), 70);
	ck_assert_ptr_nonnull(strstr(text, "\n# TYPE sillage_syscalls_time_seconds summary\n"));
	ck_assert_uint_eq(lines_with(text, "\nsillage_syscalls_time_seconds_sum{"), 1);
	ck_assert_uint_gt(lines_with(text, "\nsillage_block_disks_busy_seconds_total{"), 1);
	ck_assert_ptr_null(strstr(text, "_by_name"));
	free(text);
	metrics_free(metrics);
}
END_TEST

/* Each figure of each list says the unit that it is shown in, and what it is of. */
START_TEST(says_units)
{
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new(METRICS_FULL);
	size_t families = 0;
	char *text;

	make_busy_host();
	metrics_add(metrics, &trace, &made.report);
	text = text_of(metrics);
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		char *name = strncmp(line, "# HELP ", 7) == 0 ? line + 7 : NULL;
		const char *help = name ? strchr(name, ' ') : NULL;
		bool is_figure = name && strchr(help, '.');

		if (!is_figure) {
			continue;
		}
		name[help - name] = '\0';
		families++;
		help++;
		ck_assert_msg(!strstr(name, "_seconds") == !strstr(help, ", seconds, "), "%s: %s",
			      name, help);
		ck_assert_msg(!strstr(help, "_ns"), "%s: %s", name, help);
		ck_assert_msg(strstr(help, "windows") || strstr(help, "window only") ||
				      strstr(help, "distribution"),
			      "%s: %s", name, help);
	}
	ck_assert_uint_gt(families, 200);
	free(text);
	metrics_free(metrics);
}
END_TEST

/* Of a trace classic buckets are at most 25 % wide, and exact; of rows they double. */
START_TEST(has_fine_buckets)
{
	static const uint64_t samples[] = { 999, 1500, 1501, 18900000, 19000000, 40000000000 };
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new(METRICS_FULL);
	uint64_t *wake;
	double last = 0, bound;
	unsigned int buckets = 0;
	char *text, *at;

	made_window(&made, 1);
	(void)made_table(&made, "sched", SCOPE_TRACE, NULL);
	(void)made_row(&made, 0, 0, "");
	wake = made_value(&made, "wake");
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		column_add(made.values[0], (unsigned int)(wake - made.values[0]), samples[i]);
	}
	metrics_add(metrics, &trace, &made.report);
	histogram_free((struct histogram *)(uintptr_t)*wake);
	text = text_of(metrics);
	for (at = text; (at = strstr(at, "\nsillage_sched_wake_seconds_bucket{")); at++) {
		uint64_t below = 0, count = strtoull(strstr(at, "} ") + 2, NULL, 10);

		bound = strtod(strstr(at, "le=\"") + 4, NULL);
		if (isinf(bound)) {
			break;
		}
		ck_assert_msg(last == 0 || (bound > last && bound <= last * 1.2503), "%g after %g",
			      bound, last);
		for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
			/* A value counts where its own bucket ends, 1.6 % above it at most. */
			below += (double)samples[i] * 1.016 / 1e9 <= bound;
		}
		ck_assert_uint_ge(count, below);
		last = bound;
		buckets++;
	}
	ck_assert_uint_gt(buckets, 70);
	ck_assert(last > 34);
	ck_assert_ptr_nonnull(strstr(text, "sillage_sched_wake_seconds_count{host=\"h\"} 6\n"));
	free(text);
	metrics_free(metrics);
}
END_TEST

START_TEST(tells_what_it_does)
{
	const struct trace_identity trace = { .host = (char *)"h" };
	struct metrics *metrics = metrics_new(METRICS_FULL);
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
	metrics_own_set(metrics, METRICS_OBJECTIVE_SHARE, "o", 999900000);
	made_window(&made, 1);
	made.report.lost =
		(struct losses){ { [LOSS_PACKETS] = 5, [LOSS_ANOMALIES] = 3, [LOSS_MISFITS] = 2 } };
	metrics_add(metrics, &trace, &made.report);
	metrics_add(metrics, &trace, &made.report);
	text = metrics_text(metrics, false, &len);
	ck_assert_ptr_nonnull(
		strstr(text, "\nsillage_triggers_fired_total{trigger=\"a\\\"b\"} 0\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_triggers_fired_total{trigger=\"c\"} 2\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_captures_written_total 1\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_relay_up{relay=\"r:1\"} 0\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_objective_ratio{objective=\"o\"} 0.9999"));
	ck_assert_ptr_nonnull(
		strstr(text, "\nsillage_losses_total{host=\"h\",kind=\"lost_packets\"} 10\n"));
	ck_assert_ptr_nonnull(
		strstr(text, "\nsillage_losses_total{host=\"h\",kind=\"anomalies\"} 6\n"));
	ck_assert_ptr_null(strstr(text, "kind=\"misfits\"")); /* they are anomalies */
	free(text);
	metrics_free(metrics);
}
END_TEST

/* However many are followed, each keeps its sums.  Of those that have ended, the ones that were
 * silent for the longest time go. */
START_TEST(bounds_traces)
{
	enum { EXTRA = 10 };
	struct metrics *metrics = metrics_new(METRICS_SMALL);
	char name[24], *text;
	const struct trace_identity trace = { .session = name };

	made_window(&made, 1);
	for (unsigned int i = 0; i < 2 * (METRICS_ENDED_MAX + EXTRA); i++) {
		(void)snprintf(name, sizeof(name), "s%u", i / 2);
		if (i % 2 == 0) {
			metrics_follow(metrics, &trace, true);
		}
		metrics_add(metrics, &trace, &made.report);
	}
	text = text_of(metrics);
	ck_assert_uint_eq(lines_with(text, "\"} 2\n"), METRICS_ENDED_MAX + EXTRA);
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_traces_removed_total 0\n"));
	free(text);
	for (unsigned int i = 0; i < METRICS_ENDED_MAX + EXTRA; i++) {
		(void)snprintf(name, sizeof(name), "s%u", i);
		metrics_follow(metrics, &trace, false);
	}
	(void)snprintf(name, sizeof(name), "new");
	metrics_add(metrics, &trace, &made.report);
	text = text_of(metrics);
	ck_assert_uint_eq(lines_with(text, "\nsillage_windows_total{"), METRICS_ENDED_MAX);
	ck_assert_ptr_null(strstr(text, "session=\"s0\""));
	ck_assert_ptr_nonnull(strstr(text, "session=\"s11\""));
	ck_assert_ptr_nonnull(strstr(text, "\nsillage_traces_removed_total 11\n"));
	free(text);
	metrics_free(metrics);
}
END_TEST

/* What is not recorded has no series until it is. */
START_TEST(leaves_out_what_is_unknown)
{
	static const struct trace_identity trace = { .host = (char *)"h" };
	const struct missing_event missing = { made_analysis("cpu"), "sched_switch" };
	struct metrics *metrics = metrics_new(METRICS_FULL);
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
	struct metrics *metrics = metrics_new(METRICS_FULL);
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

/* A window with so many processes of one name, each of which has a thread that is blocked. */
static void make_levels(unsigned int processes)
{
	made_window(&made, 100);
	(void)made_table(&made, "state", SCOPE_PROCESS, NULL);
	for (unsigned int i = 0; i < processes; i++) {
		(void)made_row(&made, 40 + i, 40 + (int32_t)i, "db");
		*made_value(&made, "blocked_threads") = 1;
		*made_value(&made, "blocked_ns") = (i + 1) * MADE_NS_PER_S;
	}
}

/* Levels are those of the last window, also of rows that it lacks, and of all that have one name.
 */
START_TEST(has_levels_of_the_last_window)
{
	static const char *const blocked[] = { "2\n", "1\n", "0\n" };
	static const char *const ages[] = { "2.000000000\n", "1.000000000\n", "0.000000000\n" };
	const struct trace_identity trace = { .session = (char *)"s" };
	struct metrics *metrics = metrics_new(METRICS_FULL);

	for (unsigned int i = 0; i < ARRAY_COUNT(blocked); i++) {
		char line[120];
		size_t len;
		char *text;

		make_levels(2 - i);
		metrics_add(metrics, &trace, &made.report);
		text = metrics_text(metrics, false, &len);
		(void)snprintf(line, sizeof(line), "_blocked_threads{session=\"s\",comm=\"db\"} %s",
			       blocked[i]);
		ck_assert_ptr_nonnull(strstr(text, line));
		(void)snprintf(line, sizeof(line), "_blocked_seconds{session=\"s\",comm=\"db\"} %s",
			       ages[i]);
		ck_assert_ptr_nonnull(strstr(text, line));
		free(text);
	}
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
	tcase_add_test(tcase, keeps_names_apart);
	tcase_add_test(tcase, has_levels_of_the_last_window);
	tcase_add_test(tcase, shows_names_that_run);
	tcase_add_test(tcase, forgets_names);
	tcase_add_test(tcase, bounds_the_small_profile);
	tcase_add_test(tcase, says_units);
	tcase_add_test(tcase, has_fine_buckets);
	tcase_add_test(tcase, tells_what_it_does);
	tcase_add_test(tcase, bounds_traces);
	suite_add_tcase(suite, tcase);
	return suite;
}
