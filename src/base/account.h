/*
 * account: the memory that a process holds for what others send, by kind, and its bound.
 *
 * Whoever takes memory in proportion to what a peer sends takes it from the account first, and
 * gives it back where it is freed; both cost the same however much is held.  A length that a peer
 * announces is taken before there is a buffer for it.
 *
 *     0 ........................ soft ................. most
 *       all may bring more            |  only what         | nothing: it is refused, which is
 *                                     |  holds up the rest | said, and counted as lost
 *
 * The packets of the history have a part of their own.  They can be dropped, so their owner looks
 * after it; what is left is for all others.
 *
 * Any thread may take and give; one thread decides.
 */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum account_kind {
	ACCOUNT_CHUNKS,   /* packets, in chunks that fill or are at the workers */
	ACCOUNT_PARTIALS, /* what workers made of them */
	ACCOUNT_FETCHES,  /* packets on their way from a relay */
	ACCOUNT_WAITING,  /* packets that wait for their metadata */
	ACCOUNT_METADATA, /* metadata on its way, its text, types and plans */
	ACCOUNT_LISTS,    /* lists of sessions and streams on their way */
	ACCOUNT_SESSIONS, /* connections, sessions, their traces and streams: a constant each */
	ACCOUNT_OUTPUTS,  /* what waits for viewers of the page, or for a store */
	ACCOUNT_ROWS,     /* rows of tables that a peer can make more of */
	ACCOUNT_HISTORY,  /* packets of the history and of captures */
	ACCOUNT_KINDS
};

struct account {
	uint64_t most, soft; /* bytes, without the history */
	uint64_t history;    /* bytes of the history */
	atomic_ullong held[ACCOUNT_KINDS];
};

/* All kinds together may take @bytes; the history @history of them.  @has_peers: a quarter is left
 * for what holds up the rest, and there is enough for one packet however few @bytes are. */
void account_init(struct account *account, uint64_t bytes, uint64_t history, bool has_peers);

/* @account NULL: nobody counts. */
void account_take(struct account *account, enum account_kind kind, uint64_t bytes);
void account_give(struct account *account, enum account_kind kind, uint64_t bytes);

uint64_t account_of(const struct account *account, enum account_kind kind);
/* Of all kinds but the history. */
uint64_t account_held(const struct account *account);
/* Whether @bytes more are below the soft bound, or may be taken at all. */
bool account_has_room(const struct account *account, uint64_t bytes);
bool account_fits(const struct account *account, uint64_t bytes);
/* The same for a kind that may have a part of the account: most / @part. */
bool account_fits_part(const struct account *account, enum account_kind kind, uint64_t part,
		       uint64_t bytes);
