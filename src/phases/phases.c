/*
 * phases: see phases.h.
 */
#include "phases/phases.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "phases/phases-state.h"

#define CPUS_MAX     64 /* with a series each */
#define NAME_MAX_LEN 96

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
	phases->records.count = 0;
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

/* Series come in much the same order in each window: the search begins at @from.  NULL: there are
 * too many. */
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

static void add_states(struct phases *phases, size_t *at, const uint64_t *values, uint64_t cpu)
{
	static const char *const titles[] = { "busy", "idle", "unknown" };
	uint64_t all = values[0] + values[1] + values[2];
	char name[NAME_MAX_LEN];

	for (unsigned int i = 0; i < 3 && all > 0; i++) {
		struct phases_series *series;

		(void)snprintf(name, sizeof(name), "CPU %" PRIu64 " %s", cpu, titles[i]);
		series = series_of(phases, (*at)++, cpu == UINT64_MAX ? titles[i] : name);
		if (series) {
			series->is_share = true;
			series->is_counterpart = i == 1;
			series->scale = 1;
			series->value = (double)values[i] / (double)all;
		}
	}
}

ORDER_POINTERS(by_id, struct report_row, UP(id))

static void add_cpus(struct phases *phases, const struct report_table *table)
{
	const struct report_row *rows[CPUS_MAX];
	uint64_t sums[3] = { 0 };
	size_t at = 0;

	if (table->row_count > CPUS_MAX) {
		for (size_t i = 0; i < 3 * table->row_count; i++) {
			sums[i % 3] += table->rows[i / 3].values[i % 3];
		}
		add_states(phases, &at, sums, UINT64_MAX);
		return;
	}
	for (size_t i = 0; i < table->row_count; i++) {
		rows[i] = &table->rows[i];
	}
	qsort(rows, table->row_count, sizeof(rows[0]), by_id);
	for (size_t i = 0; i < table->row_count; i++) {
		add_states(phases, &at, rows[i]->values, rows[i]->id);
	}
}

/* A rate is divided by the power of two at or above the largest one so far. */
static void add_rate(struct phases *phases, size_t at, const char *name, enum unit unit,
		     double rate)
{
	struct phases_series *series = series_of(phases, at, name);
	size_t number;
	double scale;

	if (!series) {
		return;
	}
	number = (size_t)(series - phases->series.at);
	series->value = rate;
	series->unit = unit;
	if (rate <= series->scale || rate <= 0) {
		return;
	}
	scale = exp2(ceil(log2(rate)));
	scale = scale < rate ? 2 * scale : scale;
	if (series->scale > 0) {
		rolling_scale(phases->rolling, number, series->scale / scale);
		series->sum *= series->scale / scale;
	}
	series->scale = scale;
}

static void add_figures(struct phases *phases, const struct report *report)
{
	double seconds = (double)(report->end - report->begin) / (double)NS_PER_S;
	char name[NAME_MAX_LEN];
	size_t at = 0;

	for (size_t t = 0; t < report->table_count && seconds > 0; t++) {
		const struct report_table *table = &report->tables[t];
		const struct column *columns = table->table->columns;

		for (unsigned int i = 0; i < COLUMNS_MAX && columns[i].key; i++) {
			if (table->table->scope == SCOPE_TRACE && table->row_count > 0 &&
			    columns[i].kind == COLUMN_SUM && columns[i].title &&
			    strcmp(table->analysis->name, "cpu") != 0 &&
			    !report_is_unknown(table, i)) {
				(void)snprintf(name, sizeof(name), "%s: %s", table->analysis->name,
					       columns[i].title);
				add_rate(phases, at++, name, columns[i].unit,
					 (double)table->rows[0].values[i] / seconds);
			}
		}
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

/* A part begins at @slice: was it there before? */
static void note_cut(struct phases *phases, uint64_t slice, const struct phases_cut *old,
		     size_t old_count)
{
	struct phases_cut cut = { .slice = slice, .stayed = 1 };

	for (size_t i = 0; i < old_count; i++) {
		cut.stayed += old[i].slice == slice ? old[i].stayed : 0;
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
		note_cut(phases, parts[i].first, old, old_count);
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
 * cut to the next one. */
static size_t change_at(const struct phases *phases, const struct rolling_part *after,
			double *ret_before)
{
	uint64_t count = rolling_count(phases->rolling);
	const struct rolling_part rest = { after->first, count - 1 };
	double largest = 0;
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < phases->series.count; i++) {
		const struct phases_series *series = &phases->series.at[i];
		double before = fmax(series->sum - rolling_sum(phases->rolling, i, &rest), 0) /
				(double)(after->first - phases->first);
		double change = fabs(mean_of(phases, i, after) - before);

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

		if (cut->slice <= phases->first || cut->stayed < PHASES_STAY || has_moved) {
			continue;
		}
		change = change_at(phases, &after, &mean);
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

	if (phases->number == 0 || report->begin != phases->end || has_cpus != phases->has_cpus) {
		break_off(phases, report->begin);
	}
	phases->has_cpus = has_cpus;
	phases->end = report->end;
	for (size_t i = 0; i < phases->series.count; i++) {
		phases->series.at[i].value = 0;
	}
	if (has_cpus && cpus) {
		add_cpus(phases, cpus);
	} else if (!has_cpus) {
		add_figures(phases, report);
	}
	add_slice(phases);
	find_cuts(phases);
	find_changes(phases);
}

void phases_report(struct phases *phases, const struct report *report)
{
	uint64_t slices = rolling_count(phases->rolling) - phases->first;

	forget_records(phases);
	if (report->kind == REPORT_WINDOW && report->end > report->begin) {
		add_window(phases, report);
	} else if (report->kind == REPORT_TOTAL && phases->number > 0) {
		add_record(phases, slices, phases->end, true);
	}
}

const struct phase_record *phases_records(const struct phases *phases, size_t *ret_count)
{
	*ret_count = phases->records.count;
	return phases->records.at;
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
