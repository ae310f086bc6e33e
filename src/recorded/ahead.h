/*
 * ahead: workers find the packets of a recorded stream before the coordinator needs them.
 *
 * To find a packet one reads the header of the packet before.  That takes some us each; one thread
 * that did it for all streams would limit many workers.  So a job finds a batch of packets while
 * the coordinator uses the batch before.
 *
 *     ahead_new ── ahead_packet, ahead_next ... until NULL ── ahead_free
 *
 * The coordinator calls all functions.  A job goes from packet to packet of the file; meanwhile the
 * coordinator uses nothing of it but its parts.
 */
#pragma once

#include "recorded/recorded.h"

struct found_packet {
	struct packet_info info;
	uint64_t offset; /* in this part: */
	size_t part;     /* index into the file's parts */
	char *fault;     /* see ahead_take_fault() */
};

struct ahead;

/* Starts at the packet that @file is at.  Until ahead_free() the caller may use the file's parts,
 * and nothing else of it.  @file and @plan must outlive it. */
struct ahead *ahead_new(struct engine *engine, struct recorded_file *file, const struct plan *plan);
void ahead_free(struct ahead *ahead); /* waits for workers; NULL is fine */

/* The current packet; waits for the job that finds it.  NULL at the end. */
const struct found_packet *ahead_packet(struct ahead *ahead);
void ahead_next(struct ahead *ahead);

/* What could not be read before the current packet, or at the end; the caller frees it.  NULL:
 * nothing, or already taken. */
char *ahead_take_fault(struct ahead *ahead);
