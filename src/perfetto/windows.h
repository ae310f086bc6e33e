/*
 * windows: the figures of windows as counters, and triggers as instants.
 *
 *     engine ──► windows_sink ──► tracks "cpu.cpus[3].busy", "sched.wake.p99", "triggers"
 *
 * Each column of the tables of traces and CPUs is a counter, named as a trigger names it.  Its
 * value stands from the window's begin on; a distribution without values is 0.  A counter begins
 * with the first window where it is not 0; figures that are always 0, or not recorded, have none.
 */
#pragma once

#include "output/sink.h"
#include "perfetto/writer.h"

/* A sink whose output.state is a struct windows. */
extern const struct sink windows_sink;

struct windows *windows_new(struct perfetto *writer);
void windows_free(struct windows *windows);
