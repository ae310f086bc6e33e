/*
 * rows: see resources.h; the resources, and what is counted of them.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "deep/resources/rows.h"
#include "deep/resources/timers.h"

static uint64_t key_of(enum resource_kind kind, int64_t pid, uint64_t address, const char *name)
{
	uint64_t hash = hash_bytes(0, &kind, sizeof(kind));

	if (name) {
		return hash_text(hash, name);
	}
	hash = hash_bytes(hash, &pid, sizeof(pid));
	return hash_bytes(hash, &address, sizeof(address));
}

static bool is_it(const struct resource *resource, enum resource_kind kind, int64_t pid,
		  uint64_t address, const char *name)
{
	if (resource->kind != kind || !resource->name != !name) {
		return false;
	}
	return name ? strcmp(resource->name, name) == 0
		    : resource->pid == pid && resource->address == address;
}

void rows_refresh(const struct track *track, uint32_t index)
{
	struct resource *resource = track_at(track, index);

	if (resource->epoch != track->epoch) {
		resource->epoch = track->epoch;
		timers_lose(resource);
		resource->sleepers.count = 0;
		resource->senders = resource->receivers = resource->handed = 0;
		resource->has_gap = true;
	}
}

uint32_t rows_resource(struct track *track, enum resource_kind kind, int64_t pid, uint64_t address,
		       const char *name)
{
	uint64_t key = key_of(kind, pid, address, name);
	uint32_t *at = tracked_indexes_get(&track->by_key, key);
	uint32_t first = at ? *at : NOBODY;
	struct resource *made;

	for (uint32_t i = first; i != NOBODY; i = track_at(track, i)->next) {
		if (is_it(track_at(track, i), kind, pid, address, name)) {
			rows_refresh(track, i);
			return i;
		}
	}
	if (track->resources->all.count >= RESOURCES_MAX) {
		track->resources->dropped.resources++;
		return NOBODY;
	}
	made = mem_alloc(sizeof(*made));
	made->kind = kind;
	made->pid = name ? -1 : pid;
	made->address = name ? 0 : address;
	made->name = mem_strdup_if(name);
	made->next = first;
	made->state = RESOURCE_STATES;
	made->setter = NOBODY;
	made->epoch = track->epoch;
	*tracked_indexes_put(&track->by_key, key, NULL) = (uint32_t)track->resources->all.count;
	*vec_push(&track->resources->all) = made;
	return (uint32_t)track->resources->all.count - 1;
}

uint64_t rows_part(const struct track *track, uint64_t begin, uint64_t end)
{
	begin = begin < track->timeline->begin ? track->timeline->begin : begin;
	end = end > track->timeline->end ? track->timeline->end : end;
	return end > begin ? end - begin : 0;
}

void rows_interval(struct track *track, uint32_t resource, struct resource_interval interval)
{
	const struct timeline *timeline = track->timeline;

	assert(interval.begin <= interval.end);
	if (interval.end < timeline->begin || interval.begin > timeline->end) {
		return;
	}
	interval.begin = interval.begin < timeline->begin ? timeline->begin : interval.begin;
	interval.end = interval.end > timeline->end ? timeline->end : interval.end;
	if (track->interval_count >= RESOURCE_INTERVALS_MAX) {
		track->resources->dropped.intervals++;
		return;
	}
	track->interval_count++;
	*vec_push(&track_at(track, resource)->intervals) = interval;
}

struct resource_member *rows_member(struct track *track, uint32_t resource, uint32_t thread)
{
	static struct resource_member scratch;
	struct resource *of = track_at(track, resource);
	uint64_t key = (uint64_t)resource << 32 | thread;
	uint32_t *at = tracked_indexes_get(&track->members, key);
	struct resource_member *made;

	if (at) {
		return &of->members.at[*at];
	}
	if (of->members.count >= RESOURCE_ROWS_EACH || track->row_count >= RESOURCE_ROWS_MAX) {
		track->resources->dropped.rows++;
		return &scratch;
	}
	track->row_count++;
	*tracked_indexes_put(&track->members, key, NULL) = (uint32_t)of->members.count;
	made = vec_push(&of->members);
	*made = (struct resource_member){ .thread = thread };
	return made;
}

static bool is_pair(const struct resource_pair *one, const struct resource_pair *other)
{
	return one->by == other->by && one->who == other->who && one->is_sender == other->is_sender;
}

static void add_to_pair(struct resource_pair *pair, uint64_t ns)
{
	pair->times++;
	pair->total_ns += ns;
	pair->longest_ns = ns > pair->longest_ns ? ns : pair->longest_ns;
}

/* Its index in the resource's pairs; NOBODY: it has none.  A hash may be that of another pair, too:
 * then all are looked through. */
