/*
 * checkpoint-tables: tables and shards; see checkpoint.h.
 */
#include <assert.h>

#include "base/limits.h"
#include "engine/contract/untrusted.h"
#include "engine/exchange/checkpoint.h"
#include "engine/tables/columns.h"
#include "engine/tables/tables.h"

/* ---- threads ---- */

static void view_codec(struct codec *codec, struct thread_view *view)
{
	codec_each(codec, &view->tid, &view->pid);
	codec_bytes(codec, view->comm, sizeof(view->comm));
	codec_each(codec, &view->has_prio, &view->prio, &view->container, &view->container_level,
		   &view->names_container);
	if (!codec_check(codec, view->comm[sizeof(view->comm) - 1] == 0)) {
		view->comm[sizeof(view->comm) - 1] = 0;
	}
}

static bool flag_codec(struct codec *codec, bool flag)
{
	codec_bool(codec, &flag);
	return flag;
}

/* Most threads have none before a range, and those that ended have none any more. */
static void figures_codec(struct codec *codec, const struct layout *layout, struct thread *thread)
{
	const struct columns *columns = &layout->columns[SCOPE_THREAD];
	uint64_t *window = thread_window(layout, thread), *total = thread_total(layout, thread);
	bool has_window = columns_any(columns, window), has_total = columns_any(columns, total);

	codec_bool(codec, &has_window);
	if (has_window) {
		checkpoint_rows_one(codec, columns, window);
	}
	if (layout->is_direct) {
		return;
	}
	codec_bool(codec, &has_total);
	if (has_total) {
		checkpoint_rows_one(codec, columns, total);
	}
}

static void thread_codec(const struct checkpoint *checkpoint, const struct layout *layout,
			 struct thread *thread)
{
	struct codec *codec = checkpoint->codec;
	const struct setup *setup = layout->setup;
	uint8_t picked = thread->picked;

	codec_each(codec, &thread->cpu, &thread->in_ts);
	thread->is_dead = flag_codec(codec, thread->is_dead);
	thread->is_in = flag_codec(codec, thread->is_in);
	thread->is_reused = flag_codec(codec, thread->is_reused);
	thread->is_user = flag_codec(codec, thread->is_user);
	codec_each(codec, &thread->incarnation);
	view_codec(codec, &thread->view);
	codec_each(codec, &picked);
	thread->picked = picked & (PICKED_YES | PICKED_NO | PICKED_STAYS);
	thread->is_touched = flag_codec(codec, thread->is_touched);
	if (codec_reads(codec) && setup->wants_views) {
		thread_told(layout, thread)->id = shard_row_id(thread);
	}
	figures_codec(codec, layout, thread);
	for (size_t a = 0; a < setup->analysis_count; a++) {
		analysis_checkpoint(setup->analyses[a], checkpoint,
				    (char *)(thread + 1) + layout->thread_state_offsets[a]);
	}
}

/* The index in its shard's list identifies a thread. */
static void threads_codec(const struct checkpoint *checkpoint, struct shard *shard)
{
	struct codec *codec = checkpoint->codec;
	size_t count = codec_count(codec, shard->resident.count, 1);

	for (size_t i = 0; i < count && codec_check(codec, count <= THREADS_OF_SHARD_MAX); i++) {
		bool is_there = !codec_reads(codec) && shard->resident.at[i];

		assert(!is_there || shard->resident.at[i]->resident_at == i);
		codec_bool(codec, &is_there);
		if (codec_reads(codec)) {
			*vec_push(&shard->resident) = is_there ? shard_thread_alloc(shard) : NULL;
		}
		if (!is_there) {
			continue;
		}
		shard->resident.at[i]->resident_at = (uint32_t)i;
		thread_codec(checkpoint, shard->layout, shard->resident.at[i]);
		if (codec_reads(codec) && shard->resident.at[i]->is_touched) {
			*vec_push(&shard->touched) = shard->resident.at[i];
		}
	}
}

/* A thread of the shard; NULL: a hole, or beyond the end. */
static struct thread *thread_at(const struct shard *shard, uint32_t at)
{
	return at < shard->resident.count ? shard->resident.at[at] : NULL;
}

