/*
 * longer: see longer.h.
 */
#include "store/rows/longer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/units.h"
#include "rollup/rollup.h"

#define LONGER_SILENT_NS (3600 * NS_PER_S)

/* The slot of a trace that is being filled. */
struct longer_slot {
	char trace[STORE_TRACE_TEXT];
	struct rollup *rollup; /* NULL: nothing is filled */
	uint64_t ends;         /* of the slot */
	uint64_t filled; /* until then, from the slot's begin; 0: the slot cannot become whole */
};

HASH_MAP_TEXT(slots, struct longer_slot *)

struct longer {
	uint64_t length_ns, top;
	struct account *account;
	uint64_t given_up;
	struct slots slots;
};

struct longer *longer_new(uint64_t length_ns, uint64_t top, struct account *account)
{
	struct longer *longer = mem_alloc(sizeof(*longer));

	assert(length_ns > 0);
	longer->length_ns = length_ns;
	longer->top = top;
	longer->account = account;
	return longer;
}

static void free_slot(struct longer_slot *slot)
{
	rollup_free(slot->rollup);
	free(slot);
}

void longer_free(struct longer *longer)
{
	if (!longer) {
		return;
	}
	HASH_EACH(slots, &longer->slots, one) {
		free_slot(one->value);
	}
	slots_fini(&longer->slots);
	free(longer);
}

/* A run of weeks sees many traces, and who ends within a slot comes no more.  A trace that is only
 * so far behind is given a slot again, from its next one on. */
static void drop_old(struct longer *longer, uint64_t now)
{
	struct slots_entry *one = slots_next(&longer->slots, NULL, NULL);

	while (one) {
		struct longer_slot *slot = one->value;

		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has left the table */
		if (slot->filled + LONGER_SILENT_NS + longer->length_ns < now) {
			one = slots_remove(&longer->slots, NULL, one);
			free_slot(slot);
		} else {
			one = slots_next(&longer->slots, NULL, one);
		}
	}
}

static struct longer_slot *slot_of(struct longer *longer, const struct store_item *item)
{
	struct longer_slot **at = slots_get(&longer->slots, item->trace);
	struct longer_slot *slot;

	if (at) {
		return *at;
	}
	drop_old(longer, item->report.begin);
	slot = mem_alloc(sizeof(*slot));
	memcpy(slot->trace, item->trace, sizeof(slot->trace));
	*slots_put(&longer->slots, slot->trace, NULL) = slot;
	return slot;
}

/* The slot cannot become whole any more, or is. */
static void leave(struct longer_slot *slot)
{
	rollup_free(slot->rollup);
	slot->rollup = NULL;
	slot->filled = 0;
}

static void begin(struct longer *longer, struct longer_slot *slot, uint64_t at)
{
	leave(slot);
	slot->rollup = rollup_new(longer->length_ns, longer->top, NULL, false);
	if (account_bounds_rows(longer->account)) {
		rollup_bound(slot->rollup, longer->account);
	}
	slot->filled = at;
	slot->ends = at + longer->length_ns;
}

/* Slots whose time has passed for others give way first. */
static bool has_room(const struct longer *longer, uint64_t now)
{
	if (account_may_have_rows(longer->account)) {
		return true;
	}
	HASH_EACH(slots, &longer->slots, one) {
		if (one->value->ends <= now) {
			leave(one->value);
		}
	}
	return account_may_have_rows(longer->account);
}

/* False: there is no memory for all rows. */
static bool add_rows(const struct longer *longer, struct longer_slot *slot,
		     const struct report *report)
{
	if (!has_room(longer, report->begin)) {
		return false;
	}
	assert(slot->rollup && slot->filled < slot->ends);
	rollup_add(slot->rollup, report, 0);
	slot->filled = report->end;
	return rollup_ended(slot->rollup) == 0; /* else others took the memory meanwhile */
}

struct store_item *longer_add(struct longer *longer, const struct store_item *item)
{
	const struct report *report = &item->report;
	const struct trace_identity identity = { .host = (char *)item->host,
						 .session = (char *)item->session,
						 .domain = (char *)item->domain,
						 .path = (char *)item->path,
						 .tracer = (char *)item->tracer };
	struct longer_slot *slot = slot_of(longer, item);
	struct store_item *whole = NULL;

	assert(item->kind == STORE_WINDOW && !item->is_extra);
	if (report->begin % longer->length_ns == 0) {
		begin(longer, slot, report->begin);
	}
	if (slot->filled == 0 || slot->filled != report->begin || report->end > slot->ends) {
		leave(slot);
		return NULL;
	}
	if (!add_rows(longer, slot, report)) {
		leave(slot);
		longer->given_up++;
		return NULL;
	}
	if (report->end == slot->ends) {
		whole = store_item_merged(&identity, item->trace, item->uuid, longer->length_ns,
					  rollup_take(slot->rollup));
		whole->is_extra = true;
		leave(slot);
	}
	return whole;
}

uint64_t longer_given_up(const struct longer *longer)
{
	return longer->given_up;
}
