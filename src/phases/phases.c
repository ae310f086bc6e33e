/*
 * phases: see phases.h.
 */
#include "phases/phases.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/units.h"
#include "phases/rolling.h"
#include "phases/series.h"

#define PHASES_COLUMNS 3
#define PHASES_ENDS    (ROLLING_SLICES + 1)

struct phases_series {
	char *name;
	bool is_share, is_counterpart;
	enum unit unit; /* of a rate */
	double scale;   /* a power of two that its values are divided by; 0: none came */
	double sum;     /* over the phase that goes on, of divided values */
	double value;   /* in the window that is being taken */
};

/* A begin of a part, and how often it was one, slice after slice. */
struct phases_cut {
	uint64_t slice, stayed;
	bool is_clear; /* as rolling_part.is_clear */
};

struct phases {
	struct rolling *rolling;
	VEC(struct phases_series) series;
	/* ns: of the slices held and the one before, by their number. */
	uint64_t ends[PHASES_ENDS];
	VEC(struct phases_cut) cuts;
	bool has_cpus;
	uint64_t number;     /* of the phase that goes on; 0: no window came */
	uint64_t first;      /* its first slice */
	uint64_t begin, end; /* ns: since when it goes on, and the end of the last window */
	uint64_t change;     /* what changed most when it began: a series and 1; 0: nothing */
	double before;       /* its mean before */
	uint64_t changes;    /* known so far */
	uint64_t known;      /* of them those since phases_rest() */
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

struct phases *phases_new(void)
{
	struct phases *phases = mem_alloc(sizeof(*phases));

	phases->rolling = rolling_new(ROLLING_SLICES);
	return phases;
}

static void forget_records(struct phases *phases)
{
	for (size_t i = 0; i < phases->records.count; i++) {
		free((void *)(uintptr_t)phases->records.at[i].means);
	}
	phases->records.count = phases->told = 0;
}

static void forget_series(struct phases *phases)
{
	for (size_t i = 0; i < phases->series.count; i++) {
		free(phases->series.at[i].name);
	}
	phases->series.count = 0;
}

void phases_free(struct phases *phases)
{
	if (!phases) {
		return;
	}
	forget_records(phases);
	forget_series(phases);
	vec_fini(&phases->records);
	vec_fini(&phases->series);
	vec_fini(&phases->cuts);
	rolling_free(phases->rolling);
	free(phases);
}

/* ---- series ---- */

const char *phases_rate_text(char text[UNITS_TEXT_MAX], enum unit unit, double rate)
{
	uint64_t whole = (uint64_t)(rate + 0.5);
	size_t len;

	(void)(unit == UNIT_NS      ? units_ns(text, whole)
	       : unit == UNIT_BYTES ? units_bytes(text, whole)
				    : units_count(text, whole));
	len = strlen(text);
	(void)snprintf(text + len, UNITS_TEXT_MAX - len, "/s");
	return text;
}

const char *phases_unit_name(bool is_share, enum unit unit)
{
	static const char *const names[] = { "1/s", "B/s", "ns/s" };

	return is_share ? "share" : names[unit];
}

/* Series come in much the same order in each window: the search begins at @from.  NULL: there are
 * too many. */
static struct phases_series *series_of(struct phases *phases, size_t from, const char *name)
{
	struct phases_series *series;

