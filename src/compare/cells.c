/*
 * cells: see cells.h.
 */
#include "compare/cells.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

const struct cells_section cells_sections[CELLS_SECTIONS] = {
	{ "TIME, by what changed most", CHANGE_RATE, UNIT_NS, false },
	{ "BYTES", CHANGE_RATE, UNIT_BYTES, false },
	{ "COUNTS", CHANGE_RATE, UNIT_COUNT, false },
	{ "DISTRIBUTIONS, by the change of their sum", CHANGE_SPREAD, UNIT_NS, false },
	{ "IDLE, ASLEEP OR UNKNOWN", CHANGE_RATE, UNIT_NS, true },
	{ "CALLS THAT WAIT, by the change of their sum", CHANGE_SPREAD, UNIT_NS, true },
	{ "MAXIMA AND LEVELS", CHANGE_LEVEL, UNIT_COUNT, false },
};

const char *const cells_parts[CELLS_PARTS] = { "COUNT", "SUM", "MEAN", "P50", "P95", "P99", "MAX" };

bool cells_is_in(const struct cells_section *section, const struct change *change)
{
	return change->kind == section->kind &&
	       (change->kind == CHANGE_LEVEL || change_rests(change) == section->rests) &&
	       (section->kind != CHANGE_RATE || change_unit(change) == section->unit);
}

bool cells_tells(const struct change *change)
{
	/* Of a row that one side has alone, its sums tell more. */
	return (change->kind != CHANGE_LEVEL || change->is_in[0] == change->is_in[1]) &&
	       change_differs(change);
}

bool cells_is_again(const struct change *change)
{
	enum scope scope = change->table->scope;

	return scope == SCOPE_PROCESS || scope == SCOPE_PROCESS_PAIR ||
	       (scope == SCOPE_KEYED && change->table->owner_key);
}

void cells_change(char text[CELL_MAX], double change)
{
	if (isnan(change)) {
		(void)snprintf(text, CELL_MAX, "-");
	} else if (isinf(change)) {
		(void)snprintf(text, CELL_MAX, "new");
	} else {
		(void)snprintf(text, CELL_MAX, "%+.1f %%", change * 100);
	}
}

void cells_values(const struct change *change, struct cells_values *ret)
{
	bool is_rate = change->kind != CHANGE_LEVEL;
	double difference = change->value[1] - change->value[0];
	char more[CELL_MAX];

	format_real(ret->a, change_unit(change), change->value[0], is_rate);
	format_real(ret->b, change_unit(change), change->value[1], is_rate);
	format_real(more, change_unit(change), difference, is_rate);
	(void)snprintf(ret->difference, sizeof(ret->difference), "%s%s", difference > 0 ? "+" : "",
		       more);
	cells_change(ret->change, change_relative(change->value[0], change->value[1]));
}

static void print_distance(const struct change *change, char text[CELL_MAX])
{
	if (!change->has_distance) { /* no values on one side, or no buckets */
		(void)snprintf(text, CELL_MAX, "D -");
	} else if (change->probability < 0.0001) {
		(void)snprintf(text, CELL_MAX, "D %.3f, p < 0.0001", change->distance);
	} else {
		(void)snprintf(text, CELL_MAX, "D %.3f, p %.4f", change->distance,
			       change->probability);
	}
}

void cells_spread(const struct comparison *comparison, const struct change *change,
		  struct cells_spread *ret)
{
	static const enum histogram_part parts[CELLS_PARTS] = { HISTOGRAM_COUNT, HISTOGRAM_SUM,
								HISTOGRAM_MEAN,  HISTOGRAM_P50,
								HISTOGRAM_P95,   HISTOGRAM_P99,
								HISTOGRAM_MAX };

	print_distance(change, ret->distance);
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < CELLS_PARTS; i++) {
			format_real(ret->parts[side][i],
				    parts[i] == HISTOGRAM_COUNT ? UNIT_COUNT : UNIT_NS,
				    change_part(comparison, change, side, parts[i]), i < 2);
		}
	}
}

const char *cells_nothing(const struct comparison *comparison)
{
	return comparison->compared > 0 ? "nothing that both have differs" : "nothing was compared";
}

bool cells_lacks(const struct comparison *comparison, const struct unmeasured *one)
{
	return !(one->lacks[0] && one->lacks[1]) || comparison->is_asked ||
	       comparison->compared == 0;
}

const char *cells_who_lacks(const struct unmeasured *one)
{
	return one->lacks[0] ? one->lacks[1] ? "A and B" : "A" : "B";
}

char *cells_side(const struct profile *profile)
{
	char time[UNITS_TEXT_MAX], begin[UNITS_TEXT_MAX], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fprintf(out, "%zu trace%s from %s, %s", profile->traces,
		      profile->traces == 1 ? "" : "s", units_iso(begin, profile->begin),
		      units_ns(time, profile->covered_ns));
	report_lost_print(out, &profile->lost);
	(void)fclose(out);
	return text;
}
