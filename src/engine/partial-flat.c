/*
 * partial-flat: see partial-flat.h.
 */
#include "engine/partial-flat.h"

#include <errno.h>

#include "engine/columns.h"

/* ---- writing ---- */

static void put_count(struct flat_out *out, size_t count)
{
	flat_put_u32(out, (uint32_t)count); /* all are referred to by 32 bits */
}

static void put_slices(const struct partial *partial, struct flat_out *out)
{
	put_count(out, partial->slices.count);
	for (size_t i = 0; i < partial->slices.count; i++) {
		const struct slice *slice = &partial->slices.at[i];

		flat_put_u64(out, (uint64_t)slice->window);
		flat_put_u32(out, slice->tally_count);
		flat_put_u32(out, slice->group_count);
		flat_put_u32(out, slice->item_count);
		flat_put_u64(out, slice->discarded);
		flat_put_u64(out, slice->lost_packets);
		flat_put_u64(out, slice->bad_packets);
		flat_put_u64(out, slice->anomalies);
		for (unsigned int kind = 0; kind < RUN_KINDS; kind++) {
			flat_put_u64(out, slice->cpu_ns[kind]);
		}
		flat_put_u8(out, slice->has_gap);
	}
	put_count(out, partial->tallies.count);
	for (size_t i = 0; i < partial->tallies.count; i++) {
		flat_put_u32(out, partial->tallies.at[i].class_index);
		flat_put_u64(out, partial->tallies.at[i].count);
	}
}

enum { GROUP_HAS_NAME = 1, GROUP_IS_WEAK = 2 };

static void put_groups(const struct partial *partial, struct flat_out *out)
{
	put_count(out, partial->groups.count);
	for (size_t i = 0; i < partial->groups.count; i++) {
		const struct group *group = &partial->groups.at[i];

		flat_put_u64(out, (uint64_t)group->key);
		flat_put_u32(out, (uint32_t)group->pid);
		flat_put_u8(out, (uint8_t)((group->has_name ? GROUP_HAS_NAME : 0) |
					   (group->is_weak ? GROUP_IS_WEAK : 0)));
		if (group->has_name) {
			flat_put(out, group->name, NAME_BYTES);
		}
	}
}

static void put_records(const struct partial *partial, struct flat_out *out)
{
	put_count(out, partial->records.count);
	for (size_t i = 0; i < partial->records.count; i++) {
		const struct record *record = &partial->records.at[i];

		flat_put_u64(out, record->ts);
		flat_put_u64(out, record->a);
		flat_put_u32(out, record->group);
		flat_put_u32(out, (uint32_t)record->prio);
		flat_put_u16(out, record->flags);
		flat_put_u8(out, record->kind);
		flat_put_u8(out, record->owner);
	}
	put_count(out, partial->currents.count);
	for (size_t i = 0; i < partial->currents.count; i++) {
		flat_put_u32(out, partial->currents.at[i]);
	}
	put_count(out, partial->numbers.count);
	for (size_t i = 0; i < partial->numbers.count; i++) {
		flat_put_u64(out, partial->numbers.at[i]);
	}
}

static void put_items(const struct partial *partial, struct flat_out *out)
{
	put_count(out, partial->items.count);
	for (size_t i = 0; i < partial->items.count; i++) {
		const struct slice_item *item = &partial->items.at[i];

		flat_put_u8(out, item->analysis);
		flat_put_u8(out, item->table);
		flat_put_u32(out, item->numbers);
		flat_put_u64(out, item->key.id);
		flat_put(out, item->key.name, ITEM_NAME_BYTES);
	}
}

