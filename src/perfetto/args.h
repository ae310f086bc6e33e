/*
 * args: the fields of an event as arguments of what the viewer shows of it.
 *
 *     reader_visit() ── names, leaves, what they are in ──► a tree of DebugAnnotation ──► tracks
 *
 * Beside an address of a function its name stands, with "_symbol" behind the field's; beside a row
 * of addresses, which is a stack, a row of names, the innermost first as there.
 * Fields of the payload stand at the top, contexts in "context".  Enumerations have the text of
 * their label; texts are repaired to valid UTF-8.  What is more than ARGS_BYTES_MAX of an event is
 * left out, and "left_out" says how many values that are.
 */
#pragma once

#include "deep/reader.h"
#include "perfetto/writer.h"

struct args;
struct symbols;

struct args *args_new(struct perfetto *writer);
void args_free(struct args *args); /* NULL is fine */

/* Where addresses of functions (symbols/callstack.h) have names. */
struct args_where {
	struct symbols *symbols; /* NULL: nowhere */
	int64_t pid;
	uint64_t ts;
	bool is_function; /* the event is of -finstrument-functions */
};

/* Takes the fields of the event that was read last.  What it took before is invalid. */
void args_read(struct args *args, struct reader *reader, const struct args_where *where);

/* The arguments of the last event, for Perfetto__TrackEvent; valid until the next one. */
Perfetto__DebugAnnotation **args_list(const struct args *args, size_t *ret_count);
