/*
 * need: which events and fields an analysis wants decoded, and which of them its figures need.
 */
#pragma once

#include "ctf/plan/plan.h"
#include "engine/contract/report-shape.h"

struct worker;

/* ---- events that are decoded ---- */

/* An event as a handler sees it: values in the order of the need's fields.  Read them with
 * event_has(), event_u64(), event_i64() and event_text() of handler.h. */
struct trace_event {
	uint64_t ts; /* ns since the epoch, never less than the event before */
	const struct plan_event *class;
	const struct value *values;
	const struct plan_binding *binding;
	uint16_t present; /* bit i: the class has field i, of the kind that was asked for */
};

typedef void handler_fn(struct worker *worker, void *state, const struct trace_event *event,
			uint32_t user);

struct need {
	const char *event; /* a name, or a prefix and "*" */
	/* "name": as a number; "@name": as text or bytes; "?name": as what it is (plan_field_of());
	 * "context.name": of the context. */
	const char *fields[PLAN_FIELDS_MAX];
	handler_fn *on_event;
	uint32_t user;      /* given to the handler */
	const char *domain; /* only in traces of this domain ("ust"), or not ("!kernel"); NULL: all
			     */
	/* If not NULL: only classes of which it says so. */
	bool (*takes)(const struct event_class *class);
	/* If not NULL: gives the handler's `user` by the event's name. */
	uint32_t (*user_of)(const char *event);
	bool is_extra;  /* taken where it is recorded; nobody is advised to record it for that */
	bool may_rest;  /* not wanted while the analysis rests (worker_rest()) */
	bool is_beside; /* taken although another need of the analysis has the event; these are last
			 */
	bool is_of_wakers; /* of the engine: for analyses that have names_wakers */
};

/* A member of struct analysis: .needs and .need_count, of an array. */
#define WITH_NEEDS(array) .needs = (array), .need_count = ARRAY_COUNT(array)

/* ---- what has to be recorded ---- */

/*
 * An event that figures are made of.  If the trace's metadata declares no event of @events, these
 * figures are unknown, which is not the same as 0: reports leave them out, and say what is missing
 * (missing.h).
 */
struct essential {
	/* Any one of them will do: names, or a prefix and "*".  NULL ends them.  Reports ask users
	 * to record the first. */
	const char *const *events;
	/* The figures, bit by bit, of each table; all 0: all of the analysis.  A table of processes
	 * has those of the table of threads. */
	uint16_t columns[TABLES_MAX];
	const char *domain; /* only traces of this domain have them, as in a need; NULL: all */
	bool is_extra;      /* advised only where one of the figures is asked for by name */
};

/* A member of struct analysis, of an array. */
#define WITH_ESSENTIALS(array) .essentials = (array), .essential_count = ARRAY_COUNT(array)

#define ANY_EVENT(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define ALL_COLUMNS    ((uint16_t)((1u << COLUMNS_MAX) - 1))
#define COLUMN(name)   ((uint16_t)(1u << (name)))
