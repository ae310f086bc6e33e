/*
 * capture-prune: removes captures: the oldest ones, and unfinished ones of processes that are gone.
 *
 * Everything here blocks; it runs in the thread that writes captures.
 */
#pragma once

#include <stdint.h>

#define CAPTURE_DESCRIPTION "capture.json"
#define CAPTURE_UNFINISHED  ".sillage-" /* then the process number, "-", the capture's number */

/* Removes the oldest captures in @dir until at most @count of them and @bytes in all are left.  The
 * newest one always stays.  Directories without a capture.json of this program are not touched. */
void capture_prune(const char *dir, uint64_t count, uint64_t bytes);

/* Removes the unfinished captures in @dir whose process no longer exists. */
void capture_sweep(const char *dir);
