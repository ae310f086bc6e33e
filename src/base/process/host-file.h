/*
 * host-file: small files of /proc and tracefs.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Reads @size - 1 bytes of it at most, and ends them with a zero.  How many there are, or -errno.
 */
ssize_t host_file_read(const char *path, char *text, size_t size);

/* The same of @most bytes, in memory of their size, which the caller frees; *ret is set if there
 * are any. */
ssize_t host_file_text(const char *path, size_t most, char **ret);
