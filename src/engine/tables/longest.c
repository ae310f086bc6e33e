/*
 * longest: see longest.h.
 */
#include "engine/tables/longest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "engine/tables/layout.h"
#include "engine/tables/tables.h"

struct longest *longest_new(const struct layout *layout)
{
	struct longest *longest = mem_alloc((layout->longest_count + 1) * sizeof(*longest));

	assert(layout->longest_room > 0);
	for (uint32_t i = 0; i < layout->longest_count; i++) {
		longest[i].room = layout->longest_room;
		longest[i].is_level = layout->longest_is_level[i];
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

/* What is shown of a thread that began it may change; its tid does not. */
static int32_t tid_of(const struct instance *instance, const struct thread_view *thread)
{
	return instance->has_begun_by ? instance->begun_by : thread ? thread->tid : -1;
}

/* Those with a name first, then the longest. */
static int compare_length(const struct instance *a, const struct instance *b)
{
	bool a_is_named = longest_is_named(a), b_is_named = longest_is_named(b);

	if (a_is_named != b_is_named) {
		return a_is_named ? -1 : 1;
	}
	return a->ns == b->ns ? 0 : a->ns > b->ns ? -1 : 1;
}

int longest_compare(const struct instance *a, const struct thread_view *a_thread,
		    const struct instance *b, const struct thread_view *b_thread)
{
	int32_t a_tid = tid_of(a, a_thread), b_tid = tid_of(b, b_thread);
	int by_length = compare_length(a, b);

	if (by_length != 0) {
		return by_length;
	}
	if (a->end != b->end) {
		return a->end < b->end ? -1 : 1;
	}
	if (a_tid != b_tid) {
		return a_tid < b_tid ? -1 : 1;
	}
	if (a->cpu != b->cpu) {
		return a->cpu < b->cpu ? -1 : 1;
	}
	return memcmp(&a->keyed, &b->keyed, sizeof(a->keyed));
}

static const struct thread_view *view_of(const struct shown_instance *shown)
{
	return shown->instance.thread ? &shown->instance.thread->view
	       : shown->has_view      ? &shown->view
				      : NULL;
}

static bool is_before(const struct shown_instance *a, const struct shown_instance *b)
{
	return longest_compare(&a->instance, view_of(a), &b->instance, view_of(b)) < 0;
}

/* Inserts the instance at its place; the last one goes if there is no room. */
static void insert(struct longest *longest, const struct shown_instance *shown)
{
	size_t at = longest->all.count;

	assert_hot(at <= longest->room);
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
	if (instance->ns >= longest->min_ns && instance->ns <= longest->max_ns) {
		insert(longest, &(struct shown_instance){ .instance = *instance });
	}
}

void longest_collect(struct longest *to, struct longest *from)
{
	assert(to != from);
	for (size_t i = 0; i < from->all.count; i++) {
		struct shown_instance shown = from->all.at[i];

		if (shown.instance.thread) {
			shown.view = shown.instance.thread->view;
			shown.instance.thread_id = shard_row_id(shown.instance.thread);
			shown.has_view = true;
			shown.owner = shown.instance.thread;
			shown.owner_id = shown.instance.thread_id;
			shown.instance.thread = NULL;
		}
		insert(to, &shown);
	}
	from->all.count = 0;
}

/* A thread may have taken another tid, which decides the order of equals. */
void longest_refresh(struct longest *longest, bool forget)
{
	for (size_t i = 0; i < longest->all.count; i++) {
		struct shown_instance shown = longest->all.at[i];
		size_t at = i;

		if (shown.owner && shard_row_id(shown.owner) != shown.owner_id) {
			shown.owner = NULL;
		}
		if (shown.owner) {
			shown.view = shown.owner->view;
			shown.owner = forget && shown.owner->is_dead ? NULL : shown.owner;
		}
		for (; at > 0 && is_before(&shown, &longest->all.at[at - 1]); at--) {
			longest->all.at[at] = longest->all.at[at - 1];
		}
		longest->all.at[at] = shown;
	}
}

static void rename_owner(struct longest *longest, const struct thread *thread, uint64_t id)
{
	for (size_t i = 0; i < longest->all.count; i++) {
		struct shown_instance *shown = &longest->all.at[i];

		if (shown->owner == thread && shown->owner_id == id) {
			shown->owner_id = shard_row_id(thread);
		}
	}
}

void longest_rename(struct tables *tables, const struct thread *thread, uint64_t id)
{
	for (uint32_t i = 0; i < tables->layout.longest_count; i++) {
		rename_owner(&tables->longest[i], thread, id);
		rename_owner(&tables->longest_total[i], thread, id);
	}
}

void longest_move(struct longest *to, struct longest *from)
{
	assert(to != from);
	for (size_t i = 0; i < from->all.count; i++) {
		insert(to, &from->all.at[i]);
	}
	from->all.count = 0;
}

void longest_close(struct longest *total, struct longest *window)
{
	if (window->is_level) {
		total->all.count = 0;
	}
	longest_move(total, window);
}

/* ---- checks ---- */

/* The tid of a thread may change until its instance is collected: ties are in order after that. */
static bool is_sorted(const struct longest *longest, bool is_collected)
{
	for (size_t i = 1; i < longest->all.count; i++) {
		const struct shown_instance *a = &longest->all.at[i - 1], *b = a + 1;

		if (compare_length(&a->instance, &b->instance) > 0 ||
		    (is_collected && is_before(b, a))) {
			return false;
		}
	}
	return true;
}

static bool has_view_or_thread(const struct longest *longest, bool is_collected)
{
	for (size_t i = 0; i < longest->all.count; i++) {
		const struct shown_instance *shown = &longest->all.at[i];

		if (shown->instance.thread && (is_collected || shown->has_view)) {
			return false;
		}
		if (shown->owner && !shown->has_view) {
			return false;
		}
	}
	return true;
}

bool longest_is_sound(const struct longest *longest, bool is_collected)
{
	return longest->all.count <= longest->room && is_sorted(longest, is_collected) &&
	       has_view_or_thread(longest, is_collected);
}

void longest_check(const struct longest *longest, bool is_collected)
{
	assert(longest->room >= LONGEST_MIN);
	assert(longest->all.count <= longest->room);
	assert(is_sorted(longest, is_collected));
	assert(has_view_or_thread(longest, is_collected));
}
