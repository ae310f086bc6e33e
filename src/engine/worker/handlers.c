/*
 * handlers: what handlers of analyses may call (handler.h).
 */
#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "engine/contract/row-key.h"
#include "engine/worker/worker-state.h"

bool worker_sees_switches(const struct worker *worker)
{
	return worker->chunk->has_switches;
}

bool worker_preempts_softirqs(const struct worker *worker)
{
	return worker->is_rt;
}

uint64_t worker_numbers(struct worker *worker, const uint64_t *numbers, size_t count)
{
	uint64_t at = worker->partial->numbers.count;

	assert_hot(worker->has_slice);
	vec_append(&worker->partial->numbers, numbers, count);
	return at;
}

const struct period_set *worker_periods(const struct worker *worker)
{
	return worker->setup->periods;
}

void worker_rest(struct worker *worker, bool rests)
{
	uint32_t bit = UINT32_C(1) << worker->analysis;

	assert_hot(worker->setup->may_rest & bit);
	worker->resting = rests ? worker->resting | bit : worker->resting & ~bit;
	worker->passed.unwanted =
		worker->setup->may_rest & ~worker->resting ? SKIP_PASS : SKIP_REST;
}

uint64_t worker_gap_end(const struct worker *worker)
{
	return worker->gap_end;
}

bool worker_has_cpu_alone(const struct worker *worker)
{
	return worker->plan->stream_count == 1 && !worker->plan->whole &&
	       worker->chunk->cpu_id != UINT64_MAX;
}

bool worker_is_joined(const struct worker *worker)
{
	return worker->plan->whole;
}

bool worker_is_beside(const struct worker *worker)
{
	return worker->plan->whole && worker->plan != worker->plan->whole->parts;
}

uint64_t worker_cpu(const struct worker *worker)
{
	return worker->chunk->cpu_id;
}

bool worker_has_event(const struct worker *worker, const char *name)
{
	return plan_has_event(worker->plan, name);
}

const struct wake_source *worker_wakes(struct worker *worker)
{
	if (!wake_source_is_known(&worker->wakes)) {
		worker->wakes = wake_source_of(worker->plan);
	}
	return &worker->wakes;
}

const void *worker_of_plan(struct worker *worker)
{
	void **of_plan = &worker->of_plan[worker->analysis];

	if (!*of_plan) {
		*of_plan = worker->setup->analyses[worker->analysis]->rare->of_plan(
			worker->plan, worker->setup->periods);
	}
	return *of_plan;
}

uint64_t worker_text(struct worker *worker, const void *text, size_t len)
{
	struct row_key key = row_key_of(0, text, len);
	uint64_t numbers[ROW_KEY_NAME_BYTES / sizeof(uint64_t)];

	memcpy(numbers, key.name, sizeof(key.name));
	return worker_numbers(worker, numbers, ARRAY_COUNT(numbers));
}

/* ---- keyed rows ---- */

/* Puts a name that is longer than a key beside the rows; returns its index. */
static uint32_t put_name(struct partial *partial, const void *name, size_t len)
{
	uint64_t words[LABEL_TEXT_BYTES_MAX / sizeof(uint64_t)];
	uint32_t at = (uint32_t)partial->numbers.count;

	hash_brief((char *)words, sizeof(words), name, len);
	for (size_t i = 0; i <= strlen((char *)words) / sizeof(*words); i++) {
		*vec_push(&partial->numbers) = words[i];
	}
	return at;
}

/* Adds a row of zeroes at the start of the chain @first; returns its index. */
static uint32_t add_keyed(struct worker *worker, unsigned int table, const struct row_key *key,
			  uint32_t *first)
{
	struct partial *partial = worker->partial;
	const struct analysis *analysis = worker->setup->analyses[worker->analysis];
	struct slice_row *keyed = vec_push(&partial->keyed_rows);

	assert(worker->has_slice);
	assert(table < TABLES_MAX);
	assert(analysis->tables[table].scope == SCOPE_KEYED);
	*keyed = (struct slice_row){ .analysis = worker->analysis,
				     .table = (uint8_t)table,
				     .next = *first,
				     .numbers = (uint32_t)partial->numbers.count,
				     .key = *key };
	for (unsigned int i = 0; i < COLUMNS_MAX; i++) {
		*vec_push(&partial->numbers) = 0;
	}
	*first = (uint32_t)partial->keyed_rows.count - 1;
	return *first;
}

uint64_t *worker_keyed_row(struct worker *worker, unsigned int table, uint64_t id, const void *name,
			   size_t len)
{
	struct row_key key = row_key_of(id, name, len);
	uint32_t *first = &worker->keyed_chains[row_key_hash(&key) % KEYED_CHAINS];
	uint32_t at = *first;

	while (at != RECORD_NONE) {
		const struct slice_row *keyed = &worker->partial->keyed_rows.at[at];

		if (keyed->analysis == worker->analysis && keyed->table == table &&
		    row_key_equal(&keyed->key, &key)) {
			break;
		}
		at = keyed->next;
	}
	if (at == RECORD_NONE) {
		at = add_keyed(worker, table, &key, first);
		if (name && strnlen(name, len) >= ROW_KEY_NAME_BYTES) {
			uint32_t whole = put_name(worker->partial, name, len);

			worker->partial->keyed_rows.at[at].name = whole;
		}
	}
	return worker->partial->numbers.at + worker->partial->keyed_rows.at[at].numbers;
}
