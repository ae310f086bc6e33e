/*
 * compare-page: a comparison as a page (compare.html); see compare-output.h.
 *
 * Its data are the lines that JSON has, and behind them lines of the page alone: "page", and
 * "cells" for each change in its order, with the text that a reader sees.  Of phases
 * these lines come pair by pair; the page shows one of them.
 */
#include <stdlib.h>

#include "base/json.h"
#include "base/page/page.h"
#include "compare/cells.h"
#include "compare/compare-html.h"
#include "compare/compare-output.h"

static void put_page(const struct comparison *comparison, const char *objectives, FILE *out)
{
	struct json json;

	json_begin_object(&json, out, "page");
	json_u64(&json, "changes", comparison->changes.count);
	json_text(&json, "nothing", cells_nothing(comparison));
	json_text(&json, "objectives", objectives);
	json_open(&json, "sides", '[');
	for (int i = 0; i < 2; i++) {
		char *says = cells_side(comparison->side[i]);

		json_text(&json, NULL, says);
		free(says);
	}
	json_close(&json, ']');
	json_open(&json, "sections", '[');
	for (size_t i = 0; i < CELLS_SECTIONS; i++) {
		json_text(&json, NULL, cells_sections[i].title);
	}
	json_close(&json, ']');
	json_open(&json, "parts", '[');
	for (size_t i = 0; i < CELLS_PARTS; i++) {
		json_text(&json, NULL, cells_parts[i]);
	}
	json_close(&json, ']');
	json_end_object(&json);
}

static size_t section_of(const struct change *change)
{
	size_t i = 0;

	while (i + 1 < CELLS_SECTIONS && !cells_is_in(&cells_sections[i], change)) {
		i++;
	}
	return i;
}

static void put_spread(struct json *json, const struct comparison *comparison,
		       const struct change *change)
{
	struct cells_spread cells;

	cells_spread(comparison, change, &cells);
	json_text(json, "distance", cells.distance);
	for (int side = 0; side < 2; side++) {
		json_open(json, side == 0 ? "parts_a" : "parts_b", '[');
		for (size_t i = 0; i < CELLS_PARTS; i++) {
			json_text(json, NULL, cells.parts[side][i]);
		}
		json_close(json, ']');
	}
}

/* @lists_all: no list is left out because another one says the same. */
static void put_cells(const struct comparison *comparison, const struct change *change,
		      bool lists_all, FILE *out)
{
	struct cells_values cells;
	struct json json;

	cells_values(change, &cells);
	json_begin_object(&json, out, "cells");
	json_u64(&json, "section", section_of(change));
	json_bool(&json, "tells", cells_tells(change));
	json_bool(&json, "again", !lists_all && cells_is_again(change));
	json_text(&json, "a", cells.a);
	json_text(&json, "b", cells.b);
	json_text(&json, "difference", cells.difference);
	json_text(&json, "change", cells.change);
	if (change->kind == CHANGE_SPREAD) {
		put_spread(&json, comparison, change);
	}
	json_end_object(&json);
}

static void put_comparison(const struct comparison *comparison, uint64_t top, bool lists_all,
			   const char *objectives, FILE *lines)
{
	size_t count = comparison->changes.count;

	compare_json(comparison, top, lines);
	put_page(comparison, objectives, lines);
	for (size_t i = 0; i < count && (top == 0 || i < top); i++) {
		put_cells(comparison, &comparison->changes.at[i], lists_all, lines);
	}
}

static void put_page_of(char *data, size_t len, FILE *out)
{
	page_begin(compare_html, out);
	page_put(data, len, out);
	page_end(compare_html, out);
	free(data);
}

void compare_page(const struct comparison *comparison, uint64_t top, bool lists_all,
		  const char *objectives, FILE *out)
{
	size_t len = 0;
	char *data = NULL;
	FILE *lines = open_memstream(&data, &len);

	put_comparison(comparison, top, lists_all, objectives, lines);
	(void)fclose(lines);
	put_page_of(data, len, out);
}

void compare_phases_page(const phase_pairs *pairs, uint64_t top, bool lists_all, FILE *out)
{
	size_t len = 0;
	char *data = NULL;
	FILE *lines = open_memstream(&data, &len);

	VEC_EACH(pairs, pair) {
		compare_phase_line(pair, lines);
		if (phase_pair_is_one(pair)) {
			put_comparison(&pair->comparison, top, lists_all, "", lines);
		}
	}
	(void)fclose(lines);
	put_page_of(data, len, out);
}
