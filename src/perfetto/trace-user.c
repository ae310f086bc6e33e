/*
 * trace-user: the events of a trace of user space, or of any other that is not a kernel's.
 *
 * Each event is an instant on the track of its thread, which the contexts vtid and vpid name, or of
 * its CPU.  Two events that are a pair are a slice instead (user-spans.h): of the thread, or on
 * tracks beside each other, below the thread that they began on, where they overlap.  All fields of
 * events are arguments.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyses/calls/calls.h"
#include "base/hash.h"
#include "base/limits.h"
#include "ctf/metadata/type.h"
#include "perfetto/args.h"
#include "perfetto/processes.h"
#include "perfetto/samples.h"
#include "perfetto/trace.h"
#include "perfetto/tracks.h"
#include "perfetto/user-spans.h"
#include "symbols/symbols.h"

/* The tracks of spans of a name that overlap on a thread. */
struct lanes {
	VEC(uint64_t) spare;
	uint32_t count;
};

HASH_MAP(lanes_by, struct lanes *)
HASH_MAP(tracks_by_pid, uint64_t)
/* The provider of an event class, once for all its events. */
HASH_MAP(categories, char *)

struct user {
	struct perfetto *writer;
	struct args *args; /* NULL: none are shown */
	struct reader *reader;
	struct user_spans *spans;
	struct symbols *symbols;
	struct samples *samples;
	struct callstack stack;
	struct processes *processes;
	struct lanes_by lanes;        /* by thread's track and name */
	struct tracks_by_pid named;   /* processes whose name was written */
	struct categories categories; /* by index of the class */
	uint64_t env_track;           /* of the only process that the trace is of; 0: none */
	uint64_t lost_track;
	uint64_t ts;
};

/* ---- threads ---- */

static void say_process(struct user *user, int32_t pid)
{
	const char *name = user_spans_process(user->spans, pid);
	struct process row = { .tid = pid, .tgid = pid, .ppid = -1 };
	bool is_new;

	(void)tracks_by_pid_put(&user->named, (uint32_t)pid, &is_new);
	if (name && is_new) {
		(void)snprintf(row.name, sizeof(row.name), "%s", name);
		processes_set(user->processes, &row);
	}
}

/* The viewer drops the track of a thread whose process is not known: it gets one by name. */
static uint64_t add_thread_track(struct user *user, struct span_thread *thread,
				 const struct reader_event *event, const char *name)
{
	const struct plan_origin *origin = event->class->origin;
	int32_t pid = thread->pid >= 0 ? thread->pid : (int32_t)origin->vpid;
	char text[PERFETTO_NAME + 16];

	if (pid > 0 || thread->pid == 0) {
		return tracks_add_thread(user->writer, pid, thread->tid, name);
	}
	(void)snprintf(text, sizeof(text), "%s (%d)", name ? name : "thread", (int)thread->tid);
	return tracks_add(user->writer, 0, text);
}

static void add_track(struct user *user, struct span_thread *thread,
		      const struct reader_event *event)
{
	char name[PERFETTO_NAME];
	bool has_name = reader_has(event, SPAN_PROCNAME);

	if (thread->tid < 0) {
		(void)snprintf(name, sizeof(name), "CPU %lld", (long long)thread->cpu);
		thread->track = tracks_add(user->writer, user->env_track,
					   thread->cpu == UINT64_MAX ? "events" : name);
		return;
	}
	if (has_name) {
		trace_name(name, &event->values[SPAN_PROCNAME]);
	}
	thread->track = add_thread_track(user, thread, event, has_name ? name : NULL);
	if (thread->pid >= 0) {
		say_process(user, thread->pid);
	}
}

/* A trace of buffers by process says in its environment which one it is. */
static uint64_t add_env_process(struct perfetto *writer, const struct metadata *metadata)
{
	const struct env_entry *pid = metadata_env(metadata, "vpid");
	const struct env_entry *name = metadata_env(metadata, "procname");

	return pid && !pid->text && pid->number > 0 && pid->number <= INT32_MAX
		       ? tracks_add_process(writer, (int32_t)pid->number, name ? name->text : NULL)
		       : 0;
}

/* ---- tracks beside each other ---- */

static struct lanes *lanes_of(struct user *user, const struct user_span *span)
{
	uint64_t key = hash_text(span->thread->track, user_spans_text(span));
	struct lanes **at = lanes_by_put(&user->lanes, key, NULL);

	if (!*at) {
		*at = mem_alloc(sizeof(**at));
	}
	return *at;
}

/* A track that no open span has; 0: there are too many. */
static uint64_t take_lane(struct user *user, const struct user_span *span)
{
	struct lanes *lanes = lanes_of(user, span);

	if (lanes->spare.count > 0) {
		return lanes->spare.at[--lanes->spare.count];
	}
	return lanes->count++ < LANES_MAX
		       ? tracks_add(user->writer, span->thread->track, user_spans_text(span))
		       : 0;
}

/* ---- slices ---- */

static void end_slice(void *user_, struct user_span *span)
{
	struct user *user = user_;

	if (span->track != 0) {
		tracks_end(user->writer, span->track, user->ts);
		if (user_spans_are_apart(span)) {
			*vec_push(&lanes_of(user, span)->spare) = span->track;
		}
		span->track = 0;
	}
}

/* Slices of the thread that lie within the one that ends: their ends are missing. */
static void end_inner(struct user *user, const struct user_span *span)
{
	struct span_thread *thread = span->thread;

	for (size_t i = thread->open.count; i-- > 0 && thread->open.at[i] != span;) {
		struct user_span *inner = thread->open.at[i];

		if (!user_spans_are_apart(inner)) {
			end_slice(user, inner);
			user_spans_drop(user->spans, inner);
		}
	}
}

