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
#define RATE_MAX   1e12
#define CONTAINERS (UINT64_C(1) << 32) /* their numbers, above all pids */

struct group_thread {
	uint64_t key;
	float *rates;   /* [columns][slice modulo room], whole ns a second; below 0: not known */
	uint32_t known; /* slices that are */
	uint32_t process, container;
};

struct thread_group {
	uint64_t id;
	char *name;   /* the last one */
	size_t first; /* of the process' threads, in the order of groups.by_process */
	size_t count;
};

/* A column of a group that changes. */
struct changing {
	uint32_t group, column;
	double change;
};

typedef VEC(struct changing) changing_list;

ORDER(by_change, struct changing, DOWN(change) UP(group) UP(column))
ORDER(by_group, struct changing, UP(group) UP(column))

HASH_MAP(group_of, uint32_t)

struct groups {
	size_t room;               /* slices that are held */
	uint64_t next;             /* the slice behind the newest one */
	const struct table *table; /* of the threads; NULL: none came */
	unsigned int columns;
	char does[COLUMNS_MAX][DOES_BYTES]; /* what columns say of a thread; "": nothing */
	VEC(struct group_thread) threads;
	VEC(struct thread_group) at;
	struct group_of by_thread, by_id;
	VEC(uint32_t) by_process; /* threads; of the last groups_each() */
};

static bool is_container(const struct thread_group *group)
{
	return group->id >= CONTAINERS;
}

struct groups *groups_new(size_t room)
{
	struct groups *groups = mem_alloc(sizeof(*groups));

	assert(room > 0);
	groups->room = room;
	return groups;
}

static void forget_everyone(struct groups *groups)
{
	VEC_EACH(&groups->at, group) {
		free(group->name);
	}
	VEC_EACH(&groups->threads, thread) {
		free(thread->rates);
	}
	groups->at.count = groups->threads.count = 0;
	group_of_clear(&groups->by_thread);
	group_of_clear(&groups->by_id);
}

