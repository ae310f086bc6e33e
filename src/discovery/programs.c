/*
 * programs: see programs.h; requests and loops, of what was counted.
 */
#include "discovery/programs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "deep/reader.h"
#include "discovery/pace.h"
#include "discovery/programs-state.h"
#include "query/expression.h"
#include "query/scan.h"

struct program_search {
	struct program_look look;
	bool is_taken[PROGRAM_CLASSES_MAX]; /* it is part of what was found */
	struct programs *found;
};

/* Events, in their order. */
struct program_chain {
	size_t field, count;
	uint8_t at[PROGRAM_CLASSES_MAX];
};

/* ---- what alternates ---- */

static bool is_often(const struct program_search *search, uint32_t count)
{
	const struct discovery_config *config = search->look.config;

	return count >= (config->support_min > 0 ? config->support_min : DISCOVERY_EXECUTIONS);
}

static bool is_most(const struct program_search *search, uint32_t part, uint32_t of)
{
	double support = search->look.config->support;

	return (double)part >= (support > 0 ? support : DISCOVERY_SUPPORT) * (double)of;
}

/* Whether @b follows @a, and @a comes first. */
static bool alternates(const struct program_search *search, size_t field, size_t a, size_t b)
{
	const struct program_look *look = &search->look;
	const struct program_use *of_a = program_use(look, field, a);
	const struct program_use *of_b = program_use(look, field, b);
	const struct program_pair *pair = program_pair(look, field, a, b);
	uint32_t more = of_a->count > of_b->count ? of_a->count : of_b->count;

	return a != b && is_often(search, pair->matched) && is_most(search, pair->matched, more) &&
	       pair->first >= program_pair(look, field, b, a)->first;
}

static uint64_t mean_between(const struct program_search *search, size_t field, size_t a, size_t b)
{
	const struct program_pair *pair = program_pair(&search->look, field, a, b);

	return pair->matched > 0 ? pair->ns / pair->matched : 0;
}

/* Whether values of the field tell events of the class apart. */
static bool is_varied(const struct program_search *search, size_t field, size_t class)
{
	uint32_t distinct = program_use(&search->look, field, class)->distinct;

	return distinct >=
	       (program_is_id(search->look.fields.at[field]) ? 2 : DISCOVERY_EXECUTIONS);
}

/* Adds what alternates with all of the chain, in its place. */
static void extend_chain(const struct program_search *search, struct program_chain *chain)
{
	size_t field = chain->field, first = chain->at[0], last = chain->at[chain->count - 1];

	for (size_t class = 0; class < search->look.classes.count; class ++) {
		uint64_t mean = mean_between(search, field, first, class);
		size_t at = chain->count - 1;

		if (search->is_taken[class] || !alternates(search, field, first, class) ||
		    !alternates(search, field, class, last)) {
			continue;
		}
		while (at > 1 && mean_between(search, field, first, chain->at[at - 1]) > mean) {
			at--;
		}
		memmove(&chain->at[at + 1], &chain->at[at], chain->count - at);
		chain->at[at] = (uint8_t) class;
		chain->count++;
	}
}

/* ---- what is printed ---- */

static size_t provider_len(const char *event)
{
	const char *colon = strrchr(event, ':');

	return colon ? (size_t)(colon - event) + 1 : 0;
}

/* How much the names of both have in common behind their provider, in whole words. */
static size_t common_len(const char *a, const char *b)
{
	size_t from = provider_len(a), len = 0;

	if (strncmp(a, b, from) != 0) {
		return 0;
	}
	a += from;
	b += from;
	while (a[len] && a[len] == b[len]) {
		len++;
	}
	while (len > 0 && a[len] && b[len] && !strchr("_-.", a[len - 1]) &&
	       !(a[len] >= 'A' && a[len] <= 'Z')) {
		len--;
	}
	while (len > 0 && strchr("_-.", a[len - 1])) {
		len--;
	}
	return len;
}

