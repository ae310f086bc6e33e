/*
 * coverage: see coverage.h.
 */
#include "ctf/coverage.h"

#include <assert.h>

#include "base/limits.h"

void coverage_fini(struct coverage *coverage)
{
	vec_fini(&coverage->ahead);
}

void coverage_add(struct coverage *coverage, uint64_t begin, uint64_t end)
{
	size_t at = coverage->ahead.count;
	struct coverage_interval *heap;

	assert(begin <= end);
	(void)vec_push(&coverage->ahead);
	heap = coverage->ahead.at;
	for (; at > 0 && begin < heap[(at - 1) / 2].begin; at = (at - 1) / 2) {
		heap[at] = heap[(at - 1) / 2];
	}
	heap[at] = (struct coverage_interval){ begin, end };
}

static struct coverage_interval take_first(struct coverage *coverage)
{
	struct coverage_interval *heap = coverage->ahead.at, first = heap[0], moved;
	size_t count = --coverage->ahead.count, at = 0;

	moved = heap[count];
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		child += child + 1 < count && heap[child + 1].begin < heap[child].begin;
		if (heap[child].begin >= moved.begin) {
			break;
		}
		heap[at] = heap[child];
	}
	heap[at] = moved;
	return first;
}

static bool is_hole(const struct coverage *coverage, uint64_t end)
{
	return coverage->has_any && end > coverage->until && end - coverage->until > HOLE_NS;
}

/* A hole at the end of the stretch is returned once. */
static bool opens(struct coverage *coverage, uint64_t end, uint64_t *ret_begin)
{
	if (coverage->is_open || !is_hole(coverage, end)) {
		return false;
	}
	coverage->is_open = true;
	*ret_begin = coverage->until;
	return true;
}

bool coverage_next_hole(struct coverage *coverage, uint64_t known, uint64_t *ret_begin)
{
	while (coverage->ahead.count > 0 && coverage->ahead.at[0].begin <= known) {
		struct coverage_interval first;

		if (opens(coverage, coverage->ahead.at[0].begin, ret_begin)) {
			return true;
		}
		first = take_first(coverage);
		if (!coverage->has_any || is_hole(coverage, first.begin)) {
			coverage->since = first.begin;
		}
		if (!coverage->has_any || first.end > coverage->until) {
			coverage->until = first.end;
			coverage->is_open = false;
		}
		coverage->has_any = true;
	}
	return known != UINT64_MAX && opens(coverage, known, ret_begin);
}

bool coverage_is_decided(const struct coverage *coverage, uint64_t ts)
{
	return !coverage->has_any || ts <= coverage->until || coverage->is_open ||
	       (coverage->ahead.count > 0 && !is_hole(coverage, coverage->ahead.at[0].begin));
}
