/*
 * periods: the time between two events that the user names (query/period.h).
 *
 * The worker decides whether an event begins or ends a period, and which thread or keys it belongs
 * to.  It emits a record of the thread, or of an entity: one of BUCKETS, by a hash of the keys.  So
 * each shard pairs the periods of its own threads and entities, in time order over all streams.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/missing.h"
#include "query/period.h"

enum table_index { TOTALS, BY_NAME, THREADS, PROCESSES, LONGEST };
enum { ENDED, RESTARTED, UNMATCHED, CUT, UNTIMED, DROPPED, OPEN, OLDEST_NS };
enum { TIME };

enum { OWN_BEGIN = RECORD_OWN, OWN_END };

extern const struct analysis analysis_periods;

/* Entities that periods without a thread are spread over. */
#define BUCKETS 4096

#define TEXT_BYTES 64 /* of a group, its zero included */
#define TEXT_WORDS (TEXT_BYTES / sizeof(uint64_t))

/*
 * Words beside a record: the hash of the keys, the CPU, the value of each key, and the text of the
 * group if it has one, else a zero.
 */
enum { WORD_KEY, WORD_CPU, WORD_VALUES };

/* The value of a key: a number, or the beginning of a text. */
enum { VALUE_KIND, VALUE_FIRST, VALUE_WORDS = 3 };
enum { VALUE_UNSIGNED, VALUE_SIGNED, VALUE_TEXT };
#define VALUE_TEXT_BYTES ((VALUE_WORDS - VALUE_FIRST) * sizeof(uint64_t))

static size_t word_text(const struct period *period)
{
	return WORD_VALUES + period->key_count * VALUE_WORDS;
}

/* ---- worker's half ---- */

static bool conditions_hold(const struct period_side *side, const struct trace_event *event)
{
	for (size_t i = 0; i < side->what.count; i++) {
		const struct condition *condition = &side->what.conditions[i];
		uint8_t field = side->conditions[i];

		if (!event_has(event, field) ||
		    (!condition->is_tid &&
		     !pattern_condition_holds(condition, &event->values[field], 0))) {
			return false;
		}
	}
	return true;
}

/* Fills the values of the keys and their hash.  False: the event lacks one of them. */
static bool fill_keys(struct worker *worker, const struct period *period,
		      const struct period_side *side, const struct trace_event *event,
		      uint64_t *words)
{
	uint64_t hash = 0, cpu = worker_cpu(worker);

	for (size_t i = 0; i < period->key_count; i++) {
		uint64_t *value = words + WORD_VALUES + i * VALUE_WORDS;
		uint8_t field = side->keys[i];

		if (field == FIELD_CPU) {
			hash = hash_bytes(hash, &cpu, sizeof(cpu));
			value[VALUE_FIRST] = cpu;
		} else if (event_has(event, field)) {
			hash = hash_bytes(hash, &event->values[field].u, sizeof(uint64_t));
			value[VALUE_FIRST] = event->values[field].u;
			value[VALUE_KIND] =
				event->is_signed & (1u << field) ? VALUE_SIGNED : VALUE_UNSIGNED;
		} else if (event_has(event, field + 1u)) {
			const struct value *text = &event->values[field + 1];
			size_t len = strnlen((const char *)text->bytes, text->len);

			hash = hash_bytes(hash, text->bytes, len);
			memcpy(value + VALUE_FIRST, text->bytes,
			       len < VALUE_TEXT_BYTES ? len : VALUE_TEXT_BYTES);
			value[VALUE_KIND] = VALUE_TEXT;
		} else {
			return false;
		}
	}
	words[WORD_KEY] = hash;
	return true;
}

static int32_t thread_of(const struct worker *worker, const struct period_side *side,
			 const struct trace_event *event)
{
	if (side->thread != FIELD_NONE) {
		return (int32_t)event_i64(event, side->thread, 0);
	}
	return event_has(event, side->vtid) ? (int32_t)event_i64(event, side->vtid, 0)
					    : worker_tid_of(worker, event, side->tid);
}

