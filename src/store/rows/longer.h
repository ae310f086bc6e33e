/*
 * longer: windows of a longer length, put together while the short ones are written (--store-also).
 *
 *     1 s  |||||||||||||||||||||||||||||||||||||
 *     1 m      |           |           |           each slot of which all is there, without a
 *                                                  hole, becomes one, exactly; it is as complete
 *                                                  as the windows in it are
 *
 * What is not whole has no long window: a reader takes the short ones there (reader.h).
 */
#pragma once

#include "store/rows/item.h"

struct account;
struct longer;

/* @top: of the longest instances in a window, so many rows.  @account: rows of long windows are of
 * it (ACCOUNT_ROWS), and where it has no room a slot is given up; it must outlive this; NULL:
 * nobody counts. */
struct longer *longer_new(uint64_t length_ns, uint64_t top, struct account *account);
void longer_free(struct longer *longer); /* NULL is fine */
/* Adds a window.  The long one that it completes, which the caller frees; NULL: none. */
struct store_item *longer_add(struct longer *longer, const struct store_item *item);
/* How many slots were given up for want of memory. */
uint64_t longer_given_up(const struct longer *longer);
