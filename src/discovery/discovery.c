/*
 * discovery: see discovery.h.
 */
#include "discovery/discovery.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/now.h"
#include "deep/reader.h"
#include "kernel/task-state.h"
#include "query/job.h"

/* What is about a thread comes first, then the classes of events. */
enum { TYPE_IN, TYPE_SLEEP, TYPE_PREEMPTED, TYPE_WOKEN, TYPES_OWN };

/* Events that belong to no thread, or to whatever runs. */
static const char *const noise[] = { "irq_",   "softirq_",   "sched_",  "rcu_",       "timer_",
				     "kmem_",  "mm_",        "x86_",    "hrtimer_",   "lttng_",
				     "power_", "writeback_", "block_",  "workqueue_", "napi_",
				     "net_",   "skb_",       "random_", "module_" };

enum { REQUEST_SWITCH, REQUEST_WAKING, REQUEST_ALL, REQUESTS };
enum { SWITCH_PREV, SWITCH_NEXT, SWITCH_STATE };
enum { WAKING_TID };
enum { ALL_TID };

static const struct plan_request requests[REQUESTS] = {
	[REQUEST_SWITCH] = { "sched_switch", { "prev_tid", "next_tid", "prev_state" }, .group = 0 },
	[REQUEST_WAKING] = { "sched_waking", { "tid" }, .group = 1 },
	[REQUEST_ALL] = { "*", { "context.tid" }, .group = 2 },
};

struct sequence {
	uint32_t thread; /* index in the timeline */
	VEC(uint32_t) types;
	VEC(uint64_t) times;
};

HASH_MAP(sequence_of, uint32_t)
HASH_MAP(runs_on, int32_t)
HASH_MAP(type_of, uint32_t)

struct job_search {
	const struct timeline *timeline;
	const struct discovery_config *config;
	VEC(struct sequence) sequences;
	struct sequence_of by_tid;
	struct runs_on runs; /* the tid, by CPU */
	size_t initial_put;
	struct type_of types; /* by class id of the plan */
	VEC(char *) names;    /* of types, as patterns */
	uint16_t states;      /* of the kernel: kernel/task-state.h */
	/* Of the thread that is searched. */
	uint64_t work, until_ns; /* done, and when to end; 0: no limit */
	size_t starts_left;      /* types that episodes may begin with */
	struct discovery *found;
};

/* ---- which threads ---- */

static uint64_t run_ns(const struct timeline *timeline, uint32_t thread, uint64_t begin,
		       uint64_t end)
{
	uint64_t ns[STATES], sum = 0;

	timeline_thread_sums(timeline->threads.at[thread], begin, end, ns);
	for (unsigned int state = STATE_USER; state <= STATE_SOFTIRQ; state++) {
		sum += ns[state];
	}
	return sum;
}

struct thread_run {
	uint32_t thread;
	uint64_t ns;
};

ORDER(by_ns, struct thread_run, DOWN(ns) UP(thread))

/* Of the threads that had one tid, one after the other, the one that ran most: the others often are
 * the same program, run again. */
static void choose_threads(struct job_search *search)
{
	const struct timeline *timeline = search->timeline;
	VEC(struct thread_run) runners = { 0 };

	for (uint32_t i = 0; i < timeline->threads.count; i++) {
		const struct deep_thread *thread = timeline->threads.at[i];
		struct thread_run runner = { i,
					     run_ns(timeline, i, timeline->begin, timeline->end) };

		if (thread->tid != 0 && runner.ns > 0 &&
		    (!search->config->who || timeline_thread_is(thread, search->config->who))) {
			*vec_push(&runners) = runner;
		}
	}
	vec_sort(&runners, by_ns);
	for (size_t i = 0; i < runners.count; i++) {
		uint64_t tid = (uint32_t)timeline->threads.at[runners.at[i].thread]->tid;
		uint32_t *at = sequence_of_get(&search->by_tid, tid);

		if (at) {
			continue;
		}
		if (search->sequences.count == search->config->threads_max) {
			search->found->is_cut |= !search->config->who;
			break;
		}
		at = sequence_of_put(&search->by_tid, tid, NULL);
		*at = (uint32_t)search->sequences.count;
		*vec_push(&search->sequences) = (struct sequence){ .thread = runners.at[i].thread };
	}
	vec_fini(&runners);
}