/* Writes "size=5 name=x", as much as fits. */
static void group_text(char text[TEXT_BYTES], const struct period *period,
		       const struct period_side *side, const struct trace_event *event)
{
	size_t len = 0;

	for (size_t i = 0; i < period->group_count && len < TEXT_BYTES; i++) {
		uint8_t field = side->groups[i];
		const struct value *value = &event->values[field];
		const char *blank = len > 0 ? " " : "", *name = period->groups[i];
		int added = 0;

		if (event_has(event, field)) {
			added = snprintf(text + len, TEXT_BYTES - len,
					 event->is_signed & (1u << field) ? "%s%s=%" PRId64
									  : "%s%s=%" PRIu64,
					 blank, name, value->u);
		} else if (event_has(event, field + 1u)) {
			value++;
			added = snprintf(
				text + len, TEXT_BYTES - len, "%s%s=%.*s", blank, name,
				(int)strnlen((const char *)value->bytes,
					     value->len < TEXT_BYTES ? value->len : TEXT_BYTES),
				(const char *)value->bytes);
		}
		len += added > 0 ? (size_t)added : 0;
	}
}

/* The thread of an event that belongs to keys. */
static void note_thread(struct worker *worker, struct record *record, int32_t tid)
{
	if (tid == TID_CURRENT) {
		worker_note_current(worker, record);
	} else {
		record->arg32 = tid;
	}
}

#define WORDS_MAX (WORD_VALUES + PERIOD_KEYS_MAX * VALUE_WORDS + TEXT_WORDS)

/* @user: twice the number of the period, plus one if this event ends it. */
static void on_event(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	const struct period *period = worker_periods(worker)->all.at[user / 2];
	const struct period_side *side = user % 2 ? &period->end : &period->begin;
	unsigned int kind = user % 2 ? OWN_END : OWN_BEGIN;
	uint64_t words[WORDS_MAX] = { [WORD_CPU] = worker_cpu(worker) };
	char text[TEXT_BYTES] = "";
	struct record *record;

	(void)state;
	if (!conditions_hold(side, event) || !fill_keys(worker, period, side, event, words)) {
		return;
	}
	group_text(text, period, side, event);
	memcpy(words + word_text(period), text, sizeof(text));
	if (period->by_thread) {
		record = worker_emit(worker, event->ts, thread_of(worker, side, event), kind);
	} else {
		record = worker_emit_entity(worker, event->ts, words[WORD_KEY] % BUCKETS, kind);
		if (kind == OWN_BEGIN) {
			note_thread(worker, record, thread_of(worker, side, event));
		}
	}
	record->arg16 = (uint16_t)(user / 2);
	record->arg64 =
		worker_numbers(worker, words, word_text(period) + (text[0] ? TEXT_WORDS : 1));
}

static size_t needs_of(const struct period_set *periods, struct need **ret)
{
	size_t count = periods ? 2 * periods->all.count : 0;

	*ret = mem_alloc((count + 1) * sizeof(**ret));
	for (size_t i = 0; i < count; i++) {
		const struct period *period = periods->all.at[i / 2];
		bool is_end = i % 2 == 0; /* an event that is both ends first, then begins */
		const struct period_side *side = is_end ? &period->end : &period->begin;
		struct need *need = &(*ret)[i];

		need->event = side->what.event;
		memcpy(need->fields, side->fields, sizeof(need->fields));
		need->on_event = on_event;
		need->user = (uint32_t)(i / 2 * 2 + is_end);
	}
	return count;
}

/* A period can end only if the trace has both of its events. */
static bool missing_of(const struct period_set *periods, const struct event_names *names,
		       struct missing_events *ret)
{
	bool any = false;

