/*
 * tiles-make: see tiles-make.h.
 */
#include "index/tiles-make.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "engine/contract/analysis-rare.h"
#include "engine/tables/report.h"
#include "index/index-parts.h"
#include "index/tile-level.h"

HASH_MAP(numbers, uint32_t)

#define NONE UINT32_MAX

/* What a lane does in the tile that is not complete. */
struct open_row {
	uint32_t lane;
	uint64_t until; /* ns: its spans were added up to there */
	uint64_t tile;
	uint16_t mask; /* of sums; those of others are anything */
	bool has_row;
	uint8_t before, carry; /* before the tile; and after the last row that was made */
	uint64_t ns[COLUMNS_MAX];
};

struct tiles_make {
	const struct analysis *analysis;
	FILE *spool;
	uint64_t spooled, most; /* bytes */
	int failure;            /* errno of the first write that failed; 0: none did */
	tile_threads threads;
	tile_lanes lanes;
	struct numbers thread_of, lane_of; /* by the id of rows; by thread << 32 | number of CPU */
	VEC(uint64_t) cpus;                /* their ids, by number */
	struct {
		uint64_t id, cpu;
		uint32_t lane, thread;
	} last; /* that was looked up; lane NONE: none was */
	VEC(struct open_row) open;
	VEC(uint32_t) open_of; /* by lane: index in `open`, or NONE */
	struct tile_level levels[INDEX_TILES_LEVELS];
	unsigned int base;     /* the first of them that is made: spans are added to its tiles */
	uint64_t begin, until; /* ns: of the first span, and how far all were added */
};

const struct analysis *tiles_analysis(const struct analysis *const *all)
{
	while (*all && !analysis_rare(*all)->on_spans_end) {
		all++;
	}
	return *all;
}

/* The level of which tiles may have INDEX_TILE_BYTES each. */
static unsigned int base_of(uint64_t most, uint64_t ns)
{
	unsigned int i = 0;

	while (INDEX_TILES_FINEST + i < INDEX_TILES_COARSEST &&
	       most / INDEX_TILE_BYTES < ns >> (INDEX_TILES_FINEST + i)) {
		i++;
	}
	return i;
}

struct tiles_make *tiles_make_new(const struct analysis *analysis, FILE *spool, uint64_t most,
				  uint64_t ns)
{
	struct tiles_make *make = mem_alloc(sizeof(*make));

	make->analysis = analysis;
	make->spool = spool;
	make->most = most;
	make->base = base_of(most, ns);
	make->last.lane = NONE;
	make->begin = UINT64_MAX;
	for (unsigned int i = 0; i < INDEX_TILES_LEVELS; i++) {
		tile_level_init(&make->levels[i], INDEX_TILES_FINEST + i);
	}
	return make;
}

void tiles_make_free(struct tiles_make *make)
{
	if (!make) {
		return;
	}
	for (unsigned int i = 0; i < INDEX_TILES_LEVELS; i++) {
		tile_level_fini(&make->levels[i]);
	}
	vec_fini(&make->threads);
	vec_fini(&make->lanes);
	numbers_fini(&make->thread_of);
	numbers_fini(&make->lane_of);
	vec_fini(&make->cpus);
	vec_fini(&make->open);
	vec_fini(&make->open_of);
	free(make);
}

/* ---- lanes ---- */

static uint32_t make_cpu_number(struct tiles_make *make, uint64_t id)
{
	uint32_t i = 0;

	while (i < make->cpus.count && make->cpus.at[i] != id) {
		i++;
	}
	if (i == make->cpus.count) {
		*vec_push(&make->cpus) = id;
	}
	return i;
}

static uint32_t make_lane_of(struct tiles_make *make, const struct thread_span *span)
{
	bool is_new;
	uint32_t *thread, *lane;

	if (make->last.lane != NONE && make->last.id == span->id && make->last.cpu == span->cpu) {
		return make->last.lane;
	}
	thread = numbers_put(&make->thread_of, span->id, &is_new);
	if (is_new) {
		*thread = (uint32_t)make->threads.count;
		*vec_push(&make->threads) = (struct tile_thread){ .id = span->id, .pid = -1 };
	}
	make->last.thread = *thread;
	lane = numbers_put(&make->lane_of,
			   (uint64_t)*thread << 32 | make_cpu_number(make, span->cpu), &is_new);
	if (is_new) {
		*lane = (uint32_t)make->lanes.count;
		*vec_push(&make->lanes) = (struct tile_lane){ .thread = *thread, .cpu = span->cpu };
		*vec_push(&make->open_of) = NONE;
	}
	make->last.id = span->id;
	make->last.cpu = span->cpu;
	return make->last.lane = *lane;
}

/* It is called what it was called last. */
static void make_note_thread(struct tile_thread *thread, const struct thread_view *view)
{
	thread->pid = view->pid;
	thread->container = view->container;
	memcpy(thread->comm, view->comm, sizeof(thread->comm));
}

