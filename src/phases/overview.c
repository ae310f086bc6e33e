/*
 * overview: see overview.h.
 */
#include "phases/overview.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"
#include "phases/groups.h"
#include "phases/ran.h"
#include "phases/suggest.h"

#define INTERVAL_MIN_NS NS_PER_MS /* the engine's shortest window */

HASH_MAP(series_of, uint32_t)

/* One of those whose windows come, one after the other. */
struct overview_host {
	struct overview_host_span span;
	struct groups *groups;
	uint64_t *covered; /* ns of each slice that its CPUs were recorded */
};

struct overview {
	struct overview_config config;
	uint64_t interval_ns;
	uint64_t first; /* ns: the start of slice 0, a multiple of the interval */
	size_t room;    /* slices that the trace can have */
	size_t slices;  /* used */
	/* Those with events: the first one, and the one behind the last; SIZE_MAX, 0: none has. */
	size_t events_from, events_to;
	uint64_t events_begin, events_end; /* ns; of the hosts that have any */
	bool has_cpus;
	VEC(struct overview_series) series;
	struct series_of by_key;
	struct ran *ran;
	VEC(struct overview_host) hosts;
	struct partition_table *table; /* of overview_find() */
	struct partitions partitions;
	struct partition own; /* of config.p */
	partition_parts phases;
	struct tree *trees[TREE_KINDS];
};

/* ---- slices ---- */

/* A round number of ns. */
uint64_t overview_interval(const struct overview_config *config)
{
	static const uint64_t steps[] = { 10, 12, 15, 20, 25, 30, 40, 50, 60, 80 };
	uint64_t wanted = (config->end - config->begin) / (config->slices - 1) + 1;
	uint64_t unit = INTERVAL_MIN_NS / 10;

	assert(config->slices >= 2 && config->slices <= PARTITION_SLICES_MAX);
	assert(config->begin <= config->end);
	for (;; unit *= 10) {
		for (size_t i = 0; i < ARRAY_COUNT(steps); i++) {
			if (unit * steps[i] >= wanted || unit > UINT64_MAX / 1000) {
				return unit * steps[i];
			}
		}
	}
}

struct overview *overview_new(const struct overview_config *config)
{
	struct overview *overview = mem_alloc(sizeof(*overview));

	overview->config = *config;
	overview->events_from = SIZE_MAX;
	overview->interval_ns = overview_interval(config);
	overview->first = config->begin / overview->interval_ns * overview->interval_ns;
	overview->room = (config->end - overview->first) / overview->interval_ns + 1;
	assert(overview->room <= config->slices);
	overview->ran = ran_new();
	overview->config.hosts = config->hosts > 0 ? config->hosts : 1;
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		overview->trees[i] = config->wants_tree[i]
					     ? tree_new((enum tree_kind)i, overview->room,
							overview->config.hosts)
					     : NULL;
	}
	return overview;
}

void overview_free(struct overview *overview)
{
	if (!overview) {
		return;
	}
	for (size_t i = 0; i < overview->series.count; i++) {
		free(overview->series.at[i].name);
		free(overview->series.at[i].values);
	}
	VEC_EACH(&overview->hosts, host) {
		free(host->span.name);
		groups_free(host->groups);
		free(host->covered);
	}
	vec_fini(&overview->series);
	vec_fini(&overview->hosts);
	series_of_fini(&overview->by_key);
	ran_free(overview->ran);
	partition_table_free(overview->table);
	partitions_fini(&overview->partitions);
	partition_fini(&overview->own);
	vec_fini(&overview->phases);
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		tree_free(overview->trees[i]);
	}
	free(overview);
}

void overview_begin_host(struct overview *overview, const char *name)
{
	struct overview_host *host;

	assert(overview->hosts.count < overview->config.hosts);
	host = vec_push(&overview->hosts);
	*host = (struct overview_host){
		.span = { .name = name ? mem_strdup(name) : NULL, .first = SIZE_MAX },
		.groups = groups_new(overview->room),
		.covered = mem_alloc(overview->room * sizeof(*host->covered)),
	};
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		if (overview->trees[i]) {
			tree_begin_host(overview->trees[i], name);
		}
	}
}

static bool has_hosts(const struct overview *overview)
{
	return overview->config.hosts > 1;
}

/* What the names of a host's series and processes begin with; NULL: there is one host. */
static const char *told_host(const struct overview *overview, size_t number)
{
	const char *name = overview->hosts.at[number].span.name;

	return !has_hosts(overview) ? NULL : name ? name : "?";
}

