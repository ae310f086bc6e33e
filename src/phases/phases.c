/*
 * phases: see phases.h.
 */
#include "phases/phases.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/units.h"
#include "phases/rolling.h"
#include "phases/running.h"

#define PHASES_COLUMNS 3
#define PHASES_ENDS    (ROLLING_SLICES + 1)

/* A begin of a part, and how often it was one, slice after slice. */
struct phases_cut {
	uint64_t slice, stayed;
	bool is_clear; /* as rolling_part.is_clear */
};

struct phases {
	struct running *running;
	/* ns: of the slices held and the one before, by their number. */
	uint64_t ends[PHASES_ENDS];
	VEC(struct phases_cut) cuts;
	bool goes_on, has_calls; /* as in phases_new() */
	bool is_over;            /* no window follows */
	bool has_cpus;
	uint64_t number;     /* of the phase that goes on; 0: no window came */
	uint64_t first;      /* its first slice */
	uint64_t begin, end; /* ns: since when it goes on, and the end of the last window */
	/* What changed most when it began, with the mean since then; no series: nothing did. */
	struct phase_mean change;
	double before;                    /* its mean before */
	uint64_t changes;                 /* known so far */
	uint64_t known;                   /* of them those since phases_rest() */
	VEC(struct phase_record) records; /* of the last report; each owns its means */
	size_t told;                      /* of them, before the one of phases_kept() */
	uint64_t figures[PHASES_COLUMNS];
	struct report_row row; /* has the figures */
};

enum { CHANGE, NUMBER, AGE };

const struct analysis analysis_phase = {
	.name = "phase",
	.summary = "phases of the run: when its behaviour changed",
	.tables = {
		{
			.scope = SCOPE_TRACE,
			.of_all = OF_ALL_THREADS | OF_ALL_CPUS | OF_ALL_IRQS,
			.columns = {
				[CHANGE] = { "change", "changes", UNIT_COUNT },
				[NUMBER] = { "number", "number", UNIT_COUNT, COLUMN_LAST_MAX },
				[AGE] = { "age_ns", "for", UNIT_NS, COLUMN_LAST_MAX },
			},
		},
	},
};

struct phases *phases_new(bool goes_on, bool has_calls)
{
	struct phases *phases = mem_alloc(sizeof(*phases));

	phases->goes_on = goes_on;
	phases->has_calls = has_calls;
	phases->running = running_new(has_calls);
	return phases;
}

static void free_mean(const struct phase_mean *mean)
{
	free((void *)(uintptr_t)mean->series);
}

static void forget_records(struct phases *phases)
{
	VEC_EACH(&phases->records, record) {
		for (size_t i = 0; i < record->mean_count; i++) {
			free_mean(&record->means[i]);
		}
		free((void *)(uintptr_t)record->means);
	}
	phases->records.count = phases->told = 0;
}

void phases_free(struct phases *phases)
{
	if (!phases) {
		return;
	}
	forget_records(phases);
	free_mean(&phases->change);
	vec_fini(&phases->records);
	vec_fini(&phases->cuts);
	running_free(phases->running);
	free(phases);
}

static const struct rolling *slices_seen(const struct phases *phases)
{
	return running_slices(phases->running);
}

/* ---- whether CPUs have time ---- */

static const struct report_table *cpus_of(const struct report *report)
{
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (strcmp(table->analysis->name, "cpu") == 0 && table->table->scope == SCOPE_CPU &&
		    !report_is_unknown(table, 0)) {
			return table;
		}
	}
	return NULL;
}

static bool has_time(const struct report_table *cpus)
{
	uint64_t ns = 0;

	for (size_t i = 0; cpus && i < 3 * cpus->row_count; i++) {
		ns |= cpus->rows[i / 3].values[i % 3];
	}
	return ns > 0;
}

/* ---- records ---- */

