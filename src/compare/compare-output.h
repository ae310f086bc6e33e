/*
 * compare-output: a comparison as text, as JSON lines (doc/json.md), and as a page.
 */
#pragma once

#include <stdio.h>

#include "compare/compare.h"

/* @top: rows of each section; 0: all.  @lists_all: lists of processes, too. */
void compare_text(const struct comparison *comparison, uint64_t top, bool lists_all, FILE *out);
/* @top: of all; 0: all. */
void compare_json(const struct comparison *comparison, uint64_t top, FILE *out);
/* @top: as for JSON.  @lists_all: lists of processes are shown at first. */
void compare_page(const struct comparison *comparison, uint64_t top, bool lists_all, FILE *out);
