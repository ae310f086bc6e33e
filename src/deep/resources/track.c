/*
 * track: see track.h; CPUs, threads and the calls that they are in.
 */
#include "deep/resources/track.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "deep/resources/rows.h"

void track_init(struct track *track)
{
	owners_init(&track->owners, track->timeline);
	track->tasks = kh_init(tracked_tasks);
	track->cpus = kh_init(tracked_cpus);
	track->by_key = kh_init(tracked_indexes);
	track->members = kh_init(tracked_indexes);
	track->pairs = kh_init(tracked_indexes);
	track->open = kh_init(tracked_indexes);
	track->pids = kh_init(tracked_pids);
	track->parents = kh_init(tracked_pids);
	track->tables = kh_init(tracked_pids);
	track->names = kh_init(tracked_names);
}

void track_fini(struct track *track)
{
	for (khint_t at = kh_begin(track->tasks); at != kh_end(track->tasks); at++) {
		if (kh_exist(track->tasks, at)) {
			free(kh_value(track->tasks, at)->call.name);
			free(kh_value(track->tasks, at));
		}
	}
	for (khint_t at = kh_begin(track->names); at != kh_end(track->names); at++) {
		if (kh_exist(track->names, at)) {
			free(kh_value(track->names, at));
		}
	}
	kh_destroy(tracked_tasks, track->tasks);
	kh_destroy(tracked_cpus, track->cpus);
	kh_destroy(tracked_indexes, track->by_key);
	kh_destroy(tracked_indexes, track->members);
	kh_destroy(tracked_indexes, track->pairs);
	kh_destroy(tracked_indexes, track->open);
	kh_destroy(tracked_pids, track->pids);
	kh_destroy(tracked_pids, track->parents);
	kh_destroy(tracked_pids, track->tables);
	kh_destroy(tracked_names, track->names);
	owners_fini(&track->owners);
}

struct cpu_track *track_cpu(struct track *track, uint64_t cpu)
{
	int is_new;
	khint_t at = kh_put(tracked_cpus, track->cpus, cpu, &is_new);

	if (is_new) {
		kh_value(track->cpus, at) =
			(struct cpu_track){ .expiring = NOBODY, .expired = NOBODY };
	}
	return &kh_value(track->cpus, at);
}

/* Drops the call if events were missing since it was entered. */
void track_refresh(const struct track *track, struct task *task)
{
	if (task->epoch != track->epoch) {
		task->epoch = track->epoch;
		track->resources->cut += task->call.kind != CALL_NONE;
		free(task->call.name);
		task->call = (struct call){ 0 };
	}
}

struct task *track_task(const struct track *track, int32_t tid)
{
	khint_t at = kh_get(tracked_tasks, track->tasks, (uint64_t)(uint32_t)tid);

	if (at == kh_end(track->tasks)) {
		return NULL;
	}
	track_refresh(track, kh_value(track->tasks, at));
	return kh_value(track->tasks, at);
}

struct task *track_task_made(struct track *track, int32_t tid)
{
	struct task *task = track_task(track, tid);
	int is_new;
	khint_t at;

	if (tid <= 0 || task) {
		return tid <= 0 ? NULL : task;
	}
	task = mem_alloc(sizeof(*task));
	task->tid = tid;
	task->epoch = track->epoch;
	at = kh_put(tracked_tasks, track->tasks, (uint64_t)(uint32_t)tid, &is_new);
	kh_value(track->tasks, at) = task;
	return task;
}

uint32_t track_thread(const struct track *track, int32_t tid, uint64_t ts)
{
	ts = ts < track->timeline->begin ? track->timeline->begin : ts;
	ts = ts > track->timeline->end ? track->timeline->end : ts;
	return owners_at(&track->owners, tid, NULL, ts, ts);
}

int64_t track_pid(const struct track *track, int32_t tid, uint64_t ts)
{
	khint_t at = kh_get(tracked_pids, track->pids, (uint64_t)(uint32_t)tid);
	uint32_t thread;

	if (at != kh_end(track->pids)) {
		return kh_value(track->pids, at);
	}
	thread = track_thread(track, tid, ts);
	return thread == NOBODY ? -1 : track->timeline->threads.at[thread]->pid;
}

void track_drop_call(struct track *track, struct task *task)
{
	struct call *call = &task->call;

	if (call->kind == CALL_WAIT || call->kind == CALL_SEND || call->kind == CALL_RECEIVE) {
		struct resource *of = track_at(track, call->resource);
		size_t kept = 0;

		for (size_t i = 0; i < of->sleepers.count; i++) {
			if (of->sleepers.at[i] != task->tid) {
				of->sleepers.at[kept++] = of->sleepers.at[i];
			}
		}
		of->sleepers.count = kept;
		of->senders -= call->kind == CALL_SEND;
		of->receivers -= call->kind == CALL_RECEIVE;
		of->handed -= call->was_handed;
	}
	track->resources->cut += call->kind != CALL_NONE && call->kind != CALL_OPEN_QUEUE;
	free(call->name);
	*call = (struct call){ 0 };
}

enum outcome track_outcome(int64_t ret)
{
	/* The kernel's own codes by which a call begins again after a signal. */
	enum { RESTART_FIRST = 512, RESTART_LAST = 516 };

	if (ret >= 0) {
		return OUTCOME_DONE;
	}
	if (ret == -EAGAIN) {
		return OUTCOME_AGAIN;
	}
	if (ret == -ETIMEDOUT) {
		return OUTCOME_TIMED_OUT;
	}
	return ret == -EINTR || (ret <= -RESTART_FIRST && ret >= -RESTART_LAST)
		       ? OUTCOME_INTERRUPTED
		       : OUTCOME_FAILED;
}
