/*
 * rolling-rows: rows and shards as bytes; see rolling.h.
 */
#include "base/limits.h"
#include "engine/exchange/checkpoint.h"
#include "engine/tables/columns.h"
#include "engine/tables/tables.h"

/* ---- figures ---- */

static void row_flat(struct flat *flat, const struct columns *columns, uint64_t *row)
{
	for (uint32_t i = 0; i < columns->count; i++) {
		if (columns->kinds[i] == COLUMN_SPREAD) {
			struct spread *spread = (struct spread *)(uintptr_t)row[i];

			spread_flat(flat, &spread);
			row[i] = (uint64_t)(uintptr_t)spread;
		} else {
			flat_u64(flat, &row[i]);
		}
	}
}

static void sums_flat(struct flat *flat, const struct columns *columns, struct sums *sums)
{
	flat_bool(flat, &sums->is_touched);
	row_flat(flat, columns, sums->window);
	row_flat(flat, columns, sums->total);
}

/* ---- items ---- */

/* The item of a key that was read; NULL: no table has such. */
static struct item *item_read(struct items *items, const struct layout *layout,
			      const struct item *like)
{
	const struct analysis *analysis;

	if (like->analysis >= layout->setup->analysis_count || like->table >= TABLES_MAX) {
		return NULL;
	}
	analysis = layout->setup->analyses[like->analysis];
	if (analysis->tables[like->table].scope != SCOPE_ITEM ||
	    !analysis->tables[like->table].columns[0].key) {
		return NULL;
	}
	return items_find(items, &layout->item_columns[like->analysis][like->table], like->analysis,
			  like->table, &like->key);
}

static void item_flat(struct flat *flat, struct items *items, const struct layout *layout,
		      struct item *item)
{
	struct item like = { .analysis = item ? item->analysis : 0,
			     .table = item ? item->table : 0 };
	bool is_touched = item && item->is_touched;
	const struct columns *columns;

	if (item) {
		like.key = item->key;
	}
	flat_u8(flat, &like.analysis);
	flat_u8(flat, &like.table);
	item_key_flat(flat, &like.key);
	flat_bool(flat, &is_touched);
	if (flat_reads(flat)) {
		item = item_read(items, layout, &like);
	}
	if (!flat_check(flat, item != NULL)) {
		return;
	}
	columns = &layout->item_columns[item->analysis][item->table];
	flat_text(flat, &item->label);
	row_flat(flat, columns, item->window);
	if (items->has_totals) {
		row_flat(flat, columns, item->total);
	}
	item->is_touched = is_touched;
}

static void items_flat(struct flat *flat, struct items *items, const struct layout *layout)
{
	size_t count = flat_count(flat, items->all.count, 3 + 8 + ITEM_NAME_BYTES);

	for (size_t i = 0; i < count; i++) {
		bool is_new = flat_reads(flat);

		item_flat(flat, items, layout, is_new ? NULL : items->all.at[i]);
		if (!flat_check(flat, items->all.count == i + 1)) {
			break;
		}
	}
	if (flat_reads(flat)) { /* each was when it was found */
		items->touched.count = 0;
		for (size_t i = 0; i < items->all.count; i++) {
			if (items->all.at[i]->is_touched) {
				*vec_push(&items->touched) = items->all.at[i];
			}
		}
	}
}

/* ---- threads ---- */

static void view_flat(struct flat *flat, struct thread_view *view)
{
	flat_i32(flat, &view->tid);
	flat_i64(flat, &view->pid);
	flat_bytes(flat, view->comm, sizeof(view->comm));
	flat_bool(flat, &view->has_prio);
	flat_i32(flat, &view->prio);
	if (!flat_check(flat, view->comm[sizeof(view->comm) - 1] == 0)) {
		view->comm[sizeof(view->comm) - 1] = 0;
	}
}

static void thread_flat(const struct carried *carried, const struct layout *layout,
			struct thread *thread)
{
	struct flat *flat = carried->flat;
	const struct map_setup *setup = layout->setup;