/* ---- sequences ---- */

static void add_event(struct job_search *search, int32_t tid, uint64_t ts, uint32_t type)
{
	uint32_t *at = sequence_of_get(&search->by_tid, (uint64_t)(uint32_t)tid);
	const struct deep_thread *thread;
	struct sequence *sequence;

	if (!at || ts < search->timeline->begin) {
		return;
	}
	assert(*at < search->sequences.count);
	sequence = &search->sequences.at[*at];
	thread = search->timeline->threads.at[sequence->thread];
	if (ts < thread->birth || ts > thread->end) {
		return; /* of another thread with this tid */
	}
	if (sequence->types.count >= search->config->events_max) {
		search->found->is_cut = true;
		return;
	}
	*vec_push(&sequence->types) = type;
	*vec_push(&sequence->times) = ts;
}

static bool is_noise(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(noise); i++) {
		if (strncmp(name, noise[i], strlen(noise[i])) == 0) {
			return true;
		}
	}
	return false;
}

const char *discovery_start(const char *start)
{
	if (strcmp(start, "sched_in") == 0 || strcmp(start, "sched_out") == 0 ||
	    strcmp(start, "sched_switch") == 0) {
		return "sched_switch";
	}
	return strcmp(start, "sched_waking") == 0 || !is_noise(start) ? start : NULL;
}

/* The type of a class; UINT32_MAX: noise.  Classes of one name, in several channels, are one. */
static uint32_t type_of(struct job_search *search, const struct plan_event *class)
{
	bool is_new;
	uint32_t *at = type_of_put(&search->types, (uint64_t)(uintptr_t) class, &is_new);
	uint32_t type = UINT32_MAX;

	if (!is_new) {
		return *at;
	}
	assert(search->names.count >= TYPES_OWN);
	for (uint32_t i = TYPES_OWN; i < search->names.count; i++) {
		type = strcmp(search->names.at[i], class->class->name) == 0 ? i : type;
	}
	if (type == UINT32_MAX && !is_noise(class->class->name)) {
		type = (uint32_t)search->names.count;
		*vec_push(&search->names) = mem_strdup(class->class->name);
	}
	*at = type;
	return type;
}

/* The tid on the CPU, to be changed; -1: unknown.  Valid until the next call. */
static int32_t *runs_on(struct job_search *search, uint64_t cpu)
{
	bool is_new;
	int32_t *at = runs_on_put(&search->runs, cpu, &is_new);

	if (is_new) {
		*at = -1;
	}
	return at;
}

static void put_initial(struct job_search *search, uint64_t ts)
{
	const struct cpu_initial *first;
	const struct timeline *timeline = search->timeline;

	while ((first = timeline_initial_next(timeline, &search->initial_put, ts))) {
		*runs_on(search, first->cpu) = first->tid;
	}
}

static void take_switch(struct job_search *search, const struct reader_event *event, int32_t *runs)
{
	if (reader_has(event, SWITCH_PREV) && reader_has(event, SWITCH_STATE)) {
		bool sleeps = task_state_sleeps(event->values[SWITCH_STATE].u, search->states);

		add_event(search, (int32_t)event->values[SWITCH_PREV].i, event->ts,
			  sleeps ? TYPE_SLEEP : TYPE_PREEMPTED);
	}
	if (reader_has(event, SWITCH_NEXT)) {
		*runs = (int32_t)event->values[SWITCH_NEXT].i;
		add_event(search, *runs, event->ts, TYPE_IN);
	}
}

