/*
 * place: where the runs of `watch` keep what is only theirs, and how that goes away.
 *
 *     $TMPDIR/sillage-UID/            the base: of all runs of this user; in /tmp where that
 *                                     is too long for the sockets of a relay
 *         sessiond.pid                of the session daemon, if a run has started it
 *         watch-XXXXXX/               of a run; it is the name of its tracing session, too
 *             relay/, relay.log, ...
 *         setup-SESSION/              of `setup --run` while it makes that session; empty
 *
 * A run holds a lock on its directory, and so does its guardian: once it is free, both are gone,
 * and the next run removes what they left.  The daemons of a run have its directory in their
 * command lines, by which they are found: so nothing has to be written down in time.
 *
 * The base is locked while runs begin and end, since these start and stop the session daemon.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct place {
	char *base;
	int base_lock; /* -1: not held */
	char *dir;     /* NULL: none yet */
	int lock;      /* of dir; -1: none */
};

/* The name of a run's session. */
const char *place_session(const struct place *place);
char *place_daemon_pidfile(const struct place *place); /* the caller frees it */

/* Locks the base, which is made if it is not there.  -errno with the reason. */
int place_begin(struct place *place, struct err *err);
/* Removes what runs left that are dead.  The base is locked, else nothing happens. */
void place_sweep(const struct place *place,
		 void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));
/* Makes the directory of this run.  The base is locked.  @session: `setup --run` makes it; NULL: it
 * has a name of its own. */
int place_make(struct place *place, const char *session, struct err *err);
/* Whether a `setup --run` makes this session, or one that was killed is being cleared up. */
bool place_is_making(const struct place *place, const char *session);
/* Forgets what was made: it stays, or is gone already.  No guardian and no sweep ends it then. */
void place_leave(struct place *place);
void place_unlock(struct place *place);
/* Also gives up what was begun, if it has no directory yet. */
void place_fini(struct place *place);

/* Ends the session, the relay and the directory of a run; then the session daemon, if a run has
 * started it and it has no session left; then the base, if it is empty.  @dir: the run's.  Nothing
 * happens if it is not there.  The base is not locked. */
void place_clear(const char *dir);
