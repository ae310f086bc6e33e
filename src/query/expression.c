/*
 * expression: see expression.h.
 */
#include "query/expression-parser.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"

/* ---- what each option allows ---- */

enum {
	BY = 1,
	THEN = 2,
	EACH = 4,
	GROUP = 8,
	WITHIN = 16,
	DEADLINE = 32,
	EVERY = 64,
	ERROR = 128,
	ONLY = 256,
	DIFF = 512
};

struct form {
	unsigned int clauses;
	const char *clause; /* what is expected where one of them begins */
	size_t most;        /* events */
	bool is_list;       /* events follow each other; else more than two have "then" */
	bool has_models;
	/* What is expected, and where the option does not allow something, why not. */
	const char *name, *more, *fewer, *no_who, *no_tid;
};

#define OF_PERIODS                                                                                 \
	.most = EXPRESSION_STEPS_MAX, .fewer = "no more than eight events",                        \
	.more = "; and the event that ends it"
#define OF_JOBS                                                                                    \
	.most = EXPRESSION_EVENTS_MAX, .fewer = "no more than sixteen events",                     \
	.more = "; and a second event, or a model (--job help lists them)", .is_list = true,       \
	.has_models = true

typedef int take_function(struct parser *p);

static const struct form forms[FORMS] = {
	[FORM_PERIOD] = { OF_PERIODS, .no_who = "no @ before: use by",
			  .clauses = BY | THEN | EACH | GROUP | WITHIN | DIFF,
			  .clause = "by, then, each, group, within or diff" },
	[FORM_SPAN] = { OF_PERIODS },
	[FORM_CALL] = { OF_PERIODS, .no_who = "no @ before: use by",
			.clauses = BY | GROUP | ERROR | DIFF,
			.clause = "by, group, error or diff" },
	[FORM_JOB] = { OF_JOBS, .clauses = BY | DEADLINE | EVERY | GROUP | ONLY | WITHIN | DIFF,
		       .clause = "by, deadline, every, only, group, within or diff" },
	[FORM_AROUND] = { OF_JOBS, .clauses = BY, .clause = "by" },
	[FORM_LABEL] = { .most = 1,
			 .name = "NAME = EVENT key=FIELD name=FIELD",
			 .no_who = "no @ before: an id belongs to no thread",
			 .no_tid = "no $tid before: an id belongs to no thread" },
};

int expression_expected(const struct expression *expression, const char *at, const char *what,
			struct err *err)
{
	const struct scan scan = { .text = expression->text,
				   .at = at ? at : expression->text + strlen(expression->text),
				   .err = err };

	return scan_expected(&scan, what);
}

/* ---- conditions ---- */

static int take_condition(struct parser *p, struct definition *definition)
{
	struct pattern_condition *condition = &definition->conditions[definition->count];
	int r;

	if (definition->count == CONDITIONS_MAX) {
		return expression_lacks(p, "no more than eight conditions");
	}
	r = expression_field(p, "a field", (struct among){ definition, 1 }, condition->field);
	r = r < 0 ? r : pattern_parse(&p->scan, condition);
	definition->has_tid |= condition->is_tid;
	definition->count++;
	return r == 0 && condition->is_tid && p->form->no_tid ? expression_lacks(p, p->form->no_tid)
							      : r;
}

/* ---- lists ---- */

static int take_use(struct parser *p, struct expression_use *use)
{
	const struct among all = { p->is->events, p->is->event_count };
	int r;

	use->at = p->scan.at;
	r = expression_field(p, "a field", all, use->fields[0]);
	use->count = 1;
	use->end = p->scan.at;
	if (r < 0 || *p->scan.at != '(') {
		return r;
	}
	if (p->option == FORM_CALL) {
		return expression_lacks(p, "a field before: calls have no labels");
	}
	if (strlen(use->fields[0]) >= sizeof(use->label)) {
		return expression_lacks(p, "a shorter name before");
	}
	strcpy(use->label, use->fields[0]);
	use->count = 0;
	do {
		(void)scan_take(&p->scan, use->count == 0 ? "(" : ",");
		if (use->count == EXPRESSION_KEYS_MAX) {
			return expression_lacks(p, "no more than three fields");
		}
		r = expression_field(p, "a field", all, use->fields[use->count++]);
	} while (r == 0 && *p->scan.at == ',');
	if (r == 0 && !scan_take(&p->scan, ")")) {
		return expression_lacks(p, "a comma or )");
	}
	use->end = p->scan.at;
	return r;
}

