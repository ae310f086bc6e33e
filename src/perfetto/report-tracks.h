/*
 * report-tracks: what a report found, as tracks.
 *
 *     critical path of W (3)   | W (3)     | K (7)       | W (3)  |   who it is about
 *       W (3)                  | running   |             | waits  |   ┐ a track for each thread,
 *       K (7)                  |           | running     |        |   ┘ with flows between them
 *     states                   what threads on the path, and those that execute jobs, did
 *     executions, inversions   of each thread
 *     about this report        why its range was chosen, and the triggers of a capture
 */
#pragma once

#include "perfetto/writer.h"

struct deep_report;

void report_tracks_add(struct perfetto *writer, const struct deep_report *report);
