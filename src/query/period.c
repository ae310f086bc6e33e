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

/* The keys of a link while it is parsed. */
struct parsed_link {
	struct key keys[PERIOD_KEYS_MAX];
	bool has_keys, has_tid;
};

/* A period while it is parsed; resolve() gives its fields their indexes. */
struct parsed {
	struct pattern_parser parser;
	struct period_set *set;
	struct period *period;
	struct parsed_link links[PERIOD_STEPS_MAX];
};

/* A key belongs to the event that was given last. */
static int take_key(struct parsed *p)
{
	struct pattern_parser *parser = &p->parser;
	size_t last = p->period->step_count - 2;
	struct parsed_link *link = &p->links[last];
	size_t *count = &p->period->links[last].key_count;
	struct key *key = &link->keys[*count];
	int r;

	if (pattern_take(parser, "$tid")) {
		link->has_tid = true;
		return 0;
	}
	if (*count == PERIOD_KEYS_MAX) {
		return pattern_expected(parser, "no more than three keys");
	}
	++*count;
	if (pattern_take(parser, "$cpu")) {
		strcpy(key->begin, "$cpu");
		strcpy(key->end, "$cpu");
		return 0;
	}
	r = pattern_word(parser, "a field, $tid or $cpu", key->begin);
	strcpy(key->end, key->begin);
	if (r == 0 && pattern_take(parser, "=")) {
		r = pattern_word(parser, "the field of the other event", key->end);
	}
	return r;
}

static int take_group(struct parsed *p)
{
	return label_take_use(&p->parser, &p->set->labels, &p->period->group);
}

