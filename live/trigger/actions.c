/*
 * watch: see watch.h.
 */
#include "live/trigger/actions.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/probe.h"
#include "output/sink.h"

extern char **environ;

struct watched {
	struct trigger *trigger;
	bool prints, captures, reports;
	VEC(char *) commands;
};

struct action {
	pid_t pid;      /* of its own process group */
	uint64_t until; /* s */
};

struct actions {
	VEC(struct watched *) all;
	VEC(struct action) running;
	actions_capture_fn *capture; /* NULL: nobody captures */
	bool is_dry;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

struct actions *actions_new(void (*say)(const char *fmt, ...))
{
	struct actions *actions = mem_alloc(sizeof(*actions));

	actions->say = say;
	return actions;
}

static uint64_t now_s(void)
{
	return now_monotonic_ns() / 1000000000;
}

/* Takes leave of commands that have ended, and of those that take too long. */
static void reap(struct actions *actions, bool all)
{
	size_t retained = 0;

	for (size_t i = 0; i < actions->running.count; i++) {
		struct action *action = &actions->running.at[i];

		if (waitpid(action->pid, NULL, WNOHANG) != 0) {
			continue;
		}
		if (all || now_s() >= action->until) {
			(void)kill(-action->pid, SIGKILL);
			(void)waitpid(action->pid, NULL, 0);
			if (!all) {
				actions->say(
					"a trigger's command took more than %d s and was killed",
					ACTION_SECONDS_MAX);
			}
			continue;
		}
		actions->running.at[retained++] = *action;
	}
	actions->running.count = retained;
}

void actions_poll(struct actions *actions)
{
	reap(actions, false);
}

/* At the end commands may still say what there was, for a while. */
static void finish(struct actions *actions)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	uint64_t until = now_s() + ACTION_SECONDS_LAST;

	actions_poll(actions);
	while (actions->running.count > 0 && now_s() < until) {
		(void)nanosleep(&moment, NULL);
		actions_poll(actions);
	}
	reap(actions, true);
}

void actions_free(struct actions *actions)
{
	if (!actions) {
		return;
	}
	finish(actions);
	for (size_t i = 0; i < actions->all.count; i++) {
		struct watched *watched = actions->all.at[i];

		trigger_free(watched->trigger);
		for (size_t k = 0; k < watched->commands.count; k++) {
			free(watched->commands.at[k]);
		}
		vec_fini(&watched->commands);
		free(watched);
	}
	vec_fini(&actions->all);
	vec_fini(&actions->running);
	free(actions);
}

/* ---- which ---- */

