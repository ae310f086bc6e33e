/*
 * containers: see containers.h.
 */
#include "containers/containers.h"

#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/foreign.h"
#include "base/vec.h"
#include "containers/container-name.h"

/* Looks at an engine that does not know a name, and the time between two: it may be writing it. */
#define TRIES_MAX 8
#define TRY_NS    (NS_PER_S / 10)
/* Of an id that has no name, as engines show it. */
#define SHORT_ID 12

struct known_place {
	struct containers_place place;
	uint64_t hash;
	unsigned int tries;
	uint64_t tried; /* ns: when the last one was */
	bool is_named;
};

struct containers {
	char *root;
	uint32_t first; /* number of places.at[0] */
	VEC(struct known_place) places;
};

struct containers *containers_new(const char *root)
{
	struct containers *containers = mem_alloc(sizeof(*containers));

	containers->root = mem_strdup(root);
	containers->first = 1;
	return containers;
}

static void forget_places(struct containers *containers)
{
	VEC_EACH(&containers->places, one) {
		free(one->place.path);
	}
	containers->first += (uint32_t)containers->places.count;
	containers->places.count = 0;
}

void containers_free(struct containers *containers)
{
	if (containers) {
		forget_places(containers);
		vec_fini(&containers->places);
		free(containers->root);
		free(containers);
	}
}

/* ---- places ---- */

static void name_place(const struct containers *containers, struct known_place *known)
{
	struct cgroup *group = &known->place.group;
	uint64_t now = now_monotonic_ns();

	if (known->tries > 0 && now - known->tried < TRY_NS) {
		return;
	}
	if (known->is_named || known->tries == TRIES_MAX || !cgroup_is_container(group->kind)) {
		return;
	}
	known->tries++;
	known->tried = now;
	known->is_named = container_name_find(containers->root, group);
	if (!known->is_named) {
		(void)snprintf(group->name, sizeof(group->name), "%.*s", SHORT_ID, group->id);
	}
}

static uint32_t add_place(struct containers *containers, const char *path, uint32_t pid_ns,
			  uint64_t hash)
{
	struct known_place *known;
	char *own = mem_strdup(path); /* which may be that of one that is forgotten now */

	/* Groups come and go: those that are there still are found again. */
	if (containers->places.count >= CONTAINERS_KNOWN_MAX) {
		forget_places(containers);
	}
	known = vec_push(&containers->places);
	*known = (struct known_place){ .place = { .pid_ns = pid_ns, .path = own }, .hash = hash };
	cgroup_parse(own, &known->place.group);
	name_place(containers, known);
	return containers->first + (uint32_t)containers->places.count - 1;
}

uint32_t containers_of_group(struct containers *containers, const char *path, uint32_t pid_ns)
{
	uint64_t hash = hash_bytes(pid_ns, path, strlen(path));

	for (size_t i = containers->places.count; i-- > 0;) {
		struct known_place *known = &containers->places.at[i];

		if (known->hash == hash && known->place.pid_ns == pid_ns &&
		    strcmp(known->place.path, path) == 0) {
			name_place(containers, known);
			return containers->first + (uint32_t)i;
		}
	}
	return add_place(containers, path, pid_ns, hash);
}

const struct containers_place *containers_at(const struct containers *containers, uint32_t number)
{
	return number >= containers->first && number - containers->first < containers->places.count
		       ? &containers->places.at[number - containers->first].place
		       : NULL;
}

/* ---- processes ---- */

uint32_t containers_pid_ns(const char *root, int32_t pid)
{
	char *path = mem_printf("%s/proc/%" PRId32 "/ns/pid", root, pid), text[64] = "";
	ssize_t len = readlink(path, text, sizeof(text) - 1);
	const char *number = len > 0 ? strchr(text, '[') : NULL;

	free(path);
	return number ? (uint32_t)strtoul(number + 1, NULL, 10) : 0;
}

static char *text_of_process(const struct containers *containers, int32_t pid, const char *name)
{
	char *path = mem_printf("%s/proc/%" PRId32 "/%s", containers->root, pid, name);
	size_t len;
	char *text = foreign_text(path, CONTAINER_PROC_BYTES_MAX, &len);

	free(path);
	return text;
}

/* The last number of the line "NSpid:\t7\t1". */
static int32_t inner_pid(const struct containers *containers, int32_t pid)
{
	char *text = text_of_process(containers, pid, "status");
	char *line = text ? strstr(text, "\nNSpid:") : NULL, *last = NULL;
	int32_t number;

	if (line) {
		line += strlen("\nNSpid:");
		line[strcspn(line, "\n")] = '\0';
		last = strrchr(line, '\t');
	}
	number = last ? (int32_t)strtol(last, NULL, 10) : 0;
	free(text);
	return number;
}

uint32_t containers_look(struct containers *containers, int32_t pid, int32_t *ret_vpid)
{
	char *text = text_of_process(containers, pid, "cgroup");
	uint32_t number = 0;

	if (text && text[0]) {
		number = containers_of_group(containers, cgroup_choose(text),
					     containers_pid_ns(containers->root, pid));
	}
	if (ret_vpid) {
		*ret_vpid = number > 0 ? inner_pid(containers, pid) : 0;
	}
	free(text);
	return number;
}

static void scan_process(struct containers *containers, const char *name, containers_found *call,
			 void *user)
{
	int32_t vpid, pid = (int32_t)strtol(name, NULL, 10);
	const struct containers_place *place;

	place = containers_at(containers, containers_look(containers, pid, NULL));
	if (place && cgroup_is_container(place->group.kind)) {
		vpid = inner_pid(containers, pid);
		call(user, place, vpid);
	}
}

void containers_scan(struct containers *containers, containers_found *call, void *user)
{
	char *path = mem_printf("%s/proc", containers->root);
	DIR *list = opendir(path);
	const struct dirent *entry;

	for (size_t i = 0;
	     list && i < CONTAINER_PROCESSES_MAX && !now_must_end() && (entry = readdir(list));
	     i++) {
		if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name)) {
			scan_process(containers, entry->d_name, call, user);
		}
	}
	if (list) {
		(void)closedir(list);
	}
	free(path);
}