static int take_group(struct parser *p)
{
	int r;

	do {
		if (p->is->use_count == EXPRESSION_USES_MAX) {
			return expression_lacks(p, "no more than two fields");
		}
		r = take_use(p, &p->is->uses[p->is->use_count++]);
	} while (r == 0 && scan_take(&p->scan, ","));
	return r;
}

static int take_key(struct parser *p, struct expression_link *link)
{
	struct expression_key *key = &link->keys[link->key_count];
	static const char what[] = "a field, $tid, $pid, $cpu or global";
	size_t last = p->is->event_count - 1;
	const struct among begin = { &p->is->events[last - 1], 1 },
			   end = { &p->is->events[last], 1 };
	const struct scan before = p->scan;
	int r;

	if (scan_take(&p->scan, "$tid")) {
		link->has_tid = true;
		return 0;
	}
	if (link->key_count == EXPRESSION_KEYS_MAX) {
		return expression_lacks(p, "no more than three keys");
	}
	link->key_count++;
	r = expression_field(p, what, begin, key->begin);
	if (r == 0 && scan_take(&p->scan, "=")) {
		return expression_field(p, "the field of the other event", end, key->end);
	}
	p->scan = r < 0 ? p->scan : before;
	return r < 0 ? r : expression_field(p, what, end, key->end);
}

/* They belong to the event that was given last. */
static int take_by(struct parser *p)
{
	struct expression_link *link;
	int r = 0;

	assert(p->is->event_count >= 2);
	if (p->form->is_list && p->is->event_count > 2) {
		return expression_lacks(p, "two events, which agree in keys");
	}
	link = &p->is->links[p->is->event_count - 2];
	link->has_keys = true;
	link->at = p->scan.at;
	link->met = link->met ? link->met : mem_alloc(sizeof(*link->met));
	link->is_global = scan_take_word(&p->scan, "global", ";");
	if (!link->is_global || (*p->scan.at && *p->scan.at != ';')) {
		do {
			r = take_key(p, link);
		} while (r == 0 && scan_take(&p->scan, ","));
	}
	p->is->events_end = p->scan.at; /* it is a part of the pattern */
	return r;
}

/* ---- events ---- */

/* sched_in and sched_out stand for a sched_switch to and from a thread. */
static int resolve_alias(const struct parser *p, struct definition *definition)
{
	bool is_in = strcmp(definition->event, "sched_in") == 0;
	struct pattern_condition *condition = &definition->conditions[definition->count];

	if (!is_in && strcmp(definition->event, "sched_out") != 0) {
		return 0;
	}
	if (definition->count == CONDITIONS_MAX) {
		return expression_lacks(p, "no more than seven conditions before");
	}
	definition->count++;
	strcpy(definition->event, "sched_switch");
	strcpy(condition->field, is_in ? "next_tid" : "prev_tid");
	condition->is_tid = true;
	definition->has_tid = true;
	return 0;
}

/* The fields of a label's ids. */
static int take_ids(struct parser *p)
{
	const struct among first = { p->is->events, 1 };
	struct expression_use *key = &p->is->key;
	int r = 0;

	if (key->at) {
		return expression_lacks(p, "one key");
	}
	key->at = p->scan.at;
	do {
		if (scan_take(&p->scan, "$pid")) {
			p->is->by_process = true;
		} else if (key->count == EXPRESSION_KEYS_MAX) {
			return expression_lacks(p, "no more than three fields");
		} else {
			r = expression_field(p, "a field", first, key->fields[key->count++]);
		}
	} while (r == 0 && scan_take(&p->scan, ","));
	return r == 0 && key->count == 0 ? expression_lacks(p, "a field beside $pid") : r;
}

/* Takes "WORD =", if a label has it here. */
static bool take_part(struct parser *p, const char *word)
{
	const struct scan before = p->scan;

	if (p->option == FORM_LABEL && scan_take(&p->scan, word) && scan_take(&p->scan, "=")) {
		return true;
	}
	p->scan = before;
	return false;
}

