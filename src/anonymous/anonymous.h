/*
 * anonymous: a trace without the names that are in it: of threads, programs, hosts, files and
 * network addresses.
 *
 *     "/home/anna/run 3"  ──► "/QZ4M/7KPB/VXA N"      a word has the same number of bytes ...
 *     "run"               ──► "VXA"                   ... and the same word in all places
 *
 *     anonymous.c            keys, words and bytes
 *     anonymous-hash.c       the keyed hash
 *     anonymous-metadata.c   texts in metadata: environment, clocks, attributes
 *     anonymous-packet.c     texts and rows of bytes in events
 *
 * A word is what lies between characters of "/:[]()=, " or the ends of a text.  Its pseudonym is a
 * keyed hash (SipHash-2-4) in capital letters and digits; without the key nobody finds out whether
 * a word that he guesses has been there.  Words of up to ANONYMOUS_SHORT bytes that would become
 * the same get others, so that rows stay apart; which ones depends on the order in which they came.
 *
 * Lengths stay, so packets keep their layout and each number of bytes its value.  So do numbers:
 * times, sizes, ids of threads, memory addresses; and the names of event classes, fields and
 * labels, which say what a program can tell, and not what it did.  A few words stay, which have a
 * meaning for analyses: see anonymous.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ctf/metadata/metadata.h"
#include "ctf/plan/plan.h"

#define ANONYMOUS_KEY_BYTES 16
#define ANONYMOUS_SHORT     12

struct anonymous;

/* Makes a key.  -errno. */
int anonymous_key(uint8_t key[ANONYMOUS_KEY_BYTES], struct err *err);
struct anonymous *anonymous_new(const uint8_t key[ANONYMOUS_KEY_BYTES]);
void anonymous_free(struct anonymous *anonymous); /* NULL is fine */

/* Replaces the words of a text; @to has @len bytes, and may be @text. */
void anonymous_text(struct anonymous *anonymous, const char *text, size_t len, char *to);
/* The same of bytes that are no text; zeros stay. */
void anonymous_bytes(struct anonymous *anonymous, const uint8_t *bytes, size_t len, uint8_t *to);
/* The same of a name; from malloc(). */
char *anonymous_copy(struct anonymous *anonymous, const char *text);
/* The name of a stream's file: the CPU behind its last '_' stays. */
char *anonymous_stream(struct anonymous *anonymous, const char *name);
/* The path of a trace in its session: the parts that LTTng gives it stay. */
char *anonymous_path(struct anonymous *anonymous, const char *path);

/* The text of a trace's metadata, of CTF @major; -EINVAL: it cannot be read.  *@ret_len bytes, from
 * malloc(), with a zero behind them.  Comments are dropped. */
int anonymous_metadata(struct anonymous *anonymous, uint32_t major, const char *text, size_t len,
		       char **ret, size_t *ret_len, struct err *err);

/* A trace, whose packets are rewritten. */
struct anonymous_trace;
/* @metadata outlives it.  @ignores_uuid: see plan_ignore_uuid().  -ENOTSUP: its packets' headers
 * have texts. */
int anonymous_trace_new(struct anonymous *anonymous, struct metadata_stream *metadata,
			bool ignores_uuid, struct anonymous_trace **ret, struct err *err);
void anonymous_trace_free(struct anonymous_trace *trace); /* NULL is fine */
/* Rewrites the first @len bytes of a packet to @to.  What no event has, gaps and what is behind a
 * place that cannot be read, is not copied.  false: it has no header that can be read, or a signal
 * came (now_must_leave()). */
bool anonymous_packet(struct anonymous_trace *trace, const uint8_t *bytes, size_t len, uint8_t *to);
