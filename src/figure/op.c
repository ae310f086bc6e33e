/*
 * op: see op.h.
 */
#include "figure/op.h"

#include <assert.h>
#include <math.h>

#include "base/vec.h"

static const struct {
	const char *text, *words;
} ops[] = {
	[OP_ABOVE] = { ">", "more than" },
	[OP_BELOW] = { "<", "less than" },
	[OP_AT_LEAST] = { ">=", "at least" },
	[OP_AT_MOST] = { "<=", "at most" },
};

#define OPS ARRAY_COUNT(ops)

bool op_parse(struct scan *scan, enum op *ret)
{
	scan_blanks(scan);
	if (*scan->at != '>' && *scan->at != '<') {
		return scan_fail(scan, "expected >, >=, < or <=");
	}
	*ret = *scan->at++ == '>' ? OP_ABOVE : OP_BELOW;
	if (*scan->at == '=') {
		*ret = *ret == OP_ABOVE ? OP_AT_LEAST : OP_AT_MOST;
		scan->at++;
	}
	return true;
}

const char *op_text(enum op op)
{
	assert(op < OPS);
	return ops[op].text;
}

const char *op_words(enum op op)
{
	assert(op < OPS);
	return ops[op].words;
}

bool op_holds(enum op op, double value, double limit)
{
	bool is_beyond = op_wants_more(op) ? value > limit : value < limit;

	return is_beyond || ((op == OP_AT_LEAST || op == OP_AT_MOST) && value == limit);
}

bool op_wants_more(enum op op)
{
	assert(op < OPS);
	return op == OP_ABOVE || op == OP_AT_LEAST;
}

bool op_is_further(enum op op, double value, double than)
{
	if (isnan(than)) {
		return !isnan(value);
	}
	return op_wants_more(op) ? value > than : value < than;
}
