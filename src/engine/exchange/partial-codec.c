/*
 * partial-codec: see partial-codec.h.
 */
#include "engine/exchange/partial-codec.h"
#include "base/limits.h"

#include <assert.h>
#include <errno.h>

#include "engine/contract/row-key.h"
#include "engine/contract/untrusted.h"
#include "engine/tables/columns.h"

/* Reading also uses the members from `draft` on. */
struct work {
	struct codec *codec;
	struct partial *partial;
	struct partial *draft; /* groups and records in the order they were made */
	const struct partial_rules *rules;
	struct err *err;
};

#define REFUSE(work, ...) err_raise((work)->err, -EINVAL, __VA_ARGS__)

/* ---- the chunk as a whole ---- */

static int ends_codec(struct work *work)
{
	struct codec *codec = work->codec;
	struct partial *partial = work->partial;
	uint8_t initial = (uint8_t)partial->initial, tail = (uint8_t)partial->tail;

	codec_each(codec, &partial->begin, &partial->end, &partial->covered_from,
		   &partial->covered_until, &partial->first_ts, &partial->last_ts,
		   &partial->records_until, &partial->events);
	codec_each(codec, &partial->packets, &partial->bytes, &initial, &tail,
		   &partial->tail_is_doubted, &partial->tail_is_first, &partial->initial_has_prio,
		   &partial->initial_ts);
	codec_each(codec, &partial->tail_ts, &partial->initial_group, &partial->initial_tid,
		   &partial->initial_prio, &partial->tail_tid);
	codec_bytes(codec, partial->initial_name, NAME_BYTES);
	codec_bool(codec, &partial->tail_serves);
	for (unsigned int i = 0; i < WAKE_CONTEXTS; i++) {
		struct wake_depth *depth = &partial->depths[i];

		codec_each(codec, &depth->change, &depth->least);
		if (codec_reads(codec) && (depth->least < 0 || depth->change > depth->least)) {
			return REFUSE(work, "impossible depths of interrupts");
		}
	}
	if (codec_reads(codec) && (initial > INITIAL_GAP || tail >= RUN_KINDS)) {
		return REFUSE(work, "initial %u or tail %u is no known kind", initial, tail);
	}
	if (codec_reads(codec) && (partial->covered_from < partial->begin ||
				   partial->covered_until < partial->covered_from)) {
		return REFUSE(work, "the packets cover an impossible time");
	}
	partial->initial = (enum initial_kind)initial;
	partial->tail = (enum run_kind)tail;
	return 0;
}

/* ---- slices ---- */

static void slice_codec(struct codec *codec, struct slice *slice)
{
	codec_each(codec, &slice->window, &slice->tally_count, &slice->group_count,
		   &slice->keyed_count, &slice->discarded, &slice->lost_packets,
		   &slice->bad_packets, &slice->anomalies);
	for (unsigned int kind = 0; kind < RUN_KINDS; kind++) {
		codec_u64(codec, &slice->cpu_ns[kind]);
	}
	codec_bool(codec, &slice->has_gap);
}

/* Whether a slice may be in this window, after a slice in window @before. */
static bool is_window(const struct setup *setup, int64_t window, int64_t before, bool is_first)
{
	if (!is_first && window <= before) {
		return false;
	}
	return window == WINDOW_AFTER || (window == WINDOW_BEFORE && setup->range_begin > 0) ||
	       (window >= 0 && (uint64_t)window <= UINT64_MAX / setup->window_ns);
}

/* Windows close up to the last event, so it must have a slice. */
static int check_events(struct work *work)
{
	const struct partial *partial = work->partial;
	size_t count = partial->slices.count;

	if (partial->events == 0 && (partial->first_ts != UINT64_MAX || partial->last_ts != 0)) {
		return REFUSE(work, "the time of an event, but no event");
	}
	if (partial->events > 0 && (count == 0 || partial->first_ts > partial->last_ts ||
				    partial->slices.at[count - 1].window <
					    setup_window(work->rules->setup, partial->last_ts))) {
		return REFUSE(work, "no slice has the last event");
	}
	return 0;
}

