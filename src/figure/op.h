/*
 * op: how a value is compared with a limit.
 */
#pragma once

#include <stdbool.h>

#include "query/scan.h"

enum op { OP_ABOVE, OP_BELOW, OP_AT_LEAST, OP_AT_MOST };

/* > < >= <=  False: none comes next, and the error says so. */
bool op_parse(struct scan *scan, enum op *ret);
const char *op_text(enum op op);  /* ">=" */
const char *op_words(enum op op); /* "at least" */
/* NAN is never beyond a limit, nor anything beyond NAN. */
bool op_holds(enum op op, double value, double limit);
/* Whether large values are beyond the limit. */
bool op_wants_more(enum op op);
/* Whether the value is nearer to what the comparison looks for; anything is nearer than NAN. */
bool op_is_further(enum op op, double value, double than);