	for (size_t i = 0; periods && i < periods->all.count; i++) {
		const struct period *period = periods->all.at[i];
		const char *events[] = { period->begin.what.event, period->end.what.event };
		bool has_both = true;

		for (size_t k = 0; k < sizeof(events) / sizeof(events[0]); k++) {
			if (!missing_has_event(names, events[k])) {
				missing_add(ret, &analysis_periods, events[k]);
				has_both = false;
			}
		}
		any |= has_both;
	}
	return any;
}

/* ---- merger's half ---- */

struct open {
	uint64_t key, begin;
	int32_t tid; /* of the thread that began it, if it belongs to keys; -1: unknown */
	uint16_t period;
	bool is_tainted;
	char text[TEXT_BYTES];
};

/* The open periods of a thread or an entity, in the order in which they began. */
struct opens {
	VEC(struct open) all;
};

static struct opens *opens_of(struct shard *shard, struct thread *thread)
{
	return shard_thread_state(shard, thread);
}

static const char *text_at(const struct period *period, const uint64_t *words)
{
	return (const char *)(words + word_text(period));
}

/* "dev=8 sector=5"; the last key is cut if there is no room. */
static void values_text(char text[INSTANCE_BY_BYTES], const struct period *period,
			const uint64_t *words)
{
	size_t len = 0;

	for (size_t i = 0; i < period->key_count && len < INSTANCE_BY_BYTES; i++) {
		const uint64_t *value = words + WORD_VALUES + i * VALUE_WORDS;
		uint8_t field = period->begin.keys[i];
		const char *name = field == FIELD_CPU ? "$cpu" : period->begin.names[field];
		size_t room = INSTANCE_BY_BYTES - len;
		const char *blank = len > 0 ? " " : "";
		int added;

		if (value[VALUE_KIND] == VALUE_TEXT) {
			added = snprintf(text + len, room, "%s%s=%.*s", blank, name,
					 (int)VALUE_TEXT_BYTES,
					 (const char *)(value + VALUE_FIRST));
		} else {
			added = snprintf(text + len, room,
					 value[VALUE_KIND] == VALUE_SIGNED ? "%s%s=%" PRId64
									   : "%s%s=%" PRIu64,
					 blank, name, value[VALUE_FIRST]);
		}
		len += added > 0 ? (size_t)added : 0;
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

static void begin_period(struct shard *shard, struct opens *opens, const struct record *record,
			 const uint64_t *words)
{
	uint16_t period = record->arg16;
	struct open *open = find_open(opens, period, words[WORD_KEY]);
	const char *text;

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
	text = text_at(shard_periods(shard)->all.at[period], words);
	memcpy(open->text, text, strlen(text) + 1);
}

static struct row_key key_of_period(const struct shard *shard, uint32_t index)
{
	const struct period *period = shard_periods(shard)->all.at[index];

	return row_key_of(0, period->name, strlen(period->name));
}

static void add_period(struct shard *shard, struct thread *thread, const struct open *open,
		       const struct record *record, const uint64_t *words)
{
	const struct period *period = shard_periods(shard)->all.at[open->period];
	const char *text = open->text[0] ? open->text : text_at(period, words);
	uint64_t ns = record->ts > open->begin ? record->ts - open->begin : 0;
	uint64_t *totals = shard_trace_row(shard, TOTALS);
	char named[PERIOD_NAME_BYTES + TEXT_BYTES];
	const char *name = period->name;
	uint64_t *row;

	totals[ENDED]++;
	totals[UNTIMED] += open->is_tainted;
	if (open->is_tainted) {
		return;
	}
	if (text[0]) {
		(void)snprintf(named, sizeof(named), "%s %s", name, text);
		name = named;
		row = shard_keyed_again(shard, shard_keyed_named(shard, BY_NAME, 0, name));
	} else {
		row = shard_indexed_row(shard, BY_NAME, open->period, key_of_period);
	}
	column_add(row, TIME, ns);
	if (period->by_thread) {
		column_add(shard_thread_row(shard, thread, THREADS), TIME, ns);
	}
	if (shard_is_long(shard, LONGEST, ns)) {
		struct instance instance = { .ns = ns,
					     .end = record->ts,
					     .cpu = words[WORD_CPU],
					     .thread = period->by_thread ? thread : NULL,
					     .keyed = row_key_of(0, name, strlen(name)),
					     .has_begun_by = !period->by_thread && open->tid >= 0 };

		instance.begun_by = instance.has_begun_by ? open->tid : 0;
		values_text(instance.by, period, words);
		shard_longest(shard, LONGEST, &instance);
	}
}

static void end_period(struct shard *shard, struct thread *thread, struct opens *opens,
		       const struct record *record, const uint64_t *words)
{
	struct open *open = find_open(opens, record->arg16, words[WORD_KEY]), ended;

	if (!open) {
		shard_trace_row(shard, TOTALS)[UNMATCHED]++;
		return;
	}
	ended = *open;
	remove_open(opens, open);
	cut_within(shard, opens, record->arg16);
	add_period(shard, thread, &ended, record, words);
}

static bool accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;
	const struct period *period;
	const char *text;

	if ((record->kind != OWN_BEGIN && record->kind != OWN_END) || !untrusted->periods ||
	    record->arg16 >= untrusted->periods->all.count) {
		return false;
	}
	period = untrusted->periods->all.at[record->arg16];
	/* arg32 is a tid, if the period belongs to keys. */
	if ((untrusted->has_current && period->by_thread) ||
	    untrusted->count < word_text(period) + 1) {
		return false;
	}
	text = text_at(period, untrusted->numbers);
	return !text[0] ||
	       (untrusted->count >= word_text(period) + TEXT_WORDS && !text[TEXT_BYTES - 1]);
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct opens *opens = state;
	size_t count = codec_count(codec, opens->all.count, 23 + TEXT_BYTES);

	for (size_t i = 0; i < count && codec_check(codec, count <= PERIODS_OPEN_MAX); i++) {
		struct open *open = codec_at(codec, &opens->all, i);

		codec_u64(codec, &open->key);
		codec_u64(codec, &open->begin);
		codec_i32(codec, &open->tid);
		codec_u16(codec, &open->period);
		codec_bool(codec, &open->is_tainted);
		codec_bytes(codec, open->text, TEXT_BYTES);
		if (!codec_check(codec, checkpoint->periods &&
						open->period < checkpoint->periods->all.count &&
						open->text[TEXT_BYTES - 1] == 0)) {
			opens->all.count = 0;
		}
	}
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct opens *opens = opens_of(shard, thread);

	if (record->kind == OWN_BEGIN) {
		begin_period(shard, opens, record, numbers + record->arg64);
	} else {
		end_period(shard, thread, opens, record, numbers + record->arg64);
	}
}

/* In the gap, periods may have ended and begun again. */
static void on_gap(struct shard *shard, struct thread *thread)
{
	struct opens *opens = opens_of(shard, thread);

	for (size_t i = 0; i < opens->all.count; i++) {
		opens->all.at[i].is_tainted = true;
	}
}

static void on_no_open_calls(struct shard *shard, struct thread *thread)
{
	if (shard_tid(thread) < 0) { /* the unknown thread is another one from here on */
		opens_of(shard, thread)->all.count = 0;
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

	vec_fini(&opens->all);
}

#define TIMES                                                                                      \
	.columns = {                                                                               \
		[TIME] = { "time", "ENDED", UNIT_NS, COLUMN_HISTOGRAM },                           \
	}

const struct analysis analysis_periods = {
	.name = "periods",
	.summary = "what lies between events that --period names, and for how long",
	.needs_of = needs_of,
	.missing_of = missing_of,
	.thread_state_size = sizeof(struct opens),
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
	},
	.on_record = on_record,
	.accepts = accepts,
	.on_checkpoint = on_checkpoint,
	.on_gap = on_gap,
	.on_no_open_calls = on_no_open_calls,
	.on_window_end = on_window_end,
	.on_forget = on_forget,
};