size_t overview_slices(const struct overview *overview)
{
	return overview->slices;
}

uint64_t overview_time(const struct overview *overview, size_t slice)
{
	uint64_t ns = overview->first + slice * overview->interval_ns;

	ns = ns < overview->config.begin ? overview->config.begin : ns;
	return ns > overview->config.end ? overview->config.end : ns;
}

/* ns of the trace that lie in the slice. */
static uint64_t length_of(const struct overview *overview, size_t slice)
{
	return overview_time(overview, slice + 1) - overview_time(overview, slice);
}

/* ---- series ---- */

struct overview_taking {
	struct overview *overview;
	size_t host, slice;
};

static struct overview_series *series_of(struct overview *overview, size_t host,
					 const struct series_value *value)
{
	const char *of = told_host(overview, host);
	uint64_t key = hash_bytes(host, value->name, strlen(value->name));
	bool is_new;
	uint32_t *at = series_of_put(&overview->by_key, key, &is_new);

	if (is_new) {
		*at = (uint32_t)overview->series.count;
		*vec_push(&overview->series) = (struct overview_series){
			.name = of ? mem_printf("%s: %s", of, value->name)
				   : mem_strdup(value->name),
			.figure = value->figure,
			.host = host,
			.cpus = value->cpus,
			.cpu = value->cpu,
			.is_state = value->is_state,
			.is_share = value->is_share,
			.is_level = value->is_level,
			.is_counterpart = value->is_counterpart,
			.unit = value->unit,
			.least_scale = value->least_scale,
			.values = mem_alloc(overview->room * sizeof(double)),
		};
	}
	return &overview->series.at[*at];
}

/* Slices in which nothing ended have the mean duration of those before; the first ones, that of the
 * first. */
static void hold(struct overview_series *series, size_t slice, double value)
{
	double before = series->told > 0 ? series->values[series->told - 1] : value;

	while (series->is_level && series->unit == UNIT_NS && series->told < slice) {
		series->values[series->told++] = before;
	}
	series->told = slice;
}

static void on_value(void *user, const struct series_value *value)
{
	const struct overview_taking *taking = user;
	struct overview_series *series = series_of(taking->overview, taking->host, value);

	taking->overview->has_cpus |= value->is_share;
	series->cpus = value->cpus > series->cpus ? value->cpus : series->cpus; /* seen so far */
	hold(series, taking->slice, value->value);
	series->values[taking->slice] = value->value;
	series->told = taking->slice + 1;
}

/* Of a process or container. */
static void on_series(void *user, const struct series_value *value, const double *values)
{
	const struct overview_taking *taking = user;
	struct overview *overview = taking->overview;

	memcpy(series_of(overview, taking->host, value)->values, values,
	       overview->slices * sizeof(*values));
}

/* ---- windows ---- */

static void note_events(struct overview *overview, const struct report *total)
{
	bool is_first = overview->events_end == 0;

	if (total->events == 0 || total->end <= total->begin) {
		return;
	}
	overview->events_begin = is_first || total->begin < overview->events_begin
					 ? total->begin
					 : overview->events_begin;
	overview->events_end =
		total->end + 1 > overview->events_end ? total->end + 1 : overview->events_end;
}

/* Packets may last longer than their events; of several hosts, than those of all. */
static void end_with_events(struct overview *overview)
{
	struct overview_config *config = &overview->config;

	if (overview->events_end > 0) {
		config->begin = overview->events_begin > config->begin ? overview->events_begin
								       : config->begin;
		config->end =
			overview->events_end < config->end ? overview->events_end : config->end;
	}
}

/* For how much of the slice the CPUs were recorded: the longest. */
static uint64_t covered_by(const struct report *report)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];
		bool is_cpus = table->table->scope == SCOPE_CPU &&
			       strcmp(table->analysis->name, "cpu") == 0;

		for (size_t k = 0; is_cpus && k < table->row_count; k++) {
			const uint64_t *ns = table->rows[k].values;

			longest = ns[0] + ns[1] + ns[2] > longest ? ns[0] + ns[1] + ns[2] : longest;
		}
	}
	return longest;
}

static void take_host_slice(struct overview *overview, size_t number, size_t slice,
			    const struct report *report)
{
	struct overview_host *host = &overview->hosts.at[number];

	host->span.first = slice < host->span.first ? slice : host->span.first;
	host->span.past = slice + 1 > host->span.past ? slice + 1 : host->span.past;
	host->covered[slice] = covered_by(report);
	series_each(report, (double)length_of(overview, slice) / (double)NS_PER_S,
		    overview->config.has_calls, on_value,
		    &(struct overview_taking){ overview, number, slice });
	groups_report(host->groups, slice, report);
	ran_report(overview->ran, number, told_host(overview, number), slice, report);
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		if (overview->trees[i]) {
			tree_report(overview->trees[i], slice, report);
		}
	}
}

