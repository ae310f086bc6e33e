/*
 * statedump: what there was before a recording began, from /proc, as LTTng's events of a state
 * dump: threads with their names and namespaces of PIDs, open files, disks, interrupts, CPUs.
 */
#pragma once

#include "ftrace/convert.h"
#include "ftrace/host/places.h"

/* The classes of the events, which come before convert_start() so that metadata has them at once.
 */
struct statedump {
	uint32_t start, end, process, pid_ns, file, disk, interrupt, cpu;
};
void statedump_begin(struct statedump *dump, struct convert *convert);

/* Looking at a host fills the buffers of who records it: so many of the dump's events make no more
 * than 128 KiB of those of its own calls. */
#define STATEDUMP_TURN 256

/* What is done after so many.  @knows_threads: all of them were told of.  false: the dump ends. */
struct statedump_turn {
	bool (*take)(void *user, bool knows_threads);
	void *user;
};

/* Tells @convert of all threads, and adds the events, now and to the stream of @cpu, and what
 * @places knows of each.  A signal ends it early.  @turn: NULL: nothing is done meanwhile. */
void statedump_write(const struct statedump *dump, struct convert *convert,
		     struct host_places *places, uint32_t cpu, const struct statedump_turn *turn);
/* What is known of one thread that is new, or has become another program. */
void statedump_thread(struct convert *convert, int32_t tid);
/* What a descriptor leads to now, if it is a file with a path. */
void statedump_opened(const struct statedump *dump, struct convert *convert, uint32_t cpu,
		      int32_t pid, int32_t fd);
