/*
 * actions: see actions.h.
 */
#include "trigger/actions.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/probe.h"
#include "base/process/child.h"
#include "base/process/foreign.h"
#include "base/process/thread.h"
#include "output/sink.h"
#include "settings/settings.h"

extern char **environ;

/* A trigger and what to do when it fires. */
struct rule {
	struct trigger *trigger;
	bool prints, captures;
	unsigned int extras; /* what captures have beside them: CAPTURE_... */
	VEC(char *) commands;
};

/* A running command. */
struct action_command {
	pid_t pid;        /* leads a process group of its own */
	uint64_t until_s; /* monotonic: when it is killed */
};

struct actions {
	VEC(struct rule *) rules;
	VEC(struct action_command) running;
	actions_capture_fn *capture; /* NULL: nothing is captured */
	actions_fired_fn *fired;     /* NULL: nobody asks */
	struct gate *gate;           /* NULL: none */
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

/* Forgets commands that have ended.  Kills those that run too long, or with @kills_all all. */
static void reap(struct actions *actions, bool kills_all)
{
	size_t left = 0;

	for (size_t i = 0; i < actions->running.count; i++) {
		struct action_command *command = &actions->running.at[i];

		if (child_has_ended(command->pid, NULL)) {
			continue;
		}
		if (kills_all || now_s() >= command->until_s) {
			child_kill(command->pid, true);
			if (!kills_all) {
				actions->say(
					"a trigger's command took more than %d s and was killed",
					ACTION_SECONDS_MAX);
			}
			continue;
		}
		actions->running.at[left++] = *command;
	}
	actions->running.count = left;
	assert(!kills_all || left == 0);
}

void actions_poll(struct actions *actions)
{
	reap(actions, false);
}

/* At the end commands get some more time to complete. */
static void finish(struct actions *actions)
{
	uint64_t begin = now_monotonic_ns(), end = begin + ACTION_SECONDS_LAST * NS_PER_S;
	struct thread_last last = { .doing = "the commands of triggers", .say = actions->say };

	for (size_t i = 0; i < actions->running.count; i++) {
		while (!child_wait(actions->running.at[i].pid, LATE_NS, CHILD_LASTS, NULL) &&
		       !now_must_end() && now_monotonic_ns() < end) {
			thread_say_late(&last);
		}
	}
	reap(actions, true);
}

void actions_free(struct actions *actions)
{
	if (!actions) {
		return;
	}
	finish(actions);
	VEC_EACH_OF(&actions->rules, rule) {
		trigger_free(rule->trigger);
		vec_free_each(&rule->commands, free);
		free(rule);
	}
	vec_fini(&actions->rules);
	vec_fini(&actions->running);
	free(actions);
}

/* ---- rules ---- */

/* Done by a command like any other: `lttng` may block, and no library of LTTng is needed. */
static int add_snapshot(struct rule *rule, const char *session, struct err *err)
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
	*vec_push(&rule->commands) =
		mem_printf("exec lttng --no-sessiond snapshot record --session %s", session);
	return 0;
}

/* "capture", "capture,report" and so on; false: it is none. */
static bool take_capture(struct rule *rule, const char *action)
{
	static const struct {
		const char *name;
		unsigned int extra;
	} names[] = { { ",report,discover", CAPTURE_REPORT | CAPTURE_JOBS },
		      { ",report", CAPTURE_REPORT },
		      { ",perfetto", CAPTURE_PERFETTO } };
	const char *at = action + strlen("capture");
	unsigned int extras = 0;

	if (strncmp(action, "capture", strlen("capture")) != 0) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		if (strncmp(at, names[i].name, strlen(names[i].name)) == 0) {
			extras |= names[i].extra;
			at += strlen(names[i].name);
		}
	}
	rule->extras |= *at ? 0 : extras;
	return !*at;
}

static int add_action(struct rule *rule, const char *action, struct err *err)
{
	if (strcmp(action, "print") == 0) {
		rule->prints = true;
	} else if (take_capture(rule, action)) {
		rule->prints = true;
		rule->captures = true;
	} else if (strncmp(action, "lttng-snapshot ", 15) == 0) {
		return add_snapshot(rule, action + 15 + strspn(action + 15, " "), err);
	} else if (strncmp(action, "exec ", 5) == 0 && action[5 + strspn(action + 5, " ")]) {
		*vec_push(&rule->commands) = mem_strdup(action + 5);
	} else {
		return err_raise(err, -EINVAL,
				 "action \"%.60s\": expected print, "
				 "capture[,report[,discover]][,perfetto], "
				 "lttng-snapshot SESSION, or exec COMMAND",
				 action);
	}
	return 0;
}

int actions_add(struct actions *actions, const char *name, const char *text, const char *action,
		struct err *err)
{
	struct trigger *trigger = trigger_new(name, text, err);
	struct rule *rule;

	if (!trigger) {
		return -EINVAL;
	}
	rule = mem_alloc(sizeof(*rule));
	rule->trigger = trigger;
	*vec_push(&actions->rules) = rule;
	return action ? add_action(rule, action, err) : 0;
}