	flat_u64(flat, &thread->cpu);
	flat_u64(flat, &thread->in_ts);
	flat_bool(flat, &thread->is_dead);
	flat_bool(flat, &thread->is_in);
	flat_u32(flat, &thread->incarnation);
	flat_u64(flat, &thread->before_ts);
	view_flat(flat, &thread->view);
	flat_bool(flat, &thread->is_touched);
	row_flat(flat, &layout->columns[SCOPE_THREAD], thread_window(layout, thread));
	if (!layout->is_direct) {
		row_flat(flat, &layout->columns[SCOPE_THREAD], thread_total(layout, thread));
	}
	for (size_t a = 0; a < setup->analysis_count; a++) {
		if (setup->analyses[a]->on_carry) {
			setup->analyses[a]->on_carry(
				carried, (char *)(thread + 1) + layout->thread_state_offsets[a]);
		}
	}
}

/* Threads are known by where they are in their shard's list. */
static void threads_flat(const struct carried *carried, struct shard *shard)
{
	struct flat *flat = carried->flat;
	size_t count = flat_count(flat, shard->kept.count, 1);

	for (size_t i = 0; i < count && flat_check(flat, count <= THREADS_OF_SHARD_MAX); i++) {
		bool is_there = !flat_reads(flat) && shard->kept.at[i];

		flat_bool(flat, &is_there);
		if (flat_reads(flat)) {
			*vec_push(&shard->kept) = is_there ? shard_thread_alloc(shard) : NULL;
		}
		if (!is_there) {
			continue;
		}
		shard->kept.at[i]->kept_at = (uint32_t)i;
		thread_flat(carried, shard->layout, shard->kept.at[i]);
		if (flat_reads(flat) && shard->kept.at[i]->is_touched) {
			*vec_push(&shard->touched) = shard->kept.at[i];
		}
	}
}

/* A thread of the shard; NULL: none that is there. */
static struct thread *thread_at(const struct shard *shard, uint32_t at)
{
	return at < shard->kept.count ? shard->kept.at[at] : NULL;
}

static void thread_ref_flat(struct flat *flat, const struct shard *shard, struct thread **thread)
{
	uint32_t at = flat_reads(flat) ? 0 : (*thread)->kept_at;

	flat_u32(flat, &at);
	if (flat_reads(flat)) {
		*thread = thread_at(shard, at);
		(void)flat_check(flat, *thread != NULL);
	}
}

/* Holes in the list of threads, in the order in which they are filled. */
static void holes_flat(struct flat *flat, struct shard *shard)
{
	size_t count = flat_count(flat, shard->kept_free.count, 4), holes = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t at = flat_reads(flat) ? 0 : shard->kept_free.at[i];

		flat_u32(flat, &at);
		if (flat_reads(flat)) {
			if (!flat_check(flat, at < shard->kept.count && !shard->kept.at[at])) {
				return;
			}
			*vec_push(&shard->kept_free) = at;
		}
	}
	for (size_t i = 0; i < shard->kept.count; i++) {
		holes += !shard->kept.at[i];
	}
	(void)flat_check(flat, holes == count);
}

static void slots_flat(struct flat *flat, struct shard *shard)
{
	uint32_t room = shard->slots.at ? shard->slots.mask + 1 : 0;
	size_t count = 0;

	for (uint32_t i = 0; i < room; i++) {
		count += shard->slots.at[i].round != 0 && shard->slots.at[i].thread;
	}
	count = flat_count(flat, count, 12);
	for (size_t i = 0; flat_reads(flat) && i < count && flat_check(flat, true); i++) {
		struct thread *thread = NULL;
		int64_t key = 0;

		flat_i64(flat, &key);
		thread_ref_flat(flat, shard, &thread);
		shard_slot(shard, key)->thread = thread;
	}
	for (uint32_t i = 0; !flat_reads(flat) && i < room; i++) {
		struct slot *slot = &shard->slots.at[i];

		if (slot->round != 0 && slot->thread) {
			flat_i64(flat, &slot->key);
			thread_ref_flat(flat, shard, &slot->thread);
		}
	}
}