static void thread_ref_codec(struct codec *codec, const struct shard *shard, struct thread **thread)
{
	uint32_t at = 0;

	if (!codec_reads(codec)) {
		assert(*thread);
		at = (*thread)->resident_at;
		assert(thread_at(shard, at) == *thread);
	}
	codec_u32(codec, &at);
	if (codec_reads(codec)) {
		*thread = thread_at(shard, at);
		(void)codec_check(codec, *thread != NULL);
	}
}

/* Holes in the list of threads, in the order in which new threads fill them. */
static void holes_codec(struct codec *codec, struct shard *shard)
{
	size_t count = codec_count(codec, shard->resident_free.count, 4), holes = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t at = codec_reads(codec) ? 0 : shard->resident_free.at[i];

		assert(codec_reads(codec) || !thread_at(shard, at));
		codec_u32(codec, &at);
		if (codec_reads(codec)) {
			if (!codec_check(codec,
					 at < shard->resident.count && !shard->resident.at[at])) {
				return;
			}
			*vec_push(&shard->resident_free) = at;
		}
	}
	for (size_t i = 0; i < shard->resident.count; i++) {
		holes += !shard->resident.at[i];
	}
	(void)codec_check(codec, holes == count);
}

static void slots_codec(struct codec *codec, struct shard *shard)
{
	uint32_t room = shard->slots.at ? shard->slots.mask + 1 : 0;
	size_t count = 0;

	for (uint32_t i = 0; i < room; i++) {
		count += shard->slots.at[i].round != 0 && shard->slots.at[i].thread;
	}
	count = codec_count(codec, count, 12);
	for (size_t i = 0; codec_reads(codec) && i < count && codec_check(codec, true); i++) {
		struct thread *thread = NULL;
		int64_t key = 0;

		codec_i64(codec, &key);
		thread_ref_codec(codec, shard, &thread);
		shard_slot(shard, key)->thread = thread;
	}
	for (uint32_t i = 0; !codec_reads(codec) && i < room; i++) {
		struct slot *slot = &shard->slots.at[i];

		if (slot->round != 0 && slot->thread) {
			codec_i64(codec, &slot->key);
			thread_ref_codec(codec, shard, &slot->thread);
		}
	}
}

/* Switch-outs that are held back. */
static void leaving_codec(struct codec *codec, struct shard *shard)
{
	size_t count = codec_count(codec, shard->leaving.count, 23);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct held_out *out = codec_at(codec, &shard->leaving, i);

		codec_each(codec, &out->ts, &out->cpu, &out->flags, &out->left_out);
		thread_ref_codec(codec, shard, &out->thread);
		if (!codec_check(codec, (out->left_out & ~shard->layout->selects) == 0)) {
			shard->leaving.count = 0;
		}
	}
}

static void ends_codec(struct codec *codec, struct shard *shard)
{
	size_t count = codec_count(codec, shard->dead.count, 12);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct dead *dead = codec_at(codec, &shard->dead, i);

		assert(codec_reads(codec) || dead->thread->is_dead);
		codec_u64(codec, &dead->ts);
		thread_ref_codec(codec, shard, &dead->thread);
	}
	count = codec_count(codec, shard->oncpus.count, 24);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct open_oncpu *oncpu = codec_at(codec, &shard->oncpus, i);

		codec_each(codec, &oncpu->ts, &oncpu->cpu, &oncpu->key);
		thread_ref_codec(codec, shard, &oncpu->thread);
	}
}

/* Each dead thread has one end, and no other thread has one: the end frees the thread. */
static void check_ends(struct codec *codec, struct shard *shard)
{
	size_t dead = 0;

	for (size_t i = 0; codec_reads(codec) && i < shard->resident.count; i++) {
		dead += shard->resident.at[i] && shard->resident.at[i]->is_dead;
	}
	for (size_t i = 0; codec_check(codec, true) && codec_reads(codec) && i < shard->dead.count;
	     i++) {
		struct thread *thread = shard->dead.at[i].thread;

		(void)codec_check(codec, thread->is_dead);
		thread->is_dead = false; /* a second end of it fails the check */
	}
	(void)codec_check(codec, dead == shard->dead.count);
	for (size_t i = 0; codec_check(codec, true) && i < shard->dead.count; i++) {
		shard->dead.at[i].thread->is_dead = true;
	}
}

