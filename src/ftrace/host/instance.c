/*
 * instance: see instance.h.
 */
#include "ftrace/host/instance.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/guardian.h"
#include "base/process/host-file.h"
#include "base/vec.h"

static const char prefix[] = "sillage-";

/* Sub-buffers that are wanted, of a buffer that has room for some. */
#define SUBBUF_BYTES ((uint64_t)64 << 10)
#define SUBBUF_KB    "64"
#define SUBBUFS_MIN  16

struct ftrace_instance {
	char *tracefs, *path;
	struct guardian *guardian;
	void (*at_end)(const void *user);
	const void *at_end_user;
	uint32_t cpus;
	VEC(struct pollfd) pipes; /* by CPU; fd -1: it has none */
	size_t subbuf_bytes;
	uint8_t *bytes; /* of a sub-buffer */
};

/* ---- files of tracefs ---- */

static int write_text(const char *dir, const char *name, const char *text)
{
	char *path = mem_printf("%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK), r = 0;

	free(path);
	if (fd < 0) {
		return -errno;
	}
	if (write(fd, text, strlen(text)) < 0) {
		r = -errno;
	}
	(void)close(fd);
	return r;
}

/* All of a file up to @most bytes, which the caller frees, and which ends with a zero. */
static int read_text(const char *dir, const char *name, size_t most, char **ret)
{
	char *path = mem_printf("%s/%s", dir, name);
	ssize_t len = host_file_text(path, most, ret);

	free(path);
	return len < 0 ? (int)len : 0;
}

static int set(const struct ftrace_instance *instance, const char *name, const char *text,
	       struct err *err)
{
	int r = write_text(instance->path, name, text);

	return r < 0 ? err_raise(err, r, "%s/%s: \"%s\" is refused: %s", instance->path, name, text,
				 strerror(-r))
		     : 0;
}

static int set_number(const struct ftrace_instance *instance, const char *name, uint64_t number,
		      struct err *err)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	return set(instance, name, text, err);
}

/* ---- where tracefs is ---- */

static int find_tracefs(char **ret, struct err *err)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
		char *instances = mem_printf("%s/instances", places[i]);
		bool is_there = access(instances, F_OK) == 0;
		int refused = access(instances, W_OK | X_OK) == 0 ? 0 : errno;

		free(instances);
		if (is_there && refused == 0) {
			*ret = mem_strdup(places[i]);
			return 0;
		}
		if (refused == EACCES || refused == EPERM || refused == EROFS) {
			return err_raise(
				err, -EACCES,
				"%s may not be written: run it as root (sudo sillage record "
				"...)",
				places[i]);
		}
	}
	return geteuid() == 0
		       ? err_raise(err, -ENOENT,
				   "tracefs is not mounted: mount -t tracefs nodev "
				   "/sys/kernel/tracing")
		       : err_raise(err, -EACCES,
				   "recording the kernel needs root: sudo sillage record ...");
}

/* ---- what is left of others ---- */

/* Not while one of its files is open: the kernel refuses then. */
static bool remove_instance(const char *path)
{
	return rmdir(path) == 0 || errno == ENOENT;
}

static bool is_alive(const char *name)
{
	long pid = strtol(name + strlen(prefix), NULL, 10);

	return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno != ESRCH);
}

static void remove_dead(const char *tracefs)
{
	char *dir = mem_printf("%s/instances", tracefs);
	DIR *list = opendir(dir);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
		    !is_alive(entry->d_name)) {
			char *path = mem_printf("%s/%s", dir, entry->d_name);

			(void)remove_instance(path);
			free(path);
		}
	}
	if (list) {
		(void)closedir(list);
	}
	free(dir);
}

/* The guardian's work: the files of the recorder close a little after it ended. */
static void remove_late(const void *user)
{
	const struct ftrace_instance *instance = user;
	const char *path = instance->path;

	if (instance->at_end) {
		instance->at_end(instance->at_end_user);
	}
	for (unsigned int i = 0; i < 100 && !remove_instance(path); i++) {
		(void)poll(NULL, 0, WAIT_POLL_MS);
	}
}

