/*
 * compare-output: a comparison as text, as JSON lines (doc/json.md), and as a page.
 */
#pragma once

#include <stdio.h>

#include "compare/align.h"

/* @top: rows of each section; 0: all.  @lists_all: lists of processes, too. */
void compare_text(const struct comparison *comparison, uint64_t top, bool lists_all, FILE *out);
/* @top: of all; 0: all. */
void compare_json(const struct comparison *comparison, uint64_t top, FILE *out);
/* @top: as for JSON.  @lists_all: lists of processes are shown at first.  @objectives: what became
 * of them, as lines for people; "": there are none. */
void compare_page(const struct comparison *comparison, uint64_t top, bool lists_all,
		  const char *objectives, FILE *out);

/* The same of phases: which belong together, and what changed in each pair. */
void compare_phases_text(const phase_pairs *pairs, uint64_t top, bool lists_all, FILE *out);
void compare_phases_json(const phase_pairs *pairs, uint64_t top, FILE *out);
void compare_phases_page(const phase_pairs *pairs, uint64_t top, bool lists_all, FILE *out);
/* The line of a pair, before those of its comparison. */
void compare_phase_line(const struct phase_pair *pair, FILE *out);
