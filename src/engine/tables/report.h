/*
 * report: a window or total of one trace, ready for a sink.
 *
 * Rows are sorted, largest figure first.  A row without a value is left out, except of the trace
 * and of a CPU.  Of many rows, only the first engine_config.top are in order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "engine/contract/analysis.h"
#include "engine/contract/missing.h"
#include "engine/contract/row-key.h"
#include "engine/tables/selection.h"

#define REPORT_NO_NUMBER INT64_MIN
/* In ids of rows about services: their numbers are no PID namespaces, and mean nothing to users. */
#define REPORT_PLACE_ID (UINT64_C(1) << 32)
/* thread_view.container_level where thread_view.container is such a number. */
#define REPORT_PLACE_LEVEL (UINT8_MAX - 1)

/* The PID namespace that the id of a row about a container is; UINT64_MAX: none. */
static inline uint64_t report_pid_ns(uint64_t id)
{
	return id <= UINT32_MAX ? id : UINT64_MAX;
}

struct report_row {
	uint64_t sort; /* the figure that rows are sorted by */
	uint64_t id;   /* CPU, number of a key, or pid; orders threads that had one tid */
	/* The number that table.owner_key names; pairs: REPORT_NO_NUMBER: none.  Where @by is a
	 * container: its number, or REPORT_NO_NUMBER. */
	int64_t owner;
	/* Pairs: the name of the second one; "": unknown.  SCOPE_PROCESS, by container: the name of
	 * its container, "" if there is none; NULL: not by container. */
	const char *by;
	const char *name; /* SCOPE_EVENT, KEYED, CONTAINER, CONTAINER_PAIR, LONGEST */
	/* SCOPE_KEYED, LONGEST: the name with ids as the trace calls them (analysis.label_of);
	 * NULL: none of them is known.  Rows are told apart by `name`. */
	const char *label;
	const char *keyed; /* SCOPE_KEYED, CONTAINER: the key's name, the same in all reports */
	/* SCOPE_THREAD, PROCESS, PAIR, PROCESS_PAIR; LONGEST: may be NULL */
	const struct thread_view *thread;
	const uint64_t *values; /* by column (engine/tables/columns.h); COLUMN_PRIO has none */
	const struct instance *instance; /* SCOPE_LONGEST, in place of values */
	/* SCOPE_PROCESS: the tid of the thread whose name it has, 0: its leader's, as it should. */
	int32_t named_by;
};

/* Whether the id of a keyed row, and the number of the second of a pair, mean something to users.
 */
static inline bool report_shows_id(const struct table *table, uint64_t id)
{
	return table->id_key && id != ROW_KEY_NO_ID &&
	       !(scope_is_of_containers(table->scope) && report_pid_ns(id) == UINT64_MAX);
}
static inline bool report_shows_owner(const struct table *table, const struct report_row *row)
{
	return row->owner != REPORT_NO_NUMBER &&
	       !(table->scope == SCOPE_CONTAINER_PAIR && row->owner > UINT32_MAX);
}

struct thread_view {
	int32_t pid; /* -1: unknown */
	int32_t tid; /* below 0: left out (an unknown thread, or the sum of ended ones) */
	int32_t prio;
	uint32_t container; /* number of its PID namespace, or service; 0: unknown */
	char comm[17]; /* "": unknown; what was traced behind its zero stays; the last byte is 0 */
	bool has_prio;
	uint8_t container_level; /* of the namespace; any higher one counts more */
	bool names_container;    /* it may be the container's first process */
};

_Static_assert(sizeof(struct thread_view) == 36, "threads are many");

static inline bool report_is_placed(const struct thread_view *view)
{
	return view->container_level == REPORT_PLACE_LEVEL;
}

/* The id of the row of what a thread is in: of its PID namespace, or its service. */
static inline uint64_t report_container_id(const struct thread_view *view)
{
	return view->container == 0     ? ROW_KEY_NO_ID
	       : report_is_placed(view) ? REPORT_PLACE_ID | view->container
					: view->container;
}

/* The other way round. */
static inline void report_set_container(struct thread_view *view, uint64_t id)
{
	bool is_placed = id != ROW_KEY_NO_ID && (id & REPORT_PLACE_ID);

	view->container = id == ROW_KEY_NO_ID ? 0 : (uint32_t)id;
	view->container_level = is_placed ? REPORT_PLACE_LEVEL : 0;
}

struct report_table {
	const struct analysis *analysis;
	const struct table *table;
	size_t row_count;
	const struct report_row *rows;
	uint16_t unknown; /* bit by bit the columns whose events are not recorded */
	bool is_by_name;  /* processes, or pairs of them, were added up by name (output/shown.h) */
	bool is_of_services; /* containers are services, too (selection.by_service) */
	bool is_whole; /* the user selected something that these figures are not concerned with */
};

/* Whether the column's figures are not known, and not 0. */
static inline bool report_is_unknown(const struct report_table *table, unsigned int column)
{
	return table->unknown >> column & 1;
}

/* What is known of a thread, where it is not what the last window knew. */
struct report_view {
	uint64_t id;    /* report_row.id of its rows */
	uint64_t was;   /* of its rows in windows before; 0: it had none */
	bool is_reused; /* another thread had its tid before */
	struct thread_view view;
};

/* An analysis that the windows of a report may lack: a store may have it of a part of the time. */
struct report_part {
	const struct analysis *analysis;
	uint64_t known_ns, of_ns; /* the time that has it, and that of all windows */
};

struct report_span {
	uint64_t begin, end; /* ns */
};

/* What is missing, or wrong, by kind (definitions, 4.2).  Whoever carries one kind carries all:
 * reports, stores, profiles, metrics, gates. */
