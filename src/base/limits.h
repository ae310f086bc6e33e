/*
 * limits: every bound of the program, with its unit and the reason.
 *
 * Input that passes a limit gets an error that names it; nothing is cut silently.
 */
#ifndef SILLAGE_BASE_LIMITS_H
#define SILLAGE_BASE_LIMITS_H

#include <stdint.h>

/* Arenas: small first block (most are small), large blocks to amortise calloc. */
#define ARENA_BLOCK_BYTES_MIN ((size_t)4096)
#define ARENA_BLOCK_BYTES_MAX ((size_t)1 << 20)

/* Metadata text of one trace: thousands of UST event classes make 20 MB. */
#define METADATA_BYTES_MAX ((size_t)256 << 20)
/* Memory that types and plans of one trace may take. */
#define METADATA_ARENA_BYTES_MAX ((size_t)1 << 30)
/* One JSON object of CTF 2 metadata, an event class at most; as objects of json-c it takes many
 * times that.
 */
#define CTF2_FRAGMENT_BYTES_MAX ((size_t)4 << 20)
/* Floating point numbers wider than the widest anybody has in hardware, with room. */
#define FLOAT_BITS_MAX 1024
/* Nesting of types in metadata: LTTng uses 5; bounds the parser's stack. */
#define TYPE_DEPTH_MAX 32
/* Nesting of loops in a compiled plan; each level of array or sequence is one. */
#define PLAN_DEPTH_MAX TYPE_DEPTH_MAX
/* Steps of one event class: a plan larger than this is not a trace. */
#define PLAN_STEPS_MAX 65535
/* Fields of one event class with all that they hold, whether they cost steps or not: types that
 * name others twice grow by powers of two. */
#define PLAN_FIELDS_WALKED_MAX 262144
/* Fields that one path may mean: one in each option of a variant on its way. */
#define PATH_TARGETS_MAX 256
/* Values that one event class may keep for handlers and for lengths and tags. */
#define PLAN_SLOTS_MAX 1024
/* Event ids are looked up in a table when below this, by search above it. */
#define EVENT_ID_DIRECT_MAX 65536
#define EVENT_CLASSES_MAX   1000000

/* One packet: LTTng sub-buffers are powers of two, seldom above 16 MiB. */
#define PACKET_BYTES_MAX ((uint64_t)1 << 30)
/* Bytes read from a file to find out about one packet (header and context). */
#define PACKET_HEAD_BYTES 512

/* A packet index file: 72 bytes a packet, so that of some fifteen million packets. */
#define INDEX_BYTES_MAX ((off_t)1 << 30)
/* What is said of one place that cannot be read. */
#define FAULT_TEXT_MAX 300

/* Directories below the one given in which traces are looked for. */
#define TRACE_DEPTH_MAX 16

/* Rows of items (system calls, interrupts, devices, user processes) of one trace, and of one lane
 * of it, for each table; names come from traces.  Some 500 bytes each. */
#define KEYED_ROWS_MAX 16384
/* Descriptors that are known of all processes of a trace: some 100 bytes each, and their paths, of
 * which the ends are kept.  Of one process: its children get copies. */
#define FDS_MAX        1048576
#define FDS_OF_ONE_MAX 65536
#define FILE_NAME_MAX  255
/* Periods of --period, and those that are open of one thread, or of one in 4096 sets of keys. */
#define PERIODS_MAX      256
#define PERIODS_OPEN_MAX 1024
/* Requests of a block device that have not completed: queues are some thousands deep. */
#define REQUESTS_MAX 65536
/* The longest instances that are kept: as many as are shown, between these. */
#define LONGEST_MIN 10
#define LONGEST_MAX 1000

/* Windows that the full screen keeps, to step back to, and rows of each list of them. */
#define VIEW_ROWS_MAX  1000
#define VIEW_BYTES_MAX ((size_t)256 << 20)

/* --metrics: traces, of which the longest silent goes; series of one list, more than which are one;
 * threads of each list; what a client may send, and how long it may take. */
