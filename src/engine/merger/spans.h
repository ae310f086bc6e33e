/*
 * spans: what threads did, handed over from time to time (shard_span(), engine_config.on_spans).
 *
 * That happens where a window could end: all up to there is known, also which CPUs have left.  So
 * each thread's time is told up to there, and none of it later.
 */
#pragma once

#include <stdint.h>

struct merger;

/* All records before @until were applied, and no task is running. */
void spans_hand_over(struct merger *merger, uint64_t until);