size_t actions_count(const struct actions *actions)
{
	return actions->rules.count;
}

static bool is_about(const struct trigger *trigger, const char *analysis)
{
	bool used[ANALYSES_MAX] = { false };

	trigger_uses(trigger, used);
	for (size_t k = 0; analyses[k]; k++) {
		if (used[k] && strcmp(analyses[k]->name, analysis) == 0) {
			return true;
		}
	}
	return false;
}

int actions_check(const struct actions *actions, size_t at, const struct event_names *traces,
		  size_t count, const struct period_set *periods, struct err *err)
{
	const struct trigger *trigger = actions->rules.at[at]->trigger;
	struct missing_events missing = { 0 };
	char *text, *commands;
	bool can_hold = false, has_near = false;

	assert(at < actions->rules.count);
	for (size_t i = 0; i < count && !can_hold; i++) {
		struct missing_events of = { 0 };

		can_hold = trigger_can_hold(trigger, &traces[i], periods, &of);
		if (!has_near) { /* what the trace says that the user may have meant tells more */
			missing.at.count = 0;
			vec_append(&missing.at, of.at.at, of.at.count);
		}
		for (size_t k = 0; k < of.at.count; k++) {
			has_near |= of.at.at[k].near != NULL;
		}
		vec_fini(&of.at);
	}
	if (!can_hold && missing.at.count == 0) {
		(void)err_raise(err, -ENOENT, "trigger \"%.100s\" cannot hold: %s",
				trigger_name(trigger),
				is_about(trigger, "jobs")
					? "no --job is given that has this figure (misses need a "
					  "deadline or every)"
					: "no --period is given");
	} else if (!can_hold) {
		text = missing_text(missing.at.at, missing.at.count, false);
		commands = missing_commands(count == 1 ? traces[0].tracer : NULL, missing.at.at,
					    missing.at.count, "; ", SIZE_MAX);
		(void)err_raise(err, -ENOENT,
				"trigger \"%.100s\" cannot hold: not recorded: %.120s%s%.200s",
				trigger_name(trigger), text, commands[0] ? ": " : "", commands);
		free(text);
		free(commands);
	}
	vec_fini(&missing.at);
	return can_hold ? 0 : -ENOENT;
}

void actions_on_capture(struct actions *actions, actions_capture_fn *capture)
{
	actions->capture = capture;
}

bool actions_captures(const struct actions *actions)
{
	for (size_t i = 0; i < actions->rules.count; i++) {
		if (actions->rules.at[i]->captures) {
			return true;
		}
	}
	return false;
}

void actions_on_fired(struct actions *actions, actions_fired_fn *fired)
{
	actions->fired = fired;
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
	for (size_t i = 0; i < actions->rules.count; i++) {
		trigger_uses(actions->rules.at[i]->trigger, used);
	}
	for (size_t k = 0; analyses[k]; k++) {
		if (used[k]) {
			list[count++] = analyses[k];
		}
	}
	list[count] = NULL;
}

static bool any(const struct actions *actions, bool (*uses)(const struct trigger *trigger))
{
	for (size_t i = 0; i < actions->rules.count; i++) {
		if (uses(actions->rules.at[i]->trigger)) {
			return true;
		}
	}
	return false;
}

bool actions_use_phases(const struct actions *actions)
{
	return any(actions, trigger_uses_phases);
}

bool actions_use_containers(const struct actions *actions)
{
	return any(actions, trigger_uses_containers);
}

void actions_set_gate(struct actions *actions, struct gate *gate)
{
	actions->gate = gate;
}

struct gate *actions_gate(const struct actions *actions)
{
	return actions->gate;
}

struct trigger *actions_trigger(const struct actions *actions, size_t number)
{
	assert(number < actions->rules.count);
	return actions->rules.at[number]->trigger;
}

/* ---- files ---- */

/* What is read of a file. */
struct section {
	struct actions *actions;
	char name[SETTINGS_NAME_MAX + 1];
	struct rule *rule; /* NULL: before its `when` */
};

/* Checks that the section has all that it needs. */
static int end_section(const struct section *section, struct err *err)
{
	if (!section->name[0]) {
		return 0;
	}
	if (!section->rule) {
		return err_raise(err, -EINVAL, "[%s] has no `when`", section->name);
	}
	if (!section->rule->prints && section->rule->commands.count == 0) {
		return err_raise(err, -EINVAL, "[%s] has no `do`", section->name);
	}
	return 0;
}

static int take_setting(void *user, const char *name, const char *key, const char *value,
			struct err *err)
{
	struct section *section = user;
	struct actions *actions = section->actions;

	if (!key) {
		int r = end_section(section, err);

		section->rule = NULL;
		(void)snprintf(section->name, sizeof(section->name), "%s", name ? name : "");
		return r;
	}
	if (!section->name[0]) {
		return err_raise(err, -EINVAL, "expected [NAME] before this");
	}
	if (strcmp(key, "when") == 0 && !section->rule) {
		int r = actions_add(actions, section->name, value, NULL, err);

		section->rule = r == 0 ? actions->rules.at[actions->rules.count - 1] : NULL;
		return r;
	}
	if (strcmp(key, "do") == 0 && section->rule) {
		return add_action(section->rule, value, err);
	}
	return err_raise(err, -EINVAL, "\"%.20s\": expected one `when`, and `do` after it", key);
}

