/*
 * convert-tasks: what events tell of threads: which process they are of, what they are called, and
 * which one runs on a CPU.
 *
 * Some kernels withhold events of certain threads, the idle ones among them, from who traces in an
 * instance: a switch away from them is not seen, but each event says who runs.  Such a switch is
 * derived from the first event of the thread that runs then, and accounted apart.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "ftrace/convert-state.h"

/* Of clone(2). */
#define SAME_PROCESS   0x10000
#define OWN_NAMESPACE  0x20000000
#define USUAL_PRIORITY 20
/* Bits of prev_state that an ending thread has at its last switch, in all kernels: zombie and dead.
 */
#define STATE_IS_DEAD 0x70
/* From a switch to the first event of the thread: the way out of a call. */
#define SIGN_OF_LIFE_NS 1000
/* Of what is executed, with its end: PATH_MAX. */
#define PROGRAM_PATH_BYTES 4096

struct convert_task *tasks_put(struct convert *convert, int32_t tid)
{
	/* Without events of their ends they only become more. */
	if (convert->tasks.used >= FTRACE_TASKS_MAX) {
		convert_tasks_clear(&convert->tasks);
	}
	return convert_tasks_put(&convert->tasks, (uint64_t)(uint32_t)tid, NULL);
}

static struct convert_task *task_of(const struct convert *convert, int32_t tid)
{
	return convert_tasks_get(&convert->tasks, (uint64_t)(uint32_t)tid);
}

void convert_thread(struct convert *convert, const struct convert_known *known)
{
	struct convert_task *task = tasks_put(convert, known->tid);

	task->pid = known->pid;
	task->knows_pid = true;
	task->pid_ns = known->pid_ns;
	task->is_compat = known->is_compat;
	task->is_ending = false;
	if (known->name) {
		(void)snprintf(task->name, sizeof(task->name), "%s", known->name);
		task->has_name = true;
		task->priority = known->priority;
	}
}

void convert_place(struct convert *convert, int32_t tid, uint32_t place)
{
	struct convert_task *known = task_of(convert, tid); /* a walk over all goes on */

	(known ? known : tasks_put(convert, tid))->place = place;
}

struct convert_placed convert_placed(const struct convert *convert, int32_t tid)
{
	const struct convert_task *task = task_of(convert, tid);

	return (struct convert_placed){ .pid = process_of_task(task, tid),
					.pid_ns = task ? task->pid_ns : 0,
					.place = task ? task->place : 0 };
}

void convert_each_of(const struct convert *convert, int32_t pid,
		     void (*call)(void *user, int32_t tid), void *user)
{
	HASH_EACH(convert_tasks, &convert->tasks, entry) {
		if (process_of_task(&entry->value, (int32_t)entry->key) == pid) {
			call(user, (int32_t)entry->key);
		}
	}
}

/* ---- switches ---- */

struct side {
	char name[TASK_NAME_BYTES];
	int32_t tid, priority;
};

static struct side switch_side(const struct convert *convert, const struct convert_stream *stream,
			       int32_t tid)
{
	const struct convert_task *task = tid == 0 ? NULL : task_of(convert, tid);
	struct side side = { .tid = tid, .priority = USUAL_PRIORITY };

	if (task && task->has_name) {
		memcpy(side.name, task->name, sizeof(side.name));
		side.priority = task->priority;
	} else if (tid == 0) {
		(void)snprintf(side.name, sizeof(side.name), "swapper/%u", stream->cpu % 1000000);
	}
	return side;
}

static uint8_t *put_switch(uint8_t *out, const struct side *prev, const struct side *next)
{
	memcpy(out, prev->name, TASK_NAME_BYTES);
	out = put_number(out + TASK_NAME_BYTES, (uint64_t)prev->tid, 4);
	out = put_number(out, (uint64_t)prev->priority, 4);
	/* What a thread other than the idle one waits for is not known; it does not run. */
	out = put_number(out, prev->tid == 0 ? 0 : 1, 8);
	memcpy(out, next->name, TASK_NAME_BYTES);
	out = put_number(out + TASK_NAME_BYTES, (uint64_t)next->tid, 4);
	return put_number(out, (uint64_t)next->priority, 4);
}

