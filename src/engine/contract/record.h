/*
 * record: one observation about a thread or an entity, with a time stamp.
 *
 * A worker emits a record for whatever the chunk alone does not decide.  It emits them in time
 * order and links those of one group (partial.h).  The merger reads the records of a thread from
 * all streams in one order: by time, then by stream, then by position.  Fixed width, no pointers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"

/* In place of a tid: the thread that runs on the CPU of the stream at that time. */
#define TID_CURRENT INT32_MIN

#define RECORD_NONE UINT32_MAX

/* What a CPU did for some time. */
enum run_kind { RUN_THREAD, RUN_IDLE, RUN_UNKNOWN, RUN_KINDS };

enum record_kind {
	/* Only from the stream that has the sched_switch events of a CPU. */
	RECORD_IN,  /* switched in at ts; ran for arg64 ns (see RECORD_LEFT) */
	RECORD_ON,  /* the same, but it ran already, under another tid (exec) */
	RECORD_OUT, /* switched out at ts */
	RECORD_RUN, /* ran for arg64 ns more, which no IN or ON counts */
	/* ran on CPU arg64 when the trace began; of KEY_CPU: the CPU ran arg32, 0: the idle thread
	 */
	RECORD_INITIAL,
	/* From any stream. */
	RECORD_GAP,           /* ran when events were lost, switches too if the stream has them */
	RECORD_RESET_UNKNOWN, /* from ts on the unknown thread is another one */
	/* was created; arg64: its process, or UINT64_MAX; arg32: its container, 0: unknown */
	RECORD_FORK,
	RECORD_EXEC,      /* executes a new program */
	RECORD_PROCESS,   /* a statedump, or a program, says its process and name */
	RECORD_CONTAINER, /* a statedump says a PID namespace (arg32); its level is arg64 */
	/* is of a container or service; arg32: its PID namespace, 0: unknown; arg64: the
	 * index of PLACE_WORDS numbers */
	RECORD_PLACE,
	/* Kinds from here on belong to the analysis in `owner`. */
	RECORD_OWN,
};
/* Kinds are below that, unless the analysis checks its records itself. */
#define RECORD_KINDS 32
/* In analysis.record_words: a text. */
#define RECORD_TEXT UINT8_MAX

/* RECORD_IN, ON, OUT: the thread exits and does not run again. */
#define RECORD_DEAD 1u
/* RECORD_IN: the first system call event of the on-CPU interval shows that no call that was entered
 * before is still open. */
#define RECORD_NO_OPEN_CALLS 2u
/* The same, written by versions that distinguished entry and exit of that call. */
#define RECORD_NO_OPEN_CALLS_EXIT 64u
/* RECORD_IN, ON: the on-CPU interval ended after arg64 ns.  Without this flag arg64 is 0, and the
 * time comes as RECORD_RUN. */
#define RECORD_LEFT 4u
/* RECORD_ON, OUT, INITIAL: the priority is known (arg32).  RECORD_IN: no RECORD_OUT follows; the
 * flags and the priority (arg32) are those of leaving the CPU, at ts + arg64. */
#define RECORD_PRIO 8u
/* RECORD_IN, ON, OUT: why the thread left: it sleeps, or it was preempted.  Neither: it could have
 * gone on, and may have yielded. */
#define RECORD_SLEEPS    16u
#define RECORD_PREEMPTED 32u /* without RECORD_SLEEPS */
/* The same, with RECORD_SLEEPS: it is stopped, traced or parked, and waits for nothing itself. */
#define RECORD_STOPPED 128u
/* All of these: stopped by a signal, or by who traces it.  (Who sleeps was not preempted.) */
#define RECORD_HALTED (RECORD_SLEEPS | RECORD_STOPPED | RECORD_PREEMPTED)
/* RECORD_IN: the priority when it was switched in, an int8_t. */
#define RECORD_PRIO_SHIFT 8
/* RECORD_CONTAINER, RECORD_PLACE: the thread is the first process of the namespace.  RECORD_FORK:
 * it came from another namespace, so it may be. */
#define RECORD_ENTERS 1u
/* RECORD_PROCESS: the statedump says so once for each level of namespaces: one that is known from
 * another level still counts. */
#define RECORD_BY_LEVEL 2u
/* RECORD_PLACE: its name is that of a container, and so of the namespace. */
#define RECORD_NAMES 4u

struct record {
	uint64_t ts; /* ns since the epoch */
	uint64_t arg64;
	uint32_t next; /* record of the same group, RECORD_NONE: the last */
	uint32_t group;
	int32_t arg32;
	uint16_t arg16;
	uint8_t kind;
	uint8_t owner; /* RECORD_OWN and above: index of the analysis in the run */
};

_Static_assert(sizeof(struct record) == 32, "two records to a cache line");

/* ---- places ---- */

/*
 * Which container or service a thread is of, as recorders say it (sillage_container): a number,
 * which is made of the kind and the name, so that it is the same in all traces; the name lies
 * behind it.
 */
#define PLACE_WORDS (1 + CONTAINER_NAME_BYTES / sizeof(uint64_t))

_Static_assert(CONTAINER_NAME_BYTES % sizeof(uint64_t) == 0, "a name is whole words");

/* Of no thread anything is known: 0.  It is of neither: this. */
#define PLACE_NONE      UINT32_C(1)
#define PLACE_NONE_NAME "(none)"

static inline uint32_t record_place_number(const void *kind, size_t kind_len, const char *name)
{
	uint64_t hash = hash_text(hash_bytes(0, kind, kind_len), name);
	uint32_t number = hash_mix(hash);

	return number > PLACE_NONE ? number : number + PLACE_NONE + 1;
}

static inline const char *record_place_name(const uint64_t words[PLACE_WORDS])
{
	return (const char *)(words + 1);
}

/* Whether words of a file may be that. */
static inline bool record_place_is_sound(const uint64_t words[PLACE_WORDS])
{
	return words[0] > 0 && words[0] <= UINT32_MAX &&
	       record_place_name(words)[CONTAINER_NAME_BYTES - 1] == '\0';
}
