/*
 * setup: requests and routes of the analyses; see setup.h.
 */
#include "engine/contract/setup.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"

static bool is_wanted(const struct setup *setup, const struct need *need)
{
	return !need->is_of_wakers || setup->names_wakers;
}

#define GROUP_BESIDE 0x8000u /* another group than that of the analysis */

static void add_needs(struct setup *setup, const struct need *needs, size_t count, uint8_t analysis,
		      uint16_t group)
{
	assert(analysis < ANALYSES_MAX);
	for (size_t i = 0; i < count; i++) {
		size_t at;

		if (!is_wanted(setup, &needs[i])) {
			continue;
		}
		at = setup->request_count++;
		assert(needs[i].event);
		assert(needs[i].on_event);

		setup->requests[at].event = needs[i].event;
		setup->requests[at].group =
			(uint16_t)(group | (needs[i].is_beside ? GROUP_BESIDE : 0));
		setup->requests[at].domain = needs[i].domain;
		setup->requests[at].takes = needs[i].takes;
		setup->requests[at].user_of = needs[i].user_of;
		setup->requests[at].user = needs[i].user;
		setup->requests[at].may_rest = needs[i].may_rest;
		setup->requests[at].is_extra = needs[i].is_extra;
		setup->may_rest |= (uint32_t)needs[i].may_rest << analysis;
		memcpy(setup->requests[at].fields, needs[i].fields, sizeof(needs[i].fields));
		setup->routes[at].on_event = needs[i].on_event;
		setup->routes[at].state = (uint32_t)setup->state_offsets[analysis];
		setup->routes[at].analysis = analysis;
	}
}

static void find_callers(struct setup *setup)
{
	setup->callers = (struct callers){ 0 };
	for (size_t i = 0; i < setup->analysis_count; i++) {
		const struct analysis *analysis = setup->analyses[i];
		const struct analysis_rare *rare = analysis_rare(analysis);

#define CALLER(member) setup->callers.member |= (uint32_t)(analysis->member != NULL) << i
		HOOKS(CALLER)
#undef CALLER
#define CALLER(member) setup->callers.member |= (uint32_t)(rare->member != NULL) << i
		RARE_HOOKS(CALLER)
#undef CALLER
		/* Its default zeroes the state (shard_doubt()). */
		setup->callers.on_doubt |= (uint32_t)(analysis->thread_state_size > 0) << i;
	}
}

void setup_init(struct setup *setup, const struct need *base, size_t base_count)
{
	struct need *wanted[ANALYSES_MAX] = { NULL };
	size_t total = 0, wanted_count[ANALYSES_MAX] = { 0 };
	uint16_t group = ANALYSES_MAX;
	bool uses_threads = false;

	assert(setup->interval_ns > 0);
	assert(setup->analysis_count < ANALYSES_MAX); /* SETUP_BASE_RESTS is no analysis */
	assert(setup->range_begin <= setup->range_end);
	setup->window_ns = setup->interval_ns;
	if (!setup->wants_windows && setup->interval_ns <= UINT64_MAX / INTERVALS_UNSEEN) {
		setup->window_ns *= INTERVALS_UNSEEN;
	}
	if (setup->shown_ns == 0 || setup->shown_ns % setup->window_ns != 0) {
		setup->shown_ns = setup->window_ns;
	}
	setup->state_size = 0;
	setup->has_ordered = setup->names_wakers = false;
	setup->may_rest = setup->oncpu_ends_of_rt = 0;
	find_callers(setup);
	setup->partial_cache = partial_cache_new((setup->jobs + 1) * CHUNKS_PER_WORKER);
	for (size_t i = 0; i < setup->analysis_count; i++) {
		analysis_check(setup->analyses[i]);
		uses_threads |= setup->analyses[i]->uses_threads;
		setup->oncpu_ends_of_rt |= (uint32_t)setup->analyses[i]->oncpu_end_is_for_rt << i;
		setup->has_ordered |= setup->analyses[i]->on_ordered != NULL;
		setup->names_wakers |= setup->analyses[i]->names_wakers;
		total += setup->analyses[i]->need_count;
		if (analysis_rare(setup->analyses[i])->needs_of) {
			wanted_count[i] = analysis_rare(setup->analyses[i])
						  ->needs_of(setup->periods, &wanted[i]);
			total += wanted_count[i];
		}
		setup->state_offsets[i] = setup->state_size;
		setup->state_size += (setup->analyses[i]->worker_state_size + 15) / 16 * 16;
	}
	setup->uses_threads = uses_threads;
	setup->follows_rt = !uses_threads && setup->oncpu_ends_of_rt != 0;
	for (size_t i = 0; (uses_threads || setup->follows_rt) && i < base_count; i++) {
		total += is_wanted(setup, &base[i]);
	}
	setup->requests = mem_alloc((total + 1) * sizeof(*setup->requests));
	setup->routes = mem_alloc((total + 1) * sizeof(*setup->routes));
	setup->request_count = 0;
	if (uses_threads || setup->follows_rt) {
		add_needs(setup, base, base_count, 0, 0);
	}
	setup->base_count = setup->request_count;
	for (size_t i = 0; setup->follows_rt && i < setup->base_count; i++) {
		setup->requests[i].may_rest = true;
		setup->may_rest |= SETUP_BASE_RESTS;
	}
	for (size_t i = 0; i < setup->analysis_count; i++) {
		add_needs(setup, setup->analyses[i]->needs, setup->analyses[i]->need_count,
			  (uint8_t)i, (uint16_t)(i + 1));
		/* An event may belong to many periods: each has a group of its own. */
		for (size_t k = 0; k < wanted_count[i]; k++) {
			assert(group < GROUP_BESIDE);
			add_needs(setup, &wanted[i][k], 1, (uint8_t)i, group++);
		}
		free(wanted[i]);
	}
	assert(setup->request_count == total);
}

void setup_fini(struct setup *setup)
{
	partial_cache_free(setup->partial_cache);
	free(setup->requests);
	free(setup->routes);
}

bool setup_reports(const struct setup *setup, const struct analysis *analysis)
{
	const struct analysis *const *one = setup->reported;

	while (one && *one && *one != analysis) {
		one++;
	}
	return !one || *one;
}

int64_t setup_window(const struct setup *setup, uint64_t ts)
{
	assert_hot(setup->window_ns > 0);
	if (ts < setup->range_begin) {
		return WINDOW_BEFORE;
	}
	return ts >= setup->range_end ? WINDOW_AFTER : (int64_t)(ts / setup->window_ns);
}
