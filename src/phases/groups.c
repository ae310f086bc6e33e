/*
 * groups: see groups.h.
 */
#include "phases/groups.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "phases/suggest.h"

#define NO_GROUP   UINT32_MAX
#define DOES_BYTES 32
#define CONTAINERS (UINT64_C(1) << 32) /* their numbers, above all pids */

struct group_thread {
	float *rates; /* [columns][room], ns a second; below 0: not known */
	size_t known; /* slices that are */
	uint32_t process, container;
};

struct thread_group {
	char *name;   /* the last one */
	size_t first; /* of the process' threads, once they are sorted */
	size_t count;
	bool is_container;
};

/* A column of a group that changes. */
struct changing {
	uint32_t group, column;
	double change;
};

typedef VEC(struct changing) changing_list;

ORDER(by_process, struct group_thread, UP(process))
ORDER(by_change, struct changing, DOWN(change) UP(group) UP(column))
ORDER(by_group, struct changing, UP(group) UP(column))

HASH_MAP(group_of, uint32_t)

struct groups {
	size_t room;
	const struct table *table; /* of the threads; NULL: none came */
	unsigned int columns;
	char does[COLUMNS_MAX][DOES_BYTES]; /* what columns say of a thread; "": nothing */
	size_t containers;
	VEC(struct group_thread) threads;
	VEC(struct thread_group) at;
	struct group_of by_thread, by_id;
};

struct groups *groups_new(size_t room)
{
	struct groups *groups = mem_alloc(sizeof(*groups));

	assert(room > 0);
	groups->room = room;
	return groups;
}

void groups_free(struct groups *groups)
{
	VEC_EACH(&groups->at, group) {
		free(group->name);
	}
	VEC_EACH(&groups->threads, thread) {
		free(thread->rates);
	}
	vec_fini(&groups->threads);
	vec_fini(&groups->at);
	group_of_fini(&groups->by_thread);
	group_of_fini(&groups->by_id);
	free(groups);
}

/* ---- columns ---- */

/* What a column says of a thread; @has_calls: it is known for what threads sleep. */
static void say_column(char ret[DOES_BYTES], const char *key, bool has_calls)
{
	const char *const others[][2] = {
		{ "run_ns", "runs" },
		{ "wait_ns", "waits for a CPU" },
		{ "other_ns", "sleeps" },
		{ "preempted_ns", "is preempted" },
		{ "asleep_ns", has_calls ? "" : "sleeps" },
		{ "stopped_ns", "is stopped" },
		{ "unknown_ns", "" },
	};

	for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
		if (strcmp(key, others[i][0]) == 0) {
			(void)snprintf(ret, DOES_BYTES, "%s", others[i][1]);
			return;
		}
	}
	(void)snprintf(ret, DOES_BYTES, "waits for %.*s", (int)strcspn(key, "_"), key);
}

static void set_columns(struct groups *groups, const struct report_table *table)
{
	const struct column *columns = table->table->columns;
	bool has_calls = false;

	groups->table = table->table;
	for (; groups->columns < COLUMNS_MAX && columns[groups->columns].key; groups->columns++) {
		has_calls |= strcmp(columns[groups->columns].key, "other_ns") == 0 &&
			     !report_is_unknown(table, groups->columns);
	}
	for (unsigned int i = 0; i < groups->columns; i++) {
		say_column(groups->does[i], columns[i].key, has_calls);
	}
}

/* ---- slices ---- */

/* Whether what the thread did is known for all of the window. */
static bool is_told(const struct groups *groups, const uint64_t *values, uint64_t window_ns)
{
	uint64_t ns = 0;

	for (unsigned int i = 0; i < groups->columns; i++) {
		ns += groups->does[i][0] ? values[i] : 0;
	}
	return ns >= window_ns;
}

