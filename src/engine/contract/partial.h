/*
 * partial: the result of one chunk, all that the merger gets to see of it.
 *
 * A partial covers the packets of one chunk of one stream.  A worker writes it, or the reader of a
 * file of partials.  Then the merger owns it and reads it, window by window, until it is used up.
 *
 *     time of the chunk, cut at the ends of windows
 *
 *     begin                                                                               end
 *     |----- slice 0: window 5 -----|----- slice 1: window 6 -----|--- slice 2: window 7 ---|
 *              ^ initial_ts                                             tail_ts ^
 *     |-- the --|------------- cpu_ns of each slice, and segments --------------|-- tail --|
 *       thread before                                                            to be charged
 *       this chunk runs on                                                       by the merger
 *
 * What it consists of:
 *
 *   slice      What fell into one window.  It holds sums that commute (counts of lost events, time
 *              of the CPU) and the index ranges of its tallies, groups and keyed rows.  Slices are
 *              in the order of their windows, one per window.
 *   tally      How many events of one class a slice has.
 *   group      A list of records with one key and one name.  The key is a thread, an entity of an
 *              analysis, or a placeholder for a thread that the worker cannot know.  A thread has
 *              a new group in each slice, after a gap, and whenever its name or process changes:
 *              a tid alone may stand for several threads, one after the other.
 *   record     Something with a time stamp that has to be seen in time order (record.h).
 *   number     A word of 64 bits.  Records whose payload is too small, and keyed rows, have their
 *              words there, and point to the first.
 *   keyed row  What an analysis added up in a slice under a key of its own, without an order.
 *   segment    Time of the CPU that does not lie within one slice; the merger cuts it.
 *   chain      Groups of a slice that the merger added or found the thread of, linked by shard.
 *
 * Memory.  All members are arrays of values of a fixed width that refer to each other by index, so
 * that a partial can be written to a file as it is.  Groups and records lie in the order in which
 * the merger reads them, by slice, shard and group:
 *
 *   slices      [ slice 0                               ][ slice 1               ]
 *                 | shards[0]  shards[1]  shards[SHARDS]   | shards[0] ...
 *                 v            v          v                v
 *   groups      [ A    B     | C        | (unknown)     ][ A    D     | ...      ]
 *                 |    |       |          |                |    |
 *                 v    v       v          v                v    v
 *   records     [ aaaa bb      ccc        u               ][aa   d      ...      ]
 *                 |             |
 *                 +----------+  +--+   payload of a record: index of its first number
 *                            v     v
 *   numbers     [ cccccccccc aa    ccc cccccccccc ...                            ]
 *                 ^                    ^
 *                 |                    |    columns of a keyed row
 *   keyed_rows  [ row                  row              ][ row                   ]
 *   tallies     [ class, count | ...                    ][ class, count | ...    ]
 *
 *   made        [ 4 0 5 1 ... ]    made[n]: where the n-th record of the chunk lies
 *   currents    [ 1 3 ... ]        such n: the merger is to fill in the thread that ran, or woke
 *   segments, renames, faults      of the whole chunk, in time order
 *   chains      [ first group by shard ] [ ... ]    empty until the merger adds one
 *
 * A group of KEY_INITIAL or KEY_LOST has no shard yet.  It lies after those of all shards, from
 * shards[SHARDS] to shards[SHARDS + 1].
 *
 * Who writes what, when:
 *
 *   1. While a slice is open, groups and records lie in the worker's draft, in the order in which
 *      they are made.  All else goes to the partial at once.
 *   2. When the slice ends, partial_take_slice() moves groups and records from the draft, and
 *      partial_take_order() notes the order in which they were made.
 *   3. When the chunk ends, the worker fills in the ends (initial, tail) and lets go.
 *   4. The merger finds out threads: it changes keys of groups that have no shard, chains them,
 *      adds groups, moves records among those, and fills in currents.  Of a group that lies by
 *      shard only `first` and `ts` change: they move on to the records that are not used yet.
 *   5. When the last window of the partial is closed, the partial goes back to the cache, with its
 *      memory, and a worker takes it again.
 *
 * Two partials of a stream never overlap in time, but for late events.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "engine/contract/record.h"
#include "engine/contract/row-key.h"
#include "kernel/wake-context.h"

#define NAME_BYTES 16 /* of a comm in the kernel, including its zero */

