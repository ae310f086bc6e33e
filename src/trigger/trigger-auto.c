/*
 * trigger-auto: comparisons with auto(q) and auto(q, drift D).
 *
 * Each row that is compared has a limit of its own, in each trace.  What a window says is taken
 * once, before the trigger is evaluated.  A window that is incomplete or shorter than the others,
 * and one in which the figure is unknown or the row is missing, has no value.  Of a list
 * AUTO_ROWS_MAX rows are followed; a new one takes the place of that which was missing for longest,
 * and gets none if all are in the window.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/units.h"
#include "trigger/auto-limit.h"
#include "trigger/trigger-parts.h"

/* ---- parsing ---- */

static bool take_drift(struct scan *scan, uint64_t *ret_ns)
{
	char word[32];
	size_t len;

	scan_blanks(scan);
	if (strncmp(scan->at, "drift", 5) != 0) {
		return false;
	}
	scan->at += 5;
	len = scan_peek(scan, " \t\n)", word, sizeof(word));
	if (units_parse_duration(word, ret_ns) < 0 || *ret_ns == 0) {
		return false;
	}
	scan->at += len;
	return true;
}

bool auto_parse(struct scan *scan, struct condition *c)
{
	char *past;

	assert(strncmp(scan->at, "auto(", 5) == 0);
	if (c->op != OP_ABOVE && c->op != OP_BELOW) {
		return scan_fail(scan, "auto() goes with > and <");
	}
	scan->at += 5;
	c->auto_setup.q = strtod(scan->at, &past);
	if (past == scan->at || !(c->auto_setup.q > 0 && c->auto_setup.q <= AUTO_Q_MAX)) {
		return scan_fail(scan, "expected a share of the windows above 0, at most %g",
				 AUTO_Q_MAX);
	}
	scan->at = past;
	c->is_auto = true;
	c->auto_setup.is_lower = c->op == OP_BELOW;
	if (scan_sign(scan, ',') && !take_drift(scan, &c->drift_ns)) {
		return scan_fail(scan, "expected drift and a duration: drift 10m");
	}
	return scan_sign(scan, ')') ||
	       scan_fail(scan, "expected )%s",
			 c->drift_ns ? "" : " or a drift: auto(1e-4, drift 10m)");
}

/* ---- rows ---- */

static struct auto_row *find(const struct trace_state *state, const struct condition *c,
			     struct which_identity key)
{
	VEC_EACH(&state->autos, row) {
		if (row->condition == c && row->key.of == key.of && row->key.which == key.which) {
			return row;
		}
	}
	return NULL;
}

static struct auto_limit *new_limit(const struct trigger *trigger, const struct condition *c)
{
	struct auto_setup setup = c->auto_setup;
	uint64_t interval = trigger->interval_ns ? trigger->interval_ns : NS_PER_S;

	if (c->drift_ns > 0) {
		setup.drift = c->drift_ns > interval ? c->drift_ns / interval : 1;
	}
	return auto_limit_new(&setup);
}

/* The row, or a place for it; NULL: there is none. */
static struct auto_row *place_of(const struct trigger *trigger, struct trace_state *state,
				 const struct condition *c, struct which_identity key, uint64_t now)
{
	struct auto_row *row = find(state, c, key), *oldest = NULL;
	size_t count = 0;

	if (row) {
		return row;
	}
	VEC_EACH(&state->autos, other) {
		if (other->condition == c) {
			count++;
			oldest = !oldest || other->seen < oldest->seen ? other : oldest;
		}
	}
	if (count < AUTO_ROWS_MAX) {
		row = vec_push(&state->autos);
	} else if (oldest->seen < now) {
		row = oldest;
		auto_limit_free(row->limit);
	} else {
		return NULL;
	}
	*row = (struct auto_row){ .condition = c, .key = key, .limit = new_limit(trigger, c) };
	return row;
}

/* A quotient of sums has one limit. */
static struct which_identity auto_key_of(const struct condition *c, const struct report_row *row)
{
	return row ? which_identity(c->figure.table, row) : (struct which_identity){ 0, 0 };
}

