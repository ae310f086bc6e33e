/*
 * label: see label.h.
 */
#include "query/label.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int take_field(struct pattern_parser *parser, struct label_use *use)
{
	if (use->count == LABEL_KEYS_MAX) {
		return pattern_expected(parser, "no more than three fields");
	}
	return pattern_word(parser, "a field", use->fields[use->count++]);
}

static int take_arguments(struct pattern_parser *parser, const struct label_set *set,
			  struct label_use *use)
{
	int r;

	do {
		parser->at++; /* the parenthesis or comma */
		pattern_blanks(parser);
		r = take_field(parser, use);
	} while (r == 0 && *parser->at == ',');
	if (r == 0 && *parser->at != ')') {
		return pattern_expected(parser, "a comma or )");
	}
	if (r == 0 && set && use->count != set->all.at[use->label].key_count) {
		return pattern_expected(parser, "as many fields as the label has keys before");
	}
	if (r == 0) {
		parser->at++;
		pattern_blanks(parser);
	}
	return r;
}

static int take_use(struct pattern_parser *parser, const struct label_set *set,
		    struct label_use *use)
{
	const char *begin = parser->at;
	char word[PATTERN_WORD_BYTES];
	int r = pattern_word(parser, "a field", word);

	*use = (struct label_use){ .label = r < 0 || !set ? -1 : find_label(set, word) };
	if (r == 0 && *parser->at == '(') {
		if (set && use->label < 0) {
			parser->at = begin;
			return pattern_expected(parser,
						"the name of a label that was given before");
		}
		return take_arguments(parser, set, use);
	}
	if (r == 0 && use->label >= 0 && set->all.at[use->label].key_count != 1) {
		return pattern_expected(parser, "( and the fields of the label");
	}
	strcpy(use->fields[0], r == 0 ? word : "");
	use->count = 1;
	return r;
}

int label_take_use(struct pattern_parser *parser, const struct label_set *set,
		   struct label_group *group)
{
	if (group->count == LABEL_GROUP_MAX) {
		return pattern_expected(parser, "no more than two fields");
	}
	return take_use(parser, set, &group->uses[group->count++]);
}

static bool want_process(struct fields *fields, struct label_at *at)
{
	at->vpid = fields_want(fields, "context.", "vpid");
	at->pid = fields_want(fields, "context.", "pid");
	return at->vpid != FIELD_NONE && at->pid != FIELD_NONE;
}

static bool want_use(struct fields *fields, const struct label_set *set,
		     const struct label_use *use, struct label_at *at)
{
	bool fits = true;

	for (size_t i = 0; i < use->count; i++) {
		at->keys[i] = fields_want_any(fields, use->fields[i]);
		fits &= at->keys[i] != FIELD_NONE;
	}
	if (use->label >= 0 && set->all.at[use->label].by_process) {
		fits &= want_process(fields, at);
	}
	return fits;
}

bool label_want(struct fields *fields, const struct label_set *set, const struct label_group *group,
		struct label_at at[LABEL_GROUP_MAX])
{
	bool fits = true;

	for (size_t i = 0; i < group->count; i++) {
		fits &= want_use(fields, set, &group->uses[i], &at[i]);
	}
	return fits;
}

