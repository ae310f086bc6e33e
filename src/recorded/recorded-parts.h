/*
 * recorded-parts: between the files of this room.
 */
#pragma once

#include "recorded/recorded.h"

/* recorded-dat.c: adds the traces that a trace.dat becomes; of FILE/INSTANCE that of one buffer.
 * -errno; -ENOENT: @path is neither. */
int recorded_find_dat(const char *path, struct recorded_paths *paths, struct err *err);
/* recorded-pack.c: the same of an archive, and of FILE/PATH of the traces below that. */
int recorded_find_pack(const char *path, struct recorded_paths *paths, struct err *err);
/* recorded-find.c: of a directory. */
int recorded_find_in(const char *dir, struct recorded_paths *paths, struct err *err);
/* recorded-scratch.c: a directory of this run, which is removed when it ends; NULL with the reason.
 */
const char *recorded_scratch(struct err *err);
