/*
 * kin: what of a trace's metadata decides whether it is one with a kernel's, recorded and live.
 *
 *     kernel's   host a   clock of uuid c ─┐
 *     program's  host a   clock of uuid c ─┴─ one: times by the clock, and the kernel's offset
 *
 * Who has the traces knows that they are of one session; hosts are never joined.  Without uuids
 * their clocks may be the same: those of traces that overlap in time are taken for that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "ctf/metadata/type.h"

/* A clock's rate and offset. */
struct kin_clock {
	bool is_set; /* it has a uuid; of a path: it is another trace's */
	uint8_t uuid[16];
	uint64_t freq;
	int64_t offset_s, offset; /* as in struct clock_class */
};

struct kin {
	bool is_kernel, is_user;
	char *host; /* owned; NULL: the metadata names none */
	VEC(struct kin_clock) clocks;
};

/* All zero is of a trace that cannot be read. */
void kin_take(struct kin *kin, const struct metadata *types);
void kin_fini(struct kin *kin);

/* Whether a trace may be one with the kernel's; false: it is of another kind, or *ret_why says why
 * it is not, NULL if there is nothing to say.  *ret_clock, *ret_own: what both count by, the
 * kernel's and its own; NULL: no uuid says so. */
bool kin_may_join(const struct kin *kernel, const struct kin *user,
		  const struct kin_clock **ret_clock, const struct kin_clock **ret_own,
		  const char **ret_why);
