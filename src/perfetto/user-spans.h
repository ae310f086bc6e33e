/*
 * user-spans: pairs of events as spans, paired as the analysis of calls does (analyses/calls).
 *
 *     pass 1   user_spans_look()             which names overlap on a thread, which keys vary,
 *                                            names of processes and functions
 *     pass 2   user_spans_take() an event    the span that it begins or ends
 *
 * A span that begins within another one of its thread and outlives it is no slice of the thread,
 * nor is one that ends on another thread: all spans of its kind are apart, on tracks of their own.
 *
 * Owns    spans and threads.  A span that ended is valid until user_spans_drop().
 * Time    events come in order.
 */
#pragma once

#include "base/hash.h"
#include "base/mem.h"
#include "deep/reader.h"

struct user_spans;
struct symbols;
struct trace_export;
struct span_name;
struct span_kind;

/* Of one thread, or, without vtid, the events of a CPU. */
struct span_thread {
	int32_t pid, tid;      /* -1: unknown */
	uint64_t cpu;          /* of one without tid; UINT64_MAX: unknown */
	uint64_t track, since; /* for the caller; track 0: none yet */
	VEC(struct user_span *) open;
};

struct user_span {
	struct span_thread *thread; /* where it began */
	struct span_name *name;
	struct span_kind *kind;
	struct user_span *older, *newer; /* of the same key */
	uint64_t key, sub;               /* hashes; 0: it has none */
	uint64_t begin;                  /* ns */
	uint64_t track;                  /* for the caller */
	bool is_crossed;                 /* one around it has ended */
};

enum span_role { SPAN_NONE, SPAN_BEGINS, SPAN_ENDS };

/* What an event does. */
struct span_step {
	enum span_role role; /* SPAN_NONE also of an end without a begin */
	struct user_span *span;
	char name[192]; /* of a begin */
};

/* Requests for all events, with these fields of each. */
enum { SPAN_VTID = 8, SPAN_VPID, SPAN_PROCNAME };
/* The request of the state dump, for a process's name (reader_as()). */
#define SPAN_STATEDUMP 2
/* That of events with a call stack (symbols/callstack.h). */
#define SPAN_CALLSTACK 3
extern const struct plan_request user_spans_requests[];
extern const size_t user_spans_request_count;

/* @symbols: names of functions; NULL: they are called by their addresses. */
struct user_spans *user_spans_new(const struct plan *plan, struct symbols *symbols);
void user_spans_free(struct user_spans *spans);

struct span_thread *user_spans_thread(struct user_spans *spans, const struct reader_event *event);
void user_spans_take(struct user_spans *spans, const struct reader_event *event,
		     struct span_step *step);
/* Frees a span that ended, or takes an open one out. */
void user_spans_drop(struct user_spans *spans, struct user_span *span);
/* Events are lost, or the pass is over: what is open stays so.  @drop: of each; NULL is fine. */
void user_spans_forget(struct user_spans *spans, void (*drop)(void *user, struct user_span *span),
		       void *user);
/* The first pass, over the range of an export.  -errno with the reason. */
int user_spans_look(struct user_spans *spans, const struct trace_export *range, struct err *err);
/* What the first pass found a process to be called; NULL: unknown. */
const char *user_spans_process(const struct user_spans *spans, int32_t pid);
/* Events say that a process is called so. */
void user_spans_name(struct user_spans *spans, int32_t pid, const struct value *name);
/* The first pass is over. */
void user_spans_looked(struct user_spans *spans);
struct symbols *user_spans_symbols(const struct user_spans *spans);

bool user_spans_are_apart(const struct user_span *span);
/* What the events of both ends have in common. */
const char *user_spans_text(const struct user_span *span);
