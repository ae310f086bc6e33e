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
#include "phases/suggest.h"

#define INTERVAL_MIN_NS NS_PER_MS /* the engine's shortest window */

struct process_sum {
	char *name;
	VEC(struct overview_ran) runs; /* in the order of slices */
};

HASH_MAP(process_of, uint32_t)
HASH_MAP(series_of, uint32_t)

struct overview {
	struct overview_config config;
	uint64_t interval_ns;
	uint64_t first; /* ns: the start of slice 0, a multiple of the interval */
	size_t room;    /* slices that the trace can have */
	size_t slices;  /* used */
	/* Those with events: the first one, and the one behind the last; SIZE_MAX, 0: none has. */
	size_t events_from, events_to;
	bool has_cpus;
	VEC(struct overview_series) series;
	struct series_of by_key;
	VEC(struct process_sum) processes;
	struct process_of by_pid;
	struct partition_table *table; /* of overview_find() */
	struct partitions partitions;
	struct partition own; /* of config.p */
	partition_parts phases;
	struct groups *groups;
	char *host;
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
	overview->groups = groups_new(overview->room);
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		overview->trees[i] =
			config->wants_tree[i] ? tree_new((enum tree_kind)i, overview->room) : NULL;
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
	for (size_t i = 0; i < overview->processes.count; i++) {
		free(overview->processes.at[i].name);
		vec_fini(&overview->processes.at[i].runs);
	}
	vec_fini(&overview->series);
	vec_fini(&overview->processes);
	series_of_fini(&overview->by_key);
	process_of_fini(&overview->by_pid);
	partition_table_free(overview->table);
	partitions_fini(&overview->partitions);
	partition_fini(&overview->own);
	vec_fini(&overview->phases);
	groups_free(overview->groups);
	free(overview->host);
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		tree_free(overview->trees[i]);
	}
	free(overview);
}

void overview_set_host(struct overview *overview, const char *host)
{
	free(overview->host);
	overview->host = host ? mem_strdup(host) : NULL;
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
	size_t slice;
};

static struct overview_series *series_of(struct overview *overview,
					 const struct series_value *value)
{
	uint64_t key = hash_bytes(0, value->name, strlen(value->name));
	bool is_new;
	uint32_t *at = series_of_put(&overview->by_key, key, &is_new);

	if (is_new) {
		*at = (uint32_t)overview->series.count;
		*vec_push(&overview->series) = (struct overview_series){
			.name = mem_strdup(value->name),
			.figure = value->figure,
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
	struct overview_series *series = series_of(taking->overview, value);

	taking->overview->has_cpus |= value->is_share;
	hold(series, taking->slice, value->value);
	series->values[taking->slice] = value->value;
	series->told = taking->slice + 1;
}

/* Of a process or container. */
static void on_series(void *user, const struct series_value *value, const double *values)
{
	struct overview *overview = user;

	memcpy(series_of(overview, value)->values, values, overview->slices * sizeof(*values));
}

/* ---- processes ---- */

static struct process_sum *process_of(struct overview *overview, const struct thread_view *view)
{
	struct process_sum *process;
	uint32_t *at;
	bool is_new;

	at = process_of_put(&overview->by_pid, (uint64_t)view->pid, &is_new);
	if (!is_new) {
		return &overview->processes.at[*at];
	}
	*at = (uint32_t)overview->processes.count;
	process = vec_push(&overview->processes);
	*process = (struct process_sum){ 0 };
	return process;
}

static void add_processes(struct overview *overview, size_t slice, const struct report_table *table)
{
	size_t count = table->row_count < OVERVIEW_PROCESSES_MAX ? table->row_count
								 : OVERVIEW_PROCESSES_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct report_row *row = &table->rows[i];
		struct process_sum *process;

		if (!row->thread || row->values[0] == 0) {
			continue;
		}
		process = process_of(overview, row->thread);
		free(process->name); /* the last name is shown */
		process->name = row->thread->pid < 0
					? mem_strdup("(not known)")
					: mem_printf("%s (%" PRId32 ")",
						     row->thread->comm[0] ? row->thread->comm : "?",
						     row->thread->pid);
		*vec_push(&process->runs) =
			(struct overview_ran){ .slice = (uint32_t)slice, .ns = row->values[0] };
	}
}

/* ---- windows ---- */

/* Packets may last longer than their events. */
static void end_with_events(struct overview *overview, const struct report *total)
{
	struct overview_config *config = &overview->config;

	if (total->events == 0 || total->end <= total->begin) {
		return;
	}
	config->begin = total->begin > config->begin ? total->begin : config->begin;
	config->end = total->end + 1 < config->end ? total->end + 1 : config->end;
}

void overview_report(struct overview *overview, const struct report *report)
{
	size_t slice;

	if (report->kind == REPORT_TOTAL) {
		end_with_events(overview, report);
	}
	if (report->kind != REPORT_WINDOW || report->begin < overview->first) {
		return;
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
	series_each(report, (double)length_of(overview, slice) / (double)NS_PER_S, on_value,
		    &(struct overview_taking){ overview, slice });
	groups_report(overview->groups, slice, report);
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (table->table->scope == SCOPE_PROCESS &&
		    strcmp(table->analysis->name, "cpu") == 0) {
			add_processes(overview, slice, table);
		}
	}
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		if (overview->trees[i]) {
			tree_report(overview->trees[i], slice, report);
		}
	}
}

