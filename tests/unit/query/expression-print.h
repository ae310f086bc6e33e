/*
 * expression-print: a tree as the text of an expression, for tests: it means the same tree.
 */
#pragma once

#include "query/expression.h"

#define EXPRESSION_PRINTED_BYTES (1 << 16)

void expression_print(const struct expression *is, enum expression_form form,
		      char text[EXPRESSION_PRINTED_BYTES]);
/* Parses a text, prints its tree, and parses that; aborts if the two trees differ.  False: it is
 * not valid. */
bool expression_print_check(const char *text, enum expression_form form);
