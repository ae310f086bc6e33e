/*
 * calls: what programs do from one event to another, as --call or a model says (query/period.h),
 * else by the names of these (doc/definitions.md, 4.17): calls of functions, requests, spans.
 *
 *     calls-pairs.c    of a plan  which event classes are begins and ends, and of what key
 *     calls-hints.c    of types   events that look like a pair, and are none by name
 *     calls-worker.c   worker     an event to a record
 *     calls-open.c     trace      what is open, by thread and by key
 *     calls-checkpoint.c          the same in files
 *     calls-functions.c           their names: images of programs, as the trace tells them
 *     calls.c          trace      what ended, rows, windows
 *
 * A call may end on another thread than the one that began it, and what lies within it counts for
 * its own time.  So all of it is judged in one order of time, over all threads.
 */
#pragma once

#include "analyses/counters/counters.h"
#include "analyses/labels/labels.h"
#include "base/hash.h"
#include "base/limits.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"

extern const struct analysis analysis_calls;

/* ---- calls-pairs.c: what the metadata says ---- */

/* The first words of pairs; more than one kind of end may belong to one. */
enum call_begin {
	CALL_ENTRY,
	CALL_BEGIN,
	CALL_START,
	CALL_ENTER,
	CALL_IN,
	CALL_ISSUE,
	CALL_PHASE, /* no word: a field says which one it is */
	CALL_ASKED, /* the user says it, or a model */
	CALL_BEGINS
};

/* The fields of a need: the listed keys come first, in this order. */
#define CALL_KEYS 8
enum {
	CALL_VTID = CALL_KEYS,
	CALL_VPID,
	CALL_PROCNAME,
	CALL_TID,
	CALL_RET,
	CALL_NAME,
	CALL_ADDR,
	CALL_PH = CALL_ADDR,
	CALL_PHASE_FIELD
};
#define CALL_KEY_NAMES                                                                             \
	"?id", "?req_id", "?request_id", "?corr_id", "?correlation_id", "?cid", "?handle", "?ptr"

/* How an event class takes part. */
struct call_side {
	uint8_t begins;   /* enum call_begin, by bit: a begin has one, an end those that it ends */
	bool is_end;      /* with CALL_PHASE the event says it */
	uint8_t key;      /* the field of the key; FIELD_NONE: it belongs to its thread */
	bool has_name;    /* the field "name" tells calls apart */
	bool is_function; /* so does "addr" */
};

/* By index of the class; behind that, for both events of each call of the user's, first of all
 * those that begin, a byte for each class: whether it is one. */
struct call_sides {
	uint32_t count;
	/* The trace, if it does not say where its functions are, and this host may; else NULL. */
	const struct metadata *here;
	struct call_side at[];
};

/* @number: of the call, twice, and one more for what ends it. */
static inline uint8_t *calls_asked(const struct call_sides *sides, uint32_t number)
{
	return (uint8_t *)(sides->at + sides->count) + (size_t)number * sides->count;
}

/* What the event's name is without its last word, and the separator before that; 0: the word is
 * none of those of pairs. */
size_t calls_rest(const char *event);
/* Whether the event is of -finstrument-functions: its calls are called by the address. */
bool calls_are_functions(const char *event);
/* Whether the class is one of a pair by its name, or by a field; plan_request.takes. */
bool calls_has_word(const struct event_class *class);
bool calls_has_phase(const struct event_class *class);
/* The class is a call by CALL_PHASE: what a value of its field says. */
enum call_phase { PHASE_NONE, PHASE_BEGIN, PHASE_END };
enum call_phase calls_phase_of(const struct query_value *value);
/* analysis_rare.of_plan */
void *calls_sides_of(const struct plan *plan, const struct period_set *periods);
/* The same of types without a plan; from malloc(). */
struct call_sides *calls_sides_in(const struct metadata *types, const struct period_set *periods);
/* Whether a word begins at @at: behind a separator, or with a change of case. */
bool calls_begins_word(const char *event, size_t at);
/* The only field of both that may be a key; NULL: there is none, or there are several. */
const char *calls_common_key(const struct event_class *begin, const struct event_class *end);
/* ---- calls-hints.c: analysis_rare.hint_of ---- */
char *calls_hint_of(const struct metadata *types, const struct period_set *asked);

/* Of a chunk: the first processes that this host was asked about, once each. */
#define CALLS_LOOKED_MAX 64
struct calls_chunk {
	int64_t looked[CALLS_LOOKED_MAX];
	size_t looked_count;
};

