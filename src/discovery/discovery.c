/*
 * discovery: see discovery.h.
 */
#include "discovery/discovery.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "deep/reader.h"
#include "discovery/turns.h"
#include "query/job.h"
#include "query/scan.h"

#define COVERAGE_MIN 0.0005 /* of a thread's time: in what is less, it does nothing of note */

struct job_search {
	const struct timeline *timeline;
	const struct discovery_config *config;
	struct sequences sequences;
	uint64_t work_left;  /* of the search, for the thread and those behind it */
	size_t threads_left; /* they are so many */
	size_t starts_left;  /* of the thread: types that episodes may begin with */
	struct discovery *found;
};

uint64_t discovery_run_ns(const struct timeline *timeline, uint32_t thread, uint64_t begin,
			  uint64_t end)
{
	uint64_t ns[STATES], sum = 0;

	timeline_thread_sums(timeline->threads.at[thread], begin, end, ns);
	for (unsigned int state = STATE_USER; state <= STATE_SOFTIRQ; state++) {
		sum += ns[state];
	}
	return sum;
}

/* ---- a job ---- */

/* @is_turn: all that the thread does between the executions is to wait for the next one. */
static struct discovered measure_job(const struct job_search *search,
				     const struct sequence *sequence,
				     const episode_windows *windows, bool is_turn)
{
	const struct timeline *timeline = search->timeline;
	uint32_t thread = sequence->thread;
	uint64_t all = discovery_run_ns(timeline, thread, timeline->begin, timeline->end);
	uint64_t *begins = mem_alloc((windows->count + 1) * sizeof(*begins));
	struct discovered is = { .thread = thread, .count = windows->count };
	uint64_t inside = 0, lengths = 0, end = 0;
	struct pace pace;

	assert(windows->count >= 2);
	for (size_t i = 0; i < windows->count; i++) {
		begins[i] = sequence->times.at[windows->at[i].first];
		end = sequence->times.at[windows->at[i].last];
		inside += discovery_run_ns(timeline, thread, begins[i], end);
		lengths += end - begins[i];
	}
	pace = pace_of(begins, windows->count);
	is.mean_ns = lengths / windows->count;
	is.coverage = all > 0 ? (double)inside / (double)all : 0;
	is.period_ns = pace.period_ns;
	is.jitter_ns = pace.jitter_ns;
	is.every_ns = is_turn ? pace.every_ns : 0;
	is.is_fixed = is_turn && pace.is_regular && pace.catches_up;
	is.variation = pace.variation;
	inside = is_turn ? discovery_run_ns(timeline, thread, begins[0], end) : inside;
	is.rank = all > 0 ? (double)inside / (double)all / (1 + is.variation) : 0;
	free(begins);
	return is;
}

/* What --job takes; a model's name if it has one. */
static char *pattern_of(const struct job_search *search, const struct sequence_part *parts,
			size_t count)
{
	char *text = mem_strdup("");

	for (size_t i = 0; i < count; i++) {
		const struct sequence_type *type = &search->sequences.types.at[parts[i].type];
		char *longer = mem_printf("%s%s%s", text, i > 0 ? "; " : "", type->pattern);

		free(text);
		text = longer;
		if (parts[i].arg != SEQUENCE_ANY) {
			longer = mem_printf("%s %s=%" PRIu64, text, type->arg, parts[i].arg);
			free(text);
			text = longer;
		}
	}
	for (const struct pattern_model *model = pattern_models; model->name[0]; model++) {
		if (strcmp(text, model->pattern) == 0) {
			free(text);
			return mem_strdup(model->name);
		}
	}
	return text;
}

/* A pattern, and what --job finds of it. */
struct matched {
	const struct sequence_part *parts;
	size_t count;
	episode_windows windows;
	bool is_turn;
};

/* Adds it, if that is enough. */
static void add_job(struct job_search *search, const struct sequence *sequence,
		    struct matched matched)
{
	const struct discovery_config *config = search->config;
	size_t count = matched.windows.count;
	struct discovered is;

	if (count < DISCOVERY_EXECUTIONS || count < config->support_min) {
		return;
	}
	if (config->executions_max > 0 && count > config->executions_max) {
		matched.windows.count = config->executions_max;
	}
	is = measure_job(search, sequence, &matched.windows, matched.is_turn);
	if (matched.is_turn || config->start || is.coverage >= COVERAGE_MIN) {
		is.pattern = pattern_of(search, matched.parts, matched.count);
		*vec_push(&search->found->at) = is;
	}
}

/* ---- episodes of one thread ---- */

struct candidate {
	struct episode episode; /* owned */
	uint64_t mean_ns;       /* of its windows */
};

typedef VEC(struct candidate) candidate_list;

static uint64_t mean_of(const struct sequence *sequence, const episode_windows *windows)
{
	uint64_t lengths = 0;

	assert(windows->count > 0);
	for (size_t i = 0; i < windows->count; i++) {
		lengths += sequence->times.at[windows->at[i].last] -
			   sequence->times.at[windows->at[i].first];
	}
	return lengths / windows->count;
}

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
	double ratio = (double)a->episode.windows.count / (double)b->episode.windows.count;

	return common_types(&a->episode, &b->episode) * 2 > shorter &&
	       ratio > DISCOVERY_SUPPORT / 1.1 && ratio < 1.1 / DISCOVERY_SUPPORT;
}