static int take_who(struct parser *p, struct pattern_who *who)
{
	char one[PATTERN_WORD_BYTES];
	int r;

	if (who->count > 0) {
		return expression_lacks(p, "one @, with | between threads");
	}
	do {
		r = expression_word(p, "a tid or the name of a thread", one, sizeof(one));
		if (r == 0 && !pattern_add_who(who, one)) {
			return expression_lacks(p, "fewer threads before");
		}
	} while (r == 0 && scan_take(&p->scan, "|"));
	return r;
}

/* A condition, or what else an event has. */
static int take_item(struct parser *p, struct definition *definition)
{
	if (scan_take(&p->scan, "@")) {
		return take_who(p, &definition->who);
	}
	if (take_part(p, "key")) {
		return take_ids(p);
	}
	if (take_part(p, "name")) {
		return p->is->value.at ? expression_lacks(p, "one name")
				       : take_use(p, &p->is->value);
	}
	return take_condition(p, definition);
}

/* What has no name is called as its model or its first event. */
static void name_by(struct expression *is, const char *name)
{
	bool is_named = is->name[0] != '\0';

	for (size_t i = 0; !is_named && name[i] && i + 1 < sizeof(is->name); i++) {
		is->name[i] = scan_is_letter(name[i], PATTERN_LETTERS) ? name[i] : '_';
	}
}

static int take_event(struct parser *p)
{
	struct expression *is = p->is;
	struct definition *definition = &is->events[is->event_count];
	int r;

	if (is->event_count == p->form->most) {
		return expression_lacks(p, p->form->fewer);
	}
	is->event_count++;
	r = expression_word(p, "the name of an event", definition->event,
			    sizeof(definition->event));
	name_by(is, definition->event);
	while (r == 0 && p->option != FORM_SPAN && *p->scan.at && *p->scan.at != ';') {
		r = take_item(p, definition);
		(void)(r == 0 && scan_take(&p->scan, ","));
	}
	if (r == 0 && definition->who.count > 0 && p->form->no_who) {
		return expression_lacks(p, p->form->no_who);
	}
	return r < 0 ? r : resolve_alias(p, definition);
}

/* ---- clauses ---- */

static int take_each(struct parser *p)
{
	p->is->has_each = true;
	return 0;
}

/* Fields of the first event and the last. */
static int take_diff(struct parser *p)
{
	const struct among none = { p->is->events, 0 };
	int r = p->is->diff_count > 0 ? expression_lacks(p, "one diff, with commas between fields")
				      : 0;

	while (r == 0) {
		if (p->is->diff_count == EXPRESSION_DIFFS_MAX) {
			return expression_lacks(p, "no more than four fields");
		}
		r = expression_field(p, "a field", none, p->is->diffs[p->is->diff_count++]);
		if (!scan_take(&p->scan, ",")) {
			break;
		}
	}
	return r;
}

/* Conditions of the event that ends a call. */
static int take_error(struct parser *p)
{
	struct definition *error = &p->is->error;
	int r;

	do {
		r = take_condition(p, error);
		(void)(r == 0 && scan_take(&p->scan, ","));
	} while (r == 0 && *p->scan.at && *p->scan.at != ';');
	return r == 0 && error->has_tid ? expression_lacks(p, "no $tid before: an error is a value")
					: r;
}

static int take_within(struct parser *p)
{
	if (p->is->within[0]) {
		return expression_lacks(p, "one within");
	}
	p->is->within_at = p->scan.at;
	return expression_word(p,
			       p->option == FORM_JOB ? "the name of a job" : "the name of a period",
			       p->is->within, sizeof(p->is->within));
}

static int take_time(struct parser *p, uint64_t *ret, bool is_first)
{
	const struct scan before = p->scan;
	char text[PATTERN_WORD_BYTES];
	int r;

	if (!is_first) {
		return expression_lacks(p, "one deadline and one period");
	}
	r = expression_word(p, "a duration", text, sizeof(text));
	if (r == 0 && (units_parse_duration(text, ret) < 0 || *ret == 0 || *ret == UINT64_MAX)) {
		return scan_expected(&before, "a duration as 2ms or 1.5s");
	}
	return r;
}

static int take_deadline(struct parser *p)
{
	return take_time(p, &p->is->deadline_ns, p->is->deadline_ns == UINT64_MAX);
}

