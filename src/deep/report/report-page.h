/*
 * report-page: report.html as an array; embed.py makes it during the build.
 */
#ifndef SILLAGE_DEEP_REPORT_PAGE_H
#define SILLAGE_DEEP_REPORT_PAGE_H

extern const unsigned char deep_page[]; /* zero-terminated */

/* Limits of a page: a browser draws 400,000 intervals at once. */
#define PAGE_LANES     40 /* rows of the drawing, one per thread */
#define PAGE_INTERVALS 400000
#define PAGE_BARS      5000 /* executions */

#endif
