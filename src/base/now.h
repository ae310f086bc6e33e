/*
 * now: the current time, in ns.
 */
#ifndef SILLAGE_BASE_NOW_H
#define SILLAGE_BASE_NOW_H

#include <stdint.h>

uint64_t now_monotonic_ns(void);  /* since an arbitrary moment; never goes back */
uint64_t now_wall_ns(void);       /* since the epoch; the administrator may set it back */
uint64_t now_thread_cpu_ns(void); /* processor time of this thread */

#endif
