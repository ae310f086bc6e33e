/*
 * report-print: what report-json.c and report-page.c share.
 */
#pragma once

#include "base/json.h"
#include "deep/report/report.h"

/* Numbers in a page: of those that it names, in the order in which they were first named. */
struct page_names {
	VEC(uint32_t) named; /* indexes in the timeline */
	uint32_t *numbers;   /* by index: the number plus one; 0: not named yet */
};
static inline uint32_t page_names_of(struct page_names *names, uint32_t index)
{
	if (names->numbers[index] == 0) {
		*vec_push(&names->named) = index;
		names->numbers[index] = (uint32_t)names->named.count;
	}
	return names->numbers[index] - 1;
}

struct printer {
	struct json json;
	const struct deep_report *report;
	const struct timeline *timeline;
	size_t most;
	size_t resources_most; /* of a page: resources of a kind in its tables */
	/* Of a page; NULL: this is plain JSON.  A page has numbers of threads in place of threads,
	 * and times since the start of the report, since numbers in a browser have 53 bits. */
	struct page_names *names;
};

/* Prints the report as an object. */
void report_json_put(struct printer *p, const char *key);
