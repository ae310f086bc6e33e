/*
 * reader: windows of a store as the reports that they were (engine/tables/report.h).
 *
 * A store may have windows of several lengths for one time, and of several runs with other
 * analyses.  For windows of a wanted length it gives, of each analysis, the longest ones that fit
 * into those, and shorter or longer ones only where there are no such: each moment of a trace once
 * for each analysis.
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"
#include "output/sink.h"
#include "phases/phases.h"

struct store_reader;

struct store_trace {
	int64_t number;
	char *id, *uuid; /* as the store has them; uuid: NULL: it has none */
	struct trace_identity identity;
};

struct store_window {
	uint64_t level, begin, end; /* its length as it should be, and what it covers; ns */
	uint32_t trace;             /* index in the list of traces */
	/* What of it is read: analyses, bit by bit by their number in analyses[], and STORE_HEAD:
	 * its own figures. */
	uint64_t lists;
	uint64_t expected; /* the analyses that windows of the trace should have */
	uint32_t group;    /* report.group */
	uint32_t member;   /* of several stores, the one that has it */
	/* Its clock is ahead by so many ns: its report is that much earlier than it is stored. */
	uint64_t ahead_ns;
};
#define STORE_HEAD (UINT64_C(1) << 63)

/* Where it counts. */
static inline uint64_t store_window_at(const struct store_window *window)
{
	return window->begin - window->ahead_ns;
}

struct store_windows {
	VEC(struct store_window) at;
};

/* -errno: it cannot be read, or is no store (-EINVAL).  @stop: becomes true if the caller wants to
 * end, which a server may take long to come to. */
int store_reader_open(const char *url, const atomic_bool *stop, struct store_reader **ret,
		      struct err *err);
/* The same of several stores as if they were one: what a trace has in several is taken once, from
 * the first.  @urls ends with NULL. */
int store_reader_open_many(const char **urls, const atomic_bool *stop, struct store_reader **ret,
			   struct err *err);
void store_reader_close(struct store_reader *reader); /* NULL is fine */
/* Whether @url can be one: a file has to be a store, of a server only the URL has to be right. */
int store_reader_check(const char *url, struct err *err);

/* What the store is called in messages, without a password. */
const char *store_reader_name(const struct store_reader *reader);
/* By host, session, domain and path. */
const struct store_trace *store_reader_traces(const struct store_reader *reader, size_t *ret_count);
/* Only these analyses (ends with NULL), and of their rows only those selected.  Both must outlive
 * the reader. */
void store_reader_want(struct store_reader *reader, const struct analysis *const *list,
		       const struct selection *selection, bool wants_containers);
/* The user named the analyses: windows that lack one are short of it, though the trace never had
 * it (report.parts). */
void store_reader_say_all(struct store_reader *reader);
/* Of those analyses only the tables with columns in @tables[analysis][table]; others are not in the
 * reports, and of these tables distributions without their bit are empty.  Tables of processes and
 * containers need that of threads.  It must outlive the reader. */
int store_reader_want_tables(struct store_reader *reader, const uint16_t (*tables)[TABLES_MAX],
			     struct err *err);
/* The newest end of a window; 0: there is none. */
int store_reader_span(struct store_reader *reader, uint64_t *ret_first, uint64_t *ret_last,
		      struct err *err);
/*
 * Adds the windows of the traces with @wanted[index] that begin in [begin, end), by trace and time.
 * @interval_ns: the length that they will be put together to; UINT64_MAX: any.
 */
int store_reader_windows(struct store_reader *reader, const bool *wanted, uint64_t interval_ns,
			 uint64_t begin, uint64_t end, struct store_windows *ret, struct err *err);
/* From now on store_reader_windows() does not copy the rows of a store on a server: then
 * store_reader_rows() has to, before store_reader_read(). */
void store_reader_defer_rows(struct store_reader *reader);
int store_reader_rows(struct store_reader *reader, const struct store_windows *windows,
		      struct err *err);
/* Windows in [begin, end) that were lost before they came to the store; call it after
 * store_reader_windows().  Negative: it cannot be read. */
typedef void store_gap_fn(void *user, uint64_t begin, uint64_t end, uint64_t windows,
			  const char *why);
int store_reader_gaps(struct store_reader *reader, uint64_t begin, uint64_t end, store_gap_fn *each,
		      void *user, struct err *err);
/* A phase that live or analyze found (phases/phases.h).  Of a time that phases of two lengths of
 * windows cover, or that two stores have, the first store's count, and then the shortest windows'.
 */
struct store_phase {
	uint32_t trace, member; /* as of a window */
	uint64_t slice_ns, begin, end;
	uint64_t number;
	uint64_t ahead_ns; /* as of a window; set by the caller */
};
typedef VEC(struct store_phase) store_phases;
/* Adds those of the traces with @wanted[index] that lie in [begin, end), or in a part of it, by
 * trace and time.  A store of an older version has none. */
int store_reader_phases(struct store_reader *reader, const bool *wanted, uint64_t begin,
			uint64_t end, store_phases *ret, struct err *err);
/* All of one; valid until the next call of a function of the reader. */
int store_reader_phase(struct store_reader *reader, const struct store_phase *phase,
		       struct phase_record *ret, struct err *err);
/* The window as a report, valid until the next call.  Fastest by time, then by trace.  Several
 * windows may be of one time, with other analyses each: a rollup puts them together. */
int store_reader_read(struct store_reader *reader, const struct store_window *window,
		      struct report *ret, struct err *err);
