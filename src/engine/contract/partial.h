/*
 * partial: what the analyses made of one chunk.
 *
 *   slices    for each window the chunk touches: sums that commute
 *   groups    of each slice: the records of one thread, under one name
 *   records   ordered facts (record.h), with their numbers beside them
 *   segments  who had the CPU when that passes the bounds of a slice
 *
 * Groups and records lie as the merger will read them: by slice, shard and group.
 *
 *     chunk begin       initial_ts                                  tail_ts    chunk end
 *     |--- as the chunk  ---|--- slices (cpu_ns) and segments ---|--- tail ---|
 *          before left it
 *
 * All members are arrays of fixed-width values that refer to each other by index.
 */
#ifndef SILLAGE_ENGINE_CONTRACT_PARTIAL_H
#define SILLAGE_ENGINE_CONTRACT_PARTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "engine/contract/record.h"

#define NAME_BYTES 16 /* of a comm in the kernel, its zero included */

/* What an item is: a number, a name, or both. */
#define ROW_KEY_NAME_BYTES 32
struct row_key {
	uint64_t id;
	char name[ROW_KEY_NAME_BYTES]; /* cut, if need be; zeroes behind its end */
};

/* How many events of one class there were. */
struct tally {
	uint32_t class_index;
	uint32_t unused;
	uint64_t count;
};

/* Windows outside the range that is reported. */
#define WINDOW_BEFORE (-1)
#define WINDOW_AFTER  INT64_MAX

/* Where a stretch of a CPU's time went. */
enum run_kind { RUN_THREAD, RUN_IDLE, RUN_UNKNOWN, RUN_KINDS };

/*
 * Whose records these are: a tid, or one of the keys below.  Keys are also spread over
 * shards, which are merged independently of each other.
 */
#define KEY_INITIAL ((int64_t)1 << 40)       /* of whoever ran when the chunk began */
#define KEY_LOST    (((int64_t)1 << 40) + 1) /* of whoever runs after a gap */
#define KEY_NOBODY  (((int64_t)1 << 40) + 2) /* of nobody known, on no CPU in particular */
#define KEY_CPU(n)  (((int64_t)1 << 41) + (int64_t)(n)) /* of nobody known on CPU n */
/* Of what is no thread, but an analysis' own: a device, the interrupts of a CPU. */
#define KEY_ENTITY(analysis, id)                                                                   \
	(((int64_t)1 << 42) + ((int64_t)(analysis) << 34) +                                        \
	 ((int64_t)(id) & (((int64_t)1 << 34) - 1)))

#define SHARDS 64

static inline unsigned int key_shard(int64_t key)
{
	return (unsigned int)key % SHARDS;
}

struct group {
	int64_t key;
	uint64_t ts;          /* of its first record */
	int32_t pid;          /* told where it leaves a CPU, or by RECORD_PROCESS; INT32_MIN: not */
	uint32_t first, last; /* records; first is RECORD_NONE when there are no more */
	uint32_t next;        /* in a chain of the merger's; RECORD_NONE: the last */
	bool has_name;
	bool is_weak;          /* the name counts only if nothing better is known */
	char name[NAME_BYTES]; /* as traced, whatever follows its zero */
	uint32_t made;         /* its number among those of the slice, as they were made */
	uint8_t unused[4];
};

_Static_assert(sizeof(struct group) == LINE_BYTES, "no group is in two lines");

/* What fell into one window. */
struct slice {
	int64_t window;       /* its number since the epoch */
	uint32_t tally_first; /* index into tallies ... */
	uint32_t tally_count;
	uint32_t group_count;
	uint32_t keyed_first; /* index into items ... */
	uint32_t keyed_count;
	uint64_t events;
	uint64_t discarded; /* events the tracer discarded before a packet of this slice */
	uint64_t lost_packets;
	uint64_t bad_packets; /* of which at least a part could not be decoded */
	uint64_t anomalies;   /* time stamps that went backwards, or are behind the packet's end */
	uint64_t cpu_ns[RUN_KINDS]; /* what is not in segments */
	bool has_gap;               /* it was not known for a while who runs */
	bool is_counted;            /* the merger's: it is in the sums of its window */
	uint32_t chains;            /* the merger's: index of its own groups by shard */
	/* The groups of a shard: from its index on to the next one's.  Last are those of
	 * KEY_INITIAL and KEY_LOST, whose shard is not known. */
	uint32_t shards[SHARDS + 2];
};

