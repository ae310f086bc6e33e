/*
 * kin: see kin.h.
 */
#include "ctf/metadata/kin.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *env_of(const struct metadata *types, const char *name)
{
	const struct env_entry *entry = metadata_env(types, name);

	return entry && entry->text ? entry->text : "";
}

/* As of traces that are read for reports: they need the switches, whatever the domain says. */
static bool records_switches(const struct metadata *types)
{
	for (const struct event_class *class = types->events; class; class = class->next) {
		if (strcmp(class->name, "sched_switch") == 0) {
			return true;
		}
	}
	return strcmp(env_of(types, "domain"), "kernel") == 0;
}

void kin_take(struct kin *kin, const struct metadata *types)
{
	const char *host = env_of(types, "hostname");

	assert(!kin->host && kin->clocks.count == 0);
	kin->is_kernel = records_switches(types);
	kin->is_user = strcmp(env_of(types, "domain"), "ust") == 0;
	kin->host = host[0] ? mem_strdup(host) : NULL;
	for (const struct clock_class *clock = types->clocks; clock; clock = clock->next) {
		struct kin_clock *one = vec_push(&kin->clocks);

		*one = (struct kin_clock){ .is_set = clock->has_uuid,
					   .freq = clock->freq,
					   .offset_s = clock->offset_s,
					   .offset = clock->offset };
		memcpy(one->uuid, clock->uuid, sizeof(one->uuid));
	}
}

void kin_fini(struct kin *kin)
{
	free(kin->host);
	vec_fini(&kin->clocks);
}

/* The clock of the kernel's that the user's trace counts by, too; NULL: none is known to be. */
static const struct kin_clock *shared_clock(const struct kin *kernel, const struct kin *user,
					    const struct kin_clock **ret_own)
{
	VEC_EACH(&kernel->clocks, clock) {
		VEC_EACH(&user->clocks, own) {
			if (clock->is_set && own->is_set && clock->freq == own->freq &&
			    memcmp(clock->uuid, own->uuid, sizeof(own->uuid)) == 0) {
				*ret_own = own;
				return clock;
			}
		}
	}
	return NULL;
}

static bool have_uuids(const struct kin *kin)
{
	VEC_EACH(&kin->clocks, clock) {
		if (clock->is_set) {
			return true;
		}
	}
	return false;
}

bool kin_may_join(const struct kin *kernel, const struct kin *user,
		  const struct kin_clock **ret_clock, const struct kin_clock **ret_own,
		  const char **ret_why)
{
	const struct kin_clock *own = NULL, *clock = shared_clock(kernel, user, &own);

	*ret_clock = clock;
	*ret_own = own;
	*ret_why = NULL;
	if (user->is_kernel || (!clock && !user->is_user)) {
		return false;
	}
	if (kernel->host && user->host && strcmp(kernel->host, user->host) != 0) {
		*ret_why = "is of another host";
	} else if (!clock && have_uuids(kernel) && have_uuids(user)) {
		*ret_why = "counts by another clock";
	}
	return !*ret_why;
}
