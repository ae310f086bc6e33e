/*
 * state-objects: what open calls wait for, in time order over all threads; see state.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyses/state/state.h"

/* "fd=3 path=/var/log/x": the end of a path says more than its begin.  Of a socket of which no
 * more is known the call says as much. */
static void describe_descriptor(struct shard *shard, const struct instance *instance, size_t len,
				char text[INSTANCE_BY_BYTES])
{
	struct state_trace *trace = shard_trace_state(shard);
	const struct state_own *own = shard_thread_state(shard, instance->thread);
	const struct state_call *call = &own->now.call;
	const struct fd_file *file = fds_file_at(&trace->fds, fds_key(instance->thread, &own->fds),
						 (int32_t)call->what, call->entry_ts);
	size_t room = INSTANCE_BY_BYTES - len - sizeof(" path=.."), size;

	if (!file || file->kind == FD_UNKNOWN || file->kind == FD_SOCKET) {
		return;
	}
	size = strlen(file->name);
	(void)snprintf(text + len, INSTANCE_BY_BYTES - len, " path=%s%s", size > room ? ".." : "",
		       size > room ? file->name + size - room : file->name);
}

/* What a listed thread waits for, once all that is known. */
static void describe(struct shard *shard, struct instance *instance)
{
	const struct state_thread *state = shard_thread_state(shard, instance->thread);
	const struct state_call *call = &state->call;
	const char *object = wait_object_name((enum wait_object)call->object);
	bool is_descriptor = wait_object_is_descriptor(call->object);
	int len;

	if (call->known != CALL_OPEN || !object || !instance->keyed.name[0]) {
		return;
	}
	if (call->object == WAIT_FOR_FUTEX) {
		state_futex_describe(shard_trace_state(shard),
				     state_futex_key(instance->thread, state), instance->by);
		return;
	}
	len = snprintf(instance->by, sizeof(instance->by),
		       is_descriptor || call->what != 0 ? "%s=%" PRIu64 : "%s", object, call->what);
	if (is_descriptor) {
		describe_descriptor(shard, instance, (size_t)len, instance->by);
	}
}

void state_objects_window_end(struct shard *shard, void *state, uint64_t end)
{
	shard_each_long(shard, OPEN, describe);
	shard_each_long(shard, BLOCKED, describe);
	state_futex_window_end(state);
}

void state_objects_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	struct state_trace *trace = state;
	const struct state_own *own = shard_thread_state(ordered->shard, ordered->thread);

	if (ordered->kind == NOTE_WOKEN) {
		state_futex_woken(trace, ordered);
	} else {
		fds_ordered(&trace->fds, ordered, &own->fds);
	}
}

void state_objects_forget(void *state)
{
	struct state_trace *trace = state;

	fds_forget(&trace->fds);
	state_futex_forget(trace);
}

void state_objects_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct state_trace *trace = state;

	fds_codec(checkpoint->codec, &trace->fds);
	state_futex_codec(checkpoint->codec, trace);
}
