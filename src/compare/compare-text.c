/*
 * compare-text: a comparison as text; see compare-output.h.
 */
#include <stdlib.h>

#include "base/units.h"
#include "compare/cells.h"
#include "compare/compare-output.h"
#include "text/text-table.h"

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

static void print_number(struct text_table *table, const struct change *change)
{
	char *figure = change_figure(change);
	struct cells_values cells;

	cells_values(change, &cells);
	text_cell(table, cells.a);
	text_cell(table, cells.b);
	text_cell(table, cells.difference);
	text_cell(table, cells.change);
	text_cell(table, figure);
	(void)fputs(found_in(change), table->out);
	text_end(table);
	free(figure);
}

static void print_spread(struct text_table *table, const struct comparison *comparison,
			 const struct change *change)
{
	char *figure = change_figure(change);
	struct cells_spread cells;

	cells_spread(comparison, change, &cells);
	text_put(table->out, figure, -1);
	(void)fprintf(table->out, "%s  %s  \n", found_in(change), cells.distance);
	for (int side = 0; side < 2; side++) {
		text_cell(table, side == 0 ? "A" : "B");
		for (size_t i = 0; i < CELLS_PARTS; i++) {
			text_cell(table, cells.parts[side][i]);
		}
		text_end(table);
	}
	free(figure);
}

static struct text_table table_of(const struct cells_section *section, FILE *out)
{
	struct text_table table =
		section->kind == CHANGE_SPREAD
			? text_table_of(out, ">4|%s>14|%s>14|%s>11|%s>11|%s>11|%s>11|%s>11",
					cells_parts[0], cells_parts[1], cells_parts[2],
					cells_parts[3], cells_parts[4], cells_parts[5],
					cells_parts[6])
			: text_table_of(out, "A>14|B>14|B - A>15|CHANGE>12|  FIGURE<");

	(void)fprintf(out, "\n%s\n", section->title);
	text_head(&table);
	return table;
}

static bool print_section(const struct comparison *comparison, const struct cells_section *section,
			  uint64_t top, bool lists_all, FILE *out)
{
	struct text_table table;
	uint64_t count = 0;

	VEC_EACH(&comparison->changes, change) {
		if (!is_in(section, change, lists_all) || (count++ >= top && top > 0)) {
			continue;
		}
		if (count == 1) {
			table = table_of(section, out);
		}
		if (change->kind == CHANGE_SPREAD) {
			print_spread(&table, comparison, change);
		} else {
			print_number(&table, change);
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

	VEC_EACH(&comparison->unmeasured, one) {
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

/* ---- phases ---- */

static void print_phase(struct text_table *table, const struct compared_phase *phase)
{
	char begin[UNITS_TEXT_MAX], lasted[UNITS_TEXT_MAX];

	if (!phase) {
		text_cell(table, "-");
		text_cell(table, "");
		text_cell(table, "");
		return;
	}
	text_cell_format(table, "%llu", (unsigned long long)phase->number);
	text_cell(table, units_time(begin, units_times_of(phase->begin, phase->end), phase->begin));
	text_cell(table, units_ns(lasted, phase->end - phase->begin));
}

void compare_phases_text(const phase_pairs *pairs, uint64_t top, bool lists_all, FILE *out)
{
	struct text_table table =
		text_table_of(out, "A>4|  FROM<14|LASTED>10|B>6|  FROM<14|LASTED>10|DISTANCE>10|");
	size_t counts[3] = { 0 };

	VEC_EACH(pairs, pair) {
		counts[phase_pair_is_one(pair) ? 0 : pair->of[0] ? 1 : 2]++;
	}
	(void)fprintf(out, "PHASES: %zu of both, %zu of A alone, %zu of B alone\n", counts[0],
		      counts[1], counts[2]);
	text_head(&table);
	VEC_EACH(pairs, pair) {
		print_phase(&table, pair->of[0]);
		print_phase(&table, pair->of[1]);
		if (phase_pair_is_one(pair)) {
			text_cell_format(&table, "%.2f", pair->distance);
		} else {
			text_cell(&table, pair->of[0] ? "A alone" : "B alone");
		}
		text_end(&table);
	}
	VEC_EACH(pairs, pair) {
		if (phase_pair_is_one(pair)) {
			(void)fputs("\n", out);
			compare_text(&pair->comparison, top, lists_all, out);
		}
	}
}