/* The number of events of one class in a slice. */
struct tally {
	uint32_t class_index;
	uint32_t unused;
	uint64_t count;
};

/* The windows before and after the range that is reported. */
#define WINDOW_BEFORE (-1)
#define WINDOW_AFTER  INT64_MAX

/*
 * The key of a group: a tid, or one of those below.  The key also selects the shard.  Shards are
 * merged independently of each other.
 */
#define KEY_INITIAL ((int64_t)1 << 40)       /* the thread that ran when the chunk began */
#define KEY_LOST    (((int64_t)1 << 40) + 1) /* the thread that runs after a gap */
#define KEY_NOBODY  (((int64_t)1 << 40) + 2) /* an unknown thread, on an unknown CPU */
#define KEY_CPU(n)  (((int64_t)1 << 41) + (int64_t)(n)) /* an unknown thread on CPU n */
/* An entity of an analysis, which is no thread: a device, the interrupts of a CPU. */
#define KEY_ENTITY(analysis, id)                                                                   \
	(((int64_t)1 << 42) + ((int64_t)(analysis) << 34) +                                        \
	 ((int64_t)(id) & (((int64_t)1 << 34) - 1)))

/* A thread of a user program: its vtid alone may be that of several, each in a container of its
 * own. Both numbers have 31 bits. */
#define KEY_USER(pid, tid) (INT64_MIN + ((int64_t)(pid) << 31 | (int64_t)(tid)))

static inline bool key_is_user(int64_t key)
{
	return key < INT32_MIN;
}

static inline int32_t key_user_pid(int64_t key)
{
	return (int32_t)((key - INT64_MIN) >> 31);
}

/* Of a thread. */
static inline int32_t key_tid(int64_t key)
{
	return key_is_user(key) ? (int32_t)(key & INT32_MAX) : (int32_t)key;
}

#define SHARDS 64

static inline unsigned int key_shard(int64_t key)
{
	return (unsigned int)key % SHARDS;
}

struct group {
	int64_t key;
	uint64_t ts;          /* of its first record */
	int32_t pid;          /* traced with a switch out or a statedump; INT32_MIN: unknown */
	uint32_t first, last; /* records; first is RECORD_NONE when none is left */
	uint32_t next;        /* in a chain of the merger; RECORD_NONE: the last */
	bool has_name;
	bool is_weak;          /* the name counts only while no other is known */
	char name[NAME_BYTES]; /* as traced, with any bytes after its zero */
	uint32_t made;         /* its number among the groups of the slice, in the order made */
	uint8_t unused[4];
};

_Static_assert(sizeof(struct group) == LINE_BYTES, "a group fills one cache line");

/* Which range of slice.shards the group belongs to. */
static inline unsigned int partial_place(const struct group *group)
{
	return group->key == KEY_INITIAL || group->key == KEY_LOST ? SHARDS : key_shard(group->key);
}

/* The part of the chunk that lies in one window. */
struct slice {
	int64_t window;       /* its number since the epoch */
	uint32_t tally_first; /* index into tallies ... */
	uint32_t tally_count;
	uint32_t group_count;
	uint32_t keyed_first; /* index into keyed_rows ... */
	uint32_t keyed_count;
	uint64_t events;
	uint64_t discarded; /* by the tracer before a packet that begins in this slice */
	uint64_t lost_packets;
	uint64_t bad_packets; /* packets that could not be decoded to their end */
	uint64_t anomalies;   /* time stamps before the event before, or after the packet's end */
	uint64_t misfits;     /* merger: switches that do not fit (merger/cpus.h) */
	uint64_t cpu_ns[RUN_KINDS]; /* ns; without what is in segments */
	bool has_gap;               /* for a while it was unknown which thread ran */
	bool is_counted;            /* merger: it is in the sums of its window */
	uint32_t chains;            /* merger: index into chains, RECORD_NONE: none */
	/* The groups of shard s are shards[s] to shards[s + 1].  Those of KEY_INITIAL and KEY_LOST
	 * come last: their shard is unknown. */
	uint32_t shards[SHARDS + 2];
};