static void put_ends(const struct partial *partial, struct flat_out *out)
{
	flat_put_u64(out, partial->begin);
	flat_put_u64(out, partial->end);
	flat_put_u64(out, partial->first_ts);
	flat_put_u64(out, partial->last_ts);
	flat_put_u64(out, partial->records_until);
	flat_put_u64(out, partial->events);
	flat_put_u64(out, partial->packets);
	flat_put_u64(out, partial->bytes);
	flat_put_u64(out, partial->broken);
	flat_put_u8(out, (uint8_t)partial->head);
	flat_put_u8(out, (uint8_t)partial->tail);
	flat_put_u8(out, partial->head_has_prio);
	flat_put_u64(out, partial->head_ts);
	flat_put_u64(out, partial->tail_ts);
	flat_put_u32(out, partial->head_slice);
	flat_put_u32(out, (uint32_t)partial->head_tid);
	flat_put_u32(out, (uint32_t)partial->head_prio);
	flat_put_u32(out, (uint32_t)partial->tail_tid);
	flat_put(out, partial->head_name, NAME_BYTES);
}

enum { SEGMENT_IS_BROKEN = 1, SEGMENT_IS_BEFORE = 2 };

static void put_segments(const struct partial *partial, struct flat_out *out)
{
	put_count(out, partial->segments.count);
	for (size_t i = 0; i < partial->segments.count; i++) {
		const struct segment *segment = &partial->segments.at[i];

		flat_put_u64(out, segment->begin);
		flat_put_u64(out, segment->end);
		flat_put_u32(out, (uint32_t)segment->tid);
		flat_put_u8(out, segment->kind);
		flat_put_u8(out, (uint8_t)((segment->is_broken ? SEGMENT_IS_BROKEN : 0) |
					   (segment->is_before ? SEGMENT_IS_BEFORE : 0)));
	}
	put_count(out, partial->renames.count);
	for (size_t i = 0; i < partial->renames.count; i++) {
		flat_put_u64(out, partial->renames.at[i].ts);
		flat_put_u32(out, (uint32_t)partial->renames.at[i].from);
		flat_put_u32(out, (uint32_t)partial->renames.at[i].to);
	}
}

void partial_write(const struct partial *partial, struct flat_out *out)
{
	put_ends(partial, out);
	put_slices(partial, out);
	put_groups(partial, out);
	put_records(partial, out);
	put_items(partial, out);
	put_segments(partial, out);
}

/* ---- reading ---- */

struct reading {
	struct partial *partial;
	struct flat_in *in;
	const struct map_setup *setup;
	uint32_t classes;
	enum partial_source source;
	struct err *err;
};

#define REFUSE(reading, ...) err_raise((reading)->err, -EINVAL, __VA_ARGS__)

static int get_ends(struct reading *r)
{
	struct partial *partial = r->partial;
	const uint8_t *name;
	uint8_t head, tail;

	partial->begin = flat_get_u64(r->in);
	partial->end = flat_get_u64(r->in);
	partial->first_ts = flat_get_u64(r->in);
	partial->last_ts = flat_get_u64(r->in);
	partial->records_until = flat_get_u64(r->in);
	partial->events = flat_get_u64(r->in);
	partial->packets = flat_get_u64(r->in);
	partial->bytes = flat_get_u64(r->in);
	partial->broken = flat_get_u64(r->in);
	head = flat_get_u8(r->in);
	tail = flat_get_u8(r->in);
	partial->head_has_prio = flat_get_u8(r->in) != 0;
	partial->head_ts = flat_get_u64(r->in);
	partial->tail_ts = flat_get_u64(r->in);
	partial->head_slice = flat_get_u32(r->in);
	partial->head_tid = (int32_t)flat_get_u32(r->in);
	partial->head_prio = (int32_t)flat_get_u32(r->in);
	partial->tail_tid = (int32_t)flat_get_u32(r->in);
	name = flat_get(r->in, NAME_BYTES);
	if (name) {
		memcpy(partial->head_name, name, NAME_BYTES);
	}
	if (head > HEAD_GAP || tail >= RUN_KINDS) {
		return REFUSE(r, "who runs at its ends is none of the kinds that there are");
	}
	partial->head = (enum head_kind)head;
	partial->tail = (enum run_kind)tail;
	return 0;
}