static struct phase_mean phase_mean_of(const struct running_series *series, double mean)
{
	return (struct phase_mean){ .series = mem_strdup(series->name),
				    .is_share = series->is_share,
				    .is_level = series->is_level,
				    .unit = series->unit,
				    .is_counterpart = series->is_counterpart,
				    .mean = mean * series->scale };
}

/* What changed when the phase began is among the means, also if its series is no more. */
static void add_change(struct phases *phases, struct phase_record *record, struct phase_mean *means)
{
	size_t at = 0;

	if (!phases->change.series) {
		return;
	}
	while (at < record->mean_count && strcmp(means[at].series, phases->change.series) != 0) {
		at++;
	}
	if (at == record->mean_count) {
		means[at] = phases->change;
		means[at].series = mem_strdup(phases->change.series);
		record->mean_count++;
	}
	phases->change.mean = means[at].mean;
	record->change = &means[at];
	record->before = phases->before;
}

/* The phase that goes on, up to a slice. */
static void add_record(struct phases *phases, uint64_t slice, bool is_open)
{
	size_t count = running_count(phases->running);
	struct phase_mean *means = mem_alloc((count + 1) * sizeof(*means));
	struct phase_record *record = vec_push(&phases->records);

	assert(phases->number > 0 && slice > phases->first);
	*record = (struct phase_record){
		.number = phases->number,
		.begin = phases->begin,
		.end = slice == rolling_count(slices_seen(phases))
			       ? phases->end
			       : phases->ends[(slice - 1) % PHASES_ENDS],
		.slices = slice - phases->first,
		.is_open = is_open,
		.mean_count = count,
		.means = means,
	};
	for (size_t i = 0; i < count; i++) {
		means[i] = phase_mean_of(running_series(phases->running, i),
					 running_mean_until(phases->running, i, slice));
	}
	add_change(phases, record, means);
}

/* The phase that goes on ends here; what follows is not compared with it. */
static void break_off(struct phases *phases, uint64_t begin)
{
	if (phases->number > 0) {
		add_record(phases, rolling_count(slices_seen(phases)), false);
	}
	running_free(phases->running);
	phases->running = running_new(phases->has_calls);
	phases->cuts.count = 0;
	phases->first = 0;
	free_mean(&phases->change);
	phases->change = (struct phase_mean){ 0 };
	phases->begin = begin;
	phases->number++;
}

/* ---- cuts ---- */

/* A part begins: did it before? */
static void note_cut(struct phases *phases, const struct rolling_part *part,
		     const struct phases_cut *old, size_t old_count)
{
	struct phases_cut cut = { part->first, 1, part->is_clear };

	for (size_t i = 0; i < old_count; i++) {
		cut.stayed += old[i].slice == part->first ? old[i].stayed : 0;
	}
	*vec_push(&phases->cuts) = cut;
}

/* The begins of the parts, without that of the first one. */
static void find_cuts(struct phases *phases)
{
	struct phases_cut *old = phases->cuts.at;
	size_t count, old_count = phases->cuts.count;
	const struct rolling_part *parts = rolling_parts(slices_seen(phases), &count);

	memset(&phases->cuts, 0, sizeof(phases->cuts));
	for (size_t i = 1; i < count; i++) {
		note_cut(phases, &parts[i], old, old_count);
	}
	free(old);
}

/* ---- changes ---- */

static bool is_cut(const struct phases *phases, uint64_t slice)
{
	for (size_t i = 0; i < phases->cuts.count; i++) {
		if (phases->cuts.at[i].slice == slice) {
			return true;
		}
	}
	return false;
}

/* How much the mean of a series changes at a cut, before which it is @before. */
static double change_in(const struct phases *phases, size_t series,
			const struct rolling_part *after, double before)
{
	const struct rolling_part later = { after->first + 1, after->last };
	bool goes_on = !phases->is_over && after->last + 1 == rolling_count(slices_seen(phases));
	double change = fabs(running_mean(phases->running, series, after) - before);

	return goes_on && later.first <= later.last
		       ? fmin(change, fabs(running_mean(phases->running, series, &later) - before))
		       : change;
}

