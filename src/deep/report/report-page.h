/*
 * report-page: a report as a page.
 *
 *     report.html, report-*.js ── embed.py, during the build ──> deep_page[]
 *     report ── report-page.c ──> data, in place of @DATA@
 */
#pragma once

extern const unsigned char deep_page[]; /* zero-terminated */

/* Limits of a page, which a browser opens in a second. */
#define PAGE_BYTES_MAX 9000000 /* of data */
#define PAGE_PIECES    260000  /* intervals and sums of them, besides those of chosen ranges */
#define PAGE_DETAIL    40000   /* intervals in chosen ranges */
#define PAGE_RANGES    200     /* chosen ranges */
#define PAGE_LANES     48      /* rows of the drawing that show threads */
#define PAGE_BARS      5000    /* executions */
#define PAGE_ROWS      1000    /* of a table */
#define PAGE_WORST     100     /* executions with a path of their own */
