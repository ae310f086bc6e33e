/*
 * page-rows: see page-rows.h.
 */
#include "deep/report/page-rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct page_row page_row_thread(const struct timeline *timeline, uint32_t thread)
{
	assert(thread < timeline->threads.count);
	return (struct page_row){ .kind = PAGE_ROW_THREAD,
				  .timeline = timeline,
				  .thread = thread,
				  .count = timeline->threads.at[thread]->intervals.count };
}

struct page_row page_row_cpu(const struct timeline *timeline, const struct deep_cpu *cpu)
{
	return (struct page_row){
		.kind = PAGE_ROW_CPU, .timeline = timeline, .cpu = cpu, .count = cpu->oncpus.count
	};
}

struct page_row page_row_path(const struct timeline *timeline, const struct path *path)
{
	return (struct page_row){ .kind = PAGE_ROW_PATH,
				  .timeline = timeline,
				  .path = path,
				  .count = path->segments.count };
}

/* ---- items ---- */

static const struct deep_thread *thread_of(const struct page_row *row)
{
	return row->timeline->threads.at[row->thread];
}

/* Where an item begins; of the one after the last: where that ends. */
static uint64_t begin_of(const struct page_row *row, size_t i)
{
	switch (row->kind) {
	case PAGE_ROW_THREAD:
		return i < row->count ? thread_of(row)->intervals.at[i].begin : thread_of(row)->end;
	case PAGE_ROW_CPU:
		return i < row->count ? row->cpu->oncpus.at[i].begin : row->timeline->end;
	case PAGE_ROW_PATH:
		return i < row->count ? row->path->segments.at[i].begin : row->path->end;
	}
	abort();
}

static uint64_t clamp(const struct timeline *timeline, uint64_t ts)
{
	ts = ts > timeline->end ? timeline->end : ts;
	return ts < timeline->begin ? timeline->begin : ts;
}

static uint8_t state_of(const struct page_row *row, size_t i)
{
	uint32_t who;

	switch (row->kind) {
	case PAGE_ROW_THREAD:
		return thread_of(row)->intervals.at[i].state;
	case PAGE_ROW_CPU:
		who = row->cpu->oncpus.at[i].thread;
		return who == CPU_IDLE     ? STATE_BLOCKED
		       : who == CPU_NOBODY ? STATE_UNKNOWN
					   : STATE_USER;
	case PAGE_ROW_PATH:
		return row->path->segments.at[i].state;
	}
	abort();
}

static uint32_t who_of(const struct page_row *row, size_t i)
{
	switch (row->kind) {
	case PAGE_ROW_THREAD:
		return NOBODY;
	case PAGE_ROW_CPU:
		return row->cpu->oncpus.at[i].thread < CPU_NOBODY ? row->cpu->oncpus.at[i].thread
								  : NOBODY;
	case PAGE_ROW_PATH:
		return row->path->segments.at[i].thread;
	}
	abort();
}

