/*
 * recorded-parts: between the files of this room.
 */
#pragma once

#include "recorded/recorded.h"

/* recorded-dat.c: adds the traces that a trace.dat becomes; of FILE/INSTANCE that of one buffer.
 * -errno; -ENOENT: @path is neither. */
int recorded_find_dat(const char *path, struct recorded_paths *paths, struct err *err);
