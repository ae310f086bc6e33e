/*
 * limits: every bound of the program, with its unit and its reason.
 *
 * Input beyond a limit is an error that names the limit, or is counted; nothing is cut silently.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/check.h"
#include "base/units.h"

/* A run that has peers may hold so much for them, whatever --max-memory says: a packet of LTTng,
 * and what it takes to analyse it.  Of a packet that is larger than a part of --max-memory only the
 * loss is known: others need room, too. */
#define ACCOUNT_BYTES_MIN   ((uint64_t)32 << 20)
#define ACCOUNT_PACKET_PART 4
/* The same of all packets that wait for metadata; larger ones wait at the relay. */
#define ACCOUNT_WAITING_PART 8

/* What passes through needs no more than this to keep all workers busy: the rest lasts. */
#define ACCOUNT_PASSES_MAX ((uint64_t)256 << 20)
/* A session with its connection and the tables of a trace, empty; what it has in advance for its
 * metadata, of a kernel as a rule, until that has come or does not come soon; a stream; names and
 * numbers of an event class beside its plan. */
#define ACCOUNT_SESSION_BYTES     ((uint64_t)192 << 10)
#define ACCOUNT_ADVANCE_BYTES     ((uint64_t)3 << 20)
#define ACCOUNT_ADVANCE_NS        (5 * NS_PER_S)
#define ACCOUNT_STREAM_BYTES      ((uint64_t)2 << 10)
#define ACCOUNT_EVENT_CLASS_BYTES ((uint64_t)256)
/* The same for a run that follows a relay and was given no --max-memory: 1 / so much of what it may
 * have of the machine's memory, if that is more than the default. */
#define LIVE_MEMORY_PART 8

/* Arenas: a small first block, since most are small; large ones later, to amortise calloc. */
#define ARENA_BLOCK_BYTES_MIN ((size_t)4096)
#define ARENA_BLOCK_BYTES_MAX ((size_t)1 << 18)

/* Metadata text of one trace: thousands of UST event classes make 20 MB. */
#define METADATA_BYTES_MAX ((size_t)256 << 20)
/* Of its text, while it is read: as received, unpacked, and types. */
#define METADATA_MEMORY_FACTOR 4
/* Notes on what is wrong in the metadata of a trace and can be read; further ones are dropped. */
#define METADATA_NOTES_MAX 20
/* Memory that types and plans of one trace may take. */
#define METADATA_ARENA_BYTES_MAX ((size_t)1 << 30)
/* capture.json: a trigger on all rows of a large host; what it says is otherwise some lines. */
#define CAPTURE_JSON_BYTES_MAX (16 << 20)
/* A line of settings, of names of containers, of an answer to `capture`. */
#define LINE_BYTES_MAX (1 << 16)
/* A line of `analyze -f json` that is compared: 200,000 threads.  As objects of json-c it takes
 * some 20 times as much. */
#define JSON_LINE_BYTES_MAX (32 << 20)

/* One JSON object of CTF 2 metadata, an event class at most.  As objects of json-c it takes many
 * times that memory. */
#define CTF2_FRAGMENT_BYTES_MAX ((size_t)4 << 20)
/* Floating point numbers: wider than any hardware has. */
#define FLOAT_BITS_MAX 1024
/* Nesting of types in metadata: LTTng uses 5; bounds the parser's stack. */
#define TYPE_DEPTH_MAX 32
/* Nesting of loops in a compiled plan; each level of array or sequence is one. */
#define PLAN_DEPTH_MAX TYPE_DEPTH_MAX
/* Steps of one event class: a plan larger than this is not a trace. */
#define PLAN_STEPS_MAX 65535
/* Fields of one event class, nested ones included, whether they need steps or not.  Types that name
 * another type twice grow by powers of two. */