static void ends_flat(struct flat *flat, struct shard *shard)
{
	size_t count = flat_count(flat, shard->dead.count, 12);

	for (size_t i = 0; i < count && flat_check(flat, true); i++) {
		struct dead *dead = flat_at(flat, &shard->dead, i);

		flat_u64(flat, &dead->ts);
		thread_ref_flat(flat, shard, &dead->thread);
	}
	count = flat_count(flat, shard->stays.count, 24);
	for (size_t i = 0; i < count && flat_check(flat, true); i++) {
		struct open_stay *stay = flat_at(flat, &shard->stays, i);

		flat_u64(flat, &stay->ts);
		flat_u32(flat, &stay->cpu);
		flat_i64(flat, &stay->key);
		thread_ref_flat(flat, shard, &stay->thread);
	}
}

/* Ends are of threads that have one, each once: they are freed by it. */
static void check_ends(struct flat *flat, struct shard *shard)
{
	size_t dead = 0;

	for (size_t i = 0; flat_reads(flat) && i < shard->kept.count; i++) {
		dead += shard->kept.at[i] && shard->kept.at[i]->is_dead;
	}
	for (size_t i = 0; flat_check(flat, true) && flat_reads(flat) && i < shard->dead.count;
	     i++) {
		struct thread *thread = shard->dead.at[i].thread;

		(void)flat_check(flat, thread->is_dead);
		thread->is_dead = false; /* so that another end of it is found */
	}
	(void)flat_check(flat, dead == shard->dead.count);
	for (size_t i = 0; flat_check(flat, true) && i < shard->dead.count; i++) {
		shard->dead.at[i].thread->is_dead = true;
	}
}

/* ---- the longest ---- */

static void instance_flat(struct flat *flat, struct rows *rows, struct shown_instance *shown)
{
	struct instance *instance = &shown->instance;
	struct thread *thread = instance->thread;
	bool has_thread = thread != NULL;

	flat_u64(flat, &instance->ns);
	flat_u64(flat, &instance->end);
	for (unsigned int i = 0; i < INSTANCE_MORE; i++) {
		flat_i64(flat, &instance->more[i]);
	}
	flat_u64(flat, &instance->cpu);
	item_key_flat(flat, &instance->item);
	flat_bool(flat, &shown->has_view);
	view_flat(flat, &shown->view);
	flat_bool(flat, &has_thread);
	instance->thread = NULL;
	if (has_thread) { /* of any shard: its list has it */
		uint8_t number = 0;

		for (unsigned int s = 0; !flat_reads(flat) && s < SHARDS; s++) {
			number = thread_at(&rows->shards[s], thread->kept_at) == thread ? (uint8_t)s
											: number;
		}
		flat_u8(flat, &number);
		instance->thread = thread;
		if (flat_check(flat, number < SHARDS)) {
			thread_ref_flat(flat, &rows->shards[number], &instance->thread);
		}
	}
}

static void longest_flat(struct flat *flat, struct rows *rows, struct longest *longest)
{
	for (uint32_t i = 0; i < rows->layout.longest_count; i++) {
		size_t count = flat_count(flat, longest[i].all.count, 100);

		for (size_t k = 0; k < count && flat_check(flat, count <= longest[i].room); k++) {
			instance_flat(flat, rows, flat_at(flat, &longest[i].all, k));
		}
	}
}

/* ---- shards ---- */

static void shard_flat(const struct carried *carried, struct shard *shard)
{
	struct flat *flat = carried->flat;
	bool has_other = shard->other != NULL;

	shard_settle(shard);
	threads_flat(carried, shard);
	holes_flat(flat, shard);
	slots_flat(flat, shard);
	ends_flat(flat, shard);
	check_ends(flat, shard);
	flat_bool(flat, &has_other);
	if (has_other && flat_check(flat, true)) {
		shard->other = shard->other ? shard->other : shard_thread_alloc(shard);
		thread_flat(carried, shard->layout, shard->other);
	}
}

