/*
 * actions-state: what the triggers of a run have seen: for a gate, for people, and for checkpoints.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trigger/actions.h"

/* What became of an objective in each trace. */
static void end_budgets(struct gate *gate, size_t number, const struct trigger *trigger)
{
	struct trigger_budget budget;
	const char *trace;
	char says[200];

	for (size_t i = 0; i < trigger_budget_at(trigger, i, &trace, &budget); i++) {
		char *text;

		notice_budget_text(&budget, says, sizeof(says));
		text = mem_printf("%s (%s)", says, trace);
		if (trigger_is_of_run(trigger) && notice_is_spent(&budget)) {
			gate_held(gate, number, text);
		} else {
			gate_note(gate, number, text);
		}
		free(text);
	}
}

void actions_end_gate(struct actions *actions)
{
	struct gate *gate = actions_gate(actions);
	char why[160];

	for (size_t i = 0; gate && i < actions_count(actions); i++) {
		const struct trigger *trigger = actions_trigger(actions, i);

		end_budgets(gate, i, trigger);
		if (trigger_was_measured(trigger, why, sizeof(why))) {
			continue;
		}
		if (trigger_lacks_row(trigger)) {
			gate_mistaken(gate, i, why);
		} else {
			gate_skip(gate, i, why);
		}
	}
}

void actions_set_interval(struct actions *actions, uint64_t ns)
{
	for (size_t i = 0; i < actions_count(actions); i++) {
		trigger_set_interval(actions_trigger(actions, i), ns);
	}
}

/* ---- checkpoints ---- */

void actions_save(struct actions *actions, const struct trace_identity *trace,
		  struct codec_out *out)
{
	struct codec codec = { .out = out };

	(void)codec_count(&codec, actions_count(actions), 1);
	for (size_t i = 0; i < actions_count(actions); i++) {
		struct trigger *trigger = actions_trigger(actions, i);
		struct codec_out state = { 0 };
		struct codec inner = { .out = &state };

		trigger_codec(trigger, trace, &inner);
		codec_put_text(&codec, trigger_name(trigger));
		codec_put_text(&codec, trigger_text(trigger));
		(void)codec_count(&codec, state.bytes.count, 1);
		codec_bytes(&codec, state.bytes.at, state.bytes.count);
		vec_fini(&state.bytes);
	}
}

static bool is_text(const char *text, const char *other)
{
	return strcmp(text ? text : "", other) == 0;
}

/* Two triggers may have one name and text: the first that has no state yet gets it. */
static void restore_one(struct actions *actions, const struct trace_identity *trace,
			struct codec *codec, bool *taken)
{
	char *name = NULL, *text = NULL;
	struct codec inner = { 0 };

	codec_text(codec, &name);
	codec_text(codec, &text);
	inner.left = codec_count(codec, 0, 1);
	inner.at = codec_next(codec, inner.left);
	for (size_t i = 0; inner.at && i < actions_count(actions); i++) {
		struct trigger *trigger = actions_trigger(actions, i);

		if (!taken[i] && is_text(name, trigger_name(trigger)) &&
		    is_text(text, trigger_text(trigger))) {
			taken[i] = true;
			trigger_codec(trigger, trace, &inner);
			codec_check(codec, !inner.is_wrong && inner.left == 0);
			break;
		}
	}
	free(name);
	free(text);
}

int actions_restore(struct actions *actions, const struct trace_identity *trace,
		    const uint8_t *bytes, size_t size)
{
	struct codec codec = { .at = bytes, .left = size };
	bool *taken = mem_alloc(actions_count(actions) + 1);
	size_t count = codec_count(&codec, 0, 12);

	for (size_t i = 0; i < count && !codec.is_wrong; i++) {
		restore_one(actions, trace, &codec, taken);
	}
	free(taken);
	return codec.is_wrong || codec.left > 0 ? -EINVAL : 0;
}