/* The first item that ends after @ts. */
static size_t item_at(const struct page_row *row, uint64_t ts)
{
	size_t low = 0, high = row->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (begin_of(row, middle + 1) <= ts) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

size_t page_row_within(const struct page_row *row, const struct path_span *range)
{
	size_t first = item_at(row, range->begin), past = item_at(row, range->end);

	past += past < row->count && begin_of(row, past) < range->end;
	return past > first ? past - first : 0;
}

/* ---- pieces ---- */

/* Time of a thread within a piece. */
struct share {
	uint32_t who;
	uint64_t ns;
};

struct cut {
	const struct page_row *row;
	const struct path_spans *chosen;
	size_t next; /* of the chosen ranges: the first one that ends after the item */
	page_row_take *take;
	void *user;
	size_t pieces;
	struct page_piece sum; /* count is 0: none is open */
	VEC(struct share) shares;
};

ORDER(by_who, struct share, UP(who))

/* Who has most of the time of the open piece. */
static void find_who(struct cut *cut)
{
	size_t i = 0;

	if (cut->shares.count == 0) {
		return;
	}
	vec_sort(&cut->shares, by_who);
	while (i < cut->shares.count) {
		uint32_t who = cut->shares.at[i].who;
		uint64_t ns = 0;

		for (; i < cut->shares.count && cut->shares.at[i].who == who; i++) {
			ns += cut->shares.at[i].ns;
		}
		if (ns > cut->sum.who_ns) {
			cut->sum.who = who;
			cut->sum.who_ns = ns;
		}
	}
	cut->shares.count = 0;
}

static void close_sum(struct cut *cut)
{
	if (cut->sum.count == 0) {
		return;
	}
	cut->pieces++;
	if (cut->take) {
		find_who(cut);
		cut->take(cut->user, &cut->sum);
	}
	cut->sum.count = 0;
}

static void add_item(struct cut *cut, size_t i, uint64_t begin, uint64_t end)
{
	struct page_piece *sum = &cut->sum;
	uint32_t who;

	if (sum->count == 0) {
		*sum = (struct page_piece){ .begin = begin, .first = i, .who = NOBODY };
	}
	sum->end = end;
	sum->count++;
	if (!cut->take) {
		return; /* only counts */
	}
	sum->ns[state_of(cut->row, i)] += end - begin;
	who = who_of(cut->row, i);
	if (who != NOBODY) {
		*vec_push(&cut->shares) = (struct share){ .who = who, .ns = end - begin };
	}
}

/* Whether the item stays as it is. */
static bool is_kept(struct cut *cut, uint64_t begin, uint64_t end)
{
	const struct path_spans *chosen = cut->chosen;

	while (cut->next < chosen->at.count && chosen->at.at[cut->next].end <= begin) {
		cut->next++;
	}
	return end - begin >= cut->row->bin ||
	       (cut->next < chosen->at.count && chosen->at.at[cut->next].begin < end);
}

static void cut_row(struct cut *cut)
{
	const struct page_row *row = cut->row;
	const struct timeline *timeline = row->timeline;

	for (size_t i = 0; i < row->count; i++) {
		uint64_t begin = clamp(timeline, begin_of(row, i));
		uint64_t end = clamp(timeline, begin_of(row, i + 1));
		bool keeps;

		if (end <= begin) {
			continue;
		}
		keeps = is_kept(cut, begin, end);
		if (cut->sum.count > 0 && (keeps || cut->sum.end != begin ||
					   (begin - timeline->begin) / row->bin !=
						   (cut->sum.begin - timeline->begin) / row->bin)) {
			close_sum(cut);
		}
		add_item(cut, i, begin, end);
		if (keeps) {
			close_sum(cut);
		}
	}
	close_sum(cut);
	vec_fini(&cut->shares);
}

void page_row_each(const struct page_row *row, const struct path_spans *chosen, page_row_take *take,
		   void *user)
{
	struct cut cut = { .row = row, .chosen = chosen, .take = take, .user = user };

	cut_row(&cut);
}

/* ---- room ---- */

static size_t count_pieces(const struct page_row *row, const struct path_spans *chosen)
{
	struct cut cut = { .row = row, .chosen = chosen };

	cut_row(&cut);
	return cut.pieces;
}

static void fit(struct page_row *row, const struct path_spans *chosen, size_t room)
{
	uint64_t length = row->timeline->end - row->timeline->begin;

	row->bin = 0;
	if (row->count <= room) {
		return;
	}
	for (size_t i = 0; i < chosen->at.count; i++) { /* and the sums around them */
		room += page_row_within(row, &chosen->at.at[i]) + 1;
	}
	row->bin = 1;
	while (row->bin < length / room / 8) {
		row->bin *= 2;
	}
	/* With a bin longer than the range all is one sum, but for the chosen ranges. */
	while (row->bin <= length && count_pieces(row, chosen) > room) {
		row->bin *= 2;
	}
}

/* A path has more room: nothing else says where the time of the explained thread went. */
static size_t weight(const struct page_row *row)
{
	return row->kind == PAGE_ROW_PATH ? 4 : 1;
}

static size_t needed(const struct page_row *rows, size_t count, size_t each)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		size_t most = each * weight(&rows[i]);

		sum += rows[i].count < most ? rows[i].count : most;
	}
	return sum;
}

void page_rows_fit(struct page_row *rows, size_t count, const struct path_spans *chosen,
		   size_t room)
{
	size_t low = 1, high = room + 1; /* the largest share that all rows may have */

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (needed(rows, count, middle) <= room) {
			low = middle;
		} else {
			high = middle;
		}
	}
	for (size_t i = 0; i < count; i++) {
		fit(&rows[i], chosen, low * weight(&rows[i]));
	}
}
