/*
 * map-handlers: what handlers of events are given (map.h).
 */
#include <string.h>

#include "engine/contract/key.h"
#include "engine/worker/worker-state.h"

bool map_sees_switches(const struct map *map)
{
	return map->chunk->has_switches;
}

uint64_t map_numbers(struct map *map, const uint64_t *numbers, size_t count)
{
	uint64_t at = map->partial->numbers.count;

	vec_append(&map->partial->numbers, numbers, count);
	return at;
}

const struct period_set *map_periods(const struct map *map)
{
	return map->setup->periods;
}

void map_rest(struct map *map, bool rests)
{
	uint32_t bit = UINT32_C(1) << map->analysis;

	map->resting = rests ? map->resting | bit : map->resting & ~bit;
	map->passed.unwanted = map->setup->may_rest & ~map->resting ? SKIP_PASS : SKIP_REST;
}

uint64_t map_cpu(const struct map *map)
{
	return map->chunk->cpu_id;
}

bool map_has_event(const struct map *map, const char *name)
{
	return plan_has_event(map->plan, name);
}

uint64_t map_text(struct map *map, const void *text, size_t len)
{
	struct item_key key = item_key_of(0, text, len);
	uint64_t numbers[ITEM_NAME_BYTES / sizeof(uint64_t)];

	memcpy(numbers, key.name, sizeof(key.name));
	return map_numbers(map, numbers, sizeof(numbers) / sizeof(numbers[0]));
}

/* ---- items ---- */

static uint32_t add_item(struct map *map, unsigned int table, const struct item_key *key,
			 uint32_t *head)
{
	struct partial *partial = map->partial;
	struct slice_item *item = vec_push(&partial->items);

	*item = (struct slice_item){ .analysis = map->analysis,
				     .table = (uint8_t)table,
				     .next = *head,
				     .numbers = (uint32_t)partial->numbers.count,
				     .key = *key };
	for (unsigned int i = 0; i < COLUMNS_MAX; i++) {
		*vec_push(&partial->numbers) = 0;
	}
	*head = (uint32_t)partial->items.count - 1;
	return *head;
}

uint64_t *map_item(struct map *map, unsigned int table, uint64_t id, const void *name, size_t len)
{
	struct item_key key = item_key_of(id, name, len);
	uint32_t *head = &map->item_heads[item_hash(&key) % ITEM_HEADS];
	uint32_t at = *head;

	while (at != RECORD_NONE) {
		const struct slice_item *item = &map->partial->items.at[at];

		if (item->analysis == map->analysis && item->table == table &&
		    item_equal(&item->key, &key)) {
			break;
		}
		at = item->next;
	}
	if (at == RECORD_NONE) {
		at = add_item(map, table, &key, head);
	}
	return map->partial->numbers.at + map->partial->items.at[at].numbers;
}
