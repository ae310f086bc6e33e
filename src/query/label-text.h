/*
 * label-text: what an event says of ids as text (query/label.h): items of a group, ids of labels,
 * and names.
 *
 *     "size=5"   an item of a plain field        "94@12"   the id 94 of process 12
 *     "callback=94@12"   an item of a label      "on_timer"   a name that the event gives an id
 *
 * Texts that are longer than their room end in a hash (base/hash.h), and names in "...".
 */
#pragma once

#include "base/limits.h"
#include "query/label.h"

#define ITEM_BYTES 96 /* its zero included */
#define ID_BYTES   64 /* the same */
_Static_assert(LABEL_NAME_BYTES + ID_BYTES <= ITEM_BYTES, "NAME=ID fits an item");

/* Writes an item; what is behind its end is 0, too.  "": the event lacks it. */
void label_text_item(char item[ITEM_BYTES], const struct label_set *set,
		     const struct label_use *use, const struct label_at *at,
		     const struct fields_event *event);

/* Writes the id that a source names, and the name; false: the event, which meets the source's
 * conditions, lacks a part of one. */
bool label_text_told(char id[ID_BYTES], char name[LABEL_TEXT_BYTES_MAX],
		     const struct label_set *set, const struct label_source *source,
		     const struct fields_event *event);
