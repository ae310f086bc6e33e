/*
 * longest: see longest.h.
 */
#include "engine/tables/longest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tables/layout.h"
#include "engine/tables/shard.h"

struct longest *longest_new(const struct layout *layout)
{
	struct longest *longest = mem_alloc((layout->longest_count + 1) * sizeof(*longest));

	for (uint32_t i = 0; i < layout->longest_count; i++) {
		longest[i].room = layout->longest_room;
		longest[i].min_ns = layout->setup->selection ? layout->setup->selection->min_ns : 0;
		longest[i].max_ns =
			layout->setup->selection ? layout->setup->selection->max_ns : UINT64_MAX;
	}
	return longest;
}

void longest_free(const struct layout *layout, struct longest *longest)
{
	for (uint32_t i = 0; i < layout->longest_count; i++) {
		vec_fini(&longest[i].all);
	}
	free(longest);
}

int longest_compare(const struct instance *a, const struct thread_view *a_thread,
		    const struct instance *b, const struct thread_view *b_thread)
{
	int32_t p = a_thread ? a_thread->tid : -1, q = b_thread ? b_thread->tid : -1;

	if (a->ns != b->ns) {
		return a->ns > b->ns ? -1 : 1;
	}
	if (a->end != b->end) {
		return a->end < b->end ? -1 : 1;
	}
	if (p != q) {
		return p < q ? -1 : 1;
	}
	if (a->cpu != b->cpu) {
		return a->cpu < b->cpu ? -1 : 1;
	}
	return memcmp(&a->keyed, &b->keyed, sizeof(a->keyed));
}

static const struct thread_view *thread_of(const struct shown_instance *shown)
{
	return shown->instance.thread ? &shown->instance.thread->view
	       : shown->has_view      ? &shown->view
				      : NULL;
}

static bool is_before(const struct shown_instance *a, const struct shown_instance *b)
{
	return longest_compare(&a->instance, thread_of(a), &b->instance, thread_of(b)) < 0;
}

static void add_shown(struct longest *longest, const struct shown_instance *shown)
{
	size_t at = longest->all.count;

	if (at == longest->room) {
		if (!is_before(shown, &longest->all.at[at - 1])) {
			return;
		}
		at--;
	} else {
		(void)vec_push(&longest->all);
	}
	for (; at > 0 && is_before(shown, &longest->all.at[at - 1]); at--) {
		longest->all.at[at] = longest->all.at[at - 1];
	}
	longest->all.at[at] = *shown;
}

void longest_add(struct longest *longest, const struct instance *instance)
{
	if (longest_may_have(longest, instance->ns)) {
		add_shown(longest, &(struct shown_instance){ .instance = *instance });
	}
}

void longest_collect(struct longest *to, struct longest *from)
{
	for (size_t i = 0; i < from->all.count; i++) {
		struct shown_instance shown = from->all.at[i];

		if (shown.instance.thread) {
			shown.view = shown.instance.thread->view;
			shown.has_view = true;
			shown.instance.thread = NULL;
		}
		add_shown(to, &shown);
	}
	from->all.count = 0;
}

void longest_move(struct longest *to, struct longest *from)
{
	for (size_t i = 0; i < from->all.count; i++) {
		add_shown(to, &from->all.at[i]);
	}
	from->all.count = 0;
}
