/*
 * symbols-file: the functions of an ELF file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SYMBOLS_ID_BYTES 64 /* of a build id; LTTng writes 20 */

/* What a file has to be; no id, link and inode: it cannot be told from another
 * build. */
struct symbols_identity {
	uint8_t id[SYMBOLS_ID_BYTES];
	size_t id_len;  /* 0: the trace has none */
	char *link;     /* the name of its debug file; NULL: the trace has none */
	uint32_t crc;   /* of that file */
	uint64_t inode; /* what a process of this host has mapped is this one; 0: the rest counts */
};

struct symbols_file;

/* Reads the file, or its debug file.  NULL with the reason. */
struct symbols_file *symbols_file_open(const char *path, const struct symbols_identity *identity,
				       struct err *err);
void symbols_file_free(struct symbols_file *file); /* NULL is fine */

/* About how much memory it takes. */
size_t symbols_file_bytes(const struct symbols_file *file);
/* The function at an address of a process that has the file mapped from @base on; NULL: none. */
const char *symbols_file_find(const struct symbols_file *file, uint64_t base, uint64_t address);