static int slices_codec(struct work *work)
{
	struct partial *partial = work->partial;
	size_t count = codec_count(work->codec, partial->slices.count, 77);
	uint64_t tallies = 0, keyed_rows = 0;

	for (size_t i = 0; i < count; i++) {
		struct slice *slice = codec_at(work->codec, &partial->slices, i);

		slice_codec(work->codec, slice);
		if (!codec_reads(work->codec)) {
			continue;
		}
		slice->chains = RECORD_NONE;
		slice->tally_first = (uint32_t)tallies;
		slice->keyed_first = (uint32_t)keyed_rows;
		tallies += slice->tally_count;
		keyed_rows += slice->keyed_count;
		if (!is_window(work->rules->setup, slice->window, i > 0 ? slice[-1].window : 0,
			       i == 0)) {
			return REFUSE(work, "slice %zu: the window does not follow the one before",
				      i);
		}
	}
	return codec_reads(work->codec) ? check_events(work) : 0;
}

static int tallies_codec(struct work *work)
{
	struct partial *partial = work->partial;
	size_t count = codec_count(work->codec, partial->tallies.count, 12), at = 0;

	for (size_t i = 0; i < count; i++) {
		struct tally *tally = codec_at(work->codec, &partial->tallies, i);

		codec_u32(work->codec, &tally->class_index);
		codec_u64(work->codec, &tally->count);
		if (codec_reads(work->codec) && tally->class_index >= work->rules->classes) {
			return REFUSE(work, "tally %zu: event class %u of %u", i,
				      tally->class_index, work->rules->classes);
		}
	}
	for (size_t i = 0; codec_reads(work->codec) && i < partial->slices.count; i++) {
		struct slice *slice = &partial->slices.at[i];

		assert(at <= count);
		if (slice->tally_count > count - at) {
			return REFUSE(work, "slice %zu: too many tallies", i);
		}
		for (size_t end = at + slice->tally_count; at < end; at++) {
			slice->events += partial->tallies.at[at].count;
		}
	}
	if (codec_reads(work->codec) && at < count) {
		return REFUSE(work, "%zu tallies without a slice", count - at);
	}
	return 0;
}

/* ---- groups and records ---- */

static void group_codec(struct codec *codec, struct group *group)
{
	codec_each(codec, &group->key, &group->pid, &group->made, &group->is_weak,
		   &group->has_name);
	if (group->has_name) {
		codec_bytes(codec, group->name, NAME_BYTES);
	}
}

/* Keys that groups may have.  Only the merger makes keys of CPUs with an unknown thread. */
static bool is_key(const struct partial_rules *rules, int64_t key)
{
	return (key >= INT32_MIN && key <= INT32_MAX) ||
	       (key_is_user(key) && key <= KEY_USER(INT32_MAX, INT32_MAX)) || key == KEY_INITIAL ||
	       key == KEY_LOST || key == KEY_NOBODY ||
	       (rules->is_of_merger && key >= KEY_CPU(0) && key <= KEY_CPU(UINT32_MAX)) ||
	       (key >= KEY_ENTITY(0, 0) &&
		key < KEY_ENTITY((int64_t)rules->setup->analysis_count, 0));
}

/* A first gap needs its group.  The merger has used that already if it made the partial. */
static bool tells_gap(const struct work *work)
{
	const struct partial *partial = work->partial;

	return !codec_reads(work->codec) || partial->initial != INITIAL_GAP ||
	       work->rules->is_of_merger ||
	       (partial->initial_group < work->draft->groups.count &&
		work->draft->groups.at[partial->initial_group].key == KEY_INITIAL);
}

static int groups_codec(struct work *work)
{
	struct partial *partial = codec_reads(work->codec) ? work->draft : work->partial;
	uint32_t count = (uint32_t)codec_count(work->codec, partial->groups.count, 18), at = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (codec_reads(work->codec)) {
			(void)partial_add_group(partial, 0);
		}
		group_codec(work->codec, &partial->groups.at[i]);
		if (codec_reads(work->codec) && !is_key(work->rules, partial->groups.at[i].key)) {
			return REFUSE(work, "group %u: impossible key", i);
		}
	}
	for (size_t i = 0; codec_reads(work->codec) && i < work->partial->slices.count; i++) {
		const struct slice *slice = &work->partial->slices.at[i];

		if (slice->group_count > count - at) {
			return REFUSE(work, "slice %zu: too many groups", i);
		}
		at += slice->group_count;
	}
	if (codec_reads(work->codec) && at < count) {
		return REFUSE(work, "%u groups without a slice", count - at);
	}
	return tells_gap(work) ? 0 : REFUSE(work, "the first gap has no group");
}