/* ---- records ---- */

enum { OWN_BEGIN = RECORD_OWN, OWN_END, OWN_LOST, OWN_IMAGE };
/* No records: the life of a thread ends; it has taken another tid. */
enum { NOTE_OVER = RECORD_KINDS, NOTE_RENAMED };

/* arg16: `begins` of the side, and what the words beside the record have. */
enum {
	CALL_HAS_KEY = 1 << 8,
	CALL_HAS_SUB = 1 << 9,
	CALL_HAS_FAILED = 1 << 10,
	CALL_HAS_DIFFS = 1 << 11, /* of what the user asked for */
};
_Static_assert(CALL_BEGINS <= 8, "begins are below the flags");

/* Words: the process (0: unknown) and the CPU; of a key its hash, which field it is, and its value;
 * and what the name has besides that of the event, as a text. */
enum { WORD_PROCESS, WORD_CPU, WORD_MORE };
enum { KEY_HASH, KEY_FIELD, KEY_VALUE, KEY_WORDS = KEY_VALUE + VALUE_WORDS };
#define SUB_BYTES      64
#define SUB_WORDS      (SUB_BYTES / sizeof(uint64_t))
#define CALL_WORDS_MAX (WORD_MORE + 1 + COUNTERS_WORDS_MAX + KEY_WORDS + SUB_WORDS)

/* Of what the user asked for the word at WORD_MORE says which call it is; then come counters, and
 * the key. */
#define WORD_COUNTERS (WORD_MORE + 1)
static inline size_t calls_word_key(uint64_t flags)
{
	return WORD_MORE + (flags & 1u << CALL_ASKED ? 1 : 0) +
	       (flags & CALL_HAS_DIFFS ? COUNTERS_WORDS_MAX : 0);
}

static inline size_t calls_words(uint64_t flags)
{
	return calls_word_key(flags) + (flags & CALL_HAS_KEY ? KEY_WORDS : 0) +
	       (flags & CALL_HAS_SUB ? SUB_WORDS : 0);
}

/* OWN_IMAGE, a record of entity 0: what its event says, and then the bytes of that. */
enum { IMAGE_SAYS, IMAGE_PID, IMAGE_BASE, IMAGE_NUMBER, IMAGE_LEN, IMAGE_WORDS };

size_t calls_needs_of(const struct period_set *periods, struct need **ret);
void calls_on_lost(struct worker *worker, void *state, uint64_t ts, bool is_over);

/* ---- calls-open.c: what is open ---- */

/* What calls are called, once for all of them. */
struct call_name {
	struct list_node node; /* first: the one that was used last is the last */
	uint32_t uses;         /* open calls, and ends that are held: it has to stay */
	uint64_t id;           /* in calls_trace.names */
	uint64_t rest;  /* hash of what the names of both events have in common; of what the user
			 * asked for, of the call */
	char *provider; /* in the text, behind its zero; "": it names none */
	char *shown;    /* the window before had an open one, called so; NULL: it had none */
	bool is_function;
	/* Of a function: where it is, what it is called, NULL: by its address, for this reason;
	 * and what was known of images when it was looked for, as it was mapped at @looked. */
	uint64_t process, address, images, looked;
	const char *symbol, *why;
	char text[]; /* "service:span flush" */
};

struct program_call {
	struct list_node node; /* first: all that are open, in the order in which they began */
	struct call_name *name;
	struct call_thread *on;             /* that began it */
	struct program_call *older, *newer; /* of the same key */
	uint64_t process, key;              /* key: hash of process, name and key; 0: it has none */
	uint64_t begin, within, cpu;        /* within: ns of calls that lie in it */
	struct diff_begin *counters;        /* NULL: of no interest */
	uint32_t depth, asked;              /* asked: which of the user's; else 0 */
	uint8_t begins, left_out;
};

/* The open calls of a thread, in the order in which they began. */
struct call_thread {
	uint64_t id;    /* no other thread of the trace has it */
	int64_t number; /* shard_thread_number() */
	bool is_shown;  /* the window before had an open one */
	bool is_over;   /* it has ended: what is open by key is in no row of a thread */
	VEC(struct program_call *) stack;
};