/* ---- longest instances ---- */

/* A thread of any shard: the number of the one whose list has it; SHARDS: none has. */
static unsigned int shard_of(const struct tables *tables, const struct thread *thread)
{
	unsigned int number = 0;

	assert(thread);
	while (number < SHARDS &&
	       thread_at(&tables->shards[number], thread->resident_at) != thread) {
		number++;
	}
	return number;
}

static void any_thread_codec(struct codec *codec, struct tables *tables, struct thread **thread)
{
	uint8_t number = codec_reads(codec) ? 0 : (uint8_t)shard_of(tables, *thread);

	codec_u8(codec, &number);
	if (codec_check(codec, number < SHARDS)) {
		thread_ref_codec(codec, &tables->shards[number], thread);
	}
}

/* A thread that lost its row is not known any more. */
static void owner_codec(struct codec *codec, struct tables *tables, struct shown_instance *shown)
{
	bool has_owner = shown->owner && shard_row_id(shown->owner) == shown->owner_id &&
			 shard_of(tables, shown->owner) < SHARDS;

	codec_bool(codec, &has_owner);
	if (has_owner) {
		any_thread_codec(codec, tables, &shown->owner);
		shown->owner_id = shown->owner ? shard_row_id(shown->owner) : 0;
	}
}

static void instance_codec(struct codec *codec, struct tables *tables, struct shown_instance *shown)
{
	struct instance *instance = &shown->instance;
	struct thread *thread = instance->thread;
	bool has_thread = thread != NULL;

	codec_each(codec, &instance->ns, &instance->end);
	for (unsigned int i = 0; i < INSTANCE_MORE; i++) {
		codec_i64(codec, &instance->more[i]);
	}
	codec_u64(codec, &instance->cpu);
	row_key_codec(codec, &instance->keyed);
	codec_each(codec, &instance->has_begun_by, &instance->begun_by);
	codec_bytes(codec, instance->by, INSTANCE_BY_BYTES);
	if (!codec_check(codec,
			 instance->by[INSTANCE_BY_BYTES - 1] == 0 && instance->begun_by >= 0)) {
		instance->by[INSTANCE_BY_BYTES - 1] = 0;
		instance->begun_by = 0;
	}
	visits_codec(codec, &instance->visits);
	codec_bool(codec, &shown->has_view);
	view_codec(codec, &shown->view);
	codec_bool(codec, &has_thread);
	instance->thread = NULL;
	if (has_thread) {
		instance->thread = thread;
		any_thread_codec(codec, tables, &instance->thread);
	}
	owner_codec(codec, tables, shown);
}

/* @is_collected: no instance uses its thread any more. */
static void longest_codec(struct codec *codec, struct tables *tables, struct longest *longest,
			  bool is_collected)
{
	for (uint32_t i = 0; i < tables->layout.longest_count; i++) {
		size_t count = codec_count(codec, longest[i].all.count, 100);

		assert(longest[i].all.count <= longest[i].room);
		for (size_t k = 0; k < count && codec_check(codec, count <= longest[i].room); k++) {
			instance_codec(codec, tables, codec_at(codec, &longest[i].all, k));
		}
		if (codec_reads(codec) && codec_check(codec, true)) {
			(void)codec_check(codec, longest_is_sound(&longest[i], is_collected));
		}
	}
}

/* ---- pairs ---- */

static void member_codec(struct codec *codec, struct tables *tables, struct pair_member *member,
			 uint32_t number)
{
	bool has_thread = member->thread != NULL;

	codec_u32(codec, &member->serial);
	view_codec(codec, &member->view);
	codec_bool(codec, &has_thread);
	if (!has_thread) {
		return;
	}
	any_thread_codec(codec, tables, &member->thread);
	if (codec_reads(codec) && member->thread) {
		uint32_t *known = thread_member(&tables->layout, member->thread);

		if (codec_check(codec, *known == 0)) {
			*known = number;
			pairs_use(&tables->pairs, number);
		} else {
			member->thread = NULL;
		}
	}
}

