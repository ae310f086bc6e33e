/*
 * queues: see resources.h; POSIX message queues.
 *
 * A queue is known by its name, from the call that opened it or from the state dump; without that
 * by its process and descriptor.  How many messages it holds is an estimate: those sent less those
 * received, since the trace began.  If more were received than sent, the rest was there before.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "deep/resources/queues.h"
#include "deep/resources/rows.h"

/* Processes that inherit descriptors from each other. */
#define ANCESTORS_MAX 16
#define NAME_MAX_     255

static uint64_t descriptor_key(uint64_t owner, int64_t descriptor)
{
	uint64_t hash = hash_bytes(0, &owner, sizeof(owner));

	return hash_bytes(hash, &descriptor, sizeof(descriptor));
}

/* A queue's name without the slash of its file; NULL: empty. */
static char *name_of(const struct value *value)
{
	size_t len = value->len > NAME_MAX_ ? NAME_MAX_ : (size_t)value->len;
	const char *text = (const char *)value->bytes;

	len = strnlen(text, len);
	if (len > 0 && text[0] == '/') {
		text++;
		len--;
	}
	return len > 0 ? mem_printf("%.*s", (int)len, text) : NULL;
}

void queues_file(struct track *track, const struct reader_event *event)
{
	enum { TABLE, PID, DESCRIPTOR, NAME };
	const struct value *v = event->values;
	uint64_t owner;
	char **at;
	char *name;
	bool is_new;

	if (!reader_has(event, DESCRIPTOR) || !reader_has(event, NAME) ||
	    !(reader_has(event, TABLE) || reader_has(event, PID)) ||
	    track->names.used >= RESOURCE_NAMES_MAX) {
		return;
	}
	owner = reader_has(event, TABLE) ? v[TABLE].u : (uint64_t)v[PID].i;
	name = name_of(&v[NAME]);
	if (!name) {
		return;
	}
	at = tracked_names_put(&track->names, descriptor_key(owner, v[DESCRIPTOR].i), &is_new);
	if (!is_new) {
		free(*at);
	}
	*at = name;
}

/* The name that the state dump gives the process' descriptor; NULL: none. */
static const char *dumped_name(const struct track *track, int64_t pid, int64_t descriptor)
{
	int64_t *table = tracked_pids_get(&track->tables, (uint64_t)pid);
	uint64_t owner = !table ? (uint64_t)pid : (uint64_t)*table;
	char **at = tracked_names_get(&track->names, descriptor_key(owner, descriptor));

	return at ? *at : NULL;
}

static int64_t parent_of(const struct track *track, int64_t pid)
{
	const int64_t *parent = tracked_pids_get(&track->parents, (uint64_t)pid);

	return parent ? *parent : -1;
}

static uint32_t queue_at(struct track *track, int32_t tid, uint64_t ts, int64_t descriptor)
{
	int64_t pid = track_pid(track, tid, ts), of = pid;

	for (unsigned int i = 0; i < ANCESTORS_MAX && of >= 0; i++) {
		uint32_t *at =
			tracked_indexes_get(&track->open, descriptor_key((uint64_t)of, descriptor));
		const char *name = dumped_name(track, of, descriptor);

		if (at) {
			if (*at == NOBODY) {
				break; /* closed */
			}
			rows_refresh(track, *at);
			return *at;
		}
		if (name) {
			return rows_resource(track, RESOURCE_QUEUE, -1, 0, name);
		}
		of = parent_of(track, of);
	}
	return rows_resource(track, RESOURCE_QUEUE, pid < 0 ? -2 - (int64_t)tid : pid,
			     (uint64_t)descriptor, NULL);
}

static void set_open(struct track *track, int64_t pid, int64_t descriptor, uint32_t queue)
{
	uint64_t key = descriptor_key((uint64_t)pid, descriptor);

	if (track->open.used >= RESOURCE_NAMES_MAX && !tracked_indexes_get(&track->open, key)) {
		return;
	}
	*tracked_indexes_put(&track->open, key, NULL) = queue;
}

