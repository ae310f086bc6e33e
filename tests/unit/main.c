/*
 * unit tests: each module alone, no files, no sockets, no clock.
 */
#include <stdlib.h>

#include "suites.h"

int main(void)
{
	SRunner *runner = srunner_create(suite_base());
	int failed;

	srunner_add_suite(runner, suite_ctf());
	srunner_add_suite(runner, suite_decode());
	srunner_add_suite(runner, suite_engine());
	srunner_add_suite(runner, suite_cpus());
	srunner_add_suite(runner, suite_merger());
	srunner_add_suite(runner, suite_ordered());
	srunner_add_suite(runner, suite_round());
	srunner_add_suite(runner, suite_window());
	srunner_add_suite(runner, suite_history());
	srunner_add_suite(runner, suite_viewer());
	srunner_add_suite(runner, suite_client());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