/* How many slices are open on the thread's own track. */
static size_t slices_of(const struct span_thread *thread)
{
	size_t count = 0;

	for (size_t i = 0; i < thread->open.count; i++) {
		count += thread->open.at[i]->track == thread->track;
	}
	return count;
}

static bool show_begin(struct user *user, struct user_span *span, uint64_t ts,
		       const struct tracks_said *said)
{
	if (user_spans_are_apart(span)) {
		span->track = take_lane(user, span);
	} else if (span->thread->open.count <= SLICES_OPEN_MAX ||
		   slices_of(span->thread) < SLICES_OPEN_MAX) {
		span->track = span->thread->track;
	}
	if (span->track == 0) {
		user_spans_drop(user->spans, span);
		return false;
	}
	tracks_put(user->writer, span->track, ts, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
		   said);
	return true;
}

static void show_end(struct user *user, struct user_span *span, uint64_t ts,
		     struct tracks_said *said)
{
	said->name = said->category = NULL;
	if (!user_spans_are_apart(span)) {
		end_inner(user, span);
	}
	assert(span->track != 0);
	tracks_put(user->writer, span->track, ts, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END,
		   said);
	if (user_spans_are_apart(span)) {
		*vec_push(&lanes_of(user, span)->spare) = span->track;
	}
	user_spans_drop(user->spans, span);
}

/* ---- events ---- */

static const char *category_of(struct user *user, const struct event_class *class)
{
	bool is_new;
	char **at = categories_put(&user->categories, class->index, &is_new);
	const char *colon = strchr(class->name, ':');

	if (is_new && colon) {
		*at = mem_printf("%.*s", (int)(colon - class->name), class->name);
	}
	return *at;
}

/* A stack without a thread is shown as an argument alone. */
static void put_user_sample(struct user *user, const struct reader_event *event)
{
	struct callstack *stack = &user->stack;
	struct reader_event as;

	if (reader_as(event, SPAN_CALLSTACK, &as) &&
	    callstack_read(stack, as.class, as.binding, as.values) && stack->tid >= 0) {
		stack->pid = stack->pid >= 0 ? stack->pid : stack->tid;
		samples_put(user->samples, stack, event->ts, event->cpu);
	}
}

static void take(struct user *user, const struct reader_event *event)
{
	struct tracks_said said = { .category = category_of(user, event->class->class) };
	struct span_thread *thread = user_spans_thread(user->spans, event);
	struct span_step step = { .role = SPAN_NONE };

	user->ts = event->ts;
	if (thread->track == 0) {
		add_track(user, thread, event);
	}
	put_user_sample(user, event);
	if (user->args) {
		const struct args_where where = {
			.symbols = user->symbols,
			.pid = reader_i64(event, SPAN_VPID, 0),
			.ts = event->ts,
			.is_function = calls_are_functions(event->class->class->name),
		};

		args_read(user->args, user->reader, &where);
		said.args = args_list(user->args, &said.arg_count);
	}
	user_spans_take(user->spans, event, &step);
	if (step.role == SPAN_ENDS) {
		show_end(user, step.span, event->ts, &said);
		return;
	}
	said.name = step.name;
	if (step.role != SPAN_BEGINS || !show_begin(user, step.span, event->ts, &said)) {
		said.name = event->class->class->name;
		tracks_put(user->writer, thread->track, event->ts,
			   PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT, &said);
	}
}

/* From a loss on it is unknown which slices are open: all of them end there. */
static void lose(struct user *user, const struct reader_event *event)
{
	char text[64] = "events lost";

	user->ts = event->ts;
	if (user->lost_track == 0) {
		user->lost_track = tracks_add(user->writer, 0, "events lost");
	}
	if (event->cpu != UINT64_MAX) {
		(void)snprintf(text, sizeof(text), "CPU %llu: events lost",
			       (unsigned long long)event->cpu);
	}
	tracks_instant(user->writer, user->lost_track, event->ts, text);
	user_spans_forget(user->spans, end_slice, user);
}

static void free_user(struct user *user)
{
	HASH_EACH(lanes_by, &user->lanes, one) {
		vec_fini(&one->value->spare);
		free(one->value);
	}
	HASH_EACH(categories, &user->categories, one) {
		free(one->value);
	}
	lanes_by_fini(&user->lanes);
	categories_fini(&user->categories);
	tracks_by_pid_fini(&user->named);
	processes_free(user->processes);
	user_spans_free(user->spans);
	samples_free(user->samples);
	callstack_fini(&user->stack);
	symbols_free(user->symbols);
	args_free(user->args);
}

int trace_write_user(struct perfetto *writer, struct trace_export *export, struct reader *reader,
		     struct err *err)
{
	const struct plan *plan = reader_plan(reader);
	struct user user = {
		.writer = writer,
		.reader = reader,
		.args = export->has_args ? args_new(writer) : NULL,
		.symbols = symbols_new(),
		.processes = processes_new(writer),
		.env_track = add_env_process(writer, plan->metadata),
	};
	struct reader_event event;
	int r;

	symbols_of_kernel(user.symbols, export->kernel, plan->metadata);
	user.samples = samples_new(writer, user.symbols);
	user.spans = user_spans_new(plan, user.symbols);
	processes_show(user.processes);
	r = user_spans_look(user.spans, export, err);
	while (r == 0 && trace_next(export, reader, &event)) {
		if (event.ts < export->begin) {
			continue;
		}
		if (event.class) {
			take(&user, &event);
		} else {
			lose(&user, &event);
		}
	}
	writer_flush(writer);
	symbols_say_faults(user.symbols, export->setup->warn, export->setup->user);
	free_user(&user);
	return r;
}
