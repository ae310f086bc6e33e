/*
 * tiles: see tiles.h.
 */
#include "index/tiles.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/now.h"
#include "engine/contract/analysis-rare.h"
#include "index/tile-rows.h"

#define NONE UINT32_MAX

HASH_MAP(groups, uint32_t)

#define BYS (TILES_THREAD + 1)

struct index_tiles {
	const struct index_file *file;
	struct index_tiles_head head;
	const struct table *table;
	unsigned int columns;
	tile_threads threads;
	tile_lanes lanes;
	tile_blocks blocks;
	VEC(uint32_t) group_of[BYS]; /* by lane, once they were asked for */
	VEC(uint32_t) lane_of[BYS];  /* by group: one that tells who that is */
};

void index_tiles_free(struct index_tiles *tiles)
{
	if (tiles) {
		for (unsigned int by = 0; by < BYS; by++) {
			vec_fini(&tiles->group_of[by]);
			vec_fini(&tiles->lane_of[by]);
		}
		vec_fini(&tiles->threads);
		vec_fini(&tiles->lanes);
		vec_fini(&tiles->blocks);
		free(tiles);
	}
}

int index_tiles_open(const struct index_file *file, struct index_tiles **ret, struct err *err)
{
	struct index_tiles *tiles = mem_alloc(sizeof(*tiles));
	int r = index_file_tiles(file, &tiles->head, &tiles->threads, &tiles->lanes, &tiles->blocks,
				 err);

	if (r < 0) {
		index_tiles_free(tiles);
		return r;
	}
	tiles->file = file;
	tiles->table = &tiles->head.analysis->tables[analysis_thread_table(tiles->head.analysis)];
	while (tiles->columns < COLUMNS_MAX && tiles->table->columns[tiles->columns].key) {
		tiles->columns++;
	}
	*ret = tiles;
	return 0;
}

const struct index_tiles_head *index_tiles_head(const struct index_tiles *tiles)
{
	return &tiles->head;
}

unsigned int index_tiles_columns(const struct index_tiles *tiles)
{
	return tiles->columns;
}

const struct table *index_tiles_table(const struct index_tiles *tiles)
{
	return tiles->table;
}

/* ---- groups ---- */

static uint64_t tiles_group_key(const struct index_tiles *tiles, enum tiles_by by, uint32_t number)
{
	const struct tile_lane *lane = &tiles->lanes.at[number];
	const struct tile_thread *thread = &tiles->threads.at[lane->thread];

	switch (by) {
	case TILES_CPU:
		return lane->cpu;
	case TILES_CONTAINER:
		return thread->container;
	case TILES_PROCESS:
		return (uint32_t)thread->pid;
	case TILES_THREAD:
		return lane->thread;
	case TILES_ALL:
	default:
		return 0;
	}
}

static int32_t tiles_tid_of(const struct tile_thread *thread)
{
	return (int32_t)(thread->id >> 32);
}

/* Whether a lane tells better who a process is: by its leader, and the one that came last. */
static bool tells_better(const struct index_tiles *tiles, uint32_t lane, uint32_t than)
{
	const struct tile_thread *one = &tiles->threads.at[tiles->lanes.at[lane].thread];
	const struct tile_thread *other = &tiles->threads.at[tiles->lanes.at[than].thread];

	return tiles_tid_of(one) == one->pid || tiles_tid_of(other) != other->pid;
}

static void find_groups(struct index_tiles *tiles, enum tiles_by by)
{
	struct groups groups = { 0 };

	if (tiles->group_of[by].count == tiles->lanes.count) {
		return;
	}
	for (uint32_t i = 0; i < tiles->lanes.count; i++) {
		bool is_new;
		uint32_t *group = groups_put(&groups, tiles_group_key(tiles, by, i), &is_new);

		if (is_new) {
			*group = (uint32_t)tiles->lane_of[by].count;
			*vec_push(&tiles->lane_of[by]) = i;
		} else if (tells_better(tiles, i, tiles->lane_of[by].at[*group])) {
			tiles->lane_of[by].at[*group] = i;
		}
		*vec_push(&tiles->group_of[by]) = *group;
	}
	groups_fini(&groups);
}

