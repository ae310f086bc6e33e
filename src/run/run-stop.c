/*
 * run-stop: a signal asks a command to finish, see run.h.
 */
#include <signal.h>

#include "base/now.h"
#include "base/process/last.h"
#include "run/run.h"

atomic_bool run_stop; /* lock-free, so that a signal may set it */

static volatile sig_atomic_t stop_signal; /* 0: none */

static void on_signal(int number)
{
	stop_signal = number;
	run_stop = true;
	now_leave_soon();
	last_begin(number);
}

int run_signal_status(void)
{
	return stop_signal == 0 ? 0 : 128 + stop_signal;
}

void run_stop_on_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	last_prepare();
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

void run_end_on_signals(void)
{
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
}
