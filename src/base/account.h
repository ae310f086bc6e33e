/*
 * account: the memory that a process holds for what others send, by kind, and its bound.
 *
 * Whoever takes memory in proportion to what a peer sends takes it from the account first, and
 * gives it back where it is freed; both cost the same however much is held.  A length that a peer
 * announces is taken before there is a buffer for it.
 *
 * What passes through (packets on their way, chunks, partials) and what lasts (metadata, sessions,
 * what waits) have parts of their own: neither can take the memory without which the other one
 * cannot go on.
 *
 *     | lasts: 3/8 | passes: 3/8, all may bring | 1/4: only what holds up others |
 *
 * Rows of threads that ended may bring rows to half of what lasts beside lists, and make room for a
 * session.  A quarter of what lasts is for lists alone: without them nobody knows what there is to
 * follow. Of a large account more than 3/8 last: what passes needs ACCOUNT_PASSES_MAX at most.
 *
 * Beyond that it is refused, which is said, and counted as lost.  The history has what is free of
 * all parts but a quarter, up to a share: its oldest packets are dropped when others need the
 * memory (account_history_room()).  Those that a capture still has cannot be: until they are
 * written, less may pass.
 *
 * Any thread may take and give; one thread decides.
 */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum account_kind {
	/* What passes. */
	ACCOUNT_CHUNKS,   /* packets, in chunks that fill or are at the workers */
	ACCOUNT_PARTIALS, /* what workers made of them */
	ACCOUNT_FETCHES,  /* packets on their way from a relay */
	/* What lasts. */
	ACCOUNT_LISTS,    /* lists of sessions and streams on their way */
	ACCOUNT_WAITING,  /* packets that wait for their metadata */
	ACCOUNT_METADATA, /* metadata on its way, its text, types and plans */
	ACCOUNT_SESSIONS, /* connections, sessions, their traces and streams: a constant each */
	ACCOUNT_OUTPUTS,  /* windows that wait for a store, metrics that wait to be read */
	ACCOUNT_ROWS,     /* rows of tables that a peer can make more of */
	/* What can be dropped, and what only a capture that is being written has. */
	ACCOUNT_HISTORY,
	ACCOUNT_CAPTURES,
	ACCOUNT_KINDS
};

struct account {
	uint64_t most; /* bytes */
	uint64_t lists, lasts, passes,
		holds_up; /* the parts of it: of lists, of what else lasts, of what passes, and
			   * that with what holds up the rest */
	uint64_t rows;    /* those of ended threads may bring all rows to so many bytes */
	uint64_t history; /* bytes that the history may have of what is free */
	atomic_ullong held[ACCOUNT_KINDS];
};

/* All kinds together may take @bytes; the history up to @history of those that are free.
 * @has_peers false: there is one part.  With peers there is enough for one packet however few
 * @bytes are. */
void account_init(struct account *account, uint64_t bytes, uint64_t history, bool has_peers);

/* @account NULL: nobody counts. */
void account_take(struct account *account, enum account_kind kind, uint64_t bytes);
void account_give(struct account *account, enum account_kind kind, uint64_t bytes);

uint64_t account_of(const struct account *account, enum account_kind kind);
uint64_t account_passing(const struct account *account);
uint64_t account_lasting(const struct account *account);

/* Whether @bytes more may be brought to pass through; @holds_up: they hold up all others. */
bool account_has_room(const struct account *account, uint64_t bytes, bool holds_up);
/* The bytes that the history may have now. */
uint64_t account_history_room(const struct account *account);
/* Whether @bytes more may last, of any kind but lists; and of these. */
bool account_may_last(const struct account *account, uint64_t bytes);
bool account_may_list(const struct account *account, uint64_t bytes);
/* Whether rows are bounded at all: those of recorded traces do not depend on memory. */
bool account_bounds_rows(const struct account *account);
/* Whether the rows of threads that ended may stay: if not, some are summed up. */
bool account_may_have_rows(const struct account *account);
/* The same for a kind that may have 1 / @part of all. */
bool account_may_last_part(const struct account *account, enum account_kind kind, uint64_t part,
			   uint64_t bytes);
