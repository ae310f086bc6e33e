/*
 * history-fleet: `history --per host`: the hosts of a store side by side, and triggers over them
 * (src/fleet).
 */
#ifndef SILLAGE_CMD_HISTORY_HISTORY_FLEET_H
#define SILLAGE_CMD_HISTORY_HISTORY_FLEET_H

#include "cmd/options/options.h"
#include "output/sink.h"

/* For cmd_output(). */
int history_fleet(const struct options *options, struct output *output);

#endif
