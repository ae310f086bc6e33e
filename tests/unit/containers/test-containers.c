/*
 * containers: paths of control groups as engines make them, and trees with the files that engines
 * keep, which may be cut or hostile.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/now.h"
#include "base/process/remove.h"
#include "containers/containers.h"
#include "containers/host-names.h"
#include "suites.h"

#define ID    "3f0c1a5be2d94c7788aa0123456789abcdef0123456789abcdef0123456789ab"
#define SHORT "3f0c1a5be2d9"
#define UID   "8e6f1c2a-0b1d-4e5f-9a7b-112233445566"
#define UID_  "8e6f1c2a_0b1d_4e5f_9a7b_112233445566"

/* ---- paths ---- */

static const struct {
	const char *path, *kind, *id, *name, *pod;
} paths[] = {
	/* docker, with systemd and without, and of a user */
	{ "/system.slice/docker-" ID ".scope", "docker", ID, "", "" },
	{ "/docker/" ID, "docker", ID, "", "" },
	{ "/docker/" ID "/system.slice/nginx.service", "docker", ID, "", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", "docker",
	  ID, "", "" },
	{ "/system.slice/docker.service", "service", "", "docker.service", "" },
	{ "/../docker/" ID, "docker", ID, "", "" },
	/* containerd by itself, and below Kubernetes */
	{ "/default/" ID, "containerd", ID, "", "" },
	{ "/system.slice/nerdctl-" ID ".scope", "containerd", ID, "", "" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  "containerd", ID, "", UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", "containerd",
	  ID, "", UID },
	{ "/system.slice/containerd.service/kubepods-besteffort-pod" UID_
	  ".slice:cri-containerd:" ID,
	  "containerd", ID, "", UID },
	{ "/kubepods/burstable/pod" UID "/" ID, "container", ID, "", UID },
	{ "/kubelet/kubepods/besteffort/pod" UID "/" ID, "container", ID, "", UID },
	{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	  "containerd", ID, "", UID },
	{ "/ecs/0f1e2d/" ID, "container", ID, "", "" },
	/* cri-o; what watches a container is in none */
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" ID
	  ".scope",
	  "cri-o", ID, "", UID },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container", "cri-o", ID, "",
	  UID },
	{ "/kubepods/besteffort/pod" UID "/crio-" ID, "cri-o", ID, "", UID },
	{ "/system.slice/crio-conmon-" ID ".scope", "service", "", "crio-conmon-" ID ".scope", "" },
	/* podman */
	{ "/machine.slice/libpod-" ID ".scope", "podman", ID, "", "" },
	{ "/machine.slice/libpod-" ID ".scope/container", "podman", ID, "", "" },
	{ "/libpod_parent/libpod-" ID, "podman", ID, "", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
	  "podman", ID, "", "" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "service", "", "libpod-conmon-" ID ".scope",
	  "" },
	/* systemd's machines */
	{ "/machine.slice/systemd-nspawn@web.service/payload", "systemd-nspawn", "web", "web", "" },
	{ "/machine.slice/machine-deb\\x2d12.scope/payload/init.scope", "systemd-nspawn", "deb-12",
	  "deb-12", "" },
	{ "/machine.slice/machine-qemu\\x2d3\\x2ddb.scope/libvirt/emulator", "libvirt", "qemu-3-db",
	  "qemu-3-db", "" },
	/* lxc */
	{ "/lxc.payload.c1/system.slice/cron.service", "lxc", "c1", "c1", "" },
	{ "/lxc/c1", "lxc", "c1", "c1", "" },
	{ "/lxc/101/ns/init.scope", "lxc", "101", "101", "" },
	{ "/lxc.payload/c1", "lxc", "c1", "c1", "" },
	{ "/lxc.monitor.c1", "", "", "", "" },
	/* services */
	{ "/system.slice/nginx.service", "service", "", "nginx.service", "" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "service", "",
	  "getty@tty1.service", "" },
	{ "/init.scope", "service", "", "init.scope", "" },
	{ "/user.slice/user-1000.slice/session-3.scope", "service", "", "session-3.scope", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/dbus.service", "service", "",
	  "user@1000/dbus.service", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "service", "",
	  "user@1000/init.scope", "" },
	/* neither */
	{ "/", "", "", "", "" },
	{ "", "", "", "", "" },
	{ "/system.slice", "", "", "", "" },
	{ "/batch/job-7", "", "", "", "" },
	{ "/docker/3f0c1a5be2d9", "", "", "", "" },
	{ "/docker/docker-XYZ.scope", "service", "", "docker-XYZ.scope", "" },
	{ "/kubepods/burstable/pod" UID, "", "", "", "" },
	{ "/machine.slice/machine-.scope", "service", "", "machine-.scope", "" },
	{ "/lxc.payload./x:y::z/:::/docker-.scope", "service", "", "docker-.scope", "" },
};