static uint32_t group_at(struct groups *groups, uint64_t id)
{
	bool is_new;
	uint32_t *at = group_of_put(&groups->by_id, id, &is_new);

	if (is_new) {
		*at = (uint32_t)groups->at.count;
		*vec_push(&groups->at) = (struct thread_group){ .is_container = id >= CONTAINERS };
		groups->containers += id >= CONTAINERS;
	}
	return *at;
}

/* NULL: there are too many. */
static struct group_thread *group_thread_at(struct groups *groups, const struct report_row *row)
{
	uint64_t key = ((uint64_t)(uint32_t)row->thread->tid << 32) + row->id;
	size_t cells = groups->columns * groups->room;
	struct group_thread *thread;
	uint32_t *at = group_of_get(&groups->by_thread, key);
	bool is_new;

	if (at) {
		return &groups->threads.at[*at];
	}
	if ((groups->threads.count + 1) * groups->room > GROUPS_CELLS_MAX) {
		return NULL;
	}
	*group_of_put(&groups->by_thread, key, &is_new) = (uint32_t)groups->threads.count;
	thread = vec_push(&groups->threads);
	*thread = (struct group_thread){ .rates = mem_alloc(cells * sizeof(*thread->rates)) };
	for (size_t i = 0; i < cells; i++) {
		thread->rates[i] = -1;
	}
	return thread;
}

static void add_thread(struct groups *groups, size_t slice, const struct report_row *row,
		       uint64_t window_ns)
{
	const struct thread_view *view = row->thread;
	struct group_thread *thread;

	if (!view || view->tid <= 0 || view->pid <= 0 || !is_told(groups, row->values, window_ns)) {
		return;
	}
	thread = group_thread_at(groups, row);
	if (!thread) {
		return;
	}
	thread->process = group_at(groups, (uint64_t)view->pid);
	thread->container =
		view->container == 0 ? NO_GROUP : group_at(groups, CONTAINERS + view->container);
	thread->known++;
	for (unsigned int i = 0; i < groups->columns; i++) {
		thread->rates[i * groups->room + slice] =
			(float)((double)row->values[i] * (double)NS_PER_S / (double)window_ns);
	}
}

/* Of a process, or a container, whose threads are known. */
static void call_group(struct groups *groups, const struct report_row *row, bool is_container)
{
	uint64_t id = is_container  ? CONTAINERS + row->id
		      : row->thread ? (uint64_t)row->thread->pid
				    : 0;
	uint32_t *at = group_of_get(&groups->by_id, id);

	if (!at || (!is_container && row->thread->pid <= 0)) {
		return;
	}
	free(groups->at.at[*at].name);
	groups->at.at[*at].name =
		is_container ? mem_strdup(row->name)
			     : mem_printf("%s (%" PRId32 ")",
					  row->thread->comm[0] ? row->thread->comm : "?",
					  row->thread->pid);
}

static void groups_take_rows(struct groups *groups, size_t slice, const struct report *report,
			     const struct report_table *table)
{
	enum scope scope = table->table->scope;

	if (scope == SCOPE_THREAD && !groups->table) {
		set_columns(groups, table);
	}
	for (size_t i = 0; i < table->row_count; i++) {
		if (scope == SCOPE_THREAD) {
			add_thread(groups, slice, &table->rows[i], report->end - report->begin);
		} else if (scope == SCOPE_PROCESS || scope == SCOPE_CONTAINER) {
			call_group(groups, &table->rows[i], scope == SCOPE_CONTAINER);
		}
	}
}

void groups_report(struct groups *groups, size_t slice, const struct report *report)
{
	assert(slice < groups->room);
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (strcmp(table->analysis->name, "waits") == 0 && !report_is_unknown(table, 0) &&
		    report->end > report->begin) {
			groups_take_rows(groups, slice, report, table);
		}
	}
}

/* ---- series ---- */