void index_tiles_who(const struct index_tiles *tiles, enum tiles_by by, uint32_t number,
		     struct tile_who *ret)
{
	const struct tile_lane *lane = &tiles->lanes.at[tiles->lane_of[by].at[number]];
	const struct tile_thread *thread = &tiles->threads.at[lane->thread];

	*ret = (struct tile_who){ .tid = -1, .pid = -1, .cpu = UINT64_MAX, .comm = "" };
	if (by == TILES_CPU) {
		ret->cpu = lane->cpu;
	}
	if (by >= TILES_CONTAINER) {
		ret->container = thread->container;
	}
	if (by >= TILES_PROCESS) {
		ret->pid = thread->pid;
		ret->comm = thread->comm;
	}
	if (by == TILES_THREAD) {
		ret->tid = tiles_tid_of(thread);
		ret->id = thread->id;
	}
}

/* ---- reading ---- */

struct tiles_reading {
	const struct index_tiles *tiles;
	const uint32_t *group_of;
	unsigned int k, level; /* of the rows, and of what is asked for */
	uint64_t first, end;   /* of the rows: tiles before @first only tell what is done there */
	bool (*each)(void *user, const struct tile *tile);
	void *user;
	bool is_over;
	/* By lane: what it does by now, and where it is in `there`. */
	VEC(uint8_t) now;
	VEC(uint32_t) there_at;
	VEC(uint32_t) there;
	/* The tile that is being added up: by group its sums, and whether it has any. */
	uint64_t tile;
	bool has_tile;
	VEC(uint64_t) sums;
	VEC(uint8_t) has_sums;
	VEC(uint32_t) touched;
	VEC(struct tile_sums) rows;
};