/* The groups that the merger added to a slice, or found the key of; RECORD_NONE: none. */
struct slice_chains {
	uint32_t first[SHARDS];
};

/* What the CPU did from begin to end. */
struct segment {
	uint64_t begin, end; /* ns */
	int32_t tid;         /* RUN_THREAD */
	uint8_t kind;        /* enum run_kind */
	bool is_broken;      /* another thread left the CPU at its end: a switch is missing */
	bool is_first;       /* the chunk's first switch began it: unknown if that does not fit */
	bool is_before;      /* before the first packet: unknown, but not because of a gap */
};

/* A thread goes on under another tid: exec by a thread that does not lead its process. */
struct rename {
	uint64_t ts;
	int32_t from, to;
};

/* A keyed row: sums of an analysis that need no order. */
struct slice_row {
	uint8_t analysis, table;
	uint32_t next;    /* worker: row with the same hash, RECORD_NONE: the last */
	uint32_t numbers; /* index of the first of its columns */
	uint32_t name;    /* index of the whole name, if the key has part of it; 0: it has all */
	struct row_key key;
};

/* A record whose arg32 the merger makes the thread that ran.  It is one that woke another, not an
 * interrupt, if fewer were open when the chunk began (wake_depth_limit()). */
struct current {
	uint32_t number; /* in made */
	uint32_t limits[WAKE_CONTEXTS];
};

/* What is wrong with a packet, for a warning. */
struct partial_fault {
	uint64_t packet; /* number in its stream */
	char text[200];
};

/* The first evidence in the chunk of which thread ran: none, a thread (it ran before), a gap. */
enum initial_kind { INITIAL_NONE, INITIAL_THREAD, INITIAL_GAP };

struct partial {
	uint64_t begin, end; /* ns: end of the packet before, and of the last one */
	/* ns: from the begin of the first packet to the end of the last one; there is no hole in
	 * between.  Until UINT64_MAX: some packet does not say when it ends. */
	uint64_t covered_from, covered_until;
	uint64_t first_ts, last_ts; /* ns: events; UINT64_MAX and 0 without any */
	uint64_t first_anomaly;     /* number of a packet, UINT64_MAX: none; not in files */
	uint64_t events, packets, bytes;
	/* The first and the last that is known of which thread ran, as in the drawing. */
	enum initial_kind initial;
	enum run_kind tail;
	bool tail_is_doubted;         /* the last switch does not fit */
	bool tail_is_first;           /* the chunk has one switch: the merger knows if it fits */
	bool tail_serves;             /* soft interrupts are the work of the last thread */
	bool initial_has_prio;        /* else the initial thread has no name either */
	uint64_t initial_ts, tail_ts; /* ns */
	uint32_t initial_group; /* INITIAL_GAP: whose record tells the initial thread of the gap */
	int32_t initial_tid, initial_prio, tail_tid;
	char initial_name[NAME_BYTES];
	struct wake_depth depths[WAKE_CONTEXTS]; /* what the chunk does to open interrupts */
	VEC(struct slice) slices;
	VEC(struct tally) tallies;
	VEC(struct group) groups;
	VEC(struct slice_chains) chains;
	VEC(struct record) records;
	VEC(uint32_t) made;    /* indexes of records, in the order they were made */
	VEC(uint64_t) numbers; /* words of records and columns of keyed rows */
	VEC(struct slice_row) keyed_rows;
	VEC(struct current) currents;
	VEC(struct segment) segments;
	VEC(struct rename) renames;
	VEC(struct partial_fault) faults;
	uint64_t records_until; /* ns: no record is later */
	/* Used by the merger. */
	size_t slices_used, currents_told, held_bytes;
	bool waits; /* for the thread that ran at its begin: it has no evidence of one */
	uint64_t running_until;
};

