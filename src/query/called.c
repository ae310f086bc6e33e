/*
 * called: see called.h.
 */
#include "query/called.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct called_name {
	struct list_node node; /* first: the list is of these */
	char *key;             /* "LABEL:ID", with the number of the label */
	char *name;
	int32_t via; /* the name is an id of this label; -1: it is the name */
};

#define KEY_BYTES (ID_BYTES + 8)

static void put_key(char key[KEY_BYTES], unsigned int label, const char *id)
{
	(void)snprintf(key, KEY_BYTES, "%u:%s", label, id);
}

static struct called_name *find_known(const struct called *called, const char *key)
{
	struct called_name **known = called_names_get(&called->known, key);

	return known ? *known : NULL;
}

static void free_known(struct called_name *known)
{
	free(known->key);
	free(known->name);
	free(known);
}

static void remove_known(struct called *called, struct called_name *known)
{
	(void)called_names_drop(&called->known, known->key);
	list_remove(&called->list, &known->node);
	free_known(known);
}

/* Takes it, as what was told last. */
static void add_known(struct called *called, struct called_name *known)
{
	bool is_new;

	assert(known->key);
	*called_names_put(&called->known, known->key, &is_new) = known;
	assert(is_new);
	list_add(&called->list, &known->node);
}

bool called_take(struct called *called, const struct label_set *set, uint64_t source,
		 const char *id, const char *name)
{
	const struct label_source *from = set->sources.at[source];
	char key[KEY_BYTES];
	struct called_name *known;
	bool has_forgotten = false;

	put_key(key, from->label, id);
	known = find_known(called, key);
	if (known) {
		remove_known(called, known);
	} else if (called->list.count >= LABELS_KNOWN_MAX) {
		has_forgotten = true;
		remove_known(called, (struct called_name *)called->list.first);
	}
	known = mem_alloc(sizeof(*known));
	known->key = mem_strdup(key);
	known->name = mem_strdup(name);
	known->via = from->value.label;
	add_known(called, known);
	return has_forgotten;
}

void called_forget(struct called *called)
{
	while (called->list.first) {
		remove_known(called, (struct called_name *)called->list.first);
	}
	called_names_fini(&called->known);
}

/* A label is of earlier ones only, so this ends. */
const char *called_find(const struct called *called, unsigned int label, const char *id)
{
	char key[KEY_BYTES];
	const struct called_name *known;

	do {
		put_key(key, label, id);
		known = find_known(called, key);
		if (!known || known->via < 0) {
			return known ? known->name : NULL;
		}
		assert(known->via < (int32_t)label);
		label = (unsigned int)known->via;
		id = known->name;
	} while (true);
}

/* ---- files ---- */

static void codec_known(struct codec *codec, struct called_name *known)
{
	codec_text(codec, &known->key);
	codec_text(codec, &known->name);
	codec_i32(codec, &known->via);
}

/* Whether the key is "LABEL:ID", and the name of an earlier label or none. */
static bool is_sound(const struct called *called, const struct called_name *known, size_t labels)
{
	unsigned long label;
	char *end;

	if (!known->key || !isdigit((unsigned char)known->key[0])) {
		return false;
	}
	label = strtoul(known->key, &end, 10);
	return known->name && *end == ':' && label < labels && strlen(known->key) < KEY_BYTES &&
	       strlen(known->name) < LABEL_TEXT_BYTES_MAX && known->via >= -1 &&
	       known->via < (int32_t)label && !find_known(called, known->key);
}

void called_codec(struct codec *codec, struct called *called, const struct label_set *set)
{
	struct list_node *at = called->list.first;
	size_t count = codec_count(codec, called->list.count, 12);

	for (size_t i = 0; i < count && codec_check(codec, count <= LABELS_KNOWN_MAX); i++) {
		struct called_name *known = (struct called_name *)at;

		if (!codec_reads(codec)) {
			codec_known(codec, known);
			at = at->after;
			continue;
		}
		known = mem_alloc(sizeof(*known));
		codec_known(codec, known);
		if (!codec_check(codec, is_sound(called, known, set ? set->all.count : 0))) {
			free_known(known);
			return;
		}
		add_known(called, known);
	}
}
