/*
 * host-file: small files of /proc and tracefs.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Reads @size - 1 bytes of it at most, and ends them with a zero.  How many there are, or -errno.
 */
ssize_t host_file_read(const char *path, char *text, size_t size);