/* Whether a worker may have cut a slice there, behind that of the window @before. */
static bool is_window(const struct map_setup *setup, int64_t window, int64_t before, bool is_first)
{
	if (!is_first && window <= before) {
		return false;
	}
	return window == WINDOW_AFTER || (window == WINDOW_BEFORE && setup->range_begin > 0) ||
	       (window >= 0 && (uint64_t)window <= UINT64_MAX / setup->window_ns);
}

static int get_slices(struct reading *r)
{
	struct partial *partial = r->partial;
	uint32_t count = flat_get_count(r->in, 77);
	uint64_t tallies = 0, items = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct slice *slice = vec_push(&partial->slices);

		memset(slice, 0, sizeof(*slice));
		slice->window = (int64_t)flat_get_u64(r->in);
		slice->tally_first = (uint32_t)tallies;
		slice->tally_count = flat_get_u32(r->in);
		slice->group_count = flat_get_u32(r->in);
		slice->item_first = (uint32_t)items;
		slice->item_count = flat_get_u32(r->in);
		slice->discarded = flat_get_u64(r->in);
		slice->lost_packets = flat_get_u64(r->in);
		slice->bad_packets = flat_get_u64(r->in);
		slice->anomalies = flat_get_u64(r->in);
		for (unsigned int kind = 0; kind < RUN_KINDS; kind++) {
			slice->cpu_ns[kind] = flat_get_u64(r->in);
		}
		slice->has_gap = flat_get_u8(r->in) != 0;
		slice->chains = RECORD_NONE;
		tallies += slice->tally_count;
		items += slice->item_count;
		if (!is_window(r->setup, slice->window, i > 0 ? slice[-1].window : 0, i == 0)) {
			return REFUSE(r, "slice %u is of no window that can follow", i);
		}
	}
	if (partial->events > 0 &&
	    (count == 0 || partial->first_ts > partial->last_ts ||
	     partial->slices.at[count - 1].window < map_window(r->setup, partial->last_ts))) {
		return REFUSE(r, "its last event is in no slice");
	}
	if (partial->events == 0 && (partial->first_ts != UINT64_MAX || partial->last_ts != 0)) {
		return REFUSE(r, "it has no event, but the time of one");
	}
	if (partial->head == HEAD_GAP && partial->head_slice >= partial->slices.count) {
		return REFUSE(r, "its first gap is in no slice");
	}
	return 0;
}

static int get_tallies(struct reading *r)
{
	struct partial *partial = r->partial;
	uint32_t count = flat_get_count(r->in, 12), at = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct tally *tally = vec_push(&partial->tallies);

		*tally = (struct tally){ .class_index = flat_get_u32(r->in) };
		tally->count = flat_get_u64(r->in);
		if (tally->class_index >= r->classes) {
			return REFUSE(r, "tally %u is of event class %u of %u", i,
				      tally->class_index, r->classes);
		}
	}
	for (size_t i = 0; i < partial->slices.count; i++) {
		struct slice *slice = &partial->slices.at[i];

		if (slice->tally_count > count - at) {
			return REFUSE(r, "slice %zu has more tallies than there are", i);
		}
		for (uint32_t end = at + slice->tally_count; at < end; at++) {
			slice->events += partial->tallies.at[at].count;
		}
	}
	return 0;
}

/* What records may be put under; on which CPU nobody known ran the merger finds out. */
static bool is_key(const struct map_setup *setup, int64_t key, enum partial_source source)
{
	const int64_t objects = KEY_OBJECT(0, 0);

	return (key >= INT32_MIN && key <= INT32_MAX) || key == KEY_HEAD || key == KEY_LOST ||
	       key == KEY_NOBODY ||
	       (source == PARTIAL_OF_MERGER && key >= KEY_CPU(0) && key <= KEY_CPU(UINT32_MAX)) ||
	       (key >= objects && key < KEY_OBJECT((int64_t)setup->analysis_count, 0));
}

