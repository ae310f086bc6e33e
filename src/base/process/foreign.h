/*
 * foreign: files that others name or have made: each may be a pipe that nobody writes to, or a
 * device that never ends.
 *
 * No open() of one waits, and what reads from a pipe, or writes to one that nobody reads, hears a
 * signal (base/now.h).  Elsewhere files are not opened (contrib/tidy.py).  A regular file on a disk
 * that hangs is beyond all this: the kernel lets nobody wait for it but with the whole thread.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* A descriptor for reading; the caller closes it.  -EINVAL: it is a pipe, a device or a socket;
 * a directory is none of these, and cannot be read.  @flags: more than O_RDONLY, O_NOFOLLOW for
 * instance. */
int foreign_open(const char *path, int flags, struct err *err);

/* All of a small file, with a zero behind it, from malloc(); NULL: it is not there, has more than
 * @most bytes, or a signal came. */
char *foreign_text(const char *path, size_t most, size_t *ret_len);

/* The same as a stream. */
int foreign_file(const char *path, FILE **ret, struct err *err);
/* A stream of what may also be a pipe, such as the shell's <(...): reads fail with EINTR once a
 * signal came and nothing is there to read.  "-" is no name here. */
int foreign_stream(const char *path, FILE **ret, struct err *err);
/* The same of standard input, which fclose() leaves open. */
int foreign_stdin(FILE **ret, struct err *err);

/* A descriptor for writing, of a file that is made if it is not there; @flags: O_TRUNC or O_APPEND,
 * and more.  A pipe is waited for until somebody reads it.  -errno; -EINTR: a signal came. */
int foreign_create(const char *path, int flags);
/* Whether writing to it may wait. */
bool foreign_waits(int fd);
/* Writes all, to what waits or does not.  0, or an errno: EINTR: a signal came, and nobody reads.
 */
int foreign_write(int fd, bool waits, const char *bytes, size_t len, bool *ret_has_written);
/* A stream for that, which is made new; @path: NULL: standard output, which stays open. */
int foreign_writer(const char *path, FILE **ret, struct err *err);
