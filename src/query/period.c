/*
 * period: see period.h.
 */
#include "query/period.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

struct key {
	char begin[PATTERN_WORD_BYTES], end[PATTERN_WORD_BYTES];
};

/* A period while it is parsed; resolve() gives its fields their indexes. */
struct parsed {
	struct pattern_parser parser;
	struct period_set *set;
	struct period *period;
	struct key keys[PERIOD_KEYS_MAX];
	bool has_keys, has_tid;
};

/* ---- words ---- */

/* Skips @word and the blanks behind it, if the text continues with it. */
static bool take(struct pattern_parser *parser, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(parser->at, word, len) != 0) {
		return false;
	}
	parser->at += len;
	pattern_blanks(parser);
	return true;
}

static int take_key(struct parsed *p)
{
	struct pattern_parser *parser = &p->parser;
	struct key *key = &p->keys[p->period->key_count];
	int r;

	if (take(parser, "$tid")) {
		p->has_tid = true;
		return 0;
	}
	if (p->period->key_count == PERIOD_KEYS_MAX) {
		return pattern_expected(parser, "no more than three keys");
	}
	p->period->key_count++;
	if (take(parser, "$cpu")) {
		strcpy(key->begin, "$cpu");
		strcpy(key->end, "$cpu");
		return 0;
	}
	r = pattern_word(parser, "a field, $tid or $cpu", key->begin);
	strcpy(key->end, key->begin);
	if (r == 0 && take(parser, "=")) {
		r = pattern_word(parser, "the field of the other event", key->end);
	}
	return r;
}

static int take_group(struct parsed *p)
{
	if (p->period->group_count == PERIOD_GROUPS_MAX) {
		return pattern_expected(&p->parser, "no more than two fields");
	}
	return pattern_word(&p->parser, "a field", p->period->groups[p->period->group_count++]);
}

static int take_list(struct parsed *p, int (*take_one)(struct parsed *p))
{
	int r = take_one(p);

	while (r == 0 && take(&p->parser, ",")) {
		r = take_one(p);
	}
	return r;
}

static int take_within(struct parsed *p)
{
	char name[PATTERN_WORD_BYTES];
	const char *begin = p->parser.at;
	int r = pattern_word(&p->parser, "the name of a period", name);

	for (size_t i = 0; r == 0 && i < p->set->all.count; i++) {
		if (strcmp(p->set->all.at[i]->name, name) == 0) {
			p->period->within = (int)i;
		}
	}
	if (r == 0 && p->period->within < 0) {
		p->parser.at = begin;
		return pattern_expected(&p->parser, "the name of a period that was given before");
	}
	return r;
}

static int take_clause(struct parsed *p)
{
	struct pattern_parser *parser = &p->parser;

	if (take(parser, "by ")) {
		p->has_keys = true;
		return take_list(p, take_key);
	}
	if (take(parser, "group ")) {
		return take_list(p, take_group);
	}
	if (take(parser, "within ")) {
		return take_within(p);
	}
	return pattern_expected(parser, "by, group or within");
}

/* A definition without @WHO: keys choose the thread. */
static int take_event(struct pattern_parser *parser, struct definition *definition)
{
	int r = pattern_definition(parser, definition);

	return r == 0 && definition->who[0] ? pattern_expected(parser, "no @ before: use by") : r;
}

static int take_semicolon(struct pattern_parser *parser, const char *what)
{
	return take(parser, ";") ? 0 : pattern_expected(parser, what);
}

static int take_name(struct parsed *p)
{
	char name[PATTERN_WORD_BYTES];
	int r = pattern_word(&p->parser, "NAME = BEGIN; END", name);

	if (r == 0 && strlen(name) >= PERIOD_NAME_BYTES) {
		return pattern_expected(&p->parser, "a name of at most 31 characters before");
	}
	if (r == 0 && !take(&p->parser, "=")) {
		return pattern_expected(&p->parser, "= and an event");
	}
	for (size_t i = 0; r == 0 && i < p->set->all.count; i++) {
		if (strcmp(p->set->all.at[i]->name, name) == 0) {
			return pattern_expected(&p->parser, "another name: there is one of this");
		}
	}
	if (r == 0) {
		(void)snprintf(p->period->name, sizeof(p->period->name), "%.31s", name);
	}
	return r;
}

/* ---- fields ---- */

/* The index of a field of the request, which is added if it is new; FIELD_NONE: no room. */
static uint8_t want(struct period_side *side, const char *prefix, const char *name)
{
	char text[sizeof(side->names[0])];

	(void)snprintf(text, sizeof(text), "%s%s", prefix, name);
	for (size_t i = 0; i < side->count; i++) {
		if (strcmp(side->names[i], text) == 0) {
			return (uint8_t)i;
		}
	}
	if (side->count == PLAN_FIELDS_MAX) {
		return FIELD_NONE;
	}
	strcpy(side->names[side->count], text);
	side->fields[side->count] = side->names[side->count];
	return (uint8_t)side->count++;
}

/* The index of a field that the trace may have as a number or as text: both are added, in this
 * order. */
static uint8_t want_any(struct period_side *side, const char *name)
{
	uint8_t at = (uint8_t)side->count;

	if (strcmp(name, "$cpu") == 0) {
		return FIELD_CPU;
	}
	if (side->count + 2 > PLAN_FIELDS_MAX) {
		return FIELD_NONE;
	}
	for (unsigned int i = 0; i < 2; i++) {
		(void)snprintf(side->names[at + i], sizeof(side->names[0]), "%s%s",
			       i ? PLAN_TEXT : "", name);
		side->fields[at + i] = side->names[at + i];
	}
	side->count += 2;
	return at;
}

