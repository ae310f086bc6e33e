/*
 * fleet-trigger: see fleet-trigger.h.
 */
#include "fleet/fleet-trigger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a host is with a trigger `on N hosts`. */
struct on_host {
	const char *name; /* NULL: it was not seen yet */
	bool holds;
	struct trigger_event event; /* while it holds: what the last window of it says */
};

struct on_hosts {
	size_t number; /* of the trigger, in the actions */
	struct trigger *trigger;
	VEC(struct on_host) hosts; /* by number */
	bool has_fired;
	uint64_t fired; /* ns: end of the slot in which it last fired; 0: never */
};

struct fleet_triggers {
	struct actions *actions;
	struct output *output;
	const struct trace_identity *all;
	VEC(struct on_hosts) joint; /* triggers `on N hosts` */
	uint64_t end;               /* of the slot, ns */
	bool has_slot;              /* a window of it was there */
};

struct fleet_triggers *fleet_triggers_new(struct actions *actions, struct output *output,
					  const struct trace_identity *all)
{
	struct fleet_triggers *triggers = mem_alloc(sizeof(*triggers));

	triggers->actions = actions;
	triggers->output = output;
	triggers->all = all;
	for (size_t i = 0; i < actions_count(actions); i++) {
		struct trigger *trigger = actions_trigger(actions, i);

		if (trigger_hosts(trigger) > 0) {
			*vec_push(&triggers->joint) =
				(struct on_hosts){ .number = i, .trigger = trigger };
		}
	}
	return triggers;
}

void fleet_triggers_free(struct fleet_triggers *triggers)
{
	if (!triggers) {
		return;
	}
	for (size_t i = 0; i < triggers->joint.count; i++) {
		vec_fini(&triggers->joint.at[i].hosts);
	}
	vec_fini(&triggers->joint);
	free(triggers);
}

/* ---- one host ---- */

static struct trace_identity identity_of(const char *name)
{
	return (struct trace_identity){ .host = (char *)name };
}

static struct on_host *host_of(struct on_hosts *joint, size_t host, const char *name)
{
	while (joint->hosts.count <= host) {
		memset(vec_push(&joint->hosts), 0, sizeof(joint->hosts.at[0]));
	}
	joint->hosts.at[host].name = name;
	return &joint->hosts.at[host];
}

void fleet_triggers_window(struct fleet_triggers *triggers, size_t host, const char *name,
			   const struct report *window)
{
	const struct trace_identity identity = identity_of(name);

	assert(window->kind == REPORT_WINDOW);
	actions_poll(triggers->actions);
	for (size_t i = 0; i < actions_count(triggers->actions); i++) {
		if (trigger_hosts(actions_trigger(triggers->actions, i)) == 0) {
			actions_take(triggers->actions, i, triggers->output, &identity, window,
				     NULL);
		}
	}
	VEC_EACH(&triggers->joint, joint) {
		struct on_host *on = host_of(joint, host, name);

		if (!trigger_skips(joint->trigger, window)) {
			on->holds = trigger_evaluate(joint->trigger, &identity, window, &on->event);
		}
	}
	triggers->end =
		triggers->has_slot && triggers->end > window->end ? triggers->end : window->end;
	triggers->has_slot = true;
}

void fleet_triggers_absent(struct fleet_triggers *triggers, size_t host, const char *name)
{
	const struct trace_identity identity = identity_of(name);

	for (size_t i = 0; i < actions_count(triggers->actions); i++) {
		trigger_absent(actions_trigger(triggers->actions, i), &identity);
	}
	for (size_t i = 0; i < triggers->joint.count; i++) {
		host_of(&triggers->joint.at[i], host, name)->holds = false;
	}
}

/* ---- all hosts ---- */

ORDER(by_host, struct trigger_host, UP_TEXT(host))

ORDER_VALUES(by_time, uint64_t)

/* Since when it holds on so many of them. */
static uint64_t since(const struct trigger_host *hosts, size_t count, size_t wanted)
{
	uint64_t *begins = mem_alloc(count * sizeof(*begins)), found;

	assert(wanted > 0 && wanted <= count);
	for (size_t i = 0; i < count; i++) {
		begins[i] = hosts[i].event->begin;
	}
	qsort(begins, count, sizeof(*begins), by_time);
	found = begins[wanted - 1];
	free(begins);
	return found;
}

static void fire(struct fleet_triggers *triggers, struct on_hosts *joint,
		 struct trigger_host *hosts, size_t count)
{
	const struct trigger_event *most = hosts[0].event;
	struct trigger_event event;

	qsort(hosts, count, sizeof(*hosts), by_host);
	for (size_t i = 0; i < count; i++) {
		most = trigger_event_is_further(hosts[i].event, most) ? hosts[i].event : most;
	}
	event = *most;
	event.begin = since(hosts, count, trigger_hosts(joint->trigger));
	event.end = triggers->end;
	event.hosts = hosts;
	event.host_count = count;
	actions_fire(triggers->actions, joint->number, triggers->output, triggers->all, &event,
		     NULL);
}

static void end_joint(struct fleet_triggers *triggers, struct on_hosts *joint)
{
	struct trigger_host *hosts = mem_alloc((joint->hosts.count + 1) * sizeof(*hosts));
	size_t count = 0;

	VEC_EACH(&joint->hosts, on) {
		if (on->holds) {
			hosts[count++] = (struct trigger_host){ on->name, &on->event };
		}
	}
	if (count < trigger_hosts(joint->trigger)) {
		joint->has_fired = false;
	} else if (!joint->has_fired &&
		   (joint->fired == 0 ||
		    triggers->end - joint->fired >= trigger_every(joint->trigger))) {
		joint->has_fired = true;
		joint->fired = triggers->end;
		fire(triggers, joint, hosts, count);
	}
	free(hosts);
}

void fleet_triggers_end_slot(struct fleet_triggers *triggers)
{
	for (size_t i = 0; triggers->has_slot && i < triggers->joint.count; i++) {
		end_joint(triggers, &triggers->joint.at[i]);
	}
	triggers->has_slot = false;
}

/* ---- totals and the end ---- */

void fleet_triggers_total(struct fleet_triggers *triggers, const char *name,
			  const struct report *total)
{
	const struct trace_identity identity = identity_of(name);
	struct gate *gate = actions_gate(triggers->actions);

	if (gate) {
		gate_report(gate, &identity, total);
	}
}

void fleet_triggers_end(struct fleet_triggers *triggers)
{
	struct gate *gate = actions_gate(triggers->actions);
	char why[160];

	for (size_t i = 0; gate && i < triggers->joint.count; i++) {
		struct trigger *trigger = triggers->joint.at[i].trigger;
		size_t measured = trigger_measured_in(trigger);

		if (measured > 0 && measured < trigger_hosts(trigger)) {
			(void)snprintf(why, sizeof(why),
				       "its figures are known on %zu hosts, not on %" PRIu64,
				       measured, trigger_hosts(trigger));
			gate_skip(gate, triggers->joint.at[i].number, why);
		}
	}
}
