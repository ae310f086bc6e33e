/*
 * suites: one per test file, run by main.c.
 */
#ifndef SILLAGE_TESTS_UNIT_SUITES_H
#define SILLAGE_TESTS_UNIT_SUITES_H

#include <check.h>

Suite *suite_base(void);
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
Suite *suite_history(void);
Suite *suite_jobs(void);
Suite *suite_kernel(void);
Suite *suite_query(void);
Suite *suite_reader(void);
Suite *suite_recorded(void);
Suite *suite_timeline(void);
Suite *suite_viewer(void);
Suite *suite_client(void);

#endif
