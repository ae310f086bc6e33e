/*
 * across: executions of a job that go over threads: what is open of them, and what threads are
 * called (doc/definitions.md, 6.1).
 *
 *     begin, key 5 ──► across_add()     open: 5, 7, ...     end, key 5 ──► across_find(), _take()
 *
 * A thread is called as the last event has told before that names it.  Both are bounded: beyond
 * that, what began, or was told, longest ago is forgotten.
 *
 * The analysis of jobs has one (analyses/jobs), and reports do (src/deep/executions).
 */
#pragma once

#include "base/codec.h"
#include "base/hash.h"
#include "base/queue.h"

#define ACROSS_NAME_BYTES 16

struct across_open {
	struct list_node node; /* first: the list is of these */
	uint64_t key;          /* see job_key(); 0: the job has none */
	uint64_t begin;
	int32_t tid;     /* that began it; 0: an idle CPU, below: unknown */
	uint32_t thread; /* the caller's, and so is: */
	void *more;
};
HASH_MAP(across_opens, struct across_open *)

/* What is open of one job.  All zero: nothing. */
struct across {
	struct across_opens opens; /* by key */
	struct list list;          /* the one that began last is the last */
};

/* The open one of a key; NULL: there is none. */
struct across_open *across_find(const struct across *across, uint64_t key);
/* It is open no longer; the caller owns it. */
void across_take(struct across *across, struct across_open *open);
/* Takes one, from malloc(), of whose key none is open.  Returns one that has no room any more,
 * which the caller owns; NULL: all have. */
struct across_open *across_add(struct across *across, struct across_open *open);
/* Takes one that is open; NULL: none is, and the table is freed. */
struct across_open *across_next(struct across *across);

struct across_name;
HASH_MAP(across_by_tid, struct across_name *)

/* What threads are called.  All zero: nothing is known. */
struct across_names {
	struct across_by_tid by_tid;
	struct list list; /* the one that was told last is the last */
};

/* The thread is called so from here on; of @len bytes those up to a zero count, 15 at most.  True:
 * another one had to be forgotten. */
bool across_names_tell(struct across_names *names, int32_t tid, const void *name, size_t len);
/* "": nothing told it. */
const char *across_names_of(const struct across_names *names, int32_t tid);
void across_names_fini(struct across_names *names);
void across_names_codec(struct codec *codec, struct across_names *names);
