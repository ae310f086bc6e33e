/*
 * value: see value.h.
 */
#include "compare/value.h"

#include <math.h>
#include <stdio.h>

#include "output/format.h"

void value_print(char text[VALUE_TEXT_MAX], enum unit unit, double value, bool is_per_second)
{
	double size = fabs(value);
	char number[CELL_MAX];

	if (isnan(value)) {
		(void)snprintf(text, VALUE_TEXT_MAX, "-");
		return;
	}
	if (unit == UNIT_COUNT && size > 0 && size < 100 && size != floor(size)) {
		(void)snprintf(number, sizeof(number), "%.2f", size);
	} else {
		format_value(number, unit, size < 1.8e19 ? (uint64_t)(size + 0.5) : UINT64_MAX);
	}
	(void)snprintf(text, VALUE_TEXT_MAX, "%s%.40s%s", value < 0 ? "-" : "", number,
		       is_per_second ? "/s" : "");
}

void value_print_change(char text[VALUE_TEXT_MAX], double change)
{
	if (isnan(change)) {
		(void)snprintf(text, VALUE_TEXT_MAX, "-");
	} else if (isinf(change)) {
		(void)snprintf(text, VALUE_TEXT_MAX, "new");
	} else {
		(void)snprintf(text, VALUE_TEXT_MAX, "%+.1f %%", change * 100);
	}
}
