/*
 * trigger-baseline: comparisons with what is usual in this hour of the day.
 *
 * Where that comes from, the source knows (trigger.h): here are the grammar, the rows of a window
 * by name, and their limits.
 */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "figure/fold.h"
#include "trigger/trigger-parts.h"

#define FACTOR_MAX 1e6

/* ---- parsing ---- */

/* Whether its rows are selected by what they have on another day, too. */
static bool is_by_name(const struct figure *figure)
{
	const struct table *table = figure->table;
	bool is_id = figure->has_id ||
		     (figure->key && table->id_key && strcmp(figure->key, table->id_key) == 0);

	return is_id ? table->scope == SCOPE_CPU ||
			       (table->scope == SCOPE_KEYED && !table->owner_key)
		     : which_is_by_name(figure);
}

static bool check(struct scan *scan, const struct figure *figure)
{
	const struct table *table = figure->table;

	if (!figure_is_stored(figure)) {
		return scan_fail(scan, "a store does not have this figure: it has no baseline");
	}
	if (figure_is_of_sums(figure)) {
		return scan_fail(scan, "a quotient of rows of its own has no baseline");
	}
	if (!is_by_name(figure)) {
		return scan_fail(scan, "rows of %s have a baseline by their names%s", table->key,
				 table->name_key ? "" : ": [comm=PATTERN]");
	}
	if (figure->is_rate && !figure_is_sum(figure)) {
		return scan_fail(scan, "only a sum is per second");
	}
	return true;
}

/* A number without a sign, in decimal digits. */
static bool take_number(const char **at, double *ret)
{
	const char *begin = *at;
	char *past;

	if (!isdigit((unsigned char)*begin) || begin[strspn(begin, "0123456789.")] == 'x') {
		return false;
	}
	*ret = strtod(begin, &past);
	*at = past;
	return *ret <= FACTOR_MAX;
}

/* +20%, -30%, x3; nothing: the baseline itself. */
static bool take_factor(const char **at, double *ret)
{
	const char *next = *at + strspn(*at, " \t\n");
	char sign = *next;
	double number = 0;

	*ret = 1;
	if (sign != '+' && sign != '-' && sign != 'x' && !isdigit((unsigned char)sign)) {
		return true;
	}
	next += !isdigit((unsigned char)sign);
	if (sign != 'x') {
		next += strspn(next, " \t\n");
	}
	*at = next;
	if (isdigit((unsigned char)sign) || !take_number(&next, &number) ||
	    (sign == 'x' ? !(number > 0) : *next++ != '%') || (sign == '-' && number > 100) ||
	    (*next && !strchr(" \t\n)", *next))) {
		return false;
	}
	*ret = sign == 'x' ? number : sign == '+' ? 1 + number / 100 : 1 - number / 100;
	*at = next;
	return true;
}

bool baseline_parse(struct scan *scan, struct condition *c)
{
	const char *past = scan->at + strlen("baseline");

	assert(strncmp(scan->at, "baseline", strlen("baseline")) == 0);
	if (isalnum((unsigned char)*past) || *past == '_') {
		return scan_fail(scan, "expected baseline, baseline +20%%, -30%% or x3");
	}
	if (!check(scan, &c->figure)) {
		return false;
	}
	scan->at = past;
	if (!take_factor(&scan->at, &c->factor)) {
		return scan_fail(scan, "expected how far from the baseline: +20%%, -30%% (at most "
				       "100%%) or x3");
	}
	c->is_baseline = true;
	if (figure_is_sum(&c->figure) && !c->figure.is_rate) {
		c->figure.is_share = figure_has_shares(&c->figure);
		c->figure.is_rate = !c->figure.is_share;
	}
	return true;
}

void trigger_baselines(const struct trigger *trigger, struct figure_list *ret)
{
	for (size_t i = 0; i < trigger->all.count; i++) {
		if (trigger->all.at[i]->is_baseline) {
			*vec_push(&ret->at) = &trigger->all.at[i]->figure;
		}
	}
}

bool trigger_uses_baseline(const struct trigger *trigger)
{
	return trigger->uses_baseline;
}

void trigger_set_baseline(struct trigger *trigger, const struct baseline_source *source)
{
	trigger->baseline = source;
}

/* ---- a window ---- */

/* The only name that its rows can have; NULL: there may be several. */
static const char *only_name(const struct figure *figure)
{
	return figure->pattern && which_is_by_name(figure) && !strpbrk(figure->pattern, "*?[\\")
		       ? figure->pattern
		       : NULL;
}

