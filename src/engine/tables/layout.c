/*
 * layout: see layout.h.
 */
#include "engine/tables/layout.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "engine/tables/longest.h"
#include "engine/tables/pairs.h"
#include "engine/tables/report.h"
#include "engine/tables/shard.h"

/* Appends the columns of table @t of analysis @a to the rows of its scope. */
static void add_table(struct layout *layout, size_t a, size_t t)
{
	const struct table *table = &layout->setup->analyses[a]->tables[t];

	layout->knows_irqs |= table->lami_class && strcmp(table->lami_class, "irq") == 0;
	switch (table->scope) {
	case SCOPE_TRACE:
	case SCOPE_CPU:
	case SCOPE_THREAD:
	case SCOPE_EVENT:
		layout->offsets[a][t] = layout->columns[table->scope].count;
		columns_append(&layout->columns[table->scope], table);
		break;
	case SCOPE_LONGEST:
		layout->longest_is_level[layout->longest_count] = table->is_level;
		layout->offsets[a][t] = layout->longest_count++;
		break;
	case SCOPE_PAIR:
		assert(!layout->pair_columns); /* one of a run */
		assert(column_count(table) <= PAIR_COLUMNS);
		columns_append(&layout->keyed_columns[a][t], table);
		layout->pair_columns = &layout->keyed_columns[a][t];
		break;
	case SCOPE_KEYED:
	case SCOPE_PROCESS:
	case SCOPE_CONTAINER:
	case SCOPE_PROCESS_PAIR:
	case SCOPE_CONTAINER_PAIR:
		columns_append(&layout->keyed_columns[a][t], table);
		break;
	}
}

static size_t thread_sums_bytes(const struct layout *layout)
{
	return layout->columns[SCOPE_THREAD].count * sizeof(uint64_t);
}

static void place_thread_parts(struct layout *layout)
{
	layout->thread_member_at = sizeof(struct thread) + layout->thread_state_size;
	layout->thread_window_at = layout->thread_member_at;
	layout->thread_window_at += layout->pair_columns ? sizeof(uint64_t) : 0;
	layout->thread_total_at = layout->thread_window_at;
	layout->thread_total_at += layout->is_direct ? 0 : thread_sums_bytes(layout);
	layout->thread_told_at = layout->thread_total_at + thread_sums_bytes(layout);
	layout->thread_bytes = layout->thread_told_at;
	layout->thread_bytes += layout->setup->wants_views ? sizeof(struct thread_told) : 0;
	layout->thread_bytes = (layout->thread_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	assert(layout->thread_window_at % sizeof(uint64_t) == 0);
	assert(layout->is_direct == (layout->thread_window_at == layout->thread_total_at) ||
	       layout->columns[SCOPE_THREAD].count == 0);
}

void layout_init(struct layout *layout, const struct setup *setup, const struct tables *tables)
{
	assert(setup->analysis_count <= ANALYSES_MAX);
	layout->setup = setup;
	layout->tables = tables;
	layout->selects = selection_of(setup->selection) & (OF_ALL_THREADS | OF_ALL_CPUS);
	layout->selects_irqs = selection_of(setup->selection) & OF_ALL_IRQS;
	layout->longest_shown = longest_shown(setup->top);
	layout->longest_room = layout->longest_shown;
	for (size_t a = 0; a < setup->analysis_count; a++) {
		const struct analysis *analysis = setup->analyses[a];

		for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
			add_table(layout, a, t);
		}
		layout->thread_state_offsets[a] = layout->thread_state_size;
		layout->thread_state_size += (analysis->thread_state_size + 7) / 8 * 8;
	}
	layout->is_over_at_exit = true;
	each_analysis_with(setup, on_window_end, a) {
		layout->is_over_at_exit &= setup->analyses[a]->is_over_at_exit;
	}
	/* A total has the level of the last window, and no sum of them. */
	layout->is_direct = !setup->wants_windows && setup->range_begin == 0 &&
			    layout->columns[SCOPE_THREAD].level_count == 0;
	place_thread_parts(layout);
	for (size_t s = 0; s < SCOPES_FIXED; s++) {
		columns_check(&layout->columns[s]);
	}
}

void layout_fini(struct layout *layout)
{
	for (size_t s = 0; s < SCOPES_FIXED; s++) {
		columns_fini(&layout->columns[s]);
	}
	for (size_t a = 0; a < ANALYSES_MAX; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			columns_fini(&layout->keyed_columns[a][t]);
		}
	}
}
