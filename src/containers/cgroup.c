/*
 * cgroup: see cgroup.h.
 */
#include "containers/cgroup.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#define ID_LEAST 12 /* hexadecimal digits, as docker's short ids have them, */
#define ID_WHOLE 64 /* and whole ones */

const char *cgroup_kind_name(enum cgroup_kind kind)
{
	static const char *const names[CGROUP_KINDS] = {
		[CGROUP_NONE] = "",
		[CGROUP_SERVICE] = "service",
		[CGROUP_DOCKER] = "docker",
		[CGROUP_CONTAINERD] = "containerd",
		[CGROUP_CRIO] = "cri-o",
		[CGROUP_PODMAN] = "podman",
		[CGROUP_NSPAWN] = "systemd-nspawn",
		[CGROUP_LIBVIRT] = "libvirt",
		[CGROUP_LXC] = "lxc",
		[CGROUP_CONTAINER] = "container",
	};

	assert(kind < CGROUP_KINDS && names[kind]);
	return names[kind];
}

/* ---- components ---- */

struct component {
	const char *at;
	size_t len;
};

static bool begins_with(struct component part, const char *text)
{
	return part.len >= strlen(text) && memcmp(part.at, text, strlen(text)) == 0;
}

static bool ends(struct component part, const char *text)
{
	return part.len >= strlen(text) &&
	       memcmp(part.at + part.len - strlen(text), text, strlen(text)) == 0;
}

static bool is(struct component part, const char *text)
{
	return part.len == strlen(text) && begins_with(part, text);
}

static struct component without(struct component part, const char *begin, const char *end)
{
	assert(begins_with(part, begin) && ends(part, end) &&
	       part.len >= strlen(begin) + strlen(end));
	return (struct component){ part.at + strlen(begin),
				   part.len - strlen(begin) - strlen(end) };
}

static bool next_component(const char **at, struct component *ret)
{
	*at += strspn(*at, "/");
	*ret = (struct component){ *at, strcspn(*at, "/") };
	*at += ret->len;
	return ret->len > 0;
}

static bool is_id(struct component part)
{
	for (size_t i = 0; i < part.len; i++) {
		if (!strchr("0123456789abcdef", part.at[i])) {
			return false;
		}
	}
	return part.len >= ID_LEAST && part.len <= ID_WHOLE;
}

/* Texts that have no room stay different. */
static void copy_part(char *to, size_t room, struct component part)
{
	hash_brief(to, room, part.at, part.len);
}

/* As systemd escapes names of machines in those of units: "\x2d" is "-". */
static void copy_unescaped(char *to, size_t room, struct component part)
{
	char *text = mem_alloc(part.len + 1);
	size_t len = 0;

	for (size_t i = 0; i < part.len; i++) {
		char digits[3] = "";

		if (part.len - i >= 4 && part.at[i] == '\\' && part.at[i + 1] == 'x') {
			memcpy(digits, part.at + i + 2, 2);
		}
		if (strspn(digits, "0123456789abcdef") == 2 && strcmp(digits, "00") != 0) {
			text[len++] = (char)strtoul(digits, NULL, 16);
			i += 3;
		} else {
			text[len++] = part.at[i];
		}
	}
	copy_part(to, room, (struct component){ text, len });
	free(text);
}

/* ---- containers ---- */

/* What stands before an id, in names of scopes and between colons. */
static const struct {
	const char *prefix;
	enum cgroup_kind kind;
} engines[] = {
	{ "docker", CGROUP_DOCKER },
	{ "libpod", CGROUP_PODMAN },
	{ "crio", CGROUP_CRIO },
	{ "cri-containerd", CGROUP_CONTAINERD },
	{ "containerd", CGROUP_CONTAINERD },
	{ "nerdctl", CGROUP_CONTAINERD },
};

