/*
 * record-dir: a trace in files, as lttng-sessiond leaves one: DIR/kernel/metadata, a file for each
 * CPU, and the index of its packets.
 *
 * A packet that cannot be written whole is taken back, so that what is there can be read.
 */
#pragma once

#include "base/err.h"
#include "ftrace/convert.h"

struct record_dir;

/* Makes a directory (1), or takes one that is there and empty (0). */
int record_dir_make(const char *path, struct err *err);
/* Makes the files of a trace in it. */
int record_dir_new(const char *path, struct record_dir **ret, struct err *err);
void record_dir_free(struct record_dir *dir);
/* The sink's functions; @user: the directory. */
int record_dir_metadata(void *user, const char *text, size_t len, struct err *err);
int record_dir_packet(void *user, const struct convert_packet *packet, struct err *err);
uint64_t record_dir_bytes(const struct record_dir *dir);
/* How directories of snapshots begin. */
#define RECORD_DIR_SNAPSHOT "snapshot-"
/* Takes back what a process that was killed wrote in part, of a trace or of its snapshots: no file
 * has more than its index says. */
void record_dir_repair(const char *path);
