/*
 * accumulator: see accumulator.h.
 */
#include "engine/tables/accumulator.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tables/tables.h"

/* ---- lifecycle ---- */

static struct left_out *left_out_new(const struct layout *layout)
{
	struct left_out *left_out;

	if (layout->selects == 0) {
		return NULL;
	}
	left_out = mem_alloc(sizeof(*left_out));
	for (unsigned int scope = 0; scope < SCOPES_FIXED; scope++) {
		left_out->rows[scope] =
			mem_alloc((layout->columns[scope].count + 1) * sizeof(uint64_t));
	}
	keyed_init(&left_out->keyed_rows, false);
	return left_out;
}

static void left_out_free(const struct layout *layout, struct left_out *left_out)
{
	if (!left_out) {
		return;
	}
	for (unsigned int scope = 0; scope < SCOPES_FIXED; scope++) {
		columns_empty(&layout->columns[scope], left_out->rows[scope]);
		free(left_out->rows[scope]);
	}
	keyed_fini(&left_out->keyed_rows, layout->keyed_columns);
	free(left_out);
}

static struct accumulator *accumulator_new(const struct layout *layout)
{
	struct accumulator *accumulator = mem_alloc(sizeof(*accumulator));

	accumulator->trace = mem_alloc((layout->columns[SCOPE_TRACE].count + 1) * sizeof(uint64_t));
	accumulator->keyed_rows = mem_alloc(sizeof(*accumulator->keyed_rows));
	keyed_init(accumulator->keyed_rows, false);
	accumulator->longest = longest_new(layout);
	accumulator->left_out = left_out_new(layout);
	return accumulator;
}

static void accumulator_free(const struct layout *layout, struct accumulator *accumulator)
{
	columns_empty(&layout->columns[SCOPE_TRACE], accumulator->trace);
	keyed_fini(accumulator->keyed_rows, layout->keyed_columns);
	longest_free(layout, accumulator->longest);
	left_out_free(layout, accumulator->left_out);
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		vec_fini(&accumulator->indexed[a]);
	}
	free(accumulator->trace);
	free(accumulator->names);
	free(accumulator->keyed_rows);
	vec_fini(&accumulator->names_touched);
	vec_fini(&accumulator->nodes);
	vec_fini(&accumulator->keys);
	vec_fini(&accumulator->order);
	free(accumulator);
}

struct accumulator *accumulator_of_task(struct tables *tables, unsigned int number)
{
	assert(number < SHARDS); /* a task has one shard at least */
	while (tables->accumulators.count <= number) {
		*vec_push(&tables->accumulators) = accumulator_new(&tables->layout);
	}
	return tables->accumulators.at[number];
}

void accumulators_init(struct tables *tables)
{
	for (size_t i = 0; i < SHARDS; i++) {
		tables->shards[i].accumulator = accumulator_of_task(tables, 0);
	}
	tables->whole_accumulator.keyed_rows = &tables->keyed_rows;
	tables->whole_accumulator.trace = tables->trace.window;
	tables->whole_accumulator.longest = longest_new(&tables->layout);
	tables->whole_accumulator.left_out = left_out_new(&tables->layout);
	tables->whole.accumulator = &tables->whole_accumulator;
}

void accumulators_fini(struct tables *tables)
{
	for (size_t i = 0; i < tables->accumulators.count; i++) {
		accumulator_free(&tables->layout, tables->accumulators.at[i]);
	}
	vec_fini(&tables->accumulators);
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		vec_fini(&tables->whole_accumulator.indexed[a]);
	}
	longest_free(&tables->layout, tables->whole_accumulator.longest);
	left_out_free(&tables->layout, tables->whole_accumulator.left_out);
}

/* ---- event names ---- */

static void grow_names(const struct layout *layout, struct accumulator *accumulator,
		       uint32_t event_name)
{
	size_t columns = layout->columns[SCOPE_EVENT].count;
	size_t room = ((size_t)event_name + 1) * 2;

	accumulator->names = mem_realloc(accumulator->names, room * columns * sizeof(uint64_t));
	assert(room > accumulator->names_room);
	memset(accumulator->names + accumulator->names_room * columns, 0,
	       (room - accumulator->names_room) * columns * sizeof(uint64_t));
	accumulator->names_room = room;
}

uint64_t *accumulator_names_row(const struct layout *layout, struct accumulator *accumulator,
				uint32_t event_name)
{
	if (event_name >= accumulator->names_room) {
		grow_names(layout, accumulator, event_name);
	}
	return accumulator->names + event_name * layout->columns[SCOPE_EVENT].count;
}

/* ---- adding up ---- */

void accumulator_collect(struct tables *tables, struct accumulator *accumulator)
{
	const struct layout *layout = &tables->layout;
	const struct columns *of_names = &layout->columns[SCOPE_EVENT];

	assert(accumulator != &tables->whole_accumulator); /* its rows are the trace's already */
	columns_move(&layout->columns[SCOPE_TRACE], tables->trace.window, accumulator->trace);
	for (size_t i = 0; i < accumulator->names_touched.count; i++) {
		uint32_t name = accumulator->names_touched.at[i];

		columns_move(of_names, tables->names.at[name]->sums.window,
			     accumulator->names + name * of_names->count);
	}
	accumulator->names_touched.count = 0;
	keyed_collect(&tables->keyed_rows, accumulator->keyed_rows, layout->keyed_columns);
	for (uint32_t i = 0; i < layout->longest_count; i++) {
		longest_collect(&tables->longest[i], &accumulator->longest[i]);
	}
}

static void join(const struct layout *layout, struct accumulator *to, struct accumulator *from)
{
	const struct columns *of_names = &layout->columns[SCOPE_EVENT];

	assert(to != from);
	columns_move(&layout->columns[SCOPE_TRACE], to->trace, from->trace);
	for (size_t i = 0; i < from->names_touched.count; i++) {
		uint32_t name = from->names_touched.at[i];

		*vec_push(&to->names_touched) = name;
		columns_move(of_names, accumulator_names_row(layout, to, name),
			     from->names + name * of_names->count);
	}
	from->names_touched.count = 0;
	keyed_collect(to->keyed_rows, from->keyed_rows, layout->keyed_columns);
	for (uint32_t i = 0; i < layout->longest_count; i++) {
		longest_move(&to->longest[i], &from->longest[i]);
	}
}

void accumulators_join(struct tables *tables)
{
	for (size_t i = 1; i < tables->accumulators.count; i++) {
		join(&tables->layout, tables->accumulators.at[0], tables->accumulators.at[i]);
	}
}

/* ---- checks ---- */

static void check_one(const struct tables *tables, const struct accumulator *accumulator)
{
	keyed_check(accumulator->keyed_rows);
	for (uint32_t i = 0; i < tables->layout.longest_count; i++) {
		longest_check(&accumulator->longest[i], false);
	}
	for (size_t i = 0; i < accumulator->names_touched.count; i++) {
		assert(accumulator->names_touched.at[i] < tables->names.count);
		assert(accumulator->names_touched.at[i] < accumulator->names_room);
	}
}

void accumulators_check(const struct tables *tables)
{
	for (size_t i = 0; i < tables->accumulators.count; i++) {
		const struct accumulator *accumulator = tables->accumulators.at[i];

		assert(!accumulator->keyed_rows->has_totals);
		check_one(tables, accumulator);
	}
	assert(tables->whole_accumulator.keyed_rows == &tables->keyed_rows);
	assert(tables->whole_accumulator.trace == tables->trace.window);
	check_one(tables, &tables->whole_accumulator);
}