/* Moves groups and records from the draft, by slice and shard. */
static void take_draft(struct work *work)
{
	struct partial *partial = work->partial, *draft = work->draft;
	uint32_t at = 0;

	for (size_t i = 0; i < partial->slices.count; i++) {
		struct slice *slice = &partial->slices.at[i];

		partial_take_slice(partial, slice, draft, at, slice->group_count);
		at += slice->group_count;
	}
	if (partial->initial_group < draft->groups.count) {
		partial->initial_group = draft->groups.at[partial->initial_group].next;
	}
	assert(at == draft->groups.count); /* groups_codec() refuses others */
	partial_take_order(partial, draft);
}

static int records_codec(struct work *work)
{
	struct codec *codec = work->codec;
	struct partial *draft = work->draft;
	size_t count = codec_count(codec, work->partial->made.count, 28);

	for (size_t i = 0; i < count; i++) {
		struct record *record = codec_reads(codec) ? codec_at(codec, &draft->records, i)
							   : partial_made(work->partial, i);
		uint32_t group = record->group;
		codec_each(codec, &record->ts, &record->arg64, &group, &record->arg32,
			   &record->arg16, &record->kind, &record->owner);
		if (!codec_reads(codec)) {
			continue;
		}
		if (group >= draft->groups.count) {
			return REFUSE(work, "record %zu: group %u of %zu", i, group,
				      draft->groups.count);
		}
		partial_chain(draft, group, (uint32_t)i);
	}
	if (codec_reads(codec)) {
		take_draft(work);
	}
	return 0;
}

static int numbers_codec(struct work *work)
{
	struct codec *codec = work->codec;
	struct partial *partial = work->partial;
	size_t count = codec_count(codec, partial->currents.count, 12);

	for (size_t i = 0; i < count; i++) {
		struct current *current = codec_at(codec, &partial->currents, i);
		uint32_t number;

		codec_each(codec, &current->number, &current->limits[WAKE_HARD],
			   &current->limits[WAKE_SOFT]);
		number = current->number;
		if (codec_reads(codec) && (number >= partial->made.count ||
					   partial_made(partial, number)->kind < RECORD_OWN)) {
			return REFUSE(work, "record %u cannot ask for the current thread", number);
		}
	}
	count = codec_count(codec, partial->numbers.count, sizeof(uint64_t));
	vec_reserve(&partial->numbers, count);
	for (size_t i = 0; i < count; i++) {
		codec_u64(codec, codec_at(codec, &partial->numbers, i));
	}
	return 0;
}

static bool is_accepted(const struct work *work, const struct record *record, bool has_current)
{
	const struct setup *setup = work->rules->setup;
	const struct partial *partial = work->partial;
	uint64_t numbers = partial->numbers.count;
	const struct untrusted_record untrusted = {
		.record = record,
		.numbers = record->arg64 < numbers ? &partial->numbers.at[record->arg64] : NULL,
		.count = record->arg64 < numbers ? numbers - record->arg64 : 0,
		.classes = work->rules->classes,
		.periods = setup->periods,
		.has_current = has_current,
	};

	return record->owner < setup->analysis_count &&
	       analysis_accepts(setup->analyses[record->owner], &untrusted);
}

static bool has_place_words(const struct partial *partial, const struct record *record)
{
	return partial->numbers.count >= PLACE_WORDS &&
	       record->arg64 <= partial->numbers.count - PLACE_WORDS &&
	       record_place_is_sound(&partial->numbers.at[record->arg64]);
}

/* Checks the records of analyses, now that their numbers are read. */
static int check_records(struct work *work)
{
	const struct partial *partial = work->partial;
	uint8_t *currents;
	int r = 0;

	if (!codec_reads(work->codec)) {
		return 0;
	}
	currents = mem_alloc(partial->records.count + 1);
	for (size_t i = 0; i < partial->currents.count; i++) {
		assert(partial->currents.at[i].number < partial->made.count); /* numbers_codec() */
		currents[partial->made.at[partial->currents.at[i].number]] = 1;
	}
	for (size_t i = 0; r == 0 && i < partial->records.count; i++) {
		const struct record *record = &partial->records.at[i];

		if (record->kind == RECORD_PLACE
			    ? !has_place_words(partial, record)
			    : record->kind >= RECORD_OWN &&
				      !is_accepted(work, record, currents[i])) {
			r = REFUSE(work, "record %zu: it is none of its analysis, or of a place",
				   i);
		}
	}
	free(currents);
	return r;
}

/* ---- keyed rows ---- */

