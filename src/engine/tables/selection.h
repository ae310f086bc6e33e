/*
 * selection: which threads, CPUs and interrupts the user wants to see.
 *
 * What a selection of threads and CPUs leaves out is never added up (shard.c).  Tables that
 * it does not concern (table.of_all) stay those of all.  NULL in place of a selection: all.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/mem.h"
#include "engine/contract/analysis.h"

struct thread_view;

/* What the user calls a container. */
struct container_name {
	uint32_t pid_ns;
	char *name;
};

/* Empty lists: all. */
struct selection {
	VEC(int64_t) tids, pids, cpus;
	VEC(const char *) comms; /* patterns, as those of a shell */
	VEC(const char *) irqs;  /* patterns of numbers, or names */
	/* What the user called the options of tids and comms; NULL: --tid, --comm. */
	const char *tids_option, *comms_option;
	VEC(struct container_name) containers;
	/* Containers are those of places: the container or service that recorders say a process is
	 * of (contract/record.h), and not its PID namespace. */
	bool by_service;
	uint64_t min_ns, max_ns; /* of single instances; max_ns UINT64_MAX: any */
};

/* Which lists are shown; PER_COMM: processes are put together by their threads' names. */
enum per {
	PER_ALL,
	PER_CPU,
	PER_TID,
	PER_PID,
	PER_COMM,
	PER_PRIO,
	PER_CONTAINER,
	PER_SERVICE, /* only a word: PER_CONTAINER, with selection.by_service */
};

/* What only chooses what is shown, and in which order (output/shown.h).  Nothing that makes figures
 * or looks at them knows it: triggers, gates, metrics, stores. */
struct display {
	enum per per;
	const char *sort; /* key of the column to sort by, where a table has it; NULL: its own */
	enum histogram_part sort_part; /* of a distribution; HISTOGRAM_NO_PART: its sum */
	const struct table *sort_of;   /* the only table that is sorted so; NULL: any */
	const char *sort_per; /* the key of a column of it that `sort` is divided by; NULL: none */
	enum histogram_part sort_per_part;
};

/* What it selects, by bit: OF_ALL_... */
uint8_t selection_of(const struct selection *s);

/* The same as a text, "--pid 1,2 --comm sh", for messages and files; from malloc(), never empty. */
char *selection_text(const struct selection *s);
/* The same in the words of the user, for messages only. */
char *selection_asked(const struct selection *s);

/* Whether it selects something that the table's figures are not concerned with (table.of_all). */
static inline bool selection_leaves_whole(const struct selection *s, const struct table *table)
{
	return selection_of(s) & table->of_all;
}

/* The user's name of a container; NULL: none. */
const char *selection_container(const struct selection *s, uint32_t pid_ns);
static inline bool selection_by_service(const struct selection *s)
{
	return s && s->by_service;
}
/* The id of a row about a container or service, whose number is @number: 0: not known. */
uint64_t selection_container_id(const struct selection *s, uint32_t number);
/* Whether @per shows the list. */
bool selection_shows(enum per per, const struct table *table);
bool selection_wants_cpu(const struct selection *s, uint64_t cpu);
bool selection_wants_thread(const struct selection *s, const struct thread_view *view);
/* The keyed row of an interrupt, by number or name. */
bool selection_wants_irq(const struct selection *s, const struct table *table, uint64_t id,
			 const char *name);
