/*
 * asked: what a run measures and of whom, as the words of a command line that does so again.
 *
 *     options ── asked_text() ──► for people, and a shell
 *            └── asked_json() ──► capture.json ── run/captured.h ──► options of another run
 */
#pragma once

#include "options/options.h"

/* Options that say what is measured, and of whom. */
enum asked_kind { ASKED_OTHER, ASKED_MEASURE, ASKED_OF_WHOM };

enum asked_kind asked_kind_of(const char *option);

/* "-a periods --period 'r = a; b' --comm web"; from malloc(). */
char *asked_text(const struct options *options);
/* The same as objects of JSON, with commas between; from malloc(). */
char *asked_json(const struct options *options);
