/*
 * options-table: every option, a row each.
 *
 * A row ends with what the value is and where it goes: KIND(member of struct options, ...).  The
 * kind's macro refuses to compile with a member of another type.  GIVEN(member) also notes that the
 * option was there, for defaults that depend on it.  NEEDS(names) has it refused where it would
 * have no effect, ONCE where it is given twice; of others the last one counts.
 */
#include "base/histogram.h"
#include "options/options-parts.h"

#define FOR_FOLLOW (FOR_LIVE | FOR_WATCH)
#define FOR_BOTH   (FOR_FOLLOW | FOR_ANALYZE)
#define FOR_SHOW   (FOR_FOLLOW | FOR_ANALYZE | FOR_TOP | FOR_LAMI)
#define FOR_WORK   (FOR_SHOW | FOR_MAP)                 /* configures the workers */
#define FOR_ROWS   (FOR_SHOW | FOR_MERGE | FOR_HISTORY) /* selects rows */
#define FOR_ALL                                                                                    \
	(FOR_WORK | FOR_ROWS | FOR_LIST | FOR_REPLAY | FOR_TRIGGERS | FOR_CAPTURE | FOR_REPORT |   \
	 FOR_OVERVIEW | FOR_SETUP | FOR_WATCH | FOR_EXPORT | FOR_HISTORY | FOR_COMPARE)

#define JOBS_MAX   1024
#define WORST_MAX  1000      /* executions: each has a critical path of its own */
#define EVENTS_MAX 100000000 /* of a thread: 20 bytes each */

/* The offset of a member; a comparison of pointers has the compiler check its type. */
#define MEMBER(type, member)                                                                       \
	(offsetof(struct options, member) +                                                        \
	 0 * sizeof((type *)NULL == &((struct options *)NULL)->member))
#define LIST(type, member)                                                                         \
	(offsetof(struct options, member) +                                                        \
	 0 * sizeof((type **)NULL == &((struct options *)NULL)->member.at))

#define IGNORED          .kind = OPTION_IGNORED
#define FLAG(member)     .kind = OPTION_FLAG, .offset = MEMBER(bool, member)
#define COUNT(member, m) .kind = OPTION_COUNT, .offset = MEMBER(uint64_t, member), .most = (m)
#define SIZE(member)     .kind = OPTION_SIZE, .offset = MEMBER(uint64_t, member)
#define DURATION(member) .kind = OPTION_DURATION, .offset = MEMBER(uint64_t, member)
#define TEXT(member)     .kind = OPTION_TEXT, .offset = MEMBER(const char *, member)
#define TEXTS(member)    .kind = OPTION_TEXTS, .offset = LIST(const char *, member)
#define WORD(member, n, list)                                                                      \
	.kind = OPTION_WORD, .offset = MEMBER(const char *, member), .noun = (n), .words = (list)
#define NUMBERS(member) .kind = OPTION_NUMBERS, .offset = LIST(int64_t, member)
#define NAMES(member)   .kind = OPTION_NAMES, .offset = LIST(const char *, member)
#define CUSTOM(f)       .kind = OPTION_CUSTOM, .take = (f)
#define GIVEN(member)   .given = MEMBER(bool, member)
#define LIST_OF(f)      .list = (f)
#define NEEDS(options)  .needs = (options)
#define ONCE            .once = true
#define MAY_LACK        .may_lack = true
#define GROUP(title)    .group = (title)

static const char *const report_formats[] = { "text", "json", "csv", "html", "perfetto", NULL };
static const char *const page_formats[] = { "text", "json", "csv", "html", NULL };
static const char *const export_forms[] = { "perfetto", "folded", NULL };
static const char *const hierarchies[] = { "cpu", "process", NULL };
static const char *const lag_actions[] = { "keep", "skip", NULL };
static const char *const metrics_profiles[] = { "small", "full", NULL };

