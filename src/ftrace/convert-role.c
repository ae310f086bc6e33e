/*
 * convert-role: which events tell of threads and calls, and by which of their fields.
 *
 * A kernel whose event lacks one of these, or has it in a form that is not known, has an event that
 * tells nothing: a number that nobody said would be of another thread or call.
 */
#include <string.h>

#include "ftrace/convert-state.h"

static const struct role {
	const char *system, *name;
	enum recipe_role role;
	const char *fields[RECIPE_FIELDS]; /* as the enums of their readers name them */
	uint32_t needed;                   /* of these, from the first on */
} roles[] = {
	{ "sched",
	  "sched_switch",
	  ROLE_SWITCH,
	  { "prev_pid", "next_pid", "prev_prio", "prev_state" },
	  2 },
	{ "sched", "sched_waking", ROLE_WAKE, { "pid" }, 1 },
	{ "sched", "sched_wakeup", ROLE_WAKE, { "pid" }, 1 },
	{ "sched", "sched_wakeup_new", ROLE_WAKE, { "pid" }, 1 },
	{ "sched", "sched_migrate_task", ROLE_WAKE, { "pid" }, 1 },
	{ "sched", "sched_process_fork", ROLE_FORK, { "parent_pid", "child_pid" }, 2 },
	{ "task", "task_newtask", ROLE_NEW_TASK, { "pid", "clone_flags" }, 2 },
	{ "sched", "sched_process_exec", ROLE_EXEC, { "pid", "old_pid" }, 1 },
	{ "task", "task_rename", ROLE_RENAME, { "pid" }, 0 },
	{ "sched", "sched_process_exit", ROLE_EXIT, { "pid" }, 1 },
	{ "cgroup", "cgroup_attach_task", ROLE_MOVE, { "pid" }, 1 },
	{ "cgroup", "cgroup_transfer_tasks", ROLE_MOVE, { "pid" }, 1 },
	{ "raw_syscalls", "sys_enter", ROLE_ENTER, { "id" }, 1 },
	{ "raw_syscalls", "sys_exit", ROLE_RETURN, { "id", "ret" }, 2 },
};

static const struct role *role_of(const struct ftrace_format *format)
{
	for (size_t i = 0; i < ARRAY_COUNT(roles); i++) {
		if (strcmp(roles[i].system, format->system) == 0 &&
		    strcmp(roles[i].name, format->name) == 0) {
			return &roles[i];
		}
	}
	return NULL;
}

/* The six arguments of a call, as far as they are known. */
static const struct ftrace_field *six_of(const struct ftrace_format *format)
{
	const struct ftrace_field *field = ftrace_format_field(format, "args");

	return field && field->kind == FTRACE_ARRAY && field->place == FTRACE_HERE &&
			       field->size / field->element_size >= CALL_ARGUMENTS_MAX
		       ? field
		       : NULL;
}

void recipe_take_role(struct convert *convert, struct recipe *recipe)
{
	const struct ftrace_format *format = recipe->format;
	const struct role *role = role_of(format);

	for (uint32_t i = 0; role && i < RECIPE_FIELDS && role->fields[i]; i++) {
		const struct ftrace_field *field = ftrace_format_field(format, role->fields[i]);

		if (field && field->kind == FTRACE_INTEGER && field->place == FTRACE_HERE) {
			recipe->fields[i] = field;
		} else if (i < role->needed) {
			recipe_note_odd(convert, recipe, role->fields[i]);
			return;
		}
	}
	recipe->role = role ? role->role : ROLE_NONE;
	if (recipe->role == ROLE_ENTER) {
		convert->call_arguments = six_of(format);
		if (!convert->call_arguments) {
			recipe_note_odd(convert, recipe, "args");
			recipe->role = ROLE_NONE;
		}
	}
}
