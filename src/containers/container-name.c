/*
 * container-name: see container-name.h.
 */
#include "containers/container-name.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/foreign.h"

#define JSON_DEPTH 32

/* ---- JSON of others ---- */

/* NULL: it is not there, too large, or no JSON. */
static struct json_object *json_of_file(const char *path)
{
	size_t len;
	char *text = foreign_text(path, CONTAINER_STATE_BYTES_MAX, &len);
	struct json_tokener *tokener = text ? json_tokener_new_ex(JSON_DEPTH) : NULL;
	struct json_object *object =
		tokener ? json_tokener_parse_ex(tokener, text, (int)len) : NULL;

	if (tokener) {
		json_tokener_free(tokener);
	}
	free(text);
	return object;
}

static struct json_object *json_member(struct json_object *of, const char *key)
{
	struct json_object *found = NULL;

	if (json_object_is_type(of, json_type_object)) {
		(void)json_object_object_get_ex(of, key, &found);
	}
	return found;
}

/* "": there is none, or it is no text. */
static const char *text_member(struct json_object *of, const char *key)
{
	struct json_object *found = json_member(of, key);

	return json_object_is_type(found, json_type_string) ? json_object_get_string(found) : "";
}

/* ---- names ---- */

static bool take_whole_name(struct cgroup *group, const char *name)
{
	if (name[0]) {
		hash_brief(group->name, sizeof(group->name), name, strlen(name));
	}
	return name[0] != '\0';
}

/* Of the container that only holds a pod's namespaces no manifest says a name. */
static bool take_pod(struct cgroup *group, const char *pod, const char *container)
{
	bool has_name = container[0] && strcmp(container, "POD") != 0;
	char *name = mem_printf("%s/%s", pod, has_name ? container : "(pause)");
	bool found = pod[0] && take_whole_name(group, name);

	free(name);
	return found;
}

static bool take_pod_labels(struct cgroup *group, struct json_object *labels)
{
	return take_pod(group, text_member(labels, "io.kubernetes.pod.name"),
			text_member(labels, "io.kubernetes.container.name")) ||
	       take_pod(group, text_member(labels, "io.kubernetes.cri.sandbox-name"),
			text_member(labels, "io.kubernetes.cri.container-name")) ||
	       take_whole_name(group, text_member(labels, "nerdctl/name"));
}

static bool name_of_docker(const char *root, struct cgroup *group)
{
	char *path = mem_printf("%s/var/lib/docker/containers/%s/config.v2.json", root, group->id);
	struct json_object *config = json_of_file(path);
	const char *name = text_member(config, "Name");
	bool found = take_pod_labels(group, json_member(json_member(config, "Config"), "Labels")) ||
		     take_whole_name(group, name + (name[0] == '/'));

	json_object_put(config);
	free(path);
	return found;
}

/* Of the bundle that is run. */
static bool name_of_bundle(const char *path, struct cgroup *group)
{
	struct json_object *config = json_of_file(path);
	bool found = take_pod_labels(group, json_member(config, "annotations"));

	json_object_put(config);
	return found;
}

/* A bundle lies in a folder of containerd's namespace. */
static bool name_of_containerd(const char *root, struct cgroup *group)
{
	char *tasks = mem_printf("%s/run/containerd/io.containerd.runtime.v2.task", root);
	DIR *list = opendir(tasks);
	const struct dirent *entry;
	bool found = false;

	for (size_t i = 0; list && !found && i < CONTAINER_FOLDERS_MAX && !now_must_end() &&
			   (entry = readdir(list));
	     i++) {
		char *path;

		if (entry->d_name[0] == '.') {
			continue;
		}
		path = mem_printf("%s/%s/%s/config.json", tasks, entry->d_name, group->id);
		found = name_of_bundle(path, group);
		free(path);
	}
	if (list) {
		(void)closedir(list);
	}
	free(tasks);
	return found;
}

static bool name_of_crio(const char *root, struct cgroup *group)
{
	char *path = mem_printf("%s/run/containers/storage/overlay-containers/%s/userdata/"
				"config.json",
				root, group->id);
	bool found = name_of_bundle(path, group);

	free(path);
	return found;
}

/* ---- podman ---- */

/* The home of a user, by the line of /etc/passwd: NAME:PASSWORD:UID:GID:GECOS:HOME:SHELL. */
static char *home_of(const char *root, const char *uid)
{
	enum { UID = 2, HOME = 5 };
	char *path = mem_printf("%s/etc/passwd", root), *home = NULL, *line, *rest;
	size_t len;
	char *text = foreign_text(path, CONTAINER_STATE_BYTES_MAX, &len);

	for (rest = text; rest && !home && (line = strsep(&rest, "\n"));) {
		const char *fields[HOME + 1] = { NULL };

		for (unsigned int i = 0; i <= HOME && line; i++) {
			fields[i] = strsep(&line, ":");
		}
		if (fields[HOME] && strcmp(fields[UID], uid) == 0) {
			home = mem_strdup(fields[HOME]);
		}
	}
	free(text);
	free(path);
	return home;
}

