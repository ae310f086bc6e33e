/*
 * page: pages with data in them, for browsers.
 *
 *     NAME.html, page.css, *.js ── embed.py, during the build ──> an array
 *     the array with data in place of @DATA@ ──> one file that needs nothing else
 *
 * Data are JSON in a script element.  They hold names from untrusted traces: none may end the
 * element.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* What stands before the data, and behind them.  @page: zero-terminated. */
void page_begin(const unsigned char *page, FILE *out);
void page_end(const unsigned char *page, FILE *out);

/* JSON, or a part of it.  What looks like an element's tag is escaped. */
void page_put(const char *data, size_t len, FILE *out);
/* How many bytes it takes in the page. */
size_t page_size(const char *data, size_t len);