static uint32_t find_pair(const struct track *track, const struct resource *of, uint64_t key,
			  const struct resource_pair *pair)
{
	uint32_t *at = tracked_indexes_get(&track->pairs, key);
	uint32_t first = at ? *at : NOBODY;

	if (first == NOBODY || (first < of->pairs.count && is_pair(&of->pairs.at[first], pair))) {
		return first;
	}
	for (uint32_t i = 0; i < of->pairs.count; i++) {
		if (is_pair(&of->pairs.at[i], pair)) {
			return i;
		}
	}
	return NOBODY;
}

void rows_pair(struct track *track, uint32_t resource, struct resource_pair pair, uint64_t ns)
{
	struct resource *of = track_at(track, resource);
	uint32_t words[] = { resource, pair.by, pair.who, pair.is_sender };
	uint64_t key = hash_bytes(0, words, sizeof(words));
	uint32_t found = find_pair(track, of, key, &pair);
	struct resource_pair *made;

	if (found != NOBODY) {
		add_to_pair(&of->pairs.at[found], ns);
		return;
	}
	if (of->pairs.count >= RESOURCE_ROWS_EACH || track->row_count >= RESOURCE_ROWS_MAX) {
		track->resources->dropped.rows++;
		return;
	}
	track->row_count++;
	*tracked_indexes_put(&track->pairs, key, NULL) = (uint32_t)of->pairs.count;
	made = vec_push(&of->pairs);
	*made = pair;
	add_to_pair(made, ns);
}

void rows_sum(struct resource_sum *sum, uint64_t ns)
{
	sum->min = sum->count == 0 || ns < sum->min ? ns : sum->min;
	sum->max = ns > sum->max ? ns : sum->max;
	sum->count++;
	sum->total += ns;
}

void rows_touch(const struct track *track, uint32_t resource, uint32_t thread, uint64_t ts)
{
	if (track_counts(track, ts) &&
	    (!track->scope || (thread != NOBODY && track->scope[thread]))) {
		track_at(track, resource)->is_touched = true;
	}
}

/* ---- order ---- */

ORDER(by_begin, struct resource_interval, UP(begin) UP(end) UP(who))

ORDER(by_use, struct resource_member, DOWN(total_ns) UP(thread))

ORDER(by_total, struct resource_pair, DOWN(total_ns) DOWN(times) UP(who) UP(by) UP(is_sender))

static uint64_t weight(const struct resource *resource)
{
	return resource->kind == RESOURCE_TIMER ? resource->woken
						: resource->waits.total + resource->full.total;
}

static uint64_t uses(const struct resource *resource)
{
	return resource->kind == RESOURCE_TIMER ? resource->expiries
						: resource->calls + resource->wake_calls;
}

static int by_weight(const void *left, const void *right)
{
	const struct resource *a = *(const struct resource *const *)left;
	const struct resource *b = *(const struct resource *const *)right;

	if (a->kind != b->kind) {
		return a->kind < b->kind ? -1 : 1;
	}
	if (weight(a) != weight(b)) {
		return weight(a) > weight(b) ? -1 : 1;
	}
	if (uses(a) != uses(b)) {
		return uses(a) > uses(b) ? -1 : 1;
	}
	if (a->name && b->name) {
		return strcmp(a->name, b->name);
	}
	if (a->pid != b->pid) {
		return a->pid < b->pid ? -1 : 1;
	}
	return a->address < b->address ? -1 : a->address > b->address;
}

static void free_resource(struct resource *resource)
{
	free(resource->name);
	vec_fini(&resource->members);
	vec_fini(&resource->pairs);
	vec_fini(&resource->intervals);
	vec_fini(&resource->sleepers);
	free(resource);
}

void rows_finish(struct track *track)
{
	struct resources *resources = track->resources;
	size_t count = 0;

	for (size_t i = 0; i < resources->all.count; i++) {
		struct resource *one = resources->all.at[i];

		if (!one->is_touched) {
			free_resource(one);
			continue;
		}
		vec_sort(&one->intervals, by_begin);
		vec_sort(&one->members, by_use);
		vec_sort(&one->pairs, by_total);
		resources->all.at[count++] = one;
	}
	resources->all.count = count;
	vec_sort(&resources->all, by_weight);
}

void resources_fini(struct resources *resources)
{
	vec_free_each(&resources->all, free_resource);
}