/* Adds the rate of a column of a thread, slice by slice. */
static void add_filled(const struct groups *groups, const struct group_thread *thread,
		       unsigned int column, size_t slices, double *ret)
{
	const float *rates = &thread->rates[column * groups->room];
	double rate = 0;

	for (size_t i = 0; i < slices && rate <= 0; i++) {
		if (rates[i] >= 0) {
			rate = rates[i];
			break;
		}
	}
	for (size_t i = 0; i < slices; i++) {
		rate = rates[i] >= 0 ? rates[i] : rate;
		ret[i] += rate;
	}
}

static void sum_group(const struct groups *groups, uint32_t number, unsigned int column,
		      size_t slices, double *ret)
{
	const struct thread_group *group = &groups->at.at[number];
	size_t first = group->is_container ? 0 : group->first;
	size_t count = group->is_container ? groups->threads.count : group->count;

	memset(ret, 0, slices * sizeof(*ret));
	for (size_t i = first; i < first + count; i++) {
		const struct group_thread *thread = &groups->threads.at[i];

		if (thread->known >= 2 * GROUPS_STAY &&
		    (group->is_container ? thread->container : thread->process) == number) {
			add_filled(groups, thread, column, slices, ret);
		}
	}
}

static double most_of(const double *values, size_t slices)
{
	double most = (double)NS_PER_S;

	for (size_t i = 0; i < slices; i++) {
		most = fmax(most, values[i]);
	}
	return most;
}

/* How much the mean of some slices changes at a point, at most, in the largest value. */
static double change_of(const double *values, size_t slices)
{
	double most = most_of(values, slices), largest = 0;

	for (size_t i = GROUPS_STAY; i + GROUPS_STAY <= slices; i++) {
		double change = 0;

		for (size_t k = 0; k < GROUPS_STAY; k++) {
			change += values[i + k] - values[i - 1 - k];
		}
		largest = fmax(largest, fabs(change) / GROUPS_STAY / most);
	}
	return largest;
}

/* Sorts the threads by process. */
static void sort_threads(struct groups *groups)
{
	vec_sort(&groups->threads, by_process);
	for (size_t i = groups->threads.count; i > 0; i--) {
		struct thread_group *group = &groups->at.at[groups->threads.at[i - 1].process];

		group->first = i - 1;
		group->count++;
	}
}

static void find_changing(const struct groups *groups, size_t slices, double *values,
			  changing_list *ret)
{
	for (uint32_t g = 0; g < groups->at.count; g++) {
		const struct thread_group *group = &groups->at.at[g];

		/* One container alone says what the trace does. */
		for (unsigned int i = 0; i < groups->columns && group->name; i++) {
			double change;

			if ((group->is_container && groups->containers < 2) ||
			    !groups->does[i][0]) {
				continue;
			}
			sum_group(groups, g, i, slices, values);
			change = change_of(values, slices);
			if (change >= GROUPS_CHANGE) {
				*vec_push(ret) = (struct changing){ g, i, change };
			}
		}
	}
	vec_sort(ret, by_change);
	ret->count = ret->count < GROUPS_SERIES_MAX ? ret->count : GROUPS_SERIES_MAX;
	vec_sort(ret, by_group);
}

void groups_each(struct groups *groups, size_t slices,
		 void (*on_series)(void *user, const struct series_value *series,
				   const double *values),
		 void *user)
{
	changing_list changing = { 0 };
	double *values = mem_alloc((slices + 1) * sizeof(*values));

	assert(slices <= groups->room);
	sort_threads(groups);
	find_changing(groups, slices, values, &changing);
	VEC_EACH(&changing, one) {
		char *name = mem_printf("%s %s", groups->at.at[one->group].name,
					groups->does[one->column]);

		sum_group(groups, one->group, one->column, slices, values);
		on_series(user,
			  &(struct series_value){ .name = name,
						  .figure = groups->table->columns[one->column].key,
						  .cpu = SERIES_ALL_CPUS,
						  .is_state = true,
						  .unit = UNIT_NS,
						  .least_scale = GROUPS_CHANGE / SUGGEST_CHANGE *
								 most_of(values, slices) },
			  values);
		free(name);
	}
	vec_fini(&changing);
	free(values);
}
