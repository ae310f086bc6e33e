/*
 * compare-text: a comparison as text; see compare-output.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "compare/compare-output.h"
#include "compare/value.h"

struct section {
	const char *title;
	enum change_kind kind;
	enum unit unit; /* of CHANGE_RATE */
};

static const struct section sections[] = {
	{ "TIME, by what changed most", CHANGE_RATE, UNIT_NS },
	{ "BYTES", CHANGE_RATE, UNIT_BYTES },
	{ "COUNTS", CHANGE_RATE, UNIT_COUNT },
	{ "DISTRIBUTIONS, by the change of their sum", CHANGE_SPREAD, UNIT_NS },
	{ "MAXIMA AND LEVELS", CHANGE_LEVEL, UNIT_COUNT },
};

static bool is_in(const struct section *section, const struct change *change, bool lists_all)
{
	bool is_shown = lists_all || (change->table->scope != SCOPE_PROCESS &&
				      change->table->scope != SCOPE_PROCESS_PAIR);
	/* Of a row that one side has alone, its sums tell more. */
	bool is_compared = change->kind != CHANGE_LEVEL || change->is_in[0] == change->is_in[1];

	return is_shown && is_compared && change->kind == section->kind && change_differs(change) &&
	       (section->kind != CHANGE_RATE || change_unit(change) == section->unit);
}

static void print_side(const struct profile *profile, char letter, FILE *out)
{
	char time[UNITS_TEXT_MAX], begin[UNITS_TEXT_MAX];

	(void)fprintf(out, "%c  %s: %zu trace%s from %s, %s\n", letter, profile->name,
		      profile->traces, profile->traces == 1 ? "" : "s",
		      units_iso(begin, profile->begin), units_ns(time, profile->covered_ns));
}

static const char *found_in(const struct change *change)
{
	return change->is_in[0] ? change->is_in[1] ? "" : "  (A alone)" : "  (B alone)";
}

static void print_number(const struct change *change, FILE *out)
{
	bool is_rate = change->kind == CHANGE_RATE;
	char a[VALUE_TEXT_MAX], b[VALUE_TEXT_MAX], more[VALUE_TEXT_MAX], relative[VALUE_TEXT_MAX];
	double difference = change->value[1] - change->value[0];
	char *figure = change_figure(change), *signed_more = NULL;

	value_print(a, change_unit(change), change->value[0], is_rate);
	value_print(b, change_unit(change), change->value[1], is_rate);
	value_print(more, change_unit(change), difference, is_rate);
	value_print_change(relative, change_relative(change->value[0], change->value[1]));
	if (difference > 0) {
		signed_more = mem_printf("+%s", more);
	}
	(void)fprintf(out, "%14s%14s%15s%12s  %s%s\n", a, b, signed_more ? signed_more : more,
		      relative, figure, found_in(change));
	free(signed_more);
	free(figure);
}

static void print_probability(const struct change *change, FILE *out)
{
	if (!change->has_distance) {
		(void)fputs("D -  ", out); /* no values on one side, or no buckets */
	} else if (change->probability < 0.0001) {
		(void)fprintf(out, "D %.3f, p < 0.0001  ", change->distance);
	} else {
		(void)fprintf(out, "D %.3f, p %.4f  ", change->distance, change->probability);
	}
}

static void print_spread(const struct comparison *comparison, const struct change *change,
			 FILE *out)
{
	static const enum histogram_part parts[] = { HISTOGRAM_COUNT, HISTOGRAM_SUM, HISTOGRAM_MEAN,
						     HISTOGRAM_P50,   HISTOGRAM_P95, HISTOGRAM_P99,
						     HISTOGRAM_MAX };
	char *figure = change_figure(change);

	(void)fprintf(out, "%s%s  ", figure, found_in(change));
	print_probability(change, out);
	(void)fputc('\n', out);
	for (int side = 0; side < 2; side++) {
		(void)fprintf(out, "%4c", side == 0 ? 'A' : 'B');
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			char text[VALUE_TEXT_MAX];

			value_print(text, parts[i] == HISTOGRAM_COUNT ? UNIT_COUNT : UNIT_NS,
				    change_part(comparison, change, side, parts[i]), i < 2);
			(void)fprintf(out, "%*s", i < 2 ? 14 : 11, text);
		}
		(void)fputc('\n', out);
	}
	free(figure);
}

static void print_title(const struct section *section, FILE *out)
{
	if (section->kind == CHANGE_SPREAD) {
		(void)fprintf(out, "\n%s\n%4s%14s%14s%11s%11s%11s%11s%11s\n", section->title, "",
			      "COUNT", "SUM", "MEAN", "P50", "P95", "P99", "MAX");
	} else {
		(void)fprintf(out, "\n%s\n%14s%14s%15s%12s  %s\n", section->title, "A", "B",
			      "B - A", "CHANGE", "FIGURE");
	}
}

static bool print_section(const struct comparison *comparison, const struct section *section,
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

/* What nobody has can change nothing. */
static void print_unmeasured(const struct comparison *comparison, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < comparison->unmeasured.count; i++) {
		const struct unmeasured *one = &comparison->unmeasured.at[i];

		if (one->lacks[0] && one->lacks[1]) {
			continue;
		}
		(void)fputs(any ? "" : "\nNOT COMPARED\n", out);
		any = true;
		(void)fprintf(out, "  %s%s%s: %s in %c:", one->analysis->name,
			      one->table->key ? "." : "", one->table->key ? one->table->key : "",
			      one->why, one->lacks[0] ? 'A' : 'B');
		print_columns(one, out);
		(void)fputc('\n', out);
	}
}

void compare_text(const struct comparison *comparison, uint64_t top, bool lists_all, FILE *out)
{
	bool any = false;

	print_side(comparison->side[0], 'A', out);
	print_side(comparison->side[1], 'B', out);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		any |= print_section(comparison, &sections[i], top, lists_all, out);
	}
	if (!any) {
		(void)fputs("\nnothing that both have differs\n", out);
	}
	print_unmeasured(comparison, out);
}