/* LABEL(FIELD), once. */
static int take_named(struct parser *p, struct expression_use *use)
{
	int r = use->count > 0 ? expression_lacks(p, "one only") : take_use(p, use);

	return r == 0 && !use->label[0] ? expression_lacks(p, "LABEL(FIELD) before") : r;
}

static int take_every(struct parser *p)
{
	const struct scan before = p->scan;
	char text[PATTERN_WORD_BYTES];
	struct err unused;
	struct scan next = p->scan;
	bool is_named;
	int r;

	next.err = &unused;
	is_named =
		scan_text(&next, PATTERN_LETTERS, "", text, sizeof(text)) == 0 && *next.at == '(';
	if (p->is->every_ns > 0 || p->is->due.count > 0) {
		return expression_lacks(p, "one deadline and one period");
	}
	p->scan = before;
	r = is_named ? take_named(p, &p->is->due) : take_time(p, &p->is->every_ns, true);
	p->is->is_fixed = r == 0 && scan_take_word(&p->scan, "fixed", ";");
	return r;
}

static int take_only(struct parser *p)
{
	int r = take_named(p, &p->is->only);

	if (r < 0 || !scan_take(&p->scan, "=")) {
		return r < 0 ? r : expression_lacks(p, "= and what the name is");
	}
	r = scan_text(&p->scan, PATTERN_LETTERS, "a name, or a pattern of names", p->is->only_is,
		      sizeof(p->is->only_is));
	p->is->only.end = p->scan.at;
	return r;
}

/* The clause that comes next, behind its word; NULL: none of this form does. */
static take_function *next_clause(const struct parser *p, struct scan *scan)
{
	static const struct {
		const char *word;
		const char *behind; /* what may follow beside a blank: at the end, words lack */
		unsigned int clause;
		take_function *take;
	} clauses[] = { { "by", "", BY, take_by },
			{ "then", "", THEN, take_event },
			{ "each", ";", EACH, take_each },
			{ "group", "", GROUP, take_group },
			{ "within", "", WITHIN, take_within },
			{ "deadline", "", DEADLINE, take_deadline },
			{ "every", "", EVERY, take_every },
			{ "only", "", ONLY, take_only },
			{ "diff", "", DIFF, take_diff },
			{ "error", "", ERROR, take_error } };

	for (size_t i = 0; i < ARRAY_COUNT(clauses); i++) {
		if ((p->form->clauses & clauses[i].clause) &&
		    scan_take_word(scan, clauses[i].word, clauses[i].behind)) {
			return clauses[i].take;
		}
	}
	return NULL;
}

/* Whether a semicolon comes next and a clause behind it. */
static bool is_clause_next(const struct parser *p)
{
	struct scan after = p->scan;

	return scan_take(&after, ";") && next_clause(p, &after);
}

static int take_clauses(struct parser *p)
{
	int r = 0;

	while (r == 0 && *p->scan.at) {
		take_function *take;

		if (!p->form->clauses || !scan_take(&p->scan, ";")) {
			return expression_lacks(p, p->form->clauses ? "; or the end" : "the end");
		}
		take = next_clause(p, &p->scan);
		r = take ? take(p) : expression_lacks(p, p->form->clause);
	}
	return r;
}

/* ---- the whole ---- */

/* A word is a name if "=" follows: an event has a field before it. */
static int take_name(struct parser *p)
{
	char name[PATTERN_WORD_BYTES] = "";
	struct scan next = p->scan;
	struct err unused;
	bool has_word;

	next.err = &unused;
	has_word =
		*next.at != '"' && scan_text(&next, PATTERN_LETTERS, "", name, sizeof(name)) == 0;
	p->is->has_name = has_word && *next.at == '=' && p->option != FORM_SPAN;
	if (!p->is->has_name && !p->form->name) {
		return 0;
	}
	p->scan.at = next.at;
	if (!p->is->has_name) {
		return expression_lacks(p, has_word ? "= and an event" : p->form->name);
	}
	if (strlen(name) >= PATTERN_NAME_BYTES) {
		return expression_lacks(p, "a name of at most 31 characters before");
	}
	name_by(p->is, name);
	(void)scan_take(&p->scan, "=");
	return 0;
}

