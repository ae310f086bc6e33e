/*
 * labels: names for ids (query/label.h), and the items that tell rows of a group apart; for
 * analyses whose rows users divide: periods and jobs.
 *
 *     labels-worker.c   worker   what an event tells: items of a group, the name of an id
 *     labels-items.c    shard    items of what is open
 *     labels.c          trace    the names of rows by what ids are called (query/called.h)
 *
 * A row is of ids.  When it is shown, they are called what the trace told last, up to the end of
 * the window.  So a name may come after the first use of its id, and the same row has the same
 * figures under any name.
 */
#pragma once

#include "base/hash.h"
#include "base/limits.h"
#include "base/queue.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "query/called.h"
#include "query/period.h"

/*
 * Items as words beside a record: "size=5" or "callback=94@12" for each use of a group.  First a
 * word with the lengths, ITEM_BITS for each; 0: the event lacks it.  Then texts that end in a 0,
 * one after the other.  Longer ones than that, and ids, end in a hash (base/hash.h).
 */
#define ITEM_BITS   16
#define ITEMS_WORDS (1 + LABEL_GROUP_MAX * ITEM_BYTES / sizeof(uint64_t))

/* Words of the record of a name: its length, the id, and the name, which ends in a 0. */
enum { LABEL_LEN, LABEL_ID, LABEL_TEXT = LABEL_ID + ID_BYTES / sizeof(uint64_t) };
#define LABEL_WORDS_MAX (LABEL_TEXT + LABEL_TEXT_BYTES_MAX / sizeof(uint64_t))

/* A row's name: that of the period or job, of what is measured, and items. */
#define NAMED_BYTES (PATTERN_NAME_BYTES + PATTERN_WORD_BYTES + LABEL_GROUP_MAX * ITEM_BYTES)

/* A value as words beside a record: a number, or a text; of a longer one its begin, and as the kind
 * the hash of all of it. */
enum { VALUE_KIND, VALUE_FIRST, VALUE_WORDS = 3 };
enum { VALUE_UNSIGNED, VALUE_SIGNED, VALUE_TEXT, VALUE_KINDS };
#define VALUE_TEXT_BYTES ((VALUE_WORDS - VALUE_FIRST) * sizeof(uint64_t))

/* ---- labels-worker.c ---- */

void labels_put_value(uint64_t value[VALUE_WORDS], const struct query_value *has);

/* The event, of which these fields were asked for. */
static inline struct fields_event labels_event(const struct worker *worker,
					       const struct fields *fields,
					       const struct trace_event *event)
{
	return (struct fields_event){ fields, event->class, event->binding, event->values,
				      worker_cpu(worker) };
}
/* Adds the keys of a link to a hash, as the event has them (@keys: side->before or after), and
 * fills their values, each of VALUE_WORDS, which may be NULL.  False: the event lacks one. */
bool labels_put_keys(const struct period_side *side, const uint8_t *keys,
		     const struct period_link *link, const struct fields_event *event,
		     uint64_t *hash, uint64_t *values);
/* The thread of the event: that of its condition with $tid, else as worker_thread_of(). */
int64_t labels_thread_of(struct worker *worker, const struct period_side *side,
			 const struct trace_event *event);
/* Fills the items of a group, whose fields the event has at @at; returns how many words they are.
 */
size_t labels_put_items(uint64_t words[ITEMS_WORDS], const struct label_set *set,
			const struct label_group *group, const struct label_at *at,
			const struct fields_event *event);
/* Adds a need for each event that tells names, with the source as `user`; returns how many. */
size_t labels_needs_of(const struct label_set *set, handler_fn *on_label, struct need *needs);
/* The rest of that handler: emits a record of this kind with the source in arg16, if the event
 * tells a name. */
void labels_note(struct worker *worker, const struct trace_event *event, uint32_t source,
		 uint64_t entity, unsigned int kind);

/* ---- labels-items.c ---- */

/* What was given first for each item of a group; from malloc(), NULL: nothing was. */
struct items {
	char *at[LABEL_GROUP_MAX];
};

/* Adds what is not known yet, of the words that labels_put_items() made. */
void labels_add_items(struct items *items, const struct label_group *group, const uint64_t *words);
void labels_items_fini(struct items *items);
void labels_items_codec(struct codec *codec, struct items *items);
/* "NAME", or "NAME ITEM ITEM". */
void labels_put_name(char named[NAMED_BYTES], const char *name, const struct items *items);
/* Adds an item to a text, if all of it fits: part of one is another one's text. */
bool labels_add_item(char text[INSTANCE_BY_BYTES], const char *item);
/* Gives an instance the name, and begins its text with the ids of the group; if the name with all
 * items does not fit a key, with the other items, too.  False: the text has no room for all. */
bool labels_name_instance(struct instance *instance, const char *name,
			  const struct label_group *group, const struct items *items);
/* "dev=8" */
void labels_value_text(char text[INSTANCE_BY_BYTES], const char *name,
		       const uint64_t value[VALUE_WORDS]);
/* How many words the items are. */
size_t labels_items_count(const uint64_t *words);
/* The id, or value, of an item; NULL: the event lacked it. */
const char *labels_item_id(const uint64_t *words, size_t i);
/* Whether so many words are items. */
bool labels_are_items(const uint64_t *words, uint64_t count);

/* ---- labels.c ---- */

/* Takes the name of a record of labels_note(), from its words; as called_take(). */
static inline bool labels_take(struct called *called, const struct label_set *set, uint64_t source,
			       const uint64_t *words)
{
	return called_take(called, set, source, (const char *)(words + LABEL_ID),
			   (const char *)(words + LABEL_TEXT));
}
/* Whether a record of labels_note() from a file is sound. */
bool labels_accepts(const struct untrusted_record *untrusted);
/* A row's items as text, one after the other. */
struct labels_row {
	const char *name; /* of the period or job */
	const struct label_group *group;
	bool has_ids_only;  /* items of plain fields are left out */
	const char *behind; /* "WORD" of WORD=VALUE that may follow; NULL: nothing does */
	const char *items;
};

/* The row's name, with ids by their names; from malloc(), NULL: no id has a name. */
char *labels_name_of(const struct called *called, const struct label_set *set,
		     const struct labels_row *row);
