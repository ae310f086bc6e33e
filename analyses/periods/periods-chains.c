/*
 * periods-chains: see periods.h; periods of more than two events, and those where each counts.
 *
 *     publish(5) ──by message──► take(5) on thread 7 ──by thread──► callback ends on thread 7
 *        opens (0, 5)               closes (0, 5)                       closes (1, 7): it ends
 *                                   opens (1, 7)
 *
 * What waits for its next event is found by period, step and keys.  A chain that goes on takes
 * along when it began.
 */
#include "analyses/periods/periods.h"
#include "engine/contract/untrusted.h"

struct chain {
	struct list_node node; /* first: the list is of these */
	uint64_t key;          /* of the table */
	uint64_t begin;
	int32_t tid; /* that began it; -1: unknown */
	struct visits visits;
	uint16_t period;
	bool has_gone_on; /* with "each": it waits for more of the same */
	struct items items;
	struct diff_begin *counters; /* NULL: of no interest */
};

_Static_assert(PERIOD_STEPS_MAX <= VISITS_MAX, "all events of a chain are visits");

/* ---- chains ---- */

/* What waits behind @step for an event with these keys. */
static uint64_t key_of(const struct period *period, uint16_t number, size_t step, uint64_t keys,
		       int32_t tid)
{
	uint64_t words[] = { number | step << STEP_SHIFT, keys,
			     period->links[step].by_thread ? (uint32_t)tid : UINT64_MAX };

	return hash_bytes(0, words, sizeof(words));
}

static struct chain *find_chain(const struct periods_trace *trace, uint64_t key)
{
	struct chain **chain = chains_get(&trace->chains, key);

	return chain ? *chain : NULL;
}

/* It waits no longer; the caller owns it. */
static void unlink_chain(struct periods_trace *trace, struct chain *chain)
{
	(void)chains_drop(&trace->chains, chain->key);
	list_remove(&trace->chain_list, &chain->node);
}

static void free_chain(struct chain *chain)
{
	labels_items_fini(&chain->items);
	free(chain->counters);
	free(chain);
}

static void remove_chain(struct periods_trace *trace, struct chain *chain)
{
	unlink_chain(trace, chain);
	free_chain(chain);
}

/* Takes the chain, which is from malloc(). */
static void add_chain(struct periods_trace *trace, struct chain *chain)
{
	bool is_new;

	*chains_put(&trace->chains, chain->key, &is_new) = chain;
	assert(is_new);
	list_add(&trace->chain_list, &chain->node);
}

/* It waits; what waited for the same is dropped, and beyond the bound what moved longest ago. */
static void open_chain(struct shard *shard, struct periods_trace *trace, struct chain *chain)
{
	struct chain *was = find_chain(trace, chain->key);

	if (was) {
		shard_trace_row(shard, TOTALS)[RESTARTED] += !was->has_gone_on;
		remove_chain(trace, was);
	} else if (trace->chain_list.count >= PERIODS_CHAINS_MAX) {
		was = (struct chain *)trace->chain_list.first;
		shard_trace_row(shard, TOTALS)[DROPPED] += !was->has_gone_on;
		remove_chain(trace, was);
	}
	add_chain(trace, chain);
}

static struct chain *copy_of(const struct chain *chain)
{
	struct chain *copy = mem_alloc(sizeof(*copy));

	*copy = *chain;
	for (size_t i = 0; i < LABEL_GROUP_MAX; i++) {
		copy->items.at[i] = mem_strdup_if(chain->items.at[i]);
	}
	copy->counters = diff_copy(chain->counters);
	copy->has_gone_on = false;
	return copy;
}

/* The chain that goes on with this event, which the caller owns; NULL: none does. */
static struct chain *take_chain(struct shard *shard, struct periods_trace *trace,
				const struct period *period, uint16_t number, size_t step,
				uint64_t key)
{
	struct chain *chain;

	if (step == 0) {
		chain = mem_alloc(sizeof(*chain));
		chain->period = number;
		return chain;
	}
	chain = find_chain(trace, key);
	if (!chain) {
		/* Events behind END also happen without: an end of work that had no cause here. */
		shard_trace_row(shard, TOTALS)[UNMATCHED] += step == 1;
		return NULL;
	}
	if (period->links[step - 1].met) {
		keys_met_agree(period->links[step - 1].met);
	}
	if (!period->has_each || period->links[step - 1].by_thread) {
		unlink_chain(trace, chain);
		return chain;
	}
	chain->has_gone_on = true;
	return copy_of(chain);
}

/* Whether a thread joins the step to the one before, or after, it. */
static bool needs_thread(const struct period *period, size_t step)
{
	return (step > 0 && period->links[step - 1].by_thread) ||
	       (step + 1 < period->step_count && period->links[step].by_thread);
}

