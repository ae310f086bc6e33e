/*
 * workers: see workers.h.
 */
#include "serve/workers.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/request.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/process/child.h"
#include "base/units.h"

#define READ_BYTES 65536
#define END_US     2000 /* between two looks whether a process that has said all has ended */

struct workers_one {
	struct workers *workers;
	char *request;
	workers_done_fn *done;
	void *user;
	pid_t pid; /* 0: it waits */
	int fd;    /* what it writes; -1: it has written all */
	struct event *readable, *timer, *ends;
	VEC(char) reply;
	bool is_late;
};

struct workers {
	struct event_base *base;
	struct event *kick; /* begins what waits: from the loop, never from a caller */
	struct workers_config config;
	VEC(struct workers_one *) all; /* in the order in which they were asked for */
	size_t running;
};

/* ---- the end of one ---- */

static void free_work(struct workers_one *work)
{
	struct event *events[] = { work->readable, work->timer, work->ends };

	for (size_t i = 0; i < ARRAY_COUNT(events); i++) {
		if (events[i]) {
			event_free(events[i]);
		}
	}
	if (work->fd >= 0) {
		(void)close(work->fd);
	}
	vec_fini(&work->reply);
	free(work->request);
	free(work);
}

static void remove_work(struct workers_one *work)
{
	struct workers *workers = work->workers;
	size_t i = 0;

	while (workers->all.at[i] != work) {
		i++;
		assert(i < workers->all.count);
	}
	workers->running -= work->pid > 0;
	workers->all.count--;
	memmove(&workers->all.at[i], &workers->all.at[i + 1],
		(workers->all.count - i) * sizeof(*workers->all.at));
}

static void finish(struct workers_one *work, int status, char *reply, size_t len)
{
	struct workers *workers = work->workers;
	workers_done_fn *done = work->done;
	void *user = work->user;

	remove_work(work);
	free_work(work);
	done(user, status, reply, len);
	event_active(workers->kick, 0, 0);
}

static void fail(struct workers_one *work, int status, const char *why)
{
	char *text = api_error(status, why);

	finish(work, status, text, strlen(text));
}

/* What could be asked for instead. */
static const char *late_hint(const struct workers_one *work)
{
	struct api_request request;
	struct err ignored;
	size_t count = 0;
	bool has_range;

	while (work->workers->config.sources[count]) {
		count++;
	}
	has_range = api_parse(work->request, count, &request, &ignored) < 0 ||
		    request.what != API_SOURCES;
	api_request_fini(&request);
	return has_range ? ": a shorter range, or an index (sillage index)" : "";
}

/* Its exit status says what its reply is (main.c). */
static void end_with(struct workers_one *work, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	size_t len = work->reply.count;
	char why[160];

	if (work->is_late) {
		(void)snprintf(why, sizeof(why), "it takes longer than %g s (--max-time)%s",
			       (double)work->workers->config.max_time_ns / (double)NS_PER_S,
			       late_hint(work));
		fail(work, 504, why);
	} else if (len > API_REPLY_BYTES + 1) {
		fail(work, 500, "the reply has no end");
	} else if (code < 0 || len == 0) {
		(void)snprintf(why, sizeof(why),
			       "it ended without a reply; it may need more memory than "
			       "--max-memory allows (%" PRIu64 " bytes)",
			       work->workers->config.max_memory);
		fail(work, 500, why);
	} else {
		char *reply = work->reply.at;

		work->reply.at = NULL;
		finish(work, code == 0 ? 200 : code == 2 ? 400 : 422, reply, len);
	}
}

static void on_ends(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval soon = { .tv_usec = END_US };
	struct workers_one *work = arg;
	int status = 0;

	if (child_has_ended(work->pid, &status)) {
		end_with(work, status);
	} else {
		(void)event_add(work->ends, &soon);
	}
}

static void kill_it(struct workers_one *work)
{
	child_kill(work->pid, true);
	end_with(work, -1);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct workers_one *work = arg;

	work->is_late = true;
	kill_it(work);
}

/* ---- what it writes ---- */

static void on_written(evutil_socket_t fd, short what, void *arg)
{
	struct workers_one *work = arg;
	ssize_t got;

	vec_reserve_more(&work->reply, READ_BYTES);
	got = read(fd, work->reply.at + work->reply.count, READ_BYTES);
	if (got > 0) {
		work->reply.count += (size_t)got;
		if (work->reply.count > API_REPLY_BYTES + 1) {
			kill_it(work);
		}
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		(void)event_del(work->readable);
		on_ends(-1, 0, work);
	}
}

/* ---- the begin of one ---- */