/* Columns of the table of a keyed row, if all are sums (others are pointers); else 0. */
static uint32_t columns_of(const struct setup *setup, const struct slice_row *keyed)
{
	const struct table *table;
	uint32_t count;

	if (keyed->analysis >= setup->analysis_count || keyed->table >= TABLES_MAX) {
		return 0;
	}
	table = &setup->analyses[keyed->analysis]->tables[keyed->table];
	count = column_count(table);
	for (uint32_t i = 0; i < count; i++) {
		if (table->columns[i].kind != COLUMN_SUM) {
			return 0;
		}
	}
	return table->scope == SCOPE_KEYED ? count : 0;
}

/* Whether what the row calls its whole name ends, and is one. */
static bool has_whole_name(const struct partial *partial, const struct slice_row *keyed)
{
	size_t room = (partial->numbers.count - keyed->name) * sizeof(uint64_t);
	const char *name = (const char *)(partial->numbers.at + keyed->name);
	size_t len = keyed->name > 0 ? strnlen(name, room) : 0;

	return keyed->name == 0 ||
	       (len >= ROW_KEY_NAME_BYTES && len < room && len < LABEL_TEXT_BYTES_MAX);
}

static bool is_keyed(const struct work *work, const struct slice_row *keyed)
{
	uint32_t columns = columns_of(work->rules->setup, keyed);
	size_t numbers = work->partial->numbers.count;

	return columns > 0 && numbers >= columns && keyed->numbers <= numbers - columns &&
	       keyed->name < numbers && has_whole_name(work->partial, keyed);
}

static int keyed_codec(struct work *work)
{
	struct codec *codec = work->codec;
	struct partial *partial = work->partial;
	size_t count = codec_count(codec, partial->keyed_rows.count, 18 + ROW_KEY_NAME_BYTES);
	uint64_t used = 0;

	for (size_t i = 0; i < count; i++) {
		struct slice_row *keyed = codec_at(codec, &partial->keyed_rows, i);

		codec_each(codec, &keyed->analysis, &keyed->table, &keyed->numbers, &keyed->name);
		row_key_codec(codec, &keyed->key);
		if (codec_reads(codec) && !is_keyed(work, keyed)) {
			return REFUSE(work, "keyed row %zu: no such table, or no numbers", i);
		}
	}
	for (size_t i = 0; i < partial->slices.count; i++) {
		used += partial->slices.at[i].keyed_count;
	}
	return !codec_reads(codec) || used == count
		       ? 0
		       : REFUSE(work, "slices have another number of keyed rows");
}

/* ---- which thread ran ---- */

void partial_codec_segment(struct codec *codec, struct segment *segment)
{
	codec_each(codec, &segment->begin, &segment->end, &segment->tid, &segment->kind,
		   &segment->is_broken, &segment->is_first, &segment->is_before);
	(void)codec_check(codec, segment->kind < RUN_KINDS && segment->begin <= segment->end);
}

void partial_codec_rename(struct codec *codec, struct rename *rename)
{
	codec_each(codec, &rename->ts, &rename->from, &rename->to);
	(void)codec_check(codec, rename->from != rename->to);
}

static int segments_codec(struct work *work)
{
	struct codec *codec = work->codec;
	struct partial *partial = work->partial;
	size_t count = codec_count(codec, partial->segments.count, 23);

	for (size_t i = 0; i < count; i++) {
		struct segment *segment = codec_at(codec, &partial->segments, i);

		partial_codec_segment(codec, segment);
		(void)codec_check(codec, i == 0 || segment->begin >= segment[-1].end);
	}
	count = codec_count(codec, partial->renames.count, 16);
	for (size_t i = 0; i < count; i++) {
		partial_codec_rename(codec, codec_at(codec, &partial->renames, i));
	}
	return 0;
}

/* ---- all ---- */

int partial_codec(struct codec *codec, struct partial *partial, const struct partial_rules *rules,
		  struct err *err)
{
	static int (*const parts[])(struct work *) = {
		ends_codec,    slices_codec,  tallies_codec, groups_codec,   records_codec,
		numbers_codec, check_records, keyed_codec,   segments_codec,
	};
	struct work work = { codec, partial, codec_reads(codec) ? partial_new() : NULL, rules,
			     err };
	int r = 0;

	assert(!codec_reads(codec) || (rules && err));
	assert(!codec_reads(codec) || partial->slices.count == 0);
	assert(!codec_reads(codec) || partial->records.count == 0);
	for (size_t i = 0; r == 0 && i < ARRAY_COUNT(parts); i++) {
		r = parts[i](&work);
		if (codec->is_wrong) {
			r = err_raise(err, -EINVAL, "it is cut, or has an impossible value");
		}
	}
	assert(r == 0 || codec_reads(codec)); /* writing never fails */
	partial_free(work.draft);
	return r;
}
