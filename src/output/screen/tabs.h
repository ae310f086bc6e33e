/*
 * tabs: the analyses and the lists of a view, side by side, the shown one marked.
 *
 * If they do not all fit, those around the shown one, with < and > where some are left out.
 */
#pragma once

#include "output/screen/canvas.h"

struct analysis;
struct snapshot;
struct view;

/* The analyses that the snapshot has lists of, each with the key that shows it. */
void tabs_draw_groups(struct view *view, struct canvas *canvas, const struct snapshot *snapshot,
		      const struct analysis *chosen);

/* The lists of the chosen one. */
void tabs_draw_lists(struct view *view, struct canvas *canvas, const struct snapshot *snapshot,
		     const struct analysis *chosen);