/* The series that changes most at the cut; SIZE_MAX: none does by PHASES_CHANGE.  @after: from the
 * cut to the next one.  If none is known yet, the change has to last longer than its first slice.
 */
static size_t change_at(const struct phases *phases, const struct rolling_part *after)
{
	double largest = 0;
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < running_count(phases->running); i++) {
		double before = running_mean_until(phases->running, i, after->first);
		double change = change_in(phases, i, after, before);

		if (!running_series(phases->running, i)->is_counterpart &&
		    change >= PHASES_CHANGE && change > largest) {
			largest = change;
			found = i;
		}
	}
	return found;
}

static void begin_phase(struct phases *phases, uint64_t slice, size_t change)
{
	const struct running_series *series = running_series(phases->running, change);
	double before = running_mean_until(phases->running, change, slice);

	add_record(phases, slice, false);
	running_begin(phases->running, slice);
	phases->first = slice;
	phases->begin = phases->ends[(slice - 1) % PHASES_ENDS];
	free_mean(&phases->change);
	phases->change = phase_mean_of(series, 0);
	phases->before = before * series->scale;
	phases->number++;
	phases->changes++;
	phases->known++;
}

static void find_changes(struct phases *phases)
{
	uint64_t count = rolling_count(slices_seen(phases)), before = phases->number;

	for (size_t i = 0; i < phases->cuts.count; i++) {
		const struct phases_cut *cut = &phases->cuts.at[i];
		bool is_last = i + 1 == phases->cuts.count;
		struct rolling_part after = { cut->slice, is_last ? count - 1 : cut[1].slice - 1 };
		bool has_moved = phases->change.series && !is_cut(phases, phases->first) &&
				 cut->slice - phases->first <= PHASES_MOVE;
		size_t change;

		if (cut->slice <= phases->first || has_moved) {
			continue;
		}
		if (cut->stayed < PHASES_STAY && !phases->is_over) {
			break; /* it may stay, and be reported before those behind it */
		}
		change = cut->is_clear ? change_at(phases, &after) : SIZE_MAX;
		if (change != SIZE_MAX) {
			begin_phase(phases, cut->slice, change);
		}
	}
	if (phases->number > before) {
		add_record(phases, count, true);
	}
}

/* ---- windows ---- */

static void add_window(struct phases *phases, const struct report *report)
{
	const struct report_table *cpus = cpus_of(report);
	bool has_cpus = phases->has_cpus || has_time(cpus);

	if (phases->number == 0 || report->begin != phases->end || has_cpus != phases->has_cpus) {
		break_off(phases, report->begin);
	}
	phases->has_cpus = has_cpus;
	phases->end = report->end;
	running_report(phases->running, report, has_cpus);
	phases->ends[(rolling_count(slices_seen(phases)) - 1) % PHASES_ENDS] = phases->end;
	find_cuts(phases);
	find_changes(phases);
}

/* No window follows: what was not known to stay has. */
static void end_run(struct phases *phases)
{
	uint64_t number = phases->number;

	if (!phases->goes_on) {
		phases->is_over = true;
		running_end(phases->running);
		find_cuts(phases);
		find_changes(phases);
	}
	if (phases->number == number) {
		add_record(phases, rolling_count(slices_seen(phases)), true);
	}
}

void phases_report(struct phases *phases, const struct report *report)
{
	bool is_window = report->kind == REPORT_WINDOW && report->end > report->begin;
	uint64_t slices;

	forget_records(phases);
	if (is_window) {
		add_window(phases, report);
	} else if (report->kind == REPORT_TOTAL && phases->number > 0) {
		end_run(phases);
	}
	phases->told = phases->records.count;
	slices = rolling_count(slices_seen(phases)) - phases->first;
	if (is_window && slices % PHASES_KEEP == 1 &&
	    (phases->told == 0 || !phases->records.at[phases->told - 1].is_open)) {
		add_record(phases, rolling_count(slices_seen(phases)), true);
	}
}