/* ---- rows of the finest level ---- */

static uint64_t make_tile_of(const struct tiles_make *make, uint64_t ts)
{
	return ts >> (INDEX_TILES_FINEST + make->base);
}

static uint64_t make_begin_of(const struct tiles_make *make, uint64_t tile)
{
	return tile << (INDEX_TILES_FINEST + make->base);
}

static void make_begin_row(struct open_row *open, uint64_t tile)
{
	open->has_row = true;
	open->tile = tile;
	open->mask = 0;
	open->before = open->carry;
}

static void make_add_ns(struct open_row *open, unsigned int column, uint64_t ns)
{
	uint16_t bit = (uint16_t)(1u << column);

	open->ns[column] = (open->mask & bit ? open->ns[column] : 0) + ns;
	open->mask |= bit;
}

/* The row is complete, and @after is done behind it.  Without it a tile says that what was done
 * before goes on, so such a row is left out. */
static void make_end_row(struct tiles_make *make, struct open_row *open, uint8_t after)
{
	struct tile_row row = { .tile = open->tile,
				.lane = open->lane,
				.mask = open->mask,
				.before = open->before,
				.after = after };

	if (after == TILE_NONE || after != open->before || open->mask != 1u << after ||
	    open->ns[after] != make_begin_of(make, 1)) {
		tile_rows_add(&make->levels[make->base].rows, &row, open->ns);
	}
	open->has_row = false;
	open->carry = after;
}

/* Nothing is known of the lane from open->until on. */
static void make_end_lane(struct tiles_make *make, struct open_row *open, uint64_t now)
{
	if (!open->has_row && open->carry != TILE_NONE) {
		make_begin_row(open, make_tile_of(make, open->until));
	}
	if (open->has_row && open->tile < make_tile_of(make, now)) {
		make_end_row(make, open, TILE_NONE);
	}
}

static void make_add_span(struct tiles_make *make, struct open_row *open, uint64_t from,
			  uint64_t to, uint8_t column)
{
	uint64_t first = make_tile_of(make, from), last = make_tile_of(make, to - 1);

	if (from != open->until) {
		make_end_lane(make, open, from);
	}
	open->until = to;
	if (open->has_row && open->tile != first) {
		assert(from == make_begin_of(make, first));
		make_end_row(make, open, column);
	}
	if (!open->has_row && open->carry == column && from == make_begin_of(make, first)) {
		if (to == make_begin_of(make, last + 1)) {
			return;
		}
		make_begin_row(open, last);
		make_add_ns(open, column, to - make_begin_of(make, last));
		return;
	}
	if (!open->has_row) {
		make_begin_row(open, first);
	}
	if (first == last) {
		make_add_ns(open, column, to - from);
		return;
	}
	make_add_ns(open, column, make_begin_of(make, first + 1) - from);
	make_end_row(make, open, column);
	if (to != make_begin_of(make, last + 1)) {
		make_begin_row(open, last);
		make_add_ns(open, column, to - make_begin_of(make, last));
	}
}

static struct open_row *make_open_lane(struct tiles_make *make, uint32_t lane)
{
	struct open_row *open;

	if (make->open_of.at[lane] != NONE) {
		return &make->open.at[make->open_of.at[lane]];
	}
	make->open_of.at[lane] = (uint32_t)make->open.count;
	open = vec_push(&make->open);
	open->lane = lane;
	open->until = 0;
	open->has_row = false;
	open->carry = TILE_NONE;
	return open;
}

/* ---- levels ---- */

/* Puts down what is complete: all tiles of the finest level before @done. */
static void put_levels(struct tiles_make *make, uint64_t done)
{
	tile_rows_sort(&make->levels[make->base].rows, make->levels[make->base].put);
	for (unsigned int i = make->base; i < INDEX_TILES_LEVELS; i++, done >>= 1) {
		struct tile_level *level = &make->levels[i];
		bool is_kept = level->stored <= make->most || level->k >= INDEX_TILES_COARSEST;

		if (level->rows.rows.count == 0) {
			continue;
		}
		level->is_dropped |= !is_kept;
		tile_level_put(level, done);
		if (i + 1 < INDEX_TILES_LEVELS) {
			tile_level_join(level, done >> 1, &make->levels[i + 1]);
		}
	}
}

static void spool_blocks(struct tiles_make *make, struct tile_level *level)
{
	const tile_bytes *bytes = &level->packed;

	if (make->failure == 0 && bytes->count > 0 &&
	    fwrite(bytes->at, 1, bytes->count, make->spool) != bytes->count) {
		make->failure = errno ? errno : EIO;
	}
	for (size_t i = level->spooled; i < level->blocks.count; i++) {
		level->blocks.at[i].at += make->spooled;
	}
	level->spooled = level->blocks.count;
	make->spooled += bytes->count;
	level->packed.count = 0;
}