/* Fills the indexes of one event; false: it needs too many fields. */
static bool resolve_side(const struct parsed *p, struct period_side *side, bool is_end)
{
	bool fits = true;

	side->thread = FIELD_NONE;
	for (size_t i = 0; i < side->what.count; i++) {
		side->conditions[i] = want(side, "", side->what.conditions[i].field);
		fits &= side->conditions[i] != FIELD_NONE;
		if (side->what.conditions[i].is_tid) {
			side->thread = side->conditions[i];
		}
	}
	for (size_t i = 0; i < p->period->key_count; i++) {
		side->keys[i] = want_any(side, is_end ? p->keys[i].end : p->keys[i].begin);
		fits &= side->keys[i] != FIELD_NONE;
	}
	for (size_t i = 0; i < p->period->group_count; i++) {
		side->groups[i] = want_any(side, p->period->groups[i]);
		fits &= side->groups[i] != FIELD_NONE;
	}
	side->tid = want(side, "context.", "tid");
	side->vtid = want(side, "context.", "vtid");
	return fits && side->tid != FIELD_NONE && side->vtid != FIELD_NONE;
}

static int resolve(struct parsed *p)
{
	struct period *period = p->period;
	const struct period *parent = period->within < 0 ? NULL : p->set->all.at[period->within];

	assert(period->within < (int)p->set->all.count);
	period->by_thread = !p->has_keys || p->has_tid;
	if (!resolve_side(p, &period->begin, false) || !resolve_side(p, &period->end, true)) {
		return pattern_expected(&p->parser, "fewer fields in all");
	}
	if (parent && !(parent->by_thread && period->by_thread)) {
		return pattern_expected(&p->parser, "periods by $tid, one within the other");
	}
	return 0;
}

/* ---- the whole ---- */

static int parse(struct parsed *p)
{
	struct pattern_parser *parser = &p->parser;
	int r;

	pattern_blanks(parser);
	r = take_name(p);
	r = r < 0 ? r : take_event(parser, &p->period->begin.what);
	r = r < 0 ? r : take_semicolon(parser, "; and the event that ends it");
	r = r < 0 ? r : take_event(parser, &p->period->end.what);
	while (r == 0 && *parser->at) {
		r = take_semicolon(parser, "; or the end");
		r = r < 0 ? r : take_clause(p);
	}
	return r < 0 ? r : resolve(p);
}

int period_add(struct period_set *set, const char *text, struct err *err)
{
	struct parsed p = { .parser = { .text = text, .at = text, .err = err }, .set = set };
	int r;

	if (set->all.count >= PERIODS_MAX) {
		return err_raise(err, -EINVAL, "no more than %d periods", PERIODS_MAX);
	}
	p.period = mem_alloc(sizeof(*p.period));
	p.period->within = -1;
	r = parse(&p);
	if (r < 0) {
		free(p.period);
		return r;
	}
	assert(p.period->name[0]);
	assert(p.period->key_count <= PERIOD_KEYS_MAX);
	assert(p.period->group_count <= PERIOD_GROUPS_MAX);
	p.period->text = mem_strdup(text);
	*vec_push(&set->all) = p.period;
	return 0;
}

int period_add_span(struct period_set *set, const char *text, struct err *err)
{
	const char *comma = strchr(text, ',');
	char name[PERIOD_NAME_BYTES], *whole;
	int r;

	if (!comma || comma == text || !comma[1] || strpbrk(text, ";=<>&$ ")) {
		return err_raise(err, -EINVAL,
				 "\"%s\": expected BEGIN,END: the names of two events", text);
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)(comma - text), text);
	whole = mem_printf("%s = %.*s; %s", name, (int)(comma - text), text, comma + 1);
	r = period_add(set, whole, err);
	free(whole);
	return r;
}

int period_add_job(struct period_set *set, const char *text, struct err *err)
{
	struct job_spec *job;
	int r;

	if (set->jobs.count >= JOBS_ASKED_MAX) {
		return err_raise(err, -EINVAL, "no more than %d jobs", JOBS_ASKED_MAX);
	}
	r = job_parse(text, &job, err);
	for (size_t i = 0; r == 0 && i < set->jobs.count; i++) {
		if (strcmp(set->jobs.at[i]->name, job->name) == 0) {
			r = err_raise(err, -EINVAL, "\"%s\": there is another job of this name",
				      job->name);
			job_free(job);
		}
	}
	if (r == 0) {
		*vec_push(&set->jobs) = job;
	}
	return r;
}

/* ---- all as texts ---- */

#define JOB_WORD "job "

size_t period_set_count(const struct period_set *set)
{
	return set->all.count + set->jobs.count;
}

char *period_set_text(const struct period_set *set, size_t i)
{
	assert(i < period_set_count(set));
	return i < set->all.count
		       ? mem_strdup(set->all.at[i]->text)
		       : mem_printf(JOB_WORD "%s", set->jobs.at[i - set->all.count]->text);
}

/* No period begins like that: a "=" follows its name. */
int period_add_text(struct period_set *set, const char *text, struct err *err)
{
	size_t len = strlen(JOB_WORD);
	const char *at = text + len;

	if (strncmp(text, JOB_WORD, len) == 0 && at[strspn(at, " \t")] != '=') {
		return period_add_job(set, at, err);
	}
	return period_add(set, text, err);
}

void period_set_fini(struct period_set *set)
{
	for (size_t i = 0; i < set->all.count; i++) {
		free(set->all.at[i]->text);
		free(set->all.at[i]);
	}
	vec_fini(&set->all);
	for (size_t i = 0; i < set->jobs.count; i++) {
		job_free(set->jobs.at[i]);
	}
	vec_fini(&set->jobs);
}