/* "loop_begin" and "loop_end": each has a word of its own. */
static bool are_both_ends(const char *a, const char *b)
{
	size_t len = common_len(a, b);

	return len > 0 && strlen(a) > provider_len(a) + len && strlen(b) > provider_len(b) + len;
}

static char *common_name(const char *a, const char *b)
{
	size_t len = common_len(a, b);

	a += provider_len(a);
	return len > 0 ? mem_printf("%.*s", (int)len, a) : mem_strdup(a);
}

static bool has_name(const struct programs *found, const char *name)
{
	size_t len = strlen(name);

	VEC_EACH(&found->at, one) {
		if (strncmp(one->spec, name, len) == 0 && one->spec[len] == ' ') {
			return true;
		}
	}
	return false;
}

static char *own_name(const struct programs *found, char *given)
{
	char *base = mem_printf("%s%s", *given >= '0' && *given <= '9' ? "job_" : "", given), *name;

	free(given);
	for (char *c = base; *c; c++) {
		*c = scan_is_letter(*c, "-_") ? *c : '_';
	}
	name = mem_strdup(base);
	for (size_t i = 2; has_name(found, name); i++) {
		free(name);
		name = mem_printf("%s-%zu", base, i);
	}
	free(base);
	return name;
}

static char *events_text(const struct program_search *search, const struct program_chain *chain,
			 const char *name, const char *by)
{
	size_t len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	(void)fprintf(out, "%s = ", name);
	for (size_t i = 0; i < chain->count; i++) {
		char *event = pattern_word(search->look.classes.at[chain->at[i]]);

		(void)fprintf(out, "%s%s%s%s",
			      i > 1   ? "; then "
			      : i > 0 ? "; "
				      : "",
			      event, *by && i > 0 ? "; by " : "", *by && i > 0 ? by : "");
		free(event);
	}
	(void)fclose(out);
	return text;
}

static struct program_found *add_found_chain(struct program_search *search,
					     const struct program_chain *chain, const char *by)
{
	const struct program_chain ends = { chain->field,
					    2,
					    { chain->at[0], chain->at[chain->count - 1] } };
	char *name = own_name(search->found, common_name(search->look.classes.at[ends.at[0]],
							 search->look.classes.at[ends.at[1]]));
	struct program_found *one = vec_push(&search->found->at);

	*one = (struct program_found){
		.spec = events_text(search, &ends, name, by),
		.count = program_pair(&search->look, chain->field, ends.at[0], ends.at[1])->matched,
		.mean_ns = mean_between(search, chain->field, ends.at[0], ends.at[1]),
		.tid = -1,
	};
	if (chain->count > 2 && chain->count <= EXPRESSION_EVENTS_MAX) {
		one->parts = events_text(search, chain, name, by);
	}
	for (size_t i = 0; i < chain->count; i++) {
		search->is_taken[chain->at[i]] = true;
	}
	free(name);
	return one;
}

/* ---- loops ---- */

/* The pace of a class on its threads: of the thread where it came most; irregular if another one
 * has another pace. */
static struct pace pace_of_class(const struct program_search *search, size_t class,
				 const struct program_series **ret)
{
	struct pace pace = { .is_regular = false };
	const struct program_series *most = NULL;
	size_t count = 0;

	HASH_EACH(program_series_of, &search->look.series, one) {
		const struct program_series *series = one->value;

		if (series->class != class) {
			continue;
		}
		count++;
		if (!most || series->times.count > most->times.count ||
		    (series->times.count == most->times.count && series->tid < most->tid)) {
			most = series;
		}
	}
	*ret = count == 1 ? most : NULL;
	if (most && most->times.count >= 2 && is_often(search, (uint32_t)most->times.count)) {
		pace = pace_of(most->times.at, most->times.count);
	}
	return pace;
}

