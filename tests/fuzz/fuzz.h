/*
 * fuzz: targets for hostile bytes, one program each.
 *
 * Built with -Dfuzz=true and clang they are libFuzzer programs; otherwise replay.c runs
 * each over its corpus, as a test.  All check only that nothing is done that must not be:
 * the sanitizers, assertions and limits are the oracle.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
