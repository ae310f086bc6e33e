/*
 * fleet-trigger: triggers over several hosts (trigger/trigger.h).
 *
 * Each host has a state of its own in each trigger.  Without `on N hosts` it fires there by itself.
 * With it a host holds the trigger from where it would have fired there until it would be armed
 * there again, and the trigger fires:
 *
 *                N hosts or more hold it, and `every` has passed
 *     ARMED ────────────────────────────────────────────────────────► FIRED
 *       ▲                                                               │
 *       └───────────────────────────────────────────────────────────────┘
 *                            fewer than N hosts hold it
 *
 * Windows come slot by slot: all hosts of a slot, then its end.  On a host that has no window in a
 * slot nothing holds.
 */
#pragma once

#include "engine/tables/report.h"
#include "output/sink.h"
#include "trigger/actions.h"

struct fleet_triggers;

/* @all: what all hosts together are called in the output.  All must outlive the result. */
struct fleet_triggers *fleet_triggers_new(struct actions *actions, struct output *output,
					  const struct trace_identity *all);
void fleet_triggers_free(struct fleet_triggers *triggers); /* NULL is fine */

/* A window of a host, in the order of slots.  @host: a number from 0, and its name, which must
 * outlive @triggers. */
void fleet_triggers_window(struct fleet_triggers *triggers, size_t host, const char *name,
			   const struct report *window);
/* The host has no window in this slot. */
void fleet_triggers_absent(struct fleet_triggers *triggers, size_t host, const char *name);
/* All hosts of the slot were there. */
void fleet_triggers_end_slot(struct fleet_triggers *triggers);
/* The total of a host, for --strict. */
void fleet_triggers_total(struct fleet_triggers *triggers, const char *name,
			  const struct report *total);
/* After the last slot: tells the gate which triggers too few hosts have the figures of. */
void fleet_triggers_end(struct fleet_triggers *triggers);
