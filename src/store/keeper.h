/*
 * keeper: the thread that makes a store keep what it should (keep.h), from time to time.
 *
 * It has connections of its own, so that nobody waits for it but other writers of a file, shortly.
 */
#pragma once

#include <stdbool.h>

#include "store/keep.h"

struct keeper;

/* @keep is copied.  @stop: becomes true if what is due may wait for the next run; NULL: only
 * keeper_free() ends a pass.  NULL: no thread can be started. */
struct keeper *keeper_new(const char *url, const struct store_keep *keep, uint64_t top,
			  const atomic_bool *stop,
			  void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));
/* 1: all stays, because the store has windows that the usual would have removed long ago; looks
 * once, and waits for the store.  Negative: that is not known yet. */
int keeper_keeps_all(struct keeper *keeper, struct err *err);
/* @has_time: does all that is due first, until @stop.  NULL is fine. */
void keeper_free(struct keeper *keeper, bool has_time);
