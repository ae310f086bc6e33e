/*
 * label: names for ids, as events of the trace tell them (doc/expressions.md).
 *
 *     callback = ros2:rclcpp_callback_register key=$pid,callback name=symbol
 *
 * Each such event says that, from then on, the id in the fields of `key` is called what the field
 * of `name` has.  With $pid an id belongs to a process: the context vpid, else pid.  A name that is
 * LABEL(FIELD) is what another label, which was given before, calls that id.  A label may be
 * given more than once: then each of its events tells names.
 *
 * Where a use is asked for, FIELD stands for its value, LABEL(FIELD, ...) for the name of the id in
 * the fields, and LABEL for LABEL(LABEL).  doc/definitions.md, 4.12, says which name holds when.
 */
#pragma once

#include "base/limits.h"
#include "base/mem.h"
#include "query/expression.h"
#include "query/fields.h"

#define LABEL_KEYS_MAX   EXPRESSION_KEYS_MAX /* fields; $pid is one more */
#define LABEL_GROUP_MAX  EXPRESSION_USES_MAX
#define LABEL_NAME_BYTES PATTERN_NAME_BYTES

struct label {
	char name[LABEL_NAME_BYTES];
	size_t key_count; /* fields */
	bool by_process;  /* $pid is one of the keys */
};

/* FIELD, or LABEL(FIELD, ...). */
struct label_use {
	int label; /* index; -1: the field's own value */
	const struct expression_use *is;
	const char *shown; /* what its field is called */
};

/* What divides periods or executions of a name into rows. */
struct label_group {
	struct label_use uses[LABEL_GROUP_MAX];
	size_t count;
};

/* Where an event has the id of a label: indexes of fields, as of fields_want_any(). */
struct label_at {
	uint8_t keys[LABEL_KEYS_MAX];
	uint8_t process; /* if the label is by process */
};

/* An event that tells names. */
struct label_source {
	struct expression *is;
	const char *text;  /* the user's, in `is` */
	const char *model; /* the model that it is from; NULL: none */
	bool is_left_out;  /* no trace has it (query/names.h) */
	unsigned int label;
	const struct definition *what;
	struct fields fields;
	uint8_t conditions[CONDITIONS_MAX];
	struct label_at id;
	size_t key_count; /* fields of the id */
	struct label_use value;
	struct label_at value_at; /* a field of its own: keys[0] */
};

struct label_set {
	VEC(struct label) all;
	VEC(struct label_source *) sources;
};

/* Adds a label, or another source of one.  -EINVAL with the place and what was expected there. */
int label_add(struct label_set *set, const char *text, struct err *err);
/* The uses of an expression, which has to outlive the group; LABEL alone is one.  Without labels
 * (@set is NULL) each use is its fields. */
int label_group_of(const struct label_set *set, const struct expression *is,
		   struct label_group *group, struct err *err);
/* Adds one use of it, of a label. */
int label_group_add(const struct label_set *set, const struct expression *is,
		    const struct expression_use *use, struct label_group *group, struct err *err);
/* Asks for the fields of a group in such an event; false: there is no room. */
bool label_want(struct fields *fields, const struct definition *what, const struct label_set *set,
		const struct label_group *group, struct label_at at[LABEL_GROUP_MAX]);
/* What an item is called by which a use tells rows apart: "NAME=VALUE". */
const char *label_use_name(const struct label_set *set, const struct label_use *use);
/* Whether the group has ids of labels. */
bool label_is_used(const struct label_group *group);
void label_set_fini(struct label_set *set);

/* ---- what an event says of ids as text ---- */

/*
 *     "size=5"   an item of a plain field        "94@12"   the id 94 of process 12
 *     "callback=94@12"   an item of a label      "on_timer"   a name that the event gives an id
 *
 * Texts that are longer than their room end in a hash (base/hash.h), and names in "...".
 */
#define ITEM_BYTES 96 /* its zero included */
#define ID_BYTES   64 /* the same */
_Static_assert(LABEL_NAME_BYTES + ID_BYTES <= ITEM_BYTES, "NAME=ID fits an item");

/* Writes an item; what is behind its end is 0, too.  "": the event lacks it. */
void label_item(char item[ITEM_BYTES], const struct label_set *set, const struct label_use *use,
		const struct label_at *at, const struct fields_event *event);

/* Writes the id that a source names, and the name; false: the event, which meets the source's
 * conditions, lacks a part of one. */
bool label_told(char id[ID_BYTES], char name[LABEL_TEXT_BYTES_MAX], const struct label_set *set,
		const struct label_source *source, const struct fields_event *event);
