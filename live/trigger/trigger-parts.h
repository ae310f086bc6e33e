/*
 * trigger-parts: what a trigger is made of: trigger-parse.c reads it, trigger.c looks at windows.
 */
#ifndef SILLAGE_LIVE_TRIGGER_TRIGGER_PARTS_H
#define SILLAGE_LIVE_TRIGGER_TRIGGER_PARTS_H

#include "base/mem.h"
#include "live/trigger/trigger.h"

enum part { PART_NONE, PART_COUNT, PART_SUM, PART_MIN, PART_MEAN, PART_MAX, PART_PERCENTILE };

/* What is compared: a column of a table, of the rows that are chosen. */
struct figure {
	char *text;
	const struct analysis *analysis;
	const struct table *table;
	unsigned int column;
	enum part part;
	unsigned int per_mille;
	bool is_rate;
	bool has_id;
	int64_t id;
	char *key, *pattern; /* NULL: no pattern */
};

enum node_kind { NODE_COMPARE, NODE_AND, NODE_OR };

struct condition {
	enum node_kind kind;
	struct condition *left, *right; /* NODE_AND, NODE_OR */
	struct figure figure;
	char op; /* '>' '<' 'g' (>=) 'l' (<=) */
	double limit;
	bool is_share;
};

/* Which row of the list that a trigger is about. */
struct row_identity {
	uint64_t of, which;
};

/* How it stands for a row; all 0 if there is nothing to remember. */
struct row_standing {
	struct row_identity key;
	uint64_t since;        /* holds: from when on, ns */
	bool holds, has_fired; /* and not been armed again */
	bool is_seen;          /* in the window that is looked at */
};

/* How it stands in one trace. */
struct standing {
	char *trace;
	uint64_t fired;                /* ns: end of the last firing, 0: none */
	VEC(struct row_standing) rows; /* with something to remember, by key */
};

struct trigger {
	char *name, *text;
	struct condition *when, *until; /* until: NULL if it is armed when `when` fails */
	uint64_t for_ns, every_ns;
	bool wants_complete;
	const struct figure *subject; /* its rows are looked at one by one; NULL: all at once */
	VEC(struct standing) standings;
};

void trigger_condition_free(struct condition *condition); /* NULL is fine */

/* Whether it is a time, in ns. */
static inline bool figure_is_time(const struct figure *figure)
{
	return figure->table->columns[figure->column].unit == UNIT_NS && figure->part != PART_COUNT;
}

#endif
