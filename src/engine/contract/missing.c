/*
 * missing: see missing.h.
 */
#include "engine/contract/missing.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/shell.h"
#include "base/text/nearest.h"
#include "ctf/metadata/type.h"
#include "ctf/plan/plan.h"
#include "kernel/perf-names.h"

/* ---- names ---- */

bool missing_has_event(const struct event_names *names, const char *event)
{
	char other[PLAN_NAME_BYTES];

	for (size_t i = 0; i < names->count; i++) {
		if (plan_takes(event, names->at[i]) ||
		    (perf_names_event(names->domain, names->at[i], other) &&
		     plan_takes(event, other))) {
			return true;
		}
	}
	return false;
}

struct event_names missing_names_of(const struct metadata *types)
{
	const struct env_entry *domain = metadata_env(types, "domain");
	const char **at = mem_alloc((types->event_count + 1) * sizeof(*at));
	struct event_names names = { .at = at,
				     .domain = domain ? domain->text : NULL,
				     .tracer = metadata_other_tracer(types),
				     .has_programs = types->part_count > 1 };

	for (const struct event_class *class = types->events; class; class = class->next) {
		at[names.count++] = class->name;
	}
	assert(names.count == types->event_count);
	return names;
}

/* The name of the call in syscall_entry_X and syscall_exit_X; NULL: it is no system call. */
static const char *call_of(const char *event)
{
	static const char *const prefixes[] = { "syscall_entry_", "syscall_exit_" };

	for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++) {
		if (strncmp(event, prefixes[i], strlen(prefixes[i])) == 0) {
			return event + strlen(prefixes[i]);
		}
	}
	return NULL;
}

static bool has_calls(const struct event_names *names)
{
	static const char *const calls[] = { "syscall_*", "compat_syscall_*", "sys_*",
					     "compat_sys_*", "exit_syscall" };

	for (size_t i = 0; i < ARRAY_COUNT(calls); i++) {
		if (missing_has_event(names, calls[i])) {
			return true;
		}
	}
	return false;
}

/* ---- what is missing ---- */

void missing_add(struct missing_events *events, const struct analysis *analysis, const char *event)
{
	for (size_t i = 0; i < events->at.count; i++) {
		if (events->at.at[i].analysis == analysis &&
		    strcmp(events->at.at[i].event, event) == 0) {
			return;
		}
	}
	*vec_push(&events->at) = (struct missing_event){ .analysis = analysis, .event = event };
}

HASH_MAP_TEXT(kept_texts, char *)

const char *missing_kept(const char *text, size_t len)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct kept_texts known;
	char *copy = len <= MISSING_KEPT_BYTES ? mem_printf("%.*s", (int)len, text) : NULL;
	char **found;

	if (!copy) {
		return NULL;
	}
	(void)pthread_mutex_lock(&mutex);
	found = kept_texts_get(&known, copy);
	if (!found && known.used < MISSING_KEPT_MAX) {
		found = kept_texts_put(&known, copy, NULL);
		*found = copy;
		copy = NULL;
	}
	(void)pthread_mutex_unlock(&mutex);
	free(copy);
	return found ? *found : NULL;
}

const char *missing_tracer(const char *text)
{
	const char *version = text ? strrchr(text, ' ') : NULL;

	if (!text || strncmp(text, "lttng", 5) == 0) {
		return NULL;
	}
	return missing_kept(text, version && version[1] >= '0' && version[1] <= '9'
					  ? (size_t)(version - text)
					  : strlen(text));
}

/* Here or beside. */
static const char *nearest(const struct event_names *names, const char *event)
{
	const char *found = NULL;

	for (; names && !found; names = names->beside) {
		const char **words = mem_alloc((names->count + 1) * sizeof(*words));

		for (size_t i = 0; i < names->count; i++) {
			words[i] = names->at[i];
		}
		found = nearest_event(event, words);
		free(words);
	}
	return found ? missing_kept(found, strlen(found)) : NULL;
}

void missing_lack(const struct event_names *names, const struct analysis *analysis,
		  const char *event, struct missing_events *ret)
{
	if (names->beside && missing_has_event(names->beside, event)) {
		return;
	}
	missing_add(ret, analysis, event);
	for (size_t i = 0; i < ret->at.count; i++) {
		struct missing_event *one = &ret->at.at[i];

		if (!one->near && one->analysis == analysis && strcmp(one->event, event) == 0) {
			one->near = nearest(names, event);
		}
	}
}

static bool is_recorded(const struct event_names *names, const struct essential *essential)
{
	if (!plan_in_domain(names->domain, essential->domain) &&
	    !(names->has_programs && plan_in_domain("ust", essential->domain))) {
		return false;
	}
	for (size_t i = 0; essential->events[i]; i++) {
		if (missing_has_event(names, essential->events[i])) {
			return true;
		}
	}
	return false;
}