#define PLAN_FIELDS_WALKED_MAX 262144
/* Fields that one path may name: one in each option of a variant on the way. */
#define PATH_TARGETS_MAX 256
/* Values of one event class that the decoder stores: for handlers, as lengths and as tags. */
#define PLAN_SLOTS_MAX 1024
/* Event ids below this are looked up in a table, others by search. */
#define EVENT_ID_DIRECT_MAX 65536
#define EVENT_CLASSES_MAX   1000000

/* After a signal, how long what was begun may take before it is left in the middle (base/now.h).
 * With what comes after it, a command ends within 1 s.  With sanitizers all takes ten times as
 * long. */
#define STOP_PATIENCE_NS (CHECKS_ON ? 5 * NS_PER_S : NS_PER_S / 2)
/* After a signal, how long a peer may say nothing: a wait takes no CPU time, whatever is checked.
 */
#define STOP_SILENCE_NS (NS_PER_S / 2)
/* After a signal, how long what has to be finished may take: a capture that is written, a session
 * to destroy, a last commit.  Less than what service managers and people wait before they kill. */
#define STOP_LAST_NS (5 * NS_PER_S)
/* How soon a wait sees a signal that did not interrupt it: another thread got it, or it came just
 * before the wait began. */
#define WAIT_POLL_MS 50
/* After so long the user is told what is finished first. */
#define LATE_NS NS_PER_S

/* One packet.  LTTng sub-buffers are powers of two, seldom above 16 MiB. */
#define PACKET_BYTES_MAX ((uint64_t)1 << 30)
/* A longer packet is read from its file in pieces of this: between them a signal is seen. */
#define READ_PIECE_BYTES ((uint64_t)32 << 20)
/* Bytes of a file that are read for the header and context of one packet. */
#define PACKET_HEAD_BYTES 512

/* What looks like the begin of a packet may be none.  Of a file of so many bytes, these times as
 * many are read in search of readable packets, and a little more. */
#define SEARCH_BYTES_FACTOR 16
#define SEARCH_BYTES_MORE   ((uint64_t)1 << 20)

/* A packet index file: 72 bytes a packet, so some fifteen million packets. */
#define INDEX_BYTES_MAX ((off_t)1 << 30)
/* The message about one place that cannot be read. */
#define FAULT_TEXT_MAX 300

/* Levels of directories that are searched for traces, below the given one. */
#define TRACE_DEPTH_MAX 16

/* Keyed rows (system calls, interrupts, devices, user processes) of one table, in a trace and in
 * one accumulator.  Their names come from traces.  Some 500 bytes each. */
#define KEYED_ROWS_MAX 16384
/* Pairs of threads of a trace, some 100 bytes each with what is known of the threads.  Beyond that
 * the half with the least becomes one row. */
#define PAIRS_MAX 32768
/* Known file descriptors of all processes of a trace, some 100 bytes each; of one process, whose
 * children get copies.  Of longer paths the end is stored. */
#define FDS_MAX        1048576
#define FDS_OF_ONE_MAX 65536
#define FILE_NAME_MAX  255
/* Periods of --period; open ones of one thread, or of one in 4096 sets of keys; open chains of a
 * trace, some 150 bytes each. */
#define PERIODS_MAX        256
#define PERIODS_OPEN_MAX   1024
#define PERIODS_CHAINS_MAX 65536
/* Open calls of programs (-a calls) of a trace, some 130 bytes each, and of a thread: a recursion
 * that is deeper is an error of the program as a rule.  Names of calls, as many as rows; beyond
 * that the one that was used longest ago goes, as of processes that have ended.  Keys of the calls
 * of a name in a process, and for each the ends that are held until it is known whether the key
 * tells calls apart: of more threads than that none waits for the first. */
#define CALLS_OPEN_MAX  65536
#define CALLS_DEPTH_MAX 1024
#define CALLS_NAMES_MAX KEYED_ROWS_MAX
#define CALLS_KEYS_MAX  16384
#define CALLS_HELD_MAX  64
/* Labels of --label; names of ids that a trace tells, and the bytes of one, or of a row that an
 * event names: symbols of C++ have hundreds. */