static void take(struct job_search *search, const struct reader_event *event)
{
	int32_t *runs, tid;
	struct reader_event as;
	uint32_t type;

	put_initial(search, event->ts);
	runs = runs_on(search, event->cpu);
	if (!event->class) {
		*runs = -1;
		return;
	}
	if (reader_as(event, REQUEST_SWITCH, &as)) {
		take_switch(search, &as, runs);
		return;
	}
	if (reader_as(event, REQUEST_WAKING, &as) && reader_has(&as, WAKING_TID)) {
		add_event(search, (int32_t)as.values[WAKING_TID].i, event->ts, TYPE_WOKEN);
	}
	type = type_of(search, event->class);
	if (type == UINT32_MAX) {
		return;
	}
	tid = *runs;
	if (reader_as(event, REQUEST_ALL, &as) && reader_has(&as, ALL_TID)) {
		tid = (int32_t)as.values[ALL_TID].i;
	}
	if (tid > 0) {
		add_event(search, tid, event->ts, type);
	}
}

/* The types that have no class of their own. */
static void name_own(struct job_search *search, const struct metadata *metadata)
{
	unsigned int bits;

	search->states = task_state_encoding(metadata);
	bits = (unsigned int)task_state_sleep_bits(search->states);
	vec_reserve(&search->names, TYPES_OWN);
	search->names.count = TYPES_OWN;
	search->names.at[TYPE_IN] = mem_strdup("sched_in");
	search->names.at[TYPE_SLEEP] =
		mem_printf("sched_switch prev_tid=$tid, prev_state&%u!=0", bits);
	search->names.at[TYPE_PREEMPTED] =
		mem_printf("sched_switch prev_tid=$tid, prev_state&%u=0", bits);
	search->names.at[TYPE_WOKEN] = mem_strdup("sched_waking tid=$tid");
}

static int read_sequences(struct job_search *search, const struct reader_setup *setup,
			  struct err *err)
{
	const struct reader_setup quiet = { .path = setup->path };
	struct reader *reader = reader_open(&quiet, requests, REQUESTS, err);
	struct reader_event event;

	if (!reader) {
		return -EIO;
	}
	name_own(search, reader_plan(reader)->metadata);
	while (reader_next(reader, &event) && event.ts <= search->timeline->end) {
		take(search, &event);
	}
	reader_close(reader);
	return 0;
}

/* ---- figures of a candidate ---- */

ORDER_VALUES(by_value, uint64_t)

