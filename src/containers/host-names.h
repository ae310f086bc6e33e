/*
 * host-names: what the containers of this host are called, by their PID namespaces, for traces that
 * only have the numbers of these.
 *
 * All processes are looked at when a number is asked for that is not known, and from time to time,
 * since the kernel gives numbers of namespaces that are gone to others.  It waits for nobody.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

struct host_names;

/* @root: "", or where /proc, /run, /var and /etc are. */
struct host_names *host_names_new(const char *root);
void host_names_free(struct host_names *names); /* NULL is fine */

/* The name of the container that a PID namespace is of, as far as one was seen.  @now_ns: a clock
 * that only goes forward.  false: none is known. */
bool host_names_find(struct host_names *names, uint32_t pid_ns, uint64_t now_ns,
		     char room[CONTAINER_NAME_BYTES]);