/* An end. */
struct call_end {
	uint64_t ts, cpu, process;
	uint64_t lost_ts; /* the last time before it that events were lost; 0: never */
	uint64_t thread;  /* as call_thread has it ... */
	int64_t number;
	struct call_name *name;
	uint64_t key;                       /* ... and as a call has it */
	uint64_t field, value[VALUE_WORDS]; /* field: which key, of what the user asked for of
					     * call `asked` */
	uint64_t asked;
	struct counters_event counters; /* words: NULL: it has none */
	uint8_t begins, left_out;
	bool has_failed, has_sub, is_by_key;
};

/* The keys of the calls of a name in a process. */
struct call_keys {
	struct list_node node;     /* first: the one that was used last is the last */
	uint64_t id;               /* hash of both */
	uint64_t first;            /* the first key; 0: there was none */
	bool varies;               /* there was another one */
	VEC(struct call_end) held; /* ends that would be those of calls on other threads */
};

struct symbols;

HASH_MAP(call_names, struct call_name *)
HASH_MAP(call_threads, struct call_thread *)
HASH_MAP(calls_by_key, struct program_call *)
HASH_MAP(call_keys_of, struct call_keys *)

struct calls_trace {
	struct call_names names;     /* by what the events have in common, and the rest of it */
	struct call_threads threads; /* by id */
	struct calls_by_key by_key;  /* the newest of each */
	struct call_keys_of keys;
	struct list open, keys_used, names_used;
	struct symbols *symbols; /* NULL: nothing was told of images ... */
	uint64_t images;         /* ... and how much was */
	uint64_t lost_ts;        /* when events were lost last; 0: never */
	uint64_t lost_before;    /* the last time before that */
	uint64_t held_count;     /* of all keys */
};

/* A begin or an end, from its record. */
void calls_begin(struct shard *shard, struct calls_trace *trace, const struct ordered *ordered);
void calls_end(struct shard *shard, struct calls_trace *trace, const struct ordered *ordered);
/* The thread has ended. */
void calls_over(struct shard *shard, struct calls_trace *trace, const struct ordered *ordered);
/* The thread has another tid now. */
void calls_renamed(struct calls_trace *trace, const struct ordered *ordered);
/* Takes the call, which is from malloc(). */
void calls_open(struct calls_trace *trace, struct program_call *call);
void calls_free(struct program_call *call);
/* Takes a name, which is from malloc(). */
void calls_add_name(struct calls_trace *trace, struct call_name *name);
/* There are none of this id. */
struct call_keys *calls_new_keys(struct calls_trace *trace, uint64_t id);
void calls_forget(struct calls_trace *trace);
void calls_checkpoint(const struct checkpoint *checkpoint, struct calls_trace *trace);

/* ---- calls-functions.c ---- */

/* Takes what an event says of an image. */
void calls_on_image(struct calls_trace *trace, const struct ordered *ordered);
/* Whether the words beside a record are such. */
bool calls_accept_image(const struct untrusted_record *untrusted);
/* The function is called by its name from here on, if there is one. */
void calls_name_function(struct calls_trace *trace, struct call_name *name, uint64_t ts);
/* Images and, after all names were read, the names of functions. */
void calls_codec_images(struct codec *codec, struct calls_trace *trace);

/* What it is called in rows. */
static inline const char *call_text(const struct call_name *name)
{
	return name->symbol ? name->symbol : name->text;
}

enum { NOTE_FLAGS, NOTE_CLASS, NOTE_WORDS };

/* ---- calls.c: what ended ---- */

enum { TOTALS, BY_NAME, PROVIDERS, THREADS, PROCESSES, LONGEST, NAMELESS, DIFFERENCES };
enum {
	ALL_CALLS,
	ALL_ERRORS,
	ALL_OPEN,
	ALL_OLDEST_NS,
	UNMATCHED,
	UNDECIDED,
	BROKEN,
	REPLACED,
	DROPPED,
	UNTIMED,
	UNNAMED,
	ALL_TIME
};

/* The call ended; @thread: where, NULL: only its number is known. */
void calls_add(struct shard *shard, const struct program_call *call, const struct call_end *end,
	       const struct ordered *ordered);

/* The thread has ended: its row has nothing open any more. */
void calls_show_over(struct call_thread *on, const struct ordered *ordered);
/* The call is one within others of its own name. */
void calls_deepens(struct shard *shard, const struct program_call *call,
		   const struct ordered *ordered);

/* Whether its end may be among events that were lost. */
static inline bool call_is_tainted(const struct program_call *call, const struct call_end *end)
{
	return call->begin <= end->lost_ts;
}
