/*
 * page-resources: the rows of a page's drawing that show timers, futexes and message queues.
 *
 * Intervals of a resource may overlap, so they are not added up as those of threads are.  If there
 * is no room for all, the longest ones of a row are drawn, and the row says how many there are.
 */
#pragma once

#include "deep/report/report-print.h"
#include "deep/resources/resources.h"

/* The resources that have a row, by kind; their number. */
#define PAGE_RESOURCES_ROWS 24
size_t page_resources_rows(const struct deep_report *report, size_t most,
			   const struct resource *rows[PAGE_RESOURCES_ROWS]);
/* The array "resources", with about @room intervals.  The report has resources. */
void page_resources_put(struct printer *p, size_t room);