	for (size_t i = 0; i < phases->series.count; i++) {
		series = &phases->series.at[(from + i) % phases->series.count];
		if (strcmp(series->name, name) == 0) {
			return series;
		}
	}
	if (phases->series.count == ROLLING_SERIES_MAX) {
		return NULL;
	}
	series = vec_push(&phases->series);
	*series = (struct phases_series){ .name = mem_strdup(name) };
	return series;
}

/* A rate is divided by the power of two at or above the largest one so far, or by the least scale
 * of the series. */
static void scale_rate(struct phases *phases, struct phases_series *series, double rate,
		       double least)
{
	size_t number = (size_t)(series - phases->series.at);
	double scale;

	series->scale = fmax(series->scale, least);
	if (rate <= series->scale || rate <= 0) {
		return;
	}
	scale = exp2(ceil(log2(rate)));
	scale = scale < rate ? 2 * scale : scale;
	if (series->sum > 0) {
		rolling_scale(phases->rolling, number, series->scale / scale);
		series->sum *= series->scale / scale;
	}
	series->scale = scale;
}

struct phases_taking {
	struct phases *phases;
	size_t at;
	bool has_cpus;
};

static void on_value(void *user, const struct series_value *value)
{
	struct phases_taking *taking = user;
	struct phases_series *series;

	if ((taking->has_cpus && !value->is_state) || value->is_level) {
		return;
	}
	series = series_of(taking->phases, taking->at++, value->name);
	if (!series) {
		return;
	}
	series->is_share = value->is_share;
	series->is_counterpart = value->is_counterpart;
	series->unit = value->unit;
	series->value = value->value;
	if (series->is_share) {
		series->scale = value->least_scale;
	} else {
		scale_rate(taking->phases, series, value->value, value->least_scale);
	}
}

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

static void add_record(struct phases *phases, uint64_t slices, uint64_t end, bool is_open)
{
	struct phase_mean *means = mem_alloc((phases->series.count + 1) * sizeof(*means));
	struct phase_record *record = vec_push(&phases->records);

	assert(slices > 0 && phases->number > 0);
	*record = (struct phase_record){ .number = phases->number,
					 .begin = phases->begin,
					 .end = end,
					 .slices = slices,
					 .is_open = is_open,
					 .means = means };
	for (size_t i = 0; i < phases->series.count; i++) {
		const struct phases_series *series = &phases->series.at[i];

		means[record->mean_count] = (struct phase_mean){
			.series = series->name,
			.is_share = series->is_share,
			.unit = series->unit,
			.is_counterpart = series->is_counterpart,
			.mean = fmax(series->sum, 0) * series->scale / (double)slices,
		};
		if (phases->change == i + 1) {
			record->change = &means[record->mean_count];
			record->before = phases->before;
		}
		record->mean_count++;
	}
}

/* The phase that goes on ends here; what follows is not compared with it. */
static void break_off(struct phases *phases, uint64_t begin)
{
	if (phases->number > 0) {
		add_record(phases, rolling_count(phases->rolling) - phases->first, phases->end,
			   false);
	}
	rolling_free(phases->rolling);
	phases->rolling = rolling_new(ROLLING_SLICES);
	forget_series(phases);
	phases->cuts.count = 0;
	phases->first = phases->change = 0;
	phases->begin = begin;
	phases->number++;
}

/* ---- cuts ---- */

static double mean_of(const struct phases *phases, size_t series, const struct rolling_part *part)
{
	return rolling_sum(phases->rolling, series, part) / (double)(part->last - part->first + 1);
}

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
	const struct rolling_part *parts = rolling_parts(phases->rolling, &count);

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

/* The series that changes most at the cut; SIZE_MAX: none does by PHASES_CHANGE.  @after: from the
 * cut to the next one.  If none is known yet, the change has to last longer than its first slice.
 */
static size_t change_at(const struct phases *phases, const struct rolling_part *after,
			double *ret_before)
{
	uint64_t count = rolling_count(phases->rolling);
	const struct rolling_part rest = { after->first, count - 1 };
	const struct rolling_part later = { after->first + 1, count - 1 };
	bool is_last = after->last == count - 1;
	double largest = 0;
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < phases->series.count; i++) {
		const struct phases_series *series = &phases->series.at[i];
		double before = fmax(series->sum - rolling_sum(phases->rolling, i, &rest), 0) /
				(double)(after->first - phases->first);
		double change = fabs(mean_of(phases, i, after) - before);

		change = is_last ? fmin(change, fabs(mean_of(phases, i, &later) - before)) : change;
		if (!series->is_counterpart && change >= PHASES_CHANGE && change > largest) {
			largest = change;
			found = i;
			*ret_before = before * series->scale;
		}
	}
	return found;
}

static void begin_phase(struct phases *phases, uint64_t slice, size_t change, double before)
{
	uint64_t count = rolling_count(phases->rolling);
	const struct rolling_part rest = { slice, count - 1 };
	double *sums = mem_alloc((phases->series.count + 1) * sizeof(*sums));
	uint64_t at = phases->ends[(slice - 1) % PHASES_ENDS];

	assert(slice > phases->first && slice < count);
	for (size_t i = 0; i < phases->series.count; i++) {
		sums[i] = rolling_sum(phases->rolling, i, &rest);
		phases->series.at[i].sum -= sums[i];
	}
	add_record(phases, slice - phases->first, at, false);
	for (size_t i = 0; i < phases->series.count; i++) {
		phases->series.at[i].sum = sums[i];
	}
	free(sums);
	phases->first = slice;
	phases->begin = at;
	phases->change = change + 1;
	phases->before = before;
	phases->number++;
	phases->changes++;
	phases->known++;
}

static void find_changes(struct phases *phases)
{
	uint64_t count = rolling_count(phases->rolling), before = phases->number;

	for (size_t i = 0; i < phases->cuts.count; i++) {
		const struct phases_cut *cut = &phases->cuts.at[i];
		bool is_last = i + 1 == phases->cuts.count;
		struct rolling_part after = { cut->slice, is_last ? count - 1 : cut[1].slice - 1 };
		bool has_moved = phases->change > 0 && !is_cut(phases, phases->first) &&
				 cut->slice - phases->first <= PHASES_STAY;
		double mean = 0;
		size_t change;

		if (cut->slice <= phases->first || has_moved) {
			continue;
		}
		if (cut->stayed < PHASES_STAY) {
			break; /* it may stay, and be reported before those behind it */
		}
		change = cut->is_clear ? change_at(phases, &after, &mean) : SIZE_MAX;
		if (change != SIZE_MAX) {
			begin_phase(phases, cut->slice, change, mean);
		}
	}
	if (phases->number > before) {
		add_record(phases, count - phases->first, phases->end, true);
	}
}

