/*
 * symbols: names of functions for addresses of programs, as a trace says what they have mapped.
 *
 *     symbols_map() ─┐
 *     build id, link ┴─► images by process and time ── symbols_find() ──► file ──► function
 *
 * LTTng-UST tells images in its state dump, and in lttng_ust_lib, lttng_ust_dl as they come and go.
 * Only a file with the build id that the trace has of an image gives names, or one with the link to
 * its debug file: other builds have other functions there.  Names are the linker's: those of C++
 * stay mangled.
 *
 * Input   paths are untrusted: only regular files are opened, to read them, within
 *         SYMBOLS_FILE_BYTES_MAX (base/limits.h).
 * Owns    images and what was read of files.  One thread uses it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/plan/plan.h"

struct symbols;

struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols); /* NULL is fine */

/* Where an image is: its process (0: unknown) and first address. */
struct symbols_place {
	int64_t pid;
	uint64_t base;
};

/* A file is mapped at @ts, ns.  @was_before: it was before, as far as nothing else was there. */
struct symbols_mapping {
	struct symbols_place place;
	uint64_t ts, size;
	bool was_before;
	const char *path; /* needs no zero */
	size_t path_len;
};
void symbols_map(struct symbols *symbols, const struct symbols_mapping *mapping);
void symbols_unmap(struct symbols *symbols, struct symbols_place place, uint64_t until);
/* What the trace says of the image that is there. */
void symbols_build_id(struct symbols *symbols, struct symbols_place place, const uint8_t *id,
		      size_t len);
void symbols_debug_link(struct symbols *symbols, struct symbols_place place, const char *name,
			size_t len, uint32_t crc);

/* What an event says of an image; @bytes: its path, build id or link, borrowed. */
enum symbols_says {
	SYMBOLS_DUMPED,
	SYMBOLS_LOADED,
	SYMBOLS_UNLOADED,
	SYMBOLS_ID,
	SYMBOLS_LINK,
	SYMBOLS_INODE, /* not of a trace: symbols-here.h */
	SYMBOLS_SAYS
};
struct symbols_event {
	uint8_t says; /* enum symbols_says */
	struct symbols_place place;
	uint64_t ts, number; /* the size of an image, the crc of a link, an inode */
	const uint8_t *bytes;
	size_t len; /* up to SYMBOLS_TEXT_MAX */
};

/* The events of LTTng-UST that say this.  @request: the index of one; @present: which of its fields
 * it has, by bit.  False: it says nothing of an image. */
extern const struct plan_request symbols_requests[];
extern const size_t symbols_request_count;
bool symbols_read(size_t request, uint16_t present, const struct value *values, uint64_t ts,
		  struct symbols_event *ret);
void symbols_take(struct symbols *symbols, const struct symbols_event *event);

/* The function that has the address at a time, which stays as long as @symbols; NULL: unknown. */
const char *symbols_find(struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address);

/* The file that is mapped there at a time, and where it begins; NULL: unknown. */
const char *symbols_path(const struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address,
			 uint64_t *ret_base);

/* Why it is unknown, after symbols_find(); stays as long as @symbols. */
const char *symbols_why(const struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address);

/* What the trace @of does not say of a process is looked for on this host, if the process still
 * runs (symbols-here.h).  And:
 * The kernel's functions are those of @given, which outlives @symbols; NULL: those of this host, if
 * the trace of @of was made in its present boot.  Before the first one is looked for. */
struct functions;
void symbols_of_kernel(struct symbols *symbols, const struct functions *given,
		       const struct metadata *of);
/* What this host has at the path is the image, if it has this inode. */
void symbols_inode(struct symbols *symbols, struct symbols_place place, uint64_t inode);
/* The function of the kernel that has the address, as symbols_find(). */
const char *symbols_find_kernel(struct symbols *symbols, uint64_t address);

/* Writes what is known of images, or reads it: bytes are untrusted. */
struct codec;
void symbols_codec(struct codec *codec, struct symbols *symbols);

/* Says of files that addresses lie in why they give no names, of the first ones one by one. */
void symbols_say_faults(const struct symbols *symbols, void (*say)(void *user, const char *message),
			void *user);
