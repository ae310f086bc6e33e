/*
 * profile: see profile.h.
 */
#include "compare/profile.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/contract/row.h"
#include "figure/which.h"

/* ---- lifecycle ---- */

struct profile *profile_new(const char *name)
{
	struct profile *profile = mem_alloc(sizeof(*profile));

	profile->name = mem_strdup(name);
	profile->knows_losses = true;
	return profile;
}

static void free_table(struct profile_table *table)
{
	for (size_t i = 0; i < table->rows.all.count; i++) {
		struct profile_row *row = table->rows.all.at[i].row;

		for (unsigned int c = 0; c < COLUMNS_MAX; c++) {
			histogram_free(row->spreads[c].buckets);
		}
	}
	by_name_fini(&table->rows);
	free(table);
}

void profile_free(struct profile *profile)
{
	if (!profile) {
		return;
	}
	vec_free_each(&profile->tables, free_table);
	vec_fini(&profile->spans);
	vec_fini(&profile->missing.at);
	vec_free_each(&profile->texts, free);
	free(profile->name);
	free(profile);
}

/* ---- tables and rows ---- */

const struct profile_table *profile_find(const struct profile *profile, const struct table *table)
{
	for (size_t i = 0; i < profile->tables.count; i++) {
		if (profile->tables.at[i]->table == table) {
			return profile->tables.at[i];
		}
	}
	return NULL;
}

struct profile_table *profile_table_of(struct profile *profile, const struct analysis *analysis,
				       const struct table *table, uint16_t unknown)
{
	struct profile_table *found = (struct profile_table *)profile_find(profile, table);

	if (!found) {
		found = mem_alloc(sizeof(*found));
		found->analysis = analysis;
		found->table = table;
		found->unknown = UINT16_MAX;
		*vec_push(&profile->tables) = found;
	}
	found->unknown &= unknown;
	return found;
}

const struct profile_row *profile_find_row(const struct profile_table *table, const char *name)
{
	return table ? by_name_find(&table->rows, name) : NULL;
}

struct profile_row *profile_row_of(struct profile_table *table, const char *name)
{
	return by_name_add(&table->rows, name, sizeof(struct profile_row));
}

void profile_add_number(const struct profile_table *table, struct profile_row *row,
			unsigned int column, uint64_t value)
{
	enum column_kind kind = table->table->columns[column].kind;

	if (kind == COLUMN_MAX || kind == COLUMN_LAST_MAX) {
		column_raise(row->values, column, value);
	} else {
		row->values[column] += value;
	}
}

/* ---- phases ---- */

void compared_phases_fini(compared_phases *phases)
{
	for (size_t i = 0; i < phases->count; i++) {
		profile_free(phases->at[i].profile);
	}
	vec_fini(phases);
}

void phase_sources_fini(phase_sources *sources)
{
	VEC_EACH(sources, source) {
		free(source->trace);
		compared_phases_fini(&source->phases);
	}
	vec_fini(sources);
}

/* ---- distributions ---- */

void profile_add_spread(struct profile_row *row, unsigned int column, const struct spread *from)
{
	struct spread *to = &row->spreads[column];

	if (from->count == 0) {
		return;
	}
	if (to->count == 0) {
		*to = *from;
		to->buckets = NULL;
		histogram_merge(&to->buckets, from->buckets);
		return;
	}
	if (to->buckets && from->buckets) {
		histogram_merge(&to->buckets, from->buckets);
	} else {
		histogram_free(to->buckets);
		to->buckets = NULL;
	}
	to->has_percentiles = false;
	to->count += from->count;
	to->sum += from->sum;
	to->min = from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
}

static uint64_t said_percentile(const struct spread *spread, enum histogram_part part)
{
	return part == HISTOGRAM_P50   ? spread->p50
	       : part == HISTOGRAM_P95 ? spread->p95
	       : part == HISTOGRAM_P99 ? spread->p99
				       : spread->p999;
}