void overview_report(struct overview *overview, const struct report *report)
{
	size_t slice;

	if (report->kind == REPORT_TOTAL) {
		note_events(overview, report);
	}
	if (report->kind != REPORT_WINDOW || report->begin < overview->first) {
		return;
	}
	if (overview->hosts.count == 0) {
		overview_begin_host(overview, NULL);
	}
	slice = (report->begin - overview->first) / overview->interval_ns;
	if (slice >= overview->room) {
		return; /* behind the end that was announced: the trace has grown */
	}
	overview->slices = slice + 1 > overview->slices ? slice + 1 : overview->slices;
	if (report->events > 0) {
		overview->events_from =
			slice < overview->events_from ? slice : overview->events_from;
		overview->events_to =
			slice >= overview->events_to ? slice + 1 : overview->events_to;
	}
	take_host_slice(overview, overview->hosts.count - 1, slice, report);
}

bool overview_narrows(struct overview *overview, struct overview_config *config)
{
	size_t with_events = overview->events_to - overview->events_from;
	bool is_outlasted = overview->events_from > 0 || overview->events_to < overview->slices ||
			    2 * with_events <= overview->room;
	uint64_t begin, end;

	end_with_events(overview);
	begin = overview->config.begin;
	end = overview->config.end;
	if (overview->events_to == 0 || !is_outlasted ||
	    (begin <= config->begin && end >= config->end) || begin >= end) {
		return false;
	}
	config->begin = begin;
	config->end = end;
	return true;
}

/* ---- the model ---- */

static bool is_in_model(const struct overview *overview, const struct overview_series *series)
{
	return series->is_state || overview->config.uses_figures || !overview->has_cpus;
}

double overview_scale(const struct overview *overview, const struct overview_series *series)
{
	return is_in_model(overview, series)
		       ? fmax(series->is_share ? 0 : series->most, series->least_scale)
		       : 0;
}

/* A tree without anything in it goes. */
static void find_trees(struct overview *overview)
{
	uint64_t *times = mem_alloc((overview->slices + 1) * sizeof(*times));
	const uint64_t *missing[TREE_HOSTS_MAX] = { 0 };

	for (size_t h = 0; has_hosts(overview) && h < overview->hosts.count; h++) {
		missing[h] = overview->hosts.at[h].covered; /* made so by set_missing() */
	}
	for (size_t s = 0; s <= overview->slices; s++) {
		times[s] = overview_time(overview, s);
	}
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		struct tree *tree = overview->trees[i];

		if (tree &&
		    !tree_find(tree, times, missing, overview->slices, overview->config.p)) {
			tree_free(tree);
			overview->trees[i] = NULL;
		}
	}
	free(times);
}

/* Also of a host that was not recorded. */
static bool is_unknown_share(const struct overview_series *series)
{
	return series->is_share && strcmp(series->figure, "unknown") == 0;
}

/* A host that was not recorded for a part of a slice: so much of its CPUs' time is unknown.  What
 * was covered becomes what is missing. */
static void set_missing(struct overview *overview)
{
	VEC_EACH(&overview->hosts, host) {
		for (size_t s = 0; s < overview->slices; s++) {
			uint64_t all = length_of(overview, s), covered = host->covered[s];

			host->covered[s] = covered < all ? all - covered : 0;
		}
	}
	VEC_EACH(&overview->series, series) {
		const uint64_t *missing = overview->hosts.at[series->host].covered;

		for (size_t s = 0; series->is_share && s < overview->slices; s++) {
			double share = length_of(overview, s) > 0
					       ? (double)missing[s] / (double)length_of(overview, s)
					       : 0;

			series->values[s] *= 1 - share;
			series->values[s] += is_unknown_share(series) ? share : 0;
		}
	}
}

/* The model's series, one after the other; @counts: which of them do not say the opposite of
 * another.  Returns how many. */
static size_t fill_model(struct overview *overview, double *values, bool *counts)
{
	size_t found = 0;

	VEC_EACH(&overview->series, series) {
		double *row = values + found * overview->slices, scale;

		for (size_t s = 0; s < overview->slices; s++) {
			series->most = fmax(series->most, series->values[s]);
		}
		scale = overview_scale(overview, series);
		if (scale <= 0 || series->most <= 0) {
			continue;
		}
		for (size_t s = 0; s < overview->slices; s++) {
			row[s] = series->values[s] / scale;
		}
		counts[found++] = !series->is_counterpart;
	}
	return found;
}