START_TEST(knows_paths)
{
	struct cgroup group;

	cgroup_parse(paths[_i].path, &group);
	ck_assert_msg(strcmp(cgroup_kind_name(group.kind), paths[_i].kind) == 0 &&
			      strcmp(group.id, paths[_i].id) == 0 &&
			      strcmp(group.name, paths[_i].name) == 0 &&
			      strcmp(group.pod, paths[_i].pod) == 0,
		      "%s: %s %s %s %s", paths[_i].path, cgroup_kind_name(group.kind), group.id,
		      group.name, group.pod);
}
END_TEST

/* v1, hybrid and v2. */
static const struct {
	const char *text, *path;
} files[] = {
	{ "0::/system.slice/nginx.service\n", "/system.slice/nginx.service" },
	{ "12:pids:/docker/" ID "\n3:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n",
	  "/docker/" ID },
	{ "4:memory:/x\n1:name=systemd:/system.slice/a.service\n0::/system.slice/a.service\n",
	  "/system.slice/a.service" },
	{ "4:memory:/docker/" ID "\n1:name=systemd:/system.slice/docker.service\n0::/\n",
	  "/docker/" ID },
	{ "4:cpu,cpuacct:/system.slice\n1:name=systemd:/user.slice\n", "/user.slice" },
	{ "0::/a:b::c\n", "/a:b::c" },
	{ "", "" },
	{ "nothing\n:\n::\n", "" },
};

START_TEST(chooses_hierarchies)
{
	char *text = mem_strdup(files[_i].text);

	ck_assert_str_eq(cgroup_choose(text), files[_i].path);
	free(text);
}
END_TEST

START_TEST(bounds_paths)
{
	char *path = mem_alloc(70000);
	struct cgroup group;

	memset(path, 'a', 60000);
	memcpy(path, "/lxc/", 5);
	cgroup_parse(path, &group);
	ck_assert_uint_eq(strlen(group.name), CONTAINER_NAME_BYTES - 1);
	memcpy(path + 60000, ".service", 9);
	memcpy(path, "/sys/", 5);
	cgroup_parse(path, &group);
	ck_assert_int_eq(group.kind, CGROUP_SERVICE);
	ck_assert_uint_eq(strlen(group.name), CONTAINER_NAME_BYTES - 1);
	free(path);
}
END_TEST

/* Long names that begin alike stay two, wherever in a path they are. */
START_TEST(tells_long_names_apart)
{
	static const char *const forms[] = {
		"/system.slice/%s.service",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/%s.service",
		"/machine.slice/systemd-nspawn@%s.service",
		"/machine.slice/machine-%s.scope",
		"/lxc.payload.%s",
	};
	struct cgroup one, other;
	char name[181], path[300];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		name[179] = '1';
		(void)snprintf(path, sizeof(path), forms[i], name);
		cgroup_parse(path, &one);
		name[179] = '2';
		(void)snprintf(path, sizeof(path), forms[i], name);
		cgroup_parse(path, &other);
		ck_assert_msg(one.name[0] && strcmp(one.name, other.name) != 0, "%s", path);
	}
}
END_TEST

/* ---- trees ---- */

static char tree[] = "/tmp/containers-XXXXXX";

static void make_tree(void)
{
	strcpy(tree + strlen(tree) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(tree));
}

static void drop_tree(void)
{
	remove_tree(tree);
}

/* With the folders that it is in. */
static char *place_of(const char *name)
{
	char *path = mem_printf("%s%s", tree, name);

	for (char *c = path + strlen(tree) + 1; *c; c++) {
		if (*c == '/') {
			*c = '\0';
			(void)mkdir(path, 0755);
			*c = '/';
		}
	}
	return path;
}

static void put_file(const char *name, const char *text)
{
	char *path = place_of(name);
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	free(path);
}