static void end_chain(struct shard *shard, const struct chain *chain, uint64_t end,
		      const uint64_t *words, const struct counters_event *counters)
{
	const struct period *period = shard_periods(shard)->all.at[chain->period];
	const struct diff_values differences =
		counters_between(period->is, chain->counters, counters, NULL, false);
	const struct ended ended = { .period = chain->period,
				     .begin = chain->begin,
				     .end = end,
				     .cpu = words[WORD_CPU],
				     .begun_by = chain->tid,
				     .visits = &chain->visits,
				     .items = &chain->items,
				     .words = words,
				     .differences = &differences };

	periods_add(shard, &ended);
}

void periods_chains_step(struct shard *shard, struct periods_trace *trace,
			 const struct ordered *ordered)
{
	const uint64_t *words = (const uint64_t *)(uintptr_t)ordered->words[NOTE_WORDS];
	uint16_t number = ordered->words[NOTE_WHICH] & ((1u << STEP_SHIFT) - 1);
	size_t step = ordered->words[NOTE_WHICH] >> STEP_SHIFT;
	const struct period *period = shard_periods(shard)->all.at[number];
	int32_t tid = (int32_t)ordered->words[NOTE_TID];
	const struct counters_event counters =
		periods_counters_of(period, words, period->steps[step].what->has_tid ? 0 : tid);
	struct chain *chain;

	/* Unknown threads are many, and so are idle ones: nothing is known to be on the same. */
	if (tid <= 0 && needs_thread(period, step)) {
		shard_trace_row(shard, TOTALS)[UNMATCHED] += step == 1;
		return;
	}
	chain = take_chain(shard, trace, period, number, step,
			   step > 0 ? key_of(period, number, step - 1, words[WORD_KEY], tid) : 0);
	if (!chain) {
		return;
	}
	if (step == 0) {
		chain->begin = ordered->ts;
		chain->tid = tid;
		chain->counters = counters_begin(period->is, &counters);
	}
	visits_add(&chain->visits, ordered->ts, tid);
	periods_add_items(&chain->items, period, words);
	if (step + 1 < period->step_count) {
		chain->key = key_of(period, number, step, words[WORD_AFTER], tid);
		open_chain(shard, trace, chain);
	} else {
		end_chain(shard, chain, ordered->ts, words, &counters);
		free_chain(chain);
	}
}

void periods_chains_window_end(struct shard *shard, void *state, uint64_t end)
{
	struct periods_trace *trace = state;
	uint64_t *totals = shard_trace_row(shard, TOTALS);

	for (const struct list_node *at = trace->chain_list.first; at; at = at->after) {
		const struct chain *chain = (const struct chain *)at;

		if (!chain->has_gone_on) {
			totals[OPEN]++;
			column_raise(totals, OLDEST_NS,
				     end > chain->begin ? end - chain->begin : 0);
		}
	}
}

void periods_chains_forget(struct periods_trace *trace)
{
	while (trace->chain_list.first) {
		remove_chain(trace, (struct chain *)trace->chain_list.first);
	}
	chains_fini(&trace->chains);
}

/* ---- checkpoints ---- */

static bool is_sound(const struct checkpoint *checkpoint, const struct periods_trace *trace,
		     const struct chain *chain)
{
	const struct period_set *set = checkpoint->periods;

	return set && chain->period < set->all.count && set->all.at[chain->period]->is_chain &&
	       !find_chain(trace, chain->key);
}

static void codec_chain(struct codec *codec, struct chain *chain)
{
	codec_each(codec, &chain->key, &chain->begin, &chain->tid, &chain->period,
		   &chain->has_gone_on);
	visits_codec(codec, &chain->visits);
	labels_items_codec(codec, &chain->items);
	diff_codec(codec, &chain->counters);
}

void periods_chains_checkpoint(const struct checkpoint *checkpoint, struct periods_trace *trace)
{
	struct codec *codec = checkpoint->codec;
	struct list_node *at = trace->chain_list.first;
	size_t count = codec_count(codec, trace->chain_list.count, 32);

	for (size_t i = 0; i < count && codec_check(codec, count <= PERIODS_CHAINS_MAX); i++) {
		struct chain *chain = (struct chain *)at;

		if (!codec_reads(codec)) {
			codec_chain(codec, chain);
			at = at->after;
			continue;
		}
		chain = mem_alloc(sizeof(*chain));
		codec_chain(codec, chain);
		if (!codec_check(codec, is_sound(checkpoint, trace, chain))) {
			free_chain(chain);
			return;
		}
		add_chain(trace, chain);
	}
}
