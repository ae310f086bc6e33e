/*
 * layout: where the columns and states of each analysis lie in a row, a thread and a total.
 *
 * It is made once from the setup, and immutable afterwards.
 */
#ifndef SILLAGE_ENGINE_TABLES_LAYOUT_H
#define SILLAGE_ENGINE_TABLES_LAYOUT_H

#include "engine/contract/setup.h"
#include "engine/tables/columns.h"

struct tables;
struct thread;

/* Where the columns and states of each analysis are. */
struct layout {
	const struct setup *setup;
	const struct tables *tables;
	struct columns columns[SCOPES_FIXED];       /* of all tables of the scope */
	uint32_t offsets[ANALYSES_MAX][TABLES_MAX]; /* in those; SCOPE_LONGEST: which it is */
	struct columns keyed_columns[ANALYSES_MAX][TABLES_MAX];
	uint32_t longest_count;
	size_t longest_room, longest_shown;
	size_t thread_state_offsets[ANALYSES_MAX];
	size_t thread_state_size;
	size_t thread_window_at, thread_total_at, thread_bytes; /* its sums; all it has */
	bool is_direct; /* no window is ever shown or dropped: threads only have totals */
};

static inline uint64_t *thread_window(const struct layout *layout, struct thread *thread)
{
	return (uint64_t *)((char *)thread + layout->thread_window_at);
}

static inline uint64_t *thread_total(const struct layout *layout, struct thread *thread)
{
	return (uint64_t *)((char *)thread + layout->thread_total_at);
}

void layout_init(struct layout *layout, const struct setup *setup, const struct tables *tables);
void layout_fini(struct layout *layout);

#endif