/* The list of a storage: [{"id": ID, "names": [NAME, ...]}, ...]. */
static bool name_in_list(const char *storage, const char *driver, struct cgroup *group)
{
	char *path = mem_printf("%s/%s-containers/containers.json", storage, driver);
	struct json_object *list = json_of_file(path);
	size_t count =
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
	bool found = false;

	for (size_t i = 0; i < count && !found; i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		struct json_object *names = json_member(one, "names");

		if (strcmp(text_member(one, "id"), group->id) == 0 &&
		    json_object_is_type(names, json_type_array) &&
		    json_object_is_type(json_object_array_get_idx(names, 0), json_type_string)) {
			found = take_whole_name(
				group, json_object_get_string(json_object_array_get_idx(names, 0)));
		}
	}
	json_object_put(list);
	free(path);
	return found;
}

static bool name_in_storage(const char *storage, struct cgroup *group)
{
	return name_in_list(storage, "overlay", group) || name_in_list(storage, "vfs", group) ||
	       name_in_list(storage, "btrfs", group);
}

static bool name_of_podman(const char *root, struct cgroup *group)
{
	char *home = group->user[0] ? home_of(root, group->user) : NULL;
	char *storage = home ? mem_printf("%s%s/.local/share/containers/storage", root, home)
			     : mem_printf("%s/var/lib/containers/storage", root);
	bool found = name_in_storage(storage, group);

	free(storage);
	free(home);
	return found;
}

/* ---- the kubelet ---- */

/* A folder has a name that the container's is made of. */
typedef bool on_folder_name(struct cgroup *group, char *name);

static bool look_in_folder(const char *root, const char *folder, struct cgroup *group,
			   on_folder_name *call)
{
	char *path = mem_printf("%s%s", root, folder);
	DIR *list = opendir(path);
	const struct dirent *entry;
	bool found = false;

	for (size_t i = 0;
	     list && !found && i < CONTAINER_LOGS_MAX && !now_must_end() && (entry = readdir(list));
	     i++) {
		char *name = mem_strdup(entry->d_name);

		found = call(group, name);
		free(name);
	}
	if (list) {
		(void)closedir(list);
	}
	free(path);
	return found;
}

/* "POD_NAMESPACE_CONTAINER-ID.log"; none of the names has "_". */
static bool is_log(struct cgroup *group, char *name)
{
	char *id = strrchr(name, '-'), *space = strchr(name, '_'), *container;
	size_t len = strlen(group->id);

	container = space ? strchr(space + 1, '_') : NULL;
	if (!id || !container || id < container || strncmp(id + 1, group->id, len) != 0 ||
	    strcmp(id + 1 + len, ".log") != 0) {
		return false;
	}
	*id = *space = '\0';
	return take_pod(group, name, container + 1);
}

/* "NAMESPACE_POD_UID": what is in no log is the pod's own container. */
static bool is_pod(struct cgroup *group, char *name)
{
	char *pod = strchr(name, '_'), *uid = pod ? strchr(pod + 1, '_') : NULL;

	if (!uid || strcmp(uid + 1, group->pod) != 0) {
		return false;
	}
	*uid = '\0';
	return take_pod(group, pod + 1, "");
}

static bool name_of_pod(const char *root, struct cgroup *group)
{
	return group->pod[0] && (look_in_folder(root, "/var/log/containers", group, is_log) ||
				 look_in_folder(root, "/var/log/pods", group, is_pod));
}

/* ---- all of them ---- */

/* The engine that the path names first: others are as cheap to ask, and `moby` is containerd's. */
bool container_name_find(const char *root, struct cgroup *group)
{
	assert(cgroup_is_container(group->kind));
	switch (group->kind) {
	case CGROUP_DOCKER:
		return name_of_docker(root, group) || name_of_pod(root, group);
	case CGROUP_PODMAN:
		return name_of_podman(root, group);
	case CGROUP_CRIO:
		return name_of_crio(root, group) || name_of_pod(root, group);
	case CGROUP_CONTAINERD:
		return name_of_containerd(root, group) || name_of_docker(root, group) ||
		       name_of_pod(root, group);
	case CGROUP_CONTAINER:
		return name_of_containerd(root, group) || name_of_docker(root, group) ||
		       name_of_crio(root, group) || name_of_podman(root, group) ||
		       name_of_pod(root, group);
	default: /* the path has it */
		return group->name[0] != '\0';
	}
}