/* Of rotations the one with shorter windows; of a whole and its part the whole. */
static bool is_fuller(const struct candidate *a, const struct candidate *b)
{
	if (a->episode.count != b->episode.count) {
		return a->episode.count > b->episode.count;
	}
	return a->mean_ns < b->mean_ns;
}

static void add_candidate(candidate_list *list, struct candidate *candidate)
{
	for (size_t i = 0; i < list->count; i++) {
		struct candidate *other = &list->at[i];

		if (!is_same_job(candidate, other)) {
			continue;
		}
		if (is_fuller(candidate, other)) {
			struct candidate worse = *other;

			*other = *candidate;
			*candidate = worse;
		}
		vec_fini(&candidate->episode.windows);
		return;
	}
	*vec_push(list) = *candidate;
}

/* All episodes that begin with a type and come nearly as often as it does. */
static void try_start(struct job_search *search, const struct sequence *sequence, uint32_t start,
		      size_t count, candidate_list *list)
{
	double usual = search->config->start ? DISCOVERY_SUPPORT_START : DISCOVERY_SUPPORT;
	double share = search->config->support > 0 ? search->config->support : usual;
	struct episodes_config config = {
		.events = sequence->types.at,
		.count = sequence->types.count,
		.type_count = search->sequences.types.count,
		.support_min = (size_t)((double)count * share),
		.start = start,
		.work_max = search->work_left / search->threads_left / search->starts_left,
		.stop = search->config->stop,
	};
	struct episodes episodes;

	assert(search->threads_left > 0 && search->starts_left > 0);
	if (config.support_min < search->config->support_min) {
		config.support_min = search->config->support_min;
	}
	if (config.support_min < DISCOVERY_EXECUTIONS) {
		config.support_min = DISCOVERY_EXECUTIONS;
	}
	episodes_find(&config, &episodes);
	search->found->is_cut |= episodes.is_cut;
	search->work_left -= episodes.work < search->work_left ? episodes.work : search->work_left;
	VEC_EACH(&episodes.at, one) {
		struct candidate candidate = { .episode = *one };

		if (one->count < 2) {
			vec_fini(&candidate.episode.windows);
			continue;
		}
		candidate.mean_ns = mean_of(sequence, &one->windows);
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
		return strcmp(start, search->sequences.types.at[type].pattern) == 0;
	}
}

struct start {
	uint32_t type;
	size_t count;
};

ORDER(by_count, struct start, DOWN(count) UP(type))

/*
 * Frequent types first.  Each may use an equal share of the work that is left: the few events of a
 * thread's beginning and end come in any order, and a search for what they have in common is long.
 */
static void find_episodes(struct job_search *search, const struct sequence *sequence,
			  candidate_list *list)
{
	size_t types = search->sequences.types.count, count = 0;
	struct start *starts = mem_alloc(types * sizeof(*starts));

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
		try_start(search, sequence, starts[i].type, starts[i].count, list);
	}
	free(starts);
}

/* ---- one thread ---- */

/* Whether the episode contains the turn's wait: it joins executions. */
static bool is_across(const struct episode *episode, const struct turn *turn)
{
	uint32_t last = turn->parts[turn->count - 1].type;
	bool has_ended = false;

	for (size_t i = 0; i < episode->count; i++) {
		if (has_ended && episode->types[i] == turn->parts[0].type) {
			return true;
		}
		has_ended |= episode->types[i] == last;
	}
	return false;
}

/* Whether it is nothing but what the scheduler does with a thread, or contains a sleep. */
static bool is_scheduling(const struct episode *episode)
{
	bool has_own = false;

	for (size_t i = 0; i < episode->count; i++) {
		if (episode->types[i] == TYPE_SLEEP && i + 1 < episode->count) {
			return true;
		}
		has_own |= episode->types[i] >= TYPES_OWN;
	}
	return !has_own;
}

/* Whether the episode is no job of its own beside the turns. */
static bool is_in_turns(const struct episode *episode, const turn_list *turns)
{
	if (turns->count > 0 && is_scheduling(episode)) {
		return true;
	}
	VEC_EACH(turns, turn) {
		if (is_across(episode, turn) || turn_has(turn, &episode->windows)) {
			return true;
		}
	}
	return false;
}

/* A pattern that is too long for --job leaves some types out, none of its ends; it comes as often.
 */
static void add_episode(struct job_search *search, const struct sequence *sequence,
			const struct episode *episode)
{
	struct sequence_part parts[JOB_EVENTS_MAX];
	episode_windows windows = { 0 };
	size_t count = episode->count < JOB_EVENTS_MAX ? episode->count : JOB_EVENTS_MAX;

	assert(episode->count >= 2);
	for (size_t i = 0; i < count; i++) {
		parts[i] = (struct sequence_part){
			.type = episode->types[i * (episode->count - 1) / (count - 1)],
			.arg = SEQUENCE_ANY
		};
	}
	sequence_match(sequence, parts, count, &windows);
	add_job(search, sequence, (struct matched){ parts, count, windows, false });
	vec_fini(&windows);
}