static struct baseline_bound bound_of(const struct trigger *trigger, const void *hour,
				      const struct condition *c, const char *name)
{
	const struct baseline_source *source = trigger->baseline;
	struct baseline_bound bound = { .median = NAN, .limit = NAN, .tid = -1 };

	if (hour && name) {
		bound.days = source->find(source->user, hour, &c->figure, name, &bound.median);
		bound.limit = bound.median * c->factor;
	}
	return bound;
}

static void bind_part(struct baseline_part *part, const struct trigger *trigger,
		      const struct report *report, const void *hour)
{
	const struct condition *c = part->condition;
	const struct report_table *table = part->fold ? fold_table(part->fold) : NULL;

	part->absent = bound_of(trigger, hour, c, only_name(&c->figure));
	part->absent.has_value = figure_is_sum(&c->figure);
	if (!table) {
		return;
	}
	part->rows = mem_alloc((table->row_count + 1) * sizeof(*part->rows));
	for (size_t i = 0; i < table->row_count; i++) {
		part->rows[i] = bound_of(trigger, hour, c, fold_name(part->fold, i));
		part->rows[i].has_value = figure_has_value(&c->figure, &table->rows[i]) &&
					  !isnan(figure_value(&c->figure, report, &table->rows[i]));
		part->rows[i].tid =
			c->figure.table->scope == SCOPE_THREAD ? fold_tid(part->fold, i) : -1;
	}
}

/* The table of the subject has rows by name for all comparisons. */
static void fold_subject(struct baseline_window *window, const struct trigger *trigger,
			 const struct report *report)
{
	window->tables = mem_alloc((report->table_count + 1) * sizeof(*window->tables));
	for (size_t i = 0; i < report->table_count; i++) {
		window->tables[i] = report->tables[i];
		if (report->tables[i].table == trigger->subject->table) {
			window->subject = fold_new(trigger->subject, &report->tables[i]);
			window->tables[i] = *fold_table(window->subject);
		}
	}
	window->report.tables = window->tables;
}

void baseline_window_init(struct baseline_window *window, const struct trigger *trigger,
			  const struct trace_identity *trace, const struct report *report)
{
	const struct baseline_source *source = trigger->baseline;
	const void *hour = source ? source->hour(source->user, trace, report->begin) : NULL;

	assert(trigger->uses_baseline);
	*window = (struct baseline_window){ .report = *report };
	if (trigger->subject) {
		fold_subject(window, trigger, report);
	}
	VEC_EACH_OF(&trigger->all, c) {
		bool is_of_subject = trigger->subject && trigger->subject->table == c->figure.table;
		const struct report_table *table = figure_table(&c->figure, report);
		struct baseline_part part = { .condition = c, .fold = window->subject };

		if (!c->is_baseline) {
			continue;
		}
		if (!is_of_subject) {
			part.fold = table ? fold_new(&c->figure, table) : NULL;
		}
		bind_part(&part, trigger, &window->report, hour);
		*vec_push(&window->parts) = part;
	}
}

void baseline_window_fini(struct baseline_window *window)
{
	for (size_t i = 0; i < window->parts.count; i++) {
		if (window->parts.at[i].fold != window->subject) {
			fold_free(window->parts.at[i].fold);
		}
		free(window->parts.at[i].rows);
	}
	vec_fini(&window->parts);
	fold_free(window->subject);
	free(window->tables);
}

static const struct baseline_part *part_of(const struct baseline_window *window,
					   const struct condition *c)
{
	for (size_t i = 0; i < window->parts.count; i++) {
		if (window->parts.at[i].condition == c) {
			return &window->parts.at[i];
		}
	}
	assert(false);
	return NULL;
}

const struct report_table *baseline_table(const struct baseline_window *window,
					  const struct condition *c)
{
	const struct baseline_part *part = part_of(window, c);

	return part->fold ? fold_table(part->fold) : NULL;
}

const struct baseline_bound *baseline_find(const struct baseline_window *window,
					   const struct condition *c, const struct report_row *row)
{
	const struct baseline_part *part = part_of(window, c);
	size_t at;

	if (!row) {
		return &part->absent;
	}
	assert(part->fold);
	at = (size_t)(row - fold_table(part->fold)->rows);
	assert(at < fold_table(part->fold)->row_count);
	return &part->rows[at];
}

static bool has_limit(const struct baseline_bound *bound)
{
	return bound->has_value && !isnan(bound->limit);
}

bool baseline_has_any(const struct baseline_window *window, const struct condition *c)
{
	const struct baseline_part *part = part_of(window, c);
	const struct report_table *table = part->fold ? fold_table(part->fold) : NULL;
	bool has_any = table && table->row_count == 0 && has_limit(&part->absent);

	if (table && report_is_unknown(table, c->figure.column)) {
		return false;
	}
	for (size_t i = 0; table && i < table->row_count; i++) {
		has_any |= has_limit(&part->rows[i]);
	}
	return has_any;
}