#define SWITCH_BYTES 56

void tasks_derive(struct convert *convert, struct convert_stream *stream,
		  const struct convert_input *event)
{
	struct side prev = switch_side(convert, stream, stream->current),
		    next = switch_side(convert, stream, event->tid);
	const struct convert_task *task = task_of(convert, event->tid);
	uint64_t time = event->time > SIGN_OF_LIFE_NS ? event->time - SIGN_OF_LIFE_NS : 0;
	uint8_t *out;

	/* An idle CPU runs at once what it may run.  If that is not known: close to the first sign
	 * of life.  Behind what came before in any case. */
	if (stream->current == 0 && task && task->ready > 0 && task->ready < time) {
		time = task->ready;
	}
	time = time > stream->last + 1 ? time : stream->last + 1;
	time = time < event->time ? time : event->time;
	stream->current = event->tid;
	out = stream_reserve(convert, stream, time, convert->derived_switch, SWITCH_BYTES);
	if (out) {
		stream_commit(stream, convert->derived_switch, put_switch(out, &prev, &next));
		stream->account.derived++;
	}
}

static void note_switch(struct convert *convert, struct convert_stream *stream,
			const struct recipe *recipe, const struct convert_input *event)
{
	int32_t prev = (int32_t)recipe_number(recipe, SWITCH_PREV, event);
	const struct ftrace_field *name = convert->switch_name;
	struct convert_task *task;

	stream->current = (int32_t)recipe_number(recipe, SWITCH_NEXT, event);
	stream->knows_current = recipe->fields[SWITCH_NEXT] != NULL;
	task = prev > 0 ? task_of(convert, prev) : NULL;
	if (task && task->is_ending &&
	    recipe_number(recipe, SWITCH_PREV_STATE, event) & STATE_IS_DEAD) {
		(void)convert_tasks_drop(&convert->tasks, (uint64_t)(uint32_t)prev);
	} else if (prev > 0 && name) {
		task = tasks_put(convert, prev);
		task->ready = 0;
		recipe_chars(name, event, task->name, sizeof(task->name));
		task->priority =
			recipe->fields[SWITCH_PREV_PRIO]
				? (int32_t)recipe_number(recipe, SWITCH_PREV_PRIO, event) - 100
				: USUAL_PRIORITY;
		task->has_name = true;
	}
}

static void note_ready(struct convert *convert, const struct recipe *recipe,
		       const struct convert_input *event)
{
	enum { TID };
	int32_t tid = (int32_t)recipe_number(recipe, TID, event);

	if (tid > 0) {
		tasks_put(convert, tid)->ready = event->time;
	}
}

/* It has to leave the CPU yet, under its name. */
static void note_end(struct convert *convert, const struct recipe *recipe,
		     const struct convert_input *event)
{
	enum { TID };
	int32_t tid = (int32_t)recipe_number(recipe, TID, event);
	struct convert_task *task = task_of(convert, tid);

	if (task && convert->tells_ends) {
		task->is_ending = true;
	} else if (task) {
		(void)convert_tasks_drop(&convert->tasks, (uint64_t)(uint32_t)tid);
	}
}

/* ---- new threads ---- */

/* It comes before sched_process_fork of the same thread. */
static void note_new(struct convert *convert, const struct recipe *recipe,
		     const struct convert_input *event)
{
	enum { TID, FLAGS };
	int32_t child = (int32_t)recipe_number(recipe, TID, event);
	uint64_t flags = recipe_number(recipe, FLAGS, event);
	const struct convert_task *parent = task_of(convert, event->tid);
	struct convert_task copy =
		parent ? *parent
		       : (struct convert_task){ .pid = event->tid,
						.pid_ns = convert->setup.pid_ns };

	copy.is_ending = false;
	copy.pid = copy.knows_pid ? copy.pid : event->tid;
	copy.pid = flags & SAME_PROCESS ? copy.pid : child;
	copy.knows_pid =
		parent ? parent->knows_pid || !(flags & SAME_PROCESS) : !(flags & SAME_PROCESS);
	copy.pid_ns = flags & OWN_NAMESPACE ? 0 : copy.pid_ns; /* it is not said which */
	*tasks_put(convert, child) = copy;
}

