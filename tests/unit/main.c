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

int main(void)
{
	SRunner *runner = srunner_create(suite_base());
	int failed;

	srunner_add_suite(runner, suite_anonymous());
	srunner_add_suite(runner, suite_ctf());
	srunner_add_suite(runner, suite_decode());
	srunner_add_suite(runner, suite_lex());
	srunner_add_suite(runner, suite_text());
	srunner_add_suite(runner, suite_type());
	srunner_add_suite(runner, suite_clock());
	srunner_add_suite(runner, suite_packet());
	srunner_add_suite(runner, suite_packet_index());
	srunner_add_suite(runner, suite_plan());
	srunner_add_suite(runner, suite_compile());
	srunner_add_suite(runner, suite_engine());
	srunner_add_suite(runner, suite_columns());
	srunner_add_suite(runner, suite_keyed());
	srunner_add_suite(runner, suite_longest());
	srunner_add_suite(runner, suite_report());
	srunner_add_suite(runner, suite_shard());
	srunner_add_suite(runner, suite_tables());
	srunner_add_suite(runner, suite_cpus());
	srunner_add_suite(runner, suite_merger());
	srunner_add_suite(runner, suite_missing());
	srunner_add_suite(runner, suite_ordered());
	srunner_add_suite(runner, suite_round());
	srunner_add_suite(runner, suite_window());
	srunner_add_suite(runner, suite_partial());
	srunner_add_suite(runner, suite_pool());
	srunner_add_suite(runner, suite_setup());
	srunner_add_suite(runner, suite_stream());
	srunner_add_suite(runner, suite_exchange());
	srunner_add_suite(runner, suite_checkpoint_file());
	srunner_add_suite(runner, suite_worker());
	srunner_add_suite(runner, suite_containers());
	srunner_add_suite(runner, suite_ftrace());
	srunner_add_suite(runner, suite_ftrace_calls());
	srunner_add_suite(runner, suite_history());
	srunner_add_suite(runner, suite_kernel());
	srunner_add_suite(runner, suite_release());
	srunner_add_suite(runner, suite_thread_phase());
	srunner_add_suite(runner, suite_expression());
	srunner_add_suite(runner, suite_query());
	srunner_add_suite(runner, suite_recorded());
	srunner_add_suite(runner, suite_reader());
	srunner_add_suite(runner, suite_timeline());
	srunner_add_suite(runner, suite_page_rows());
	srunner_add_suite(runner, suite_episodes());
	srunner_add_suite(runner, suite_pace());
	srunner_add_suite(runner, suite_executions());
	srunner_add_suite(runner, suite_resources());
	srunner_add_suite(runner, suite_hierarchy());
	srunner_add_suite(runner, suite_pairs());
	srunner_add_suite(runner, suite_partition());
	srunner_add_suite(runner, suite_phases());
	srunner_add_suite(runner, suite_rolling());
	srunner_add_suite(runner, suite_suggest());
	srunner_add_suite(runner, suite_viewer());
	srunner_add_suite(runner, suite_client());
	srunner_add_suite(runner, suite_producer());
	srunner_add_suite(runner, suite_publish());
	srunner_add_suite(runner, suite_kernel_source());
	srunner_add_suite(runner, suite_walk());
	srunner_add_suite(runner, suite_figure());
	srunner_add_suite(runner, suite_sink());
	srunner_add_suite(runner, suite_csv());
	srunner_add_suite(runner, suite_limit());
	srunner_add_suite(runner, suite_trigger());
	srunner_add_suite(runner, suite_medians());
	srunner_add_suite(runner, suite_align());
	srunner_add_suite(runner, suite_actions());
	srunner_add_suite(runner, suite_auto_limit());
	srunner_add_suite(runner, suite_metrics());
	srunner_add_suite(runner, suite_captures());
	srunner_add_suite(runner, suite_control());
	srunner_add_suite(runner, suite_url());
	srunner_add_suite(runner, suite_session());
	srunner_add_suite(runner, suite_session_walk());
	srunner_add_suite(runner, suite_turn());
	srunner_add_suite(runner, suite_codec());
	srunner_add_suite(runner, suite_hash());
	srunner_add_suite(runner, suite_text_table());
	srunner_add_suite(runner, suite_coverage());
	srunner_add_suite(runner, suite_format());
	srunner_add_suite(runner, suite_snapshot());
	srunner_add_suite(runner, suite_rollup());
	srunner_add_suite(runner, suite_view());
	srunner_add_suite(runner, suite_view_rows());
	srunner_add_suite(runner, suite_options());
	srunner_add_suite(runner, suite_robust());
	srunner_add_suite(runner, suite_clickhouse());
	srunner_add_suite(runner, suite_server());
	srunner_add_suite(runner, suite_longer());
	srunner_add_suite(runner, suite_commands());
	srunner_add_suite(runner, suite_due());
	srunner_add_suite(runner, suite_follow());
	srunner_add_suite(runner, suite_keep());
	srunner_add_suite(runner, suite_schema());
	srunner_add_suite(runner, suite_ranges());
	srunner_add_suite(runner, suite_sender());
	srunner_add_suite(runner, suite_symbols());
	srunner_add_suite(runner, suite_tracks());
	srunner_add_suite(runner, suite_fleet_rows());
	srunner_add_suite(runner, suite_store_reader());
	srunner_add_suite(runner, suite_place());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
