/*
 * suites: one per file of this directory, run by main.c.
 */
#ifndef SILLAGE_TESTS_UNIT_SUITES_H
#define SILLAGE_TESTS_UNIT_SUITES_H

#include <check.h>

Suite *suite_base(void);
Suite *suite_ctf(void);
Suite *suite_decode(void);
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
