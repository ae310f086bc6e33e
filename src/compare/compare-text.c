/*
 * compare-text: a comparison as text; see compare-output.h.
 */
#include <stdlib.h>

#include "compare/cells.h"
#include "compare/compare-output.h"

static bool is_in(const struct cells_section *section, const struct change *change, bool lists_all)
{
	return (lists_all || !cells_is_again(change)) && cells_is_in(section, change) &&
	       cells_tells(change);
}

static void print_side(const struct profile *profile, char letter, FILE *out)
{
	char *says = cells_side(profile);

	(void)fprintf(out, "%c  %s: %s\n", letter, profile->name, says);
	free(says);
}

static const char *found_in(const struct change *change)
{
	return change->is_in[0] ? change->is_in[1] ? "" : "  (A alone)" : "  (B alone)";
}

static void print_number(const struct change *change, FILE *out)
{
	char *figure = change_figure(change);
	struct cells_values cells;

	cells_values(change, &cells);
	(void)fprintf(out, "%14s%14s%15s%12s  %s%s\n", cells.a, cells.b, cells.difference,
		      cells.change, figure, found_in(change));
	free(figure);
}

static void print_spread(const struct comparison *comparison, const struct change *change,
			 FILE *out)
{
	char *figure = change_figure(change);
	struct cells_spread cells;

	cells_spread(comparison, change, &cells);
	(void)fprintf(out, "%s%s  %s  \n", figure, found_in(change), cells.distance);
	for (int side = 0; side < 2; side++) {
		(void)fprintf(out, "%4c", side == 0 ? 'A' : 'B');
		for (size_t i = 0; i < CELLS_PARTS; i++) {
			(void)fprintf(out, "%*s", i < 2 ? 14 : 11, cells.parts[side][i]);
		}
		(void)fputc('\n', out);
	}
	free(figure);
}

static void print_spread_title(const char *title, FILE *out)
{
	(void)fprintf(out, "\n%s\n%4s", title, "");
	for (size_t i = 0; i < CELLS_PARTS; i++) {
		(void)fprintf(out, "%*s", i < 2 ? 14 : 11, cells_parts[i]);
	}
	(void)fputc('\n', out);
}

static void print_title(const struct cells_section *section, FILE *out)
{
	if (section->kind == CHANGE_SPREAD) {
		print_spread_title(section->title, out);
	} else {
		(void)fprintf(out, "\n%s\n%14s%14s%15s%12s  %s\n", section->title, "A", "B",
			      "B - A", "CHANGE", "FIGURE");
	}
}

static bool print_section(const struct comparison *comparison, const struct cells_section *section,
			  uint64_t top, bool lists_all, FILE *out)
{
	uint64_t count = 0;

	for (size_t i = 0; i < comparison->changes.count; i++) {
		const struct change *change = &comparison->changes.at[i];

		if (!is_in(section, change, lists_all) || (top > 0 && count++ >= top)) {
			continue;
		}
		if (top == 0 ? count++ == 0 : count == 1) {
			print_title(section, out);
		}
		if (change->kind == CHANGE_SPREAD) {
			print_spread(comparison, change, out);
		} else {
			print_number(change, out);
		}
	}
	if (top > 0 && count > top) {
		(void)fprintf(out, "  ... and %llu more (-n 0: all)\n",
			      (unsigned long long)(count - top));
	}
	return count > 0;
}

static void print_columns(const struct unmeasured *one, FILE *out)
{
	const char *separator = " ";

	for (unsigned int c = 0; c < COLUMNS_MAX && one->table->columns[c].key; c++) {
		if (one->columns >> c & 1) {
			(void)fprintf(out, "%s%s", separator, one->table->columns[c].key);
			separator = ", ";
		}
	}
}

static void print_unmeasured(const struct comparison *comparison, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < comparison->unmeasured.count; i++) {
		const struct unmeasured *one = &comparison->unmeasured.at[i];

		if (!cells_lacks(comparison, one)) {
			continue;
		}
		(void)fputs(any ? "" : "\nNOT COMPARED\n", out);
		any = true;
		(void)fprintf(out, "  %s%s%s: %s in %s:", one->analysis->name,
			      one->table->key ? "." : "", one->table->key ? one->table->key : "",
			      one->why, cells_who_lacks(one));
		print_columns(one, out);
		(void)fputc('\n', out);
	}
}

void compare_text(const struct comparison *comparison, uint64_t top, bool lists_all, FILE *out)
{
	bool any = false;

	print_side(comparison->side[0], 'A', out);
	print_side(comparison->side[1], 'B', out);
	for (size_t i = 0; i < CELLS_SECTIONS; i++) {
		any |= print_section(comparison, &cells_sections[i], top, lists_all, out);
	}
	if (!any) {
		(void)fprintf(out, "\n%s\n", cells_nothing(comparison));
	}
	print_unmeasured(comparison, out);
}