static void put_process(int pid, const char *path, unsigned int ns, int vpid)
{
	char *name = mem_printf("/proc/%d/cgroup", pid), *text = mem_printf("0::%s\n", path), *link,
	     *to;

	put_file(name, text);
	free(name);
	free(text);
	name = mem_printf("/proc/%d/status", pid);
	text = mem_printf("Name:\tx\nNSpid:\t%d\t%d\nNSpgid:\t1\n", pid, vpid);
	put_file(name, text);
	free(name);
	free(text);
	name = mem_printf("/proc/%d/ns/pid", pid);
	link = place_of(name);
	to = mem_printf("pid:[%u]", ns);
	(void)unlink(link);
	ck_assert_int_eq(symlink(to, link), 0);
	free(name);
	free(link);
	free(to);
}

#define BUNDLE "/run/containerd/io.containerd.runtime.v2.task/"
#define POD_PATH(engine)                                                                           \
	"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/" engine    \
	"-" ID ".scope"

/* What an engine keeps, and the name of the container. */
static const struct {
	const char *path, *file, *text, *name;
} trees[] = {
	{ "/system.slice/docker-" ID ".scope", "/var/lib/docker/containers/" ID "/config.v2.json",
	  "{\"State\":{\"Running\":true},\"ID\":\"" ID
	  "\",\"Config\":{\"Labels\":{\"a\":\"b\"}},\"Name\":\"/web\"}",
	  "web" },
	{ "/kubepods/burstable/pod" UID "/" ID, "/var/lib/docker/containers/" ID "/config.v2.json",
	  "{\"Config\":{\"Labels\":{\"io.kubernetes.pod.name\":\"shop-0\","
	  "\"io.kubernetes.container.name\":\"cart\"}},\"Name\":\"/k8s_cart_shop-0_default\"}",
	  "shop-0/cart" },
	{ "/kubepods/burstable/pod" UID "/" ID, "/var/lib/docker/containers/" ID "/config.v2.json",
	  "{\"Config\":{\"Labels\":{\"io.kubernetes.pod.name\":\"shop-0\","
	  "\"io.kubernetes.container.name\":\"POD\"}},\"Name\":\"/k8s_POD_shop-0_default\"}",
	  "shop-0/(pause)" },
	{ POD_PATH("cri-containerd"), BUNDLE "k8s.io/" ID "/config.json",
	  "{\"ociVersion\":\"1.1.0\",\"annotations\":{\"io.kubernetes.cri.container-type\":"
	  "\"container\",\"io.kubernetes.cri.container-name\":\"cart\","
	  "\"io.kubernetes.cri.sandbox-name\":\"shop-0\"}}",
	  "shop-0/cart" },
	{ POD_PATH("cri-containerd"), BUNDLE "k8s.io/" ID "/config.json",
	  "{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
	  "\"io.kubernetes.cri.sandbox-name\":\"shop-0\"}}",
	  "shop-0/(pause)" },
	{ "/default/" ID, BUNDLE "default/" ID "/config.json",
	  "{\"annotations\":{\"nerdctl/name\":\"web\"}}", "web" },
	{ POD_PATH("crio"),
	  "/run/containers/storage/overlay-containers/" ID "/userdata/config.json",
	  "{\"annotations\":{\"io.kubernetes.pod.name\":\"shop-0\",\"io.kubernetes.container.name\""
	  ":\"cart\"}}",
	  "shop-0/cart" },
	{ "/machine.slice/libpod-" ID ".scope/container",
	  "/var/lib/containers/storage/overlay-containers/containers.json",
	  "[{\"id\":\"00\",\"names\":[\"other\"]},{\"id\":\"" ID "\",\"names\":[\"web\"]}]",
	  "web" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
	  "/home/ann/.local/share/containers/storage/vfs-containers/containers.json",
	  "[{\"id\":\"" ID "\",\"names\":[\"web\"]}]", "web" },
	/* the kubelet's links say it where the engine's files do not */
	{ POD_PATH("cri-containerd"), "/var/log/containers/shop-0_default_cart-" ID ".log", "",
	  "shop-0/cart" },
	{ POD_PATH("crio"), "/var/log/pods/default_shop-0_" UID "/cart/0.log", "",
	  "shop-0/(pause)" },
	/* nobody says it, or it is wrong */
	{ "/docker/" ID, "/var/lib/docker/containers/other", "", SHORT },
	{ "/docker/" ID, "/var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/we",
	  SHORT },
	{ "/docker/" ID, "/var/lib/docker/containers/" ID "/config.v2.json",
	  "{\"Name\":7,\"Config\":[{\"Labels\":1}]}", SHORT },
	{ "/docker/" ID, "/var/lib/docker/containers/" ID "/config.v2.json", "", SHORT },
	{ "/docker/" ID, "/var/lib/docker/containers/" ID "/config.v2.json",
	  "[[[[[[[[[[[[[[[[[[[[[["
	  "[[[[[[[[[[[[[[[[[[[[[[[[",
	  SHORT },
	{ "/machine.slice/libpod-" ID ".scope",
	  "/var/lib/containers/storage/overlay-containers/containers.json",
	  "[7,{\"id\":\"" ID "\",\"names\":[]},{\"id\":\"" ID "\",\"names\":[7]},"
	  "{\"id\":\"" ID "\"}]",
	  SHORT },
	{ "/machine.slice/systemd-nspawn@web.service/payload", "/none", "", "web" },
	{ "/system.slice/nginx.service", "/none", "", "nginx.service" },
};

