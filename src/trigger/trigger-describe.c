/*
 * trigger-describe: what the text of a trigger means, for `sillage triggers --check`.
 */
#include <inttypes.h>

#include "base/limits.h"
#include "base/units.h"
#include "output/format.h"
#include "trigger/trigger-parts.h"

static const char *unit_of(const struct figure *figure)
{
	static const char *const names[] = {
		[UNIT_NS] = "time", [UNIT_BYTES] = "bytes", [UNIT_COUNT] = "a number"
	};

	return figure->is_share && !figure->per ? "a share of the time"
	       : figure->is_share               ? "a share"
						: names[figure_unit(figure)];
}

static void print_rows(const struct figure *figure, FILE *out)
{
	const struct table *table = figure->table;

	if (table->scope == SCOPE_TRACE) {
		(void)fputs("the trace as a whole", out);
	} else if (figure->has_id) {
		(void)fprintf(out, "the row with number %" PRId64 " of %s", figure->id, table->key);
	} else if (figure->pattern) {
		(void)fprintf(out, "each row of %s whose %s matches %s", table->key, figure->key,
			      figure->pattern);
	} else {
		(void)fprintf(out, "each row of %s", table->key);
	}
}

static void print_auto(const struct condition *c, FILE *out)
{
	char drift[UNITS_TEXT_MAX];

	(void)fprintf(
		out,
		"  limit     found from the values of each row: a share of %g of the windows is "
		"%s it\n",
		c->auto_setup.q, c->op == OP_BELOW ? "below" : "above");
	if (c->drift_ns > 0) {
		(void)fprintf(out,
			      "            of the difference from the mean of the last %s\n"
			      "  warm-up   the windows of %s, and %d more\n",
			      units_ns(drift, c->drift_ns), drift, AUTO_WARM_UP);
	} else {
		(void)fprintf(out, "  warm-up   %d windows\n", AUTO_WARM_UP);
	}
	(void)fputs("            incomplete windows have no value\n", out);
	if (c->figure.table->scope != SCOPE_TRACE && !c->figure.has_id) {
		(void)fprintf(out, "  rows      at most %d have a limit at the same time\n",
			      AUTO_ROWS_MAX);
	}
}

static void print_baseline(const struct condition *c, const char *word, FILE *out)
{
	(void)fprintf(out, "  limit     %s %.4g %% of the baseline: what it was in the same hour\n",
		      word, c->factor * 100);
	(void)fprintf(
		out,
		"            (local time) of the last %d days before that have it in the store\n"
		"            of --baseline: their median, of at least %d\n",
		BASELINE_DAYS_MAX, BASELINE_DAYS_MIN);
	if (c->figure.table->scope != SCOPE_TRACE && c->figure.table->scope != SCOPE_CPU) {
		(void)fputs("  rows      those of one name are one row\n", out);
	}
}

static void print_limit(const struct condition *c, FILE *out)
{
	const char *word = op_words(c->op);
	char limit[CELL_MAX];

	if (c->is_auto) {
		print_auto(c, out);
	} else if (c->is_baseline) {
		print_baseline(c, word, out);
	} else if (c->figure.is_share) {
		(void)fprintf(out, "  limit     %s %.4g %%\n", word, c->limit * 100);
	} else {
		format_real(limit, figure_unit(&c->figure), c->limit, c->figure.is_rate);
		(void)fprintf(out, "  limit     %s %s\n", word, limit);
	}
}

/* @how: what the comparisons are for. */
static void print_condition(const struct condition *c, const char *how, FILE *out)
{
	if (c->kind != NODE_COMPARE) {
		print_condition(c->left, how, out);
		print_condition(c->right, c->kind == NODE_AND ? "and" : "or", out);
		return;
	}
	(void)fprintf(out, "%s %s\n  analysis  %s (a trigger adds it to those of -a)\n", how,
		      c->figure.text, c->figure.analysis->name);
	(void)fprintf(out, "  figure    %s of ", figure_column(&c->figure)->key);
	print_rows(&c->figure, out);
	if (figure_is_of_sums(&c->figure)) {
		(void)fprintf(out, ", added up, divided by %s of ",
			      figure_column(c->figure.per)->key);
		print_rows(c->figure.per, out);
		(void)fputs(", added up", out);
	} else if (c->figure.per) {
		(void)fprintf(out, ", divided by %s%s", c->figure.per->text,
			      c->figure.per->table == c->figure.table &&
					      c->figure.table->scope != SCOPE_TRACE
				      ? " of the same row"
				      : "");
	}
	(void)fprintf(out, ": %s%s\n", unit_of(&c->figure), c->figure.is_rate ? " per second" : "");
	print_limit(c, out);
}

void trigger_describe(const struct trigger *trigger, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	if (trigger->objective > 0) {
		(void)fprintf(out, "objective for %.9g %% of the windows that have a value%s%s\n",
			      trigger->objective * 100, trigger->objective_ns > 0 ? ", in " : "",
			      trigger->objective_ns > 0 ? units_ns(text, trigger->objective_ns)
							: "");
	}
	print_condition(trigger->when, trigger->objective > 0 ? "a window is bad when" : "when",
			out);
	if (trigger->for_ns > 0) {
		(void)fprintf(out, "for at least %s\n", units_ns(text, trigger->for_ns));
	}
	if (trigger->until) {
		print_condition(trigger->until, "armed again when", out);
	}
	if (trigger->every_ns > 0) {
		(void)fprintf(out, "at most once in %s\n", units_ns(text, trigger->every_ns));
	}
	if (trigger->wants_complete) {
		(void)fputs("in complete windows only\n", out);
	}
	(void)fputs(trigger->subject ? "each row by itself\n"
		    : trigger->hosts ? "one state for each host\n"
				     : "one state for each trace\n",
		    out);
	if (trigger->hosts > 0) {
		(void)fprintf(out,
			      "fires when it holds on %" PRIu64 " hosts (history --per host)\n",
			      trigger->hosts);
	}
}