#define LABELS_MAX           64
#define LABELS_KNOWN_MAX     65536
#define LABEL_TEXT_BYTES_MAX 1024
/* A model: a page of text. */
#define MODEL_BYTES_MAX ((size_t)1 << 20)
/* Jobs of --job. */
#define JOBS_ASKED_MAX 64
/* Of jobs that go over threads: open executions of one, and threads whose names are known, some 100
 * bytes each. */
#define JOBS_OPEN_MAX  65536
#define JOBS_NAMES_MAX 65536
/* Of jobs that lie in others: executions that have ended and are held until what they lie in ends,
 * of all jobs, some 200 bytes each. */
#define JOBS_HELD_MAX 65536
/* Timers of a trace that are known, some 60 bytes each, signals that wait for a thread, and threads
 * of which is known what may release them, some 200 bytes each: beyond that what releases an
 * execution is known from other events. */
#define RELEASE_TIMERS_MAX  262144
#define RELEASE_SIGNALS_MAX 1024
#define RELEASE_THREADS_MAX 131072
/* Futexes of which `state` knows who woke a thread there last: those used last. */
#define FUTEXES_NOW_MAX 65536
/* PID namespaces whose names are known from traces, in each of 64 shards; others have numbers. */
#define CONTAINERS_NAMED_MAX 1024
/* Requests of a block device that have not completed.  Queues hold some thousands. */
#define REQUESTS_MAX 8192
/* Channels that are known to have events of requests; beyond that, all are taken for such. */
#define BLOCK_CHANNELS_MAX 64
/* CPUs whose idle states and frequencies are followed, 200 bytes each; and, as above, channels that
 * are known to have events of these. */
#define POWER_CPUS_MAX     16384
#define POWER_CHANNELS_MAX 64
/* A request that is open for longer has lost its completion.  Drivers give a request up after 30 s,
 * and try a few times. */
#define REQUEST_OPEN_MAX_NS (300 * NS_PER_S)
/* A completion so shortly before the issue may be its own: clocks of CPUs differ by microseconds.
 */
#define EARLY_END_NS 100000
/* Longest instances of a list: as many are stored as are shown, within these bounds. */
#define LONGEST_MIN 10
#define LONGEST_MAX 1000

/* The full screen: rows of each list, and memory for windows to step back to. */
#define VIEW_ROWS_MAX  1000
#define VIEW_BYTES_MAX ((size_t)256 << 20)

/* HTTP servers: bytes of a request, and seconds for all of it; connections at once, where the limit
 * of descriptors allows it (half of them may be answers without an end); those that the kernel may
 * hold ready, and how long it holds them when there are no descriptors. */
#define SERVER_HEADERS_MAX     8192
#define SERVER_REQUEST_S       10
#define SERVER_CONNECTIONS_MAX 64
#define SERVER_BACKLOG         128
#define SERVER_PAUSE_MS        500

/* Lines for people that others can bring about: what one minute may have of a kind, kinds, and
 * bytes by which they are told apart; libevent's.  A run of few sessions, with its relays, says
 * more, since each line may help there. */
#define REPEAT_NS           (60 * NS_PER_S)
#define REPEAT_KINDS_MAX    64
#define REPEAT_KIND_BYTES   160
#define REPEAT_FEW_SESSIONS 8
#define REPEAT_LINES_MAX    20
#define SERVER_LINES_MAX    8

/* --server-config: pairs of name and password that are known, right and wrong; peers whose tries
 * are counted; pairs that wait for their hash; tries of a peer that may come at once, and the
 * seconds for one more.  A hash that mkpasswd(1) makes takes 16 MiB (yescrypt) or 5000 rounds
 * (SHA-512), and some tens of milliseconds; these bounds, less than a second. */
#define SERVER_CREDENTIALS_MAX 64
#define SERVER_PEERS_MAX       64
#define SERVER_TRIES_MAX       8
#define SERVER_TRIES_BURST     5
#define SERVER_TRY_S           1
#define SERVER_HASH_BYTES      (32 << 20)
#define SERVER_HASH_ROUNDS     500000

