/*
 * radix: see radix.h.
 */
#include "deep/executions/radix.h"

#include "base/mem.h"

#define DIGIT_BITS 11
#define DIGITS     ((64 + DIGIT_BITS - 1) / DIGIT_BITS)
#define VALUES     (1u << DIGIT_BITS) /* of a digit */

static size_t digit_of(const struct radix_item *item, unsigned int digit)
{
	return item->key >> (digit * DIGIT_BITS) & (VALUES - 1);
}

/* Where the items with each value of the digit begin in the sorted list, from how many they are. */
static void places_of(size_t counts[VALUES])
{
	size_t place = 0;

	for (size_t value = 0; value < VALUES; value++) {
		size_t count = counts[value];

		counts[value] = place;
		place += count;
	}
}

void radix_sort(struct radix_item *items, size_t count)
{
	size_t(*counts)[VALUES] = mem_alloc(DIGITS * sizeof(*counts));
	struct radix_item *room = mem_alloc((count + 1) * sizeof(*room)), *from = items, *to = room;

	for (size_t i = 0; i < count; i++) {
		for (unsigned int digit = 0; digit < DIGITS; digit++) {
			counts[digit][digit_of(&items[i], digit)]++;
		}
	}
	for (unsigned int digit = 0; digit < DIGITS && count > 0; digit++) {
		struct radix_item *sorted = to;

		if (counts[digit][digit_of(&items[0], digit)] == count) {
			continue; /* all have the same */
		}
		places_of(counts[digit]);
		for (size_t i = 0; i < count; i++) {
			to[counts[digit][digit_of(&from[i], digit)]++] = from[i];
		}
		to = from;
		from = sorted;
	}
	if (from == room) {
		memcpy(items, room, count * sizeof(*items));
	}
	free(room);
	free(counts);
}
