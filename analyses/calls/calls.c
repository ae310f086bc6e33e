/*
 * calls: see calls.h; the rows.
 */
#include "analyses/calls/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/contract/missing.h"
#include "engine/contract/untrusted.h"

/* Columns of a name, a provider, a thread and a process. */
enum { COUNT, ERRORS, SELF_NS, BY_KEY, DEPTH, OPEN, OLDEST_NS, TIME };

/* ---- rows ---- */

static uint64_t *row_called(struct shard *shard, const char *text)
{
	return shard_keyed_again(shard, shard_keyed_named(shard, BY_NAME, 0, text));
}

static uint64_t *name_row(struct shard *shard, const struct call_name *name)
{
	return row_called(shard, call_text(name));
}

static uint64_t *provider_row(struct shard *shard, const struct call_name *name)
{
	const char *provider = *name->provider ? name->provider : "-";
	struct row_key key = row_key_of(0, provider, strlen(provider));

	return shard_keyed_row(shard, PROVIDERS, &key);
}

/* What is added to each row of a call that ended. */
struct call_sum {
	uint64_t ns, self;
	uint32_t depth;
	bool is_timed, has_failed, is_by_key;
};

static void add_call(uint64_t *row, const struct call_sum *sum)
{
	row[COUNT]++;
	row[ERRORS] += sum->has_failed;
	row[BY_KEY] += sum->is_by_key;
	column_raise(row, DEPTH, sum->depth);
	if (sum->is_timed) {
		row[SELF_NS] += sum->self;
		column_add(row, TIME, sum->ns);
	}
}

/* Functions that are called by their addresses, by the reason. */
static void count_nameless(struct shard *shard, const struct call_name *name)
{
	if (name->why) {
		shard_keyed_again(shard, shard_keyed_named(shard, NAMELESS, 0, name->why))[0]++;
	}
}

static const char *key_name(const struct shard *shard, const struct call_end *end)
{
	static const char *const keys[CALL_KEYS] = { CALL_KEY_NAMES };
	const struct expression_link *link;
	const struct expression *is;

	if (end->begins != 1u << CALL_ASKED) {
		return keys[end->field] + 1;
	}
	is = shard_periods(shard)->calls.at[end->asked]->is;
	link = &is->links[0];
	return link->key_count > 0 ? expression_shown(is, link->keys[end->field].end) : "global";
}

static void note_longest(struct shard *shard, const struct program_call *call,
			 const struct call_end *end, const struct call_sum *sum,
			 const struct ordered *ordered)
{
	struct instance instance = { .ns = sum->ns,
				     .end = end->ts,
				     .more = { (int64_t)sum->self },
				     .cpu = end->cpu,
				     .thread = ordered ? ordered->thread : NULL };

	instance.keyed = row_key_of(0, call_text(call->name), strlen(call_text(call->name)));
	if (call->key) {
		labels_value_text(instance.by, key_name(shard, end), end->value);
	}
	shard_longest(shard, LONGEST, &instance);
}

/* What counters counted meanwhile. */
static void add_differences(struct shard *shard, const struct program_call *call,
			    const struct call_end *end)
{
	const struct period *asked = shard_periods(shard)->calls.at[call->asked];
	const struct expression_link *link = &asked->is->links[0];
	const struct diff_values values =
		counters_between(asked->is, call->counters, &end->counters, asked->diffs_at,
				 !link->has_keys || link->has_tid);

	counters_add(shard, DIFFERENCES, asked->is, call_text(call->name), NULL, &values);
}

