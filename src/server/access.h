/*
 * access: TLS and users of servers, from one file (--server-config):
 *
 *     certificate = FILE     its chain, as PEM
 *     key = FILE             of the certificate, as PEM, without a passphrase
 *     [users]
 *     NAME = HASH            see users.h
 *
 * Paths are relative to the file.  Neither it nor the key may be read by others, or written by a
 * group.  TLS is 1.2 or later.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

#include "base/err.h"
#include "server/users.h"

struct access;
struct bufferevent;
struct evbuffer;

/* NULL with the reason. */
struct access *access_new(struct event_base *base, const char *path, struct err *err);
/* After all servers that use it.  NULL is fine. */
void access_free(struct access *access);
/* Reads the file again, and what it names.  Negative with the reason: all is as before. */
int access_read_again(struct access *access, struct err *err);

/* Who wants to be told when an answer to users_ask() may be there, or (@is_new) all is read again.
 * @user is one of at most ACCESS_SERVERS_MAX. */
#define ACCESS_SERVERS_MAX 4
typedef void access_change_fn(void *user, bool is_new);
void access_add_server(struct access *access, access_change_fn *on_change, void *user);
void access_remove_server(struct access *access, const void *user);

/* Whether there are users, without whom nobody gets in.  @needs_users: access_read_again() refuses
 * a file without. */
bool access_has_users(const struct access *access);
void access_need_users(struct access *access);
struct users *access_users(const struct access *access);

/* For a connection that comes; bufferevent_free() closes it. */
struct bufferevent *access_connection(const struct access *access, struct event_base *base);
/* Writes what its socket takes now, when the loop is over. */
void access_write(struct bufferevent *connection, struct evbuffer *output);
