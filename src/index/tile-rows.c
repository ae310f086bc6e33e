/*
 * tile-rows: see tile-rows.h.
 */
#include "index/tile-rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void tile_rows_add(struct tile_rows *rows, const struct tile_row *row, const uint64_t *sums)
{
	struct tile_row *to = vec_push(&rows->rows);

	*to = *row;
	to->at = (uint32_t)rows->sums.count;
	for (uint32_t left = row->mask; left != 0; left &= left - 1) {
		*vec_push(&rows->sums) = sums[__builtin_ctz(left)];
	}
}

void tile_rows_drop(struct tile_rows *rows, size_t first)
{
	size_t kept = rows->rows.count - first;
	struct tile_rows old = *rows;

	if (first == 0) {
		return;
	}
	*rows = (struct tile_rows){ 0 };
	for (size_t i = 0; i < kept; i++) {
		const struct tile_row *row = &old.rows.at[first + i];
		struct tile_row *to = vec_push(&rows->rows);

		*to = *row;
		to->at = (uint32_t)rows->sums.count;
		vec_append(&rows->sums, tile_rows_sums(&old, row),
			   (size_t)__builtin_popcount(row->mask));
	}
	vec_fini(&old.rows);
	vec_fini(&old.sums);
}

/* ---- order ---- */

ORDER(by_tile, struct tile_row, UP(tile) UP(lane))

/* Few rows are of one tile. */
static void sort_lanes(struct tile_row *rows, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct tile_row row = rows[i];
		size_t to = i;

		for (; to > 0 && by_tile(&row, &rows[to - 1]) < 0; to--) {
			rows[to] = rows[to - 1];
		}
		rows[to] = row;
	}
}

/* By counting them: a comparison of each two took most of the time that tiles take. */
static void sort_by_counts(struct tile_row *rows, size_t count, uint64_t least, size_t tiles)
{
	struct tile_row *old = mem_alloc(count * sizeof(*old));
	size_t *ends = mem_alloc((tiles + 1) * sizeof(*ends));

	memcpy(old, rows, count * sizeof(*old));
	for (size_t i = 0; i < count; i++) {
		ends[old[i].tile - least + 1]++;
	}
	for (size_t i = 1; i <= tiles; i++) {
		ends[i] += ends[i - 1];
	}
	for (size_t i = 0; i < count; i++) {
		rows[ends[old[i].tile - least]++] = old[i];
	}
	for (size_t i = 0, first = 0; i < tiles; first = ends[i++]) {
		sort_lanes(rows + first, ends[i] - first);
	}
	free(old);
	free(ends);
}

void tile_rows_sort(struct tile_rows *rows, size_t first)
{
	size_t count = rows->rows.count - first;
	struct tile_row *at = count > 0 ? rows->rows.at + first : NULL;
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < count; i++) {
		least = at[i].tile < least ? at[i].tile : least;
		most = at[i].tile > most ? at[i].tile : most;
	}
	if (count > 1 && most - least < 16 * count) {
		sort_by_counts(at, count, least, (size_t)(most - least) + 1);
	} else if (count > 1) {
		qsort(at, count, sizeof(*at), by_tile);
	}
}

/* ---- the next level ---- */

static void rows_add_sums(const struct tile_rows *rows, const struct tile_row *row, uint16_t *mask,
			  uint64_t sums[COLUMNS_MAX])
{
	const uint64_t *from = tile_rows_sums(rows, row);

	for (uint32_t left = row->mask; left != 0; left &= left - 1) {
		sums[__builtin_ctz(left)] += *from++;
	}
	*mask |= row->mask;
}

static void rows_fill(uint8_t column, uint64_t ns, uint16_t *mask, uint64_t sums[COLUMNS_MAX])
{
	if (column != TILE_NONE) {
		sums[column] += ns;
		*mask |= (uint16_t)(1u << column);
	}
}