/* ---- making one ---- */

#define INSTANCES_MAX 1000 /* of one process */

/* A name that no instance has: those of this process differ by a number. */
static void name_instance(struct ftrace_instance *instance)
{
	for (unsigned int i = 0; i < INSTANCES_MAX; i++) {
		free(instance->path);
		instance->path = mem_printf(i == 0 ? "%s/instances/%s%d" : "%s/instances/%s%d-%u",
					    instance->tracefs, prefix, (int)getpid(), i);
		if (access(instance->path, F_OK) < 0) {
			break;
		}
	}
}

/* The guardian is there first: nothing may end this process with an instance and without one. */
static int make_dir_of(struct ftrace_instance *instance, struct err *err)
{
	int r;

	name_instance(instance);
	if (access(instance->path, F_OK) == 0) {
		r = err_raise(err, -EEXIST, "%s: it exists", instance->path);
		free(instance->path); /* which is not ours to remove */
		instance->path = NULL;
		return r;
	}
	instance->guardian = guardian_new(remove_late, instance, -1, err);
	if (!instance->guardian) {
		return -EAGAIN;
	}
	r = mkdir(instance->path, 0700) < 0 ? -errno : 0;
	return r == 0 ? 0
		      : err_raise(err, r, "%s: %s%s", instance->path, strerror(-r),
				  r == -EPERM || r == -EACCES
					  ? ": it needs CAP_SYS_ADMIN (run it as root)"
					  : "");
}

static int set_pids(const struct ftrace_instance *instance, const struct instance_config *config,
		    struct err *err)
{
	int r = config->pid_count > 0 ? set(instance, "options/event-fork", "1", err) : 0;

	for (size_t i = 0; i < config->pid_count && r == 0; i++) {
		char *path = mem_printf("%s/set_event_pid", instance->path);
		int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
		char text[32];
		int len = snprintf(text, sizeof(text), "%" PRId64 "\n", config->pids[i]);

		if (fd < 0 || write(fd, text, (size_t)len) < 0) {
			r = err_raise(err, -errno, "%s: %.*s is refused: %s", path, len - 1, text,
				      strerror(errno));
		}
		if (fd >= 0) {
			(void)close(fd);
		}
		free(path);
	}
	return r;
}

static int configure(struct ftrace_instance *instance, const struct instance_config *config,
		     struct err *err)
{
	int r = set(instance, "tracing_on", "0", err);

	r = r < 0 ? r : set(instance, "trace_clock", "mono", err);
	/* Fewer reads; kernels before 6.8 have sub-buffers of a page. */
	if (r == 0 && config->buffer_bytes >= SUBBUFS_MIN * SUBBUF_BYTES) {
		(void)write_text(instance->path, "buffer_subbuf_size_kb", SUBBUF_KB);
	}
	r = r < 0 ? r
		  : set_number(instance, "buffer_size_kb", (config->buffer_bytes + 1023) / 1024,
			       err);
	/* The oldest is lost, and the next sub-buffer says how many events it was. */
	r = r < 0 ? r : set(instance, "options/overwrite", "1", err);
	r = r < 0 ? r : set_pids(instance, config, err);
	return r;
}

static void count_cpus(struct ftrace_instance *instance)
{
	char *dir = mem_printf("%s/per_cpu", instance->path);
	DIR *list = opendir(dir);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, "cpu", 3) == 0 &&
		    isdigit((unsigned char)entry->d_name[3])) {
			unsigned long cpu = strtoul(entry->d_name + 3, NULL, 10);

			if (cpu < FTRACE_CPUS_MAX && cpu >= instance->cpus) {
				instance->cpus = (uint32_t)cpu + 1;
			}
		}
	}
	if (list) {
		(void)closedir(list);
	}
	free(dir);
}