int actions_add_file(struct actions *actions, const char *path, struct err *err)
{
	struct section section = { .actions = actions };
	FILE *file;
	int r = foreign_stream(path, &file, err);

	if (r < 0) {
		return r;
	}
	r = settings_read(file, path, take_setting, &section, err);
	(void)fclose(file);
	return r;
}

/* ---- commands ---- */

#define VARIABLES_MAX 8

static void add_variable(char *variables[VARIABLES_MAX], size_t *count, const char *name,
			 const char *value)
{
	assert(*count < VARIABLES_MAX);
	variables[(*count)++] = mem_printf("SILLAGE_%s=%s", name, value ? value : "");
}

/* Our environment and the variables of the trigger, which the caller frees. */
static char **environment(const struct trace_identity *trace, const struct trigger_event *event,
			  char *variables[VARIABLES_MAX])
{
	size_t count = 0, at = 0;
	char says[1024], number[24];
	char **all;

	notice_trigger_text(event, says, sizeof(says));
	add_variable(variables, &count, "TRIGGER", event->name);
	add_variable(variables, &count, "SAYS", says);
	add_variable(variables, &count, "HOST", trace->host);
	add_variable(variables, &count, "SESSION", trace->session);
	(void)snprintf(number, sizeof(number), "%" PRIu64, event->begin);
	add_variable(variables, &count, "BEGIN", number);
	(void)snprintf(number, sizeof(number), "%" PRIu64, event->end);
	add_variable(variables, &count, "END", number);
	while (environ[at]) {
		at++;
	}
	all = mem_alloc((at + count + 1) * sizeof(*all));
	memcpy(all, environ, at * sizeof(*all));
	memcpy(all + at, variables, count * sizeof(*all));
	return all;
}

/* Starts the command with @input as its standard input; returns 0 or an errno. */
static int start(const char *text, char **env, int input, pid_t *ret_pid)
{
	char shell[] = "/bin/sh", option[] = "-c";
	char *argv[] = { shell, option, (char *)text, NULL };
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

/* The JSON line, in a file without a name: a command that does not read it cannot block us. */
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

static void run(struct actions *actions, const char *text, const struct trace_identity *trace,
		const struct trigger_event *event)
{
	char *variables[VARIABLES_MAX] = { NULL };
	char **env;
	FILE *line;
	pid_t pid;
	int r = 0;

	actions_poll(actions);
	if (actions->running.count >= ACTIONS_MAX) {
		actions->say("trigger %s: its command is not run: %d others are running",
			     event->name, ACTIONS_MAX);
		return;
	}
	env = environment(trace, event, variables);
	line = line_of(trace, event);
	r = line ? start(text, env, fileno(line), &pid) : errno;
	if (r != 0) {
		actions->say("trigger %s: cannot run its command: %s", event->name, strerror(r));
	} else {
		*vec_push(&actions->running) =
			(struct action_command){ .pid = pid,
						 .until_s = now_s() + ACTION_SECONDS_MAX };
	}
	assert(actions->running.count <= ACTIONS_MAX);
	if (line) {
		(void)fclose(line);
	}
	for (size_t i = 0; i < VARIABLES_MAX; i++) {
		free(variables[i]);
	}
	free(env);
}

void actions_fire(struct actions *actions, size_t at, struct output *output,
		  const struct trace_identity *trace, const struct trigger_event *event,
		  void *context)
{
	const struct rule *rule = actions->rules.at[at];

	assert(at < actions->rules.count);
	probe_trigger(event->name);
	if (actions->gate && !trigger_is_of_run(rule->trigger)) {
		gate_fired(actions->gate, at, trace, event);
	}
	if (actions->fired) {
		actions->fired(context, trace, event);
	}
	output_trigger(output, trace, event, rule->prints || actions->is_dry);
	if (actions->is_dry) {
		return;
	}
	if (rule->captures && actions->capture) {
		actions->capture(context, trace, event, rule->extras);
	}
	for (size_t k = 0; k < rule->commands.count; k++) {
		run(actions, rule->commands.at[k], trace, event);
	}
}

void actions_take(struct actions *actions, size_t at, struct output *output,
		  const struct trace_identity *trace, const struct report *window, void *context)
{
	struct trigger_event event;
	bool fires = trigger_evaluate(actions->rules.at[at]->trigger, trace, window, &event);

	if (event.budget.counts) {
		output_budget(output, trace, &event);
	}
	if (fires) {
		actions_fire(actions, at, output, trace, &event, context);
	}
}

void actions_report(struct actions *actions, struct output *output,
		    const struct trace_identity *trace, const struct report *report, void *context)
{
	actions_poll(actions);
	if (actions->gate) {
		gate_report(actions->gate, trace, report);
	}
	for (size_t i = 0; i < actions->rules.count; i++) {
		actions_take(actions, i, output, trace, report, context);
	}
}