/* As the kernel does: the last part of the path, as much as there is room for. */
static void name_by_program(struct convert_task *task, const struct recipe *recipe,
			    const struct convert_input *event)
{
	const struct ftrace_field *field = ftrace_format_field(recipe->format, "filename");
	char path[PROGRAM_PATH_BYTES] = "";
	const char *slash, *name;

	if (field && field->kind == FTRACE_TEXT) {
		recipe_chars(field, event, path, sizeof(path));
	}
	slash = strrchr(path, '/');
	name = slash ? slash + 1 : path;
	/* A path that fills the room may go on. */
	task->has_name = *name && strlen(path) + 1 < sizeof(path);
	memset(task->name, 0, sizeof(task->name));
	memcpy(task->name, name, strnlen(name, sizeof(task->name) - 1));
}

static void note_exec(struct convert *convert, struct convert_stream *stream,
		      const struct recipe *recipe, const struct convert_input *event)
{
	enum { TID, OLD };
	int32_t tid = (int32_t)recipe_number(recipe, TID, event);
	int32_t old = recipe->fields[OLD] ? (int32_t)recipe_number(recipe, OLD, event) : tid;
	struct convert_task *task = task_of(convert, old), copy;

	/* Another thread of the process than the first takes over the number of that one. */
	if (old != tid && task) {
		copy = *task;
		(void)convert_tasks_drop(&convert->tasks, (uint64_t)(uint32_t)old);
		*tasks_put(convert, tid) = copy;
	}
	if (stream->knows_current && stream->current == old) {
		stream->current = tid;
	}
	task = task_of(convert, tid);
	if (task) {
		name_by_program(task, recipe, event);
	}
	/* Descriptors may close by that. */
	convert_drop_paths(convert, task && task->knows_pid ? task->pid : tid, 0, INT32_MAX);
	if (convert->sink.executed) {
		convert->sink.executed(convert->sink.user, event->time, stream->cpu, tid);
	}
}

/* Some kernels do not say whose name it is: then that of who was called so. */
static void note_rename(struct convert *convert, const struct recipe *recipe,
			const struct convert_input *event)
{
	enum { TID };
	const struct ftrace_field *new = ftrace_format_field(recipe->format, "newcomm");
	const struct ftrace_field *old = ftrace_format_field(recipe->format, "oldcomm");
	struct convert_task *task =
		task_of(convert, recipe->fields[TID] ? (int32_t)recipe_number(recipe, TID, event)
						     : event->tid);
	char was[TASK_NAME_BYTES] = "";

	if (!task || !new || new->kind != FTRACE_TEXT) {
		return;
	}
	if (!recipe->fields[TID]) {
		if (!old || old->kind != FTRACE_TEXT || !task->has_name) {
			return;
		}
		recipe_chars(old, event, was, sizeof(was));
		if (strncmp(was, task->name, sizeof(was)) != 0) {
			return;
		}
	}
	memset(task->name, 0, sizeof(task->name));
	recipe_chars(new, event, task->name, sizeof(task->name));
	task->name[sizeof(task->name) - 1] = '\0';
	task->has_name = task->name[0] != '\0';
}

/* ---- control groups ---- */

static void note_move(struct convert *convert, struct convert_stream *stream,
		      const struct recipe *recipe, const struct convert_input *event)
{
	enum { TID };
	const struct ftrace_field *field = ftrace_format_field(recipe->format, "dst_path");
	char path[CGROUP_PATH_BYTES] = "";

	if (!convert->sink.moved || !recipe->fields[TID]) {
		return;
	}
	if (field && field->kind == FTRACE_TEXT) {
		recipe_chars(field, event, path, sizeof(path));
	}
	convert->sink.moved(convert->sink.user, event->time, stream->cpu,
			    (int32_t)recipe_number(recipe, TID, event), path);
}