/* ---- lanes ---- */

static void names_flat(struct flat *flat, struct rows *rows, struct lane *lane)
{
	const struct columns *columns = &rows->layout.columns[SCOPE_EVENT];
	size_t count = flat_count(flat, lane->names_touched.count, 4);

	for (size_t i = 0; i < count; i++) {
		uint32_t name = flat_reads(flat) ? 0 : lane->names_touched.at[i];
		uint64_t *row;

		flat_u32(flat, &name);
		if (!flat_check(flat, name < rows->names.count && columns->count > 0)) {
			return;
		}
		row = lane_names_row(&rows->layout, lane, name);
		if (flat_reads(flat)) {
			*vec_push(&lane->names_touched) = name;
			columns_empty(columns, row); /* if it came twice */
		}
		row_flat(flat, columns, row);
	}
}

/* How many lanes there are is a matter of the workers: they are written as one. */
static void lane_flat(struct flat *flat, struct rows *rows)
{
	struct lane *lane = rows_lane(rows, 0);

	if (!flat_reads(flat)) {
		lanes_join(rows);
	}
	row_flat(flat, &rows->layout.columns[SCOPE_TRACE], lane->trace);
	names_flat(flat, rows, lane);
	items_flat(flat, lane->items, &rows->layout);
	longest_flat(flat, rows, lane->longest);
}

/* ---- all ---- */

/* Event classes by their names.  Those that are there already have to be the same: metadata was
 * read before, and may have grown. */
static void classes_flat(struct flat *flat, struct rows *rows)
{
	size_t count = flat_count(flat, rows->class_names.count, 4);

	for (size_t i = 0; i < count && flat_check(flat, count <= EVENT_CLASSES_MAX); i++) {
		bool is_known = i < rows->class_names.count;
		const char *known = is_known ? rows->names.at[rows->class_names.at[i]]->name : NULL;
		char *name = NULL;

		if (!flat_reads(flat)) {
			flat_put_text(flat, known);
			continue;
		}
		flat_text(flat, &name);
		if (!is_known) {
			rows_add_class(rows, name ? name : "");
		}
		(void)flat_check(flat, !is_known || strcmp(name ? name : "", known) == 0);
		free(name);
	}
}

/* Their numbers are those of the first classes that have them, whatever comes behind. */
static void event_names_flat(struct flat *flat, struct rows *rows)
{
	size_t count = flat_count(flat, rows->names.count, 1);

	for (size_t i = 0; i < count && flat_check(flat, i < rows->names.count); i++) {
		sums_flat(flat, &rows->layout.columns[SCOPE_EVENT], &rows->names.at[i]->sums);
	}
}

/* The trace's own states of analyses. */
static void states_flat(const struct carried *carried, struct rows *rows)
{
	const struct map_setup *setup = rows->layout.setup;

	for (size_t a = 0; a < setup->analysis_count; a++) {
		if (setup->analyses[a]->on_trace_carry) {
			setup->analyses[a]->on_trace_carry(carried, rows->states[a]);
		}
	}
}

void rows_flat(struct rows *rows, const struct carried *carried)
{
	struct carried with_classes = *carried;
	struct flat *flat = carried->flat;

	classes_flat(flat, rows);
	event_names_flat(flat, rows);
	with_classes.classes = (uint32_t)rows->class_names.count;
	sums_flat(flat, &rows->layout.columns[SCOPE_TRACE], &rows->trace);
	for (size_t i = 0; i < SHARDS && flat_check(flat, true); i++) {
		shard_flat(&with_classes, &rows->shards[i]);
	}
	lane_flat(flat, rows);
	items_flat(flat, &rows->items, &rows->layout);
	longest_flat(flat, rows, rows->whole_lane.longest);
	longest_flat(flat, rows, rows->longest);
	longest_flat(flat, rows, rows->longest_total);
	states_flat(&with_classes, rows);
}