void calls_add(struct shard *shard, const struct program_call *call, const struct call_end *end,
	       const struct ordered *ordered)
{
	struct call_sum sum = { .ns = end->ts > call->begin ? end->ts - call->begin : 0,
				.depth = call->depth,
				.is_timed = !call_is_tainted(call, end),
				.has_failed = end->has_failed,
				.is_by_key = end->is_by_key };
	uint64_t *totals = shard_trace_row(shard, TOTALS), *of_thread;

	sum.self = sum.ns > call->within ? sum.ns - call->within : 0;
	totals[ALL_CALLS]++;
	totals[ALL_ERRORS] += sum.has_failed;
	totals[UNTIMED] += !sum.is_timed;
	add_call(name_row(shard, call->name), &sum);
	count_nameless(shard, call->name);
	add_call(provider_row(shard, call->name), &sum);
	of_thread = ordered ? shard_thread_row(ordered->shard, ordered->thread, THREADS)
			    : shard_thread_row_of(shard, end->number, THREADS);
	if (of_thread) {
		add_call(of_thread, &sum);
	}
	if (sum.is_timed && call->counters && end->counters.words) {
		add_differences(shard, call, end);
	}
	if (sum.is_timed) {
		column_add(totals, ALL_TIME, sum.ns);
		if (shard_is_long(shard, LONGEST, sum.ns)) {
			note_longest(shard, call, end, &sum, ordered);
		}
	}
}

void calls_deepens(struct shard *shard, const struct program_call *call,
		   const struct ordered *ordered)
{
	column_raise(name_row(shard, call->name), DEPTH, call->depth);
	column_raise(provider_row(shard, call->name), DEPTH, call->depth);
	column_raise(shard_thread_row(ordered->shard, ordered->thread, THREADS), DEPTH,
		     call->depth);
}

/* ---- windows ---- */

static void add_open(uint64_t *row, const struct program_call *call, uint64_t end)
{
	row[OPEN]++;
	column_raise(row, OLDEST_NS, end > call->begin ? end - call->begin : 0);
}

static void show_open(struct shard *shard, struct program_call *call, uint64_t end)
{
	uint64_t *totals = shard_trace_row(shard, TOTALS), *row;

	totals[ALL_OPEN]++;
	column_raise(totals, ALL_OLDEST_NS, end > call->begin ? end - call->begin : 0);
	add_open(name_row(shard, call->name), call, end);
	add_open(provider_row(shard, call->name), call, end);
	row = call->on->is_over ? NULL : shard_thread_row_of(shard, call->on->number, THREADS);
	if (row) {
		add_open(row, call, end);
	}
	if (!call->name->shown) {
		call->name->shown = mem_strdup(call_text(call->name));
	}
	call->on->is_shown = true;
}

/* A row that had open calls in the window before has none now, which it has to be told. */
static void show_names(struct shard *shard, const struct calls_trace *trace)
{
	HASH_EACH(call_names, &trace->names, name) {
		if (name->value->shown) {
			(void)row_called(shard, name->value->shown);
			(void)provider_row(shard, name->value);
			free(name->value->shown);
			name->value->shown = NULL;
		}
	}
}

/* The same of threads.  Those that have nothing open any more are forgotten. */
static void show_threads(struct shard *shard, struct calls_trace *trace)
{
	struct call_threads_entry *entry = call_threads_next(&trace->threads, NULL, NULL);

	while (entry) {
		struct call_thread *thread = entry->value;

		if (thread->is_shown) {
			(void)shard_thread_row_of(shard, thread->number, THREADS);
			thread->is_shown = false;
		}
		if (thread->stack.count == 0) {
			vec_fini(&thread->stack);
			free(thread);
			entry = call_threads_remove(&trace->threads, NULL, entry);
		} else {
			entry = call_threads_next(&trace->threads, NULL, entry);
		}
	}
}

void calls_show_over(struct call_thread *on, const struct ordered *ordered)
{
	if (on->is_shown) {
		(void)shard_thread_row(ordered->shard, ordered->thread, THREADS);
		on->is_shown = false;
	}
}

static void on_calls_end(struct shard *shard, void *state, uint64_t end)
{
	struct calls_trace *trace = state;

	show_names(shard, trace);
	show_threads(shard, trace);
	shard_trace_row(shard, TOTALS)[UNDECIDED] += trace->held_count;
	for (struct list_node *at = trace->open.first; at; at = at->after) {
		struct program_call *call = (struct program_call *)at;

		if (call->name->is_function) {
			calls_name_function(trace, call->name, call->begin);
		}
		shard_leave_out(shard, call->left_out, call->cpu);
		show_open(shard, call, end);
	}
}

