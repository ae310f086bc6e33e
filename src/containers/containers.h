/*
 * containers: what processes of this host are of: a container with a name, a service, or neither.
 *
 *     /proc/PID/cgroup, /proc/PID/ns/pid ──► cgroup.h ──► container-name.h
 *                                                │
 *     containers_look(pid) ─► a number ──► containers_at(number): kind, id, name, group, namespace
 *
 * Whoever is in one control group and one PID namespace is of one place, which has a number as long
 * as it is remembered.  Engines are asked once for each, and a few times more while they do not
 * know a name.  It waits for nobody.
 */
#pragma once

#include <stdint.h>

#include "containers/cgroup.h"

struct containers;

struct containers_place {
	uint32_t pid_ns; /* of its processes; 0: not known */
	char *path;      /* of the control group */
	struct cgroup group;
};

/* @root: "", or where /proc, /run, /var and /etc are. */
struct containers *containers_new(const char *root);
void containers_free(struct containers *containers); /* NULL is fine */

/* The number of the place that a process is of now; 0: it has gone.  @ret_vpid: its number in its
 * own PID namespace, 0: not known; may be NULL. */
uint32_t containers_look(struct containers *containers, int32_t pid, int32_t *ret_vpid);
/* The same of the processes of a namespace in a group. */
uint32_t containers_of_group(struct containers *containers, const char *path, uint32_t pid_ns);
/* NULL: it is not remembered any more.  Valid until the next look. */
const struct containers_place *containers_at(const struct containers *containers, uint32_t number);

/* The inode of a process's namespace of PIDs; 0: it is not known. */
uint32_t containers_pid_ns(const char *root, int32_t pid);

/* Looks at all processes: calls once for each of them that is in a container. */
typedef void containers_found(void *user, const struct containers_place *place, int32_t vpid);
void containers_scan(struct containers *containers, containers_found *call, void *user);
