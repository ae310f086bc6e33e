/*
 * anonymous-parts: between the files of this room.
 */
#pragma once

#include "anonymous/anonymous.h"

/* SipHash-2-4 (Aumasson and Bernstein, 2012) of @len bytes. */
uint64_t anonymous_hash(const uint8_t key[ANONYMOUS_KEY_BYTES], const void *bytes, size_t len);
