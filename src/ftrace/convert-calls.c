/*
 * convert-calls: raw_syscalls become LTTng's events of system calls, one class for each call.
 *
 * An event of the end has arguments of the begin, if that was seen; otherwise it is of a class with
 * the same name and the result alone.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ftrace/convert-state.h"

/* ---- classes ---- */

static struct convert_class *make_class(struct convert *convert, const struct call_table *table,
					const char *part, const struct call *call, bool is_exit,
					bool has_arguments)
{
	char *name =
		mem_printf("%ssyscall_%s_%s", table->is_compat ? "compat_" : "", part, call->name);
	struct convert_class *class = class_begin(convert, name);
	struct class_member member;

	if (is_exit) {
		member = class_member_of("ret", "s8");
		class_add(convert, &member);
	}
	for (size_t i = 0; has_arguments && i < call->count; i++) {
		const struct call_argument *argument = &call->arguments[i];

		member = (struct class_member){ .name = argument->name,
						.bytes = argument->bytes,
						.base = 10,
						.is_signed = argument->is_signed };
		if (is_exit ? argument->at_exit : argument->at_entry) {
			class_add(convert, &member);
		}
	}
	class_end(convert);
	free(name);
	return class;
}

static void make_classes(struct convert *convert, struct call_table *table, uint64_t number)
{
	const struct call *call = ftrace_calls_get(table->calls, number);
	struct call_classes *classes = &table->classes.at[number];

	if (call && !classes->entry) {
		classes->entry = make_class(convert, table, "entry", call, false, true);
		classes->exit = make_class(convert, table, "exit", call, true, true);
		classes->exit_only = classes->exit;
		for (size_t i = 0; i < call->count; i++) {
			if (call->arguments[i].at_exit) {
				classes->exit_only = NULL; /* made when it is wanted */
			}
		}
	}
}

static void make_unknown(struct convert *convert, struct call_table *table)
{
	static const char *const parts[] = { "entry", "exit" };
	struct convert_class *made[2];

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		char *name = mem_printf("%ssyscall_%s_unknown", table->is_compat ? "compat_" : "",
					parts[i]);
		struct class_member member;

		made[i] = class_begin(convert, name);
		member = class_member_of("id", "s4");
		class_add(convert, &member);
		member = class_member_of(i == 0 ? "args" : "ret", i == 0 ? "u8" : "s8");
		if (i == 0) {
			member.kind = MEMBER_ARRAY;
			member.count = CALL_ARGUMENTS_MAX;
		}
		class_add(convert, &member);
		class_end(convert);
		free(name);
	}
	table->unknown = (struct call_classes){ made[0], made[1], made[1] };
}

static void open_calls(struct convert *convert, struct call_table *table,
		       enum convert_machine machine, bool is_compat)
{
	table->calls = ftrace_calls_new(machine);
	table->is_compat = is_compat;
	for (uint32_t i = 0; table->calls && i < ftrace_calls_end(table->calls); i++) {
		*vec_push(&table->classes) = (struct call_classes){ 0 };
	}
}

/* Those of 32-bit programs are declared when one runs. */
void convert_calls_begin(struct convert *convert)
{
	enum convert_machine machine = convert->setup.machine;

	if (convert->native.unknown.entry) {
		return;
	}
	open_calls(convert, &convert->native, machine, false);
	open_calls(convert, &convert->compat, ftrace_calls_compat(machine), true);
	for (uint32_t i = 0; i < convert->native.classes.count; i++) {
		make_classes(convert, &convert->native, i);
	}
	make_unknown(convert, &convert->native);
}

void convert_calls_free(struct convert *convert)
{
	struct call_table *tables[] = { &convert->native, &convert->compat };

	for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
		ftrace_calls_free(tables[i]->calls);
		vec_fini(&tables[i]->classes);
	}
}

/* A kernel of 32 bits has no other table. */
static struct call_table *table_of(struct convert *convert, const struct convert_task *task)
{
	return task && task->is_compat && convert->compat.calls ? &convert->compat
								: &convert->native;
}

/* The classes of a number, which are made if it is the first; those of unknown ones else. */
static struct call_classes *classes_of(struct convert *convert, const struct convert_task *task,
				       uint64_t number, const struct call **ret_call)
{
	struct call_table *table = table_of(convert, task);

	*ret_call = table->calls ? ftrace_calls_get(table->calls, number) : NULL;
	if (*ret_call) {
		make_classes(convert, table, number);
		return &table->classes.at[number];
	}
	if (!table->unknown.entry) {
		make_unknown(convert, table);
	}
	return &table->unknown;
}

/* ---- events ---- */

#define CALL_BYTES (16 + CALL_ARGUMENTS_MAX * 8)

static uint8_t *put_arguments(uint8_t *out, const struct call *call, const uint64_t *values,
			      bool is_exit)
{
	for (size_t i = 0; i < call->count; i++) {
		const struct call_argument *argument = &call->arguments[i];

		if (is_exit ? argument->at_exit : argument->at_entry) {
			out = put_number(out, values[argument->index], argument->bytes);
		}
	}
	return out;
}

