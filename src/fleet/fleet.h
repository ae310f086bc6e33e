/*
 * fleet: the hosts of a store side by side, and who is far from the others.
 *
 *     windows of traces ──► slots (-i) of a host ──► figures ──► a table of hosts for each slot
 *            │                      └──► triggers (fleet-trigger.h)
 *            └──► totals of a host ──► figures ──► the table of the range
 *
 * All traces of a host are put together, as `history --merged` does.  Windows come in time order by
 * slot, so that a slot is over when a window of a later one comes.
 */
#pragma once

#include "fleet/fleet-figure.h"
#include "fleet/fleet-trigger.h"
#include "fleet/robust.h"

struct fleet_cell {
	bool is_known; /* else the host does not record it, or has no value of it */
	double value;
	double before; /* comparing: the value of the other table, which is known, too */
	bool has_distance, is_far;
	double distance;
};

/* A host, or a container of a host. */
struct fleet_row {
	const char *host, *container; /* NULL: the host as a whole; "": it has no name */
	uint64_t container_id;        /* of its PID namespace; ROW_KEY_NO_ID: not known */
	uint64_t begin, end;          /* of its windows */
	bool is_complete;             /* nothing of them is missing */
	uint64_t covered_ns;          /* by its windows: less than from begin to end with holes */
	double known;                 /* the share of the CPUs' time of which is known what ran */
	bool is_judged;               /* that is enough: it takes part in what is usual */
	size_t traces;
	struct fleet_cell *cells; /* by figure */
	double furthest;          /* the largest distance, without sign; below 0: none is known */
};

/*
 * A table of changes, from a table before to another one: rows are the hosts of both, and what is
 * far is the difference of their values.
 */
struct fleet_table {
	bool is_total;
	uint64_t seq; /* of windows, from 0 */
	uint64_t begin, end;
	const struct fleet_figures *figures;
	const struct robust *columns; /* by figure */
	const bool *is_whole;         /* by figure: a selection does not concern it */
	size_t host_count;            /* that have a window */
	size_t row_count;
	const struct fleet_row *rows; /* sorted */
	size_t absent_count;
	const char *const *absent; /* hosts that have no window in this time */
	/* Of changes: what the values were compared with, else NULL, and the hosts that are in one
	 * of both tables only. */
	const struct fleet_before *before;
	size_t gone_count, new_count;
	const char *const *gone, *const *added;
};

typedef void fleet_show_fn(void *user, const struct fleet_table *table);

/* The total of another time, or of another store, to compare with. */
struct fleet_before;
struct fleet_before *fleet_before_new(const struct fleet_table *table); /* a copy */
void fleet_before_free(struct fleet_before *before);                    /* NULL is fine */
uint64_t fleet_before_begin(const struct fleet_before *before);
uint64_t fleet_before_end(const struct fleet_before *before);

struct fleet_config {
	uint64_t interval_ns; /* of slots; UINT64_MAX: there is only the total */
	bool shows_windows;   /* also slots are shown, not only the total */
	bool has_no_total;    /* nothing is kept of a slot that is over */
	bool by_container;
	const struct fleet_figures *figures;
	const struct fleet_before *before; /* of the same figures; NULL: nothing is compared */
	size_t sort;                       /* by one of them; SIZE_MAX: the furthest rows first, */
	bool by_host;                      /* or by the names of hosts */
	const struct selection *selection;
	struct fleet_triggers *triggers; /* NULL: none */
	fleet_show_fn *show;             /* the table is valid until it returns */
	void *user;
};

struct fleet;

/* What @config points to must outlive the result. */
struct fleet *fleet_new(const struct fleet_config *config);
void fleet_free(struct fleet *fleet); /* NULL is fine */

/* A trace that will have windows, or may have none; the number that stands for it in
 * fleet_add_window() counts up from 0.  Traces of one @host are put together. */
void fleet_add_trace(struct fleet *fleet, const char *host);
/* A window of the trace.  Windows of one slot come in any order of traces, those of a trace by
 * time; all of a slot before those of the next. */
void fleet_add_window(struct fleet *fleet, size_t trace, const struct report *window);
/* No window of the open slot comes any more. */
void fleet_end_slot(struct fleet *fleet);
/* What came of the open slot comes again. */
void fleet_drop_slot(struct fleet *fleet);
/* Ends the open slot, and shows the total. */
void fleet_end(struct fleet *fleet);
