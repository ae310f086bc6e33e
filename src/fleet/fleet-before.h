/*
 * fleet-before: the total that another one is compared with (fleet.h): values by host.
 */
#pragma once

#include "base/hash.h"
#include "fleet/fleet.h"

struct host_before {
	char *host;
	struct fleet_cell *cells; /* by figure */
	bool is_judged;
};

HASH_MAP_TEXT(hosts_before, size_t)

struct fleet_before {
	uint64_t begin, end;
	VEC(struct host_before) hosts;
	struct hosts_before at; /* by name, an index of hosts */
};

/* The number of the host; SIZE_MAX: it has none. */
size_t fleet_before_find(const struct fleet_before *before, const char *host);
