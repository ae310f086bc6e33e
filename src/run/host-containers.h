/*
 * host-containers: --containers auto: the containers of traces of this host and boot are called
 * what the host itself calls them.
 */
#pragma once

#include "options/options.h"

struct host_containers;

/* NULL: the option was not given.  It stays as long as the process. */
const struct host_containers *run_host_containers(const struct options *options);