/* All was told up to @until. */
static void make_all_until(struct tiles_make *make, uint64_t until)
{
	size_t kept = 0;

	for (size_t i = 0; i < make->open.count; i++) {
		struct open_row *open = &make->open.at[i];

		if (open->until < until) {
			make_end_lane(make, open, until);
		}
		if (open->has_row || open->carry != TILE_NONE) {
			make->open_of.at[open->lane] = (uint32_t)kept;
			make->open.at[kept++] = *open;
		} else {
			make->open_of.at[open->lane] = NONE;
		}
	}
	make->open.count = kept;
	make->until = until;
	put_levels(make, until > 0 ? make_tile_of(make, until - 1) : 0);
	for (unsigned int i = 0; i < INDEX_TILES_LEVELS; i++) {
		spool_blocks(make, &make->levels[i]);
	}
}

void tiles_make_take(struct tiles_make *make, const struct thread_span *spans, size_t count,
		     uint64_t until)
{
	if (count == 0) {
		make_all_until(make, until);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct thread_span *span = &spans[i];
		struct open_row *open = make_open_lane(make, make_lane_of(make, span));
		uint64_t from = span->from > open->until ? span->from : open->until;

		/* What is known up to there stays: only clocks that run backwards come late. */
		from = from > make->until ? from : make->until;
		make_note_thread(&make->threads.at[make->last.thread], span->view);
		if (from < span->to) {
			make->begin = from < make->begin ? from : make->begin;
			make_add_span(make, open, from, span->to, (uint8_t)span->column);
		}
	}
}

/* ---- the end ---- */

static bool has_one_tile(const struct tile_level *level)
{
	return level->blocks.count == 0 || level->first == level->tile;
}

/* The finest level of which every second one up to @top takes no more than @most bytes. */
static unsigned int finest_level(const struct tiles_make *make, unsigned int top, uint64_t most)
{
	unsigned int i = make->base;

	for (; INDEX_TILES_FINEST + i < INDEX_TILES_COARSEST; i++) {
		uint64_t bytes = 0;
		bool is_whole = true;

		for (unsigned int k = i; k <= top; k += 2) {
			bytes += make->levels[k].stored +
				 INDEX_BLOCK_BYTES * make->levels[k].blocks.count;
			is_whole &= !make->levels[k].is_dropped;
		}
		if (is_whole && bytes <= most) {
			break;
		}
	}
	return i;
}

static void make_copy_block(struct tiles_make *make, struct tile_block *block, tile_bytes *scratch,
			    struct index_writer *out)
{
	vec_reserve(scratch, (size_t)block->stored + 1);
	if (make->failure == 0 &&
	    (fseeko(make->spool, (off_t)block->at, SEEK_SET) != 0 ||
	     fread(scratch->at, 1, (size_t)block->stored, make->spool) != block->stored)) {
		make->failure = errno ? errno : EIO;
		return;
	}
	block->at = index_writer_put(out, scratch->at, (size_t)block->stored);
}

int tiles_make_end(struct tiles_make *make, uint64_t most, struct index_writer *out,
		   struct err *err)
{
	struct index_tiles_head head = { .analysis = make->analysis,
					 .begin = make->begin,
					 .end = make->until };
	tile_blocks blocks = { 0 };
	tile_bytes scratch = { 0 };
	unsigned int top = 0, first;

	if (make->begin == UINT64_MAX) { /* no thread did anything: it has no tiles */
		return 0;
	}
	VEC_EACH(&make->open, open) { /* one that did something to the end of a tile, too */
		make_end_lane(make, open, UINT64_MAX);
	}
	put_levels(make, UINT64_MAX);
	for (unsigned int i = 0; i < INDEX_TILES_LEVELS; i++) {
		tile_level_end(&make->levels[i]);
		spool_blocks(make, &make->levels[i]);
	}
	while (top + 1 < INDEX_TILES_LEVELS && (INDEX_TILES_FINEST + top < INDEX_TILES_COARSEST ||
						!has_one_tile(&make->levels[top]))) {
		top++;
	}
	first = finest_level(make, top, most);
	head.finest = (uint8_t)(INDEX_TILES_FINEST + first);
	for (unsigned int i = first; i <= top; i += 2) {
		VEC_EACH(&make->levels[i].blocks, block) {
			make_copy_block(make, block, &scratch, out);
			*vec_push(&blocks) = *block;
		}
		head.coarsest = (uint8_t)(INDEX_TILES_FINEST + i);
	}
	index_writer_tiles(out, &head, &make->threads, &make->lanes, &blocks);
	vec_fini(&blocks);
	vec_fini(&scratch);
	return make->failure == 0
		       ? 0
		       : err_raise(err, -make->failure, "tiles: %s", strerror(make->failure));
}
