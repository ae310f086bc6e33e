/*
 * service: see service.h.
 */
#include "base/process/service.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

static typeof(sd_notify) *notify;
static typeof(sd_watchdog_enabled) *watchdog_enabled;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	void *file =
		getenv("NOTIFY_SOCKET") ? dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL) : NULL;

	if (file) {
		/* As POSIX has it: a function's address in a pointer to data. */
		*(void **)&notify = dlsym(file, "sd_notify");
		*(void **)&watchdog_enabled = dlsym(file, "sd_watchdog_enabled");
	}
}

void service_notify(const char *state)
{
	(void)pthread_once(&once, load);
	if (notify) {
		(void)notify(0, state);
	}
}

uint64_t service_watchdog_us(void)
{
	uint64_t us = 0;

	(void)pthread_once(&once, load);
	return watchdog_enabled && watchdog_enabled(0, &us) > 0 ? us : 0;
}