#define METRICS_TRACES_MAX  256
#define METRICS_ROWS_MAX    1000
#define METRICS_THREADS     10
#define METRICS_HEADERS_MAX 8192
#define METRICS_TIMEOUT_S   10

/* Commands of triggers: at once, for how long, and for how long when we end. */
#define ACTIONS_MAX         4
#define ACTION_SECONDS_MAX  30
#define ACTION_SECONDS_LAST 5

/* How long a capture waits for traces that say nothing, beyond what it wants of them. */
#define CAPTURE_WAIT_NS ((uint64_t)10000000000)

/* The control socket: who asks at once, how much they may send, and captures that one gets. */
#define CONTROL_CLIENTS_MAX  16
#define CONTROL_LINE_MAX     256
#define CONTROL_CAPTURES_MAX 1024

/* Replies of a relay. */
#define RELAY_SESSIONS_MAX 65536
#define RELAY_STREAMS_MAX  16384
/* A relay that owes a reply may be blocked by another viewer, but not for ever. */
#define RELAY_SILENCE_S 30
#define RELAY_CONNECT_S 10
/* Receives on one connection before the others have their turn. */
#define RELAY_RECEIVES_MAX 64
/* Packets of one trace kept while its metadata has not come. */
#define WAITING_PACKETS_MAX 1024
/* Memory for a reply is taken in steps of this, as its bytes arrive. */
#define RELAY_RECEIVE_BYTES ((size_t)65536)
/* A packet is fetched in pieces of at most this (doc/viewer-protocol.md, A19). */
#define RELAY_PIECE_BYTES ((uint32_t)16 << 20)
/* Packet requests in flight on one connection: eight fill the pipe (doc/viewer-protocol.md, C). */
#define RELAY_IN_FLIGHT_MAX 8

/* Threads kept for the totals of one trace; more are folded into one row "other". */
#define THREADS_RESIDENT_MAX 131072
/* Places for threads in one shard, as bytes have it: pids end at 2^22, which are spread over 64. */
#define THREADS_OF_SHARD_MAX ((size_t)1 << 18)
/* A forward jump of more windows than this closes one long window, not one each. */
#define WINDOW_JUMP_MAX 100000
/* Trace time for which windows wait for the first sched_switch of a CPU. */
#define INITIAL_WAIT_NS ((uint64_t)5000000000)

/* Output is gathered to this and written at the end of each report. */
#define OUTPUT_BUFFER_BYTES ((size_t)65536)

/* A live trace without any event for so long (wall clock) is idle: its windows close all the
 * same.  Before that they wait for an event beyond their end, which may be on its way. */
#define IDLE_CLOSE_NS ((uint64_t)1000000000)

/* Where windows are not shown, so many are merged as one: rounds are worth their tasks. */
#define INTERVALS_UNSEEN 16

/* Groups of records that are worth a task of their own: some 50 us. */
#define GROUPS_PER_TASK 512

/* What is held is used up before its window ends when it is at least so much: while there is room
 * for more, what caches hold (up to a tenth faster than whole windows); if there is little, what is
 * worth a round at all. */
#define ROUND_BYTES     ((size_t)4 << 20)
#define ROUND_BYTES_MIN ((size_t)262144)

/* One frame of a file of partials: what a chunk of 64 MiB gives, and more.  And how many times
 * --max-memory may be held of it: packets become up to so much larger partials. */
#define PARTIALS_FRAME_BYTES_MAX ((size_t)1 << 30)
#define PARTIALS_HELD_FACTOR     4

/* Chunks handed to the workers and not merged, for each worker. */
#define CHUNKS_PER_WORKER 4

_Static_assert(PACKET_BYTES_MAX <= UINT64_MAX / 8, "sizes are also kept in bits");
_Static_assert(RELAY_PIECE_BYTES <= PACKET_BYTES_MAX, "a piece is part of a packet");

#endif