void queues_opened(struct track *track, struct task *task, const struct reader_event *event)
{
	int64_t ret = event->values[EXIT_RET].i, pid = track_pid(track, task->tid, event->ts);
	uint32_t queue;

	if (ret >= 0 && pid >= 0 && task->call.name) {
		queue = rows_resource(track, RESOURCE_QUEUE, -1, 0, task->call.name);
		if (queue != NOBODY) {
			set_open(track, pid, ret, queue);
		}
	}
	free(task->call.name);
	task->call = (struct track_call){ 0 };
}

void queues_close(struct track *track, const struct reader_event *event)
{
	int32_t tid = track_cpu(track, event->cpu)->tid;
	int64_t pid = tid > 0 ? track_pid(track, tid, event->ts) : -1, of = pid;

	/* Only descriptors of queues: the process', or one that it inherited. */
	for (unsigned int i = 0;
	     i < ANCESTORS_MAX && of >= 0 && reader_has(event, QUEUE_DESCRIPTOR); i++) {
		int64_t descriptor = event->values[QUEUE_DESCRIPTOR].i;
		uint32_t *at =
			tracked_indexes_get(&track->open, descriptor_key((uint64_t)of, descriptor));

		if (at || dumped_name(track, of, descriptor)) {
			set_open(track, pid, descriptor, NOBODY);
			return;
		}
		of = parent_of(track, of);
	}
}

/* ---- calls ---- */

void queues_enter(struct track *track, const struct reader_event *event, unsigned int kind)
{
	const struct value *v = event->values;
	int32_t tid = track_cpu(track, event->cpu)->tid;
	struct track_call call = { .since = event->ts, .resource = NOBODY, .other = NOBODY };
	struct task *task = track_task_made(track, tid);

	if (!task) {
		return;
	}
	track_drop_call(track, task);
	if (kind == ON_MQ_OPEN) {
		call.kind = CALL_OPEN_QUEUE;
		call.name = reader_has(event, QUEUE_NAME) ? name_of(&v[QUEUE_NAME]) : NULL;
		task->call = call;
		return;
	}
	if (!reader_has(event, QUEUE_DESCRIPTOR)) {
		return;
	}
	call.kind = kind == ON_MQ_SEND ? CALL_SEND : CALL_RECEIVE;
	call.resource = queue_at(track, tid, event->ts, v[QUEUE_DESCRIPTOR].i);
	call.bytes = reader_has(event, QUEUE_BYTES) ? v[QUEUE_BYTES].u : 0;
	if (call.resource == NOBODY) {
		return;
	}
	if (call.kind == CALL_SEND) {
		track_at(track, call.resource)->senders++;
	} else {
		track_at(track, call.resource)->receivers++;
	}
	task->call = call;
}

void queues_handed(const struct track *track, struct track_call *call, bool is_handed)
{
	struct resource *queue = track_at(track, call->resource);

	if (call->was_handed != is_handed) {
		call->was_handed = is_handed;
		queue->handed += is_handed ? 1 : (uint64_t)-1;
	}
}

/* A message came or went; the call itself is not counted among the senders any more. */
static void count_message(const struct track *track, struct resource *queue, bool is_send,
			  uint64_t ts)
{
	int64_t held;

	queue->balance += is_send ? 1 : -1;
	/* What the senders inside send may be received before they return. */
	held = queue->balance + (int64_t)queue->senders;
	queue->least = held < queue->least ? held : queue->least;
	if (!track_counts(track, ts)) {
		queue->depth_begin = queue->depth_max = queue->balance;
		return;
	}
	/* A receiver that was handed a message takes it from no queue. */
	held = queue->balance - (int64_t)queue->handed;
	queue->depth_max = held > queue->depth_max ? held : queue->depth_max;
}