/* --metrics: traces that have ended (the longest silent is dropped), series of one list (more rows
 * are summed up in one; a row has a series for each figure, and as many for a distribution), names
 * of processes whose sums are kept, and of them those that are shown; series of a trace in the
 * small profile. */
#define METRICS_ENDED_MAX        256
#define METRICS_SERIES_MAX       3200
#define METRICS_HISTOGRAM_SERIES 29
#define METRICS_NAMES_MAX        128
#define METRICS_NAMES_SHOWN      40
#define METRICS_SMALL_SERIES     300
/* Part of --max-memory that answers which are not read yet may have, beyond the first. */
#define METRICS_PENDING_PART 8

/* --web: bytes that wait for one of them, here and in the kernel, after which it
 * gets the newest state only; seconds after which one that takes nothing is left; how often viewers
 * get what is new; rows of each list, and CPUs; traces and notices that a new viewer gets; reports
 * that can be opened. */
#define WEB_PENDING_MAX (256 << 10)
#define WEB_KERNEL_MAX  (64 << 10) /* the kernel doubles it */
#define WEB_STUCK_S     10
#define WEB_PERIOD_US   250000
#define WEB_ROWS        12
#define WEB_CPUS        256
#define WEB_TRACES_MAX  64
#define WEB_NOTICES_MAX 100
#define WEB_REPORTS_MAX 256

/* sillage serve: bytes of a request; of one value of it, and of each side of a condition; rows of a
 * page, and conditions; bytes that a command may print for one answer, and that an answer may have;
 * lines and messages that it repeats; events that a filter looks at. */
#define API_REQUEST_BYTES  4096
#define API_VALUE_BYTES    512
#define API_ROWS_MAX       1000
#define API_ROWS_USUAL     100
#define API_OFFSET_MAX     10000000
#define API_CONDITIONS_MAX 8
#define API_COLUMNS_MAX    64
#define API_DEPTH_MAX      32
#define API_PRINTED_BYTES  (256 << 20)
#define API_REPLY_BYTES    (16 << 20)
#define API_SAID_MAX       100
#define API_EVENTS_LOOKED  100000

/* sillage serve: sources; answers that are computed at once, and that wait for it; bytes of answers
 * that are not read yet, beyond the first, after which others are refused; seconds that one may
 * take (--max-time), and bytes (--max-memory). */
#define SERVE_SOURCES_MAX  256
#define SERVE_WORKERS_MAX  4
#define SERVE_WAITING_MAX  32
#define SERVE_PENDING_MAX  (64 << 20)
#define SERVE_TIME_S       60
#define SERVE_MEMORY_BYTES ((uint64_t)1 << 30)

/* Commands of triggers: at the same time; how long each may run; how long when sillage ends. */
#define ACTIONS_MAX         4
#define ACTION_SECONDS_MAX  30
#define ACTION_SECONDS_LAST 5 /* without a signal; with one it is STOP_LAST_NS in all */

/* How long a capture waits for a silent trace, after the end of what it captures. */
#define CAPTURE_WAIT_NS (10 * NS_PER_S)
/* How long the report, or the file for Perfetto, of a capture may take: 100 times what one of 1 GiB
 * does. */
#define CAPTURE_EXTRA_SECONDS_MAX 600

/* An archive of a trace, which is unpacked before it is read: its files, a trace of 10,000 CPUs
 * that was rotated; their bytes, which may be more than the archive's by any factor; and the part
 * of the place's free bytes that they may take, where zeros take none. */
#define PACK_FILES_MAX 100000
#define PACK_BYTES_MAX ((uint64_t)64 << 30)
#define PACK_FREE_PART 2
/* What is made of the trace that goes into it, its report, takes no longer. */
#define PACK_REPORT_SECONDS_MAX 7200

/* The control socket: clients, bytes of a request, and captures of one client. */
#define CONTROL_CLIENTS_MAX  16
#define CONTROL_LINE_MAX     256
#define CONTROL_CAPTURES_MAX 1024

