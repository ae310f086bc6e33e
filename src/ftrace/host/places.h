/*
 * places: which container or service each thread of a recording is of, as events of it:
 *
 *     sillage_container { tid, pid, pid_ns, vpid, kind, id, name, cgroup }
 *
 * One comes for each thread that there was before, for each new one, and whenever a thread has come
 * to be of another place: when it executes a program, or an event says that it moved.  Between two
 * of these a thread stays what it is.  doc/definitions.md says what the members mean.
 */
#pragma once

#include "ftrace/convert.h"

struct host_places;

/* Its class comes before convert_start(), so that metadata has it at once. */
struct host_places *places_new(struct convert *convert);
void places_free(struct host_places *places); /* NULL is fine */

/* A thread that there was before. */
void places_dump(struct host_places *places, uint64_t time, uint32_t cpu, int32_t tid, int32_t pid);
/* What events tell (convert.h). */
void places_forked(struct host_places *places, uint64_t time, uint32_t cpu, int32_t tid);
void places_executed(struct host_places *places, uint64_t time, uint32_t cpu, int32_t tid);
void places_moved(struct host_places *places, uint64_t time, uint32_t cpu, int32_t tid,
		  const char *path);
