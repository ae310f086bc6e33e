/*
 * looks: what a file is that is no trace, as far as its first bytes tell, and the command that
 * makes a trace of it or reads it.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* A file of trace-cmd, which is read as the traces that it becomes (recorded-dat.c). */
bool looks_dat(const char *path);

/* Why a path that exists and is no directory is not a trace, in one sentence.  Returns -errno. */
int looks_refuse(const char *path, struct err *err);