/* Missing packets between two of one stream: more than any tracer numbers in a year. */
#define LOST_PACKETS_MAX ((uint64_t)1 << 32)

/* Replies of a relay.  Numbers of versions: text in place of a reply has larger ones. */
#define RELAY_VERSION_MAX  255
#define RELAY_SESSIONS_MAX 65536
#define RELAY_STREAMS_MAX  16384
/* A relay that owes a reply may be blocked by another viewer, but not for longer.  A relay that is
 * gone is to be noticed within 30 s. */
#define RELAY_SILENCE_S 20
/* Part of a reply is no sign of life unless so many bytes of it come in that time: 200 bytes/s,
 * less than any link has over which traces are sent. */
#define RELAY_TRICKLE_BYTES 4096
#define RELAY_CONNECT_S     10
/* After so long a user is told that a relay has not answered yet. */
#define RELAY_QUIET_S 3
/* Receives on one connection before other connections are served. */
#define RELAY_RECEIVES_MAX 64
/* How long one turn of the event loop may last before what is left goes on in the next one.  A
 * single piece of work is not cut: it may take as long again. */
#define TURN_NS (20 * NS_PER_MS)
/* How long a stream that may be an earlier one waits for metadata before all of it is fetched. */
#define WALK_METADATA_NS (10 * NS_PER_S)
/* Connections of a session that end because the relay broke the protocol, without a new packet. */
#define RELAY_USELESS_MAX 6
/* How often a stream is read that is announced again after its end. */
#define RELAY_ANNOUNCED_MAX 4
/* Traces of programs that are live one with a kernel's: each that comes makes a plan of all, and
 * those of programs that have ended stay in it. */
#define JOINED_PARTS_MAX 256
/* Packets of one trace that wait for its metadata. */
#define WAITING_PACKETS_MAX 1024
/* Memory for a reply is allocated in steps of this, as its bytes arrive. */
#define RELAY_RECEIVE_BYTES ((size_t)65536)
/* A packet is fetched in pieces of at most this (doc/viewer-protocol.md, A19). */
#define RELAY_PIECE_BYTES ((uint32_t)16 << 20)
/* So many replies with little metadata each follow each other at once, then at the pace of polls.
 */
#define RELAY_METADATA_BURST  1000
#define RELAY_METADATA_LITTLE 4096
/* Packet requests in flight on one connection; eight keep it busy (doc/viewer-protocol.md, C). */
#define RELAY_IN_FLIGHT_MAX 8

/* Threads that have ended, in the totals of one trace; those that ended before them are summed up
 * in one row.  Meanwhile there may be more, so that few have to be looked at each time. */
#define THREADS_ENDED_MAX  131072
#define THREADS_ENDED_MORE (THREADS_ENDED_MAX / 4)
/* Threads that a checkpoint may have in one shard: pids end at 2^22, over 64 shards. */
#define THREADS_OF_SHARD_MAX ((size_t)1 << 18)
/* More windows in a row than this without an event, which last for longer than that, are one: a
 * machine that slept, a clock that was set, tracing that was stopped.  Fewer are cheap, and of
 * short windows some seconds are what their user wants to see, up to a number of them. */
#define WINDOWS_EMPTY_MAX     100
#define WINDOWS_EMPTY_MAX_NS  (3 * NS_PER_S)
#define WINDOWS_EMPTY_MAX_ANY 10000
/* Trace time that windows wait for the first sched_switch of a CPU. */
#define INITIAL_WAIT_NS (5 * NS_PER_S)

/* A time that no packet covers is a hole if it is longer: what went on in it is unknown.  A tracer
 * of switches that runs has some within this time: timers of the kernel, and the tracer's own, do
 * not rest for longer on all CPUs. */
#define HOLE_NS NS_PER_S
/* The longest sleeps in calls about locks of which a report asks whether others were at work
 * meanwhile: idle workers sleep in such calls, too. */