enum loss_kind {
	LOSS_EVENTS, /* discarded by the tracer */
	LOSS_PACKETS,
	LOSS_BAD_PACKETS,
	LOSS_LATE,      /* events that came after their window */
	LOSS_ANOMALIES, /* times that were moved, and ... */
	LOSS_MISFITS,   /* ... switches of another thread than was there (definitions, 2.1) */
	LOSSES,
};

struct losses {
	uint64_t of[LOSSES];
};

enum report_kind { REPORT_WINDOW, REPORT_TOTAL, REPORT_SO_FAR };

struct report {
	enum report_kind kind;
	uint64_t seq;        /* of windows, from 0 */
	uint64_t begin, end; /* ns since the epoch */
	bool complete;
	bool is_cut;         /* a total: the run was stopped before the trace ended */
	bool is_interrupted; /* a total: a signal ended the run before the trace was read */
	bool has_lag;
	int64_t lag_ns;
	uint64_t events; /* in it, for rates */
	/* A window that stands for so many in a row without an event; 0: it is one window. */
	uint64_t empty;
	struct losses lost;
	uint64_t summed_threads; /* a total: threads that ended, and are in the row "(ended)" */
	bool nothing_matched;    /* so far nothing of what the user selected was in the trace */
	size_t table_count;
	const struct report_table *tables; /* all of one analysis are adjacent */
	size_t missing_count;
	const struct missing_event *missing; /* what the trace does not record, by analysis */
	const char *tracer;                  /* that could, as in struct event_names; it stays */
	/* Only if the engine is asked for it: whatever has rows in this window or in others. */
	size_t view_count;
	const struct report_view *views;
	/* Only from stores.  Windows of different runs may each have some of the analyses of one
	 * time: those of one @group have the same ones, and only those of group 0 have figures of
	 * the window itself (events, losses). */
	uint32_t group;
	size_t part_count;
	const struct report_part *parts;
	/* Of windows put together, with holes between them: the times that they cover, in order.
	 * None: all from begin to end. */
	size_t span_count;
	const struct report_span *spans;
};

/* What a kind is called in JSON, as columns of stores, and in metrics. */
extern const char *const report_lost_keys[LOSSES];

void report_lost_add(struct losses *to, const struct losses *from);
bool report_lost_any(const struct losses *losses);
/* "  ! 12 events discarded  ! 1 packets lost": those that there are. */
void report_lost_print(FILE *out, const struct losses *losses);
/* "12 events discarded, 0 packets lost, 0 packets bad, 0 events late", and anomalies if there are
 * any. */
void report_lost_list(FILE *out, const struct losses *losses);

/* A total of nothing has no time: 0 is in 1970. */
static inline bool report_has_time(const struct report *report)
{
	return report->end > 0 || report->events > 0;
}

/* Whether it lies in one slot of @slot_ns.  A window that does not, of which slots are a multiple,
 * is a row of empty ones: it stays apart. */
static inline bool report_fits(const struct report *report, uint64_t slot_ns)
{
	return report->empty == 0 || report->begin / slot_ns == (report->end - 1) / slot_ns;
}

/* The time that it is about, without holes; ns. */
static inline uint64_t report_covered_ns(const struct report *report)
{
	uint64_t ns = report->span_count > 0 ? 0 : report->end - report->begin;

	for (size_t i = 0; i < report->span_count; i++) {
		ns += report->spans[i].end - report->spans[i].begin;
	}
	return ns;
}

/* Whether figures of the analysis are those of a part of the time. */
static inline bool report_part_is_short(const struct report_part *part)
{
	return part->known_ns < part->of_ns;
}

/* The time that its figures of the analysis are of; ns. */
static inline double report_known_ns(const struct report *report, const struct analysis *analysis)
{
	double ns = (double)report_covered_ns(report);

	for (size_t i = 0; i < report->part_count; i++) {
		const struct report_part *part = &report->parts[i];

		if (part->analysis == analysis && report_part_is_short(part)) {
			ns *= (double)part->known_ns / (double)part->of_ns;
		}
	}
	return ns;
}

/* ---- copies (report.c) ---- */

struct arena;

/* Whether a copy has the table. */
typedef bool report_wants(const struct report_table *table);

/* A report is valid during a callback only; who keeps one copies it.  The copy and all that it
 * points to are in @arena, but descriptors, and the histograms, which report_copy_fini() frees
 * before the arena goes.  It has the first @most rows of each table that is wanted (NULL: of all).
 * Nothing in it points to threads of the engine.  Returns the bytes of the histograms. */
size_t report_copy(struct report *ret, const struct report *from, struct arena *arena, size_t most,
		   report_wants *wants);
void report_copy_fini(struct report *copy);

/* ---- order ---- */

/* What rows are sorted by: the sum of columns, of a distribution one part (HISTOGRAM_NO_PART: its
 * sum), or threads' priorities, the most urgent first. */
struct report_order {
	uint32_t mask;
	enum histogram_part part;
	bool by_prio;
	uint32_t per; /* the column that it is divided by; 0: it is not */
	enum histogram_part per_part;
};

/* The order of @display, if the table has such a column, else the table's own; NULL: that. */
struct report_order report_order(const struct table *table, const struct display *display);
/* For report_row.sort, from the row's values and thread. */
uint64_t report_sort_value(const struct table *table, struct report_order order,
			   const struct report_row *row);
/* Sorts rows; of many, only the first @top (0: all) are in order. */
void report_sort_rows(struct report_row *rows, size_t count, size_t top);
/* The same for rows of one table whose values changed. */
void report_sort(const struct table *table, const struct display *display, struct report_row *rows,
		 size_t count, size_t top);
