/*
 * episodes: see episodes.h.
 */
#include "discovery/episodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NEARLY 32 /* one of so many may differ: the first, the last, a disturbed one */

#define EXTEND_WORK 64 /* of each step, however few occurrences it has */
#define PART_WORK   8  /* of comparing two episodes */

/* Where a type occurs. */
struct places {
	uint32_t type;
	VEC(uint32_t) at;
};

struct search {
	const struct episodes_config *config;
	struct places *types; /* by number */
	uint32_t *frequent;   /* numbers of those with the support, rarest first */
	size_t frequent_count;
	uint64_t work; /* done so far */
	uint32_t prefix[EPISODE_TYPES_MAX];
	size_t length;
	episode_windows windows[EPISODE_TYPES_MAX]; /* of the prefix of each length */
	episode_windows next[EPISODE_TYPES_MAX];    /* of the prefix and what comes next (search) */
	episode_windows room;
	struct episodes *found;
};

/* ---- windows ---- */

/* Windows end in ascending order, so the search for a type goes on where the last one ended.  Of
 * two windows that would end at one place the later start is the minimal one. */
void episodes_extend(const episode_windows *windows, const uint32_t *places, size_t count,
		     episode_windows *ret)
{
	size_t place = 0;

	ret->count = 0;
	for (size_t i = 0; i < windows->count; i++) {
		const struct episode_window *window = &windows->at[i];

		while (place < count && places[place] <= window->last) {
			place++;
		}
		if (place == count) {
			return;
		}
		if (ret->count > 0 && ret->at[ret->count - 1].last == places[place]) {
			ret->at[ret->count - 1].first = window->first;
		} else {
			*vec_push(ret) = (struct episode_window){ .first = window->first,
								  .last = places[place] };
		}
	}
}

/* Ends ascend: taking the first that fits leaves the most room for the others. */
static size_t count_apart(const episode_windows *windows)
{
	size_t count = 0;
	uint32_t end = 0;

	for (size_t i = 0; i < windows->count; i++) {
		if (count == 0 || windows->at[i].first > end) {
			end = windows->at[i].last;
			count++;
		}
	}
	return count;
}

void episodes_apart(const episode_windows *windows, episode_windows *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < windows->count; i++) {
		if (ret->count == 0 || windows->at[i].first > ret->at[ret->count - 1].last) {
			*vec_push(ret) = windows->at[i];
		}
	}
}

/* ---- what was found ---- */

/* Whether all types of @part are in @whole in the same order. */
static bool is_part(const struct episode *part, const struct episode *whole)
{
	size_t at = 0;

	for (size_t i = 0; i < whole->count && at < part->count; i++) {
		at += whole->types[i] == part->types[at];
	}
	return at == part->count;
}

/* Adds the prefix, which nothing follows, unless it is part of what was found. */
static void add_found(struct search *search)
{
	struct episode episode = { .count = search->length };

	memcpy(episode.types, search->prefix, search->length * sizeof(search->prefix[0]));
	search->work += search->found->at.count * PART_WORK;
	for (size_t i = 0; i < search->found->at.count; i++) {
		if (is_part(&episode, &search->found->at.at[i])) {
			return;
		}
	}
	for (size_t i = search->found->at.count; i-- > 0;) {
		if (is_part(&search->found->at.at[i], &episode)) {
			vec_fini(&search->found->at.at[i].windows);
			search->found->at.at[i] = search->found->at.at[--search->found->at.count];
		}
	}
	episodes_apart(&search->windows[search->length - 1], &episode.windows);
	*vec_push(&search->found->at) = episode;
}

ORDER(by_length, struct episode, DOWN(count) DOWN(windows.count) UP_BYTES(types))

/* ---- the search ---- */

/* A type that may follow the prefix. */
struct branch {
	const struct places *type;
	size_t support;
	uint64_t distance; /* mean length of the windows that it ends */
};

typedef VEC(struct branch) branch_list;

static bool has_type(const struct search *search, uint32_t type)
{
	for (size_t i = 0; i < search->length; i++) {
		if (search->prefix[i] == type) {
			return true;
		}
	}
	return false;
}

/* Whether the search must end. */
static bool is_over(struct search *search)
{
	const struct episodes_config *config = search->config;

	if (search->work >= config->work_max || search->found->at.count >= EPISODES_MAX ||
	    (config->stop && atomic_load(config->stop))) {
		search->found->is_cut = true;
	}
	return search->found->is_cut;
}

static void extend(struct search *search, const episode_windows *windows, const struct places *type,
		   episode_windows *ret)
{
	search->work += EXTEND_WORK + windows->count + type->at.count;
	episodes_extend(windows, type->at.at, type->at.count, ret);
}

static uint64_t mean_length(const episode_windows *windows)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < windows->count; i++) {
		sum += windows->at[i].last - windows->at[i].first;
	}
	return windows->count > 0 ? sum / windows->count : 0;
}

/* The types with which the prefix still has the support. */
static void find_branches(struct search *search, branch_list *ret)
{
	const episode_windows *windows = &search->windows[search->length - 1];
	episode_windows *longer = &search->windows[search->length];

	for (size_t i = 0; i < search->frequent_count && !is_over(search); i++) {
		const struct places *type = &search->types[search->frequent[i]];
		size_t support;

		if (has_type(search, type->type)) {
			continue;
		}
		extend(search, windows, type, longer);
		support = count_apart(longer);
		if (support >= search->config->support_min) {
			*vec_push(ret) = (struct branch){ .type = type,
							  .support = support,
							  .distance = mean_length(longer) };
		}
	}
}