#define LOCKS_JUDGED_MAX 256

/* Output is buffered up to this, and written at the end of each report. */
#define OUTPUT_BUFFER_BYTES ((size_t)65536)

/* A live trace without any event for so long (wall clock) is idle: its windows close without one.
 * Before that they wait for an event beyond their end, which may still be on its way. */
#define IDLE_CLOSE_NS NS_PER_S

/* So many windows are merged as one where windows are not shown: rounds are larger then. */
#define INTERVALS_UNSEEN 16

/* Groups of records for which a task of its own pays: some 50 us of work. */
#define GROUPS_PER_TASK 512

/* Partials of so many bytes start a round before their window ends.  ROUND_BYTES, while memory is
 * free, fits caches: up to a tenth faster than whole windows.  ROUND_BYTES_MIN, when memory is
 * short, is the least for which a round pays. */
#define ROUND_BYTES     ((size_t)4 << 20)
#define ROUND_BYTES_MIN ((size_t)262144)

/* One frame of a file of partials: more than a chunk of 64 MiB becomes. */
#define PARTIAL_FILE_FRAME_BYTES_MAX ((size_t)1 << 30)

/* An index (src/index).  A section but that of places is read as a whole; as many warnings as the
 * engine passes on, and the one that says that there are more; so many bytes of a file's begin and
 * end, and of a packet, tell whether they are still the same. */
#define INDEX_SECTION_BYTES_MAX ((uint64_t)64 << 20)
#define INDEX_WARNINGS_MAX      101
#define INDEX_LOOK_BYTES        256
/* A state is no more than such a part of --max-memory: it is unpacked beside what the run holds. */
#define INDEX_STATE_OF_MEMORY 4
/* Bytes of a trace between two checkpoints: a range is read from the one before it, which takes
 * some 30 ms.  All of them together take no more than this part of the trace, but one is there. */
#define INDEX_EVERY_BYTES ((uint64_t)16 << 20)
#define INDEX_STATES_PART 50
/* Tiles of an index have 2^14 ns at least.  The finest that are kept are those with which it is no
 * more than such a part of the trace, but they are no longer than 2^22 ns.  Levels are made from
 * the one on whose tiles may have so many bytes each: one row has 5 to 10.  They go on as long as
 * a trace may be.  A block has so many bytes of rows, and four times what it begins with: one is
 * unpacked in 0.1 ms. */
#define INDEX_TILES_FINEST     14
#define INDEX_TILES_COARSEST   22
#define INDEX_TILES_LEVELS     40
#define INDEX_TILE_BYTES       16
#define INDEX_PART             25
#define INDEX_BLOCK_ROWS_BYTES ((size_t)16 << 10)
#define INDEX_BLOCK_BYTES_MAX  ((uint64_t)256 << 20)
/* Threads, and those on each CPU, that tiles may have. */
#define INDEX_LANES_MAX ((size_t)1 << 24)
/* A reader of such files may hold so many times --max-memory: partials are up to that much larger
 * than their packets. */
#define PARTIAL_FILE_HELD_FACTOR 4

/* auto(q) of triggers: windows before there is a limit, excesses that are kept, and the largest
 * share, below which the level of the warm-up lies far enough. */
#define AUTO_WARM_UP      100
#define AUTO_EXCESSES_MAX 200
#define AUTO_Q_MAX        0.01
/* The mean of auto(q, drift D) is kept as so many sums, whatever D is. */
#define AUTO_PARTS_MAX 512
/* The time of an objective (N% of windows in 24h) is counted in so many parts, of which the oldest
 * goes as a whole: 0.1 % of it. */
#define BUDGET_SLOTS 1000
/* Rows of one comparison and trace that have a limit of their own, 8 KiB each. */
#define AUTO_ROWS_MAX 256

/* A baseline of triggers: the last days that have the hour, so many at most, of those not longer
 * ago than a month; with fewer there is no limit. */
