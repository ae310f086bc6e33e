/*
 * periods: see periods.h; periods of two events, and the rows of all.
 */
#include "analyses/periods/periods.h"
#include "base/hash.h"
#include "engine/contract/untrusted.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A period can end only if the trace has all of its events. */
static bool add_missing(const struct period_set *periods, const struct event_names *names,
			struct missing_events *ret, bool with_models)
{
	bool any = false;

	for (size_t i = 0; periods && i < periods->all.count; i++) {
		const struct period *period = periods->all.at[i];
		bool has_all = !period->is_left_out;

		for (size_t k = 0; k < period->step_count && !period->is_left_out; k++) {
			const char *event = period->steps[k].what->event;

			if (!missing_has_event(names, event)) {
				if (with_models || !period->model) {
					missing_lack(names, &analysis_periods, event, ret);
				}
				has_all = false;
			}
		}
		any |= has_all;
	}
	return any;
}

/* A model has periods for several versions of a program: what one of them lacks is said only where
 * there is nothing else. */
static bool missing_of(const struct period_set *periods, const struct event_names *names,
		       struct missing_events *ret)
{
	return add_missing(periods, names, ret, false) || add_missing(periods, names, ret, true);
}

/* ---- open periods ---- */

struct open {
	uint64_t key, begin;
	int32_t tid; /* of the thread that began it, if it belongs to keys; -1: unknown */
	uint16_t period;
	bool is_tainted;
	struct items items;
	struct diff_begin *counters; /* NULL: of no interest */
};

/* The open periods of a thread or an entity, in the order in which they began. */
struct opens {
	VEC(struct open) all;
};

static struct opens *opens_of(struct shard *shard, struct thread *thread)
{
	return shard_thread_state(shard, thread);
}

static const char *period_key_shown(const struct period *period, size_t i)
{
	return expression_shown(period->is, period->is->links[0].keys[i].begin);
}

/* Its name, and "dev=8 sector=5" behind ids. */
static void name_instance(struct instance *instance, const struct period *period,
			  const struct ended *ended)
{
	bool fits = labels_name_instance(instance, period->name, &period->group, ended->items);
	size_t count = period->is_chain ? 0 : period->links[0].key_count;
	char key[INSTANCE_BY_BYTES];

	for (size_t i = 0; fits && i < count; i++) {
		labels_value_text(key, period_key_shown(period, i),
				  ended->words + WORD_VALUES + i * VALUE_WORDS);
		fits = labels_add_item(instance->by, key);
	}
}

static struct open *find_open(struct opens *opens, uint16_t period, uint64_t key)
{
	for (size_t i = opens->all.count; i-- > 0;) {
		struct open *open = &opens->all.at[i];

		if (open->period == period && open->key == key) {
			return open;
		}
	}
	return NULL;
}

static void remove_open(struct opens *opens, struct open *open)
{
	size_t at = (size_t)(open - opens->all.at);

	labels_items_fini(&open->items);
	free(open->counters);
	memmove(open, open + 1, (--opens->all.count - at) * sizeof(*open));
}

/* Periods that lie within another are cut when it ends. */
static void cut_within(struct shard *shard, struct opens *opens, uint16_t period)
{
	const struct period_set *set = shard_periods(shard);

	for (size_t i = opens->all.count; i-- > 0;) {
		uint16_t inner = opens->all.at[i].period;

		if (set->all.at[inner]->within == (int)period) {
			remove_open(opens, &opens->all.at[i]);
			shard_trace_row(shard, TOTALS)[CUT]++;
			cut_within(shard, opens, inner);
			i = opens->all.count;
		}
	}
}

static bool has_outer(struct shard *shard, struct opens *opens, uint16_t period)
{
	int within = shard_periods(shard)->all.at[period]->within;

	for (size_t i = 0; within >= 0 && i < opens->all.count; i++) {
		if (opens->all.at[i].period == within) {
			return true;
		}
	}
	return within < 0;
}

/* The thread that ran, of an event that belongs to keys and says of no other thread. */
static int32_t noted_by(const struct period *period, const struct record *record)
{
	const struct definition *what = period->steps[record->kind == OWN_END].what;

	return period->by_thread || what->has_tid ? 0 : record->arg32;
}

