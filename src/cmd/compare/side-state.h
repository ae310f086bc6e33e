/*
 * side-state: a side that is being read, shared by side.c (a whole) and side-phases.c (its phases).
 */
#pragma once

#include "cmd/compare/side.h"
#include "output/sink.h"
#include "recorded/recorded.h"
#include "store/reader.h"

struct compared_side {
	struct options options; /* with the side's own range */
	const struct analysis *const *list;
	struct profile *profile;
	struct objectives *objectives;    /* that take windows; NULL: none do */
	int at;                           /* 0: it is A, 1: B */
	const struct recorded_path *path; /* of a trace that is being read, and: */
	struct trace_identity identity;
	const char *name;                /* of what is being read */
	struct recorded_session session; /* the same */
	uint64_t slice_ns; /* of a store: windows that fit into it come first; 0: any */
	struct err *err;
};

/* What it is, without a range. */
enum side_kind side_kind_of(const char *name);
/* The traces that the argument names, with what the options ask for checked. */
int side_find(const struct compared_side *side, const char *arg, struct recorded_paths *ret);
/* Adds the figures of these traces, or of the store. */
int side_add_traces(struct compared_side *side, const struct recorded_paths *paths);
int side_add_store(struct compared_side *side, const char *url);
/* The range of a store that the options ask for. */
int side_store_range(const struct compared_side *side, struct store_reader *reader,
		     uint64_t *ret_begin, uint64_t *ret_end);
/* A file of JSON, or standard input.  *ret: to be closed. */
int side_open_json(const char *path, FILE **ret, struct err *err);
