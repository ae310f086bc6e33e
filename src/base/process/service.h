/*
 * service: what a service manager (systemd) is told of this process.
 *
 * libsystemd is loaded where $NOTIFY_SOCKET names a manager, and nowhere else: linked, it and its
 * libraries would cost each run 7 ms of start-up.  Any thread.
 */
#pragma once

#include <stdint.h>

/* @state: as for sd_notify(3).  Nothing happens without a manager or without libsystemd. */
void service_notify(const char *state);
/* How often the manager wants "WATCHDOG=1", in us; 0: never. */
uint64_t service_watchdog_us(void);