/* The groups that engines without systemd put containers into. */
static const struct {
	const char *group;
	enum cgroup_kind kind;
} groups[] = {
	{ "docker", CGROUP_DOCKER },      { "libpod_parent", CGROUP_PODMAN },
	{ "k8s.io", CGROUP_CONTAINERD },  { "moby", CGROUP_DOCKER },
	{ "default", CGROUP_CONTAINERD }, { "crio", CGROUP_CRIO },
};

static bool take_id(struct cgroup *ret, enum cgroup_kind kind, struct component id)
{
	if (!is_id(id)) {
		return false;
	}
	ret->kind = kind;
	copy_part(ret->id, sizeof(ret->id), id);
	return true;
}

/* "docker-ID.scope", "crio-ID". */
static bool take_prefixed(struct cgroup *ret, struct component part)
{
	struct component whole = ends(part, ".scope") ? without(part, "", ".scope") : part;

	for (size_t i = 0; i < ARRAY_COUNT(engines); i++) {
		size_t len = strlen(engines[i].prefix);

		if (begins_with(whole, engines[i].prefix) && whole.len > len &&
		    whole.at[len] == '-' &&
		    take_id(ret, engines[i].kind,
			    (struct component){ whole.at + len + 1, whole.len - len - 1 })) {
			return true;
		}
	}
	return false;
}

/* "kubepods-besteffort-podUID.slice:cri-containerd:ID": a name for systemd, where it is not asked.
 */
static bool take_colons(struct cgroup *ret, struct component part)
{
	const char *last = memrchr(part.at, ':', part.len), *first;
	struct component engine, id;

	first = last ? memrchr(part.at, ':', (size_t)(last - part.at)) : NULL;
	if (!first) {
		return false;
	}
	engine = (struct component){ first + 1, (size_t)(last - first - 1) };
	id = (struct component){ last + 1, (size_t)(part.at + part.len - last - 1) };
	for (size_t i = 0; i < ARRAY_COUNT(engines); i++) {
		if (is(engine, engines[i].prefix)) {
			return take_id(ret, engines[i].kind, id);
		}
	}
	return false;
}

static bool take_bare(struct cgroup *ret, struct component before, struct component part)
{
	if (part.len != ID_WHOLE || !is_id(part)) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_COUNT(groups); i++) {
		if (is(before, groups[i].group)) {
			return take_id(ret, groups[i].kind, part);
		}
	}
	return take_id(ret, CGROUP_CONTAINER, part);
}

static bool take_own_name(struct cgroup *ret, enum cgroup_kind kind, struct component name)
{
	if (name.len == 0) {
		return false;
	}
	ret->kind = kind;
	copy_unescaped(ret->name, sizeof(ret->name), name);
	copy_unescaped(ret->id, sizeof(ret->id), name);
	return true;
}

/* Of systemd's machines: nspawn's, and what libvirt registers there. */
static bool take_machine(struct cgroup *ret, struct component before, struct component part)
{
	if (!is(before, "machine.slice")) {
		return false;
	}
	if (begins_with(part, "systemd-nspawn@") && ends(part, ".service")) {
		return take_own_name(ret, CGROUP_NSPAWN,
				     without(part, "systemd-nspawn@", ".service"));
	}
	if (begins_with(part, "machine-") && ends(part, ".scope") &&
	    take_own_name(ret, CGROUP_NSPAWN, without(part, "machine-", ".scope"))) {
		bool is_libvirt =
			strncmp(ret->name, "qemu-", 5) == 0 || strncmp(ret->name, "lxc-", 4) == 0;

		ret->kind = is_libvirt ? CGROUP_LIBVIRT : CGROUP_NSPAWN;
		return true;
	}
	return false;
}

static bool take_lxc(struct cgroup *ret, struct component before, struct component part)
{
	if (begins_with(part, "lxc.payload.")) {
		return take_own_name(ret, CGROUP_LXC, without(part, "lxc.payload.", ""));
	}
	return (is(before, "lxc") || is(before, "lxc.payload")) &&
	       take_own_name(ret, CGROUP_LXC, part);
}

