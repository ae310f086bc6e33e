/*
 * called: what ids are called, as the events of labels told it so far (query/label.h).
 *
 *     id, name ── called_take() ──► names by label and id ── called_find() ──► name
 *
 * A later name replaces an earlier one.  At most LABELS_KNOWN_MAX ids have one: of more, what was
 * told longest ago is forgotten.
 */
#pragma once

#include "base/codec.h"
#include "base/hash.h"
#include "base/queue.h"
#include "query/label.h"

struct called_name;
HASH_MAP_TEXT(called_names, struct called_name *)

/* All 0: nothing is known. */
struct called {
	struct called_names known; /* by "LABEL:ID" */
	struct list list;          /* the name that was told last is the last */
};

/* Takes a name that source @source of the labels tells.  True: another one had to be forgotten. */
bool called_take(struct called *called, const struct label_set *set, uint64_t source,
		 const char *id, const char *name);
/* What the id is called, or NULL. */
const char *called_find(const struct called *called, unsigned int label, const char *id);
void called_forget(struct called *called);
/* Writes what is known, or reads it: bytes are untrusted.  @set: NULL: there are no labels. */
void called_codec(struct codec *codec, struct called *called, const struct label_set *set);
