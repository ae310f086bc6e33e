/*
 * account: see account.h.
 */
#include "base/account.h"

#include "base/limits.h"

void account_init(struct account *account, uint64_t bytes, uint64_t history, bool has_peers)
{
	uint64_t least = has_peers ? ACCOUNT_BYTES_MIN : 0, eighth;

	assert(history <= bytes);
	account->history = history;
	account->most = bytes > least ? bytes : least;
	eighth = account->most / 8;
	account->lists = account->lasts = account->passes = account->holds_up = account->most;
	account->rows = UINT64_MAX;
	if (has_peers) {
		account->passes = 3 * eighth < ACCOUNT_PASSES_MAX ? 3 * eighth : ACCOUNT_PASSES_MAX;
		account->holds_up = account->passes + 2 * eighth;
		account->lists = (account->most - account->holds_up) / 4;
		account->lasts = account->most - account->holds_up - account->lists;
		account->rows = account->lasts / 2;
		account->passes = bytes < account->passes ? bytes : account->passes;
	}
	for (int kind = 0; kind < ACCOUNT_KINDS; kind++) {
		atomic_init(&account->held[kind], 0);
	}
}

void account_take(struct account *account, enum account_kind kind, uint64_t bytes)
{
	if (account) {
		(void)atomic_fetch_add_explicit(&account->held[kind], bytes, memory_order_relaxed);
	}
}

void account_give(struct account *account, enum account_kind kind, uint64_t bytes)
{
	uint64_t before;

	if (account) {
		before = atomic_fetch_sub_explicit(&account->held[kind], bytes,
						   memory_order_relaxed);
		assert(before >= bytes);
		(void)before;
	}
}

uint64_t account_of(const struct account *account, enum account_kind kind)
{
	return atomic_load_explicit(&account->held[kind], memory_order_relaxed);
}

static uint64_t held_from(const struct account *account, int begin, int end)
{
	uint64_t held = 0;

	for (int kind = begin; kind < end; kind++) {
		held += account_of(account, (enum account_kind)kind);
	}
	return held;
}

uint64_t account_passing(const struct account *account)
{
	return held_from(account, 0, ACCOUNT_LISTS);
}

uint64_t account_lasting(const struct account *account)
{
	return held_from(account, ACCOUNT_WAITING, ACCOUNT_HISTORY);
}

static bool is_below(uint64_t held, uint64_t bytes, uint64_t bound)
{
	return held <= bound && bytes <= bound - held;
}

/* Of all kinds but the history. */
static uint64_t held_beside(const struct account *account)
{
	return held_from(account, 0, ACCOUNT_HISTORY) + account_of(account, ACCOUNT_CAPTURES);
}

bool account_has_room(const struct account *account, uint64_t bytes, bool holds_up)
{
	return !account || (is_below(account_passing(account), bytes,
				     holds_up ? account->holds_up : account->passes) &&
			    (account_of(account, ACCOUNT_CAPTURES) == 0 ||
			     is_below(held_beside(account), bytes, account->most)));
}

uint64_t account_history_room(const struct account *account)
{
	/* What was freed is not at once in the pieces that others need. */
	uint64_t held = held_beside(account) + account->most / 4;
	uint64_t left = held < account->most ? account->most - held : 0;

	return left < account->history ? left : account->history;
}

bool account_may_last(const struct account *account, uint64_t bytes)
{
	return !account || is_below(account_lasting(account), bytes, account->lasts);
}

bool account_may_list(const struct account *account, uint64_t bytes)
{
	return !account || is_below(account_of(account, ACCOUNT_LISTS), bytes, account->lists);
}

bool account_bounds_rows(const struct account *account)
{
	return account && account->rows != UINT64_MAX;
}

bool account_may_have_rows(const struct account *account)
{
	return !account_bounds_rows(account) ||
	       (account_of(account, ACCOUNT_ROWS) <= account->rows &&
		account_may_last(account, ACCOUNT_SESSION_BYTES + ACCOUNT_ADVANCE_BYTES));
}

bool account_may_last_part(const struct account *account, enum account_kind kind, uint64_t part,
			   uint64_t bytes)
{
	return !account || (is_below(account_of(account, kind), bytes, account->most / part) &&
			    account_may_last(account, bytes));
}