/* Whether nobody asked, and it is about the kernel where the trace is of programs, or the other way
 * round. */
static bool is_of_others(const struct event_names *names, const struct essential *essential)
{
	bool is_of_kernel = names->domain && strcmp(names->domain, "kernel") == 0;

	return names->is_usual && is_of_kernel == (essential->domain != NULL);
}

/* Whether it says more than that the trace is another one than the analysis is about: events that
 * the user names are of any tracer, and no other one has those of the kernel. */
static bool is_lacking(const struct event_names *names, const struct analysis *analysis,
		       const struct essential *essential)
{
	bool is_of_kernel = !names->tracer && (!names->domain || strcmp(names->domain, "ust") != 0);

	return !is_of_others(names, essential) &&
	       (is_of_kernel || !analysis_rare(analysis)->missing_of) &&
	       !(names->beside && is_recorded(names->beside, essential));
}

/* Whether what is wanted has no other source than the essential. */
static bool is_needed(const struct analysis *analysis, const struct period_set *periods,
		      const struct essential *essential)
{
	const struct analysis_rare *rare = analysis_rare(analysis);

	return !rare->needs_essential || rare->needs_essential(periods, essential);
}

static void mark_unknown(const struct essential *essential, uint16_t unknown[TABLES_MAX])
{
	uint16_t any = 0;

	for (size_t t = 0; t < TABLES_MAX; t++) {
		any |= essential->columns[t];
	}
	for (size_t t = 0; t < TABLES_MAX; t++) {
		unknown[t] |= any ? essential->columns[t] : ALL_COLUMNS;
	}
}

/* Tables of processes and containers are made from the table of threads. */
static void mark_processes(const struct analysis *analysis, uint16_t unknown[TABLES_MAX])
{
	uint16_t of_threads = 0;

	for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
		of_threads |= analysis->tables[t].scope == SCOPE_THREAD ? unknown[t] : 0;
	}
	for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
		unknown[t] |= scope_is_of_threads(analysis->tables[t].scope) ? of_threads : 0;
	}
}

static void add_essential(const struct event_names *names, const struct analysis *analysis,
			  const struct essential *essential, struct missing_events *ret)
{
	const char *event = essential->events[0];

	event = call_of(event) && !has_calls(names) ? MISSING_SYSCALLS : event;
	missing_add(ret, analysis, event);
}

/* Whether the trace has what the user's wishes are made of. */
static bool knows_of(const struct analysis *analysis, const struct period_set *periods,
		     const struct event_names *names, struct missing_events *ret)
{
	const struct analysis_rare *rare = analysis_rare(analysis);

	return !rare->missing_of || rare->missing_of(periods, names, ret);
}

bool missing_figure(const struct event_names *names, const struct analysis *analysis, size_t table,
		    unsigned int column, const struct period_set *periods,
		    struct missing_events *ret)
{
	bool is_unknown = false;

	for (size_t i = 0; i < analysis->essential_count; i++) {
		const struct essential *essential = &analysis->essentials[i];
		uint16_t unknown[TABLES_MAX] = { 0 };

		mark_unknown(essential, unknown);
		mark_processes(analysis, unknown);
		if (unknown[table] >> column & 1 && !is_recorded(names, essential) &&
		    is_needed(analysis, periods, essential)) {
			add_essential(names, analysis, essential, ret);
			is_unknown = true;
		}
	}
	return is_unknown || !knows_of(analysis, periods, names, ret);
}

bool missing_is_asked(const struct analysis *analysis, size_t table, unsigned int column,
		      const char *name, const struct period_set *periods)
{
	const struct analysis_rare *rare = analysis_rare(analysis);

	return !rare->is_asked || rare->is_asked(periods, table, column, name);
}

static void mark_unasked(const struct analysis *analysis, const struct period_set *periods,
			 uint16_t unknown[TABLES_MAX])
{
	for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
		for (unsigned int k = 0; k < COLUMNS_MAX && analysis->tables[t].columns[k].key;
		     k++) {
			if (!missing_is_asked(analysis, t, k, NULL, periods)) {
				unknown[t] |= (uint16_t)(1u << k);
			}
		}
	}
}