/* Of the types that follow most often the one that follows first.  Its windows go to `next`. */
static const struct branch *find_next(struct search *search, const branch_list *branches)
{
	const struct branch *next = NULL;
	size_t most = 0;

	for (size_t i = 0; i < branches->count; i++) {
		most = branches->at[i].support > most ? branches->at[i].support : most;
	}
	for (size_t i = 0; i < branches->count; i++) {
		const struct branch *one = &branches->at[i];

		if (one->support + most / NEARLY >= most &&
		    (!next || one->distance < next->distance)) {
			next = one;
		}
	}
	if (next) {
		extend(search, &search->windows[search->length - 1], next->type,
		       &search->next[search->length]);
	}
	return next;
}

/* How many of the windows do not contain a shorter one that begins where they do. */
static size_t count_without(const episode_windows *windows, const episode_windows *shorter)
{
	size_t without = 0, at = 0;

	for (size_t i = 0; i < windows->count; i++) {
		while (at < shorter->count && shorter->at[at].first < windows->at[i].first) {
			at++;
		}
		without += at == shorter->count || shorter->at[at].first != windows->at[i].first ||
			   shorter->at[at].last >= windows->at[i].last;
	}
	return without;
}

/*
 * Whether all that grows from the prefix and the type behind it, whose windows are known, is part
 * of a longer episode.  That is so if `next` lies between the two in each window, and does not come
 * after them: whatever follows, the episode with `next` in between has the same windows.  Without
 * this the search would try each subset of the types of a loop.
 */
static bool is_covered(struct search *search, const struct branch *next)
{
	const episode_windows *windows = &search->windows[search->length];
	size_t few = search->config->is_exact ? 0 : windows->count / NEARLY;

	if (count_without(windows, &search->next[search->length]) > few) {
		return false;
	}
	extend(search, windows, next->type, &search->room);
	return count_apart(&search->room) < search->config->support_min;
}

/* Depth first; the depth is at most EPISODE_TYPES_MAX. */
static void grow(struct search *search)
{
	branch_list branches = { 0 };
	const struct branch *next;
	bool has_grown = false;

	if (search->length == EPISODE_TYPES_MAX) {
		add_found(search);
		return;
	}
	find_branches(search, &branches);
	next = find_next(search, &branches);
	for (size_t i = 0; i < branches.count && !is_over(search); i++) {
		const struct branch *branch = &branches.at[i];

		extend(search, &search->windows[search->length - 1], branch->type,
		       &search->windows[search->length]);
		if (branch == next || !is_covered(search, next)) {
			has_grown = true;
			search->prefix[search->length++] = branch->type->type;
			grow(search);
			search->length--;
		}
	}
	if (!has_grown) {
		add_found(search);
	}
	vec_fini(&branches);
}

static void start_with(struct search *search, uint32_t type)
{
	const struct places *places = &search->types[type];

	search->prefix[0] = type;
	search->length = 1;
	search->windows[0].count = 0;
	for (size_t i = 0; i < places->at.count; i++) {
		*vec_push(&search->windows[0]) =
			(struct episode_window){ .first = places->at.at[i],
						 .last = places->at.at[i] };
	}
	grow(search);
}

/* Rare types first: they cut the search early. */
static void choose_frequent(struct search *search)
{
	search->frequent = mem_alloc((search->config->type_count + 1) * sizeof(uint32_t));
	for (uint32_t type = 0; type < search->config->type_count; type++) {
		size_t count = search->types[type].at.count, at = search->frequent_count;

		if (count < search->config->support_min) {
			continue;
		}
		while (at > 0 && search->types[search->frequent[at - 1]].at.count > count) {
			search->frequent[at] = search->frequent[at - 1];
			at--;
		}
		search->frequent[at] = type;
		search->frequent_count++;
	}
}

void episodes_find(const struct episodes_config *config, struct episodes *ret)
{
	struct search search = { .config = config, .found = ret };

	assert(config->support_min >= 1);
	assert(config->count < UINT32_MAX);
	*ret = (struct episodes){ .is_cut = false };
	search.types = mem_alloc((config->type_count + 1) * sizeof(*search.types));
	for (uint32_t i = 0; i < config->type_count; i++) {
		search.types[i].type = i;
	}
	for (uint32_t i = 0; i < config->count; i++) {
		assert(config->events[i] < config->type_count);
		*vec_push(&search.types[config->events[i]].at) = i;
	}
	choose_frequent(&search);
	for (size_t i = 0; i < search.frequent_count; i++) {
		if (config->start < 0 || config->start == search.frequent[i]) {
			start_with(&search, search.frequent[i]);
		}
	}
	ret->work = search.work;
	vec_sort(&ret->at, by_length);
	for (size_t i = 0; i < config->type_count; i++) {
		vec_fini(&search.types[i].at);
	}
	for (size_t i = 0; i < EPISODE_TYPES_MAX; i++) {
		vec_fini(&search.windows[i]);
		vec_fini(&search.next[i]);
	}
	vec_fini(&search.room);
	free(search.types);
	free(search.frequent);
}

void episodes_fini(struct episodes *episodes)
{
	for (size_t i = 0; i < episodes->at.count; i++) {
		vec_fini(&episodes->at.at[i].windows);
	}
	vec_fini(&episodes->at);
}