static uint64_t median(uint64_t *values, size_t count)
{
	assert(count > 0);
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static void measure_period(const struct sequence *sequence, const episode_windows *windows,
			   struct discovered *ret)
{
	size_t count = windows->count - 1;
	uint64_t *gaps = mem_alloc((count + 1) * sizeof(*gaps));
	double mean, square = 0;

	assert(windows->count >= 2);
	for (size_t i = 0; i < count; i++) {
		gaps[i] = sequence->times.at[windows->at[i + 1].first] -
			  sequence->times.at[windows->at[i].first];
	}
	mean = (double)(sequence->times.at[windows->at[count].first] -
			sequence->times.at[windows->at[0].first]) /
	       (double)count;
	for (size_t i = 0; i < count; i++) {
		square += ((double)gaps[i] - mean) * ((double)gaps[i] - mean);
	}
	ret->variation = mean > 0 ? sqrt(square / (double)count) / mean : 0;
	ret->period_ns = median(gaps, count);
	for (size_t i = 0; i < count; i++) {
		gaps[i] = gaps[i] > ret->period_ns ? gaps[i] - ret->period_ns
						   : ret->period_ns - gaps[i];
	}
	ret->jitter_ns = median(gaps, count);
	free(gaps);
}

static void measure(const struct job_search *search, const struct sequence *sequence,
		    const episode_windows *windows, struct discovered *ret)
{
	const struct timeline *timeline = search->timeline;
	uint64_t inside = 0, lengths = 0;
	uint64_t all = run_ns(timeline, sequence->thread, timeline->begin, timeline->end);

	for (size_t i = 0; i < windows->count; i++) {
		uint64_t begin = sequence->times.at[windows->at[i].first];
		uint64_t end = sequence->times.at[windows->at[i].last];

		inside += run_ns(timeline, sequence->thread, begin, end);
		lengths += end - begin;
	}
	assert(windows->count > 0);
	ret->count = windows->count;
	ret->mean_ns = lengths / windows->count;
	ret->coverage = all > 0 ? (double)inside / (double)all : 0;
	measure_period(sequence, windows, ret);
	ret->rank = ret->coverage / (1 + ret->variation);
}

/* A pattern that is too long for --job leaves some types out, none of its ends; it comes as often.
 */
static char *pattern_of(const struct job_search *search, const struct episode *episode)
{
	size_t count = episode->count < JOB_EVENTS_MAX ? episode->count : JOB_EVENTS_MAX;
	char *text = mem_strdup("");

	for (size_t i = 0; i < count; i++) {
		uint32_t type =
			episode->types[count > 1 ? i * (episode->count - 1) / (count - 1) : 0];
		char *longer =
			mem_printf("%s%s%s", text, i > 0 ? "; " : "", search->names.at[type]);

		free(text);
		text = longer;
	}
	return text;
}

/* ---- candidates of one thread ---- */

struct candidate {
	struct episode episode; /* owned */
	struct discovered is;
};

typedef VEC(struct candidate) candidate_list;

static bool has_type(const struct episode *episode, uint32_t type)
{
	for (size_t i = 0; i < episode->count; i++) {
		if (episode->types[i] == type) {
			return true;
		}
	}
	return false;
}

/* How many types of the shorter one the other has, too. */
static size_t common_types(const struct episode *a, const struct episode *b)
{
	size_t common = 0;

	for (size_t i = 0; i < a->count; i++) {
		common += has_type(b, a->types[i]);
	}
	return common;
}

/*
 * Whether two candidates stand for one job: rotations of one loop, and parts of each other.  They
 * come about equally often, and nearly all types of the shorter one are in the longer one.
 */
static bool is_same_job(const struct candidate *a, const struct candidate *b)
{
	size_t shorter = a->episode.count < b->episode.count ? a->episode.count : b->episode.count;
	double ratio = (double)a->is.count / (double)b->is.count;

	return common_types(&a->episode, &b->episode) * 2 > shorter &&
	       ratio > DISCOVERY_SUPPORT / 1.1 && ratio < 1.1 / DISCOVERY_SUPPORT;
}

/* Of rotations the one with shorter windows; of a whole and its part the whole. */
static bool is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->episode.count != b->episode.count) {
		return a->episode.count > b->episode.count;
	}
	return a->is.mean_ns < b->is.mean_ns;
}

static void add_candidate(candidate_list *list, struct candidate *candidate)
{
	for (size_t i = 0; i < list->count; i++) {
		struct candidate *other = &list->at[i];

		if (!is_same_job(candidate, other)) {
			continue;
		}
		if (is_better(candidate, other)) {
			struct candidate worse = *other;

			*other = *candidate;
			*candidate = worse;
		}
		vec_fini(&candidate->episode.windows);
		return;
	}
	*vec_push(list) = *candidate;
}

/* The end of an equal share of the time that is left until @end. */
static uint64_t share(uint64_t end, size_t left)
{
	uint64_t now = now_monotonic_ns();

	assert(left > 0);
	return now < end ? now + (end - now) / left : now;
}

/* All episodes that begin with a type and come nearly as often as it does. */
static void try_start(struct job_search *search, const struct sequence *sequence, uint32_t start,
		      size_t count, candidate_list *list)
{
	struct episodes_config config = {
		.events = sequence->types.at,
		.count = sequence->types.count,
		.type_count = search->names.count,
		.support_min =
			(size_t)((double)count * (search->config->start ? DISCOVERY_SUPPORT_START
									: DISCOVERY_SUPPORT)),
		.start = start,
		.work_max = (search->config->work_max - search->work) / search->starts_left,
		.until_ns = search->until_ns > 0 ? share(search->until_ns, search->starts_left) : 0,
		.stop = search->config->stop,
	};
	struct episodes episodes;

	config.support_min = config.support_min < DISCOVERY_EXECUTIONS ? DISCOVERY_EXECUTIONS
								       : config.support_min;
	episodes_find(&config, &episodes);
	search->found->is_cut |= episodes.is_cut;
	search->work += episodes.work < config.work_max ? episodes.work : config.work_max;
	for (size_t i = 0; i < episodes.at.count; i++) {
		struct candidate candidate = { .episode = episodes.at.at[i],
					       .is = { .thread = sequence->thread } };

		if (candidate.episode.count < 2) {
			vec_fini(&candidate.episode.windows);
			continue;
		}
		measure(search, sequence, &candidate.episode.windows, &candidate.is);
		add_candidate(list, &candidate);
	}
	vec_fini(&episodes.at); /* the windows went to the candidates */
}

