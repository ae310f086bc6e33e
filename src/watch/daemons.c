/*
 * daemons: see daemons.h.
 */
#include "watch/daemons.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/now.h"
#include "base/process/child.h"
#include "base/process/foreign.h"
#include "base/units.h"
#include "setup/runner.h"

#define END_NS   (5 * NS_PER_S)
#define START_NS (30 * NS_PER_S)
#define POLL_MS  5
#define ATTEMPTS 10 /* another program may take a port that was free */

/* ---- of whom there is no handle ---- */

/* @args: the arguments, each with its NUL, and one more. */
static bool is_meant(const char *args, size_t len, const char *program, const char *mark)
{
	const char *slash = strrchr(args, '/');

	if (strcmp(slash ? slash + 1 : args, program) != 0) {
		return false;
	}
	for (const char *at = args; at < args + len; at += strlen(at) + 1) {
		if (strstr(at, mark)) {
			return true;
		}
	}
	return false;
}

/* A process that has ended, but whose parent does not care, has no arguments any more. */
static bool is_daemon(const char *pid, const char *program, const char *mark)
{
	char *path = mem_printf("/proc/%s/cmdline", pid);
	char args[8192] = "";
	struct stat found;
	struct err ignored;
	int fd = foreign_open(path, 0, &ignored);
	ssize_t len = fd < 0 || fstat(fd, &found) < 0 || found.st_uid != geteuid()
			      ? 0
			      : read(fd, args, sizeof(args) - 1);

	(void)(fd >= 0 && close(fd));
	free(path);
	return len > 0 && is_meant(args, (size_t)len, program, mark);
}

/* Sends a signal to all, 0: to none.  True: there is one. */
static bool send_to_all(const char *program, const char *mark, int number)
{
	DIR *all = opendir("/proc");
	const struct dirent *entry;
	bool is_any = false;

	while (all && (entry = readdir(all))) {
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    is_daemon(entry->d_name, program, mark)) {
			is_any = true;
			(void)kill((pid_t)strtol(entry->d_name, NULL, 10), number);
		}
	}
	(void)(all && closedir(all));
	return is_any;
}

bool daemons_run(const char *program, const char *mark)
{
	return send_to_all(program, mark, 0);
}

void daemons_end(const char *program, const char *mark)
{
	uint64_t begin = now_monotonic_ns(), now = begin;
	bool is_any = send_to_all(program, mark, SIGTERM);

	while (is_any && now < begin + 2 * END_NS && !now_must_end()) {
		(void)poll(NULL, 0, POLL_MS);
		now = now_monotonic_ns();
		is_any = send_to_all(program, mark, now > begin + END_NS ? SIGKILL : 0);
	}
}

/* ---- a relay ---- */

/* A socket on loopback: @port 0: binds it to a free port; else connects.  -1: it cannot. */
static int socket_on(uint16_t *port)
{
	struct sockaddr_in place = { .sin_family = AF_INET,
				     .sin_port = htons(*port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(place);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = *port ? connect(fd, (struct sockaddr *)&place, len)
		      : bind(fd, (struct sockaddr *)&place, len);

	if (r < 0 || getsockname(fd, (struct sockaddr *)&place, &len) < 0) {
		(void)(fd >= 0 && close(fd));
		return -1;
	}
	*port = *port ? *port : ntohs(place.sin_port);
	return fd;
}

static int find_ports(struct relay_ports *ports, struct err *err)
{
	uint16_t *const all[] = { &ports->control, &ports->data, &ports->live };
	int fds[3], r = 0;

	*ports = (struct relay_ports){ 0 };
	for (size_t i = 0; i < 3; i++) {
		fds[i] = socket_on(all[i]);
		r = fds[i] < 0 ? err_raise(err, -errno, "no free port on loopback: %s",
					   strerror(errno))
			       : r;
	}
	for (size_t i = 0; i < 3; i++) {
		(void)(fds[i] >= 0 && close(fds[i]));
	}
	return r;
}

static bool listens(struct relay_ports *ports)
{
	uint16_t *const all[] = { &ports->control, &ports->data, &ports->live };
	bool does = true;

	for (size_t i = 0; i < 3 && does; i++) {
		int fd = socket_on(all[i]);

		does = fd >= 0;
		(void)(does && close(fd));
	}
	return does;
}

static int start_on(const char *dir, const struct relay_ports *ports, pid_t *ret_pid,
		    struct err *err)
{
	char *urls[3] = { mem_printf("tcp://127.0.0.1:%u", ports->control),
			  mem_printf("tcp://127.0.0.1:%u", ports->data),
			  mem_printf("tcp://127.0.0.1:%u", ports->live) };
	char *output = mem_printf("%s/relay", dir), *log = mem_printf("%s/relay.log", dir);
	char *home = mem_printf("LTTNG_HOME=%s", dir); /* where it makes sockets and logs */
	const char *const words[] = { "lttng-relayd", "-o",    output, "-C",    urls[0],
				      "-D",           urls[1], "-L",   urls[2], NULL };
	int r = runner_start(words, home, log, ret_pid, err);

	for (size_t i = 0; i < 3; i++) {
		free(urls[i]);
	}
	free(output);
	free(log);
	free(home);
	return r;
}

/* 0: it listens.  -EAGAIN: it has ended, perhaps since a port was taken. */
static int wait_for(struct relay_ports *ports, pid_t pid, struct err *err)
{
	uint64_t end = now_monotonic_ns() + START_NS;

	for (;;) {
		bool does = listens(ports);

		if (child_has_ended(pid, NULL)) {
			return err_raise(err, -EAGAIN,
					 "lttng-relayd (package lttng-tools) "
					 "cannot be started");
		}
		if (does) {
			return 0;
		}
		if (now_is_leaving()) {
			return err_raise(err, -EINTR, "interrupted");
		}
		if (now_monotonic_ns() > end) {
			return err_raise(err, -ETIME, "lttng-relayd does not listen");
		}
		(void)poll(NULL, 0, POLL_MS);
	}
}

int daemons_start_relay(const char *dir, struct relay_ports *ports, pid_t *ret_pid, struct err *err)
{
	int r = -EAGAIN;

	*ret_pid = -1;
	for (int i = 0; i < ATTEMPTS && r == -EAGAIN; i++) {
		r = find_ports(ports, err);
		r = r < 0 ? r : start_on(dir, ports, ret_pid, err);
		r = r < 0 ? r : wait_for(ports, *ret_pid, err);
		*ret_pid = r == -EAGAIN ? -1 : *ret_pid;
	}
	return r;
}