static void pair_codec(struct codec *codec, struct pairs *pairs, const struct columns *columns,
		       uint32_t at)
{
	struct pair_row like = codec_reads(codec) ? (struct pair_row){ 0 } : pairs->rows.at[at];

	codec_each(codec, &like.of, &like.by, &like.is_touched);
	checkpoint_rows_one(codec, columns, like.window);
	checkpoint_rows_one(codec, columns, like.total);
	if (!codec_reads(codec)) {
		return;
	}
	if (codec_check(codec,
			pairs_is_member(pairs, like.of) && pairs_is_member(pairs, like.by)) &&
	    codec_check(codec, pairs_row(pairs, like.of, like.by) == at)) {
		memcpy(pairs->rows.at[at].window, like.window, sizeof(like.window));
		memcpy(pairs->rows.at[at].total, like.total, sizeof(like.total));
		pairs->rows.at[at].is_touched = like.is_touched;
	}
}

static void pairs_codec(struct codec *codec, struct tables *tables)
{
	struct pairs *pairs = &tables->pairs;
	size_t count = codec_count(codec, pairs->members.count, 40);

	codec_u32(codec, &pairs->made);
	for (uint32_t i = 0; i < count && codec_check(codec, count < UINT32_MAX / 2); i++) {
		member_codec(codec, tables, codec_at(codec, &pairs->members, i), i + PAIR_FIRST);
	}
	count = codec_count(codec, pairs->rows.count, 9);
	for (uint32_t i = 0; i < count && codec_check(codec, true); i++) {
		pair_codec(codec, pairs, tables->layout.pair_columns, i);
	}
	if (codec_reads(codec)) { /* pairs_row() adds all of them */
		pairs->touched.count = 0;
		for (uint32_t i = 0; i < pairs->rows.count; i++) {
			if (pairs->rows.at[i].is_touched) {
				*vec_push(&pairs->touched) = i;
			}
		}
	}
}

/* ---- shards ---- */

static void named_codec(struct codec *codec, struct container_named *named)
{
	codec_each(codec, &named->ts, &named->tid, &named->is_first);
	codec_bytes(codec, named->name, sizeof(named->name));
	if (!codec_check(codec, named->name[sizeof(named->name) - 1] == 0)) {
		named->name[sizeof(named->name) - 1] = 0;
	}
}

static void containers_codec(struct codec *codec, struct shard *shard)
{
	size_t count = codec_count(codec, shard->containers.count, 17 + CONTAINER_NAME_BYTES);

	for (size_t i = 0; i < count && codec_check(codec, count <= CONTAINERS_NAMED_MAX); i++) {
		struct container *container = codec_at(codec, &shard->containers, i);

		codec_each(codec, &container->ts, &container->pid_ns, &container->tid,
			   &container->is_first);
		codec_bytes(codec, container->comm, sizeof(container->comm));
		if (!codec_check(codec, container->comm[sizeof(container->comm) - 1] == 0)) {
			container->comm[sizeof(container->comm) - 1] = 0;
		}
		named_codec(codec, &container->named);
	}
}

static void shard_codec(const struct checkpoint *checkpoint, struct shard *shard)
{
	struct codec *codec = checkpoint->codec;
	bool has_other = shard->other != NULL;

	shard_close_window(shard);
	codec_each(codec, &shard->has_picked, &shard->next_incarnation);
	containers_codec(codec, shard);
	threads_codec(checkpoint, shard);
	holes_codec(codec, shard);
	slots_codec(codec, shard);
	ends_codec(codec, shard);
	leaving_codec(codec, shard);
	check_ends(codec, shard);
	codec_bool(codec, &has_other);
	if (has_other && codec_check(codec, true)) {
		shard->other = shard->other ? shard->other : shard_thread_alloc(shard);
		thread_codec(checkpoint, shard->layout, shard->other);
	}
	if (codec_reads(codec) && codec_check(codec, true)) {
		const struct shard *shards = shard->layout->tables->shards;

		shard_find_presence(shard);
		(void)codec_check(codec, shard_is_sound(shard, (unsigned int)(shard - shards)));
	}
}

/* ---- accumulators ---- */