static void take_row(const struct trigger *trigger, struct trace_state *state,
		     const struct condition *c, const struct report *report,
		     const struct report_row *found)
{
	double value = figure_value(&c->figure, report, found);
	struct auto_row *row =
		isnan(value) ? NULL
			     : place_of(trigger, state, c, auto_key_of(c, found), report->end);

	if (!row || row->seen == report->end) {
		return; /* the same row twice: which is which is not known */
	}
	row->seen = report->end;
	row->has_limit = auto_limit_warms_up(row->limit) == 0;
	row->is_beyond = auto_limit_take(row->limit, value, &row->shown);
}

static void take_rows(const struct trigger *trigger, struct trace_state *state,
		      const struct condition *c, const struct report *report)
{
	const struct report_table *table = figure_table(&c->figure, report);

	if (figure_is_of_sums(&c->figure)) {
		take_row(trigger, state, c, report, NULL);
		return;
	}
	for (size_t i = 0; table && i < table->row_count; i++) {
		if (which_chooses(&c->figure, &table->rows[i])) {
			take_row(trigger, state, c, report, &table->rows[i]);
		}
	}
}

void auto_take_window(const struct trigger *trigger, struct trace_state *state,
		      const struct report *report)
{
	bool is_whole =
		trigger->interval_ns == 0 || report->end - report->begin == trigger->interval_ns;

	for (size_t i = 0; report->complete && is_whole && i < trigger->when_count; i++) {
		const struct condition *c = trigger->all.at[i];

		if (c->is_auto && !figure_is_unknown(&c->figure, report)) {
			take_rows(trigger, state, c, report);
		}
	}
}

const struct auto_row *auto_find(const struct trace_state *state, const struct condition *c,
				 const struct report_row *row, uint64_t now)
{
	const struct auto_row *found = find(state, c, auto_key_of(c, row));

	return found && found->seen == now && found->has_limit ? found : NULL;
}

bool auto_has_any(const struct trace_state *state, const struct condition *c, uint64_t now)
{
	VEC_EACH(&state->autos, row) {
		if (row->condition == c && row->seen == now && row->has_limit) {
			return true;
		}
	}
	return false;
}

uint64_t auto_warms_up(const struct trace_state *state)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < state->autos.count; i++) {
		uint64_t left = auto_limit_warms_up(state->autos.at[i].limit);

		least = left < least ? left : least;
	}
	return least;
}

void auto_rows_fini(struct trace_state *state)
{
	for (size_t i = 0; i < state->autos.count; i++) {
		auto_limit_free(state->autos.at[i].limit);
	}
	vec_fini(&state->autos);
	memset(&state->autos, 0, sizeof(state->autos));
}

/* ---- checkpoints ---- */

static uint32_t number_of(const struct trigger *trigger, const struct condition *c)
{
	uint32_t number = 0;

	while (trigger->all.at[number] != c) {
		number++;
		assert(number < trigger->when_count);
	}
	return number;
}

static void codec_row(const struct trigger *trigger, struct auto_row *row, struct codec *codec)
{
	uint32_t number = codec_reads(codec) ? 0 : number_of(trigger, row->condition);

	codec_u32(codec, &number);
	codec_u64(codec, &row->key.of);
	codec_u64(codec, &row->key.which);
	codec_u64(codec, &row->seen);
	if (codec_reads(codec)) {
		row->condition = number < trigger->when_count ? trigger->all.at[number] : NULL;
		if (!codec_check(codec, row->condition && row->condition->is_auto)) {
			return;
		}
		row->limit = new_limit(trigger, row->condition);
	}
	auto_limit_codec(row->limit, codec);
}

void auto_codec(const struct trigger *trigger, struct trace_state *state, struct codec *codec)
{
	size_t count = codec_count(codec, state->autos.count, 28);

	for (size_t i = 0; i < count && !codec->is_wrong; i++) {
		codec_row(trigger, codec_at(codec, &state->autos, i), codec);
	}
}