static int spawn(struct workers_one *work, char *const *argv, char *const *env, int output)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
	(void)posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	(void)posix_spawnattr_init(&attributes);
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setpgroup(&attributes, 0);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
							    POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(&work->pid, "/proc/self/exe", &files, &attributes, argv, env);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&files);
	return r;
}

static int start(struct workers_one *work)
{
	const struct workers_config *config = &work->workers->config;
	char *memory = mem_printf("--max-memory=%" PRIu64, config->max_memory);
	char *jobs = mem_printf("--jobs=%" PRIu64, config->jobs);
	char *server =
		mem_printf(WORKERS_VARIABLE "=%d %" PRIu64, (int)getpid(), config->max_time_ns);
	VEC(const char *) words = { 0 }, env = { 0 };
	int ends[2], r;

	*vec_push(&words) = "sillage";
	*vec_push(&words) = "api";
	*vec_push(&words) = memory;
	*vec_push(&words) = jobs;
	*vec_push(&words) = work->request;
	for (size_t i = 0; config->sources[i]; i++) {
		*vec_push(&words) = config->sources[i];
	}
	*vec_push(&words) = NULL;
	*vec_push(&env) = server; /* the first of a name counts */
	for (size_t i = 0; config->environment[i]; i++) {
		*vec_push(&env) = config->environment[i];
	}
	for (size_t i = 0; environ[i]; i++) {
		*vec_push(&env) = environ[i];
	}
	*vec_push(&env) = NULL;
	r = pipe2(ends, O_CLOEXEC) < 0 ? errno : 0;
	if (r == 0) {
		r = spawn(work, (char *const *)(uintptr_t)words.at,
			  (char *const *)(uintptr_t)env.at, ends[1]);
		(void)close(ends[1]);
		work->fd = ends[0];
		(void)fcntl(work->fd, F_SETFL, O_NONBLOCK);
	}
	vec_fini(&words);
	vec_fini(&env);
	free(server);
	free(memory);
	free(jobs);
	return r;
}

static void begin(struct workers_one *work)
{
	struct workers *workers = work->workers;
	uint64_t most = workers->config.max_time_ns;
	const struct timeval late = { .tv_sec = (time_t)(most / NS_PER_S),
				      .tv_usec = (suseconds_t)(most % NS_PER_S / 1000) };
	int r = start(work);

	if (r != 0) {
		work->pid = 0;
		fail(work, 500, "no process can be started");
		return;
	}
	workers->running++;
	work->readable = event_new(workers->base, work->fd, EV_READ | EV_PERSIST, on_written, work);
	work->timer = event_new(workers->base, -1, 0, on_late, work);
	work->ends = event_new(workers->base, -1, 0, on_ends, work);
	(void)event_add(work->readable, NULL);
	if (most > 0) {
		(void)event_add(work->timer, &late);
	}
}

static struct workers_one *first_waiting(const struct workers *workers)
{
	for (size_t i = 0; i < workers->all.count; i++) {
		if (workers->all.at[i]->pid == 0) {
			return workers->all.at[i];
		}
	}
	return NULL;
}

static void on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct workers *workers = arg;
	struct workers_one *work;

	while (workers->running < workers->config.most && (work = first_waiting(workers))) {
		begin(work);
	}
}

struct workers_one *workers_begin(struct workers *workers, const char *request,
				  workers_done_fn *done, void *user)
{
	struct workers_one *work;

	if (workers->all.count - workers->running >= SERVE_WAITING_MAX) {
		return NULL;
	}
	work = mem_alloc(sizeof(*work));
	*work = (struct workers_one){ .workers = workers,
				      .request = mem_strdup(request),
				      .done = done,
				      .user = user,
				      .fd = -1 };
	*vec_push(&workers->all) = work;
	event_active(workers->kick, 0, 0);
	return work;
}

void workers_drop(struct workers_one *work)
{
	struct workers *workers = work->workers;

	if (work->pid > 0) {
		child_kill(work->pid, true);
	}
	remove_work(work);
	free_work(work);
	event_active(workers->kick, 0, 0);
}

/* ---- all ---- */

struct workers *workers_new(struct event_base *base, const struct workers_config *config)
{
	struct workers *workers = mem_alloc(sizeof(*workers));

	workers->base = base;
	workers->config = *config;
	workers->kick = event_new(base, -1, 0, on_kick, workers);
	return workers;
}

void workers_free(struct workers *workers)
{
	if (!workers) {
		return;
	}
	for (size_t i = 0; i < workers->all.count; i++) {
		struct workers_one *work = workers->all.at[i];

		if (work->pid > 0) {
			child_kill(work->pid, true);
		}
		free_work(work);
	}
	vec_fini(&workers->all);
	event_free(workers->kick);
	free(workers);
}