int instance_new(const struct instance_config *config, struct ftrace_instance **ret,
		 struct err *err)
{
	struct ftrace_instance *instance = mem_alloc(sizeof(*instance));
	int r = find_tracefs(&instance->tracefs, err);

	instance->at_end = config->at_end;
	instance->at_end_user = config->at_end_user;
	if (r == 0) {
		remove_dead(instance->tracefs);
		r = make_dir_of(instance, err);
	}
	r = r < 0 ? r : configure(instance, config, err);
	if (r == 0) {
		count_cpus(instance);
		*ret = instance;
	} else {
		instance_free(instance);
	}
	return r;
}

void instance_free(struct ftrace_instance *instance)
{
	if (!instance) {
		return;
	}
	VEC_EACH(&instance->pipes, one) {
		if (one->fd >= 0) {
			(void)close(one->fd);
		}
	}
	if (instance->guardian) {
		guardian_free(instance->guardian, NULL);
	} else if (instance->path) {
		(void)remove_instance(instance->path);
	}
	vec_fini(&instance->pipes);
	free(instance->bytes);
	free(instance->path);
	free(instance->tracefs);
	free(instance);
}

/* ---- events ---- */

/* A name that leads to no other folder. */
static bool is_plain_name(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && !strchr(name, '/');
}

bool instance_has_event(const struct ftrace_instance *instance, const char *system,
			const char *name)
{
	char *path = mem_printf("%s/events/%s/%s/enable", instance->path, system, name);
	bool is_there = is_plain_name(system) && is_plain_name(name) && access(path, F_OK) == 0;

	free(path);
	return is_there;
}

int instance_enable(struct ftrace_instance *instance, const char *system, const char *name,
		    struct ftrace_format **ret_format, struct err *err)
{
	char *dir, *text = NULL;
	int r;

	if (!instance_has_event(instance, system, name)) {
		return err_raise(err, -ENOENT, "this kernel has no event %s:%s", system, name);
	}
	dir = mem_printf("%s/events/%s/%s", instance->path, system, name);
	r = read_text(dir, "format", FTRACE_FORMAT_BYTES_MAX, &text);
	if (r < 0) {
		(void)err_raise(err, r, "%s/format: %s", dir, strerror(-r));
	} else {
		r = ftrace_format_parse(text, strlen(text), system, ret_format, err);
	}
	if (r == 0) {
		r = write_text(dir, "enable", "1");
		if (r < 0) {
			(void)err_raise(err, r, "event %s:%s is refused: %s", system, name,
					strerror(-r));
			ftrace_format_free(*ret_format);
		}
	}
	free(text);
	free(dir);
	return r;
}

static int by_alphabet(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

/* Names in a folder that are no files of its own. */
static char **names_in(const char *dir)
{
	VEC(char *) names = { 0 };
	DIR *list = opendir(dir);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
			*vec_push(&names) = mem_strdup(entry->d_name);
		}
	}
	if (list) {
		(void)closedir(list);
	}
	vec_sort(&names, by_alphabet);
	*vec_push(&names) = NULL;
	return names.at;
}

static void free_name_list(char **names)
{
	for (size_t i = 0; names[i]; i++) {
		free(names[i]);
	}
	free(names);
}

char **instance_find(const struct ftrace_instance *instance)
{
	char *events = mem_printf("%s/events", instance->path);
	char **systems = names_in(events);
	VEC(char *) found = { 0 };

	for (size_t i = 0; systems[i]; i++) {
		char *dir = mem_printf("%s/%s", events, systems[i]);
		char **names = names_in(dir);

		for (size_t k = 0; names[k]; k++) {
			*vec_push(&found) = mem_printf("%s/%s", systems[i], names[k]);
		}
		free_name_list(names);
		free(dir);
	}
	free_name_list(systems);
	free(events);
	*vec_push(&found) = NULL;
	return found.at;
}

/* ---- buffers ---- */

