/*
 * limit: a condition of --fail on the changes of a comparison.
 *
 *     sched.wake.p99 > +20%        B is more than a fifth above A
 *     io.read_bytes < -10%         B reads less than nine tenths of A, per second
 *     cpu.busy.rate > +50ms        50 ms a second more
 *     sched.wake.max > 10ms        B alone
 *
 *     FIGURE OP [+|-]VALUE[/s]     figures and values as in triggers (trigger/trigger.h)
 *
 * Objectives over windows are none of them: cmd/compare/objectives.h.
 *
 * +X% and -X% are relative to A, and of sums to what they are per second.  A value with a sign is
 * the difference of B and A; without a sign it is that of B.  Such a value of a sum has to be per
 * second (/s, .rate) or a share (90%), since two runs have two lengths.  Rows are selected by their
 * names; the condition holds for each row by itself.
 */
#pragma once

#include "compare/compare.h"

struct limit;

/* NULL: it is none, and @err says why. */
struct limit *limit_new(const char *text, struct err *err);
void limit_free(struct limit *limit); /* NULL is fine */

/* -EINVAL: the list that the figure is of is not compared. */
int limit_check_per(const struct limit *limit, enum per per, struct err *err);

/* What is called for each row for which it holds; @says: "sched.wake.p99: 2.4 ms, ...". */
typedef void limit_held_fn(void *user, const char *says);
/*
 * Looks at all rows.  -ENOENT: @why says what is not recorded in A or B.  -ENODATA: @why says why
 * no row could be compared.
 */
int limit_check(const struct limit *limit, const struct comparison *comparison, limit_held_fn *held,
		void *user, struct err *why);
