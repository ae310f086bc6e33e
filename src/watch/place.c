/*
 * place: see place.h.
 */
#include "watch/place.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/remove.h"
#include "setup/runner.h"
#include "watch/daemons.h"

#define RUN        "watch-" /* then what mkdtemp() makes */
#define MAKING     "setup-" /* then the name of the session */
#define DAEMON_PID "sessiond.pid"

static const char *session_of(const char *dir)
{
	const char *name = strrchr(dir, '/') + 1;

	return strncmp(name, MAKING, strlen(MAKING)) == 0 ? name + strlen(MAKING) : name;
}

const char *place_session(const struct place *place)
{
	assert(place->dir);
	return session_of(place->dir);
}

static char *pidfile_in(const char *base)
{
	return mem_printf("%s/" DAEMON_PID, base);
}

char *place_daemon_pidfile(const struct place *place)
{
	assert(place->base);
	return pidfile_in(place->base);
}

/* ---- the base ---- */

static int open_base(const char *base)
{
	int fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool is_private(int fd)
{
	struct stat found;

	return fstat(fd, &found) == 0 && found.st_uid == geteuid() && (found.st_mode & 077) == 0;
}

/* Whether the directory that is locked is still the one of that name. */
static bool is_there(const char *base, int fd)
{
	struct stat locked, named;

	return fstat(fd, &locked) == 0 && lstat(base, &named) == 0 &&
	       locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

/* -errno; waits for who has it. */
static int wait_for_lock(int fd)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			return -errno;
		}
		if (now_is_leaving()) {
			return -EINTR;
		}
		(void)poll(NULL, 0, WAIT_POLL_MS);
	}
	return 0;
}

/* -errno; waits for runs that begin or end. */
static int lock_base(const char *base)
{
	for (;;) {
		int fd = open_base(base), r;

		if (fd < 0) {
			return fd;
		}
		r = is_private(fd) ? wait_for_lock(fd) : -EPERM;
		if (r < 0) {
			(void)close(fd);
			return r;
		}
		if (is_there(base, fd)) {
			return fd;
		}
		(void)close(fd); /* it was removed meanwhile */
	}
}

/* Of a relay, in the directory of a run; a process has at most 7 digits. */
#define RELAY_SOCKET "/" RUN "XXXXXX/.lttng/relayd/health-1234567"

/* The base in $TMPDIR; in /tmp where that has no absolute path, which names processes, or is so
 * long that a relay could not make its sockets. */
static char *base_in(const char **ret_where)
{
	const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - sizeof(RELAY_SOCKET);
	const char *where = getenv("TMPDIR");
	char *base = mem_printf("%s/sillage-%u", where ? where : "", (unsigned int)geteuid());

	if (!where || where[0] != '/' || strlen(base) > most) {
		free(base);
		where = "/tmp";
		base = mem_printf("%s/sillage-%u", where, (unsigned int)geteuid());
	}
	*ret_where = where;
	return base;
}

int place_begin(struct place *place, struct err *err)
{
	const char *where;
	int r;

	*place = (struct place){ .base_lock = -1, .lock = -1 };
	place->base = base_in(&where);
	do {
		r = mkdir(place->base, 0700) < 0 && errno != EEXIST ? -errno
								    : lock_base(place->base);
	} while (r == -ENOENT && access(where, W_OK) == 0);
	if (r == -EPERM || r == -ENOTDIR || r == -ELOOP) {
		return err_raise(err, r,
				 "%s is not a private directory of yours: remove it, or set TMPDIR",
				 place->base);
	}
	place->base_lock = r < 0 ? -1 : r;
	return r < 0 ? err_raise(err, r, "%s: %s", place->base, strerror(-r)) : 0;
}

void place_unlock(struct place *place)
{
	if (place->base_lock >= 0) {
		/* Children may have it open, too. */
		(void)flock(place->base_lock, LOCK_UN | LOCK_NB);
		(void)close(place->base_lock);
		place->base_lock = -1;
	}
}

/* ---- the end of a run ---- */

/* What runs share ends with the last one.  The base is locked. */
static void leave(const char *base)
{
	char *pidfile = pidfile_in(base);

	if (daemons_run("lttng-sessiond", pidfile) && !runner_has_sessions()) {
		daemons_end("lttng-sessiond", pidfile);
		(void)unlink(pidfile);
	}
	(void)rmdir(base); /* if no other run is there */
	free(pidfile);
}

/* The base is locked. */
static void clear(const char *dir)
{
	char *mark = mem_printf("%s/", dir);
	struct err ignored;

	(void)runner_destroy(session_of(dir), &ignored); /* it may never have been made */
	daemons_end("lttng-relayd", mark);
	remove_tree(dir);
	free(mark);
}

void place_clear(const char *dir)
{
	char *base = mem_strdup(dir);
	int lock;

	*strrchr(base, '/') = '\0';
	lock = lock_base(base);
	if (lock >= 0) {
		if (access(dir, F_OK) == 0) {
			clear(dir);
			leave(base);
		}
		(void)close(lock);
	}
	free(base);
}

void place_sweep(const struct place *place, void (*say)(const char *fmt, ...))
{
	DIR *all = place->base_lock >= 0 ? opendir(place->base) : NULL;
	const struct dirent *entry;

	while (all && (entry = readdir(all))) {
		int fd;

		if (strncmp(entry->d_name, RUN, strlen(RUN)) != 0 &&
		    strncmp(entry->d_name, MAKING, strlen(MAKING)) != 0) {
			continue;
		}
		fd = openat(dirfd(all), entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
			char *dir = mem_printf("%s/%s", place->base, entry->d_name);

			say("removing the session%s %s of a run that was killed",
			    entry->d_name[0] == RUN[0] ? " and the relay" : "", session_of(dir));
			clear(dir); /* not what runs share: this one needs it */
			free(dir);
		}
		(void)(fd >= 0 && close(fd));
	}
	(void)(all && closedir(all));
}

/* ---- a run ---- */

int place_make(struct place *place, const char *session, struct err *err)
{
	char *dir = session ? mem_printf("%s/" MAKING "%s", place->base, session)
			    : mem_printf("%s/" RUN "XXXXXX", place->base);

	assert(place->base_lock >= 0 && !place->dir);
	if (session ? mkdir(dir, 0700) < 0 : !mkdtemp(dir)) {
		int r = err_raise(err, -errno, "%s: %s", dir, strerror(errno));

		free(dir);
		return r;
	}
	place->dir = dir;
	place->lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->lock < 0 || flock(place->lock, LOCK_EX | LOCK_NB) < 0) {
		return err_raise(err, -errno, "%s: %s", dir, strerror(errno));
	}
	return 0;
}

void place_leave(struct place *place)
{
	int lock = place->base_lock >= 0 ? -1 : lock_base(place->base);

	assert(place->dir);
	(void)rmdir(place->dir);
	(void)rmdir(place->base); /* if no other run is there */
	(void)(lock >= 0 && close(lock));
}

bool place_is_making(const struct place *place, const char *session)
{
	char *dir = mem_printf("%s/" MAKING "%s", place->base, session);
	bool is_making = access(dir, F_OK) == 0;

	free(dir);
	return is_making;
}

void place_fini(struct place *place)
{
	if (place->base_lock >= 0 && !place->dir) {
		leave(place->base); /* no guardian does it */
	}
	place_unlock(place);
	(void)(place->lock >= 0 && close(place->lock));
	free(place->base);
	free(place->dir);
	*place = (struct place){ .base_lock = -1, .lock = -1 };
}