/* Groups that the merger added to a slice, or whose key it found out. */
struct slice_chains {
	uint32_t first[SHARDS];
};

/* A CPU's time from begin to end. */
struct segment {
	uint64_t begin, end; /* ns */
	int32_t tid;         /* RUN_THREAD */
	uint8_t kind;        /* enum run_kind */
	bool is_broken;      /* at the end somebody else left the CPU than was there */
	bool is_before;      /* the stream had not begun: its CPU is unknown, but not by a gap */
};

/* A thread goes on under another tid: exec by one that is not its process' leader. */
struct rename {
	uint64_t ts;
	int32_t from, to;
};

/* What the analyses added up in a slice without an order. */
struct slice_row {
	uint8_t analysis, table;
	uint32_t next;    /* worker's: of the same hash, RECORD_NONE: the last */
	uint32_t numbers; /* index of its columns */
	struct row_key key;
};

/* Something wrong with a packet, for a warning. */
struct partial_fault {
	uint64_t packet; /* number in its stream */
	char text[200];
};

enum initial_kind { INITIAL_NONE, INITIAL_THREAD, INITIAL_GAP };

struct partial {
	uint64_t begin, end;        /* ns: end of what came before; end of the last packet */
	uint64_t first_ts, last_ts; /* of events; first_ts is UINT64_MAX without any */
	uint64_t first_anomaly;     /* its packet, UINT64_MAX: none; for a warning, not kept */
	uint64_t events, packets, bytes;
	/* The first thing known of who runs, and the last.  A head without a prio has no name. */
	enum initial_kind initial;
	enum run_kind tail;
	bool initial_has_prio;
	uint64_t initial_ts, tail_ts;
	uint32_t initial_group; /* INITIAL_GAP: what tells it to whoever ran */
	int32_t initial_tid, initial_prio, tail_tid;
	char initial_name[NAME_BYTES];
	uint64_t broken; /* switches missing although nothing was said to be lost */
	VEC(struct slice) slices;
	VEC(struct tally) tallies;
	VEC(struct group) groups;
	VEC(struct slice_chains) chains;
	VEC(struct record) records;
	VEC(uint32_t) made;    /* the index of each record, in the order they were made */
	VEC(uint64_t) numbers; /* what records of analyses, and items, point to */
	VEC(struct slice_row) keyed_rows;
	VEC(uint32_t) currents; /* records, as they were made, whose `prio` is to be who ran then */
	VEC(struct segment) segments;
	VEC(struct rename) renames;
	VEC(struct partial_fault) faults;
	uint64_t records_until; /* ns: no record is later */
	/* The merger's: what was used already. */
	size_t slices_used, currents_told, held_bytes;
	bool waits; /* for who ran at first: there was no evidence up to its end */
	uint64_t running_until;
};

/*
 * Partials that were used, with the room they have: what they hold comes again and again, and
 * would cost more to allocate than to fill.  Any thread may take and put.
 */
struct partial_cache;

struct partial_cache *partial_cache_new(size_t most);
void partial_cache_free(struct partial_cache *partial_cache);
struct partial *partial_cache_take(struct partial_cache *partial_cache); /* an empty one */
void partial_cache_put(struct partial_cache *partial_cache, struct partial *partial);

struct partial *partial_new(void);
void partial_free(struct partial *partial);
size_t partial_bytes(const struct partial *partial);

/* A record by the order in which they were made. */
static inline struct record *partial_made(struct partial *partial, size_t number)
{
	return &partial->records.at[partial->made.at[number]];
}

/* An empty group. */
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

/* Puts a group that workers did not put into the slice's shards there. */
void partial_chain_group(struct partial *partial, struct slice *slice, uint32_t group);

/* Appends to a group a record that no group has. */
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

/* Appends a new record; fill in the rest. */
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
 * Groups and records are made in a draft, a partial that has nothing else, in the order of time; a
 * partial takes them by slice, shard and group.  Here the slice's are @count from group @first on.
 * `next` of what was taken becomes its new index.
 */
void partial_take_slice(struct partial *partial, struct slice *slice, struct partial *draft,
			uint32_t first, uint32_t count);

/* All of the draft was taken: notes in which order its records were made, and empties it. */
void partial_take_order(struct partial *partial, struct partial *draft);

#endif