static int get_groups(struct reading *r)
{
	struct partial *partial = r->partial;
	uint32_t count = flat_get_count(r->in, 13), at = 0;

	for (uint32_t i = 0; i < count; i++) {
		int64_t key = (int64_t)flat_get_u64(r->in);
		struct group *group;
		uint8_t flags;

		(void)partial_add_group(partial, key);
		group = &partial->groups.at[i];
		group->pid = (int32_t)flat_get_u32(r->in);
		flags = flat_get_u8(r->in);
		group->has_name = flags & GROUP_HAS_NAME;
		group->is_weak = flags & GROUP_IS_WEAK;
		if (group->has_name) {
			const uint8_t *name = flat_get(r->in, NAME_BYTES);

			memcpy(group->name, name ? (const char *)name : "", name ? NAME_BYTES : 1);
		}
		if (!is_key(r->setup, key, r->source)) {
			return REFUSE(r, "group %u is of nobody that there can be", i);
		}
	}
	for (size_t i = 0; i < partial->slices.count; i++) {
		struct slice *slice = &partial->slices.at[i];

		if (slice->group_count > count - at) {
			return REFUSE(r, "slice %zu has more groups than there are", i);
		}
		partial_sort_slice(partial, slice, at);
		at += slice->group_count;
	}
	return at == count ? 0 : REFUSE(r, "%u groups are in no slice", count - at);
}

static int get_records(struct reading *r)
{
	struct partial *partial = r->partial;
	uint32_t count = flat_get_count(r->in, 28);

	vec_reserve(&partial->records, count);
	for (uint32_t i = 0; i < count; i++) {
		struct record record = { .ts = flat_get_u64(r->in) };
		uint32_t group;

		record.a = flat_get_u64(r->in);
		group = flat_get_u32(r->in);
		record.prio = (int32_t)flat_get_u32(r->in);
		record.flags = flat_get_u16(r->in);
		record.kind = flat_get_u8(r->in);
		record.owner = flat_get_u8(r->in);
		if (group >= partial->groups.count) {
			return REFUSE(r, "record %u is of group %u of %zu", i, group,
				      partial->groups.count);
		}
		*vec_push(&partial->records) = record;
		partial_chain(partial, group, i);
	}
	return 0;
}

static int get_numbers(struct reading *r)
{
	struct partial *partial = r->partial;
	uint32_t count = flat_get_count(r->in, sizeof(uint32_t));

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = flat_get_u32(r->in);

		if (index >= partial->records.count ||
		    partial->records.at[index].kind < RECORD_OWN) {
			return REFUSE(r, "record %u is to say who runs, and is none that can",
				      index);
		}
		*vec_push(&partial->currents) = index;
	}
	count = flat_get_count(r->in, sizeof(uint64_t));
	vec_reserve(&partial->numbers, count);
	for (uint32_t i = 0; i < count; i++) {
		*vec_push(&partial->numbers) = flat_get_u64(r->in);
	}
	return 0;
}

static bool is_accepted(struct reading *r, const struct record *record, bool has_current)
{
	const struct partial *partial = r->partial;
	uint64_t numbers = partial->numbers.count;
	const struct foreign_record foreign = {
		.record = record,
		.numbers = record->a < numbers ? &partial->numbers.at[record->a] : NULL,
		.count = record->a < numbers ? numbers - record->a : 0,
		.classes = r->classes,
		.periods = r->setup->periods,
		.has_current = has_current,
	};

	return record->owner < r->setup->analysis_count &&
	       r->setup->analyses[record->owner]->accepts &&
	       r->setup->analyses[record->owner]->accepts(&foreign);
}

/* The analyses' records, now that what they point to is there. */
static int check_records(struct reading *r)
{
	const struct partial *partial = r->partial;
	uint8_t *currents = mem_alloc(partial->records.count + 1);
	int result = 0;

	for (size_t i = 0; i < partial->currents.count; i++) {
		currents[partial->currents.at[i]] = 1;
	}
	for (size_t i = 0; result == 0 && i < partial->records.count; i++) {
		const struct record *record = &partial->records.at[i];

		if (record->kind >= RECORD_OWN && !is_accepted(r, record, currents[i])) {
			result = REFUSE(r, "record %zu is none of the analysis that it is of", i);
		}
	}
	free(currents);
	return result;
}

