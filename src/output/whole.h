/*
 * whole: files that appear at once, when all of them is written.
 *
 * Until then the file has no name: a run that fails, or that is killed, leaves nothing behind, and
 * what was there before stays.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* A file for writing, without a name, in the directory of @path.  -1: the place has no such files,
 * or @path is there and is no regular file that may be written, so that it is to be opened itself.
 */
int whole_open(const char *path);
/* The same as a stream; of a place without such files, of the file itself, and *@ret_fd is -1. NULL
 * with the reason. */
FILE *whole_file(const char *path, int *ret_fd, struct err *err);
/* Closes it; with @r of 0 it gets its name, else nothing of it stays.  0, @r, or -errno. */
int whole_close(FILE *file, int fd, const char *path, int r, struct err *err);
/* Gives it its name.  0, or a negative errno. */
int whole_name(int fd, const char *path);
