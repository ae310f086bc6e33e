/*
 * machine: what this process may have of the machine.
 *
 * Source: cgroups(7): a line of /proc/self/cgroup is NUMBER:CONTROLLERS:PATH, those of version 2
 * have no controllers.
 */
#pragma once

#include <stdint.h>

/* Bytes: the least of the machine's memory and of what the control groups of this process allow,
 * such as MemoryMax= of a unit or the limit of a container.  @root: "", or where /proc and /sys are
 * looked for. */
uint64_t machine_memory(const char *root);