void missing_find(const struct event_names *names, const struct analysis *const *list, size_t count,
		  const struct period_set *periods, struct missing *ret)
{
	assert(count <= ANALYSES_MAX);
	ret->events.at.count = 0;
	memset(ret->unknown, 0, sizeof(ret->unknown));
	for (size_t a = 0; a < count; a++) {
		const struct analysis *analysis = list[a];

		for (size_t i = 0; i < analysis->essential_count; i++) {
			const struct essential *essential = &analysis->essentials[i];

			if (is_recorded(names, essential) ||
			    !is_needed(analysis, periods, essential)) {
				continue;
			}
			mark_unknown(essential, ret->unknown[a]);
			if (!essential->is_extra && is_lacking(names, analysis, essential)) {
				add_essential(names, analysis, essential, &ret->events);
			}
		}
		if (!knows_of(analysis, periods, names, &ret->events)) {
			mark_unknown(&(struct essential){ 0 }, ret->unknown[a]);
		}
		mark_unasked(analysis, periods, ret->unknown[a]);
		mark_processes(analysis, ret->unknown[a]);
	}
}

/* Whether it is @event that stands for the essential where that lacks. */
static bool stands_for(const char *event, const struct essential *essential)
{
	const char *first = essential->events[0];

	return strcmp(event, first) == 0 ||
	       (strcmp(event, MISSING_SYSCALLS) == 0 && call_of(first));
}

void missing_columns(const struct analysis *analysis, const struct missing_event *events,
		     size_t count, uint16_t unknown[TABLES_MAX])
{
	for (size_t i = 0; i < count; i++) {
		for (size_t e = 0; e < analysis->essential_count; e++) {
			if (stands_for(events[i].event, &analysis->essentials[e])) {
				mark_unknown(&analysis->essentials[e], unknown);
			}
		}
	}
	if (analysis_rare(analysis)->missing_of && count > 0) {
		mark_unknown(&(struct essential){ 0 }, unknown);
	}
	mark_processes(analysis, unknown);
}

void missing_keep(struct missing_events *events, const struct missing_event *these, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < events->at.count; i++) {
		struct missing_event one = events->at.at[i];
		bool is_among = false;

		for (size_t k = 0; k < count; k++) {
			is_among |= these[k].analysis == one.analysis &&
				    strcmp(these[k].event, one.event) == 0;
		}
		events->at.at[kept] = one;
		kept += is_among;
	}
	events->at.count = kept;
}

void missing_fini(struct missing *missing)
{
	vec_fini(&missing->events.at);
}

bool missing_is_whole(const struct table *table, uint16_t unknown)
{
	for (size_t i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		if (table->columns[i].kind != COLUMN_PRIO && !(unknown >> i & 1)) {
			return false;
		}
	}
	return true;
}

/* ---- what users are told ---- */

/* The kinds of commands; events of one kind fit into one. */
enum { KIND_KERNEL, KIND_CALL, KIND_ALL_CALLS, KIND_USER, KINDS };

static const char *const heads[KINDS] = {
	[KIND_KERNEL] = "lttng enable-event -k ",
	[KIND_CALL] = "lttng enable-event -k --syscall ",
	[KIND_ALL_CALLS] = "lttng enable-event -k --syscall --all",
	[KIND_USER] = "lttng enable-event -u ",
};

/* @ret_name: what stands behind the head. */
static unsigned int kind_of(const struct missing_event *event, const char **ret_name)
{
	const char *call = call_of(event->event);

	*ret_name = event->event;
	if (strcmp(event->event, MISSING_USER) == 0 || strchr(event->event, ':')) {
		return KIND_USER; /* names of the kernel's events have no colon */
	}
	if (strcmp(event->event, MISSING_SYSCALLS) == 0 || (call && strchr(call, '*'))) {
		*ret_name = "";
		return KIND_ALL_CALLS;
	}
	*ret_name = call ? call : event->event;
	return call ? KIND_CALL : KIND_KERNEL;
}

char *missing_command(const struct missing_event *event)
{
	const char *name;
	unsigned int kind = kind_of(event, &name);
	char *word = *name ? shell_word(name) : mem_strdup("");
	char *text = mem_printf("%s%s", heads[kind], word);

	free(word);
	return text;
}

/* Whether the same name stands behind the same head already. */
static bool is_again(const struct missing_event *events, size_t at, unsigned int kind,
		     const char *name)
{
	for (size_t i = 0; i < at; i++) {
		const char *other;

		if (kind_of(&events[i], &other) == kind && strcmp(other, name) == 0) {
			return true;
		}
	}
	return false;
}

/* Whether `sillage record` knows what an analysis needs by its name: it does not know periods. */
static bool has_needs(const struct missing_event *event)
{
	return event->analysis->need_count > 0;
}

/* A list behind @head of what is not there yet. */
static void put_record_name(FILE *out, const char *head, bool *any, const char *name)
{
	char *word = shell_word(name);

	(void)fprintf(out, "%s%s", *any ? "," : head, word);
	*any = true;
	free(word);
}

