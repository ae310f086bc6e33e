/*
 * keep-state: what the parts of a pass share (keep.h): keep.c, and one file for each database.
 */
#pragma once

#include "rollup/rollup.h"
#include "store/keep.h"
#include "store/reader.h"
#include "store/rows/item.h"

#define KEEP_DAY_NS (24 * 3600 * NS_PER_S)

/* What becomes of windows of a length: older than @age_ns, one of @length_ns takes the place of
 * those in its slot; 0: none does, they go. */
struct keep_fate {
	uint64_t age_ns, length_ns;
};

struct keep_fate keep_fate_of(const struct store_keep *keep, uint64_t level);

/* What ages count back from.  Looks at all windows: once in a pass. */
int keep_now(struct store_reader *reader, uint64_t *ret, struct err *err);
/* When what is kept for @age_ns goes: all that ends then or before. */
uint64_t keep_before(uint64_t now, uint64_t age_ns);

/* The windows of a trace that begin in [begin, end) and fit into slots of @length_ns: each moment
 * once. */
int keep_choose(struct store_reader *reader, size_t trace, uint64_t length_ns, uint64_t begin,
		uint64_t end, struct store_windows *ret, struct err *err);

/* What became of the windows of one slot. */
struct keep_slot {
	struct store_item *item; /* the long window; NULL: it is there already */
	/* A row of empty windows that begins in the slot and does not end there; NULL: none.  It
	 * stays as it is. */
	struct store_item *row;
	size_t merged;       /* shorter windows in them */
	bool was_incomplete; /* a long window was there, and lacked something */
	uint64_t events;     /* of that window */
	/* Windows that lack an analysis which others of the slot have, if there are any: the long
	 * window is short of it. */
	struct store_gap mixed;
};

void keep_slot_fini(struct keep_slot *slot);

/* Whether windows[at] is there before, too: for other analyses. */
bool keep_is_again(const struct store_window *windows, size_t at);

/* Puts windows together that lie in one slot; they have one trace, and are at most @length_ns long.
 */
int keep_merge(struct store_reader *reader, const struct store_window *windows, size_t count,
	       uint64_t length_ns, uint64_t top, struct keep_slot *ret, struct err *err);

/* Windows of a length that begin in [begin, end), and their events; @trace is its index. */
int keep_count(struct store_reader *reader, uint64_t level, size_t trace, uint64_t begin,
	       uint64_t end, uint64_t *ret_windows, uint64_t *ret_events, struct err *err);

/* Whether shorter windows came when the long one was made already: @windows of them are in no long
 * one.  @events: of all shorter windows of a length in the slot; if the long one has as many, it is
 * made of them.  Says it; *ret is what the store has to note. */
bool keep_is_late(const struct keep_pass *pass, struct store_reader *reader,
		  const struct keep_slot *slot, uint64_t windows, uint64_t events, uint64_t begin,
		  uint64_t length_ns, struct store_gap *ret);

/* keep-sqlite.c, keep-server.c */
int keep_pass_file(const struct keep_pass *pass, const char *path, struct err *err);
int keep_pass_server(const struct keep_pass *pass, struct err *err);
