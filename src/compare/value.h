/*
 * value: figures of comparisons as people read them.
 */
#ifndef SILLAGE_COMPARE_VALUE_H
#define SILLAGE_COMPARE_VALUE_H

#include <stdbool.h>

#include "engine/contract/analysis.h"

#define VALUE_TEXT_MAX 48

/* "1.2 ms", "-3.4 KiB/s"; NAN: "-". */
void value_print(char text[VALUE_TEXT_MAX], enum unit unit, double value, bool is_per_second);
/* "+12.3 %", "new" for INFINITY, "-" for NAN. */
void value_print_change(char text[VALUE_TEXT_MAX], double change);

#endif
