/*
 * replay-clocks: metadata whose clocks are moved, so that a trace begins at another time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A copy of metadata text, in TSDL as LTTng writes it or in JSON, with the offset of each clock
 * moved by @shift_ns.  From malloc(). */
char *replay_clocks_shift(const char *text, size_t len, int64_t shift_ns, size_t *ret_len);
