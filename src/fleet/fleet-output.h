/*
 * fleet-output: a table of hosts as text, and as a JSON line (doc/json.md).
 */
#pragma once

#include "fleet/fleet.h"
#include "output/sink.h"

/* output->top rows, 0: all; output->columns: the width. */
void fleet_text(struct output *output, const struct fleet_table *table);
void fleet_json(struct output *output, const struct fleet_table *table);
