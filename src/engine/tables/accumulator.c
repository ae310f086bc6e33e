/*
 * lane: rows of the open window that are not of threads or CPUs: see rows.h.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/tables/tables.h"

/* ---- lifecycle ---- */

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

static struct lane *lane_new(const struct layout *layout)
{
	struct lane *lane = mem_alloc(sizeof(*lane));

	lane->trace = mem_alloc((layout->columns[SCOPE_TRACE].count + 1) * sizeof(uint64_t));
	lane->items = mem_alloc(sizeof(*lane->items));
	items_init(lane->items, false);
	lane->longest = longest_new(layout);
	return lane;
}

static void lane_free(const struct layout *layout, struct lane *lane)
{
	columns_empty(&layout->columns[SCOPE_TRACE], lane->trace);
	items_fini(lane->items, layout->item_columns);
	longest_free(layout, lane->longest);
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		vec_fini(&lane->indexed[a]);
	}
	free(lane->trace);
	free(lane->names);
	free(lane->items);
	vec_fini(&lane->names_touched);
	vec_fini(&lane->nodes);
	vec_fini(&lane->keys);
	vec_fini(&lane->order);
	free(lane);
}

struct lane *rows_lane(struct rows *rows, unsigned int number)
{
	while (rows->lanes.count <= number) {
		*vec_push(&rows->lanes) = lane_new(&rows->layout);
	}
	return rows->lanes.at[number];
}

void lanes_init(struct rows *rows)
{
	for (size_t i = 0; i < SHARDS; i++) {
		rows->shards[i].lane = rows_lane(rows, 0);
	}
	rows->whole_lane.items = &rows->items;
	rows->whole_lane.trace = rows->trace.window;
	rows->whole_lane.longest = longest_new(&rows->layout);
	rows->whole.lane = &rows->whole_lane;
}

void lanes_fini(struct rows *rows)
{
	for (size_t i = 0; i < rows->lanes.count; i++) {
		lane_free(&rows->layout, rows->lanes.at[i]);
	}
	vec_fini(&rows->lanes);
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		vec_fini(&rows->whole_lane.indexed[a]);
	}
	longest_free(&rows->layout, rows->whole_lane.longest);
}

/* ---- event names ---- */

static void grow_names(const struct layout *layout, struct lane *lane, uint32_t event_name)
{
	size_t columns = layout->columns[SCOPE_EVENT].count;
	size_t room = ((size_t)event_name + 1) * 2;

	lane->names = mem_realloc(lane->names, room * columns * sizeof(uint64_t));
	memset(lane->names + lane->names_room * columns, 0,
	       (room - lane->names_room) * columns * sizeof(uint64_t));
	lane->names_room = room;
}

uint64_t *lane_names_row(const struct layout *layout, struct lane *lane, uint32_t event_name)
{
	if (event_name >= lane->names_room) {
		grow_names(layout, lane, event_name);
	}
	return lane->names + event_name * layout->columns[SCOPE_EVENT].count;
}

/* ---- adding up ---- */

/* What rows of items have together, and nobody added to the trace's (table.has_sum). */
static void sum_items(struct rows *rows, const struct lane *lane)
{
	const struct layout *layout = &rows->layout;

	for (size_t i = 0; i < lane->items->touched.count; i++) {
		const struct item *item = lane->items->touched.at[i];
		const struct analysis *analysis = layout->setup->analyses[item->analysis];
		const struct table *table = &analysis->tables[item->table];
		uint64_t *trace = rows->trace.window + layout->offsets[item->analysis][0];

		if (table->has_sum) {
			column_merge(trace, table->sum_in,
				     column_histogram(item->window, table->sum_of));
		}
	}
}

void lane_gather(struct rows *rows, struct lane *lane)
{
	const struct layout *layout = &rows->layout;
	const struct columns *of_names = &layout->columns[SCOPE_EVENT];

	columns_move(&layout->columns[SCOPE_TRACE], rows->trace.window, lane->trace);
	for (size_t i = 0; i < lane->names_touched.count; i++) {
		uint32_t name = lane->names_touched.at[i];

		columns_move(of_names, rows->names.at[name]->sums.window,
			     lane->names + name * of_names->count);
	}
	lane->names_touched.count = 0;
	sum_items(rows, lane);
	items_gather(&rows->items, lane->items, layout->item_columns);
	for (uint32_t i = 0; i < layout->longest_count; i++) {
		longest_gather(&rows->longest[i], &lane->longest[i]);
	}
}

static void join(const struct layout *layout, struct lane *to, struct lane *from)
{
	const struct columns *of_names = &layout->columns[SCOPE_EVENT];

	columns_move(&layout->columns[SCOPE_TRACE], to->trace, from->trace);
	for (size_t i = 0; i < from->names_touched.count; i++) {
		uint32_t name = from->names_touched.at[i];

		*vec_push(&to->names_touched) = name;
		columns_move(of_names, lane_names_row(layout, to, name),
			     from->names + name * of_names->count);
	}
	from->names_touched.count = 0;
	items_gather(to->items, from->items, layout->item_columns);
	for (uint32_t i = 0; i < layout->longest_count; i++) {
		longest_move(&to->longest[i], &from->longest[i]);
	}
}

void lanes_join(struct rows *rows)
{
	for (size_t i = 1; i < rows->lanes.count; i++) {
		join(&rows->layout, rows->lanes.at[0], rows->lanes.at[i]);
	}
}
