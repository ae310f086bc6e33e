/*
 * running: see running.h.
 */
#include "run/running.h"

#include <assert.h>
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "live/control.h"
#include "recorded/recorded.h"
#include "run/captured.h"
#include "run/say.h"

typedef VEC(char *) running_paths;

bool running_is(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

typedef VEC(char) answer_text;

/* All that comes until the end, with a zero behind it. */
static int hear_all(int fd, const char *path, answer_text *ret, struct err *err)
{
	char block[4096];
	ssize_t got = 1;

	while (got != 0) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };

		if (now_is_leaving()) {
			return err_raise(err, -EINTR, "interrupted");
		}
		if (poll(&ready, 1, WAIT_POLL_MS) <= 0) {
			continue;
		}
		got = read(fd, block, sizeof(block));
		if (got < 0 && errno != EINTR) {
			return err_raise(err, -errno, "%s: %s", path, strerror(errno));
		}
		if (ret->count + sizeof(block) > CONTROL_CAPTURES_MAX * LINE_BYTES_MAX) {
			return err_raise(err, -EPROTO, "%s: the answer does not end", path);
		}
		vec_append(ret, block, got > 0 ? (size_t)got : 0);
	}
	*vec_push(ret) = '\0';
	return 0;
}

/* The path as the other process means it. */
static char *path_of_peer(int fd, const char *path)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	char cwd[PATH_MAX] = "", *link;
	ssize_t got = -1;

	if (path[0] != '/' && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0) {
		link = mem_printf("/proc/%d/cwd", (int)peer.pid);
		got = readlink(link, cwd, sizeof(cwd) - 1);
		free(link);
	}
	return got > 0 ? mem_printf("%s/%s", cwd, path) : mem_strdup(path);
}

/* Adds the capture of a line; -errno: there is none. */
static int take_line(int fd, const char *path, const char *line, running_paths *ret,
		     struct err *err)
{
	struct json_object *object = json_tokener_parse(line);
	const char *made = captured_text(object, "path"), *why = captured_text(object, "error");
	int r = 0;

	why = why ? why : captured_text(object, "message");
	if (made) {
		*vec_push(ret) = path_of_peer(fd, made);
	} else {
		r = err_raise(err, -ENODATA, "%s: %s", path,
			      why ? why : "the answer is not from sillage");
	}
	(void)json_object_put(object);
	return r;
}

static int capture_now(const char *path, running_paths *ret, struct err *err)
{
	answer_text answer = { 0 };
	size_t first = ret->count;
	char *rest, *line;
	int fd = control_ask(path, err), r;

	if (fd == -ECONNREFUSED) {
		return err_raise(err, fd, "%s: the run that made this socket has ended", path);
	}
	if (fd == -EACCES) {
		return err_raise(err, fd,
				 "%s: only the user that runs sillage there may ask it; others "
				 "have its store (history), its page (--web) and its captures",
				 path);
	}
	if (fd < 0) {
		return fd;
	}
	r = hear_all(fd, path, &answer, err);
	rest = answer.at;
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		r = line[0] ? take_line(fd, path, line, ret, err) : 0;
	}
	if (r == 0 && ret->count == first) {
		r = err_raise(err, -ECONNRESET, "%s: sillage ended before the capture was complete",
			      path);
	}
	vec_fini(&answer);
	(void)close(fd);
	assert(r < 0 || ret->count > first);
	return r;
}

int running_find(const char *path, bool says, struct recorded_paths *paths, struct err *err)
{
	running_paths made = { 0 };
	int r = capture_now(path, &made, err), found = 0;
	struct err why;

	/* Of a session whose metadata has not come, a capture has no trace. */
	VEC_EACH_OF(&made, capture) {
		int of = r < 0 ? r : recorded_find(capture, paths, &why);

		found += of >= 0;
		if (says && r == 0) {
			say(of < 0 ? "%s: nothing of it is kept yet: %s" : "%s: captured into %s",
			    path, of < 0 ? why.text : capture);
		}
	}
	if (r == 0 && found == 0) {
		r = err_raise(err, -ENODATA, "%s", why.text);
	}
	vec_free_each(&made, free);
	vec_fini(&made);
	return r;
}