static void add_slept(struct track *track, const struct task *task, uint32_t thread, uint64_t end,
		      enum outcome outcome)
{
	const struct track_call *call = &task->call;
	struct resource *queue = track_at(track, call->resource);
	struct resource_member *member = rows_member(track, call->resource, thread);
	bool is_sender = call->kind == CALL_SEND;
	uint64_t ns = rows_part(track, call->sleep, end);
	uint32_t by = outcome == OUTCOME_DONE && call->waker > 0
			      ? track_thread(track, call->waker, end)
			      : NOBODY;

	rows_sum(is_sender ? &queue->full : &queue->waits, ns);
	member->waits++;
	member->total_ns += ns;
	member->longest_ns = ns > member->longest_ns ? ns : member->longest_ns;
	if (by != NOBODY) {
		rows_pair(track, call->resource,
			  (struct resource_pair){ .by = by, .who = thread, .is_sender = is_sender },
			  ns);
		rows_touch(track, call->resource, by, end);
	}
}

static void add_interval(struct track *track, const struct task *task, uint32_t thread, uint64_t ts,
			 uint64_t slept_until, enum outcome outcome)
{
	const struct track_call *call = &task->call;
	const struct resource *queue = track_at(track, call->resource);
	bool is_sender = call->kind == CALL_SEND, is_done = outcome == OUTCOME_DONE;
	bool is_calm = is_done && (is_sender || !call->has_slept);
	struct resource_interval interval = { .begin = call->since,
					      .end = ts,
					      .who = thread,
					      .by = NOBODY,
					      .senders = (uint32_t)queue->senders + is_sender,
					      .receivers = (uint32_t)queue->receivers + !is_sender,
					      .outcome = (uint8_t)outcome,
					      .has_slept = call->has_slept };

	interval.state = is_sender ? (is_calm ? QUEUE_SEND : QUEUE_FULL)
				   : (is_calm ? QUEUE_RECEIVE : QUEUE_EMPTY);
	if (call->has_slept && is_done && call->waker > 0) {
		interval.by = track_thread(track, call->waker, slept_until);
	}
	if (!is_calm) {
		if (!call->has_slept && outcome != OUTCOME_AGAIN && outcome != OUTCOME_TIMED_OUT) {
			return; /* it says nothing of the queue */
		}
		interval.begin = call->has_slept ? call->sleep : ts;
		interval.end = call->has_slept ? slept_until : ts;
	}
	rows_interval(track, call->resource, interval);
}

static void count_call(struct track *track, const struct task *task, uint32_t thread, int64_t ret,
		       enum outcome outcome)
{
	const struct track_call *call = &task->call;
	struct resource *queue = track_at(track, call->resource);
	struct resource_member *member = rows_member(track, call->resource, thread);

	queue->calls++;
	queue->outcomes[outcome]++;
	if (outcome != OUTCOME_DONE) {
		return;
	}
	if (call->kind == CALL_SEND) {
		queue->sent++;
		queue->bytes_sent += call->bytes;
		member->sends++;
	} else {
		queue->received++;
		queue->bytes_received += (uint64_t)ret;
		member->receives++;
	}
}

void queues_leave(struct track *track, struct task *task, uint64_t ts, int64_t ret,
		  enum outcome outcome)
{
	struct track_call *call = &task->call;
	struct resource *queue = track_at(track, call->resource);
	uint32_t thread = track_thread(track, task->tid, ts);
	bool is_over = call->has_slept && !call->is_asleep && call->wake != 0;
	uint64_t slept_until = is_over ? call->wake : ts;

	queues_handed(track, call, false);
	if (call->kind == CALL_SEND) {
		queue->senders--;
	} else {
		queue->receivers--;
	}
	if (outcome == OUTCOME_DONE) {
		count_message(track, queue, call->kind == CALL_SEND, ts);
	}
	if (track_counts(track, ts)) {
		rows_touch(track, call->resource, thread, ts);
		count_call(track, task, thread, ret, outcome);
		if (call->has_slept && slept_until >= track->timeline->begin) {
			add_slept(track, task, thread, slept_until, outcome);
		}
		add_interval(track, task, thread, ts, slept_until, outcome);
	}
	*call = (struct track_call){ 0 };
}
