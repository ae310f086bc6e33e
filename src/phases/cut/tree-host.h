/*
 * tree-host: what the resources of one host did, slice by slice; tree.c makes nodes of them.
 */
#pragma once

#include "base/hash.h"
#include "base/mem.h"
#include "phases/cut/tree.h"

#define NO_TID (-1)

enum { RUN, OFF, UNKNOWN }; /* or busy, idle */

/* What a resource did in one slice. */
struct spent {
	uint32_t slice;
	uint64_t ns[TREE_STATES]; /* of a thread or process the first only */
};

struct tree_resource {
	int64_t id;  /* CPU or pid */
	int32_t tid; /* NO_TID: a process, or a CPU */
	char *name;
	int64_t container; /* of a process, as it was last known; REPORT_NO_NUMBER: unknown */
	uint64_t ns;       /* all of the first state */
	VEC(struct spent) slices; /* in order */
};

struct tree_container {
	int64_t number; /* of its PID namespace */
	char *name;     /* the last one */
};

HASH_MAP(resource_of, uint32_t)

struct tree_host {
	enum tree_kind kind;
	char *name; /* NULL: it is not known */
	size_t room;
	size_t cpus_shown; /* leaves */
	VEC(struct tree_resource) resources;
	struct resource_of by_key;
	uint64_t *run, *unknown; /* of each slice: of all processes, of all CPUs */
	size_t cpus;             /* that were seen */
	VEC(struct tree_container) containers;
	/* Results: resources are sorted, processes first. */
	size_t processes, shown;
	const uint64_t *missing; /* ns of each slice in which a CPU was not recorded; NULL: none */
};

/* @room: slices at most. */
void tree_host_init(struct tree_host *host, enum tree_kind kind, const char *name, size_t room,
		    size_t cpus_shown);
void tree_host_fini(struct tree_host *host);

/* Adds a window, which is one slice. */
void tree_host_report(struct tree_host *host, size_t slice, const struct report *report);