bool spread_part(const struct spread *spread, enum histogram_part part, double *ret)
{
	switch (part) {
	case HISTOGRAM_COUNT:
		*ret = (double)spread->count;
		return true;
	case HISTOGRAM_SUM:
		*ret = (double)spread->sum;
		return true;
	case HISTOGRAM_NO_PART:
	case HISTOGRAM_STDEV:
		return false;
	case HISTOGRAM_MIN:
		*ret = (double)spread->min;
		break;
	case HISTOGRAM_MAX:
		*ret = (double)spread->max;
		break;
	case HISTOGRAM_MEAN:
		*ret = spread->count > 0 ? (double)spread->sum / (double)spread->count : 0;
		break;
	default:
		if (!spread->buckets && !spread->has_percentiles) {
			return false;
		}
		*ret = spread->buckets ? histogram_part(spread->buckets, part)
				       : (double)said_percentile(spread, part);
		break;
	}
	return spread->count > 0;
}

/* ---- names ---- */

bool profile_has_names(const struct table *table)
{
	return table->scope != SCOPE_LONGEST;
}

/* ---- reports ---- */

static void add_row(const struct profile_table *to, struct profile_row *row,
		    const struct report_table *from, const uint64_t *values)
{
	for (unsigned int i = 0; i < COLUMNS_MAX && from->table->columns[i].key; i++) {
		enum column_kind kind = from->table->columns[i].kind;
		const struct histogram *histogram;
		struct spread spread = { 0 };

		if (kind == COLUMN_PRIO || report_is_unknown(from, i)) {
			continue;
		}
		if (kind != COLUMN_HISTOGRAM) {
			profile_add_number(to, row, i, values[i]);
			continue;
		}
		histogram = column_histogram(values, i);
		if (histogram) {
			spread = (struct spread){ .count = histogram->count,
						  .sum = histogram->sum,
						  .min = histogram->min,
						  .max = histogram->max,
						  .buckets = (struct histogram *)histogram };
		}
		profile_add_spread(row, i, &spread);
	}
}

void profile_add_trace(struct profile *profile, const struct missing_event *missing, size_t count)
{
	if (profile->traces++ > 0) {
		missing_keep(&profile->missing, missing, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		char *event = mem_strdup(missing[i].event);

		*vec_push(&profile->texts) = event;
		*vec_push(&profile->missing.at) =
			(struct missing_event){ missing[i].analysis, event };
	}
}

void profile_add_report(struct profile *profile, const struct report *report)
{
	for (size_t t = 0; t < report->table_count; t++) {
		const struct report_table *from = &report->tables[t];
		struct profile_table *to;

		if (!profile_has_names(from->table)) {
			continue;
		}
		to = profile_table_of(profile, from->analysis, from->table, from->unknown);
		for (size_t i = 0; i < from->row_count; i++) {
			char *name = which_name(from->table, &from->rows[i]);

			add_row(to, profile_row_of(to, name), from, from->rows[i].values);
			free(name);
		}
	}
	profile_add_trace(profile, report->missing, report->missing_count);
	report_lost_add(&profile->lost, &report->lost);
}

/* ---- time ---- */

void profile_add_span(struct profile *profile, uint64_t begin, uint64_t end)
{
	if (begin < end) {
		*vec_push(&profile->spans) = (struct profile_span){ begin, end };
	}
}

ORDER(by_begin, struct profile_span, UP(begin))

uint64_t profile_covered(struct profile_span *spans, size_t count, uint64_t *ret_end)
{
	uint64_t known = 0, sum = 0;

	qsort(spans, count, sizeof(*spans), by_begin);
	for (size_t i = 0; i < count; i++) {
		uint64_t begin = spans[i].begin > known ? spans[i].begin : known;

		sum += spans[i].end > begin ? spans[i].end - begin : 0;
		known = spans[i].end > known ? spans[i].end : known;
	}
	*ret_end = known;
	return sum;
}

int profile_end(struct profile *profile, struct err *err)
{
	if (profile->spans.count == 0) {
		return err_raise(err, -ENODATA, "%s: it covers no time", profile->name);
	}
	profile->covered_ns =
		profile_covered(profile->spans.at, profile->spans.count, &profile->end);
	profile->begin = profile->spans.at[0].begin;
	assert(profile->covered_ns > 0 && profile->covered_ns <= profile->end - profile->begin);
	return 0;
}
