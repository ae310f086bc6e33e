/*
 * user-threads: see user-threads.h.
 */
#include "deep/executions/user-threads.h"

#include <assert.h>

#define NAMED_FOR_SURE 2 /* events in a row that name the same thread */

void user_threads_fini(struct user_threads *threads)
{
	user_thread_names_fini(&threads->named);
	user_thread_roots_fini(&threads->roots);
	user_thread_cpus_fini(&threads->cpus);
}

static const struct deep_cpu *numbered_cpu(const struct timeline *timeline, uint64_t id)
{
	VEC_EACH(&timeline->cpus, cpu) {
		if (cpu->id == id) {
			return cpu;
		}
	}
	return NULL;
}

/* The tid that runs on the event's CPU; 0: nobody does, or it is not known. */
static int32_t runs_there(struct user_threads *threads, const struct user_thread_event *event)
{
	const struct timeline *timeline = threads->owners->timeline;
	struct user_thread_cpu *cpu;
	const struct deep_thread *thread;
	uint32_t index;
	bool is_new;

	cpu = user_thread_cpus_put(&threads->cpus, event->cpu, &is_new);
	if (is_new) {
		*cpu = (struct user_thread_cpu){ .is = numbered_cpu(timeline, event->cpu) };
	}
	if (!cpu->is || event->ts < cpu->is->oncpus.at[0].begin || event->ts >= cpu->is->left) {
		return 0;
	}
	while (cpu->at + 1 < cpu->is->oncpus.count &&
	       cpu->is->oncpus.at[cpu->at + 1].begin <= event->ts) {
		cpu->at++;
	}
	index = cpu->is->oncpus.at[cpu->at].thread;
	if (index >= CPU_NOBODY) {
		return 0;
	}
	thread = timeline->threads.at[index];
	return event->ts < thread->renamed_ts ? thread->former_tid : thread->tid;
}

static uint64_t vpid_of(const struct user_thread_event *event)
{
	return hash_bytes(event->trace, &event->vpid, sizeof(event->vpid));
}

/* The thread that has the tid at the time of the event; NULL: none. */
static const struct deep_thread *kernels_thread(const struct user_threads *threads, int32_t tid,
						uint64_t ts)
{
	uint32_t thread = tid > 0 ? owners_at(threads->owners, tid, NULL, ts, ts) : NOBODY;

	return thread == NOBODY ? NULL : threads->owners->timeline->threads.at[thread];
}

static bool was_running(const struct user_threads *threads, int32_t tid, uint64_t ts)
{
	const struct deep_thread *thread = kernels_thread(threads, tid, ts);
	size_t at = thread ? timeline_thread_before(thread, ts) : SIZE_MAX;

	return at != SIZE_MAX && timeline_state_runs(thread->intervals.at[at].state);
}

/* Notes that the number of the process is that of the running thread. */
static void note_number(struct user_threads *threads, const struct user_thread_event *event,
			int32_t runs, struct user_thread_named *named)
{
	named->times = named->tid == runs ? named->times + (named->times < UINT32_MAX) : 1;
	named->tid = runs;
	if (event->vtid == runs) {
		*user_thread_roots_put(&threads->roots, vpid_of(event), NULL) = true;
	}
}

int32_t user_threads_of(struct user_threads *threads, const struct user_thread_event *event)
{
	int32_t runs = runs_there(threads, event), by_number;
	struct user_thread_named *named;
	uint64_t key = vpid_of(event);
	bool is_root, is_new;

	if (event->vtid <= 0 || event->vtid > INT32_MAX) {
		return runs > 0 ? runs : -1;
	}
	named = user_thread_names_put(&threads->named,
				      hash_bytes(key, &event->vtid, sizeof(event->vtid)), &is_new);
	if (is_new) {
		*named = (struct user_thread_named){ 0 };
	}
	is_root = user_thread_roots_get(&threads->roots, key) != NULL;
	by_number = is_root ? (int32_t)event->vtid : named->tid;
	if (runs > 0 && runs != by_number && (is_root || named->times >= NAMED_FOR_SURE) &&
	    was_running(threads, by_number, event->ts)) {
		return by_number; /* it was moved to another CPU meanwhile */
	}
	if (runs > 0) {
		note_number(threads, event, runs, named);
		return runs;
	}
	return kernels_thread(threads, by_number, event->ts) ? by_number : -1;
}