static void begin_period(struct shard *shard, struct opens *opens, const struct record *record,
			 const uint64_t *words)
{
	uint16_t period = record->arg16;
	const struct period *is = shard_periods(shard)->all.at[period];
	const struct counters_event counters = periods_counters_of(is, words, noted_by(is, record));
	struct open *open = find_open(opens, period, words[WORD_KEY]);

	if (!has_outer(shard, opens, period)) {
		return;
	}
	if (open) {
		shard_trace_row(shard, TOTALS)[RESTARTED]++;
		cut_within(shard, opens, period);
		remove_open(opens, find_open(opens, period, words[WORD_KEY]));
	} else if (opens->all.count >= PERIODS_OPEN_MAX) {
		shard_trace_row(shard, TOTALS)[DROPPED]++;
		remove_open(opens, &opens->all.at[0]);
	}
	open = vec_push(&opens->all);
	*open = (struct open){
		.key = words[WORD_KEY], .begin = record->ts, .tid = record->arg32, .period = period
	};
	periods_add_items(&open->items, is, words);
	open->counters = counters_begin(is->is, &counters);
}

static struct row_key key_of_period(const struct shard *shard, uint32_t index)
{
	const struct period *period = shard_periods(shard)->all.at[index];

	return row_key_of(0, period->name, strlen(period->name));
}

/* Its row, by the items of its group. */
static uint64_t *row_of(struct shard *shard, const struct ended *ended, const char *name)
{
	const struct period *period = shard_periods(shard)->all.at[ended->period];

	if (strcmp(name, period->name) == 0 && !period->is_chain) {
		return shard_indexed_row(shard, BY_NAME, ended->period, key_of_period);
	}
	return shard_keyed_again(shard, shard_keyed_named(shard, BY_NAME, 0, name));
}

static void note_longest(struct shard *shard, const struct ended *ended, uint64_t ns)
{
	const struct period *period = shard_periods(shard)->all.at[ended->period];
	struct instance instance = { .ns = ns,
				     .end = ended->end,
				     .cpu = ended->cpu,
				     .thread = ended->thread,
				     .has_begun_by = !ended->thread && ended->begun_by >= 0 };

	instance.begun_by = instance.has_begun_by ? ended->begun_by : 0;
	if (ended->visits) {
		instance.visits = *ended->visits;
	}
	name_instance(&instance, period, ended);
	shard_longest(shard, LONGEST, &instance);
}

void periods_add(struct shard *shard, const struct ended *ended)
{
	const struct period *period = shard_periods(shard)->all.at[ended->period];
	uint64_t ns = ended->end > ended->begin ? ended->end - ended->begin : 0;
	uint64_t *totals = shard_trace_row(shard, TOTALS);
	char name[NAMED_BYTES];

	totals[ENDED]++;
	totals[UNTIMED] += ended->is_tainted;
	if (ended->is_tainted) {
		return;
	}
	labels_put_name(name, period->name, ended->items);
	column_add(row_of(shard, ended, name), TIME, ns);
	if (ended->thread) {
		column_add(shard_thread_row(shard, ended->thread, THREADS), TIME, ns);
	}
	counters_add(shard, DIFFERENCES, period->is, period->name, ended->items,
		     ended->differences);
	if (shard_is_long(shard, LONGEST, ns)) {
		note_longest(shard, ended, ns);
	}
}

static void end_period(struct shard *shard, struct thread *thread, struct opens *opens,
		       const struct record *record, const uint64_t *words)
{
	const struct period *period = shard_periods(shard)->all.at[record->arg16];
	const struct counters_event counters =
		periods_counters_of(period, words, noted_by(period, record));
	struct open *open = find_open(opens, record->arg16, words[WORD_KEY]), was;
	struct diff_values differences;
	struct visits visits = { .count = 0 };

	if (!open) {
		shard_trace_row(shard, TOTALS)[UNMATCHED]++;
		return;
	}
	if (period->links[0].met) {
		keys_met_agree(period->links[0].met);
	}
	was = *open;
	open->items = (struct items){ 0 };
	open->counters = NULL;
	remove_open(opens, open);
	cut_within(shard, opens, record->arg16);
	periods_add_items(&was.items, period, words);
	differences =
		counters_between(period->is, was.counters, &counters, NULL, period->by_thread);
	visits_add(&visits, was.begin, was.tid);
	visits_add(&visits, record->ts, record->arg32);
	periods_add(shard, &(struct ended){ .period = record->arg16,
					    .is_tainted = was.is_tainted,
					    .begin = was.begin,
					    .end = record->ts,
					    .cpu = words[WORD_CPU],
					    .thread = period->by_thread ? thread : NULL,
					    .begun_by = was.tid,
					    .visits = period->by_thread ? NULL : &visits,
					    .items = &was.items,
					    .words = words,
					    .differences = &differences });
	labels_items_fini(&was.items);
	free(was.counters);
}