/* A command as any other: `lttng` may wait, and this needs no library of LTTng's. */
static int add_snapshot(struct watched *watched, const char *session, struct err *err)
{
	const char *c = session;

	while ((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
	       (*c && strchr("_.-", *c))) {
		c++;
	}
	if (*c || c == session || *session == '-') {
		return err_raise(err, -EINVAL,
				 "action lttng-snapshot: \"%.60s\" is not the name of a session",
				 session);
	}
	*vec_push(&watched->commands) =
		mem_printf("exec lttng --no-sessiond snapshot record --session %s", session);
	return 0;
}

static int add_action(struct watched *watched, const char *action, struct err *err)
{
	if (strcmp(action, "print") == 0) {
		watched->prints = true;
	} else if (strcmp(action, "capture") == 0 || strcmp(action, "capture,report") == 0) {
		watched->prints = true;
		watched->captures = true;
		watched->reports = strcmp(action, "capture") != 0;
	} else if (strncmp(action, "lttng-snapshot ", 15) == 0) {
		return add_snapshot(watched, action + 15 + strspn(action + 15, " "), err);
	} else if (strncmp(action, "exec ", 5) == 0 && action[5 + strspn(action + 5, " ")]) {
		*vec_push(&watched->commands) = mem_strdup(action + 5);
	} else {
		return err_raise(err, -EINVAL,
				 "action \"%.60s\": expected print, capture, capture,report, "
				 "lttng-snapshot SESSION, or exec COMMAND",
				 action);
	}
	return 0;
}

int actions_add(struct actions *actions, const char *name, const char *text, const char *action,
		struct err *err)
{
	struct trigger *trigger = trigger_new(name, text, err);
	struct watched *watched;

	if (!trigger) {
		return -EINVAL;
	}
	watched = mem_alloc(sizeof(*watched));
	watched->trigger = trigger;
	*vec_push(&actions->all) = watched;
	return action ? add_action(watched, action, err) : 0;
}

size_t actions_count(const struct actions *actions)
{
	return actions->all.count;
}

void actions_on_capture(struct actions *actions, actions_capture_fn *capture)
{
	actions->capture = capture;
}

bool actions_captures(const struct actions *actions)
{
	for (size_t i = 0; i < actions->all.count; i++) {
		if (actions->all.at[i]->captures) {
			return true;
		}
	}
	return false;
}

void actions_dry_run(struct actions *actions)
{
	actions->is_dry = true;
}

void actions_add_analyses(const struct actions *actions, const struct analysis *list[ANALYSES_MAX])
{
	bool used[ANALYSES_MAX] = { false };
	size_t count = 0;

	for (size_t i = 0; list[i]; i++) {
		for (size_t k = 0; analyses[k]; k++) {
			used[k] |= analyses[k] == list[i];
		}
	}
	for (size_t i = 0; i < actions->all.count; i++) {
		trigger_uses(actions->all.at[i]->trigger, used);
	}
	for (size_t k = 0; analyses[k]; k++) {
		if (used[k]) {
			list[count++] = analyses[k];
		}
	}
	list[count] = NULL;
}

/* ---- files ---- */

struct section {
	char name[64];
	struct watched *watched; /* NULL: its `when` has not come */
};

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r\n");
	len = strlen(text);
	while (len > 0 && strchr(" \t\r\n", text[len - 1])) {
		text[--len] = '\0';
	}
	return text;
}

/* What a section had to have. */
static int end_section(const struct section *section, struct err *err)
{
	if (!section->name[0]) {
		return 0;
	}
	if (!section->watched) {
		return err_raise(err, -EINVAL, "[%s] has no `when`", section->name);
	}
	if (!section->watched->prints && section->watched->commands.count == 0) {
		return err_raise(err, -EINVAL, "[%s] has no `do`", section->name);
	}
	return 0;
}

static int take_setting(struct actions *actions, struct section *section, char *line,
			struct err *err)
{
	char *equals = strchr(line, '='), *key, *value;

	if (!equals) {
		return err_raise(err, -EINVAL, "expected [NAME], when = EXPR or do = ACTION");
	}
	*equals = '\0';
	key = trim(line);
	value = trim(equals + 1);
	if (!section->name[0]) {
		return err_raise(err, -EINVAL, "expected [NAME] before this");
	}
	if (strcmp(key, "when") == 0 && !section->watched) {
		int r = actions_add(actions, section->name, value, NULL, err);

		section->watched = r == 0 ? actions->all.at[actions->all.count - 1] : NULL;
		return r;
	}
	if (strcmp(key, "do") == 0 && section->watched) {
		return add_action(section->watched, value, err);
	}
	return err_raise(err, -EINVAL, "\"%.20s\": expected `when`, once, and then `do`", key);
}

static int take_line(struct actions *actions, struct section *section, char *line, struct err *err)
{
	size_t len = strlen(line);
	int r;

	if (!line[0] || line[0] == '#') {
		return 0;
	}
	if (line[0] != '[') {
		return take_setting(actions, section, line, err);
	}
	r = end_section(section, err);
	if (r < 0) {
		return r;
	}
	if (line[len - 1] != ']' || len < 3 || len - 2 >= sizeof(section->name)) {
		return err_raise(err, -EINVAL, "expected [NAME], of at most 63 letters");
	}
	*section = (struct section){ 0 };
	memcpy(section->name, line + 1, len - 2);
	return 0;
}