const char *label_use_name(const struct label_set *set, const struct label_use *use)
{
	return use->label < 0 ? use->fields[0] : set->all.at[use->label].name;
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

/* A label while it is parsed. */
struct parsed {
	struct pattern_parser parser;
	struct label label;
	struct label_source *source;
	struct label_use key; /* its fields */
	bool has_key, has_value;
};

static int take_keys(struct parsed *p)
{
	struct pattern_parser *parser = &p->parser;
	int r = 0;

	do {
		if (pattern_take(parser, "$pid")) {
			p->label.by_process = true;
		} else {
			r = take_field(parser, &p->key);
		}
	} while (r == 0 && pattern_take(parser, ","));
	if (r == 0 && p->key.count == 0) {
		return pattern_expected(parser, "a field beside $pid");
	}
	return r;
}

/* Skips "WORD =", if it is written that way. */
static bool take_clause(struct pattern_parser *parser, const char *word)
{
	struct pattern_parser after = *parser;

	if (!pattern_take(&after, word) || !pattern_take(&after, "=")) {
		return false;
	}
	parser->at = after.at;
	return true;
}

static int take_condition(struct pattern_parser *parser, struct definition *what)
{
	int r = pattern_condition(parser, what);

	return r == 0 && what->has_tid ? pattern_expected(parser, "no $tid before: ids are of no "
								  "thread")
				       : r;
}

static int take_parts(struct parsed *p, const struct label_set *set)
{
	struct pattern_parser *parser = &p->parser;
	int r = pattern_word(parser, "the name of an event", p->source->what.event);

	while (r == 0 && *parser->at) {
		if (take_clause(parser, "key")) {
			r = p->has_key ? pattern_expected(parser, "one key") : take_keys(p);
			p->has_key = true;
		} else if (take_clause(parser, "name")) {
			r = p->has_value ? pattern_expected(parser, "one name")
					 : take_use(parser, set, &p->source->value);
			p->has_value = true;
		} else {
			r = take_condition(parser, &p->source->what);
		}
		(void)(r == 0 && pattern_take(parser, ","));
	}
	if (r == 0 && !p->has_key) {
		return pattern_expected(parser, "key=FIELD");
	}
	return r == 0 && !p->has_value ? pattern_expected(parser, "name=FIELD") : r;
}

/* Whether it fits what is known of the label. */
static int check(const struct parsed *p, const struct label_set *set, int label)
{
	const struct label *known = label < 0 ? NULL : &set->all.at[label];
	size_t before = label < 0 ? set->all.count : (size_t)label;

	if (known &&
	    (known->key_count != p->key.count || known->by_process != p->label.by_process)) {
		return pattern_expected(&p->parser, "the keys that this label has elsewhere");
	}
	/* Names of names end: each is of an earlier label. */
	if (p->source->value.label >= 0 && (size_t)p->source->value.label >= before) {
		return pattern_expected(&p->parser, "a name by a label that was given before this");
	}
	return 0;
}

static int resolve(struct parsed *p, struct label_set *set)
{
	struct label_source *source = p->source;
	struct label_use key = p->key;
	int label = find_label(set, p->label.name);
	int r = check(p, set, label);

	if (r < 0) {
		return r;
	}
	if (label < 0) {
		if (set->all.count == LABELS_MAX) {
			return err_raise(p->parser.err, -EINVAL, "no more than %d labels",
					 LABELS_MAX);
		}
		label = (int)set->all.count;
		p->label.key_count = key.count;
		*vec_push(&set->all) = p->label;
	}
	source->label = (unsigned int)label;
	source->key_count = key.count;
	key.label = label;
	if (!fields_want_conditions(&source->fields, &source->what, source->conditions) ||
	    !want_use(&source->fields, set, &key, &source->id) ||
	    !want_use(&source->fields, set, &source->value, &source->value_at)) {
		return pattern_expected(&p->parser, "fewer fields in all");
	}
	return 0;
}

int label_add(struct label_set *set, const char *text, struct err *err)
{
	struct parsed p = { .parser = { .text = text, .at = text, .err = err },
			    .source = mem_alloc(sizeof(struct label_source)) };
	int r;

	if (set->sources.count == LABELS_MAX) {
		r = err_raise(err, -EINVAL, "no more than %d labels", LABELS_MAX);
	} else {
		pattern_blanks(&p.parser);
		r = pattern_name(&p.parser, "NAME = EVENT key=FIELD name=FIELD", "= and an event",
				 p.label.name);
		r = r < 0 ? r : take_parts(&p, set);
		r = r < 0 ? r : resolve(&p, set);
	}
	if (r < 0) {
		free(p.source);
		return r;
	}
	p.source->text = mem_strdup(text);
	*vec_push(&set->sources) = p.source;
	return 0;
}

void label_set_fini(struct label_set *set)
{
	for (size_t i = 0; i < set->sources.count; i++) {
		free(set->sources.at[i]->text);
		free(set->sources.at[i]);
	}
	vec_fini(&set->sources);
	vec_fini(&set->all);
}