static void read_six(const struct convert *convert, const struct convert_input *event,
		     uint64_t *values)
{
	const struct ftrace_field *field = convert->call_arguments;
	const uint8_t *bytes;
	size_t len =
		field ? ftrace_field_bytes(field, event->payload, event->len, event->is_big, &bytes)
		      : 0;

	for (size_t i = 0; i < CALL_ARGUMENTS_MAX; i++) {
		values[i] = field && (i + 1) * field->element_size <= len
				    ? ftrace_integer(bytes + i * field->element_size,
						     field->element_size, false, event->is_big)
				    : 0;
	}
}

/* What a descriptor was until now is over; what it is, may be known to others. */
static void tell_opened(struct convert *convert, const struct convert_stream *stream,
			const struct convert_task *task, int32_t tid, int64_t fd)
{
	int32_t pid = process_of_task(task, tid);

	if (fd >= 0 && fd <= INT32_MAX && convert->sink.opened) {
		convert_drop_paths(convert, pid, (uint64_t)fd, (uint64_t)fd);
		convert->sink.opened(convert->sink.user, stream->cpu, pid, (int32_t)fd);
	}
}

bool convert_calls_enter(struct convert *convert, struct convert_stream *stream,
			 const struct recipe *recipe, const struct convert_input *event)
{
	enum { NUMBER };
	uint64_t number = recipe_number(recipe, NUMBER, event);
	struct convert_task *task = tasks_put(convert, event->tid);
	const struct call *call;
	struct call_classes *classes;
	uint8_t *out;

	if ((int64_t)number < 0) {
		task->is_in_call = false;
		return false; /* a debugger made it none */
	}
	read_six(convert, event, task->arguments);
	task->call = number;
	task->is_in_call = true;
	classes = classes_of(convert, task, number, &call);
	if (call && call->closes_from > 0) {
		convert_drop_paths(convert, process_of_task(task, event->tid),
				   (uint32_t)task->arguments[call->closes_from - 1],
				   (uint32_t)task->arguments[call->closes_to - 1]);
	}
	out = stream_reserve(convert, stream, event->time, classes->entry, CALL_BYTES);
	if (!out) {
		return false;
	}
	if (call) {
		out = put_arguments(out, call, task->arguments, false);
	} else {
		out = put_number(out, number, 4);
		for (size_t i = 0; i < CALL_ARGUMENTS_MAX; i++) {
			out = put_number(out, task->arguments[i], 8);
		}
	}
	stream_commit(stream, classes->entry, out);
	return true;
}

/* The class of an end whose begin was not seen. */
static struct convert_class *only_result(struct convert *convert, const struct convert_task *task,
					 struct call_classes *classes, const struct call *call)
{
	if (!classes->exit_only) {
		classes->exit_only =
			make_class(convert, table_of(convert, task), "exit", call, true, false);
	}
	return classes->exit_only;
}

static bool is_exec(const struct call_table *table, uint64_t number)
{
	const struct call *call = table->calls ? ftrace_calls_get(table->calls, number) : NULL;

	return call && (strcmp(call->name, "execve") == 0 || strcmp(call->name, "execveat") == 0);
}

/* An execve() that returns with the number of programs of the other width has begun one. */
static void note_width(const struct convert *convert, struct convert_task *task, uint64_t number,
		       int64_t result)
{
	const struct call_table *was, *is;

	if (!task || !task->is_in_call || task->call == number || result != 0) {
		return;
	}
	was = task->is_compat ? &convert->compat : &convert->native;
	is = task->is_compat ? &convert->native : &convert->compat;
	if (is_exec(was, task->call) && is_exec(is, number)) {
		task->is_compat = !task->is_compat;
		task->call = number;
	}
}

bool convert_calls_return(struct convert *convert, struct convert_stream *stream,
			  const struct recipe *recipe, const struct convert_input *event)
{
	enum { NUMBER, RESULT };
	uint64_t number = recipe_number(recipe, NUMBER, event);
	int64_t result = (int64_t)recipe_number(recipe, RESULT, event);
	struct convert_task *task =
		convert_tasks_get(&convert->tasks, (uint64_t)(uint32_t)event->tid);
	bool has_begin;
	const struct call *call;
	struct call_classes *classes;
	struct convert_class *class;
	uint8_t *out;

	if ((int64_t)number < 0) {
		return false;
	}
	note_width(convert, task, number, result);
	has_begin = task && task->is_in_call && task->call == number;
	classes = classes_of(convert, task, number, &call);
	class = has_begin || !call ? classes->exit : only_result(convert, task, classes, call);
	out = stream_reserve(convert, stream, event->time, class, CALL_BYTES);
	if (!out) {
		return false;
	}
	out = call ? out : put_number(out, number, 4);
	out = put_number(out, (uint64_t)result, 8);
	if (call && has_begin) {
		out = put_arguments(out, call, task->arguments, true);
	}
	stream_commit(stream, class, out);
	if (task) {
		task->is_in_call = false;
	}
	if (call && call->opens) {
		tell_opened(convert, stream, task, event->tid, result);
	}
	return true;
}
