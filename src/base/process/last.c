/*
 * last: see last.h.
 */
#include "base/process/last.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/process/thread.h"
#include "base/units.h"

#define TICK_MS     1000
#define LAST_IDLE_S 3
/* Of a second: what idle threads use. */
#define IDLE_CPU_NS (NS_PER_S / 50)

static int wake_fd = -1;  /* readable from the first signal on */
static atomic_int status; /* what a handler sets, and the thread reads */
static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may set it");

static uint64_t process_cpu_ns(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

static void *watch(void *unused)
{
	static const char says[] =
		"sillage: interrupted, and ended at once: what it waits for does not answer\n";
	struct pollfd wake = { .fd = wake_fd, .events = POLLIN };
	uint64_t before = 0, used;
	unsigned int idle = 0;

	(void)unused;
	while (poll(&wake, 1, -1) < 1) {
	}
	while (idle < LAST_IDLE_S) {
		(void)poll(NULL, 0, TICK_MS);
		used = process_cpu_ns();
		idle = now_must_end() && used - before < IDLE_CPU_NS ? idle + 1 : 0;
		before = used;
	}
	(void)!write(STDERR_FILENO, says, sizeof(says) - 1);
	_exit(status);
}

void last_prepare(void)
{
	pthread_t thread;

	if (wake_fd < 0) {
		wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (wake_fd >= 0 && thread_start(&thread, watch, NULL) == 0) {
			(void)pthread_detach(thread);
		}
	}
}

void last_begin(int number)
{
	const uint64_t one = 1;
	int saved = errno;

	if (wake_fd >= 0 && status == 0) {
		status = 128 + number;
		(void)!write(wake_fd, &one, sizeof(one));
	}
	errno = saved;
}