static int tiles_by_number(const void *a, const void *b)
{
	const struct tile_sums *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static bool tiles_has_any(const uint64_t *sums, unsigned int columns)
{
	uint64_t any = 0;

	for (unsigned int i = 0; i < columns; i++) {
		any |= sums[i];
	}
	return any != 0;
}

/* Gives the tile away. */
static void flush_tile(struct tiles_reading *reading)
{
	unsigned int columns = reading->tiles->columns;
	struct tile tile = { .begin = reading->tile << reading->level };

	reading->rows.count = 0;
	VEC_EACH(&reading->touched, group) {
		const uint64_t *sums = &reading->sums.at[(size_t)*group * columns];

		if (tiles_has_any(sums, columns)) {
			*vec_push(&reading->rows) = (struct tile_sums){ *group, sums };
		}
	}
	if (reading->rows.count > 0) {
		qsort(reading->rows.at, reading->rows.count, sizeof(*reading->rows.at),
		      tiles_by_number);
		tile.end = (reading->tile + 1) << reading->level;
		tile.rows = reading->rows.at;
		tile.count = reading->rows.count;
		reading->is_over = !reading->each(reading->user, &tile);
	}
	VEC_EACH(&reading->touched, group) {
		memset(&reading->sums.at[(size_t)*group * columns], 0, columns * sizeof(uint64_t));
		reading->has_sums.at[*group] = false;
	}
	reading->touched.count = 0;
	reading->has_tile = false;
}

static uint64_t *sums_of(struct tiles_reading *reading, uint32_t lane)
{
	uint32_t group = reading->group_of[lane];

	if (!reading->has_sums.at[group]) {
		reading->has_sums.at[group] = true;
		*vec_push(&reading->touched) = group;
	}
	return &reading->sums.at[(size_t)group * reading->tiles->columns];
}

/* The tile of the level that is asked for, which a tile of the rows lies in. */
static void tiles_enter(struct tiles_reading *reading, uint64_t tile)
{
	uint64_t in = tile >> (reading->level - reading->k);

	if (reading->has_tile && reading->tile != in) {
		flush_tile(reading);
	}
	reading->has_tile = true;
	reading->tile = in;
}

/* @count tiles, all in one that is asked for, in which each lane does what it does. */
static void add_same(struct tiles_reading *reading, uint64_t count)
{
	VEC_EACH(&reading->there, lane) {
		sums_of(reading, *lane)[reading->now.at[*lane]] += count << reading->k;
	}
}

static void tiles_go_on(struct tiles_reading *reading, uint64_t from, uint64_t to)
{
	unsigned int more = reading->level - reading->k;

	from = from < reading->first ? reading->first : from;
	to = to > reading->end ? reading->end : to;
	while (from < to && reading->there.count > 0 && !reading->is_over) {
		uint64_t end = ((from >> more) + 1) << more;

		end = end < to ? end : to;
		tiles_enter(reading, from);
		if (!reading->is_over) {
			add_same(reading, end - from);
		}
		from = end;
	}
}

static void tiles_set_now(struct tiles_reading *reading, uint32_t lane, uint8_t now)
{
	uint32_t at = reading->there_at.at[lane];

	if (now != TILE_NONE && at == NONE) {
		reading->there_at.at[lane] = (uint32_t)reading->there.count;
		*vec_push(&reading->there) = lane;
	} else if (now == TILE_NONE && at != NONE) {
		uint32_t last = reading->there.at[--reading->there.count];

		reading->there.at[at] = last;
		reading->there_at.at[last] = at;
		reading->there_at.at[lane] = NONE;
	}
	reading->now.at[lane] = now;
}

/* The row's sums are in place of what the lane did all the time otherwise. */
static void tiles_add_row(struct tiles_reading *reading, const struct tile_row *row,
			  const uint64_t sums[COLUMNS_MAX])
{
	uint8_t now = reading->now.at[row->lane];
	uint64_t *to = sums_of(reading, row->lane);

	if (now != TILE_NONE) {
		to[now] -= (uint64_t)1 << reading->k;
	}
	for (uint32_t left = row->mask; left != 0; left &= left - 1) {
		to[__builtin_ctz(left)] += sums[__builtin_ctz(left)];
	}
}

struct tile_change {
	uint32_t lane;
	uint8_t after;
};
typedef VEC(struct tile_change) changes;

/* All rows of a tile, in the order of lanes. */
static bool tiles_read_tile(struct tiles_reading *reading, struct tile_reader *in, uint64_t tile,
			    changes *all)
{
	bool is_asked = tile >= reading->first && tile < reading->end;
	uint64_t lane = 0, step;

	all->count = 0;
	if (is_asked) {
		tiles_enter(reading, tile);
		if (reading->is_over) {
			return true;
		}
		add_same(reading, 1);
	}
	while ((step = tile_reader_number(in)) != 0 && !in->is_wrong) {
		struct tile_row row;
		uint64_t sums[COLUMNS_MAX];

		lane += step;
		if (step > reading->now.count || lane > reading->now.count) {
			return false;
		}
		row.lane = (uint32_t)lane - 1;
		if (!tile_reader_row(in, reading->tiles->columns, (uint64_t)1 << reading->k, &row,
				     sums)) {
			return false;
		}
		if (is_asked) {
			tiles_add_row(reading, &row, sums);
		}
		*vec_push(all) = (struct tile_change){ row.lane, row.after };
	}
	VEC_EACH(all, change) {
		tiles_set_now(reading, change->lane, change->after);
	}
	return !in->is_wrong;
}

/* What each lane does when the block begins. */
static bool read_there(struct tiles_reading *reading, struct tile_reader *in)
{
	uint64_t count = tile_reader_number(in), lane = 0;

	while (reading->there.count > 0) {
		tiles_set_now(reading, reading->there.at[0], TILE_NONE);
	}
	for (uint64_t i = 0; i < count && !in->is_wrong; i++) {
		uint64_t step = tile_reader_number(in);
		uint8_t now = tile_reader_byte(in);

		lane += step;
		if (in->is_wrong || step > reading->now.count || lane >= reading->now.count ||
		    (i > 0 && step == 0) || now >= reading->tiles->columns) {
			return false;
		}
		tiles_set_now(reading, (uint32_t)lane, now);
	}
	return !in->is_wrong;
}

/* @next: the first tile of the block behind it. */
static bool tiles_read_rows(struct tiles_reading *reading, const struct tile_block *block,
			    uint64_t next, struct tile_reader *in)
{
	uint64_t tile = block->first;
	bool is_first = true, is_right = read_there(reading, in);
	changes all = { 0 };

	while (is_right && !reading->is_over && in->at < in->end && tile < reading->end) {
		uint64_t step = tile_reader_number(in);

		is_right = !in->is_wrong && (is_first ? step == 0 : step > 0) &&
			   step <= block->last - tile;
		if (is_right) {
			if (!is_first) {
				tiles_go_on(reading, tile + 1, tile + step);
			}
			tile += step;
			is_first = false;
			is_right = reading->is_over || tile >= reading->end ||
				   tiles_read_tile(reading, in, tile, &all);
		}
	}
	if (is_right && tile < reading->end) {
		tiles_go_on(reading, tile + 1, next);
	}
	vec_fini(&all);
	return is_right;
}

static int tiles_read_block(struct tiles_reading *reading, size_t i, struct err *err)
{
	const tile_blocks *blocks = &reading->tiles->blocks;
	const struct tile_block *block = &blocks->at[i];
	bool is_last = i + 1 == blocks->count || blocks->at[i + 1].k != block->k;
	index_bytes bytes = { 0 };
	int r = index_file_block(reading->tiles->file, block, &bytes, err);
	struct tile_reader in = { .at = bytes.at, .end = bytes.at + bytes.count };

	if (r == 0 && !tiles_read_rows(reading, block,
				       is_last ? block->last + 1 : blocks->at[i + 1].first, &in)) {
		r = err_raise(err, -EINVAL, "its tiles cannot be read");
	}
	vec_fini(&bytes);
	return r;
}

/* The first block of level k with rows at or behind a tile, but for the one before it. */
static size_t block_before(const tile_blocks *blocks, unsigned int k, uint64_t tile)
{
	size_t low = 0, high = blocks->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct tile_block *block = &blocks->at[middle];

		if (block->k < k || (block->k == k && block->first <= tile)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low > 0 && blocks->at[low - 1].k == k ? low - 1 : low;
}

static void reading_init(struct tiles_reading *reading, const struct index_tiles *tiles,
			 enum tiles_by by)
{
	size_t groups = tiles->lane_of[by].count;

	for (size_t i = 0; i < tiles->lanes.count; i++) {
		*vec_push(&reading->now) = TILE_NONE;
		*vec_push(&reading->there_at) = NONE;
	}
	vec_reserve(&reading->sums, groups * tiles->columns + 1);
	memset(reading->sums.at, 0, groups * tiles->columns * sizeof(uint64_t));
	vec_reserve(&reading->has_sums, groups + 1);
	memset(reading->has_sums.at, 0, groups + 1);
}

static void tiles_reading_fini(struct tiles_reading *reading)
{
	vec_fini(&reading->now);
	vec_fini(&reading->there_at);
	vec_fini(&reading->there);
	vec_fini(&reading->sums);
	vec_fini(&reading->has_sums);
	vec_fini(&reading->touched);
	vec_fini(&reading->rows);
}

int index_tiles_read(struct index_tiles *tiles, unsigned int level, uint64_t begin, uint64_t end,
		     enum tiles_by by, bool (*each)(void *user, const struct tile *tile),
		     void *user, struct err *err)
{
	const struct index_tiles_head *head = &tiles->head;
	struct tiles_reading reading = {
		.tiles = tiles, .level = level, .each = each, .user = user
	};
	uint64_t first, last;
	int r = 0;

	if (level < head->finest || level > TILES_LEVEL_MAX) {
		return err_raise(err, -EINVAL, "its tiles have 2^%u to 2^%d ns", head->finest,
				 TILES_LEVEL_MAX);
	}
	begin = begin < head->begin ? head->begin : begin;
	end = end > head->end ? head->end : end;
	if (begin >= end) {
		return 0;
	}
	first = begin >> level;
	last = (end - 1) >> level;
	find_groups(tiles, by);
	reading.group_of = tiles->group_of[by].at;
	reading.k = (level < head->coarsest ? level : head->coarsest);
	reading.k -= (reading.k - head->finest) % 2;
	reading.first = first << (level - reading.k);
	reading.end = (last + 1) << (level - reading.k);
	reading_init(&reading, tiles, by);
	for (size_t i = block_before(&tiles->blocks, reading.k, reading.first);
	     r == 0 && !reading.is_over && i < tiles->blocks.count &&
	     tiles->blocks.at[i].k == reading.k && tiles->blocks.at[i].first < reading.end;
	     i++) {
		r = now_must_leave() ? err_raise(err, -EINTR, "interrupted")
				     : tiles_read_block(&reading, i, err);
	}
	if (r == 0 && reading.has_tile && !reading.is_over) {
		flush_tile(&reading);
	}
	tiles_reading_fini(&reading);
	return r;
}
