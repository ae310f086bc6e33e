/*
 * trace-user: the events of a trace of user space, or of any other that is not a kernel's.
 *
 * Each event is an instant on the track of its thread, which the contexts vtid and vpid name, or of
 * its CPU.  Two events whose names differ in their last word, which says begin and end, are a slice
 * instead; slices of a thread nest.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "perfetto/trace.h"
#include "perfetto/tracks.h"

#define OPEN_MAX 64 /* slices of a thread that are open; further ones are instants */

enum { VTID, VPID, PROCNAME };

const struct plan_request user_requests[] = {
	{ .event = "*", .fields = { "context.vtid", "context.vpid", "@context.procname" } },
};
const size_t user_request_count = 1;

static const struct {
	const char *opens, *closes;
} words[] = { { "entry", "exit" }, { "enter", "exit" },   { "enter", "leave" },
	      { "begin", "end" },  { "start", "end" },    { "start", "stop" },
	      { "start", "done" }, { "start", "finish" }, { "before", "after" } };

enum role { ROLE_UNKNOWN, ROLE_INSTANT, ROLE_OPENS, ROLE_CLOSES };

/* What an event class is shown as. */
struct shown_class {
	enum role role;
	char *name; /* of the instant, or what both events of a slice have in common */
};

struct user_thread {
	uint64_t track;
	uint32_t open_count;
	const char *open[OPEN_MAX]; /* names of the open slices, the innermost last */
};

HASH_MAP(user_threads, struct user_thread *)

struct user {
	struct perfetto *writer;
	const struct plan *plan;
	struct shown_class *classes; /* by index */
	struct user_threads threads; /* by pid and tid */
	struct user_threads cpus;    /* of events that name no thread */
	uint64_t lost_track;
};

/* ---- pairs of events ---- */

/* The length of what stands before @word at the end of @name; 0: nothing, or another word. */
static size_t stem_of(const char *name, const char *word)
{
	size_t len = strlen(name), end = strlen(word);

	if (len <= end + 1 || strcmp(name + len - end, word) != 0 ||
	    !strchr("_:.-", name[len - end - 1])) {
		return 0;
	}
	return len - end;
}

/* Whether the trace has the event that begins like this one and ends with @word. */
static bool has_partner(const struct plan *plan, const char *name, size_t stem, const char *word)
{
	char *partner = mem_printf("%.*s%s", (int)stem, name, word);
	bool has = plan_has_event(plan, partner);

	free(partner);
	return has;
}

static const struct shown_class *shown_as(struct user *user, const struct plan_event *class)
{
	struct shown_class *shown = &user->classes[class->index];
	const char *name = class->class->name;

	if (shown->role != ROLE_UNKNOWN) {
		return shown;
	}
	for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
		size_t opens = stem_of(name, words[i].opens),
		       closes = stem_of(name, words[i].closes);

		if (opens > 0 && has_partner(user->plan, name, opens, words[i].closes)) {
			shown->role = ROLE_OPENS;
			shown->name = mem_printf("%.*s", (int)opens - 1, name);
			return shown;
		}
		if (closes > 0 && has_partner(user->plan, name, closes, words[i].opens)) {
			shown->role = ROLE_CLOSES;
			shown->name = mem_printf("%.*s", (int)closes - 1, name);
			return shown;
		}
	}
	shown->role = ROLE_INSTANT;
	shown->name = mem_strdup(name);
	return shown;
}

/* ---- threads ---- */

static struct user_thread *thread_of(struct user *user, const struct reader_event *event)
{
	const struct value *v = event->values;
	bool has_tid = reader_has(event, VTID);
	int32_t tid = has_tid ? (int32_t)v[VTID].i : -1;
	int32_t pid = reader_has(event, VPID) ? (int32_t)v[VPID].i : -1;
	struct user_threads *table = has_tid ? &user->threads : &user->cpus;
	uint64_t key = has_tid ? (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid : event->cpu;
	struct user_thread *thread;
	char name[PERFETTO_NAME];
	bool is_new;
	struct user_thread **at = user_threads_put(table, key, &is_new);

	if (!is_new) {
		return *at;
	}
	thread = *at = mem_alloc(sizeof(*thread));
	if (!has_tid) {
		(void)snprintf(name, sizeof(name), "CPU %lld", (long long)event->cpu);
		thread->track =
			tracks_add(user->writer, 0, event->cpu == UINT64_MAX ? "events" : name);
		return thread;
	}
	if (reader_has(event, PROCNAME)) {
		trace_name(name, &v[PROCNAME]);
	}
	thread->track = tracks_add_thread(user->writer, pid, tid,
					  reader_has(event, PROCNAME) ? name : NULL);
	return thread;
}

static void free_threads(struct user_threads *threads)
{
	HASH_EACH(user_threads, threads, one) {
		free(one->value);
	}
	user_threads_fini(threads);
}

/* ---- events ---- */

/* Ends the innermost open slice of this name, and those inside, whose ends are missing.  False:
 * none is open. */
static bool close_slice(struct user *user, struct user_thread *thread, uint64_t ts,
			const char *name)
{
	uint32_t at = thread->open_count;

	assert(thread->open_count <= OPEN_MAX);
	while (at > 0 && strcmp(thread->open[at - 1], name) != 0) {
		at--;
	}
	if (at == 0) {
		return false;
	}
	for (; thread->open_count >= at; thread->open_count--) {
		tracks_end(user->writer, thread->track, ts);
	}
	return true;
}

static void take(struct user *user, const struct reader_event *event)
{
	const struct shown_class *shown = shown_as(user, event->class);
	struct user_thread *thread = thread_of(user, event);
	bool nests = reader_has(event, VTID);

	if (nests && shown->role == ROLE_OPENS && thread->open_count < OPEN_MAX) {
		thread->open[thread->open_count++] = shown->name;
		tracks_begin(user->writer, thread->track, event->ts, shown->name,
			     (struct tracks_flow){ 0 });
	} else if (!nests || shown->role != ROLE_CLOSES ||
		   !close_slice(user, thread, event->ts, shown->name)) {
		tracks_instant(user->writer, thread->track, event->ts, event->class->class->name);
	}
}

/* From a loss on it is unknown which slices are open: all of them end there. */
static void close_all(struct user *user, uint64_t ts)
{
	HASH_EACH(user_threads, &user->threads, one) {
		struct user_thread *thread = one->value;

		for (; thread->open_count > 0; thread->open_count--) {
			tracks_end(user->writer, thread->track, ts);
		}
	}
}

static void lose(struct user *user, const struct reader_event *event)
{
	char text[64] = "events lost";

	if (user->lost_track == 0) {
		user->lost_track = tracks_add(user->writer, 0, "events lost");
	}
	if (event->cpu != UINT64_MAX) {
		(void)snprintf(text, sizeof(text), "CPU %llu: events lost",
			       (unsigned long long)event->cpu);
	}
	tracks_instant(user->writer, user->lost_track, event->ts, text);
	close_all(user, event->ts);
}

void trace_write_user(struct perfetto *writer, struct trace_export *export, struct reader *reader)
{
	struct user user = {
		.writer = writer,
		.plan = reader_plan(reader),
	};
	struct reader_event event;

	user.classes = mem_alloc((user.plan->class_count + 1) * sizeof(*user.classes));
	while (trace_next(export, reader, &event)) {
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
	for (size_t i = 0; i < user.plan->class_count; i++) {
		free(user.classes[i].name);
	}
	free(user.classes);
	free_threads(&user.threads);
	free_threads(&user.cpus);
}
