/*
 * pack: a directory as one file, and back: tar, compressed with zstd, by libarchive.
 *
 *     pack_write()   DIR/...  ──► FILE: NAME/capture.json, NAME/kernel/metadata, ...
 *     pack_read()    FILE     ──► DIR/NAME/...
 *
 * What is written says nothing of who wrote it: no owner, and one time for all files.
 *
 * What is read is hostile.  A file of an archive is refused with all of it, if its path leaves the
 * directory, if it is a link, a device or anything but a file or a directory, if it comes twice, or
 * if there are more files or bytes than limits.h allows, or than the place has room for.  Zeros
 * take no room on the disk.
 *
 * Everything here blocks, and hears a signal (base/now.h).
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* Writes all files at and below @dir, in an order that depends on their names alone.  -EINTR: a
 * signal came. */
int pack_write(const char *dir, const char *name, FILE *out, struct err *err);

/* Gives all files the time that they get in an archive: what is made of them there, and depends on
 * it, holds for who unpacks them. */
void pack_date(const char *dir);

/* Whether a file begins as an archive that pack_read() takes. */
bool pack_is(const char *path);
/* Unpacks it into @dir, which is there and empty, and nobody else's.  After a failure the caller
 * removes what is in it. */
int pack_read(const char *path, const char *dir, struct err *err);