/*
 * A cache of partials that were used up.  Their arrays keep their memory: allocating it again for
 * each chunk would cost more than filling it.  Any thread may take and put.
 */
struct partial_cache;

struct partial_cache *partial_cache_new(size_t most);         /* holds up to @most partials */
void partial_cache_free(struct partial_cache *partial_cache); /* NULL is fine */
struct partial *partial_cache_take(struct partial_cache *partial_cache); /* an empty one */
void partial_cache_put(struct partial_cache *partial_cache, struct partial *partial);

struct partial *partial_new(void);
void partial_free(struct partial *partial);          /* NULL is fine */
size_t partial_bytes(const struct partial *partial); /* memory that it takes */

/*
 * Asserts the invariants of a partial that the merger has not touched: what is drawn above.  They
 * hold for any partial that is taken, also for one read from an untrusted file.
 */
void partial_check(const struct partial *partial);

/*
 * Asserts what a worker promises on top, and a file may break: records are made in time order, and
 * tallies are of the plan's @classes.
 */
void partial_check_worker(const struct partial *partial, uint32_t classes);

/* The record that was made as the @number-th of the chunk. */
static inline struct record *partial_made(struct partial *partial, size_t number)
{
	return &partial->records.at[partial->made.at[number]];
}

/* Adds an empty group; returns its index. */
static inline uint32_t partial_add_group(struct partial *partial, int64_t key)
{
	struct group *group = vec_push_in_line(&partial->groups);

	group->key = key;
	group->pid = INT32_MIN;
	group->first = RECORD_NONE;
	group->last = RECORD_NONE;
	group->next = RECORD_NONE;
	group->has_name = false;
	group->is_weak = false;
	group->made = (uint32_t)partial->groups.count - 1;
	return group->made;
}

/* Puts a group that does not lie by shard into the chain of its shard. */
void partial_chain_group(struct partial *partial, struct slice *slice, uint32_t group);

/* Appends to a group a record that is in none. */
static inline void partial_chain(struct partial *partial, uint32_t group, uint32_t record)
{
	struct group *g = &partial->groups.at[group];
	struct record *records = partial->records.at;

	records[record].group = group;
	records[record].next = RECORD_NONE;
	if (g->first == RECORD_NONE) {
		g->first = record;
		g->ts = records[record].ts;
	} else {
		records[g->last].next = record;
	}
	g->last = record;
}

/* Appends a new record, whose other members the caller fills in; returns its index. */
static inline uint32_t partial_add_record(struct partial *partial, uint32_t group, uint64_t ts,
					  enum record_kind kind)
{
	uint32_t index = (uint32_t)partial->records.count;
	struct record *record = vec_push_in_line(&partial->records);
	struct group *g = &partial->groups.at[group];

	*record = (struct record){
		.ts = ts, .next = RECORD_NONE, .group = group, .kind = (uint8_t)kind
	};
	if (g->first == RECORD_NONE) {
		g->first = index;
		g->ts = ts;
	} else {
		partial->records.at[g->last].next = index;
	}
	g->last = index;
	return index;
}

/*
 * A draft is a partial that has groups and records only, in the order they are made.  Moves @count
 * groups of the draft from @first on, with their records, to @slice, by shard and group.  `next` of
 * what was moved becomes its new index.
 */
void partial_take_slice(struct partial *partial, struct slice *slice, struct partial *draft,
			uint32_t first, uint32_t count);

/* All groups of the draft were moved: notes the order in which their records were made, and empties
 * the draft. */
void partial_take_order(struct partial *partial, struct partial *draft);
