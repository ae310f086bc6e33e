/*
 * symbols-here: see symbols-here.h.
 */
#include "symbols/symbols-here.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/process/foreign.h"
#include "base/process/host-file.h"
#include "base/units.h"
#include "symbols/symbols-kernel.h"

#define MAPS_BYTES_MAX (8u << 20)
#define INIT_NAMESPACE "pid:[4026531836]" /* where the kernel's own numbers of processes hold */
#define TRACED         "/liblttng-ust.so" /* what a program that LTTng traces has mapped */
#define STARTED_FIELD  19                 /* of /proc/PID/stat, behind the name and the state */

static int64_t now_by(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* When the process began, in ticks since the boot; 0: there is none. */
static uint64_t began(int64_t pid)
{
	char path[64], text[1024], *at;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	if (host_file_read(path, text, sizeof(text)) <= 0 || !(at = strrchr(text, ')'))) {
		return 0;
	}
	for (unsigned int i = 0; i <= STARTED_FIELD && at; i++) {
		at = strchr(at + 1, ' ');
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

/* The same in ns since the epoch. */
static uint64_t time_of(uint64_t ticks)
{
	int64_t boot = now_by(CLOCK_REALTIME) - now_by(CLOCK_BOOTTIME);

	return (uint64_t)boot + ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Whether the process has one number only, which it has here. */
static bool is_numbered_here(int64_t pid)
{
	char path[64], text[4096], *at, *past;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/status", pid);
	if (host_file_read(path, text, sizeof(text)) <= 0 || !(at = strstr(text, "\nNSpid:"))) {
		return false;
	}
	return strtoll(at + 7, &past, 10) == pid && *past == '\n';
}

static bool has_kernels_domain(const struct metadata *trace)
{
	const struct env_entry *domain = metadata_env(trace, "domain");

	return domain && domain->text && strcmp(domain->text, "kernel") == 0;
}

static bool has_kernels_numbers(void)
{
	char text[64];
	ssize_t len = readlink("/proc/self/ns/pid", text, sizeof(text) - 1);

	text[len > 0 ? len : 0] = '\0';
	return strcmp(text, INIT_NAMESPACE) == 0;
}

/* ---- what is mapped ---- */

struct mapped {
	uint64_t begin, end, offset, inode;
	const char *path; /* "": no file */
};

/* "begin-end perms offset dev inode   path" */
static bool read_mapping_line(char *line, struct mapped *ret)
{
	int path = 0;

	*ret = (struct mapped){ .path = "" };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64 " %n", &ret->begin,
		   &ret->end, &ret->offset, &ret->inode, &path) < 4) {
		return false;
	}
	ret->path = path > 0 ? line + path : "";
	return true;
}

static void tell_image(const struct symbols_event *who, const struct mapped *image,
		       symbols_here_fn *each, void *user)
{
	struct symbols_event event = *who;

	event.place.base = image->begin;
	event.number = image->end - image->begin;
	event.bytes = (const uint8_t *)image->path;
	event.len = strlen(image->path);
	if (event.len <= SYMBOLS_TEXT_MAX) {
		each(user, &event);
		event = (struct symbols_event){ .says = SYMBOLS_INODE,
						.place = event.place,
						.ts = who->ts,
						.number = image->inode };
		each(user, &event);
	}
}

/* A file's parts follow one another.  Between them, and behind, may be what is of no file: zeroes,
 * and code that was copied to huge pages. */
static void tell_images(const struct symbols_event *who, char *maps, symbols_here_fn *each,
			void *user)
{
	struct mapped image = { .path = "" }, one;
	uint64_t reach = 0; /* the end of the last mapping that adjoins */
	char *rest = maps, *line;

	while ((line = strsep(&rest, "\n"))) {
		bool goes_on = read_mapping_line(line, &one) && one.path[0] == '/' &&
			       one.inode == image.inode && strcmp(one.path, image.path) == 0;

		if (goes_on) {
			image.end = reach = one.end;
			continue;
		}
		if (one.path[0] != '/' && one.begin == reach && one.begin > 0) {
			reach = one.end;
			continue;
		}
		if (image.path[0] == '/') {
			tell_image(who, &image, each, user);
		}
		image = one;
		reach = one.end;
		image.begin -= image.offset < image.begin ? image.offset : 0;
	}
}

bool symbols_here_is_of(const struct metadata *of)
{
	return !symbols_kernel_is_other(of) && (!has_kernels_domain(of) || has_kernels_numbers());
}

void symbols_here_each(const struct metadata *of, int64_t pid, uint64_t ts, symbols_here_fn *each,
		       void *user)
{
	const struct symbols_event who = { .says = SYMBOLS_DUMPED, .place.pid = pid, .ts = ts };
	uint64_t since = pid > 0 ? began(pid) : 0;
	char *path, *maps;
	size_t len;

	if (since == 0 || time_of(since) > ts + NS_PER_S || !is_numbered_here(pid)) {
		return;
	}
	path = mem_printf("/proc/%" PRId64 "/maps", pid);
	maps = foreign_text(path, MAPS_BYTES_MAX, &len);
	/* The process of another namespace may have the number, but LTTng traced one that has its
	 * library. */
	if (maps && (has_kernels_domain(of) || strstr(maps, TRACED)) && began(pid) == since) {
		tell_images(&who, maps, each, user);
	}
	free(maps);
	free(path);
}
