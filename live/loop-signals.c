/*
 * loop-signals: see loop-signals.h.
 */
#include "live/loop-signals.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/now.h"
#include "base/process/last.h"

static const int numbers[] = { SIGINT, SIGTERM };

#define NUMBERS ARRAY_COUNT(numbers)

struct loop_signals {
	struct event *event;
	struct sigaction before[NUMBERS];
};

static volatile sig_atomic_t wake_fd = -1; /* the handler writes to it */

static void on_signal(int number)
{
	const uint64_t one = 1;
	int saved = errno;

	now_leave_soon();
	last_begin(number);
	if (write(wake_fd, &one, sizeof(one)) < 0) {
		/* It is readable already. */
	}
	errno = saved;
}

struct loop_signals *loop_signals_new(struct event_base *base, event_callback_fn stop, void *user)
{
	struct loop_signals *signals = mem_alloc(sizeof(*signals));
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	last_prepare();
	assert(wake_fd < 0);
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake_fd < 0) {
		mem_lacks("an eventfd");
	}
	signals->event = event_new(base, wake_fd, EV_READ | EV_PERSIST, stop, user);
	(void)event_add(signals->event, NULL);
	for (size_t i = 0; i < NUMBERS; i++) {
		(void)sigaction(numbers[i], &action, &signals->before[i]);
	}
	return signals;
}

void loop_signals_free(struct loop_signals *signals)
{
	int fd = wake_fd;

	if (!signals) {
		return;
	}
	for (size_t i = 0; i < NUMBERS; i++) {
		(void)sigaction(numbers[i], &signals->before[i], NULL);
	}
	event_free(signals->event);
	wake_fd = -1;
	(void)close(fd);
	free(signals);
}
