/*
 * page-rows: the rows of a page's drawing, in as many pieces as a page has room for.
 *
 *     items     |     |  ||||||||      | ||  |        |     intervals of a thread, a CPU, a path
 *     pieces    |     |  sum | sum |   |sum  |        |     as long as a bin: themselves
 *
 * A row that has room for all its items is drawn as it is: its bin is 0.  Otherwise items that are
 * shorter than a bin are added up, those that begin in one bin to one piece.  A bin is a power of
 * two of ns, the smallest one with which the pieces fit.  So no time is lost, and a sum is shorter
 * than two bins.  Items that touch one of the chosen ranges stay as they are.
 *
 * A row borrows what it shows.
 */
#pragma once

#include "deep/path.h"
#include "deep/timeline.h"

enum page_row_kind { PAGE_ROW_THREAD, PAGE_ROW_CPU, PAGE_ROW_PATH };

struct page_row {
	enum page_row_kind kind;
	const struct timeline *timeline;
	uint32_t thread; /* of PAGE_ROW_THREAD */
	const struct deep_cpu *cpu;
	const struct path *path;
	size_t count; /* of items */
	uint64_t bin; /* ns; 0: every item is a piece */
};

/* Times are within the timeline.  Of a CPU: STATE_USER is busy, STATE_BLOCKED idle. */
struct page_piece {
	uint64_t begin, end;
	size_t first;        /* item */
	size_t count;        /* of items; 1: this is the item itself */
	uint64_t ns[STATES]; /* they add up to end - begin */
	uint32_t who;        /* of a CPU or path: has most of the time; NOBODY: none */
	uint64_t who_ns;
};

struct page_row page_row_thread(const struct timeline *timeline, uint32_t thread);
struct page_row page_row_cpu(const struct timeline *timeline, const struct deep_cpu *cpu);
struct page_row page_row_path(const struct timeline *timeline, const struct path *path);

/* How many items of the row touch a range. */
size_t page_row_within(const struct page_row *row, const struct path_span *range);

/* Chooses bins, so that there are about @room pieces in all, besides those of the chosen ranges.
 * Rows with few items leave their room to others. */
void page_rows_fit(struct page_row *rows, size_t count, const struct path_spans *chosen,
		   size_t room);

typedef void page_row_take(void *user, const struct page_piece *piece);
void page_row_each(const struct page_row *row, const struct path_spans *chosen, page_row_take *take,
		   void *user);
