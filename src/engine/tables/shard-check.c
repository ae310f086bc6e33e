/*
 * shard-check: whether all ways to find a thread of a shard agree.
 *
 * Each function is one fact.  What is read from a checkpoint is refused if one does not hold; in a
 * shard that was built from records each is an invariant.
 */
#include <assert.h>
#include <stdlib.h>

#include "engine/tables/shard.h"

static bool is_resident(const struct shard *shard, const struct thread *thread)
{
	return thread->resident_at < shard->resident.count &&
	       shard->resident.at[thread->resident_at] == thread;
}

static bool residents_know_their_place(const struct shard *shard)
{
	for (size_t i = 0; i < shard->resident.count; i++) {
		if (shard->resident.at[i] && shard->resident.at[i]->resident_at != i) {
			return false;
		}
	}
	return true;
}

/* Each hole is listed, and once. */
static bool holes_are_listed(const struct shard *shard)
{
	bool *is_listed = mem_alloc(shard->resident.count + 1);
	size_t holes = 0;
	bool agree = true;

	for (size_t i = 0; i < shard->resident.count; i++) {
		holes += !shard->resident.at[i];
	}
	agree = holes == shard->resident_free.count;
	for (size_t i = 0; agree && i < shard->resident_free.count; i++) {
		uint32_t at = shard->resident_free.at[i];

		agree = at < shard->resident.count && !shard->resident.at[at] && !is_listed[at];
		if (agree) {
			is_listed[at] = true;
		}
	}
	free(is_listed);
	return agree;
}

/* Each touched thread is listed, and once.  Without an open window, none is. */
static bool touched_are_listed(const struct shard *shard)
{
	size_t touched = 0;

	if (shard->layout->is_direct && shard->touched.count > 0) {
		return false;
	}
	for (size_t i = 0; i < shard->touched.count; i++) {
		if (!shard->touched.at[i]->is_touched ||
		    !is_resident(shard, shard->touched.at[i])) {
			return false;
		}
	}
	for (size_t i = 0; i < shard->resident.count; i++) {
		touched += shard->resident.at[i] && shard->resident.at[i]->is_touched;
	}
	return touched == shard->touched.count;
}

/* Each dead thread is listed, and once. */
static bool dead_are_listed(const struct shard *shard)
{
	size_t dead = 0;

	for (size_t i = 0; i < shard->dead.count; i++) {
		if (!shard->dead.at[i].thread->is_dead ||
		    !is_resident(shard, shard->dead.at[i].thread)) {
			return false;
		}
	}
	for (size_t i = 0; i < shard->resident.count; i++) {
		dead += shard->resident.at[i] && shard->resident.at[i]->is_dead;
	}
	return dead == shard->dead.count;
}

/* What threads that ended own is counted once. */
static bool bytes_are_counted(const struct shard *shard)
{
	uint64_t bytes = 0;

	VEC_EACH(&shard->dead, dead) {
		bytes += dead->bytes;
	}
	return shard->counted <= shard->dead.count && bytes == shard->ended_bytes;
}

/* The slot of a tid has a thread of that tid. */
static bool slots_lead_to_residents(const struct shard *shard)
{
	for (uint32_t i = 0; i <= shard->slots.mask; i++) {
		const struct slot *slot = &shard->slots.at[i];

		if (!slots_is_used(NULL, slot) || !slot->thread) {
			continue;
		}
		if (!is_resident(shard, slot->thread) || slot->thread->is_replaced) {
			return false;
		}
		if (thread_key(slot->thread) != (slot->key < KEY_INITIAL ? slot->key : -1)) {
			return false;
		}
	}
	return true;
}

/* A live thread with a tid is the newest of it. */
static bool live_are_found(const struct shard *shard)
{
	for (size_t i = 0; i < shard->resident.count; i++) {
		const struct thread *thread = shard->resident.at[i];

		if (thread && !thread->is_dead && thread->view.tid >= 0 &&
		    slots_find(&shard->slots, NULL, thread_key(thread))->thread != thread) {
			return false;
		}
	}
	return true;
}

/* At most one interval is open on a CPU. */
static bool oncpus_are_of_residents(const struct shard *shard)
{
	for (size_t i = 0; i < shard->oncpus.count; i++) {
		if (!is_resident(shard, shard->oncpus.at[i].thread)) {
			return false;
		}
		for (size_t k = 0; k < i; k++) {
			if (shard->oncpus.at[k].cpu == shard->oncpus.at[i].cpu) {
				return false;
			}
		}
	}
	return true;
}

/* What goes through the live finds each of them, and no other. */
static bool presence_is_true(const struct shard *shard)
{
	for (size_t i = 0; i < shard->presence.count * 64; i++) {
		const struct presence *presence = &shard->presence.at[i / 64];
		const struct thread *thread =
			i < shard->resident.count ? shard->resident.at[i] : NULL;

		if ((presence->live >> i % 64 & 1) != (thread && !thread->is_dead) ||
		    ((presence->ending >> i % 64 & 1) && !(thread && thread->is_dead))) {
			return false;
		}
	}
	return shard->presence.count * 64 >= shard->resident.count;
}

static bool slots_are_of_shard(const struct shard *shard, unsigned int number)
{
	for (uint32_t i = 0; i <= shard->slots.mask; i++) {
		const struct slot *slot = &shard->slots.at[i];

		if (slots_is_used(NULL, slot) && key_shard(slot->key) != number) {
			return false;
		}
	}
	return true;
}

bool shard_is_sound(const struct shard *shard, unsigned int number)
{
	return residents_know_their_place(shard) && holes_are_listed(shard) &&
	       touched_are_listed(shard) && dead_are_listed(shard) &&
	       slots_are_of_shard(shard, number) && slots_lead_to_residents(shard) &&
	       live_are_found(shard) && oncpus_are_of_residents(shard) && presence_is_true(shard);
}

/* Each key is found, and probing ends at an unused slot. */
static void check_slots(const struct shard *shard)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i <= shard->slots.mask; i++) {
		const struct slot *slot = &shard->slots.at[i];

		if (slots_is_used(NULL, slot)) {
			assert(slots_find(&shard->slots, NULL, slot->key) == slot);
			used++;
		}
	}
	assert(used == shard->slots.used);
	assert(used <= shard->slots.mask / 2 + 1);
}

void shard_check(const struct shard *shard, unsigned int number)
{
	assert(residents_know_their_place(shard));
	assert(holes_are_listed(shard));
	assert(touched_are_listed(shard));
	assert(dead_are_listed(shard));
	assert(slots_are_of_shard(shard, number));
	assert(slots_lead_to_residents(shard));
	assert(live_are_found(shard));
	assert(oncpus_are_of_residents(shard));
	assert(presence_is_true(shard));
	assert(bytes_are_counted(shard));
	assert(shard->held.ts == OUT_NONE); /* no record is being applied */
	check_slots(shard);
}