/* At one ns the loss comes last: before it no two streams have one order. */
static void note_loss(struct calls_trace *trace, uint64_t ts)
{
	if (ts > trace->lost_ts) {
		trace->lost_before = trace->lost_ts;
		trace->lost_ts = ts;
	}
}

/* Threads of programs are never known to end. */
static void on_end(struct shard *shard, struct thread *thread, uint64_t ts)
{
	const struct period_set *periods = shard_periods(shard);

	if (periods && periods->calls.count > 0) {
		/* What comes in that ns is still of the life. */
		shard_note_ordered(shard, thread, ts, NOTE_OVER)->is_last = true;
	}
}

/* Its open calls go on under another tid. */
static void on_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		    enum seen how)
{
	if (how == SEEN_RENAMED) {
		(void)shard_note_ordered(shard, thread, ts, NOTE_RENAMED);
	}
}

/* Where events are missing it is still that thread. */
static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
}

static void on_no_packets(struct shard *shard, void *state, uint64_t ts)
{
	note_loss(state, ts);
}

/* ---- records ---- */

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct ordered *note = shard_note_ordered(shard, thread, record->ts, record->kind);

	note->words[NOTE_FLAGS] = record->arg16;
	note->words[NOTE_CLASS] = (uint32_t)record->arg32;
	note->words[NOTE_WORDS] = numbers ? (uint64_t)(uintptr_t)(numbers + record->arg64) : 0;
}

static void on_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	struct calls_trace *trace = state;

	if (ordered->kind == OWN_LOST) {
		note_loss(trace, ordered->ts);
	} else if (ordered->kind == OWN_IMAGE) {
		calls_on_image(trace, ordered);
	} else if (ordered->kind == NOTE_OVER) {
		calls_over(shard, trace, ordered);
	} else if (ordered->kind == NOTE_RENAMED) {
		calls_renamed(trace, ordered);
	} else if (ordered->kind == OWN_BEGIN) {
		calls_begin(shard, trace, ordered);
	} else {
		calls_end(shard, trace, ordered);
	}
}

static bool accepts_key(const struct untrusted_record *untrusted)
{
	uint16_t flags = untrusted->record->arg16;
	const uint64_t *words = untrusted->numbers, *key = words + calls_word_key(flags);
	const struct period_set *periods = untrusted->periods;
	bool is_asked = flags & 1u << CALL_ASKED;

	if (!is_asked && (flags & CALL_HAS_DIFFS)) {
		return false;
	}
	if (is_asked && ((flags & UINT8_MAX) != 1u << CALL_ASKED || !periods ||
			 words[WORD_MORE] >= periods->calls.count)) {
		return false;
	}
	return !(flags & CALL_HAS_KEY) || key[KEY_FIELD] < (is_asked ? PERIOD_KEYS_MAX : CALL_KEYS);
}

/* What the user asks for is of any trace. */
static bool needs_essential(const struct period_set *periods, const struct essential *essential)
{
	return !periods || periods->calls.count == 0;
}

static bool accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;
	size_t count = calls_words(record->arg16);
	const uint64_t *words = untrusted->numbers;
	bool has_sub = record->arg16 & CALL_HAS_SUB;

	if (record->kind == OWN_LOST) {
		return true;
	}
	if (record->kind == OWN_IMAGE) {
		return calls_accept_image(untrusted);
	}
	return (record->kind == OWN_BEGIN || record->kind == OWN_END) &&
	       (uint32_t)record->arg32 < untrusted->classes && untrusted_has(untrusted, count) &&
	       accepts_key(untrusted) && (!has_sub || ((const char *)(words + count))[-1] == 0);
}

static void on_trace_forget(void *state)
{
	calls_forget(state);
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	codec_u64(checkpoint->codec, state);
}

static void on_trace_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	calls_checkpoint(checkpoint, state);
}

static const struct essential essentials[] = {
	{ ANY_EVENT(MISSING_USER), .domain = PLAN_NOT "kernel" },
};

