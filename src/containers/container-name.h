/*
 * container-name: what users call a container, by what its engine keeps in files.
 *
 * Docker has a file for each container, podman a list of all, containerd and cri-o annotations of
 * the bundle that runs; of pods the kubelet's links to logs say the same.  Each of these files may
 * be absent, cut, enormous or of another user.
 */
#pragma once

#include "containers/cgroup.h"

/* Fills @group->name, if a file below @root says it: "web", "POD/CONTAINER".  false: none does. */
bool container_name_find(const char *root, struct cgroup *group);