START_TEST(finds_names)
{
	struct containers *containers;
	const struct containers_place *place;
	int32_t vpid;

	make_tree();
	put_process(70, trees[_i].path, 4026532200u, 1);
	put_file("/etc/passwd", "root:x:0:0::/root:/bin/sh\nshort\nann:x:1000:1000::/home/ann:\n");
	put_file(trees[_i].file, trees[_i].text);
	containers = containers_new(tree);
	place = containers_at(containers, containers_look(containers, 70, &vpid));
	ck_assert_ptr_nonnull(place);
	ck_assert_str_eq(place->group.name, trees[_i].name);
	ck_assert_str_eq(place->path, trees[_i].path);
	ck_assert_uint_eq(place->pid_ns, 4026532200u);
	ck_assert_int_eq(vpid, 1);
	containers_free(containers);
	drop_tree();
}
END_TEST

/* An engine writes the name after the first look; what a number means stays. */
START_TEST(asks_again)
{
	struct containers *containers;
	uint32_t number;

	make_tree();
	put_process(70, "/docker/" ID, 4026532200u, 1);
	put_process(71, "/docker/" ID, 4026532200u, 9);
	put_process(72, "/docker/" ID, 4026532300u, 1);
	containers = containers_new(tree);
	number = containers_look(containers, 70, NULL);
	ck_assert_str_eq(containers_at(containers, number)->group.name, SHORT);
	put_file("/var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/web\"}");
	for (unsigned int i = 0;
	     i < 1000 && strcmp(containers_at(containers, number)->group.name, "web") != 0; i++) {
		ck_assert_uint_eq(containers_look(containers, 71, NULL), number);
		(void)poll(NULL, 0, 10); /* it is not asked all the time */
	}
	ck_assert_str_eq(containers_at(containers, number)->group.name, "web");
	ck_assert_uint_ne(containers_look(containers, 72, NULL), number);
	ck_assert_uint_eq(containers_look(containers, 73, NULL), 0);
	ck_assert_ptr_null(containers_at(containers, 0));
	containers_free(containers);
	drop_tree();
}
END_TEST

/* The path may be that of a place which is forgotten for the new one. */
START_TEST(forgets_its_own_path)
{
	struct containers *containers = containers_new("/nowhere");
	uint32_t number = 0;
	char path[64];

	for (unsigned int i = 0; i < CONTAINERS_KNOWN_MAX; i++) {
		(void)snprintf(path, sizeof(path), "/system.slice/s%u.service", i);
		number = containers_of_group(containers, path, 1);
	}
	number = containers_of_group(containers, containers_at(containers, number)->path, 2);
	ck_assert_str_eq(containers_at(containers, number)->path, path);
	containers_free(containers);
}
END_TEST

/* Groups without end: the oldest are forgotten, and no number means another place. */
START_TEST(forgets_places)
{
	struct containers *containers = containers_new("/nowhere");
	uint32_t first = containers_of_group(containers, "/a.service", 1), last = first;
	char path[64];

	for (unsigned int i = 0; i < CONTAINERS_KNOWN_MAX + 10; i++) {
		(void)snprintf(path, sizeof(path), "/s%u.service", i);
		last = containers_of_group(containers, path, 1);
		ck_assert_ptr_nonnull(containers_at(containers, last));
	}
	ck_assert_ptr_null(containers_at(containers, first));
	ck_assert_uint_gt(containers_of_group(containers, "/a.service", 1), last);
	containers_free(containers);
}
END_TEST

