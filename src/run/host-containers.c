/*
 * host-containers: see host-containers.h.
 */
#include "run/host-containers.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/now.h"
#include "base/process/boot.h"
#include "containers/host-names.h"
#include "ctf/metadata/metadata.h"
#include "engine/contract/setup.h"

/* Namespaces are numbers of one boot of one host; a copy of a machine has the id of the boot that
 * was copied, so the name has to fit, too. */
static bool is_of_host(const struct metadata *trace, char why[HOST_CONTAINERS_WHY])
{
	const struct env_entry *host = metadata_env(trace, "hostname");
	const char *theirs = host && host->text ? host->text : "";
	char text[BOOT_ID_BYTES];
	struct utsname here;
	uint8_t boot[16];

	assert(trace && why);
	boot_id(text);
	if (uname(&here) < 0 || !metadata_uuid_of(text, boot)) {
		(void)snprintf(why, HOST_CONTAINERS_WHY, "this host does not say which boot it is");
	} else if (strcmp(theirs, here.nodename) != 0) {
		(void)snprintf(why, HOST_CONTAINERS_WHY,
			       "the trace is of host \"%.64s\", this is \"%.64s\"", theirs,
			       here.nodename);
	} else if (!metadata_has_clock(trace, boot)) {
		(void)snprintf(why, HOST_CONTAINERS_WHY,
			       "the trace is not of the present boot of this host");
	} else {
		return true;
	}
	return false;
}

/* A host has one list of names, whatever traces ask for them. */
static bool name_here(uint32_t pid_ns, char room[CONTAINER_NAME_BYTES])
{
	static struct host_names *names;

	if (!names) {
		names = host_names_new("");
	}
	return host_names_find(names, pid_ns, now_monotonic_ns(), room);
}

const struct host_containers *run_host_containers(const struct options *options)
{
	static const struct host_containers containers = { .fits = is_of_host, .name = name_here };

	return options->names_of_host ? &containers : NULL;
}