bool overview_find(struct overview *overview)
{
	struct partition_model model = { .slices = overview->slices };
	double *values;
	bool *counts;

	assert(!overview->table);
	end_with_events(overview);
	VEC_EACH(&overview->series, series) {
		hold(series, overview->slices, 0);
	}
	if (has_hosts(overview)) {
		set_missing(overview);
	}
	for (size_t h = 0; h < overview->hosts.count && overview->slices > 0; h++) {
		struct groups *groups = overview->hosts.at[h].groups;

		if (groups_next(groups) < overview->slices) { /* the host ended before others */
			groups_report(groups, overview->slices - 1, &(struct report){ 0 });
		}
		groups_each(groups, &(struct groups_span){ 0, overview->slices }, on_series,
			    &(struct overview_taking){ overview, h, 0 });
	}
	values = mem_alloc((overview->series.count * overview->slices + 1) * sizeof(*values));
	counts = mem_alloc(overview->series.count + 1);
	model.series = fill_model(overview, values, counts);
	model.values = values;
	if (overview->slices > 0 && model.series > 0) {
		overview->table = partition_table_new(&model);
		partitions_find(overview->table, &overview->partitions);
		suggest_among(overview->table, counts, &overview->partitions);
	}
	free(values);
	free(counts);
	if (overview->table && overview->config.p >= 0) {
		partition_find(overview->table, overview->config.p, &overview->own);
	}
	if (overview->table) {
		overview_phases_of(overview, overview_chosen(overview), &overview->phases);
		find_trees(overview);
	}
	return overview->table != NULL;
}

/* ---- results ---- */

const struct overview_series *overview_series(const struct overview *overview, size_t *ret_count)
{
	*ret_count = overview->series.count;
	return overview->series.at;
}

const struct partitions *overview_partitions(const struct overview *overview)
{
	assert(overview->table);
	return &overview->partitions;
}

const struct partition *overview_chosen(const struct overview *overview)
{
	assert(overview->table);
	return overview->config.p >= 0
		       ? &overview->own
		       : &overview->partitions.at.at[overview->partitions.suggested];
}

size_t overview_chosen_at(const struct overview *overview)
{
	const struct partitions *all = &overview->partitions;

	return overview->config.p >= 0
		       ? (size_t)(partitions_at(all, overview->config.p) - all->at.at)
		       : all->suggested;
}

const struct part *overview_phases(const struct overview *overview, size_t *ret_count)
{
	*ret_count = overview->phases.count;
	return overview->phases.at;
}

size_t overview_hosts(const struct overview *overview)
{
	return has_hosts(overview) ? overview->hosts.count : 0;
}

const struct overview_host_span *overview_host(const struct overview *overview, size_t number)
{
	assert(number < overview->hosts.count);
	return &overview->hosts.at[number].span;
}

const struct tree *overview_tree(const struct overview *overview, enum tree_kind kind)
{
	assert(kind < TREE_KINDS);
	return overview->trees[kind];
}

double overview_mean(const struct overview_series *series, const struct part *part)
{
	double sum = 0;

	for (uint32_t i = part->first; i <= part->last; i++) {
		sum += series->values[i];
	}
	return sum / (part->last - part->first + 1);
}

bool overview_is_told(const struct overview *overview, const struct overview_series *series,
		      const struct part *part)
{
	const struct overview_host_span *span = &overview->hosts.at[series->host].span;

	return !has_hosts(overview) || (part->first < span->past && part->last >= span->first);
}

const struct overview_series *overview_change(const struct overview *overview,
					      const struct part *before, const struct part *after)
{
	const struct overview_series *ret = NULL;
	double largest = 0;

	VEC_EACH(&overview->series, series) {
		double change = fabs(overview_mean(series, after) - overview_mean(series, before));

		if (series->is_counterpart || !is_in_model(overview, series) || series->most <= 0 ||
		    !(is_unknown_share(series) || (overview_is_told(overview, series, before) &&
						   overview_is_told(overview, series, after)))) {
			continue;
		}
		change /= overview_scale(overview, series);
		if (change > largest) {
			largest = change;
			ret = series;
		}
	}
	return largest >= SUGGEST_CHANGE ? ret : NULL;
}

const struct ran *overview_ran(const struct overview *overview)
{
	return overview->ran;
}
