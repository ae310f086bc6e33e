/*
 * whole: files that appear at once, when all of them is written.
 *
 * Until then the file has no name: a run that fails, or that is killed, leaves nothing behind, and
 * what was there before stays.
 */
#pragma once

/* A file for writing, without a name, in the directory of @path.  -1: the place has no such files,
 * or @path is there and is no regular file that may be written, so that it is to be opened itself.
 */
int whole_open(const char *path);
/* Gives it its name.  0, or a negative errno. */
int whole_name(int fd, const char *path);
