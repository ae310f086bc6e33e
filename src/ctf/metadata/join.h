/*
 * join: the metadata of traces that are one, as one tree, for a plan of all of them (plan.h).
 *
 *     kernel's   stream 0: sched_switch, ...   ─┐   stream 0     sched_switch ...   (part 0)
 *     program's  stream 0: service:begin, ...  ─┴►  stream 2^32  service:begin ...  (part 1)
 *
 * Each stream class knows the part that it is of, and by which id that one's packets call it.  What
 * is of a whole trace (packet header, UUID, byte order, clocks, environment) stays with the parts;
 * those of the tree are the first one's.  Classes are copied in the order in which they come, so
 * that indexes stay while the parts grow.  Types are shared with the parts, which outlive it.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "ctf/metadata/type.h"

struct metadata_join;

struct metadata_join *metadata_join_new(void);
void metadata_join_free(struct metadata_join *join); /* NULL is fine */

/* The next part, all of whose types that come are in the tree from the next update on.  The first
 * one is that whose environment and clock count. */
void metadata_join_add(struct metadata_join *join, const struct metadata *part);
/* The tree of all that the parts have now.  -EINVAL, -E2BIG (too many classes in all): what is new
 * of a part cannot be taken; further updates leave that part as it is. */
int metadata_join_update(struct metadata_join *join, const struct metadata **ret, struct err *err);