/* ---- windows ---- */

static void add_slice(struct phases *phases)
{
	double values[ROLLING_SERIES_MAX];
	bool counts[ROLLING_SERIES_MAX];

	for (size_t i = 0; i < phases->series.count; i++) {
		struct phases_series *series = &phases->series.at[i];

		values[i] = series->scale > 0 ? series->value / series->scale : 0;
		counts[i] = !series->is_counterpart;
		series->sum += values[i];
	}
	rolling_add(phases->rolling, values, counts, phases->series.count);
	phases->ends[(rolling_count(phases->rolling) - 1) % PHASES_ENDS] = phases->end;
}

static void add_window(struct phases *phases, const struct report *report)
{
	const struct report_table *cpus = cpus_of(report);
	bool has_cpus = phases->has_cpus || has_time(cpus);
	struct phases_taking taking = { .phases = phases };

	if (phases->number == 0 || report->begin != phases->end || has_cpus != phases->has_cpus) {
		break_off(phases, report->begin);
	}
	phases->has_cpus = has_cpus;
	phases->end = report->end;
	for (size_t i = 0; i < phases->series.count; i++) {
		phases->series.at[i].value = 0;
	}
	taking.has_cpus = has_cpus;
	series_each(report, (double)(report->end - report->begin) / (double)NS_PER_S, true,
		    on_value, &taking);
	add_slice(phases);
	find_cuts(phases);
	find_changes(phases);
}

static uint64_t slices_so_far(const struct phases *phases)
{
	return rolling_count(phases->rolling) - phases->first;
}

void phases_report(struct phases *phases, const struct report *report)
{
	bool is_window = report->kind == REPORT_WINDOW && report->end > report->begin;

	forget_records(phases);
	if (is_window) {
		add_window(phases, report);
	} else if (report->kind == REPORT_TOTAL && phases->number > 0) {
		add_record(phases, slices_so_far(phases), phases->end, true);
	}
	phases->told = phases->records.count;
	if (is_window && slices_so_far(phases) % PHASES_KEEP == 1 &&
	    (phases->told == 0 || !phases->records.at[phases->told - 1].is_open)) {
		add_record(phases, slices_so_far(phases), phases->end, true);
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

static void series_codec(struct codec *codec, struct phases_series *series)
{
	uint8_t kind = (uint8_t)(series->is_share | (unsigned int)series->unit << 1);

	codec_text(codec, &series->name);
	codec_u8(codec, &kind);
	if (codec_check(codec, kind >> 1 <= UNIT_NS)) {
		series->is_share = kind & 1;
		series->unit = (enum unit)(kind >> 1);
	}
	codec_bool(codec, &series->is_counterpart);
	codec_real(codec, &series->scale, DBL_MAX);
	codec_real(codec, &series->sum, DBL_MAX);
	if (!codec_check(codec, series->name && series->scale >= 0)) {
		free(series->name);
		series->name = mem_strdup("?");
	}
}

static void cuts_codec(struct phases *phases, struct codec *codec)
{
	size_t count = codec_count(codec, phases->cuts.count, 16);
	uint64_t until = rolling_count(phases->rolling);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct phases_cut *cut = codec_at(codec, &phases->cuts, i);

		codec_u64(codec, &cut->slice);
		codec_u64(codec, &cut->stayed);
		(void)codec_check(codec, cut->slice < until);
	}
}

void phases_codec(struct phases *phases, struct codec *codec)
{
	size_t count = codec_count(codec, phases->series.count, 22);
	uint64_t slices;

	for (size_t i = 0; i < count && codec_check(codec, count <= ROLLING_SERIES_MAX); i++) {
		series_codec(codec, codec_at(codec, &phases->series, i));
	}
	rolling_codec(phases->rolling, codec);
	slices = rolling_count(phases->rolling);
	for (size_t i = 0; i < PHASES_ENDS; i++) {
		codec_u64(codec, &phases->ends[i]);
	}
	cuts_codec(phases, codec);
	codec_bool(codec, &phases->has_cpus);
	codec_u64(codec, &phases->number);
	codec_u64(codec, &phases->first);
	codec_u64(codec, &phases->begin);
	codec_u64(codec, &phases->end);
	codec_u64(codec, &phases->change);
	codec_u64(codec, &phases->changes);
	codec_real(codec, &phases->before, DBL_MAX);
	(void)codec_check(codec,
			  phases->begin <= phases->end && phases->change <= count &&
				  (phases->number > 0 ? phases->first < slices : slices == 0));
}

struct phases *phases_restore(struct phases *phases, struct codec *codec)
{
	if (codec->left == 0) {
		return phases;
	}
	phases_codec(phases, codec);
	if (codec->is_wrong || codec->left > 0) {
		phases_free(phases);
		return phases_new();
	}
	return phases;
}