struct scanned {
	unsigned int count;
	char name[CONTAINER_NAME_BYTES];
};

static void on_scanned(void *user, const struct containers_place *place, int32_t vpid)
{
	struct scanned *scanned = user;

	scanned->count++;
	strcpy(scanned->name, place->group.name);
	ck_assert_int_eq(vpid, 1);
}

START_TEST(scans_processes)
{
	struct scanned scanned = { 0 };
	struct containers *containers;

	make_tree();
	put_process(1, "/init.scope", 4026531836u, 1);
	put_process(70, "/lxc/c1", 4026532200u, 1);
	put_file("/proc/self", "");
	put_file("/proc/99/cgroup", "");
	containers = containers_new(tree);
	containers_scan(containers, on_scanned, &scanned);
	ck_assert_uint_eq(scanned.count, 1);
	ck_assert_str_eq(scanned.name, "c1");
	containers_free(containers);
	drop_tree();
}
END_TEST

/* ---- names of namespaces ---- */

static void drop_process(int pid)
{
	char *path = mem_printf("%s/proc/%d", tree, pid);

	remove_tree(path);
	free(path);
}

static const char *name_at(struct host_names *names, uint32_t ns, uint64_t now)
{
	static char room[CONTAINER_NAME_BYTES];

	return host_names_find(names, ns, now, room) ? room : NULL;
}

/* Containers that come later, others that get the number of one that is gone, and what is none. */
START_TEST(names_namespaces)
{
	const uint64_t second = NS_PER_S, begin = 1000 * second;
	struct host_names *names;

	make_tree();
	put_process(1, "/init.scope", 4026531836u, 1);
	put_process(70, "/lxc/c1", 4026532200u, 1);
	put_process(80, "/user.slice/user-1000.slice/session-3.scope", 4026532900u, 1);
	names = host_names_new(tree);
	ck_assert_str_eq(name_at(names, 4026532200u, begin), "c1");
	ck_assert_ptr_null(name_at(names, 4026532900u, begin)); /* that of no container */
	ck_assert_ptr_null(name_at(names, 0, begin));

	put_process(90, "/lxc/c2", 4026532300u, 1);
	ck_assert_ptr_null(name_at(names, 4026532300u, begin + second / 2)); /* not all the time */
	ck_assert_str_eq(name_at(names, 4026532300u, begin + 60 * second), "c2");

	drop_process(70); /* its windows may come later than it goes */
	ck_assert_str_eq(name_at(names, 4026532200u, begin + 120 * second), "c1");
	put_process(71, "/lxc/c3", 4026532200u, 1);
	ck_assert_str_eq(name_at(names, 4026532200u, begin + 180 * second), "c3");
	host_names_free(names);
	drop_tree();
}
END_TEST

/* Of containers that share a namespace the one whose process is its first, in whatever order they
 * are seen. */
START_TEST(names_shared_namespaces)
{
	struct host_names *names;

	make_tree();
	put_process(70, "/lxc/side1", 4026532200u, 8);
	put_process(71, "/lxc/main", 4026532200u, 1);
	put_process(72, "/lxc/side2", 4026532200u, 9);
	names = host_names_new(tree);
	ck_assert_str_eq(name_at(names, 4026532200u, NS_PER_S), "main");
	host_names_free(names);
	host_names_free(NULL);
	drop_tree();
}
END_TEST

Suite *suite_containers(void)
{
	Suite *suite = suite_create("containers");
	TCase *cgroups = tcase_create("cgroups"), *host = tcase_create("containers");

	tcase_add_loop_test(cgroups, knows_paths, 0, sizeof(paths) / sizeof(paths[0]));
	tcase_add_loop_test(cgroups, chooses_hierarchies, 0, sizeof(files) / sizeof(files[0]));
	tcase_add_test(cgroups, bounds_paths);
	tcase_add_test(cgroups, tells_long_names_apart);
	tcase_add_loop_test(host, finds_names, 0, sizeof(trees) / sizeof(trees[0]));
	tcase_add_test(host, names_namespaces);
	tcase_add_test(host, names_shared_namespaces);
	tcase_add_test(host, asks_again);
	tcase_add_test(host, forgets_its_own_path);
	tcase_add_test(host, forgets_places);
	tcase_add_test(host, scans_processes);
	suite_add_tcase(suite, cgroups);
	suite_add_tcase(suite, host);
	return suite;
}