/* Takes a model, if its name is all there is before the clauses. */
static bool take_model(struct parser *p)
{
	for (const struct pattern_model *model = pattern_models;
	     p->form->has_models && model->name[0]; model++) {
		struct parser after = *p, pattern = *p;
		int r = 0;

		if (!scan_take_word(&after.scan, model->name, ";") ||
		    (*after.scan.at && !is_clause_next(&after))) {
			continue;
		}
		p->is->model = model;
		name_by(p->is, model->name);
		pattern.scan.at = pattern.scan.text = model->pattern;
		do {
			r = take_event(&pattern);
		} while (r == 0 && scan_take(&pattern.scan, ";"));
		assert(r == 0); /* models are right */
		(void)r;
		p->scan.at = after.scan.at;
		return true;
	}
	return false;
}

/* Whether another event follows; takes what is between them. */
static bool take_between(struct parser *p)
{
	size_t count = p->is->event_count;

	if (p->option == FORM_SPAN) {
		p->is->comma_at = count < 2 ? p->scan.at : p->is->comma_at;
		return count < 2 && scan_take(&p->scan, ",");
	}
	if (!p->form->is_list) {
		return count < 2 && p->option != FORM_LABEL && scan_take(&p->scan, ";");
	}
	return !is_clause_next(p) && scan_take(&p->scan, ";") && *p->scan.at;
}

static int take_events(struct parser *p)
{
	const struct expression *is = p->is;
	int r;

	p->is->events_at = p->scan.at;
	do {
		r = p->is->event_count == 0 && take_model(p) ? 0 : take_event(p);
	} while (r == 0 && take_between(p));
	p->is->events_end = p->scan.at;
	if (r == 0 && p->form->more && is->event_count < 2) {
		return expression_lacks(p, p->form->more);
	}
	for (size_t i = 0; r == 0 && p->form->is_list && i < is->event_count; i++) {
		if (is->events[i].who.count > 0 && is->event_count > 2) {
			return expression_lacks(p, "two events: from one thread to another (@)");
		}
	}
	return r;
}

static int parse(struct parser *p)
{
	int r;

	scan_blanks(&p->scan);
	r = take_name(p);
	r = r < 0 ? r : take_events(p);
	r = r < 0 ? r : take_clauses(p);
	if (r == 0 && p->option == FORM_LABEL && !p->is->key.at) {
		return expression_lacks(p, "key=FIELD");
	}
	if (r == 0 && p->option == FORM_LABEL && !p->is->value.at) {
		return expression_lacks(p, "name=FIELD");
	}
	if (r == 0 && (p->is->due.count > 0 || p->is->only.count > 0) &&
	    !p->is->links[0].has_keys) {
		return expression_lacks(p, "by and keys: names are of ids");
	}
	if (r < 0 && p->option == FORM_SPAN) {
		return expression_lacks(p, "BEGIN,END: the names of two events");
	}
	return r;
}

int expression_parse(const char *text, enum expression_form form, struct expression **ret,
		     struct err *err)
{
	struct expression *is = mem_alloc(sizeof(*is));
	struct parser p = { .option = form, .form = &forms[form], .is = is };
	int r;

	is->text = mem_strdup(text);
	is->deadline_ns = UINT64_MAX;
	p.scan = (struct scan){ .text = is->text, .at = is->text, .err = err };
	r = parse(&p);
	if (r < 0) {
		expression_free(is);
		return r;
	}
	assert(is->name[0]);
	assert(is->event_count >= (form == FORM_LABEL ? 1 : 2));
	*ret = is;
	return 0;
}

char *expression_text(const struct expression *expression)
{
	const char *text = expression->text, *comma = expression->comma_at;

	if (comma) {
		return mem_printf("%s = %.*s; %s", expression->name, (int)(comma - text), text,
				  comma + 1);
	}
	return expression->has_name ? mem_strdup(text)
				    : mem_printf("%s = %s", expression->name, text);
}

void expression_free(struct expression *expression)
{
	for (size_t i = 0; expression && i < expression->event_count; i++) {
		pattern_fini(&expression->events[i]);
	}
	for (size_t i = 0; expression && i < EXPRESSION_STEPS_MAX; i++) {
		free(expression->links[i].met);
	}
	if (expression) {
		pattern_fini(&expression->error);
		free(expression->text);
	}
	free(expression);
}