int instance_layout(const struct ftrace_instance *instance, struct ftrace_layout *ret,
		    struct err *err)
{
	char *text = NULL, *kb = NULL;
	int r = read_text(instance->path, "events/header_page", FTRACE_FORMAT_BYTES_MAX, &text);

	if (r < 0) {
		return err_raise(err, r, "%s/events/header_page: %s", instance->path, strerror(-r));
	}
	r = ftrace_layout_parse(text, strlen(text), __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, ret,
				err);
	free(text);
	/* The header is of the host's buffers in some kernels. */
	if (r == 0 && read_text(instance->path, "buffer_subbuf_size_kb", 64, &kb) == 0) {
		uint64_t bytes = strtoull(kb, NULL, 10) * 1024;

		if (bytes > ret->bytes && bytes <= FTRACE_SUBBUF_BYTES_MAX) {
			ret->bytes = (uint32_t)bytes;
		}
		free(kb);
	}
	return r;
}

/* A CPU that is not there has none; what fails for another reason would be missing in silence. */
static int open_pipe(struct ftrace_instance *instance, uint32_t cpu, struct err *err)
{
	char *path = mem_printf("%s/per_cpu/cpu%u/trace_pipe_raw", instance->path, cpu);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r = fd < 0 && errno != ENOENT && errno != ENODEV && errno != ENXIO
			? err_raise(err, -errno, "%s: %s", path, strerror(errno))
			: 0;

	*vec_push(&instance->pipes) = (struct pollfd){ .fd = fd, .events = POLLIN };
	free(path);
	return r;
}

int instance_on(struct ftrace_instance *instance, struct err *err)
{
	struct ftrace_layout layout;
	int r = instance_layout(instance, &layout, err);

	if (r < 0) {
		return r;
	}
	instance->subbuf_bytes = layout.bytes;
	instance->bytes = mem_alloc(layout.bytes);
	for (uint32_t i = 0; i < instance->cpus && r == 0; i++) {
		r = open_pipe(instance, i, err);
	}
	return r < 0 ? r : set(instance, "tracing_on", "1", err);
}

void instance_off(struct ftrace_instance *instance)
{
	(void)write_text(instance->path, "tracing_on", "0");
}

uint32_t instance_cpus(const struct ftrace_instance *instance)
{
	return instance->cpus;
}

size_t instance_read(struct ftrace_instance *instance, uint32_t cpu, const uint8_t **ret_bytes)
{
	ssize_t got = -1;

	assert(cpu < instance->pipes.count);
	if (instance->pipes.at[cpu].fd >= 0) {
		got = read(instance->pipes.at[cpu].fd, instance->bytes, instance->subbuf_bytes);
	}
	*ret_bytes = instance->bytes;
	return got > 0 ? (size_t)got : 0;
}

void instance_wait(struct ftrace_instance *instance, int timeout_ms)
{
	assert(timeout_ms >= 0);
	(void)poll(instance->pipes.at, instance->pipes.count, timeout_ms);
}

static uint64_t stat_of(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	/* "overrun: " is the end of "commit overrun: ", too. */
	while (found && found != text && found[-1] != '\n') {
		found = strstr(found + 1, name);
	}
	return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

int instance_stats(const struct ftrace_instance *instance, uint32_t cpu, struct instance_stats *ret,
		   struct err *err)
{
	char *name = mem_printf("per_cpu/cpu%u/stats", cpu), *text = NULL;
	int r = read_text(instance->path, name, 4096, &text);

	if (r < 0) {
		(void)err_raise(err, r, "%s/%s: %s", instance->path, name, strerror(-r));
	} else {
		*ret = (struct instance_stats){ .entries = stat_of(text, "entries: "),
						.overrun = stat_of(text, "overrun: "),
						.commit_overrun = stat_of(text, "commit overrun: "),
						.dropped = stat_of(text, "dropped events: "),
						.read = stat_of(text, "read events: ") };
	}
	free(text);
	free(name);
	return r;
}