#define BASELINE_DAYS_MAX      7
#define BASELINE_DAYS_MIN      2
#define BASELINE_DAYS_BACK_MAX 28
/* Rows of one comparison that have a baseline, 100 bytes each; hours that are kept, of all traces;
 * how long before its begin the next hour is read; and after how long a store that failed is tried
 * again. */
#define BASELINE_ROWS_MAX  5000
#define BASELINE_HOURS_MAX 256
#define BASELINE_AHEAD_NS  (600 * NS_PER_S)
#define BASELINE_RETRY_NS  (10 * NS_PER_S)

/* Chunks that were handed to the workers and are not merged, for each worker. */
#define CHUNKS_PER_WORKER 4

/* Resources of a report: timers on stacks are as many as the calls that sleep, and only some are
 * ever looked at.  Intervals of all of them: 12 MiB.  Rows are threads of a resource, and pairs. */
#define RESOURCES_MAX          65536
#define RESOURCE_INTERVALS_MAX 262144
#define RESOURCE_ROWS_MAX      262144
#define RESOURCE_ROWS_EACH     1024
/* Open queues, and files of a state dump, whose names are kept. */
#define RESOURCE_NAMES_MAX 65536

/* Windows that wait for the writer of a store: bytes, and part of --max-memory, which leaves room
 * for a session however small that is; and how many items one transaction takes. */
#define STORE_QUEUE_BYTES ((size_t)64 << 20)
#define STORE_QUEUE_PART  8
#define STORE_BATCH       64
/* Windows that a transaction merges or removes (--store-keep): others wait for it, some 10 ms. */
#define KEEP_WINDOWS_MAX 256
/* So many windows tell how large a store gets in a day. */
#define STORE_SIZE_WINDOWS 60
/* How often --store-keep looks for what is old. */
#define KEEP_EVERY_S 10
/* A row of a store, whoever wrote it: the largest of ours has the buckets of some histograms. */
#define STORE_ROW_BYTES_MAX (1 << 20)
/* Names of events that are missing, and of tracers, which stay for as long as the process runs: 1
 * MiB.  A store of others may name any. */
#define MISSING_KEPT_MAX   4096
#define MISSING_KEPT_BYTES 300
/* Hosts whose tables `history` prints one after the other without being asked for them by name:
 * some screens. */
#define HISTORY_HOSTS_MAX 8
/* Lengths of windows in one store; others stay. */
#define KEEP_LENGTHS_MAX 32
/* A store in ClickHouse: what one batch gathers, and batches that wait for the sender. */
#define CLICKHOUSE_BATCH_BYTES ((size_t)8 << 20)
#define CLICKHOUSE_OUTBOX      2
/* How long a sender waits before it tries a server again, and what is left of a spool for the next
 * run if the server takes it more slowly. */
#define CLICKHOUSE_RETRY_MS     1000
#define CLICKHOUSE_RETRY_MAX_MS 30000
#define CLICKHOUSE_CLOSE_S      5
/* The traces that a statement names. */
#define CLICKHOUSE_NAMED_MAX 1000
/* Requests at a time, how often they look whether the user wants to end, and short answers. */
#define HTTP_PARALLEL         4
#define HTTP_POLL_MS          200
#define HTTP_ANSWER_BYTES_MAX ((size_t)16 << 20)

/* Symbols of programs: a file that is read; functions and bytes of names in one, as a browser has
 * with debug information, and bytes of all that were read; images that are mapped, of all processes
 * and of one, and files of these; of more images those of the process that was used longest ago go.
 */
#define SYMBOLS_FILE_BYTES_MAX    ((int64_t)8 << 30)
#define SYMBOLS_MAX               (4 << 20)
#define SYMBOLS_NAMES_BYTES_MAX   ((size_t)256 << 20)
#define SYMBOLS_BYTES_MAX         ((size_t)1 << 30)
#define SYMBOLS_IMAGES_MAX        65536
#define SYMBOLS_IMAGES_OF_ONE_MAX 4096
#define SYMBOLS_TEXT_MAX          ((size_t)4096) /* of a path, as Linux has it */
/* Frames of a stack that an event carries, the innermost ones: LTTng and perf record 128. */
#define CALLSTACK_MAX 1024