/* ---- files ---- */

static bool accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;
	const struct period_set *set = untrusted->periods;
	uint16_t number = record->arg16 & ((1u << STEP_SHIFT) - 1);
	size_t step = record->arg16 >> STEP_SHIFT, at;
	const struct period *period;

	if (record->kind == OWN_LABEL) {
		return labels_accepts(untrusted);
	}
	if (record->kind < OWN_BEGIN || record->kind > OWN_LABEL || !set ||
	    number >= set->all.count) {
		return false;
	}
	period = set->all.at[number];
	at = periods_word_items(period);
	/* arg32 is a tid, if the period belongs to keys. */
	assert(at > WORD_CPU);
	return (record->kind == OWN_STEP) == period->is_chain &&
	       step < (period->is_chain ? period->step_count : 1) &&
	       !(untrusted->has_current && period->by_thread) && untrusted->count > at &&
	       labels_are_items(untrusted->numbers + at, untrusted->count - at);
}

static void forget_opens(struct opens *opens)
{
	for (size_t i = 0; i < opens->all.count; i++) {
		labels_items_fini(&opens->all.at[i].items);
		free(opens->all.at[i].counters);
	}
	opens->all.count = 0;
}

/* Others never end here. */
static bool is_of_two_events(const struct period_set *set, uint16_t period)
{
	return set && period < set->all.count && !set->all.at[period]->is_chain;
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct opens *opens = state;
	size_t count = codec_count(codec, opens->all.count, 24 + 4 * LABEL_GROUP_MAX);

	for (size_t i = 0; i < count && codec_check(codec, count <= PERIODS_OPEN_MAX); i++) {
		struct open *open = codec_at(codec, &opens->all, i);

		codec_each(codec, &open->key, &open->begin, &open->tid, &open->period,
			   &open->is_tainted);
		labels_items_codec(codec, &open->items);
		diff_codec(codec, &open->counters);
		if (!codec_check(codec, is_of_two_events(checkpoint->periods, open->period))) {
			forget_opens(opens);
		}
	}
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct opens *opens = opens_of(shard, thread);

	if (record->kind >= OWN_STEP) {
		struct ordered *note =
			shard_note_ordered(shard, thread, record->ts,
					   record->kind == OWN_STEP ? NOTE_STEP : NOTE_LABEL);

		note->words[NOTE_WHICH] = record->arg16;
		note->words[NOTE_TID] = (uint32_t)record->arg32;
		note->words[NOTE_WORDS] = (uint64_t)(uintptr_t)(numbers + record->arg64);
	} else if (record->kind == OWN_BEGIN) {
		begin_period(shard, opens, record, numbers + record->arg64);
	} else {
		end_period(shard, thread, opens, record, numbers + record->arg64);
	}
}

/* In the gap, periods may have ended and begun again. */
static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct opens *opens = opens_of(shard, thread);

	if (what & DOUBT_THREAD) {
		forget_opens(opens);
	}
	for (size_t i = 0; i < opens->all.count; i++) {
		opens->all.at[i].is_tainted = true;
	}
}

static void on_window_end(struct shard *shard, struct thread *thread, uint64_t end)
{
	struct opens *opens = opens_of(shard, thread);
	uint64_t *totals;

	if (opens->all.count == 0) {
		return;
	}
	totals = shard_trace_row(shard, TOTALS);
	if (shard_is_dead(thread)) {
		totals[CUT] += opens->all.count;
		forget_opens(opens);
		vec_fini(&opens->all);
		return;
	}
	totals[OPEN] += opens->all.count;
	for (size_t i = 0; i < opens->all.count; i++) {
		uint64_t begun = opens->all.at[i].begin;

		column_raise(totals, OLDEST_NS, end > begun ? end - begun : 0);
	}
}

static void on_forget(void *state)
{
	struct opens *opens = state;

	forget_opens(opens);
	vec_fini(&opens->all);
}

/* ---- the trace ---- */

static void take_label(struct shard *shard, struct periods_trace *trace,
		       const struct ordered *ordered)
{
	const uint64_t *words = (const uint64_t *)(uintptr_t)ordered->words[NOTE_WORDS];
	bool has_forgotten = labels_take(&trace->called, &shard_periods(shard)->labels,
					 ordered->words[NOTE_WHICH], words);

	shard_trace_row(shard, TOTALS)[FORGOTTEN] += has_forgotten;
}

