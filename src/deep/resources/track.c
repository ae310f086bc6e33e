/*
 * track: see track.h; CPUs, threads and the calls that they are in.
 */
#include "deep/resources/track.h"

#include <errno.h>
#include <stdlib.h>

#include "kernel/call-result.h"

void track_init(struct track *track)
{
	owners_init(&track->owners, track->timeline);
}

void track_fini(struct track *track)
{
	HASH_EACH(tracked_tasks, &track->tasks, one) {
		free(one->value->call.name);
		free(one->value);
	}
	HASH_EACH(tracked_names, &track->names, one) {
		free(one->value);
	}
	tracked_tasks_fini(&track->tasks);
	tracked_cpus_fini(&track->cpus);
	tracked_indexes_fini(&track->by_key);
	tracked_indexes_fini(&track->members);
	tracked_indexes_fini(&track->pairs);
	tracked_indexes_fini(&track->open);
	tracked_pids_fini(&track->pids);
	tracked_pids_fini(&track->parents);
	tracked_pids_fini(&track->tables);
	tracked_names_fini(&track->names);
	owners_fini(&track->owners);
}

struct cpu_track *track_cpu(struct track *track, uint64_t cpu)
{
	bool is_new;
	struct cpu_track *at = tracked_cpus_put(&track->cpus, cpu, &is_new);

	if (is_new) {
		*at = (struct cpu_track){ .expiring = NOBODY, .expired = NOBODY };
	}
	return at;
}

/* Drops the call if events were missing since it was entered. */
void track_refresh(const struct track *track, struct task *task)
{
	if (task->epoch != track->epoch) {
		task->epoch = track->epoch;
		track->resources->cut += task->call.kind != CALL_NONE;
		free(task->call.name);
		task->call = (struct track_call){ 0 };
	}
}

struct task *track_task(const struct track *track, int32_t tid)
{
	struct task **at = tracked_tasks_get(&track->tasks, (uint64_t)(uint32_t)tid);

	if (!at) {
		return NULL;
	}
	track_refresh(track, *at);
	return *at;
}

struct task *track_task_made(struct track *track, int32_t tid)
{
	struct task *task = track_task(track, tid);

	if (tid <= 0 || task) {
		return tid <= 0 ? NULL : task;
	}
	task = mem_alloc(sizeof(*task));
	task->tid = tid;
	task->epoch = track->epoch;
	*tracked_tasks_put(&track->tasks, (uint64_t)(uint32_t)tid, NULL) = task;
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
	int64_t *at = tracked_pids_get(&track->pids, (uint64_t)(uint32_t)tid);
	uint32_t thread;

	if (at) {
		return *at;
	}
	thread = track_thread(track, tid, ts);
	return thread == NOBODY ? -1 : track->timeline->threads.at[thread]->pid;
}

void track_drop_call(struct track *track, struct task *task)
{
	struct track_call *call = &task->call;

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
	*call = (struct track_call){ 0 };
}

enum outcome track_outcome(int64_t ret)
{
	if (ret >= 0) {
		return OUTCOME_DONE;
	}
	if (ret == -EAGAIN) {
		return OUTCOME_AGAIN;
	}
	if (ret == -ETIMEDOUT) {
		return OUTCOME_TIMED_OUT;
	}
	return ret == -EINTR || call_restarts(ret) ? OUTCOME_INTERRUPTED : OUTCOME_FAILED;
}
