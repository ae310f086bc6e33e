/*
 * unit tests: each module alone, no sockets, no clock; no files but those of a small trace that
 * tests of recorded traces write into a temporary directory.
 */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
	SRunner *runner = srunner_create(suite_base());
	int failed;

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
	srunner_add_suite(runner, suite_history());
	srunner_add_suite(runner, suite_kernel());
	srunner_add_suite(runner, suite_query());
	srunner_add_suite(runner, suite_recorded());
	srunner_add_suite(runner, suite_reader());
	srunner_add_suite(runner, suite_timeline());
	srunner_add_suite(runner, suite_jobs());
	srunner_add_suite(runner, suite_viewer());
	srunner_add_suite(runner, suite_client());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