ORDER(by_rank, struct discovered, DOWN(rank) DOWN(count) UP_TEXT(pattern))

static void search_thread(struct job_search *search, const struct sequence *sequence)
{
	size_t before = search->found->at.count;
	candidate_list list = { 0 };
	turn_list turns = { 0 };

	turns_find(&search->sequences, search->timeline, sequence, &turns);
	VEC_EACH(&turns, turn) {
		if (is_start(search, turn->parts[0].type)) {
			add_job(search, sequence,
				(struct matched){ turn->parts, turn->count, turn->windows, true });
		}
	}
	if (search->config->start && search->found->at.count == before) {
		turns_fini(&turns); /* they begin otherwise: rotations of them do not */
	}
	find_episodes(search, sequence, &list);
	VEC_EACH(&list, one) {
		if (!is_in_turns(&one->episode, &turns)) {
			add_episode(search, sequence, &one->episode);
		}
		vec_fini(&one->episode.windows);
	}
	if (search->found->at.count > before) {
		qsort(search->found->at.at + before, search->found->at.count - before,
		      sizeof(struct discovered), by_rank);
	}
	vec_fini(&list);
	turns_fini(&turns);
}

/* ---- names ---- */

/* How many jobs before it have the name. */
static size_t count_before(const struct discovery *found, size_t at, const char *name)
{
	size_t count = 0, len = strlen(name);

	for (size_t i = 0; i < at; i++) {
		const char *other = found->at.at[i].job;

		count += strncmp(other, name, len) == 0 && other[len] == ' ';
	}
	return count;
}

/* The thread's name, as far as a job's may have its letters; with a number if it is not the first.
 */
static char *name_of(const struct discovery *found, const struct timeline *timeline, size_t at)
{
	const char *comm = timeline->threads.at[found->at.at[at].thread]->comm;
	bool is_letter = scan_is_letter(comm[0], "") && !(comm[0] >= '0' && comm[0] <= '9');
	char *base = mem_printf("%s%s", is_letter ? "" : "job_", comm), *name;

	for (char *c = base; *c; c++) {
		*c = scan_is_letter(*c, "-_") ? *c : '_';
	}
	name = mem_strdup(base);
	for (size_t i = 2; count_before(found, at, name) > 0; i++) {
		free(name);
		name = mem_printf("%s-%zu", base, i);
	}
	free(base);
	return name;
}

/* "4ms", "16.666667ms": exactly. */
char *discovery_duration(uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
		int digits;
	} units[] = { { "s", 1000000000, 9 }, { "ms", 1000000, 6 }, { "us", 1000, 3 } };

	for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
		uint64_t part = ns % units[i].ns;
		int digits = units[i].digits;

		if (ns < units[i].ns) {
			continue;
		}
		if (part == 0) {
			return mem_printf("%" PRIu64 "%s", ns / units[i].ns, units[i].name);
		}
		for (; part % 10 == 0; part /= 10) {
			digits--;
		}
		return mem_printf("%" PRIu64 ".%0*" PRIu64 "%s", ns / units[i].ns, digits, part,
				  units[i].name);
	}
	return mem_printf("%" PRIu64 "ns", ns);
}

static void name_jobs(struct discovery *found, const struct timeline *timeline)
{
	for (size_t i = 0; i < found->at.count; i++) {
		struct discovered *one = &found->at.at[i];
		char *name = name_of(found, timeline, i), *every = NULL;

		if (one->every_ns > 0) {
			every = discovery_duration(one->every_ns);
		}
		one->job = mem_printf("%s = %s%s%s%s", name, one->pattern, every ? "; every " : "",
				      every ? every : "", one->is_fixed ? " fixed" : "");
		free(name);
		free(every);
	}
}

/* ---- a whole trace ---- */

int discovery_find(const struct reader_setup *setup, const struct timeline *timeline,
		   const struct discovery_config *config, struct discovery *ret, struct err *err)
{
	struct job_search search = {
		.timeline = timeline, .config = config, .work_left = config->work_max, .found = ret
	};
	int r;

	assert(config->events_max < UINT32_MAX && config->threads_max > 1);
	*ret = (struct discovery){ .threads = 0 };
	r = sequences_read(setup, timeline, config, &search.sequences, err);
	ret->threads = search.sequences.at.count;
	ret->threads_all = search.sequences.threads;
	ret->is_cut = search.sequences.is_cut;
	for (size_t i = 0; r == 0 && i < ret->threads; i++) {
		search.threads_left = ret->threads - i;
		search_thread(&search, &search.sequences.at.at[i]);
	}
	name_jobs(ret, timeline);
	sequences_fini(&search.sequences);
	return r;
}

void discovery_fini(struct discovery *discovery)
{
	VEC_EACH(&discovery->at, one) {
		free(one->pattern);
		free(one->job);
	}
	vec_fini(&discovery->at);
}