#define FIGURES                                                                                    \
	.columns = {                                                                               \
		[COUNT] = { "calls", "CALLS", UNIT_COUNT },                                        \
		[ERRORS] = { "errors", "ERRORS", UNIT_COUNT },                                     \
		[SELF_NS] = { "self_ns", "SELF", UNIT_NS },                                        \
		[BY_KEY] = { "by_key", NULL, UNIT_COUNT },                                         \
		[DEPTH] = { "depth_max", NULL, UNIT_COUNT, COLUMN_MAX },                           \
		[OPEN] = { "open", "OPEN", UNIT_COUNT, COLUMN_LAST },                              \
		[OLDEST_NS] = { "oldest_ns", NULL, UNIT_NS, COLUMN_LAST_MAX },                     \
		[TIME] = { "time", "TIMED", UNIT_NS, COLUMN_HISTOGRAM },                           \
	}

const struct analysis analysis_calls = {
	.name = "calls",
	.summary = "calls, requests and spans of programs: events that begin and end one",
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct calls_chunk),
	.trace_state_size = sizeof(struct calls_trace),
	.uses_threads = true,
	.thread_state_size = sizeof(uint64_t), /* what it is known by here */
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[ALL_CALLS] = { "calls", "calls", UNIT_COUNT },
				[ALL_ERRORS] = { "errors", "errors", UNIT_COUNT },
				[ALL_OPEN] = { "open", "open", UNIT_COUNT, COLUMN_LAST },
				[ALL_OLDEST_NS] = { "oldest_ns", "oldest", UNIT_NS, COLUMN_LAST_MAX },
				[UNMATCHED] = { "unmatched", "ends alone", UNIT_COUNT },
				[UNDECIDED] = { "undecided", NULL, UNIT_COUNT, COLUMN_LAST },
				[BROKEN] = { "broken", "without end", UNIT_COUNT },
				[REPLACED] = { "replaced", NULL, UNIT_COUNT },
				[DROPPED] = { "dropped", NULL, UNIT_COUNT },
				[UNTIMED] = { "untimed", NULL, UNIT_COUNT },
				[UNNAMED] = { "unnamed", NULL, UNIT_COUNT },
				[ALL_TIME] = { "time", "time", UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[BY_NAME] = {
			.key = "by_name",
			.scope = SCOPE_KEYED,
			.name_key = "name",
			.title = "CALL",
			.sort_mask = 1u << TIME,
			FIGURES,
		},
		[PROVIDERS] = {
			.key = "providers",
			.scope = SCOPE_KEYED,
			.name_key = "provider",
			.title = "PROVIDER",
			.sort_mask = 1u << TIME,
			FIGURES,
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << TIME,
			FIGURES,
		},
		[PROCESSES] = {
			.key = "processes",
			.scope = SCOPE_PROCESS,
			.sort_mask = 1u << TIME,
			FIGURES,
		},
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.name_key = "name",
			.by_key = "by",
			.title = "LONGEST CALLS",
			.columns = {
				{ "ns", "TIME", UNIT_NS },
				{ "self_ns", "SELF", UNIT_NS },
			},
		},
		[NAMELESS] = {
			.key = "nameless",
			.scope = SCOPE_KEYED,
			.name_key = "why",
			.title = "FUNCTIONS WITHOUT A NAME",
			.sort_mask = 1u << 0,
			.columns = {
				{ "calls", "CALLS", UNIT_COUNT },
			},
		},
		[DIFFERENCES] = { COUNTERS_TABLE },
	},
	.on_record = on_record,
	.accepts = accepts,
	.on_checkpoint = on_checkpoint,
	.on_seen = on_seen,
	.on_doubt = on_doubt,
	.on_ordered = on_ordered,
	.on_trace_forget = on_trace_forget,
	.on_trace_checkpoint = on_trace_checkpoint,
	.rare = &(const struct analysis_rare){
		.needs_of = calls_needs_of,
		.needs_essential = needs_essential,
		.of_plan = calls_sides_of,
		.hint_of = calls_hint_of,
		.on_lost = calls_on_lost,
		.on_end = on_end,
		.on_ordered_window_end = on_calls_end,
		.on_ordered_hole = on_no_packets,
	},
};