static void names_codec(struct codec *codec, struct tables *tables, struct accumulator *accumulator)
{
	const struct columns *columns = &tables->layout.columns[SCOPE_EVENT];
	size_t count = codec_count(codec, accumulator->names_touched.count, 4);

	for (size_t i = 0; i < count; i++) {
		uint32_t name = codec_reads(codec) ? 0 : accumulator->names_touched.at[i];
		uint64_t *row;

		assert(codec_reads(codec) || name < tables->names.count);
		codec_u32(codec, &name);
		if (!codec_check(codec, name < tables->names.count && columns->count > 0)) {
			return;
		}
		row = accumulator_names_row(&tables->layout, accumulator, name);
		if (codec_reads(codec)) {
			*vec_push(&accumulator->names_touched) = name;
			columns_empty(columns, row); /* it may have come twice */
		}
		checkpoint_rows_one(codec, columns, row);
	}
}

/* The number of accumulators depends on the workers: they are joined and written as one. */
static void accumulator_codec(struct codec *codec, struct tables *tables)
{
	struct accumulator *accumulator = accumulator_of_task(tables, 0);

	if (!codec_reads(codec)) {
		accumulators_join(tables);
	}
	checkpoint_rows_one(codec, &tables->layout.columns[SCOPE_TRACE], accumulator->trace);
	names_codec(codec, tables, accumulator);
	checkpoint_rows_keyed(codec, accumulator->keyed_rows, &tables->layout);
	longest_codec(codec, tables, accumulator->longest, false);
}

/* ---- all ---- */

/* Event classes by their names.  Metadata may have been read before: its classes have to be the
 * same, and may be more. */
static void classes_codec(struct codec *codec, struct tables *tables)
{
	size_t count = codec_count(codec, tables->class_names.count, 4);

	for (size_t i = 0; i < count && codec_check(codec, count <= EVENT_CLASSES_MAX); i++) {
		bool is_known = i < tables->class_names.count;
		const char *known =
			is_known ? tables->names.at[tables->class_names.at[i]]->name : NULL;
		char *name = NULL;

		if (!codec_reads(codec)) {
			codec_put_text(codec, known);
			continue;
		}
		codec_text(codec, &name);
		if (!is_known) {
			tables_add_class(tables, name ? name : "");
		}
		(void)codec_check(codec, !is_known || strcmp(name ? name : "", known) == 0);
		free(name);
	}
}

/* Names are numbered by the first class of each name, so the numbers are the same. */
static void event_names_codec(struct codec *codec, struct tables *tables)
{
	size_t count = codec_count(codec, tables->names.count, 1);

	for (size_t i = 0; i < count && codec_check(codec, i < tables->names.count); i++) {
		checkpoint_rows_sums(codec, &tables->layout.columns[SCOPE_EVENT],
				     &tables->names.at[i]->sums);
	}
}

/* States that analyses have once per trace. */
static void states_codec(const struct checkpoint *checkpoint, struct tables *tables)
{
	const struct setup *setup = tables->layout.setup;

	for (size_t a = 0; a < setup->analysis_count; a++) {
		if (setup->analyses[a]->on_trace_checkpoint) {
			setup->analyses[a]->on_trace_checkpoint(checkpoint, tables->states[a]);
		}
	}
}

void checkpoint_tables(struct tables *tables, const struct checkpoint *checkpoint)
{
	struct checkpoint with_classes = *checkpoint;
	struct codec *codec = checkpoint->codec;

	classes_codec(codec, tables);
	event_names_codec(codec, tables);
	assert(tables->class_names.count <= EVENT_CLASSES_MAX);
	with_classes.classes = (uint32_t)tables->class_names.count;
	checkpoint_rows_sums(codec, &tables->layout.columns[SCOPE_TRACE], &tables->trace);
	for (size_t i = 0; i < SHARDS && codec_check(codec, true); i++) {
		shard_codec(&with_classes, &tables->shards[i]);
	}
	accumulator_codec(codec, tables);
	checkpoint_rows_keyed(codec, &tables->keyed_rows, &tables->layout);
	longest_codec(codec, tables, tables->whole_accumulator.longest, false);
	longest_codec(codec, tables, tables->longest, true);
	longest_codec(codec, tables, tables->longest_total, true);
	if (tables->layout.pair_columns) {
		pairs_codec(codec, tables);
	}
	with_classes.shard = &tables->whole;
	states_codec(&with_classes, tables);
	if (codec_reads(codec)) {
		pairs_count_free(&tables->pairs);
	}
}