/* @left, @right: NULL: it has no row in that half. */
static void rows_join_two(const struct tile_rows *rows, const struct tile_row *left,
			  const struct tile_row *right, uint64_t ns, struct tile_rows *ret)
{
	const struct tile_row *first = left ? left : right, *last = right ? right : left;
	struct tile_row row = { .tile = first->tile >> 1,
				.lane = first->lane,
				.before = first->before,
				.after = last->after };
	uint64_t sums[COLUMNS_MAX] = { 0 };

	if (left) {
		rows_add_sums(rows, left, &row.mask, sums);
	} else {
		rows_fill(right->before, ns, &row.mask, sums);
	}
	if (right) {
		rows_add_sums(rows, right, &row.mask, sums);
	} else {
		rows_fill(left->after, ns, &row.mask, sums);
	}
	tile_rows_add(ret, &row, sums);
}

void tile_rows_join(const struct tile_rows *rows, size_t count, uint64_t ns, struct tile_rows *ret)
{
	const struct tile_row *at = rows->rows.at;
	size_t left = 0;

	while (left < count) {
		uint64_t tile = at[left].tile >> 1;
		size_t right = left, end;

		while (right < count && at[right].tile == tile * 2) {
			right++;
		}
		end = right;
		while (end < count && at[end].tile == tile * 2 + 1) {
			end++;
		}
		for (size_t l = left, r = right; l < right || r < end;) {
			bool has_left = l < right && (r == end || at[l].lane <= at[r].lane);
			bool has_right = r < end && (l == right || at[r].lane <= at[l].lane);

			rows_join_two(rows, has_left ? &at[l] : NULL, has_right ? &at[r] : NULL, ns,
				      ret);
			l += has_left;
			r += has_right;
		}
		left = end;
	}
}

/* ---- bytes ---- */

void tile_bytes_number(tile_bytes *to, uint64_t number)
{
	vec_reserve_more(to, 10);
	for (; number >= 0x80; number >>= 7) {
		to->at[to->count++] = (uint8_t)(number | 0x80);
	}
	to->at[to->count++] = (uint8_t)number;
}

void tile_bytes_row(tile_bytes *to, const struct tile_row *row, const uint64_t *sums, uint64_t ns,
		    uint32_t lane_before)
{
	unsigned int count = (unsigned int)__builtin_popcount(row->mask);
	uint64_t all = 0;
	bool fills;

	for (unsigned int i = 0; i < count; i++) {
		all += sums[i];
	}
	fills = count > 0 && all == ns;
	tile_bytes_number(to, row->lane - lane_before);
	*vec_push(to) = row->after | (fills ? TILE_FILLS : 0);
	tile_bytes_number(to, row->mask);
	for (unsigned int i = 0; i < count - fills; i++) {
		tile_bytes_number(to, sums[i]);
	}
}

uint8_t tile_reader_byte(struct tile_reader *in)
{
	if (in->at == in->end) {
		in->is_wrong = true;
		return 0;
	}
	return *in->at++;
}

uint64_t tile_reader_number(struct tile_reader *in)
{
	uint64_t number = 0;
	uint8_t byte;
	unsigned int shift = 0;

	do {
		byte = tile_reader_byte(in);
		if (shift > 63 || (shift == 63 && byte > 1)) {
			in->is_wrong = true;
			return 0;
		}
		number |= (uint64_t)(byte & 0x7F) << shift;
		shift += 7;
	} while (byte & 0x80);
	return number;
}

bool tile_reader_row(struct tile_reader *in, unsigned int columns, uint64_t ns,
		     struct tile_row *ret, uint64_t sums[COLUMNS_MAX])
{
	uint8_t after = tile_reader_byte(in);
	uint64_t mask = tile_reader_number(in), left_ns = ns;
	bool fills = after & TILE_FILLS;

	after &= (uint8_t)~TILE_FILLS;
	memset(sums, 0, COLUMNS_MAX * sizeof(*sums));
	if (in->is_wrong || mask >> columns != 0 || (after >= columns && after != TILE_NONE) ||
	    (fills && mask == 0)) {
		in->is_wrong = true;
		return false;
	}
	ret->mask = (uint16_t)mask;
	ret->after = after;
	for (; mask != 0; mask &= mask - 1) {
		bool is_last = fills && (mask & (mask - 1)) == 0;
		uint64_t one = is_last ? left_ns : tile_reader_number(in);

		if (in->is_wrong || one > left_ns) {
			in->is_wrong = true;
			return false;
		}
		sums[__builtin_ctzll(mask)] = one;
		left_ns -= one;
	}
	return true;
}