/* What comes late is rather what the next turn begins with, unless it is called like the begin. */
static bool may_end_loop(const struct program_search *search, size_t first, size_t last,
			 uint64_t period_ns)
{
	char *const *names = search->look.classes.at;

	return alternates(search, BY_THREAD, first, last) &&
	       (mean_between(search, BY_THREAD, first, last) < period_ns / 2 ||
		are_both_ends(names[first], names[last]));
}

/* The event that ends the loop: what comes last of what alternates with its begin. */
static bool find_loop_end(const struct program_search *search, size_t first, uint64_t period_ns,
			  struct program_chain *chain)
{
	uint64_t longest = 0;

	*chain = (struct program_chain){ BY_THREAD, 1, { (uint8_t)first } };
	for (size_t class = 0; class < search->look.classes.count; class ++) {
		uint64_t mean = mean_between(search, BY_THREAD, first, class);

		if (search->is_taken[class]) {
			continue;
		}
		if (!may_end_loop(search, first, class, period_ns)) {
			continue;
		}
		if (are_both_ends(search->look.classes.at[first], search->look.classes.at[class])) {
			mean = UINT64_MAX; /* it is called so */
		}
		if (mean >= longest) {
			longest = mean;
			chain->at[1] = (uint8_t) class;
			chain->count = 2;
		}
	}
	return chain->count == 2;
}

static bool may_begin_one(const struct program_search *search, size_t class)
{
	const char *start = search->look.config->start;

	return !search->is_taken[class] &&
	       (!start || strcmp(start, search->look.classes.at[class]) == 0);
}

/* Whether another event comes before it each time, at the same pace. */
static bool is_in_loop(const struct program_search *search, size_t class)
{
	const struct program_series *unused;

	for (size_t other = 0; other < search->look.classes.count; other++) {
		if (may_begin_one(search, other) && alternates(search, BY_THREAD, other, class) &&
		    pace_of_class(search, other, &unused).steady_ns > 0) {
			return true;
		}
	}
	return false;
}

static void add_pace(struct program_found *one, const struct pace *pace,
		     const struct program_series *only)
{
	char *longer, *every;

	one->period_ns = pace->period_ns;
	one->jitter_ns = pace->jitter_ns;
	if (only) {
		one->tid = only->tid;
		memcpy(one->comm, only->comm, sizeof(one->comm));
	}
	if (one->is_period) {
		return;
	}
	every = discovery_duration(pace->steady_ns);
	longer = mem_printf("%s; every %s%s", one->spec, every, pace->catches_up ? " fixed" : "");
	free(one->spec);
	free(every);
	one->spec = longer;
}

/* A lone event: a period from one to the next. */
static struct program_found *add_lone(struct program_search *search, size_t class,
				      const struct program_series *only, const struct pace *pace)
{
	const char *class_name = search->look.classes.at[class];
	char *event = pattern_word(class_name);
	char *name = own_name(search->found, common_name(class_name, class_name));
	struct program_found *one = vec_push(&search->found->at);

	*one = (struct program_found){
		.spec = mem_printf("%s = %s; %s; by $tid", name, event, event),
		.is_period = true,
		.count = program_use(&search->look, BY_THREAD, class)->count -
			 program_use(&search->look, BY_THREAD, class)->distinct,
		.mean_ns = pace->period_ns,
		.tid = -1,
	};
	search->is_taken[class] = true;
	free(event);
	free(name);
	return one;
}

HASH_MAP(program_processes, uint8_t)

/* Whether several threads of a process have it: a pool, which serves requests as a rule. */
static bool is_of_pool(const struct program_search *search, size_t class)
{
	struct program_processes seen = { 0 };
	bool is_new = true;

	HASH_EACH(program_series_of, &search->look.series, one) {
		if (one->value->class == class && is_new) {
			(void)program_processes_put(&seen, one->value->process, &is_new);
		}
	}
	program_processes_fini(&seen);
	return !is_new;
}

