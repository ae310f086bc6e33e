/*
 * page-resources: see page-resources.h.
 */
#include "deep/report/page-resources.h"

#include <assert.h>
#include <stdlib.h>

#define ROWS_EACH ((size_t)PAGE_RESOURCES_ROWS / RESOURCE_KINDS)

size_t page_resources_rows(const struct deep_report *report, size_t most,
			   const struct resource *rows[PAGE_RESOURCES_ROWS])
{
	const struct resources *resources = report->resources;
	size_t of_kind[RESOURCE_KINDS] = { 0 }, count = 0;

	for (size_t i = 0; resources && i < resources->all.count; i++) {
		const struct resource *one = resources->all.at[i];

		if (of_kind[one->kind] < deep_report_rows(ROWS_EACH, most)) {
			of_kind[one->kind]++;
			assert(count < PAGE_RESOURCES_ROWS);
			rows[count++] = one;
		}
	}
	return count;
}

/* The largest number of intervals that each row may have. */
static size_t share_of(const struct resource *const *rows, size_t count, size_t room)
{
	size_t low = 1, high = room + 1;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2, sum = 0;

		for (size_t i = 0; i < count; i++) {
			sum += deep_report_rows(rows[i]->intervals.count, middle);
		}
		if (sum <= room) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

/* ---- one row ---- */

static int longest_first(const void *left, const void *right)
{
	const struct resource_interval *a = *(const struct resource_interval *const *)left;
	const struct resource_interval *b = *(const struct resource_interval *const *)right;
	uint64_t a_ns = a->end - a->begin, b_ns = b->end - b->begin;

	if (a_ns != b_ns) {
		return a_ns > b_ns ? -1 : 1;
	}
	return a < b ? -1 : a > b;
}

static int in_order(const void *left, const void *right)
{
	const struct resource_interval *a = *(const struct resource_interval *const *)left;
	const struct resource_interval *b = *(const struct resource_interval *const *)right;

	return a < b ? -1 : a > b;
}

/* The @most longest intervals in their order; the caller frees them. */
static const struct resource_interval **choose(const struct resource *one, size_t most,
					       size_t *ret_count)
{
	size_t count = one->intervals.count;
	const struct resource_interval **all =
		mem_alloc((count + 1) * sizeof(struct resource_interval *));

	for (size_t i = 0; i < count; i++) {
		all[i] = &one->intervals.at[i];
	}
	*ret_count = deep_report_rows(count, most);
	if (*ret_count < count) {
		qsort(all, count, sizeof(*all), longest_first);
		qsort(all, *ret_count, sizeof(*all), in_order);
	}
	return all;
}

static int64_t number_of(const struct printer *p, uint32_t thread)
{
	return thread == NOBODY ? -1 : (int64_t)page_names_of(p->names, thread);
}

/* Numbers: time since the begin of the one before, length, state, outcome, who, by, and of a
 * queue senders, receivers and whether it slept. */
static void put_interval(struct printer *p, const struct resource *one,
			 const struct resource_interval *interval, uint64_t last)
{
	json_u64(&p->json, NULL, interval->begin - last);
	json_u64(&p->json, NULL, interval->end - interval->begin);
	json_u64(&p->json, NULL, interval->state);
	json_u64(&p->json, NULL, interval->outcome);
	json_i64(&p->json, NULL, number_of(p, interval->who));
	json_i64(&p->json, NULL, number_of(p, interval->by));
	if (one->kind == RESOURCE_QUEUE) {
		json_u64(&p->json, NULL, interval->senders);
		json_u64(&p->json, NULL, interval->receivers);
		json_u64(&p->json, NULL, interval->has_slept);
	}
}

static void put_row(struct printer *p, const struct resource *one, size_t index, size_t most)
{
	uint64_t last = p->timeline->begin;
	size_t count;
	const struct resource_interval **chosen = choose(one, most, &count);

	json_open(&p->json, NULL, '{');
	json_u64(&p->json, "kind", one->kind);
	json_u64(&p->json, "index", index);
	json_u64(&p->json, "count", one->intervals.count);
	json_i64(&p->json, "beside",
		 number_of(p, one->pairs.count > 0     ? one->pairs.at[0].who
			      : one->members.count > 0 ? one->members.at[0].thread
						       : NOBODY));
	json_open(&p->json, "intervals", '[');
	for (size_t i = 0; i < count; i++) {
		put_interval(p, one, chosen[i], last);
		last = chosen[i]->begin;
	}
	json_close(&p->json, ']');
	json_close(&p->json, '}');
	free(chosen);
}

void page_resources_put(struct printer *p, size_t room)
{
	const struct resource *rows[PAGE_RESOURCES_ROWS];
	size_t count = page_resources_rows(p->report, p->most, rows);
	size_t of_kind[RESOURCE_KINDS] = { 0 }, each = share_of(rows, count, room);

	json_open(&p->json, "resources", '[');
	for (size_t i = 0; i < count; i++) {
		put_row(p, rows[i], of_kind[rows[i]->kind]++, each);
	}
	json_close(&p->json, ']');
}
