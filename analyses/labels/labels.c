/*
 * labels: see labels.h; what ids are called, and the names of rows by that.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyses/labels/labels.h"
#include "engine/contract/untrusted.h"

struct known_label {
	struct list_node node; /* first: the list is of these */
	char *key;             /* "LABEL:ID", with the number of the label */
	char *name;
	int32_t via; /* the name is an id of this label; -1: it is the name */
};

/* ---- what is known ---- */

#define KNOWN_KEY_BYTES (ID_BYTES + 8)

static void put_key(char key[KNOWN_KEY_BYTES], unsigned int label, const char *id)
{
	(void)snprintf(key, KNOWN_KEY_BYTES, "%u:%s", label, id);
}

static struct known_label *find_known(const struct labels *labels, const char *key)
{
	struct known_label **known = known_names_get(&labels->known, key);

	return known ? *known : NULL;
}

static void free_known(struct known_label *known)
{
	free(known->key);
	free(known->name);
	free(known);
}

static void remove_known(struct labels *labels, struct known_label *known)
{
	(void)known_names_drop(&labels->known, known->key);
	list_remove(&labels->list, &known->node);
	free_known(known);
}

/* Takes it, as what was told last. */
static void add_known(struct labels *labels, struct known_label *known)
{
	bool is_new;

	assert(known->key);
	*known_names_put(&labels->known, known->key, &is_new) = known;
	assert(is_new);
	list_add(&labels->list, &known->node);
}

bool labels_take(struct labels *labels, const struct label_set *set, uint64_t source,
		 const uint64_t *words)
{
	const struct label_source *from = set->sources.at[source];
	char key[KNOWN_KEY_BYTES];
	struct known_label *known;
	bool has_forgotten = false;

	put_key(key, from->label, (const char *)(words + LABEL_ID));
	known = find_known(labels, key);
	if (known) {
		remove_known(labels, known);
	} else if (labels->list.count >= LABELS_KNOWN_MAX) {
		has_forgotten = true;
		remove_known(labels, (struct known_label *)labels->list.first);
	}
	known = mem_alloc(sizeof(*known));
	known->key = mem_strdup(key);
	known->name = mem_strdup((const char *)(words + LABEL_TEXT));
	known->via = from->value.label;
	add_known(labels, known);
	return has_forgotten;
}

void labels_forget(struct labels *labels)
{
	while (labels->list.first) {
		remove_known(labels, (struct known_label *)labels->list.first);
	}
	known_names_fini(&labels->known);
}

/* ---- names of rows ---- */

/* A label is of earlier ones only, so this ends. */
const char *labels_called(const struct labels *labels, unsigned int label, const char *id)
{
	char key[KNOWN_KEY_BYTES];
	const struct known_label *known;

	do {
		put_key(key, label, id);
		known = find_known(labels, key);
		if (!known || known->via < 0) {
			return known ? known->name : NULL;
		}
		assert(known->via < (int32_t)label);
		label = (unsigned int)known->via;
		id = known->name;
	} while (true);
}

/* A text that gets longer; from malloc(). */
static void append(char **text, const char *more, size_t len)
{
	char *longer = mem_printf("%s %.*s", *text, (int)len, more);

	free(*text);
	*text = longer;
}

/* Whether "WORD=" comes next. */
static bool is_next(const char *at, const char *word)
{
	size_t len = strlen(word);

	return strncmp(at, word, len) == 0 && at[len] == '=';
}

/* Where the item at @at ends: at what follows it, "WORD=". */
static size_t item_len(const char *at, const char *word)
{
	const char *next = word ? strchr(at, ' ') : NULL;

	while (next && !is_next(next + 1, word)) {
		next = strchr(next + 1, ' ');
	}
	return next ? (size_t)(next - at) : strlen(at);
}

static bool is_listed(const struct labels_row *row, const struct label_use *use)
{
	return !row->has_ids_only || use->label >= 0;
}