static void on_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	if (ordered->kind == NOTE_LABEL) {
		take_label(shard, state, ordered);
	} else {
		periods_chains_step(shard, state, ordered);
	}
}

static void on_trace_forget(void *state)
{
	periods_chains_forget(state);
	called_forget(&((struct periods_trace *)state)->called);
}

static void on_trace_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	periods_chains_checkpoint(checkpoint, state);
	called_codec(checkpoint->codec, &((struct periods_trace *)state)->called,
		     checkpoint->periods ? &checkpoint->periods->labels : NULL);
}

/* ---- names of rows ---- */

static const struct period *period_called(const struct period_set *set, const char *name,
					  size_t len)
{
	for (size_t i = 0; i < set->all.count; i++) {
		const struct period *period = set->all.at[i];

		if (strlen(period->name) == len && memcmp(period->name, name, len) == 0) {
			return period;
		}
	}
	return NULL;
}

/* What follows the items of a group in instance.by: the first key; NULL: nothing does. */
static const char *behind_items(const struct period *period)
{
	return period->is_chain || period->links[0].key_count == 0 ? NULL
								   : period_key_shown(period, 0);
}

static char *label_of(const void *state, const struct period_set *periods, size_t table,
		      const char *name, const char *by)
{
	const struct periods_trace *trace = state;
	size_t len = strcspn(name, " ");
	char named[PATTERN_NAME_BYTES + PATTERN_WORD_BYTES];
	const struct period *period = periods ? period_called(periods, name, len) : NULL;
	struct labels_row row = { .items = name + len + strspn(name + len, " ") };

	if (table == LONGEST) {
		row = (struct labels_row){ .items = by, .has_ids_only = name[len] };
	}
	if (!period || period->group.count == 0 || !row.items) {
		return NULL;
	}
	row.name = period->name;
	row.group = &period->group;
	row.behind = table == LONGEST ? behind_items(period) : NULL;
	if (table == DIFFERENCES) { /* a counter comes first */
		row.items = counters_row_items(name, named);
		row.name = named;
	}
	return labels_name_of(&trace->called, &periods->labels, &row);
}

#define TIMES                                                                                      \
	.columns = {                                                                               \
		[TIME] = { "time", "ENDED", UNIT_NS, COLUMN_HISTOGRAM },                           \
	}

const struct analysis analysis_periods = {
	.name = "periods",
	.summary = "what lies between events that --period names, and for how long",
	.thread_state_size = sizeof(struct opens),
	.trace_state_size = sizeof(struct periods_trace),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[ENDED] = { "ended", "ended", UNIT_COUNT },
				[RESTARTED] = { "restarted", "begun again", UNIT_COUNT },
				[UNMATCHED] = { "unmatched", "ends alone", UNIT_COUNT },
				[CUT] = { "cut", "cut", UNIT_COUNT },
				[UNTIMED] = { "untimed", NULL, UNIT_COUNT },
				[DROPPED] = { "dropped", NULL, UNIT_COUNT },
				[OPEN] = { "open", "open", UNIT_COUNT, COLUMN_LAST },
				[OLDEST_NS] = { "oldest_ns", "oldest", UNIT_NS, COLUMN_LAST_MAX },
				[FORGOTTEN] = { "names_forgotten", NULL, UNIT_COUNT },
			},
		},
		[BY_NAME] = {
			.key = "by_name",
			.scope = SCOPE_KEYED,
			.name_key = "name",
			.title = "PERIOD",
			.sort_mask = 1u << TIME,
			TIMES,
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << TIME,
			TIMES,
		},
		[PROCESSES] = {
			.key = "processes",
			.scope = SCOPE_PROCESS,
			.sort_mask = 1u << TIME,
			TIMES,
		},
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.name_key = "name",
			.by_key = "by",
			.title = "LONGEST PERIODS",
			.columns = { { "ns", "TIME", UNIT_NS } },
		},
		[DIFFERENCES] = { COUNTERS_TABLE },
	},
	.on_record = on_record,
	.accepts = accepts,
	.on_checkpoint = on_checkpoint,
	.on_doubt = on_doubt,
	.on_window_end = on_window_end,
	.on_forget = on_forget,
	.on_ordered = on_ordered,
	.on_trace_forget = on_trace_forget,
	.on_trace_checkpoint = on_trace_checkpoint,
	.rare = &(const struct analysis_rare){
		.needs_of = periods_needs_of,
		.missing_of = missing_of,
		.on_ordered_window_end = periods_chains_window_end,
		.label_of = label_of,
	},
};
