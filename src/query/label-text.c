/*
 * label-text: see label-text.h.
 */
#include "query/label-text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

/* A text that may be longer than its room: then the hash of all of it stands for its end. */
struct text {
	char *at;
	size_t room, len;
	uint64_t hash; /* of what is longer than its room */
};

static void put(struct text *text, const void *bytes, size_t len)
{
	if (text->len + len > text->room) {
		if (text->len <= text->room) {
			text->hash = hash_bytes(0, text->at, text->len);
		}
		text->hash = hash_bytes(text->hash, bytes, len);
	}
	if (text->len < text->room) {
		size_t left = text->room - text->len;

		memcpy(text->at + text->len, bytes, len < left ? len : left);
	}
	text->len += len;
}

static void end(struct text *text)
{
	if (text->len > text->room) {
		hash_brief_end(text->at, text->room + 1, text->hash);
	}
}

/* Adds the value of a field; false: the event lacks it. */
static bool put_value(struct text *text, const struct fields_event *event, uint8_t field,
		      bool by_label)
{
	char number[QUERY_NUMBER_BYTES];
	struct query_value value;
	const char *is;
	size_t len;

	if (!fields_get(event, field, &value)) {
		return false;
	}
	is = query_value_text(&value, by_label, number, &len);
	put(text, is, len);
	return true;
}

/* Writes the id of a label; false: the event lacks part of it.  The number of an enumeration is
 * part of an id: another event may have it without labels. */
static bool put_id(char id[ID_BYTES], const struct label *label, const struct label_at *at,
		   const struct fields_event *event)
{
	struct text text = { .at = id, .room = ID_BYTES - 1 };

	memset(id, 0, ID_BYTES);
	for (size_t i = 0; i < label->key_count; i++) {
		if (i > 0) {
			put(&text, ",", 1);
		}
		if (!put_value(&text, event, at->keys[i], false)) {
			return false;
		}
	}
	if (label->by_process) {
		char pid[24];
		int64_t vpid = fields_i64(event, at->process, 0);

		put(&text, pid, (size_t)snprintf(pid, sizeof(pid), "@%" PRId64, vpid));
	}
	end(&text);
	return text.len > 0;
}

void label_text_item(char item[ITEM_BYTES], const struct label_set *set,
		     const struct label_use *use, const struct label_at *at,
		     const struct fields_event *event)
{
	struct text text = { .at = item, .room = ITEM_BYTES - 1 };
	const char *name = label_use_name(set, use);
	char id[ID_BYTES];

	memset(item, 0, ITEM_BYTES);
	put(&text, name, strlen(name));
	put(&text, "=", 1);
	if (use->label < 0) {
		if (!put_value(&text, event, at->keys[0], true)) {
			item[0] = '\0';
		}
		end(&text);
	} else if (put_id(id, &set->all.at[use->label], at, event)) {
		put(&text, id, strlen(id));
	} else {
		item[0] = '\0';
	}
}

bool label_text_told(char id[ID_BYTES], char name[LABEL_TEXT_BYTES_MAX],
		     const struct label_set *set, const struct label_source *source,
		     const struct fields_event *event)
{
	struct text text = { .at = name, .room = LABEL_TEXT_BYTES_MAX - 1 };
	int of = source->value.label;

	if (!put_id(id, &set->all.at[source->label], &source->id, event)) {
		return false;
	}
	memset(name, 0, LABEL_TEXT_BYTES_MAX);
	if (of >= 0) {
		return put_id(name, &set->all.at[of], &source->value_at, event);
	}
	if (!put_value(&text, event, source->value_at.keys[0], true)) {
		return false;
	}
	if (text.len > text.room) {
		memset(name + text.room - 3, '.', 3);
	}
	return true;
}