/* Formats of the kernel's events (tracefs, trace.dat): the text of one, some 2 KB as a rule, 10 KB
 * with long texts for printing; fields of one, and bytes of a name; the offset where a field may
 * end: a record is within a sub-buffer, and what it says of places has 16 bits. */
#define FTRACE_FORMAT_BYTES_MAX  (1 << 18)
#define FTRACE_FIELDS_MAX        256
#define FTRACE_NAME_BYTES_MAX    128
#define FTRACE_PAYLOAD_BYTES_MAX (1U << 16)
/* A sub-buffer of ftrace: the kernel makes none above 1 MiB so far.  Events that one says to miss
 * before it: more than fit into any buffer between two reads. */
#define FTRACE_SUBBUF_BYTES_MAX ((size_t)16 << 20)
#define FTRACE_MISSED_MAX       ((uint64_t)1 << 40)
/* CPUs of a recording, each of which is a stream: twice what the kernel can have.  Threads of which
 * something is known, some 130 bytes each: a quarter of what a kernel can have at once. */
#define FTRACE_CPUS_MAX  16384U
#define FTRACE_TASKS_MAX 1048576

/* Containers of this host: bytes of an id and of a name with its end (a pod's name alone may have
 * 253, 40 are usual); places that are remembered, 600 bytes each; processes of a look at all. */
#define CONTAINER_ID_BYTES      80
#define CONTAINER_NAME_BYTES    128
#define CONTAINERS_KNOWN_MAX    4096
#define CGROUP_PATH_BYTES       1024 /* in an event: systemd's have some 100, those of pods 250 */
#define CONTAINER_PROCESSES_MAX 1048576
/* What an engine keeps of one, or of all of them: podman has 1 KB for each.  A file of /proc; v1
 * has a path for each of some 14 hierarchies.  Namespaces of containerd, and logs of a kubelet. */
#define CONTAINER_STATE_BYTES_MAX ((size_t)4 << 20)
#define CONTAINER_PROC_BYTES_MAX  ((size_t)64 << 10)
#define CONTAINER_FOLDERS_MAX     64
#define CONTAINER_LOGS_MAX        16384

/* Files for Perfetto.  Arguments of an event, about, and one text of them: the viewer refuses
 * compressed packets of 512 KiB, and a packet is closed behind the event that fills it. */
#define ARGS_BYTES_MAX ((size_t)64 << 10)
#define ARGS_TEXT_MAX  ((size_t)8 << 10)
/* Frames of stacks (`export -f folded`): more than a picture shows. */
#define FOLDED_MAX (1 << 20)
/* Texts of a kind that are written once; further ones are written where they are used. */
#define INTERNED_MAX 65536
/* Slices of a thread that are open, which is what the viewer draws; and tracks beside each other
 * for spans of a name that overlap.  Further ones are instants. */
#define SLICES_OPEN_MAX 256
#define LANES_MAX       1024
/* Names of tracks of periods, jobs and calls: what goes over threads has one for each of these. */
#define LANE_NAMES_MAX 65536

/* Where in a text the parts are that a regular expression splits off: to find them takes regexec()
 * time and memory for each byte. */
#define SPLIT_BYTES_MAX ((size_t)4096)

_Static_assert(PACKET_BYTES_MAX <= UINT64_MAX / 8, "sizes are also kept in bits");
_Static_assert(RELAY_PIECE_BYTES <= PACKET_BYTES_MAX, "a piece is part of a packet");

/* Discovery in programs: values of ids (100 MiB), threads' kinds of events (15 MiB), and events of
 * which the time is kept (32 MiB). */
#define DISCOVERY_KEYS_MAX   262144
#define DISCOVERY_SERIES_MAX 65536
#define DISCOVERY_TIMES_MAX  ((size_t)4 << 20)