/* The length of item @i at @at: up to the nearest of what may follow, since any may be left out. */
static size_t len_of(const struct label_set *set, const struct labels_row *row, size_t i,
		     const char *at)
{
	size_t len = item_len(at, row->behind);

	while (++i < row->group->count) {
		const struct label_use *next = &row->group->uses[i];
		size_t upto = is_listed(row, next) ? item_len(at, label_use_name(set, next)) : len;

		len = upto < len ? upto : len;
	}
	return len;
}

/* Adds the items of a group, those of labels by their names; true: some had one. */
static bool add_items(char **text, const struct labels *labels, const struct label_set *set,
		      const struct labels_row *row)
{
	const char *at = row->items;
	bool any = false;

	for (size_t i = 0; i < row->group->count; i++) {
		const struct label_use *use = &row->group->uses[i];
		const char *word = label_use_name(set, use), *name = NULL;
		size_t len;

		if (!is_listed(row, use) || !is_next(at, word)) {
			continue;
		}
		len = len_of(set, row, i, at);
		if (use->label >= 0) {
			char *id = mem_printf("%.*s", (int)(len - strlen(word) - 1),
					      at + strlen(word) + 1);

			name = labels_called(labels, (unsigned int)use->label, id);
			free(id);
		}
		any |= name != NULL;
		append(text, name ? name : at, name ? strlen(name) : len);
		at += len + strspn(at + len, " ");
	}
	return any;
}

char *labels_name_of(const struct labels *labels, const struct label_set *set,
		     const struct labels_row *row)
{
	char *text = mem_strdup(row->name);

	if (!add_items(&text, labels, set, row)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- files ---- */

bool labels_accepts(const struct untrusted_record *untrusted)
{
	const uint64_t *words = untrusted->numbers;
	const struct period_set *set = untrusted->periods;
	uint64_t len;

	if (!set || untrusted->record->arg16 >= set->labels.sources.count ||
	    !untrusted_has(untrusted, LABEL_TEXT + 1)) {
		return false;
	}
	len = words[LABEL_LEN];
	return len < LABEL_TEXT_BYTES_MAX &&
	       untrusted->count >= LABEL_TEXT + len / sizeof(*words) + 1 &&
	       strnlen((const char *)(words + LABEL_ID), ID_BYTES) < ID_BYTES &&
	       strnlen((const char *)(words + LABEL_TEXT), len + 1) == len;
}

static void codec_known(struct codec *codec, struct known_label *known)
{
	codec_text(codec, &known->key);
	codec_text(codec, &known->name);
	codec_i32(codec, &known->via);
}

/* Whether the key is "LABEL:ID", and the name of an earlier label or none. */
static bool is_sound(const struct checkpoint *checkpoint, const struct labels *labels,
		     const struct known_label *known)
{
	size_t count = checkpoint->periods ? checkpoint->periods->labels.all.count : 0;
	unsigned long label;
	char *end;

	if (!known->key || !isdigit((unsigned char)known->key[0])) {
		return false;
	}
	label = strtoul(known->key, &end, 10);
	return known->name && *end == ':' && label < count &&
	       strlen(known->key) < KNOWN_KEY_BYTES && strlen(known->name) < LABEL_TEXT_BYTES_MAX &&
	       known->via >= -1 && known->via < (int32_t)label && !find_known(labels, known->key);
}

void labels_checkpoint(const struct checkpoint *checkpoint, struct labels *labels)
{
	struct codec *codec = checkpoint->codec;
	struct list_node *at = labels->list.first;
	size_t count = codec_count(codec, labels->list.count, 12);

	for (size_t i = 0; i < count && codec_check(codec, count <= LABELS_KNOWN_MAX); i++) {
		struct known_label *known = (struct known_label *)at;

		if (!codec_reads(codec)) {
			codec_known(codec, known);
			at = at->after;
			continue;
		}
		known = mem_alloc(sizeof(*known));
		codec_known(codec, known);
		if (!codec_check(codec, is_sound(checkpoint, labels, known))) {
			free_known(known);
			return;
		}
		add_known(labels, known);
	}
}
