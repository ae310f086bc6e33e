/*
 * windows: the figures of windows as counters, triggers as instants; periods, jobs and calls as
 * slices.
 *
 *     engine ──► windows_sink ──► tracks "cpu.cpus[3].busy", "sched.wake.p99", "triggers"
 *
 * Each column of the tables of traces and CPUs is a counter, named as a trigger names it.  Its
 * value stands from the window's begin on; a distribution without values is 0.  A counter begins
 * with the first window where it is not 0; figures that are always 0, or not recorded, have none.
 *
 * Periods, executions of jobs and calls are the instances of their lists of the longest ones: a
 * slice each, by name, on as many tracks beside each other as overlap; "by" and "tid" are
 * arguments.  Of more than LONGEST_MAX in a window the longest are shown, and an instant says so.
 */
#pragma once

#include "output/sink.h"
#include "perfetto/writer.h"

/* A sink whose output.state is a struct windows. */
extern const struct sink windows_sink;

struct windows *windows_new(struct perfetto *writer);
void windows_free(struct windows *windows);
