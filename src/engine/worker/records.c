/*
 * records: see records.h.
 */
#include "engine/worker/records.h"

#include <assert.h>

#include "base/hash.h"
#include "query/fields.h"

/* ---- groups ---- */

#define PLACES_MIN 256 /* a power of two */

static inline bool places_is_used(const struct worker *worker, const struct group_place *place)
{
	return place->epoch == worker->places_epoch;
}

static inline int64_t places_key(const struct worker *worker, const struct group_place *place)
{
	return worker_group(worker, place->group)->key;
}

HASH_PROBED_CODE(places, struct group_place, const struct worker *)

void worker_groups_init(struct worker *worker)
{
	places_init(&worker->places, PLACES_MIN);
}

void worker_groups_fini(struct worker *worker)
{
	places_fini(&worker->places);
}

/* The table shrinks when it is much larger than needed: else its places are in no cache. */
void worker_forget_groups(struct worker *worker)
{
	struct places *places = &worker->places;

	if (places->used < places->mask / 8 && places->mask >= PLACES_MIN) {
		places->mask /= 2;
	}
	places->used = 0;
	worker->group = RECORD_NONE;
	if (++worker->places_epoch == 0) { /* once in 2^32 times: old epochs must stay unused */
		worker_groups_fini(worker);
		worker_groups_init(worker);
		worker->places_epoch = 1;
	}
}

/* A new group, which goes to the place of @key.  @place, which is that one, may move. */
static uint32_t group_new(struct worker *worker, struct group_place *place, int64_t key)
{
	if (!places_is_used(worker, place)) {
		place = places_add_at(&worker->places, worker, place, key);
		place->epoch = worker->places_epoch;
	}
	place->group = partial_add_group(worker->draft, key);
	return place->group;
}

uint32_t worker_group_of(struct worker *worker, int64_t key)
{
	struct group_place *place = places_find(&worker->places, worker, key);

	return places_is_used(worker, place) ? place->group : group_new(worker, place, key);
}

uint32_t worker_group_new(struct worker *worker, int64_t key)
{
	return group_new(worker, places_find(&worker->places, worker, key), key);
}

/* ---- names ---- */

const char *worker_name_bytes(const struct value *value, char scratch[NAME_BYTES])
{
	size_t len = value->len < NAME_BYTES - 1 ? value->len : NAME_BYTES - 1;

	if (value->len == NAME_BYTES) {
		return (const char *)value->bytes;
	}
	memset(scratch, 0, NAME_BYTES);
	memcpy(scratch, value->bytes, len);
	return scratch;
}

uint32_t worker_group_named(struct worker *worker, int64_t key, const char *name)
{
	struct group_place *place = places_find(&worker->places, worker, key);
	uint32_t group =
		places_is_used(worker, place) ? place->group : group_new(worker, place, key);

	if (name && !worker_group_goes_by(worker_group(worker, group),
					  name)) { /* so it was in the table already */
		group = group_new(worker, place, key);
		worker_group_set_name(worker_group(worker, group), name);
	}
	return group;
}

/* @name may be NULL.  Known are both from the record on. */
static void tell_thread(struct worker *worker, uint64_t ts, int64_t key, int32_t pid,
			const char *name)
{
	uint32_t index = worker_group_named(worker, key, name);

	if (worker_group(worker, index)->pid == pid) {
		return;
	}
	if (worker_group(worker, index)->pid != INT32_MIN) {
		index = worker_group_new(worker, key);
		if (name) {
			worker_group_set_name(worker_group(worker, index), name);
		}
	}
	worker_group(worker, index)->pid = pid;
	(void)worker_add(worker, index, ts, RECORD_PROCESS);
}

int64_t worker_thread_of(struct worker *worker, const struct trace_event *event,
			 const struct thread_fields *fields)
{
	char scratch[NAME_BYTES];
	int32_t tid, pid;

	/* Beside a kernel's trace that says who runs on the CPU, which is no name of a container.
	 */
	if (worker_sees_switches(worker) || event_has(event, fields->tid) ||
	    !event_has(event, fields->vtid) ||
	    (worker->by_cpu && worker_is_beside(worker) && worker_cpu(worker) != UINT64_MAX)) {
		return worker_tid_of(worker, event, fields->tid);
	}
	tid = (int32_t)event->values[fields->vtid].i;
	pid = event->class->origin->vpid > 0 ? (int32_t)event->class->origin->vpid : -1;
	pid = fields->vpid != FIELD_NONE ? (int32_t)event_i64(event, fields->vpid, pid) : pid;
	if (tid > 0 && pid >= 0) {
		const struct value *name =
			fields->procname != FIELD_NONE && event_has(event, fields->procname)
				? &event->values[fields->procname]
				: NULL;

		tell_thread(worker, event->ts, KEY_USER(pid, tid), pid,
			    name ? worker_name_bytes(name, scratch) : NULL);
		return KEY_USER(pid, tid);
	}
	return tid;
}

/* ---- records ---- */

/* The key of a thread that worker->group does not stand for. */
static int64_t key_of(const struct worker *worker, int64_t tid)
{
	if (tid == TID_CURRENT) {
		return worker->known == KNOWN_NOT ? KEY_LOST : KEY_INITIAL;
	}
	return tid == 0 ? KEY_NOBODY : tid; /* the idle thread has no records of its own */
}

struct record *worker_emit(struct worker *worker, uint64_t ts, int64_t tid, unsigned int kind)
{
	struct record *record;
	int64_t key = key_of(worker, tid);
	uint32_t group;

	assert_hot(kind >= RECORD_OWN || kind == RECORD_GAP);
	if (worker->group == RECORD_NONE || worker->known != KNOWN_TID || tid != worker->tid) {
		group = worker_group_of(worker, key);
		if (worker->known == KNOWN_TID && tid == worker->tid) {
			worker->group = group;
		}
	} else {
		group = worker->group;
	}
	record = worker_add(worker, group, ts, kind);
	record->owner = worker->analysis;
	return record;
}

struct record *worker_emit_entity(struct worker *worker, uint64_t ts, uint64_t entity,
				  unsigned int kind)
{
	struct record *record = worker_add(
		worker, worker_group_of(worker, KEY_ENTITY(worker->analysis, entity)), ts, kind);

	record->owner = worker->analysis;
	return record;
}

void worker_note_current(struct worker *worker, struct record *record)
{
	assert_hot(record == worker_record(worker, worker_records(worker) - 1));
	assert_hot(record->kind >= RECORD_OWN);
	record->arg32 = worker->known == KNOWN_TID ? worker->tid : -1;
	if (worker->known == KNOWN_INITIAL) {
		*vec_push(&worker->partial->currents) =
			(struct current){ .number = (uint32_t)worker_records(worker) - 1,
					  .limits = { WAKE_NEVER, WAKE_NEVER } };
	}
}

/* ---- slices ---- */

void worker_take_slice(struct worker *worker)
{
	struct partial *draft = worker->draft;

	partial_take_slice(worker->partial, &worker->slice, draft, 0,
			   (uint32_t)draft->groups.count);
	if (worker->initial_group != RECORD_NONE) {
		assert(worker->partial->initial == INITIAL_GAP);
		worker->partial->initial_group = draft->groups.at[worker->initial_group].next;
		worker->initial_group = RECORD_NONE;
	}
	partial_take_order(worker->partial, draft);
}