/* Loops of one thread whose events are a pair by name come before requests. */
enum loops { LOOPS_NAMED, LOOPS_OTHER, LOOPS_ALONE };

static bool may_loop(const struct program_search *search, const struct program_chain *chain,
		     enum loops kind)
{
	char *const *names = search->look.classes.at;

	return kind != LOOPS_NAMED || (are_both_ends(names[chain->at[0]], names[chain->at[1]]) &&
				       !is_of_pool(search, chain->at[0]));
}

static void find_loops(struct program_search *search, enum loops kind)
{
	for (size_t class = 0; class < search->look.classes.count; class ++) {
		const struct program_series *only;
		struct program_chain chain;
		struct pace pace;

		if (!may_begin_one(search, class)) {
			continue;
		}
		pace = pace_of_class(search, class, &only);
		/* Only what is called a loop may be so late that it is steady, and not regular. */
		if (pace.steady_ns == 0 || (!pace.is_regular && kind != LOOPS_NAMED) ||
		    is_in_loop(search, class)) {
			continue;
		}
		if (kind == LOOPS_ALONE) {
			add_pace(add_lone(search, class, only, &pace), &pace, only);
		} else if (find_loop_end(search, class, pace.period_ns, &chain) &&
			   may_loop(search, &chain, kind)) {
			add_pace(add_found_chain(search, &chain, ""), &pace, only);
		}
	}
}

/* ---- requests ---- */

/* The two that alternate most often, and longest; false: none do. */
static bool find_request_ends(const struct program_search *search, size_t field,
			      struct program_chain *chain)
{
	const struct program_pair *best = NULL;

	for (size_t a = 0; a < search->look.classes.count; a++) {
		for (size_t b = 0; b < search->look.classes.count && may_begin_one(search, a);
		     b++) {
			const struct program_pair *pair = program_pair(&search->look, field, a, b);

			if (search->is_taken[b] || !alternates(search, field, a, b) ||
			    !is_varied(search, field, a) ||
			    (best && (pair->matched < best->matched ||
				      (pair->matched == best->matched && pair->ns <= best->ns)))) {
				continue;
			}
			best = pair;
			*chain = (struct program_chain){ field, 2, { (uint8_t)a, (uint8_t)b } };
		}
	}
	return best != NULL;
}

static void find_requests(struct program_search *search)
{
	struct program_chain chain;

	for (size_t field = 1; field < search->look.fields.count; field++) {
		while (find_request_ends(search, field, &chain)) {
			extend_chain(search, &chain);
			(void)add_found_chain(search, &chain, search->look.fields.at[field] + 1);
		}
	}
}

/* ---- a whole trace ---- */

/* Loops first, those that came more often before others. */
static int by_kind(const void *left, const void *right)
{
	const struct program_found *a = left, *b = right;

	if ((a->period_ns > 0) != (b->period_ns > 0)) {
		return a->period_ns > 0 ? -1 : 1;
	}
	return a->count != b->count ? (a->count > b->count ? -1 : 1) : strcmp(a->spec, b->spec);
}

int programs_find(const struct reader_setup *setup, const struct discovery_config *config,
		  struct programs *ret, struct err *err)
{
	struct program_search search = { .look.config = config, .found = ret };
	int r;

	*ret = (struct programs){ .events = 0 };
	r = program_look_at(setup, &search.look, err);
	if (r == 0) {
		find_loops(&search, LOOPS_NAMED);
		find_requests(&search);
		find_loops(&search, LOOPS_OTHER);
		find_loops(&search, LOOPS_ALONE);
		vec_sort(&ret->at, by_kind);
	}
	ret->events = search.look.events;
	ret->is_cut = search.look.is_cut;
	program_look_fini(&search.look);
	return r;
}

void programs_fini(struct programs *programs)
{
	VEC_EACH(&programs->at, one) {
		free(one->spec);
		free(one->parts);
	}
	vec_fini(&programs->at);
}
