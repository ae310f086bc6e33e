/*
 * state-futex: see state.h.
 *
 * Who holds a futex the trace does not say, but of a lock that knows its owner (PI): a thread that
 * is about to wait for it lends its priority to the owner; and as long as any thread waits, the
 * owner changes only when it wakes the next one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyses/state/state.h"
#include "base/hash.h"
#include "base/limits.h"

struct futex {
	uint64_t used_ts; /* ns: when it was looked at last */
	int32_t woken_by; /* the thread that woke one here last; 0: none, as far as is known */
	int32_t owner;    /* of a PI lock, 0: unknown; known at owner_ts */
	uint64_t owner_ts;
	/* At the end of a window; 0 between. */
	uint64_t first_entry; /* of those that wait */
	uint32_t waiters;
};

static uint32_t futex_hash(struct futex_key key)
{
	return hash_u64(key.address ^ (uint64_t)key.of << 48 ^ (uint64_t)key.of);
}

static bool futex_equal(struct futex_key a, struct futex_key b)
{
	return a.of == b.of && a.address == b.address;
}

HASH_MAP_BY(futexes, struct futex_key, struct futex, futex_hash, futex_equal)

struct futex_key state_futex_key(const struct thread *thread, const struct state_thread *state)
{
	struct futex_key key = { .of = -1, .address = state->call.what };

	if (state->call.op & FUTEX_OP_PRIVATE) {
		key.of = state->pid > 0 ? state->pid : -2 - (int64_t)shard_tid(thread);
	}
	return key;
}

static struct futex *used_futex(struct state_trace *trace, struct futex_key key, uint64_t ts)
{
	struct futex *futex;

	trace->futexes = trace->futexes ? trace->futexes : mem_alloc(sizeof(*trace->futexes));
	futex = futexes_put(trace->futexes, key, NULL);
	futex->used_ts = ts > futex->used_ts ? ts : futex->used_ts;
	return futex;
}

void state_futex_woken(struct state_trace *trace, const struct ordered *ordered)
{
	const uint64_t *words = ordered->words;
	const struct futex_key key = { (int64_t)words[WOKEN_OF], words[WOKEN_ADDRESS] };
	struct futex *futex = used_futex(trace, key, ordered->ts);
	int32_t by = (int32_t)words[WOKEN_BY];

	/* Not a signal: only who holds the lock gives it away. */
	if (words[WOKEN_IS_PI] && futex->owner == by) {
		futex->owner = (int32_t)words[WOKEN_TID];
		futex->owner_ts = ordered->ts;
	}
	futex->woken_by = by;
}

void state_futex_waits(struct state_trace *trace, struct futex_key key,
		       const struct state_thread *state)
{
	const struct state_call *call = &state->call;
	struct futex *futex = used_futex(trace, key, call->entry_ts);

	if (futex->waiters++ == 0 || call->entry_ts < futex->first_entry) {
		futex->first_entry = call->entry_ts;
	}
	if (call->owner != 0 && call->entry_ts >= futex->owner_ts) {
		futex->owner = call->owner;
		futex->owner_ts = call->entry_ts;
	}
}

void state_futex_describe(const struct state_trace *trace, struct futex_key key,
			  char text[INSTANCE_BY_BYTES])
{
	const struct futex *futex = trace->futexes ? futexes_get(trace->futexes, key) : NULL;
	struct futex none = { 0 };
	size_t room = INSTANCE_BY_BYTES, len;

	futex = futex ? futex : &none;
	len = (size_t)snprintf(text, room, "futex=0x%" PRIx64 " waiters=%u", key.address,
			       futex->waiters);
	if (futex->woken_by != 0) {
		len += (size_t)snprintf(text + len, room - len, " last_woken_by=%d",
					futex->woken_by);
	}
	if (futex->owner != 0 && futex->waiters > 0 && futex->owner_ts >= futex->first_entry) {
		(void)snprintf(text + len, room - len, " owner=%d", futex->owner);
	}
}

ORDER_VALUES(by_time, uint64_t)

/* Of too many, those go that were not used for longest and for which nobody waits. */
static void bound(struct futexes *futexes)
{
	VEC(uint64_t) times = { 0 };
	uint64_t last;
	struct futexes_entry *entry = futexes_next(futexes, NULL, NULL);

	HASH_EACH(futexes, futexes, one) {
		*vec_push(&times) = one->value.used_ts;
	}
	vec_sort(&times, by_time);
	last = times.at[times.count / 2];
	while (entry) {
		entry = entry->value.used_ts <= last && entry->value.waiters == 0
				? futexes_remove(futexes, NULL, entry)
				: futexes_next(futexes, NULL, entry);
	}
	vec_fini(&times);
}

void state_futex_window_end(struct state_trace *trace)
{
	if (!trace->futexes) {
		return;
	}
	if (trace->futexes->used > FUTEXES_NOW_MAX) {
		bound(trace->futexes);
	}
	HASH_EACH(futexes, trace->futexes, one) {
		one->value.waiters = 0;
		one->value.first_entry = 0;
	}
}

void state_futex_forget(struct state_trace *trace)
{
	if (trace->futexes) {
		futexes_fini(trace->futexes);
	}
	free(trace->futexes);
}

static void futex_codec(struct codec *codec, struct futex_key *key, struct futex *futex)
{
	codec_each(codec, &key->of, &key->address, &futex->used_ts, &futex->woken_by, &futex->owner,
		   &futex->owner_ts);
}

void state_futex_codec(struct codec *codec, struct state_trace *trace)
{
	size_t count = codec_count(codec, trace->futexes ? trace->futexes->used : 0, 40);
	struct futex_key key;
	struct futex futex = { 0 };

	if (!codec_reads(codec) && trace->futexes) {
		HASH_EACH(futexes, trace->futexes, one) {
			futex_codec(codec, &one->key, &one->value);
		}
	}
	for (size_t i = 0; codec_reads(codec) && i < count && codec_check(codec, true); i++) {
		futex_codec(codec, &key, &futex);
		*used_futex(trace, key, 0) = futex;
	}
}