void groups_free(struct groups *groups)
{
	if (!groups) {
		return;
	}
	forget_everyone(groups);
	vec_fini(&groups->threads);
	vec_fini(&groups->at);
	vec_fini(&groups->by_process);
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
	unsigned int restored = groups->columns;
	bool has_calls = false;

	groups->table = table->table;
	groups->columns = 0;
	for (; groups->columns < COLUMNS_MAX && columns[groups->columns].key; groups->columns++) {
		has_calls |= strcmp(columns[groups->columns].key, "other_ns") == 0 &&
			     !report_is_unknown(table, groups->columns);
	}
	for (unsigned int i = 0; i < groups->columns; i++) {
		say_column(groups->does[i], columns[i].key, has_calls);
	}
	if (groups->columns != restored) {
		forget_everyone(groups);
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
		*vec_push(&groups->at) = (struct thread_group){ .id = id };
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
	*thread = (struct group_thread){ .key = key,
					 .rates = mem_alloc(cells * sizeof(*thread->rates)) };
	for (size_t i = 0; i < cells; i++) {
		thread->rates[i] = -1;
	}
	return thread;
}

static void add_thread(struct groups *groups, const struct report_row *row, uint64_t window_ns)
{
	const struct thread_view *view = row->thread;
	size_t slot = (groups->next - 1) % groups->room;
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
	thread->known += thread->rates[slot] < 0;
	for (unsigned int i = 0; i < groups->columns; i++) {
		double rate = (double)row->values[i] * (double)NS_PER_S / (double)window_ns;

		/* Whole numbers: so sums are exact, in whatever order. */
		thread->rates[i * groups->room + slot] = (float)round(rate);
	}
}

/* Of a process, or a container, whose threads are known. */
static void call_group(struct groups *groups, const struct report_row *row, bool is_container)
{
	uint64_t id = is_container  ? CONTAINERS + (uint32_t)row->id
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

static void groups_take_rows(struct groups *groups, const struct report *report,
			     const struct report_table *table)
{
	enum scope scope = table->table->scope;

	if (scope == SCOPE_THREAD && !groups->table) {
		set_columns(groups, table);
	}
	for (size_t i = 0; i < table->row_count; i++) {
		if (scope == SCOPE_THREAD) {
			add_thread(groups, &table->rows[i], report->end - report->begin);
		} else if (scope == SCOPE_PROCESS || scope == SCOPE_CONTAINER) {
			call_group(groups, &table->rows[i], scope == SCOPE_CONTAINER);
		}
	}
}

/* ---- slices that are held no more ---- */

/* Takes away threads of which nothing is known any more, and groups without threads. */
static void forget_unknown(struct groups *groups)
{
	uint32_t *moved = mem_alloc((groups->at.count + 1) * sizeof(*moved)); /* number and 1 */
	size_t threads = 0;
	uint32_t count = 0;

	VEC_EACH(&groups->threads, thread) {
		if (thread->known == 0) {
			free(thread->rates);
			continue;
		}
		moved[thread->process] = 1;
		if (thread->container != NO_GROUP) {
			moved[thread->container] = 1;
		}
		groups->threads.at[threads++] = *thread;
	}
	groups->threads.count = threads;
	group_of_clear(&groups->by_id);
	for (uint32_t g = 0; g < groups->at.count; g++) {
		if (moved[g] == 0) {
			free(groups->at.at[g].name);
			continue;
		}
		groups->at.at[count] = groups->at.at[g];
		*group_of_put(&groups->by_id, groups->at.at[g].id, NULL) = count;
		moved[g] = ++count;
	}
	groups->at.count = count;
	group_of_clear(&groups->by_thread);
	VEC_EACH(&groups->threads, thread) {
		*group_of_put(&groups->by_thread, thread->key, NULL) =
			(uint32_t)(thread - groups->threads.at);
		thread->process = moved[thread->process] - 1;
		thread->container =
			thread->container == NO_GROUP ? NO_GROUP : moved[thread->container] - 1;
	}
	free(moved);
}

/* Makes room for a slice in place of the oldest one. */
static void begin_slice(struct groups *groups)
{
	size_t slot = groups->next % groups->room;
	bool has_unknown = false;

	VEC_EACH(&groups->threads, thread) {
		if (groups->next >= groups->room && thread->rates[slot] >= 0) {
			thread->known--;
			has_unknown |= thread->known == 0;
		}
		for (unsigned int i = 0; i < groups->columns; i++) {
			thread->rates[i * groups->room + slot] = -1;
		}
	}
	groups->next++;
	if (has_unknown) {
		forget_unknown(groups);
	}
}

void groups_report(struct groups *groups, uint64_t slice, const struct report *report)
{
	assert(slice + 1 >= groups->next);
	while (groups->next <= slice) {
		begin_slice(groups);
	}
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (strcmp(table->analysis->name, "waits") == 0 && !report_is_unknown(table, 0) &&
		    report->end > report->begin) {
			groups_take_rows(groups, report, table);
		}
	}
}

uint64_t groups_next(const struct groups *groups)
{
	return groups->next;
}

/* ---- series ---- */

/* Adds the rate of a column of a thread, slice by slice. */
static void add_filled(const struct groups *groups, const struct group_thread *thread,
		       unsigned int column, const struct groups_span *span, double *ret)
{
	const float *rates = &thread->rates[column * groups->room];
	size_t slot = span->first % groups->room;
	double rate = 0;

	for (size_t i = 0, at = slot; i < span->slices;
	     i++, at = at + 1 < groups->room ? at + 1 : 0) {
		if (rates[at] >= 0) {
			rate = rates[at];
			break;
		}
	}
	for (size_t i = 0; i < span->slices; i++, slot = slot + 1 < groups->room ? slot + 1 : 0) {
		rate = rates[slot] >= 0 ? rates[slot] : rate;
		ret[i] += rate;
	}
}

static void sum_group(const struct groups *groups, uint32_t number, unsigned int column,
		      const struct groups_span *span, double *ret)
{
	const struct thread_group *group = &groups->at.at[number];
	bool is_all = is_container(group);
	size_t first = is_all ? 0 : group->first;
	size_t count = is_all ? groups->threads.count : group->count;

	memset(ret, 0, span->slices * sizeof(*ret));
	for (size_t i = first; i < first + count; i++) {
		const struct group_thread *thread = &groups->threads.at[groups->by_process.at[i]];

		if (thread->known >= 2 * GROUPS_STAY &&
		    (is_all ? thread->container : thread->process) == number) {
			add_filled(groups, thread, column, span, ret);
		}
	}
}

static double most_of(const double *values, size_t slices)
{
	double most = (double)NS_PER_S;

	for (size_t i = 0; i < slices; i++) {
		most = values[i] > most ? values[i] : most;
	}
	return most;
}

/* How much the mean of some slices changes at a point, at most, in the largest value; 0: less than
 * GROUPS_CHANGE. */
static double change_of(const double *values, size_t slices)
{
	double most = most_of(values, slices), largest = 0, least = most;

	for (size_t i = 0; i < slices; i++) {
		least = values[i] < least ? values[i] : least;
		largest = values[i] > largest ? values[i] : largest;
	}
	if (largest - least < GROUPS_CHANGE * most) {
		return 0; /* of most groups */
	}
	largest = 0;
	for (size_t i = GROUPS_STAY; i + GROUPS_STAY <= slices; i++) {
		double change = 0;

		for (size_t k = 0; k < GROUPS_STAY; k++) {
			change += values[i + k] - values[i - 1 - k];
		}
		largest = fmax(largest, fabs(change) / GROUPS_STAY / most);
	}
	return largest;
}

/* Orders the threads by process. */
static void sort_threads(struct groups *groups)
{
	size_t first = 0;

	VEC_EACH(&groups->at, group) {
		group->count = 0;
	}
	groups->by_process.count = 0;
	VEC_EACH(&groups->threads, thread) {
		groups->at.at[thread->process].count++;
		*vec_push(&groups->by_process) = 0;
	}
	VEC_EACH(&groups->at, group) {
		group->first = first;
		first += group->count;
		group->count = 0;
	}
	for (uint32_t i = 0; i < groups->threads.count; i++) {
		struct thread_group *group = &groups->at.at[groups->threads.at[i].process];

		groups->by_process.at[group->first + group->count++] = i;
	}
}

static void find_changing(const struct groups *groups, const struct groups_span *span,
			  double *values, changing_list *ret)
{
	size_t containers = 0;

	VEC_EACH(&groups->at, group) {
		containers += is_container(group);
	}
	for (uint32_t g = 0; g < groups->at.count; g++) {
		const struct thread_group *group = &groups->at.at[g];

		/* One container alone says what the trace does. */
		for (unsigned int i = 0; i < groups->columns && group->name; i++) {
			double change;

			if ((is_container(group) && containers < 2) || !groups->does[i][0]) {
				continue;
			}
			sum_group(groups, g, i, span, values);
			change = change_of(values, span->slices);
			if (change >= GROUPS_CHANGE) {
				*vec_push(ret) = (struct changing){ g, i, change };
			}
		}
	}
	vec_sort(ret, by_change);
	ret->count = ret->count < GROUPS_SERIES_MAX ? ret->count : GROUPS_SERIES_MAX;
	vec_sort(ret, by_group);
}

void groups_each(struct groups *groups, const struct groups_span *span,
		 void (*on_series)(void *user, const struct series_value *series,
				   const double *values),
		 void *user)
{
	changing_list changing = { 0 };
	double *values = mem_alloc((span->slices + 1) * sizeof(*values));

	assert(span->slices <= groups->room && span->first + span->slices <= groups->next);
	if (groups->table) { /* else nobody knows what the columns say */
		sort_threads(groups);
		find_changing(groups, span, values, &changing);
	}
	VEC_EACH(&changing, one) {
		char *name = mem_printf("%s %s", groups->at.at[one->group].name,
					groups->does[one->column]);

		sum_group(groups, one->group, one->column, span, values);
		on_series(user,
			  &(struct series_value){ .name = name,
						  .figure = groups->table->columns[one->column].key,
						  .cpu = SERIES_ALL_CPUS,
						  .is_state = true,
						  .unit = UNIT_NS,
						  .least_scale = GROUPS_CHANGE / SUGGEST_CHANGE *
								 most_of(values, span->slices) },
			  values);
		free(name);
	}
	vec_fini(&changing);
	free(values);
}

/* ---- checkpoints ---- */

/* Rates that are equal from one slice to the next are one: most threads sleep. */
static void rates_codec(struct groups *groups, struct codec *codec, float *rates)
{
	size_t cells = groups->columns * groups->room;

	for (size_t i = 0; i < cells && codec_check(codec, true);) {
		double rate = rates[i];
		uint32_t run = 1;

		while (!codec_reads(codec) && i + run < cells &&
		       memcmp(&rates[i], &rates[i + run], sizeof(*rates)) == 0) {
			run++;
		}
		codec_u32(codec, &run);
		codec_real(codec, &rate, RATE_MAX);
		if (!codec_check(codec, run > 0 && run <= cells - i && rate >= -1)) {
			return;
		}
		for (uint32_t k = 0; k < run; k++, i++) {
			rates[i] = (float)rate;
		}
	}
}

static bool is_place(const struct groups *groups, uint32_t number, bool is_of_container)
{
	return number < groups->at.count && is_container(&groups->at.at[number]) == is_of_container;
}

static void thread_codec(struct groups *groups, struct codec *codec, size_t i)
{
	struct group_thread *thread = codec_at(codec, &groups->threads, i);
	bool is_new = true;

	codec_each(codec, &thread->key, &thread->process, &thread->container);
	if (codec_reads(codec)) {
		*group_of_put(&groups->by_thread, thread->key, &is_new) = (uint32_t)i;
		thread->rates = mem_alloc(groups->columns * groups->room * sizeof(float));
	}
	(void)codec_check(codec, is_new && is_place(groups, thread->process, false) &&
					 (thread->container == NO_GROUP ||
					  is_place(groups, thread->container, true)));
	rates_codec(groups, codec, thread->rates);
	for (size_t s = 0; codec_reads(codec) && s < groups->room; s++) {
		thread->known += s < groups->next && thread->rates[s] >= 0;
	}
	(void)codec_check(codec, thread->known > 0);
}

void groups_codec(struct groups *groups, struct codec *codec)
{
	uint32_t columns = groups->columns;
	size_t count;

	assert(!codec_reads(codec) || groups->next == 0);
	codec_each(codec, &groups->next, &columns);
	if (!codec_check(codec, columns <= COLUMNS_MAX && groups->next < UINT64_MAX / 2)) {
		return;
	}
	groups->columns = columns;
	count = codec_count(codec, groups->at.count, 12);
	for (uint32_t i = 0; i < count && codec_check(codec, true); i++) {
		struct thread_group *group = codec_at(codec, &groups->at, i);
		bool is_new = true;

		codec_u64(codec, &group->id);
		codec_text(codec, &group->name);
		if (codec_reads(codec)) {
			*group_of_put(&groups->by_id, group->id, &is_new) = i;
		}
		(void)codec_check(codec, is_new);
	}
	count = codec_count(codec, groups->threads.count, 16);
	(void)codec_check(codec,
			  count * groups->room <= GROUPS_CELLS_MAX && (count == 0 || columns > 0));
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		thread_codec(groups, codec, i);
	}
}
