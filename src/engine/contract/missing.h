/*
 * missing: events that analyses need and that a trace does not record.
 *
 * The metadata of a trace declares the events that can be in it.  A figure that is made of others
 * is unknown.  Metadata may grow: then the events are looked for again.
 *
 *     names of event classes ──┐
 *     analysis.essentials ─────┴─ missing_find() ──► missing events, unknown columns
 */
#pragma once

#include "base/vec.h"
#include "engine/contract/analysis-rare.h"

/* The event classes of a trace. */
struct event_names {
	const char *const *at;
	size_t count;
	const char *domain; /* of the trace; NULL: it names none */
	const char *tracer; /* of the trace, if it is not LTTng; NULL: it is */
	bool has_programs;  /* those of programs were joined to it, whatever its domain is */
	bool is_usual;      /* nobody asked for the analyses: those of other domains lack nothing */
	const struct event_names *beside; /* other traces of its session; NULL: there are none */
};

struct metadata;
/* The names of a trace, which borrow from @types; at[] is from malloc(). */
struct event_names missing_names_of(const struct metadata *types);

/* Whether the trace has an event of this name, or whose name starts with what is before a "*". */
bool missing_has_event(const struct event_names *names, const char *event);

/* Points into descriptors and periods. */
struct missing_event {
	const struct analysis *analysis;
	/* As lttng names it; MISSING_SYSCALLS: no system call is recorded; MISSING_USER: no event
	 * of user space is. */
	const char *event;
	/* A name that the user may have meant, of an event that is recorded; it stays
	 * (missing_kept). NULL: there is none. */
	const char *near;
};
#define MISSING_SYSCALLS "syscall_*"
#define MISSING_USER     "*"

struct missing_events {
	VEC(struct missing_event) at; /* by analysis, each once */
};

struct missing {
	struct missing_events events;
	/* Bit by bit the columns that are unknown, by index of the analysis and table. */
	uint16_t unknown[ANALYSES_MAX][TABLES_MAX];
};

/* Adds the event to those of the analysis, if it is not there yet. */
void missing_add(struct missing_events *events, const struct analysis *analysis, const char *event);
/* The trace does not have it: the same, unless a trace beside it has. */
void missing_lack(const struct event_names *names, const struct analysis *analysis,
		  const char *event, struct missing_events *ret);
/* The same text, which outlives whoever says that something is missing.  NULL: it is too long, or
 * so many are kept that no other one is (MISSING_KEPT_MAX). */
const char *missing_kept(const char *text, size_t len);
/* The tracer of "barectf 3.0.1", as in struct event_names; it stays. */
const char *missing_tracer(const char *text);
/* Leaves those that are among these, too.  Kernel and user space of one session never record the
 * same: what some trace has is not missing. */
void missing_keep(struct missing_events *events, const struct missing_event *these, size_t count);
/* What @names lacks for the analyses of @list; @ret is zeroed, or filled before. */
void missing_find(const struct event_names *names, const struct analysis *const *list, size_t count,
		  const struct period_set *periods, struct missing *ret);
void missing_fini(struct missing *missing);
/* Whether one figure is unknown; adds what is missing for it to @ret. */
bool missing_figure(const struct event_names *names, const struct analysis *analysis, size_t table,
		    unsigned int column, const struct period_set *periods,
		    struct missing_events *ret);
/* Whether the user asked for something that has the figure, with a name that matches (NULL: any).
 */
bool missing_is_asked(const struct analysis *analysis, size_t table, unsigned int column,
		      const char *name, const struct period_set *periods);

/* The other way round, where only the events are known that an analysis lacks: the columns that are
 * unknown, by table; more than needed where the user says what is wanted (missing_of). */
void missing_columns(const struct analysis *analysis, const struct missing_event *events,
		     size_t count, uint16_t unknown[TABLES_MAX]);

/* Whether nothing of the table is known. */
bool missing_is_whole(const struct table *table, uint16_t unknown);

/* ---- what users are told ---- */

/* All return a text from malloc(). */

/* The command that records the event: "lttng enable-event -k sched_switch".  There is none where
 * the user may have meant another one (near). */
char *missing_command(const struct missing_event *event);

/* "sched_switch (cpu, sched); syscall_* (io); a:b (did you mean \"a:c\"?) (periods)"; the analyses
 * only if @names_analyses. */
char *missing_text(const struct missing_event *events, size_t count, bool names_analyses);
/* The commands that record all of it, with @between between them; lists are divided so that no
 * command is longer than @most, if that is possible.  @tracer: of event_names; for others than
 * LTTng there is no command, and the text says that.  "": no event has one. */
char *missing_commands(const char *tracer, const struct missing_event *events, size_t count,
		       const char *between, size_t most);