/* How many columns the table of an item has: of sums only, since others are pointers; 0: none. */
static uint32_t columns_of(const struct map_setup *setup, const struct slice_item *item)
{
	const struct table *table;
	uint32_t count;

	if (item->analysis >= setup->analysis_count || item->table >= TABLES_MAX) {
		return 0;
	}
	table = &setup->analyses[item->analysis]->tables[item->table];
	count = column_count(table);
	for (uint32_t i = 0; i < count; i++) {
		if (table->columns[i].kind != COLUMN_SUM) {
			return 0;
		}
	}
	return table->scope == SCOPE_ITEM ? count : 0;
}

static int get_items(struct reading *r)
{
	struct partial *partial = r->partial;
	uint32_t count = flat_get_count(r->in, 14 + ITEM_NAME_BYTES);
	uint64_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct slice_item item = { .analysis = flat_get_u8(r->in), .next = RECORD_NONE };
		const uint8_t *name;
		uint32_t columns;

		item.table = flat_get_u8(r->in);
		item.numbers = flat_get_u32(r->in);
		item.key.id = flat_get_u64(r->in);
		name = flat_get(r->in, ITEM_NAME_BYTES);
		columns = columns_of(r->setup, &item);
		if (!name || name[ITEM_NAME_BYTES - 1] != 0 || columns == 0 ||
		    partial->numbers.count < columns ||
		    item.numbers > partial->numbers.count - columns) {
			return REFUSE(r, "item %u is of no table, or has no name or no numbers", i);
		}
		memcpy(item.key.name, name, ITEM_NAME_BYTES);
		*vec_push(&partial->items) = item;
	}
	for (size_t i = 0; i < partial->slices.count; i++) {
		used += partial->slices.at[i].item_count;
	}
	return used == count ? 0 : REFUSE(r, "slices have other items than there are");
}

static int get_segments(struct reading *r)
{
	struct partial *partial = r->partial;
	uint32_t count = flat_get_count(r->in, 22);

	for (uint32_t i = 0; i < count; i++) {
		struct segment *segment = vec_push(&partial->segments);
		uint8_t flags;

		*segment = (struct segment){ .begin = flat_get_u64(r->in) };
		segment->end = flat_get_u64(r->in);
		segment->tid = (int32_t)flat_get_u32(r->in);
		segment->kind = flat_get_u8(r->in);
		flags = flat_get_u8(r->in);
		segment->is_broken = flags & SEGMENT_IS_BROKEN;
		segment->is_before = flags & SEGMENT_IS_BEFORE;
		if (segment->kind >= RUN_KINDS || segment->end < segment->begin ||
		    (i > 0 && segment->begin < segment[-1].end)) {
			return REFUSE(r, "segment %u is out of order, or of no kind", i);
		}
	}
	count = flat_get_count(r->in, 16);
	for (uint32_t i = 0; i < count; i++) {
		struct rename *rename = vec_push(&partial->renames);

		rename->ts = flat_get_u64(r->in);
		rename->from = (int32_t)flat_get_u32(r->in);
		rename->to = (int32_t)flat_get_u32(r->in);
		if (rename->from == rename->to) {
			return REFUSE(r, "rename %u is from and to one thread", i);
		}
	}
	return 0;
}

int partial_read(struct partial *partial, struct flat_in *in, const struct map_setup *setup,
		 uint32_t classes, enum partial_source source, struct err *err)
{
	static int (*const parts[])(struct reading *) = {
		get_ends,    get_slices,    get_tallies, get_groups,   get_records,
		get_numbers, check_records, get_items,   get_segments,
	};
	struct reading reading = { partial, in, setup, classes, source, err };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int r = parts[i](&reading);

		if (in->is_short) {
			return err_raise(err, -EINVAL, "it ends in the middle");
		}
		if (r < 0) {
			return r;
		}
	}
	return 0;
}