/* What records it by the kernel's own tracer: one command. */
static char *record_command(const struct missing_event *events, size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool any_analysis = false, any_event = false;

	(void)fputs("sudo sillage record", out);
	for (size_t i = 0; i < count; i++) {
		if (has_needs(&events[i]) &&
		    (i == 0 || events[i].analysis != events[i - 1].analysis)) {
			put_record_name(out, " -a ", &any_analysis, events[i].analysis->name);
		}
	}
	for (size_t i = 0; i < count; i++) {
		const char *name;
		unsigned int kind = kind_of(&events[i], &name);

		if (!has_needs(&events[i]) && !events[i].near && !is_again(events, i, kind, name)) {
			put_record_name(out, " --event ", &any_event,
					kind == KIND_KERNEL ? name : "raw_syscalls:*");
		}
	}
	(void)fclose(out);
	return text;
}

char *missing_commands(const char *tracer, const struct missing_event *events, size_t count,
		       const char *between, size_t most)
{
	char *text = NULL;
	size_t size, len = 0; /* of the last command */
	FILE *out;
	bool any = false;

	if (metadata_is_of_record(tracer)) {
		return record_command(events, count);
	}
	out = open_memstream(&text, &size);
	if (tracer) {
		(void)fprintf(out, "in the configuration of %s, which is not LTTng", tracer);
	}
	for (unsigned int kind = tracer ? KINDS : 0; kind < KINDS; kind++) {
		bool is_first = true; /* in its command */

		for (size_t i = 0; i < count; i++) {
			const char *name;

			if (events[i].near || kind_of(&events[i], &name) != kind ||
			    is_again(events, i, kind, name)) {
				continue;
			}
			if (is_first || len + 3 + strlen(name) > most) {
				(void)fprintf(out, "%s%s", any ? between : "", heads[kind]);
				len = strlen(heads[kind]);
				is_first = true;
			}
			(void)fputs(is_first ? "" : ",", out);
			len += !is_first + (*name ? shell_put(out, name) : 0);
			is_first = false;
			any = true;
		}
	}
	(void)fclose(out);
	return text;
}

/* An event in the text. */
struct named {
	const char *event, *near;
	uint32_t users; /* analyses that need it, bit by bit in the order in which they first appear
			 */
	bool is_again;  /* it was listed before, for another analysis */
};

static void name_all(const struct missing_event *events, size_t count, struct named *ret)
{
	unsigned int number = 0;

	for (size_t i = 0; i < count; i++) {
		size_t first = 0;

		number += i > 0 && events[i].analysis != events[i - 1].analysis;
		assert(number < ANALYSES_MAX);
		while (strcmp(events[first].event, events[i].event) != 0) {
			first++;
		}
		ret[i] = (struct named){ .event = events[i].event,
					 .near = events[i].near,
					 .is_again = first < i };
		ret[first].users |= UINT32_C(1) << number;
	}
}

static void put_analyses(FILE *out, const struct missing_event *events, size_t count, uint32_t bits)
{
	unsigned int number = 0;
	const char *between = " (";

	for (size_t i = 0; i < count; i++) {
		bool is_new = i == 0 || events[i].analysis != events[i - 1].analysis;

		number += i > 0 && is_new;
		if (is_new && bits >> number & 1) {
			(void)fprintf(out, "%s%s", between, events[i].analysis->name);
			between = ", ";
		}
	}
	(void)fputc(')', out);
}

/* Of events that the same analyses need so many are named; of the others only the number. */
#define NAMED_MAX 3

/* Writes the events from @at on that the same analyses need, which are marked as written. */
static void put_group(FILE *out, struct named *named, size_t count, size_t at)
{
	uint32_t users = named[at].users;
	size_t group = 0;

	for (size_t i = at; i < count; i++) {
		if (named[i].is_again || named[i].users != users) {
			continue;
		}
		named[i].is_again = true;
		if (++group <= NAMED_MAX) {
			(void)fprintf(out, "%s%s", group > 1 ? ", " : "",
				      strcmp(named[i].event, MISSING_USER) == 0
					      ? "user-space events"
					      : named[i].event);
			if (named[i].near) {
				(void)fprintf(out, " (did you mean \"%s\"?)", named[i].near);
			}
		}
	}
	if (group > NAMED_MAX) {
		(void)fprintf(out, " and %zu more", group - NAMED_MAX);
	}
}

char *missing_text(const struct missing_event *events, size_t count, bool names_analyses)
{
	struct named *named = mem_alloc((count + 1) * sizeof(*named));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *between = "";

	name_all(events, count, named);
	for (size_t i = 0; i < count; i++) {
		uint32_t users = named[i].users;

		if (named[i].is_again) {
			continue;
		}
		(void)fputs(between, out);
		between = "; ";
		put_group(out, named, count, i);
		if (names_analyses) {
			put_analyses(out, events, count, users);
		}
	}
	(void)fclose(out);
	free(named);
	return text;
}