/* Whether jobs may begin with the type. */
static bool is_start(const struct job_search *search, uint32_t type)
{
	const char *start = search->config->start;

	if (!start) {
		return true;
	}
	switch (type) {
	case TYPE_IN:
		return strcmp(start, "sched_in") == 0 || strcmp(start, "sched_switch") == 0;
	case TYPE_SLEEP:
	case TYPE_PREEMPTED:
		return strcmp(start, "sched_out") == 0;
	case TYPE_WOKEN:
		return strcmp(start, "sched_waking") == 0;
	default:
		return strcmp(start, search->names.at[type]) == 0;
	}
}

ORDER(by_rank, struct candidate, DOWN(is.rank) DOWN(is.count) UP_BYTES(episode.types))

struct start {
	uint32_t type;
	size_t count;
};

ORDER(by_count, struct start, DOWN(count) UP(type))

/*
 * Frequent types first.  Each may use an equal share of the limits that are left: the few events of
 * a thread's beginning and end come in any order, and a search for what they have in common is
 * long.
 */
static void search_thread(struct job_search *search, const struct sequence *sequence)
{
	size_t types = search->names.count, count = 0;
	struct start *starts = mem_alloc(types * sizeof(*starts));
	candidate_list list = { 0 };

	search->work = 0;
	for (uint32_t type = 0; type < types; type++) {
		starts[type].type = type;
	}
	for (size_t i = 0; i < sequence->types.count; i++) {
		starts[sequence->types.at[i]].count += is_start(search, sequence->types.at[i]);
	}
	qsort(starts, types, sizeof(*starts), by_count);
	while (count < types && starts[count].count >= DISCOVERY_EXECUTIONS) {
		count++;
	}
	for (size_t i = 0; i < count; i++) {
		search->starts_left = count - i;
		try_start(search, sequence, starts[i].type, starts[i].count, &list);
	}
	vec_sort(&list, by_rank);
	for (size_t i = 0; i < list.count; i++) {
		list.at[i].is.pattern = pattern_of(search, &list.at[i].episode);
		*vec_push(&search->found->at) = list.at[i].is;
		vec_fini(&list.at[i].episode.windows);
	}
	vec_fini(&list);
	free(starts);
}

/* ---- a whole trace ---- */

static void search_fini(struct job_search *search)
{
	for (size_t i = 0; i < search->sequences.count; i++) {
		vec_fini(&search->sequences.at[i].types);
		vec_fini(&search->sequences.at[i].times);
	}
	vec_free_each(&search->names, free);
	vec_fini(&search->sequences);
	sequence_of_fini(&search->by_tid);
	runs_on_fini(&search->runs);
	type_of_fini(&search->types);
}

int discovery_find(const struct reader_setup *setup, const struct timeline *timeline,
		   const struct discovery_config *config, struct discovery *ret, struct err *err)
{
	struct job_search search = { .timeline = timeline, .config = config, .found = ret };
	uint64_t end;
	int r;

	assert(config->events_max < UINT32_MAX);
	*ret = (struct discovery){ .threads = 0 };
	choose_threads(&search);
	r = read_sequences(&search, setup, err);
	ret->threads = search.sequences.count;
	end = config->time_max_ns > 0 ? now_monotonic_ns() + config->time_max_ns : 0;
	for (size_t i = 0; r == 0 && i < search.sequences.count; i++) {
		search.until_ns = end > 0 ? share(end, search.sequences.count - i) : 0;
		search_thread(&search, &search.sequences.at[i]);
	}
	search_fini(&search);
	return r;
}

void discovery_fini(struct discovery *discovery)
{
	for (size_t i = 0; i < discovery->at.count; i++) {
		free(discovery->at.at[i].pattern);
	}
	vec_fini(&discovery->at);
}