const struct option options_table[] = {
	{ 'a', "analyses", "LIST",
	  "names, all, or help (top, compare: all; overview: count,cpu,waits, of programs "
	  "count,calls,ust; "
	  "count,cpu,io, of programs count,calls,ust)",
	  FOR_WORK | FOR_OVERVIEW | FOR_SETUP | FOR_EXPORT | FOR_HISTORY | FOR_COMPARE,
	  CUSTOM(options_analyses), GIVEN(has_analyses), LIST_OF(options_list_analyses),
	  GROUP("Figures and output") },
	{ 'f', "format", "FORMAT", "text, json (lines), csv, html, perfetto (text)", FOR_REPORT,
	  WORD(format, "format", report_formats), GIVEN(has_format) },
	{ 'f', "format", "FORMAT", "text, json (lines), csv, html: a page (text)",
	  FOR_OVERVIEW | FOR_COMPARE, WORD(format, "format", page_formats), GIVEN(has_format) },
	{ 'f', "format", "FORMAT", "text, json (lines) (text)", FOR_FOLLOW | FOR_LIST | FOR_CAPTURE,
	  CUSTOM(options_format), GIVEN(has_format) },
	{ 'f', "format", "FORMAT", "text, json (lines), csv (text)",
	  FOR_ANALYZE | FOR_MERGE | FOR_HISTORY, CUSTOM(options_format), GIVEN(has_format) },
	{ 0, "table", "NAME",
	  "csv: the table to write, as cpu.threads (all, to the directory of -o)",
	  FOR_ANALYZE | FOR_MERGE | FOR_HISTORY | FOR_REPORT | FOR_OVERVIEW | FOR_COMPARE,
	  TEXT(table), NEEDS("format") },
	{ 'i', "interval", "DURATION",
	  "length of windows (analyze, history: none are printed without it; 1s)",
	  FOR_WORK | FOR_EXPORT | FOR_HISTORY, CUSTOM(options_interval), GIVEN(has_interval) },
	{ 'n', "top", "N", "rows per table, 0: all (10 in text, 5 in its windows; 0 in JSON)",
	  FOR_BOTH | FOR_MERGE | FOR_LAMI | FOR_REPORT | FOR_OVERVIEW | FOR_HISTORY | FOR_COMPARE,
	  COUNT(top, UINT32_MAX), GIVEN(has_top) },
	{ 'j', "jobs", "N", "worker threads, 0 for none (report: 1; online CPUs)",
	  FOR_WORK | FOR_MERGE | FOR_REPORT | FOR_OVERVIEW | FOR_EXPORT | FOR_COMPARE,
	  COUNT(jobs, JOBS_MAX), GIVEN(has_jobs) },
	{ 'o', "output", "FILE", "write there (-, standard output)",
	  FOR_BOTH | FOR_MAP | FOR_MERGE | FOR_LAMI | FOR_REPORT | FOR_OVERVIEW | FOR_EXPORT |
		  FOR_HISTORY | FOR_COMPARE,
	  CUSTOM(options_output) },
	{ 0, "chunk-size", "SIZE", "bytes at which a chunk closes (1M)",
	  FOR_WORK | FOR_OVERVIEW | FOR_COMPARE, SIZE(chunk_bytes) },
	{ 0, "max-memory", "SIZE",
	  "bound for what is held in memory (report: none; live, top, watch: an eighth of the "
	  "machine's, at least 256M; 256M)",
	  FOR_WORK | FOR_MERGE | FOR_OVERVIEW | FOR_REPORT | FOR_COMPARE | FOR_HISTORY,
	  SIZE(max_memory), GIVEN(has_max_memory) },
	{ 0, "duration", "DURATION", "stop after this time", FOR_FOLLOW, DURATION(duration_ns),
	  GROUP("When, and from where") },
	{ 0, "windows", "N", "stop after so many windows", FOR_FOLLOW, COUNT(windows, UINT32_MAX) },
	{ 0, "from", "PLACE", "where to begin: beginning, now, -DURATION, TIME (live: now)",
	  FOR_LIVE | FOR_TOP | FOR_ANALYZE | FOR_REPORT | FOR_OVERVIEW | FOR_EXPORT,
	  CUSTOM(options_from) },
	{ 0, "grace", "DURATION", "how long to wait for a silent stream (5s)", FOR_FOLLOW | FOR_TOP,
	  DURATION(grace_ns) },
	{ 0, "on-lag", "WHAT", "when far behind: keep on, or skip to now (keep)",
	  FOR_FOLLOW | FOR_TOP, WORD(on_lag, "on-lag", lag_actions) },
	{ 0, "lag-limit", "DURATION", "how far behind --on-lag skip skips (10s)",
	  FOR_FOLLOW | FOR_TOP, DURATION(lag_limit_ns), NEEDS("on-lag") },
	{ 0, "retry", "DURATION", "keep trying a relay that is away (for ever)", FOR_LIVE | FOR_TOP,
	  DURATION(retry_ns) },
	{ 0, "no-retry", NULL, "give up on a relay that is away", FOR_LIVE | FOR_TOP,
	  CUSTOM(options_no_retry) },
	{ 0, "begin", "TIME", "only from HH:MM:SS[.frac], ISO time, @SECONDS, ns, -DURATION",
	  FOR_ANALYZE | FOR_MAP | FOR_LAMI | FOR_TOP | FOR_REPORT | FOR_OVERVIEW | FOR_EXPORT,
	  TEXT(begin) },
	{ 0, "end", "TIME", "only until then",
	  FOR_ANALYZE | FOR_MAP | FOR_LAMI | FOR_TOP | FOR_REPORT | FOR_OVERVIEW | FOR_EXPORT,
	  TEXT(end) },
	{ 0, "store", "URL", "windows also stay there: FILE.db, or clickhouse://...", FOR_BOTH,
	  TEXT(store), ONCE, GROUP("Stores and states") },
	{ 0, "store-also", "DURATION|none",
	  "windows of this length are kept, too: history of days is fast (1m)", FOR_BOTH,
	  TEXT(store_also), NEEDS("store"), ONCE },
	{ 0, "store-keep", "AGE|LENGTH:AGE,...|all",
	  "how long windows stay, and longer ones: 7d, all (live, watch: 1s:1d,1m:30d; all)",
	  FOR_BOTH, TEXT(store_keep), NEEDS("store"), ONCE },
	{ 0, "since", "TIME", "only windows that begin then or later", FOR_HISTORY | FOR_TOP,
	  TEXT(begin) },
	{ 0, "until", "TIME", "only windows that begin before", FOR_HISTORY | FOR_TOP, TEXT(end) },
	{ 0, "at", "TIME", "the shortest window that the time lies in", FOR_HISTORY, TEXT(at) },
	{ 0, "follow", NULL, "then each newer window as it lands in the store (10 windows before)",
	  FOR_HISTORY, FLAG(follow) },
	{ 0, "host", "GLOB", "of a store only traces of hosts with such a name",
	  FOR_HISTORY | FOR_COMPARE | FOR_TOP, TEXT(host) },
	{ 0, "merged", NULL, "one report of all traces, not one of each", FOR_HISTORY,
	  FLAG(merged) },
	{ 0, "state", "FILE", "go on from there, and leave there what is known at the end",
	  FOR_LIVE | FOR_ANALYZE, TEXT(state) },
	{ 0, "state-every", "DURATION", "save --state so often before the end, 0: never (10s)",
	  FOR_LIVE, DURATION(state_every_ns), GIVEN(has_state_every) },
	{ 0, "thread", "LIST", "explain the first of these (the trigger's, or the most wronged)",
	  FOR_REPORT, CUSTOM(options_thread_alone), GROUP("Threads and executions") },
	{ 0, "tid", "LIST", "the same as --thread", FOR_REPORT, CUSTOM(options_thread_alone) },
	{ 0, "comm", "LIST", "the same as --thread", FOR_REPORT, CUSTOM(options_thread_alone) },
	{ 0, "job", "MODEL|PATTERN", "its executions: 'EVENT; EVENT', a model, or help", FOR_REPORT,
	  CUSTOM(options_job_alone), LIST_OF(options_list_models) },
	{ 0, "deadline", "DURATION", "count executions that take longer", FOR_REPORT,
	  DURATION(deadline_ns), NEEDS("job") },
	{ 0, "discover", NULL, "find the jobs that threads execute again and again", FOR_REPORT,
	  FLAG(discover) },
	{ 0, "start", "EVENT", "only jobs that begin with this event", FOR_REPORT, TEXT(start),
	  NEEDS("discover") },
	{ 0, "support", "N|P%", "only jobs with so many executions, or such a share (5, 90%)",
	  FOR_REPORT, CUSTOM(options_support), NEEDS("discover") },
	{ 0, "events", "N", "search the first N events of a thread (1000000)", FOR_REPORT,
	  COUNT(events_max, EVENTS_MAX), NEEDS("discover") },
	{ 0, "executions", "N", "only the first N that end, 0: all (0)", FOR_REPORT,
	  COUNT(executions, UINT32_MAX), NEEDS("job,discover") },
	{ 0, "resources", NULL, "also the timers, futexes and message queues that threads used",
	  FOR_REPORT, FLAG(resources) },
	{ 0, "within", "MODEL|PATTERN", "only those that lie in one of these", FOR_REPORT,
	  CUSTOM(options_within), NEEDS("job") },
	{ 0, "every", "DURATION", "they arrive so often; deadlines count from then", FOR_REPORT,
	  DURATION(every_ns), NEEDS("job") },
	{ 0, "worst", "K", "explain the K worst executions, 0: none (3)", FOR_REPORT,
	  COUNT(worst, WORST_MAX), GIVEN(has_worst) },
	{ 0, "slices", "N", "overview: look at so many slices of time (100)", FOR_OVERVIEW,
	  CUSTOM(options_slices), GROUP("Phases") },
	{ 'p', "compromise", "P", "from 0, each change is a phase, to 1, all is one (suggested)",
	  FOR_OVERVIEW, CUSTOM(options_compromise) },
	{ 0, "hierarchy", "cpu|process", "also what changed where: on which CPU, in which process",
	  FOR_OVERVIEW, WORD(hierarchy, "hierarchy", hierarchies) },
	{ 0, "to", "URL", "the relay, net://HOST[:CONTROL[:DATA]] (5342)", FOR_REPLAY, TEXT(to),
	  GROUP("Sessions") },
	{ 'f', "format", "FORMAT", "perfetto, folded: stacks for flame graphs (perfetto)",
	  FOR_EXPORT, WORD(to, "format", export_forms) },
	{ 0, "to", "FORMAT", "the same as --format", FOR_EXPORT, WORD(to, "format", export_forms) },
	{ 0, "no-args", NULL, "leave out the fields of events", FOR_EXPORT, FLAG(no_args) },
	{ 0, "speed", "X", "times the original speed, 0: full speed (1)", FOR_REPLAY,
	  CUSTOM(options_speed) },
	{ 0, "loop", "N", "play N times, one after the other (1)", FOR_REPLAY,
	  COUNT(loops, UINT32_MAX) },
	{ 0, "session", "NAME",
	  "session name (setup: sillage; top, history, compare: of a store, a GLOB; each trace's "
	  "own)",
	  FOR_REPLAY | FOR_SETUP | FOR_HISTORY | FOR_COMPARE | FOR_TOP, TEXT(session) },
	{ 0, "hostname", "NAME", "host name (each trace's own)", FOR_REPLAY, TEXT(host) },
	{ 0, "live-timer", "DURATION", "live timer of the sessions (1s)",
	  FOR_REPLAY | FOR_SETUP | FOR_WATCH, DURATION(live_timer_ns) },
	{ 0, "wait-viewer", NULL, "begin when a viewer has attached", FOR_REPLAY,
	  FLAG(wait_viewer) },
	{ 0, "linger", "DURATION", "keep the sessions after the last packet (0)", FOR_REPLAY,
	  DURATION(linger_ns) },
	{ 0, "as-now", NULL, "move the clocks so that traces begin now", FOR_REPLAY, FLAG(as_now) },
	{ 0, "ust", "PATTERN", "also record these user-space events: 'my_app:*'",
	  FOR_SETUP | FOR_WATCH, TEXTS(ust) },
	{ 0, "relay", "URL", "record to net://HOST[:CONTROL[:DATA]] (lttng's own, on this host)",
	  FOR_SETUP, TEXT(relay) },
	{ 0, "rate", "EVENTS|TRACE",
	  "buffers for so many events in a second on one CPU, or for such a trace", FOR_SETUP,
	  TEXT(rate) },
	{ 0, "away", "DURATION", "how long nobody may read them before events are lost (1s)",
	  FOR_SETUP, DURATION(away_ns), NEEDS("rate") },
	{ 0, "run", NULL, "run the commands; if one fails, undo those before it", FOR_SETUP,
	  FLAG(run) },
	{ 0, "regenerate", NULL, "have this host's session dump its state again if that is missed",
	  FOR_LIVE | FOR_TOP, FLAG(regenerate) },
	{ 0, "tid", "LIST", "only what these threads did", FOR_ROWS | FOR_OVERVIEW,
	  NUMBERS(selection.tids), GROUP("Rows") },
	{ 0, "pid", "LIST", "only what these processes did", FOR_ROWS | FOR_OVERVIEW,
	  NUMBERS(selection.pids) },
	{ 0, "comm", "LIST", "only what threads of these names (patterns) did",
	  FOR_ROWS | FOR_OVERVIEW, NAMES(selection.comms) },
	{ 0, "thread", "LIST", "the same as --tid of numbers, as --comm of names", FOR_ROWS,
	  CUSTOM(options_thread) },
	{ 0, "cpu", "LIST", "only what happened on these CPUs", FOR_ROWS | FOR_OVERVIEW,
	  NUMBERS(selection.cpus) },
	{ 0, "irq", "LIST", "only rows of these interrupts, by number or name", FOR_ROWS,
	  NAMES(selection.irqs) },
	{ 0, "per", "KIND",
	  "only lists by cpu, tid, pid, comm, prio or container; host, or host,container: a row "
	  "for each",
	  FOR_HISTORY, CUSTOM(options_per_stored), GIVEN(has_per), .words = options_stored_kinds },
	{ 0, "per", "KIND",
	  "only lists by cpu, tid, pid, comm, prio or container; host: of stores, a row for each",
	  FOR_COMPARE, CUSTOM(options_per_stored), GIVEN(has_per),
	  .words = options_compared_kinds },
	{ 0, "per", "KIND", "only lists by cpu, tid, pid, comm, prio or container",
	  FOR_ROWS & ~FOR_HISTORY, CUSTOM(options_per), GIVEN(has_per), .words = options_kinds },
	{ 0, "figure", "FIGURE", "--per host: a column, named as in triggers: sched.wake.p99",
	  FOR_HISTORY | FOR_COMPARE, TEXTS(figures) },
	{ 0, "containers", "FILE", "names of containers, 'PID_NS NAME' in each line", FOR_ROWS,
	  CUSTOM(options_containers) },
	{ 0, "sort", "KEY", "sort by this figure, named as in JSON: run_ns, wake.p99, max",
	  FOR_ROWS & ~FOR_HISTORY, CUSTOM(options_sort), LIST_OF(options_list_figures) },
	{ 0, "sort", "KEY",
	  "sort by this figure, named as in JSON: run_ns; with --per host: host, or one that is "
	  "shown",
	  FOR_HISTORY, TEXT(stored_sort) },
	{ 0, "min", "DURATION", "in lists of the longest: only those that took so long", FOR_ROWS,
	  DURATION(selection.min_ns) },
	{ 0, "max", "DURATION", "only those that took no longer", FOR_ROWS,
	  DURATION(selection.max_ns) },
	{ 0, "width", "N", "text: columns of a line, 0: no limit (the terminal's; elsewhere 0)",
	  FOR_BOTH | FOR_MERGE | FOR_HISTORY | FOR_COMPARE, COUNT(width, UINT32_MAX),
	  GIVEN(has_width) },
	{ 0, "freq", NULL, "text: distributions as bars", FOR_BOTH | FOR_MERGE | FOR_HISTORY,
	  FLAG(freq) },
	{ 0, "buckets", NULL, "JSON: of each distribution all buckets, for compare",
	  FOR_BOTH | FOR_MERGE | FOR_HISTORY, FLAG(buckets) },
	{ 0, "freq-bins", "N", "--freq with N bins of one width",
	  FOR_BOTH | FOR_MERGE | FOR_HISTORY, COUNT(freq_bins, HISTOGRAM_BINS_MAX), GIVEN(freq) },
	{ 0, "period", "SPEC", "measure from one event to another: 'NAME = EVENT; EVENT; by FIELD'",
	  FOR_WORK | FOR_OVERVIEW | FOR_SETUP | FOR_EXPORT | FOR_COMPARE, CUSTOM(options_period),
	  GROUP("Periods, jobs and phases") },
	{ 0, "job", "SPEC", "follow executions: 'NAME = MODEL; deadline 2ms', or a pattern",
	  FOR_WORK | FOR_OVERVIEW | FOR_SETUP | FOR_EXPORT | FOR_COMPARE, CUSTOM(options_job),
	  LIST_OF(options_list_models) },
	{ 0, "within", "MODEL|PATTERN", "of --job: only those that lie in one of these",
	  FOR_WORK | FOR_OVERVIEW | FOR_SETUP | FOR_EXPORT | FOR_COMPARE,
	  CUSTOM(options_within_all), NEEDS("job"), ONCE, LIST_OF(options_list_models) },
	{ 0, "call", "SPEC", "what is a call of a program: 'NAME = EVENT; EVENT; error ret<0'",
	  FOR_WORK | FOR_SETUP | FOR_COMPARE, CUSTOM(options_call) },
	{ 0, "label", "SPEC", "call ids by names: 'NAME = EVENT key=FIELD name=FIELD'",
	  FOR_WORK | FOR_OVERVIEW | FOR_SETUP | FOR_EXPORT | FOR_COMPARE, CUSTOM(options_label) },
	{ 0, "model", "NAME|PATH", "what is known of a program: ros2, a file, or help",
	  FOR_WORK | FOR_OVERVIEW | FOR_SETUP | FOR_EXPORT | FOR_COMPARE, CUSTOM(options_model),
	  LIST_OF(options_list_label_models) },
	{ 0, "ust-span", "BEGIN,END", "the same of two events of one thread", FOR_WORK | FOR_SETUP,
	  CUSTOM(options_ust_span) },
	{ 0, "phases", NULL, "say when the behaviour changes, and what changes", FOR_BOTH,
	  FLAG(phases) },
	{ 0, "phases", NULL, "phase by phase, matched by what they do", FOR_COMPARE, FLAG(phases) },
	{ 0, "phases", NULL, "the phases that live and analyze found with --phases", FOR_HISTORY,
	  FLAG(phases) },
	{ 0, "trigger", "EXPR", "say when it holds: 'cpu.busy > 90% for 3s'",
	  FOR_BOTH | FOR_EXPORT | FOR_HISTORY, TEXTS(triggers), GROUP("Triggers and gates") },
	{ 0, "triggers", "FILE", "triggers with names and actions",
	  FOR_BOTH | FOR_EXPORT | FOR_HISTORY, TEXTS(trigger_files) },
	{ 0, "on-trigger", "ACTION", "of --trigger: print, capture, exec COMMAND, ...",
	  FOR_BOTH | FOR_HISTORY, TEXT(on_trigger), NEEDS("trigger") },
	{ 0, "trigger-interval", "DURATION",
	  "look at triggers so often, not only when a window is printed", FOR_BOTH,
	  DURATION(trigger_interval_ns), NEEDS("trigger,triggers,fail") },
	{ 0, "baseline", "STORE",
	  "of triggers: what is usual at this hour: 'cpu.busy > baseline +20%'",
	  FOR_BOTH | FOR_EXPORT, TEXT(baseline), NEEDS("trigger,triggers,fail"), ONCE },
	{ 0, "dry-run", NULL, "triggers are only printed", FOR_BOTH | FOR_HISTORY, FLAG(dry_run),
	  NEEDS("trigger,triggers") },
	{ 0, "fail", "EXPR", "exit with 3 if it held in some window, or from A to B",
	  FOR_BOTH | FOR_COMPARE | FOR_HISTORY, TEXTS(fails) },
	{ 0, "strict", NULL, "exit with 4 if data was lost or damaged, or is missing",
	  FOR_BOTH | FOR_COMPARE | FOR_HISTORY, FLAG(strict) },
	{ 0, "junit", "FILE", "conditions and triggers as test cases, in JUnit's XML",
	  FOR_BOTH | FOR_COMPARE | FOR_HISTORY, TEXT(junit),
	  NEEDS("fail,strict,trigger,triggers") },
	{ 0, "tap", "FILE", "the same in the Test Anything Protocol (-, standard output)",
	  FOR_BOTH | FOR_COMPARE | FOR_HISTORY, TEXT(tap), NEEDS("fail,strict,trigger,triggers") },
	{ 0, "history", "DURATION|SIZE", "keep the last packets (top: to find jobs; for captures)",
	  FOR_FOLLOW | FOR_TOP, CUSTOM(options_history), GIVEN(has_history), GROUP("Captures") },
	{ 0, "history-dir", "DIR", "keep them there, not in memory", FOR_FOLLOW, TEXT(history_dir),
	  NEEDS("history,before") },
	{ 0, "before", "DURATION",
	  "captured before a trigger (10s; without --history: from the relay)", FOR_FOLLOW,
	  DURATION(before_ns), GIVEN(has_before) },
	{ 0, "after", "DURATION", "captured after it (1s)", FOR_FOLLOW, DURATION(after_ns),
	  NEEDS("history,before") },
	{ 0, "capture-dir", "DIR", "where captures go (sillage-captures)", FOR_FOLLOW,
	  TEXT(capture_dir), NEEDS("history,before") },
	{ 0, "keep", "N|SIZE", "remove older captures beyond that (all are kept)", FOR_FOLLOW,
	  CUSTOM(options_keep), NEEDS("history,before") },
	{ 0, "captures-per-hour", "N", "of triggers, no more than that (30)", FOR_FOLLOW,
	  COUNT(per_hour, UINT32_MAX), NEEDS("history,before") },
	{ 0, "control", "SOCKET", "listen there for `sillage capture SOCKET`", FOR_FOLLOW,
	  TEXT(control), NEEDS("history,before") },
	{ 0, "check", "FILE|EXPR", "whether a file of triggers is right; what an expression means",
	  FOR_TRIGGERS, TEXT(check), GIVEN(has_check), MAY_LACK },
	{ 0, "mi-version", NULL, "print the version of LAMI", FOR_LAMI, FLAG(mi_version),
	  GROUP("LAMI") },
	{ 0, "metadata", NULL, "describe the tables", FOR_LAMI, FLAG(metadata) },
	{ 0, "test-compatibility", NULL, "whether TRACE can be read", FOR_LAMI,
	  FLAG(test_compatibility) },
	{ 0, "output-progress", NULL, "accepted, without effect", FOR_LAMI, IGNORED },
	{ 0, "metrics", "[HOST]:PORT", "serve http://HOST:PORT/metrics (loopback)",
	  FOR_FOLLOW | FOR_TOP, TEXT(metrics), GROUP("Servers") },
	{ 0, "metrics-profile", "small|full",
	  "its figures: at most 300 series a trace, or all (full)", FOR_FOLLOW | FOR_TOP,
	  WORD(metrics_profile, "profile", metrics_profiles), NEEDS("metrics") },
	{ 0, "web", "[HOST]:PORT", "serve a page with the rolling figures (loopback)", FOR_FOLLOW,
	  TEXT(web) },
	{ 0, "server-config", "FILE", "certificate, key and users of these servers", FOR_FOLLOW,
	  TEXT(server_config), NEEDS("metrics,web") },
	{ 0, "server-config", "FILE", "certificate, key and users of this server", FOR_TOP,
	  TEXT(server_config), NEEDS("metrics") },
	{ 0, "insecure", NULL, "the page may be served to other hosts without users", FOR_FOLLOW,
	  FLAG(is_insecure), NEEDS("web") },
	{ 0, "stats", NULL, "say at the end where time and memory went", FOR_BOTH, FLAG(stats),
	  GROUP("Messages") },
	{ 'q', "quiet", NULL, "say less on standard error", FOR_ALL, CUSTOM(options_quiet) },
	{ 'v', "verbose", NULL, "say more on standard error", FOR_ALL, CUSTOM(options_verbose) },
	{ 'h', "help", NULL, "this text", FOR_ALL, FLAG(wants_help) },
	{ .name = NULL },
};

_Static_assert(ARRAY_COUNT(options_table) <= OPTIONS_COUNT_MAX + 1,
	       "help, parsing and suggestions have room for all");
