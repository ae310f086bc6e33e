/*
 * cgroup: what the path of a control group says: whose container its processes are in, or which
 * service they are of.
 *
 *     /system.slice/docker-3f0c...scope            a container of docker, its id
 *     /kubepods.slice/...-pod8e6f....slice/crio-3f0c....scope      the same in a pod
 *     /machine.slice/systemd-nspawn@web.service/payload            a container that has a name
 *     /system.slice/nginx.service                                  a service of systemd
 *
 * It reads no file.  A path may hold anything: what it looks like is what it is taken for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"

enum cgroup_kind {
	CGROUP_NONE, /* neither */
	CGROUP_SERVICE,
	CGROUP_DOCKER,
	CGROUP_CONTAINERD,
	CGROUP_CRIO,
	CGROUP_PODMAN,
	CGROUP_NSPAWN,
	CGROUP_LIBVIRT,
	CGROUP_LXC,
	CGROUP_CONTAINER, /* of which engine the path does not say */
	CGROUP_KINDS,
};

static inline bool cgroup_is_container(enum cgroup_kind kind)
{
	return kind > CGROUP_SERVICE;
}

/* "docker", "cri-o", "service"; "" of CGROUP_NONE. */
const char *cgroup_kind_name(enum cgroup_kind kind);

struct cgroup {
	enum cgroup_kind kind;
	char id[CONTAINER_ID_BYTES];     /* of a container, as its engine has it */
	char name[CONTAINER_NAME_BYTES]; /* of a service; of a container if its path says it */
	char pod[CONTAINER_ID_BYTES];    /* the uid of its pod; "": it is in none */
	char user[24];                   /* the uid whose slice it is in; "": none */
};

/* What the path says; of containers inside others it is the outermost, whose engine is this host's.
 */
void cgroup_parse(const char *path, struct cgroup *ret);

/* The path among those of /proc/PID/cgroup, whose lines (NUMBER:CONTROLLERS:PATH) are cut here: the
 * one that says most; of equal ones that of the unified hierarchy, then systemd's own.  Never NULL;
 * it lies in @text. */
const char *cgroup_choose(char *text);