static bool take_any_container(struct cgroup *ret, struct component before, struct component part)
{
	return take_prefixed(ret, part) || take_colons(ret, part) ||
	       take_machine(ret, before, part) || take_lxc(ret, before, part) ||
	       take_bare(ret, before, part);
}

/* ---- what is around it ---- */

/* "podUID", "kubepods-burstable-podUID.slice" with "_" in place of "-"; below a kubelet that is in
 * a container itself "kubelet-kubepods-...". */
static void note_pod(struct cgroup *ret, struct component part)
{
	static const char mark[] = "-pod";
	const char *at = NULL;

	if (memmem(part.at, part.len, "kubepods", strlen("kubepods"))) {
		at = memmem(part.at, part.len, mark, strlen(mark));
		at = at ? at + strlen(mark) : NULL;
	} else if (begins_with(part, "pod")) {
		at = part.at + strlen("pod");
	}
	if (at) {
		copy_part(ret->pod, sizeof(ret->pod),
			  (struct component){ at, (size_t)(part.at + part.len - at) });
		ret->pod[strcspn(ret->pod, ".:")] = '\0';
		for (char *c = ret->pod; *c; c++) {
			*c = *c == '_' ? '-' : *c;
		}
	}
}

/* The innermost unit; of a user's manager with the number of the user, since each has its own. */
static void note_unit(struct cgroup *ret, struct component part)
{
	if (begins_with(part, "user-") && ends(part, ".slice") && !ret->user[0]) {
		copy_part(ret->user, sizeof(ret->user), without(part, "user-", ".slice"));
	}
	if ((!ends(part, ".service") && !ends(part, ".scope")) || part.len == strlen(".scope")) {
		return;
	}
	if (ret->kind == CGROUP_SERVICE && strncmp(ret->name, "user@", 5) == 0) {
		char *name = mem_printf("user@%s/%.*s", ret->user, (int)part.len, part.at);

		copy_part(ret->name, sizeof(ret->name), (struct component){ name, strlen(name) });
		free(name);
	} else {
		copy_part(ret->name, sizeof(ret->name), part);
	}
	ret->kind = CGROUP_SERVICE;
}

void cgroup_parse(const char *path, struct cgroup *ret)
{
	struct component before = { "", 0 }, part;
	struct cgroup container;

	memset(ret, 0, sizeof(*ret));
	while (next_component(&path, &part)) {
		memset(&container, 0, sizeof(container));
		if (take_any_container(&container, before, part)) {
			note_pod(ret, part);
			ret->kind = container.kind;
			memcpy(ret->id, container.id, sizeof(ret->id));
			memcpy(ret->name, container.name, sizeof(ret->name));
			return;
		}
		note_pod(ret, part);
		note_unit(ret, part);
		before = part;
	}
	ret->pod[0] = '\0'; /* a pod without a container is a group as any other */
}

/* ---- /proc/PID/cgroup ---- */

/* Higher is better. */
static unsigned int worth_of(const char *controllers, const char *path)
{
	enum { OTHERS, SYSTEMD, UNIFIED, HIERARCHIES };
	struct cgroup group;
	unsigned int worth = controllers[0] == '\0'                     ? UNIFIED
			     : strcmp(controllers, "name=systemd") == 0 ? SYSTEMD
									: OTHERS;

	cgroup_parse(path, &group);
	worth += cgroup_is_container(group.kind) ? 2 * HIERARCHIES
		 : group.kind == CGROUP_SERVICE  ? HIERARCHIES
						 : 0;
	return worth;
}

const char *cgroup_choose(char *text)
{
	const char *best = "";
	unsigned int worth = 0;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		unsigned int found;

		if (!path) {
			continue;
		}
		*controllers++ = *path++ = '\0';
		found = 1 + worth_of(controllers, path);
		best = found > worth ? path : best;
		worth = found > worth ? found : worth;
	}
	return best;
}