void tasks_event(struct convert *convert, struct convert_stream *stream,
		 const struct recipe *recipe, const struct convert_input *event)
{
	switch (recipe->role) {
	case ROLE_SWITCH:
		note_switch(convert, stream, recipe, event);
		break;
	case ROLE_WAKE:
		note_ready(convert, recipe, event);
		break;
	case ROLE_NEW_TASK:
		note_new(convert, recipe, event);
		break;
	case ROLE_EXEC:
		note_exec(convert, stream, recipe, event);
		break;
	case ROLE_RENAME:
		note_rename(convert, recipe, event);
		break;
	case ROLE_MOVE:
		note_move(convert, stream, recipe, event);
		break;
	case ROLE_EXIT:
		note_end(convert, recipe, event);
		break;
	default:
		break;
	}
}

/* ---- sched_process_fork ---- */

void tasks_fork_class(struct convert *convert, struct recipe *recipe)
{
	static const char *const members[][2] = {
		{ "parent_comm", "c16" },   { "parent_tid", "s4" },  { "parent_pid", "s4" },
		{ "parent_ns_inum", "u4" }, { "child_comm", "c16" }, { "child_tid", "s4" },
	};
	static const char *const of_process[][2] = { { "child_pid", "s4" },
						     { "child_ns_inum", "u4" } };
	struct class_member member;

	recipe->class = class_begin(convert, "sched_process_fork");
	for (size_t i = 0; i < ARRAY_COUNT(members); i++) {
		member = class_member_of(members[i][0], members[i][1]);
		class_add(convert, &member);
	}
	/* Whether it is a thread or a process only task_newtask says. */
	for (size_t i = 0; convert->knows_processes && i < ARRAY_COUNT(of_process); i++) {
		member = class_member_of(of_process[i][0], of_process[i][1]);
		class_add(convert, &member);
	}
	class_end(convert);
}

#define FORK_BYTES (2 * TASK_NAME_BYTES + 6 * 4)

static uint8_t *put_task_name(uint8_t *out, const struct recipe *recipe, const char *field,
			      const struct convert_input *event)
{
	const struct ftrace_field *name = ftrace_format_field(recipe->format, field);

	memset(out, 0, TASK_NAME_BYTES);
	if (name && name->kind == FTRACE_TEXT) {
		recipe_chars(name, event, (char *)out, TASK_NAME_BYTES);
	}
	return out + TASK_NAME_BYTES;
}

bool tasks_fork(struct convert *convert, struct convert_stream *stream, const struct recipe *recipe,
		const struct convert_input *event)
{
	enum { PARENT, CHILD };
	int32_t parent = (int32_t)recipe_number(recipe, PARENT, event);
	int32_t child = (int32_t)recipe_number(recipe, CHILD, event);
	const struct convert_task *of = task_of(convert, parent), *task;
	int32_t pid = process_of_task(of, parent);
	uint32_t ns = of ? of->pid_ns : convert->setup.pid_ns;
	uint8_t *out;

	task = task_of(convert, child);
	out = stream_reserve(convert, stream, event->time, recipe->class, FORK_BYTES);
	if (!out) {
		return false;
	}
	out = put_task_name(out, recipe, "parent_comm", event);
	out = put_number(out, (uint64_t)parent, 4);
	out = put_number(out, (uint64_t)pid, 4);
	out = put_number(out, ns, 4);
	out = put_task_name(out, recipe, "child_comm", event);
	out = put_number(out, (uint64_t)child, 4);
	if (convert->knows_processes) {
		out = put_number(out, (uint64_t)(task && task->pid > 0 ? task->pid : child), 4);
		out = put_number(out, task ? task->pid_ns : ns, 4);
	}
	stream_commit(stream, recipe->class, out);
	if (convert->sink.forked) {
		convert->sink.forked(convert->sink.user, event->time, stream->cpu, child);
	}
	return true;
}