int actions_add_file(struct actions *actions, const char *path, struct err *err)
{
	FILE *file = fopen(path, "re");
	struct section section = { 0 };
	char *line = NULL;
	size_t size = 0, number = 0;
	struct err why;
	int r = 0;

	if (!file) {
		return err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	while (r == 0 && getline(&line, &size, file) >= 0) {
		number++;
		r = take_line(actions, &section, trim(line), &why);
	}
	r = r == 0 ? end_section(&section, &why) : r;
	free(line);
	(void)fclose(file);
	if (r < 0) {
		return err_raise(err, r, "%s: line %zu: %s", path, number, why.text);
	}
	return 0;
}

/* ---- doing ---- */

static void add_fact(char *facts[], size_t *count, const char *name, const char *value)
{
	facts[(*count)++] = mem_printf("SILLAGE_%s=%s", name, value ? value : "");
}

#define FACTS_MAX 8

/* Our environment, and the facts. */
static char **environment(const struct trace_identity *trace, const struct trigger_event *event,
			  char *facts[FACTS_MAX])
{
	size_t count = 0, at = 0;
	char says[1024], number[24];
	char **all;

	trigger_say(event, says, sizeof(says));
	add_fact(facts, &count, "TRIGGER", event->name);
	add_fact(facts, &count, "SAYS", says);
	add_fact(facts, &count, "HOST", trace->host);
	add_fact(facts, &count, "SESSION", trace->session);
	(void)snprintf(number, sizeof(number), "%" PRIu64, event->begin);
	add_fact(facts, &count, "BEGIN", number);
	(void)snprintf(number, sizeof(number), "%" PRIu64, event->end);
	add_fact(facts, &count, "END", number);
	while (environ[at]) {
		at++;
	}
	all = mem_alloc((at + count + 1) * sizeof(*all));
	memcpy(all, environ, at * sizeof(*all));
	memcpy(all + at, facts, count * sizeof(*all));
	return all;
}

/* Starts the command with @input at its standard input; an error number. */
static int start(const char *command, char **env, int input, pid_t *ret_pid)
{
	char shell[] = "/bin/sh", option[] = "-c";
	char *argv[] = { shell, option, (char *)command, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	(void)posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	(void)posix_spawnattr_init(&attributes);
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setpgroup(&attributes, 0);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
							    POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(ret_pid, argv[0], &files, &attributes, argv, env);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&files);
	return r;
}

/* The line lies in a file that nobody else sees: whether it is read does not matter to us. */
static FILE *line_of(const struct trace_identity *trace, const struct trigger_event *event)
{
	FILE *line = tmpfile();

	if (line) {
		json_trigger(line, trace, event);
		(void)fflush(line);
		(void)lseek(fileno(line), 0, SEEK_SET);
	}
	return line;
}

static void run(struct actions *actions, const char *command, const struct trace_identity *trace,
		const struct trigger_event *event)
{
	char *facts[FACTS_MAX] = { NULL };
	char **env;
	FILE *line;
	pid_t pid;
	int r = 0;

	actions_poll(actions);
	if (actions->running.count >= ACTIONS_MAX) {
		actions->say("trigger %s: %d commands are running; this one is not run",
			     event->name, ACTIONS_MAX);
		return;
	}
	env = environment(trace, event, facts);
	line = line_of(trace, event);
	r = line ? start(command, env, fileno(line), &pid) : errno;
	if (r != 0) {
		actions->say("trigger %s: cannot run its command: %s", event->name, strerror(r));
	} else {
		*vec_push(&actions->running) =
			(struct action){ .pid = pid, .until = now_s() + ACTION_SECONDS_MAX };
	}
	if (line) {
		(void)fclose(line);
	}
	for (size_t i = 0; i < FACTS_MAX; i++) {
		free(facts[i]);
	}
	free(env);
}

void actions_report(struct actions *actions, struct output *output,
		    const struct trace_identity *trace, const struct report *report, void *context)
{
	struct trigger_event event;

	actions_poll(actions);
	for (size_t i = 0; i < actions->all.count; i++) {
		struct watched *watched = actions->all.at[i];

		if (!trigger_look(watched->trigger, trace, report, &event)) {
			continue;
		}
		probe_trigger(event.name);
		if (watched->prints || actions->is_dry) {
			output_trigger(output, trace, &event);
		}
		if (actions->is_dry) {
			continue;
		}
		if (watched->captures && actions->capture) {
			actions->capture(context, trace, &event, watched->reports);
		}
		for (size_t k = 0; k < watched->commands.count; k++) {
			run(actions, watched->commands.at[k], trace, &event);
		}
	}
}
