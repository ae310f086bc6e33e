/*
 * account: see account.h.
 */
#include "base/account.h"

#include "base/limits.h"

void account_init(struct account *account, uint64_t bytes, uint64_t history, bool has_peers)
{
	uint64_t least = has_peers ? ACCOUNT_BYTES_MIN : 0;

	assert(history <= bytes);
	bytes -= history;
	account->history = history;
	account->most = bytes > least ? bytes : least;
	account->soft = has_peers ? account->most - account->most / 4 : account->most;
	account->soft = bytes < account->soft ? bytes : account->soft;
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

uint64_t account_held(const struct account *account)
{
	uint64_t held = 0;

	for (int kind = 0; kind < ACCOUNT_HISTORY; kind++) {
		held += account_of(account, (enum account_kind)kind);
	}
	return held;
}

static bool is_below(uint64_t held, uint64_t bytes, uint64_t bound)
{
	return held <= bound && bytes <= bound - held;
}

bool account_has_room(const struct account *account, uint64_t bytes)
{
	return !account || is_below(account_held(account), bytes, account->soft);
}

bool account_fits(const struct account *account, uint64_t bytes)
{
	return !account || is_below(account_held(account), bytes, account->most);
}

bool account_fits_part(const struct account *account, enum account_kind kind, uint64_t part,
		       uint64_t bytes)
{
	return !account || (is_below(account_of(account, kind), bytes, account->most / part) &&
			    account_fits(account, bytes));
}
