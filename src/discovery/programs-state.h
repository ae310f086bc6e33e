/*
 * programs-state: what programs-look.c counts of events, and programs.c makes of it.
 */
#pragma once

#include "base/hash.h"
#include "discovery/programs.h"

#define PROGRAM_CLASSES_MAX 64
#define PROGRAM_FIELDS_MAX  12
#define BY_THREAD           0 /* in place of a field: what happens on a thread */

/* How often the second event came of a key, since the last time with the first one of it before,
 * and how long after that. */
struct program_pair {
	uint32_t matched;
	uint32_t first; /* keys of which the first event came first */
	uint64_t ns;
};

/* Of a field and an event class. */
struct program_use {
	uint32_t count, distinct; /* distinct: values */
};

/* When an event class came on a thread. */
struct program_series {
	uint32_t class;   /* index in look.classes */
	uint64_t process; /* 0: unknown */
	int32_t tid;
	char comm[16];
	VEC(uint64_t) times;
};

struct program_key;
HASH_MAP(program_keys, struct program_key *)
HASH_MAP(program_series_of, struct program_series *)

/* What was counted.  Classes and fields have numbers in the order of metadata. */
struct program_look {
	const struct discovery_config *config;
	VEC(char *) classes; /* names */
	VEC(char *) fields;  /* as a request has them; the first is none */
	size_t class_count;  /* of the trace, when it was opened first */
	int16_t *number_of;  /* by index of the class in the trace; -1: left out */
	struct program_pair *pairs;
	struct program_use *uses;
	struct program_keys keys;
	struct program_series_of series;
	size_t times; /* of all series */
	uint64_t events;
	bool is_cut;
};

static inline struct program_pair *program_pair(const struct program_look *look, size_t field,
						size_t a, size_t b)
{
	return &look->pairs[(field * look->classes.count + a) * look->classes.count + b];
}

static inline struct program_use *program_use(const struct program_look *look, size_t field,
					      size_t class)
{
	return &look->uses[field * look->classes.count + class];
}

/* Whether the field is called like an id. */
bool program_is_id(const char *field);

/* Reads the trace.  -errno with the reason. */
int program_look_at(const struct reader_setup *setup, struct program_look *look, struct err *err);
void program_look_fini(struct program_look *look);
