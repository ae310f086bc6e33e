/*
 * unit tests: each module alone; no network, and no files but in temporary directories.
 */
#include <stdlib.h>
#include <string.h>

#include "suites.h"

size_t rounds(size_t whole)
{
	const char *preloaded = getenv("LD_PRELOAD");
	bool is_slow = preloaded && strstr(preloaded, "vgpreload");

#ifdef __SANITIZE_THREAD__
	is_slow = true;
#endif
	return is_slow ? whole / 5 : whole;
}

/* In place of check's _mark_point(), which writes a file at each assertion that holds: most of the
 * time of these tests.  It serves tests that run in processes of their own; these do not. */
void __wrap__mark_point(const char *file, int line);

void __wrap__mark_point(const char *file, int line)
{
}

/* All; those whose code runs on several threads are what ThreadSanitizer is for. */
static const struct {
	Suite *(*make)(void);
	bool has_threads;
} suites[] = {
	{ suite_base },
	{ suite_anonymous },
	{ suite_ctf },
	{ suite_decode },
	{ suite_lex },
	{ suite_text },
	{ suite_type },
	{ suite_clock },
	{ suite_packet },
	{ suite_packet_index },
	{ suite_plan },
	{ suite_compile },
	{ suite_engine, true },
	{ suite_columns },
	{ suite_keyed },
	{ suite_longest },
	{ suite_report },
	{ suite_shard },
	{ suite_tables },
	{ suite_cpus },
	{ suite_merger, true },
	{ suite_missing },
	{ suite_ordered },
	{ suite_round },
	{ suite_window },
	{ suite_partial },
	{ suite_pool, true },
	{ suite_setup },
	{ suite_stream, true },
	{ suite_exchange, true },
	{ suite_checkpoint_file, true },
	{ suite_worker, true },
	{ suite_containers },
	{ suite_ftrace },
	{ suite_ftrace_calls },
	{ suite_history },
	{ suite_kernel },
	{ suite_release },
	{ suite_thread_phase },
	{ suite_expression },
	{ suite_query },
	{ suite_recorded, true },
	{ suite_reader, true },
	{ suite_timeline },
	{ suite_page_rows },
	{ suite_episodes },
	{ suite_pace },
	{ suite_executions },
	{ suite_resources },
	{ suite_hierarchy },
	{ suite_pairs },
	{ suite_partition },
	{ suite_phases },
	{ suite_rolling },
	{ suite_suggest },
	{ suite_viewer, true },
	{ suite_client, true },
	{ suite_producer, true },
	{ suite_publish, true },
	{ suite_kernel_source },
	{ suite_walk, true },
	{ suite_figure },
	{ suite_sink },
	{ suite_csv },
	{ suite_limit },
	{ suite_trigger },
	{ suite_medians },
	{ suite_align },
	{ suite_actions, true },
	{ suite_auto_limit },
	{ suite_metrics, true },
	{ suite_captures, true },
	{ suite_control, true },
	{ suite_url },
	{ suite_session, true },
	{ suite_session_walk },
	{ suite_turn },
	{ suite_codec },
	{ suite_hash },
	{ suite_text_table },
	{ suite_coverage },
	{ suite_format },
	{ suite_snapshot },
	{ suite_rollup },
	{ suite_view },
	{ suite_view_rows },
	{ suite_options },
	{ suite_robust },
	{ suite_clickhouse, true },
	{ suite_server, true },
	{ suite_longer },
	{ suite_commands },
	{ suite_due },
	{ suite_follow, true },
	{ suite_keep, true },
	{ suite_schema },
	{ suite_ranges },
	{ suite_sender, true },
	{ suite_symbols },
	{ suite_tracks },
	{ suite_fleet_rows },
	{ suite_store_reader, true },
	{ suite_place },
};

/* Of all suites; with the word "threads" of those that have several. */
int main(int argc, char **argv)
{
	bool only_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
	SRunner *runner = srunner_create(NULL);
	int failed;

	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		if (suites[i].has_threads || !only_threads) {
			srunner_add_suite(runner, suites[i].make());
		}
	}
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
