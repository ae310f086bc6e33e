/*
 * host-names: see host-names.h.
 */
#include "containers/host-names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/now.h"
#include "base/vec.h"
#include "containers/containers.h"

/* Between two looks at all processes: of numbers that are not known, and of those that are.  Looks
 * take a 50th of the time at most. */
#define LOOK_NS    NS_PER_S
#define REFRESH_NS (10 * NS_PER_S)
#define COST_PART  50

struct host_name {
	uint32_t pid_ns;
	uint32_t look;      /* the number of the one that saw it last */
	bool is_of_first;   /* of the process that is number 1 there */
	uint64_t looked_ns; /* when that was */
	char name[CONTAINER_NAME_BYTES];
};

struct host_names {
	struct containers *containers;
	uint32_t looks;
	uint64_t looked_ns, cost_ns; /* the last one, if looks > 0 */
	VEC(struct host_name) known;
};

struct host_names *host_names_new(const char *root)
{
	struct host_names *names = mem_alloc(sizeof(*names));

	names->containers = containers_new(root);
	return names;
}

void host_names_free(struct host_names *names)
{
	if (names) {
		containers_free(names->containers);
		vec_fini(&names->known);
		free(names);
	}
}

static struct host_name *name_of_ns(const struct host_names *names, uint32_t pid_ns)
{
	for (size_t i = 0; i < names->known.count; i++) {
		if (names->known.at[i].pid_ns == pid_ns) {
			return &names->known.at[i];
		}
	}
	return NULL;
}

/* Containers of a pod may share a namespace: it has the name of the one whose process is the first
 * there, else that which is seen first. */
static void note_place(void *user, const struct containers_place *place, int32_t vpid)
{
	struct host_names *names = user;
	struct host_name *known = name_of_ns(names, place->pid_ns);

	if (place->pid_ns == 0 || !place->group.name[0]) {
		return;
	}
	if (!known && names->known.count >= CONTAINERS_KNOWN_MAX) {
		return;
	}
	if (!known) {
		known = vec_push(&names->known);
		*known = (struct host_name){ .pid_ns = place->pid_ns };
	}
	if (known->look != names->looks || (vpid == 1 && !known->is_of_first)) {
		memcpy(known->name, place->group.name, sizeof(known->name));
		known->is_of_first = vpid == 1;
	}
	known->look = names->looks;
	known->looked_ns = names->looked_ns;
}

static void look_at_host(struct host_names *names, uint64_t now_ns)
{
	uint64_t begin = now_monotonic_ns();

	if (names->known.count >= CONTAINERS_KNOWN_MAX) {
		names->known.count = 0; /* those that are there still are seen again */
	}
	names->looks++;
	names->looked_ns = now_ns;
	containers_scan(names->containers, note_place, names);
	names->cost_ns = now_monotonic_ns() - begin;
}

bool host_names_find(struct host_names *names, uint32_t pid_ns, uint64_t now_ns,
		     char room[CONTAINER_NAME_BYTES])
{
	const struct host_name *known = name_of_ns(names, pid_ns);
	uint64_t least = COST_PART * names->cost_ns;

	least = least > LOOK_NS ? least : LOOK_NS;
	if ((!known || now_ns - known->looked_ns >= REFRESH_NS) &&
	    (names->looks == 0 || now_ns - names->looked_ns >= least)) {
		look_at_host(names, now_ns);
		known = name_of_ns(names, pid_ns);
	}
	if (known) {
		memcpy(room, known->name, CONTAINER_NAME_BYTES);
	}
	return known != NULL;
}