static int take_list(struct parsed *p, int (*take_one)(struct parsed *p))
{
	int r = take_one(p);

	while (r == 0 && pattern_take(&p->parser, ",")) {
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

/* A definition without @WHO: keys choose the thread. */
static int take_event(struct pattern_parser *parser, struct definition *definition)
{
	int r = pattern_definition(parser, definition);

	return r == 0 && definition->who[0] ? pattern_expected(parser, "no @ before: use by") : r;
}

static int take_then(struct parsed *p)
{
	if (p->period->step_count == PERIOD_STEPS_MAX) {
		return pattern_expected(&p->parser, "no more than eight events");
	}
	return take_event(&p->parser, &p->period->steps[p->period->step_count++].what);
}

/* A word that other words follow.  At the end of the text they are expected, not the word. */
static bool take_before(struct pattern_parser *parser, const char *word)
{
	size_t len = strlen(word);

	return strncmp(parser->at, word, len) == 0 && strchr(" \t", parser->at[len]) &&
	       pattern_take(parser, word);
}

static int take_clause(struct parsed *p)
{
	struct pattern_parser *parser = &p->parser;

	if (take_before(parser, "by")) {
		p->links[p->period->step_count - 2].has_keys = true;
		return take_list(p, take_key);
	}
	if (take_before(parser, "then")) {
		return take_then(p);
	}
	if (pattern_take(parser, "each")) {
		p->period->has_each = true;
		return 0;
	}
	if (take_before(parser, "group")) {
		return take_list(p, take_group);
	}
	if (take_before(parser, "within")) {
		return take_within(p);
	}
	return pattern_expected(parser, "by, then, each, group or within");
}

static int take_semicolon(struct pattern_parser *parser, const char *what)
{
	return pattern_take(parser, ";") ? 0 : pattern_expected(parser, what);
}

static int take_name(struct parsed *p)
{
	char *name = p->period->name;
	int r = pattern_name(&p->parser, "NAME = BEGIN; END", "= and an event", name);

	for (size_t i = 0; r == 0 && i < p->set->all.count; i++) {
		if (strcmp(p->set->all.at[i]->name, name) == 0) {
			return pattern_expected(&p->parser, "another name: there is one of this");
		}
	}
	return r;
}

/* ---- fields ---- */

/* Asks for the keys of a link, for the event before it or the one after it. */
static bool want_keys(const struct parsed *p, size_t link, bool is_end, struct fields *fields,
		      uint8_t keys[PERIOD_KEYS_MAX])
{
	bool fits = true;

	for (size_t i = 0; i < p->period->links[link].key_count; i++) {
		const struct key *key = &p->links[link].keys[i];

		keys[i] = fields_want_any(fields, is_end ? key->end : key->begin);
		fits &= keys[i] != FIELD_NONE;
	}
	return fits;
}

/* Fills the indexes of one event; false: it needs too many fields. */
static bool resolve_side(const struct parsed *p, size_t step)
{
	struct period_side *side = &p->period->steps[step];
	struct fields *fields = &side->fields;
	bool fits = fields_want_conditions(fields, &side->what, side->conditions);

	side->thread = FIELD_NONE;
	for (size_t i = 0; i < side->what.count; i++) {
		if (side->what.conditions[i].is_tid) {
			side->thread = side->conditions[i];
		}
	}
	fits &= step == 0 || want_keys(p, step - 1, true, fields, side->before);
	fits &= step + 1 == p->period->step_count || want_keys(p, step, false, fields, side->after);
	fits &= label_want(fields, &p->set->labels, &p->period->group, side->groups);
	return fields_want_thread(fields, &side->running) && fits;
}

static int resolve_links(struct parsed *p)
{
	struct period *period = p->period;
	bool any_keys = false;

	for (size_t i = 0; i + 1 < period->step_count; i++) {
		period->links[i].by_thread = !p->links[i].has_keys || p->links[i].has_tid;
		any_keys |= !period->links[i].by_thread;
	}
	period->is_chain = period->step_count > 2 || period->has_each;
	period->by_thread = !period->is_chain && period->links[0].by_thread;
	if (period->has_each && !any_keys) {
		return pattern_expected(&p->parser, "events by keys, where each counts");
	}
	return 0;
}

static int resolve(struct parsed *p)
{
	struct period *period = p->period;
	const struct period *parent = period->within < 0 ? NULL : p->set->all.at[period->within];
	int r = resolve_links(p);

	assert(period->within < (int)p->set->all.count);
	for (size_t i = 0; r == 0 && i < period->step_count; i++) {
		if (!resolve_side(p, i)) {
			return pattern_expected(&p->parser, "fewer fields in all");
		}
	}
	if (r == 0 && parent && !(parent->by_thread && period->by_thread)) {
		return pattern_expected(&p->parser, "periods by $tid, one within the other");
	}
	return r;
}

/* ---- the whole ---- */

static int parse(struct parsed *p)
{
	struct pattern_parser *parser = &p->parser;
	int r;

	pattern_blanks(parser);
	r = take_name(p);
	p->period->step_count = 2;
	r = r < 0 ? r : take_event(parser, &p->period->steps[0].what);
	r = r < 0 ? r : take_semicolon(parser, "; and the event that ends it");
	r = r < 0 ? r : take_event(parser, &p->period->steps[1].what);
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
	assert(p.period->step_count <= PERIOD_STEPS_MAX);
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
	r = job_parse(text, &set->labels, &job, err);
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

#define JOB_WORD   "job "
#define LABEL_WORD "label "
#define MODEL_WORD "model "

size_t period_set_count(const struct period_set *set)
{
	return set->labels.sources.count + set->all.count + set->jobs.count;
}

/* Labels come first: what uses them is given after them. */
char *period_set_text(const struct period_set *set, size_t i)
{
	size_t labels = set->labels.sources.count;
	const char *text, *kind = "", *model;

	assert(i < period_set_count(set));
	if (i < labels) {
		kind = LABEL_WORD;
		text = set->labels.sources.at[i]->text;
		model = set->labels.sources.at[i]->model;
	} else if (i - labels < set->all.count) {
		text = set->all.at[i - labels]->text;
		model = set->all.at[i - labels]->model;
	} else {
		kind = JOB_WORD;
		text = set->jobs.at[i - labels - set->all.count]->text;
		model = set->jobs.at[i - labels - set->all.count]->model;
	}
	return mem_printf("%s%s%s", model ? MODEL_WORD : "", kind, text);
}

/* What follows @word; NULL: the text is that of a period, whose name a "=" follows. */
static const char *behind(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *at = text + len;

	return strncmp(text, word, len) == 0 && at[strspn(at, " \t")] != '=' ? at : NULL;
}

static int add_text(struct period_set *set, const char *text, struct err *err)
{
	const char *job = behind(text, JOB_WORD), *label = behind(text, LABEL_WORD);

	if (label) {
		return label_add(&set->labels, label, err);
	}
	return job ? period_add_job(set, job, err) : period_add(set, text, err);
}

int period_add_text(struct period_set *set, const char *text, struct err *err)
{
	static const char some[] = "";
	const char *of_model = behind(text, MODEL_WORD);
	struct period_set before = *set;
	int r = add_text(set, of_model ? of_model : text, err);

	if (r == 0 && of_model) {
		period_set_mark(set, &before, some);
	}
	return r;
}

void period_set_mark(struct period_set *set, const struct period_set *before, const char *model)
{
	for (size_t i = before->labels.sources.count; i < set->labels.sources.count; i++) {
		set->labels.sources.at[i]->model = model;
	}
	for (size_t i = before->all.count; i < set->all.count; i++) {
		set->all.at[i]->model = model;
	}
	for (size_t i = before->jobs.count; i < set->jobs.count; i++) {
		set->jobs.at[i]->model = model;
	}
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
	label_set_fini(&set->labels);
	for (size_t i = 0; i < set->models.count; i++) {
		free(set->models.at[i]);
	}
	vec_fini(&set->models);
}
