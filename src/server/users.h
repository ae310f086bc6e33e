/*
 * users: who may use a server: names with hashes of passwords, as crypt(3) makes them.
 *
 * A hash is slow to compute, on purpose, so a thread does it, one at a time.  What it found out is
 * known for a while: a keyed hash of name and password, and whether they were right.
 *
 *     users_ask ──► known? ──yes──► the answer
 *                     │ no: USERS_WAITS ──► thread: crypt(3) ──► on_change: ask again
 *
 * Bounds: SERVER_TRIES_MAX wait at the same time; of what is not known, a peer may try
 * SERVER_TRIES_BURST at once, and then one in SERVER_TRY_S.  All but the hash is done in the thread
 * of the event loop.
 */
#pragma once

#include <event2/event.h>

#include "base/err.h"

struct users;

enum users_answer {
	USERS_KNOWN,
	USERS_WRONG, /* also without name and password */
	USERS_WAITS,
	USERS_REFUSED, /* too many tries */
};

typedef void users_change_fn(void *user);

struct users *users_new(struct event_base *base, users_change_fn *on_change, void *user);
void users_free(struct users *users); /* NULL is fine */

/* ---- who they are ---- */

struct users_list;

struct users_list *users_list_new(void);
void users_list_free(struct users_list *list); /* NULL is fine */
/* -EINVAL with the reason: a hash of yescrypt ($y$) or of SHA-512 ($6$) is wanted, of bounded cost
 * in time and memory. */
int users_list_add(struct users_list *list, const char *name, const char *hash, struct err *err);
size_t users_list_count(const struct users_list *list);

/* Takes @list in the place of the one before: all have to be asked again. */
void users_set(struct users *users, struct users_list *list);
size_t users_count(const struct users *users);

/* ---- requests ---- */

/* @authorization: the header of HTTP, or NULL.  @ret_name: of USERS_KNOWN, and until users_set().
 */
enum users_answer users_ask(struct users *users, const char *authorization, const char *peer,
			    const char **ret_name);
