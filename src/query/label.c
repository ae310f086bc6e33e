/*
 * label: see label.h.
 */
#include "query/label.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"

static int find_label(const struct label_set *set, const char *name)
{
	for (size_t i = 0; i < set->all.count; i++) {
		if (strcmp(set->all.at[i].name, name) == 0) {
			return (int)i;
		}
	}
	return -1;
}

/* ---- uses ---- */

/* @from: the expression that has the use. */
static int use_of(const struct label_set *set, const struct expression *from,
		  const struct expression_use *is, struct label_use *use, struct err *err)
{
	const char *label = is->label[0] ? is->label : is->fields[0];
	size_t keys;

	*use = (struct label_use){ .label = set ? find_label(set, label) : -1,
				   .is = is,
				   .shown = expression_shown(from, is->fields[0]) };
	if (set && use->label < 0 && is->label[0]) {
		return expression_expected(from, is->at,
					   "the name of a label that was given before", err);
	}
	keys = use->label < 0 ? is->count : set->all.at[use->label].key_count;
	if (keys != is->count && is->label[0]) {
		return expression_expected(from, is->at, "as many fields as the label has keys",
					   err);
	}
	return keys == is->count ? 0
				 : expression_expected(from, is->at + strlen(label),
						       "( and the fields of the label", err);
}

int label_group_of(const struct label_set *set, const struct expression *is,
		   struct label_group *group, struct err *err)
{
	int r = 0;

	group->count = is->use_count;
	for (size_t i = 0; r == 0 && i < is->use_count; i++) {
		r = use_of(set, is, &is->uses[i], &group->uses[i], err);
	}
	return r;
}

int label_group_add(const struct label_set *set, const struct expression *is,
		    const struct expression_use *use, struct label_group *group, struct err *err)
{
	if (group->count == LABEL_GROUP_MAX) {
		return expression_expected(is, use->at, "no more than two", err);
	}
	return use_of(set, is, use, &group->uses[group->count++], err);
}

static bool want_use(struct fields *fields, const struct definition *what,
		     const struct label_set *set, const struct label_use *use, struct label_at *at)
{
	bool fits = true;

	for (size_t i = 0; i < use->is->count; i++) {
		at->keys[i] = fields_want_any(fields, what, use->is->fields[i]);
		fits &= at->keys[i] != FIELD_NONE;
	}
	if (use->label >= 0 && set->all.at[use->label].by_process) {
		at->process = fields_want_any(fields, what, "$pid");
		fits &= at->process != FIELD_NONE;
	}
	return fits;
}

bool label_want(struct fields *fields, const struct definition *what, const struct label_set *set,
		const struct label_group *group, struct label_at at[LABEL_GROUP_MAX])
{
	bool fits = true;

	for (size_t i = 0; i < group->count; i++) {
		fits &= want_use(fields, what, set, &group->uses[i], &at[i]);
	}
	return fits;
}

const char *label_use_name(const struct label_set *set, const struct label_use *use)
{
	return use->label < 0 ? use->shown : set->all.at[use->label].name;
}

bool label_is_used(const struct label_group *group)
{
	bool is_used = false;

	for (size_t i = 0; i < group->count; i++) {
		is_used |= group->uses[i].label >= 0;
	}
	return is_used;
}

/* ---- labels ---- */

static int expected(const struct label_source *source, const char *what, struct err *err)
{
	return expression_expected(source->is, NULL, what, err);
}

/* Whether it fits what is known of the label. */
static int check(const struct label_source *source, const struct label_set *set, int label,
		 struct err *err)
{
	const struct label *known = label < 0 ? NULL : &set->all.at[label];
	size_t before = label < 0 ? set->all.count : (size_t)label;

	if (known && (known->key_count != source->key_count ||
		      known->by_process != source->is->by_process)) {
		return expected(source, "the keys that this label has elsewhere", err);
	}
	/* Names of names end: each is of an earlier label. */
	if (source->value.label >= 0 && (size_t)source->value.label >= before) {
		return expected(source, "a name by a label that was given before this", err);
	}
	return 0;
}

static int resolve(struct label_source *source, struct label_set *set, struct err *err)
{
	const struct expression *is = source->is;
	struct label_use key = { .label = find_label(set, is->name), .is = &is->key };
	int r = use_of(set, is, &is->value, &source->value, err);

	source->what = &is->events[0];
	source->key_count = is->key.count;
	r = r < 0 ? r : check(source, set, key.label, err);
	if (r == 0 && key.label < 0 && set->all.count == LABELS_MAX) {
		r = err_raise(err, -EINVAL, "no more than %d labels", LABELS_MAX);
	}
	if (r < 0) {
		return r;
	}
	if (key.label < 0) {
		struct label *label = vec_push(&set->all);

		*label = (struct label){ .key_count = is->key.count, .by_process = is->by_process };
		strcpy(label->name, is->name);
		key.label = (int)set->all.count - 1;
	}
	source->label = (unsigned int)key.label;
	if (!fields_want_conditions(&source->fields, source->what, source->conditions) ||
	    !want_use(&source->fields, source->what, set, &key, &source->id) ||
	    !want_use(&source->fields, source->what, set, &source->value, &source->value_at)) {
		return expected(source, "fewer fields in all", err);
	}
	return 0;
}

static void source_free(struct label_source *source)
{
	expression_free(source->is);
	free(source);
}

int label_add(struct label_set *set, const char *text, struct err *err)
{
	struct label_source *source = mem_alloc(sizeof(*source));
	int r = set->sources.count == LABELS_MAX
			? err_raise(err, -EINVAL, "no more than %d labels", LABELS_MAX)
			: expression_parse(text, FORM_LABEL, &source->is, err);

	r = r < 0 ? r : resolve(source, set, err);
	if (r < 0) {
		source_free(source);
		return r;
	}
	source->text = source->is->text;
	*vec_push(&set->sources) = source;
	return 0;
}

void label_set_fini(struct label_set *set)
{
	vec_free_each(&set->sources, source_free);
	vec_fini(&set->all);
}

/* ---- texts ---- */

/* A text that may be longer than its room: then the hash of all of it stands for its end. */
struct bounded {
	char *at;
	size_t room, len;
	uint64_t hash; /* of what is longer than its room */
};

static void put(struct bounded *text, const void *bytes, size_t len)
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

static void end(struct bounded *text)
{
	if (text->len > text->room) {
		hash_brief_end(text->at, text->room + 1, text->hash);
	}
}

/* Adds the value of a field; false: the event lacks it. */
static bool put_value(struct bounded *text, const struct fields_event *event, uint8_t field,
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
	struct bounded text = { .at = id, .room = ID_BYTES - 1 };

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

void label_item(char item[ITEM_BYTES], const struct label_set *set, const struct label_use *use,
		const struct label_at *at, const struct fields_event *event)
{
	struct bounded text = { .at = item, .room = ITEM_BYTES - 1 };
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

bool label_told(char id[ID_BYTES], char name[LABEL_TEXT_BYTES_MAX], const struct label_set *set,
		const struct label_source *source, const struct fields_event *event)
{
	struct bounded text = { .at = name, .room = LABEL_TEXT_BYTES_MAX - 1 };
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
