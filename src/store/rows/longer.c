/*
 * longer: see longer.h.
 */
#include "store/rows/longer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/units.h"
#include "output/rollup.h"

#define LONGER_SILENT_NS (3600 * NS_PER_S)

/* The slot of a trace that is being filled. */
struct slot {
	char trace[STORE_TRACE_TEXT];
	struct rollup *rollup;
	uint64_t filled; /* until then, from the slot's begin; 0: the slot cannot become whole */
};

KHASH_MAP_INIT_STR(slots, struct slot *)

struct longer {
	uint64_t length_ns, top;
	khash_t(slots) * slots;
};

struct longer *longer_new(uint64_t length_ns, uint64_t top)
{
	struct longer *longer = mem_alloc(sizeof(*longer));

	assert(length_ns > 0);
	longer->length_ns = length_ns;
	longer->top = top;
	longer->slots = kh_init(slots);
	return longer;
}

static void free_slot(struct slot *slot)
{
	rollup_free(slot->rollup);
	free(slot);
}

void longer_free(struct longer *longer)
{
	struct slot *slot;

	if (!longer) {
		return;
	}
	kh_foreach_value(longer->slots, slot, { free_slot(slot); });
	kh_destroy(slots, longer->slots);
	free(longer);
}

/* A run of weeks sees many traces, and who ends within a slot comes no more.  A trace that is only
 * so far behind is given a slot again, from its next one on. */
static void drop_old(struct longer *longer, uint64_t now)
{
	for (khint_t at = kh_begin(longer->slots); at != kh_end(longer->slots); at++) {
		struct slot *slot =
			kh_exist(longer->slots, at) ? kh_value(longer->slots, at) : NULL;

		if (slot && slot->filled + LONGER_SILENT_NS + longer->length_ns < now) {
			kh_del(slots, longer->slots, at);
			free_slot(slot);
		}
	}
}

static struct slot *slot_of(struct longer *longer, const struct store_item *item)
{
	khint_t at = kh_get(slots, longer->slots, item->trace);
	struct slot *slot;
	int is_new;

	if (at != kh_end(longer->slots)) {
		return kh_value(longer->slots, at);
	}
	drop_old(longer, item->report.begin);
	slot = mem_alloc(sizeof(*slot));
	memcpy(slot->trace, item->trace, sizeof(slot->trace));
	at = kh_put(slots, longer->slots, slot->trace, &is_new);
	kh_value(longer->slots, at) = slot;
	return slot;
}

struct store_item *longer_add(struct longer *longer, const struct store_item *item)
{
	const struct report *report = &item->report;
	const struct trace_identity identity = { .host = (char *)item->host,
						 .session = (char *)item->session,
						 .domain = (char *)item->domain,
						 .path = (char *)item->path };
	struct slot *slot = slot_of(longer, item);
	struct store_item *whole = NULL;

	if (report->begin % longer->length_ns == 0) {
		rollup_free(slot->rollup);
		slot->rollup = rollup_new(longer->length_ns, longer->top, NULL, false);
		slot->filled = report->begin;
	}
	if (slot->filled == 0 || slot->filled != report->begin || !report->complete) {
		slot->filled = 0;
		return NULL;
	}
	rollup_add(slot->rollup, report, 0);
	slot->filled = report->end;
	if (report->end % longer->length_ns == 0) {
		whole = store_item_merged(&identity, item->trace, item->uuid, longer->length_ns,
					  rollup_take(slot->rollup));
		whole->is_extra = true;
		slot->filled = 0;
	}
	return whole;
}