bool overview_narrows(const struct overview *overview, struct overview_config *config)
{
	size_t with_events = overview->events_to - overview->events_from;
	bool is_outlasted = overview->events_from > 0 || overview->events_to < overview->slices ||
			    2 * with_events <= overview->room;
	uint64_t begin = overview->config.begin, end = overview->config.end;

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

/* ---- phases ---- */

#define MIX_TOLERANCE 0.1 /* of a series' largest value */

double overview_scale(const struct overview *overview, const struct overview_series *series)
{
	return is_in_model(overview, series)
		       ? fmax(series->is_share ? 0 : series->most, series->least_scale)
		       : 0;
}

/*
 * The share of @after in a slice in which @before ends and @after begins, by least squares over all
 * series.  Negative: the slice is no such mixture, since the shares of the series differ.
 */
static double mixture(const struct overview *overview, const struct part *slice,
		      const struct part *before, const struct part *after)
{
	double up = 0, down = 0, share;

	VEC_EACH(&overview->series, series) {
		double scale = overview_scale(overview, series), a = overview_mean(series, before);
		double change = overview_mean(series, after) - a;

		if (scale > 0) {
			up += (overview_mean(series, slice) - a) * change / (scale * scale);
			down += change * change / (scale * scale);
		}
	}
	share = down > 0 ? fmin(fmax(up / down, 0), 1) : 0;
	VEC_EACH(&overview->series, series) {
		double a = overview_mean(series, before), b = overview_mean(series, after);
		double wanted = a + share * (b - a);

		if (fabs(overview_mean(series, slice) - wanted) >
			    MIX_TOLERANCE * overview_scale(overview, series) &&
		    overview_scale(overview, series) > 0) {
			return -1;
		}
	}
	return share;
}

/* Joins slices in which the behaviour changes to the phase that has the larger share of them. */
void overview_phases_of(const struct overview *overview, const struct partition *partition,
			partition_parts *ret)
{
	assert(ret->count == 0);
	for (size_t i = 0; i < partition->parts.count; i++) {
		const struct part *part = &partition->parts.at[i];
		struct part *last = ret->count == 0 ? NULL : &ret->at[ret->count - 1];
		bool is_inner = last && i + 1 < partition->parts.count && part->first == part->last;
		double share = is_inner ? mixture(overview, part, last, part + 1) : -1;

		if (share < 0) {
			*vec_push(ret) = *part;
		} else if (share < 0.5) {
			last->last = part->last;
		} else {
			struct part joined = { .first = part->first, .last = part[1].last };

			*vec_push(ret) = joined;
			i++;
		}
	}
}

/* A tree without anything in it goes. */
static void find_trees(struct overview *overview)
{
	uint64_t *times = mem_alloc((overview->slices + 1) * sizeof(*times));

	for (size_t s = 0; s <= overview->slices; s++) {
		times[s] = overview_time(overview, s);
	}
	for (unsigned int i = 0; i < TREE_KINDS; i++) {
		struct tree *tree = overview->trees[i];

		if (tree &&
		    !tree_find(tree, overview->host, times, overview->slices, overview->config.p)) {
			tree_free(tree);
			overview->trees[i] = NULL;
		}
	}
	free(times);
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
	VEC_EACH(&overview->series, series) {
		hold(series, overview->slices, 0);
	}
	groups_each(overview->groups, &(struct groups_span){ 0, overview->slices }, on_series,
		    overview);
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

const struct tree *overview_tree(const struct overview *overview, enum tree_kind kind)
{
	assert(kind < TREE_KINDS);
	return overview->trees[kind];
}

const struct overview_ran *overview_runs(const struct overview *overview, size_t index,
					 const char **ret_name, size_t *ret_count)
{
	if (index >= overview->processes.count) {
		return NULL;
	}
	*ret_name = overview->processes.at[index].name;
	*ret_count = overview->processes.at[index].runs.count;
	return overview->processes.at[index].runs.at;
}

double overview_mean(const struct overview_series *series, const struct part *part)
{
	double sum = 0;

	for (uint32_t i = part->first; i <= part->last; i++) {
		sum += series->values[i];
	}
	return sum / (part->last - part->first + 1);
}

const struct overview_series *overview_change(const struct overview *overview,
					      const struct part *before, const struct part *after)
{
	const struct overview_series *ret = NULL;
	double largest = 0;

	VEC_EACH(&overview->series, series) {
		double change = fabs(overview_mean(series, after) - overview_mean(series, before));

		if (series->is_counterpart || !is_in_model(overview, series) || series->most <= 0) {
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

/* Puts a process into the list, which is sorted. */
static size_t insert(struct overview_process *list, size_t count, size_t room, char *name,
		     double ns)
{
	size_t at = count;

	if (count == room && (room == 0 || list[room - 1].ns >= ns)) {
		return count;
	}
	at = count == room ? room - 1 : count;
	while (at > 0 && list[at - 1].ns < ns) {
		list[at] = list[at - 1];
		at--;
	}
	list[at] = (struct overview_process){ .name = name, .ns = ns };
	return count < room ? count + 1 : room;
}

size_t overview_processes(const struct overview *overview, const struct part *part,
			  struct overview_process *ret, size_t room)
{
	size_t count = 0;

	VEC_EACH(&overview->processes, process) {
		uint64_t ns = 0;

		VEC_EACH(&process->runs, run) {
			ns += run->slice >= part->first && run->slice <= part->last ? run->ns : 0;
		}
		if (ns > 0) {
			count = insert(ret, count, room, process->name, (double)ns);
		}
	}
	return count;
}
