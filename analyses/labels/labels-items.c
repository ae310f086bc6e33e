/*
 * labels-items: see labels.h; items of what is open, and texts of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyses/labels/labels.h"

static size_t len_of(const uint64_t *words, size_t i)
{
	return words[0] >> i * ITEM_BITS & ((1u << ITEM_BITS) - 1);
}

/* The text of an item, or NULL. */
static const char *item_of(const uint64_t *words, size_t i)
{
	const char *at = (const char *)(words + 1);

	for (size_t k = 0; k < i; k++) {
		at += len_of(words, k) > 0 ? len_of(words, k) + 1 : 0;
	}
	return len_of(words, i) > 0 ? at : NULL;
}

size_t labels_items_count(const uint64_t *words)
{
	size_t bytes = 0;

	for (size_t i = 0; i < LABEL_GROUP_MAX; i++) {
		bytes += len_of(words, i) > 0 ? len_of(words, i) + 1 : 0;
	}
	return 1 + (bytes + sizeof(*words) - 1) / sizeof(*words);
}

const char *labels_item_id(const uint64_t *words, size_t i)
{
	const char *item = item_of(words, i), *id = item ? strchr(item, '=') : NULL;

	return id ? id + 1 : NULL;
}

void labels_add_items(struct items *items, const struct label_group *group, const uint64_t *words)
{
	for (size_t i = 0; i < group->count; i++) {
		const char *item = items->at[i] ? NULL : item_of(words, i);

		if (item) {
			items->at[i] = mem_strdup(item);
		}
	}
}

void labels_items_fini(struct items *items)
{
	for (size_t i = 0; i < LABEL_GROUP_MAX; i++) {
		free(items->at[i]);
		items->at[i] = NULL;
	}
}

void labels_items_codec(struct codec *codec, struct items *items)
{
	for (size_t i = 0; i < LABEL_GROUP_MAX; i++) {
		codec_text(codec, &items->at[i]);
		(void)codec_check(codec, !items->at[i] || strlen(items->at[i]) < ITEM_BYTES);
	}
}

void labels_put_name(char named[NAMED_BYTES], const char *name, const struct items *items)
{
	(void)snprintf(named, NAMED_BYTES, "%s%s%s%s%s", name, items->at[0] ? " " : "",
		       items->at[0] ? items->at[0] : "", items->at[1] ? " " : "",
		       items->at[1] ? items->at[1] : "");
}

bool labels_add_item(char text[INSTANCE_BY_BYTES], const char *item)
{
	size_t len = strlen(text), room = INSTANCE_BY_BYTES - len;
	int added = snprintf(text + len, room, "%s%s", len > 0 ? " " : "", item);

	if (added < 0 || (size_t)added >= room) {
		text[len] = '\0';
		return false;
	}
	return true;
}

bool labels_name_instance(struct instance *instance, const char *name,
			  const struct label_group *group, const struct items *items)
{
	char named[NAMED_BYTES];
	bool fits = true, has_all;

	labels_put_name(named, name, items);
	has_all = strlen(named) < ROW_KEY_NAME_BYTES;
	instance->keyed = row_key_of(0, has_all ? named : name, NAMED_BYTES);
	for (size_t i = 0; fits && i < group->count; i++) {
		if (items->at[i] && (group->uses[i].label >= 0 || !has_all)) {
			fits = labels_add_item(instance->by, items->at[i]);
		}
	}
	return fits;
}

bool labels_are_items(const uint64_t *words, uint64_t count)
{
	uint64_t room = (count - 1) * sizeof(*words), used = 0;

	if (count == 0) {
		return false;
	}
	for (size_t i = 0; i < LABEL_GROUP_MAX; i++) {
		size_t len = len_of(words, i);
		const char *text = (const char *)(words + 1) + used;

		if (len >= ITEM_BYTES || used + len + 1 > room + (len == 0) ||
		    (len > 0 && strnlen(text, len + 1) != len)) {
			return false;
		}
		used += len > 0 ? len + 1 : 0;
	}
	return true;
}

void labels_value_text(char text[INSTANCE_BY_BYTES], const char *name,
		       const uint64_t value[VALUE_WORDS])
{
	if (value[VALUE_KIND] >= VALUE_TEXT) {
		char is[VALUE_TEXT_BYTES + HASH_END_BYTES + 1] = { 0 };

		memcpy(is, value + VALUE_FIRST, VALUE_TEXT_BYTES);
		if (value[VALUE_KIND] >= VALUE_KINDS) {
			hash_brief_end(is, sizeof(is), value[VALUE_KIND]);
		}
		(void)snprintf(text, INSTANCE_BY_BYTES, "%s=%s", name, is);
	} else {
		(void)snprintf(text, INSTANCE_BY_BYTES,
			       value[VALUE_KIND] == VALUE_SIGNED ? "%s=%" PRId64 : "%s=%" PRIu64,
			       name, value[VALUE_FIRST]);
	}
}
