/*
 * ahead: the packets of a stream in files, found by workers before they are wanted.
 *
 * To find a packet is to read the header of the one before: some us each, which by one thread
 * would bound what many workers get.  A job finds a batch of them, while those of the batch before
 * are used.
 *
 *     ahead_new ── ahead_packet, ahead_next ... until there is none ── ahead_free
 *
 * All functions belong to the engine's front.
 */
#ifndef SILLAGE_RECORDED_AHEAD_H
#define SILLAGE_RECORDED_AHEAD_H

#include "recorded/recorded.h"

struct found_packet {
	struct packet_info info;
	uint64_t offset; /* in ... */
	size_t part;     /* ... this one of the file's */
	char *fault;     /* see ahead_take_fault() */
};

struct ahead;

/* From the packet on that @file is at, which stays the caller's and belongs to workers until the
 * end.  @plan has to outlive it, too. */
struct ahead *ahead_new(struct engine *engine, struct recorded_file *file, const struct plan *plan);
void ahead_free(struct ahead *ahead); /* waits for workers; NULL is fine */

/* The packet at hand, which may have to be waited for; NULL at the end. */
const struct found_packet *ahead_packet(struct ahead *ahead);
void ahead_next(struct ahead *ahead);

/* What could not be read before the packet at hand, or at the end: the caller's to free; NULL:
 * nothing, or it was taken. */
char *ahead_take_fault(struct ahead *ahead);

#endif
