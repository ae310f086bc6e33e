/*
 * report-page: report.html as the program has it, made by embed.py.
 */
#ifndef SILLAGE_DEEP_REPORT_PAGE_H
#define SILLAGE_DEEP_REPORT_PAGE_H

extern const unsigned char deep_page[]; /* ends with a zero */

/* What a page draws at most: a browser shows 400,000 intervals at once. */
#define PAGE_LANES     40
#define PAGE_INTERVALS 400000
#define PAGE_BARS      5000

#endif
