/*
 * suites: one per test file, run by main.c.
 */
#ifndef SILLAGE_TESTS_UNIT_SUITES_H
#define SILLAGE_TESTS_UNIT_SUITES_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

/* How many rounds, of so many, a loop over made-up input has: fewer under valgrind and
 * ThreadSanitizer, which are some 20 times slower. */
size_t rounds(size_t whole);

Suite *suite_base(void);
Suite *suite_hash(void);
Suite *suite_ctf(void);
Suite *suite_decode(void);
Suite *suite_lex(void);
Suite *suite_text(void);
Suite *suite_type(void);
Suite *suite_clock(void);
Suite *suite_packet(void);
Suite *suite_packet_index(void);
Suite *suite_plan(void);
Suite *suite_compile(void);
Suite *suite_engine(void);
Suite *suite_columns(void);
Suite *suite_keyed(void);
Suite *suite_longest(void);
Suite *suite_report(void);
Suite *suite_shard(void);
Suite *suite_tables(void);
Suite *suite_cpus(void);
Suite *suite_merger(void);
Suite *suite_missing(void);
Suite *suite_ordered(void);
Suite *suite_round(void);
Suite *suite_window(void);
Suite *suite_partial(void);
Suite *suite_pool(void);
Suite *suite_setup(void);
Suite *suite_stream(void);
Suite *suite_exchange(void);
Suite *suite_checkpoint_file(void);
Suite *suite_worker(void);
Suite *suite_history(void);
Suite *suite_episodes(void);
Suite *suite_executions(void);
Suite *suite_hierarchy(void);
Suite *suite_pairs(void);
Suite *suite_partition(void);
Suite *suite_phases(void);
Suite *suite_rolling(void);
Suite *suite_kernel(void);
Suite *suite_release(void);
Suite *suite_thread_phase(void);
Suite *suite_expression(void);
Suite *suite_query(void);
Suite *suite_reader(void);
Suite *suite_recorded(void);
Suite *suite_page_rows(void);
Suite *suite_resources(void);
Suite *suite_timeline(void);
Suite *suite_viewer(void);
Suite *suite_client(void);
Suite *suite_producer(void);
Suite *suite_walk(void);
Suite *suite_figure(void);
Suite *suite_sink(void);
Suite *suite_limit(void);
Suite *suite_trigger(void);
Suite *suite_actions(void);
Suite *suite_auto_limit(void);
Suite *suite_medians(void);
Suite *suite_metrics(void);
Suite *suite_captures(void);
Suite *suite_control(void);
Suite *suite_url(void);
Suite *suite_session(void);
Suite *suite_session_walk(void);
Suite *suite_codec(void);
Suite *suite_text_table(void);
Suite *suite_coverage(void);
Suite *suite_format(void);
Suite *suite_snapshot(void);
Suite *suite_rollup(void);
Suite *suite_view(void);
Suite *suite_options(void);
Suite *suite_robust(void);
Suite *suite_clickhouse(void);
Suite *suite_server(void);
Suite *suite_longer(void);
Suite *suite_commands(void);
Suite *suite_due(void);
Suite *suite_keep(void);
Suite *suite_schema(void);
Suite *suite_ranges(void);
Suite *suite_sender(void);
Suite *suite_tracks(void);
Suite *suite_fleet_rows(void);
Suite *suite_store_reader(void);
Suite *suite_place(void);

#endif