const struct phase_record *phases_records(const struct phases *phases, size_t *ret_count)
{
	*ret_count = phases->told;
	return phases->records.at;
}

const struct phase_record *phases_kept(const struct phases *phases)
{
	return phases->records.count > phases->told ? &phases->records.at[phases->told] : NULL;
}

/* ---- figures ---- */

void phases_rest(struct phases *phases)
{
	phases->known = 0;
}

struct report_table *phases_extend(struct phases *phases, const struct report *report,
				   struct report *ret)
{
	struct report_table *tables = mem_alloc((report->table_count + 1) * sizeof(*tables));

	if (report->table_count > 0) {
		memcpy(tables, report->tables, report->table_count * sizeof(*tables));
	}
	phases->figures[CHANGE] = report->kind == REPORT_WINDOW ? phases->known : phases->changes;
	phases->figures[NUMBER] = phases->number;
	phases->figures[AGE] = phases->end - phases->begin;
	phases->row = (struct report_row){ .values = phases->figures };
	tables[report->table_count] = (struct report_table){ .analysis = &analysis_phase,
							     .table = &analysis_phase.tables[0],
							     .row_count = 1,
							     .rows = &phases->row };
	*ret = *report;
	ret->tables = tables;
	ret->table_count++;
	return tables;
}

/* ---- checkpoints ---- */

/* Rates become numbers of 64 bits when they are shown. */
#define MEAN_MAX 1e18

/* What changed; no name: nothing did. */
static void change_codec(struct phases *phases, struct codec *codec)
{
	struct phase_mean *change = &phases->change;
	uint8_t unit = (uint8_t)change->unit;
	char *name = change->series ? mem_strdup(change->series) : NULL;

	codec_text(codec, &name);
	free_mean(change);
	change->series = name;
	codec_each(codec, &unit, &change->is_share, &change->is_level);
	change->unit = codec_check(codec, unit <= UNIT_NS) ? (enum unit)unit : UNIT_COUNT;
	codec_real(codec, &change->mean, DBL_MAX);
	codec_real(codec, &phases->before, DBL_MAX);
	(void)codec_check(codec, change->mean >= 0 && change->mean <= MEAN_MAX &&
					 phases->before >= 0 && phases->before <= MEAN_MAX);
}

static void cuts_codec(struct phases *phases, struct codec *codec)
{
	size_t count = codec_count(codec, phases->cuts.count, 16);
	uint64_t until = rolling_count(slices_seen(phases));

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct phases_cut *cut = codec_at(codec, &phases->cuts, i);

		codec_u64(codec, &cut->slice);
		codec_u64(codec, &cut->stayed);
		(void)codec_check(codec, cut->slice < until);
	}
}

void phases_codec(struct phases *phases, struct codec *codec)
{
	const struct rolling *slices;

	running_codec(phases->running, codec);
	slices = slices_seen(phases);
	for (size_t i = 0; i < PHASES_ENDS; i++) {
		codec_u64(codec, &phases->ends[i]);
	}
	cuts_codec(phases, codec);
	codec_each(codec, &phases->has_cpus, &phases->number, &phases->first, &phases->begin,
		   &phases->end, &phases->changes);
	change_codec(phases, codec);
	(void)codec_check(codec, phases->begin <= phases->end &&
					 phases->first == running_first(phases->running) &&
					 (phases->number > 0 ? phases->first < rolling_count(slices)
							     : rolling_count(slices) == 0));
}

struct phases *phases_restore(struct phases *phases, struct codec *codec)
{
	if (codec->left == 0) {
		return phases;
	}
	phases_codec(phases, codec);
	if (codec->is_wrong || codec->left > 0) {
		bool goes_on = phases->goes_on, has_calls = phases->has_calls;

		phases_free(phases);
		return phases_new(goes_on, has_calls);
	}
	return phases;
}
