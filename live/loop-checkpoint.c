/*
 * loop-checkpoint: saves the state from time to time (--state-every).
 *
 *     timer ─► each trace: trace_pause, its checkpoint into memory ─► the store has the windows
 *     before it (--store) ─► a thread writes the file
 *
 * A run that is killed continues from the file, and does not make windows before it again: they
 * must be in the store, in its spool, or said to be lost.
 *
 * The loop stands still while workers finish the chunks that are in flight, and while checkpoints
 * are made; -v says for how long.  It does not wait for the disk: while a file is being written, no
 * other is begun.
 */
#include <inttypes.h>
#include <string.h>

#include "base/now.h"
#include "engine/exchange/checkpoint-file.h"
#include "live/loop-state.h"
#include "trigger/actions.h"

/* Reports that saving fails, or works again: once each. */
static void note_result(struct loop *loop, int result, const struct err *err)
{
	const struct loop_config *config = loop->config;

	if (result < 0 && !loop->said_state && config->verbosity >= 0) {
		config->say("the state cannot be saved: %s", err->text);
	} else if (result == 0 && loop->said_state && config->verbosity >= 0) {
		config->say("the state is saved again");
	}
	loop->said_state = result < 0;
}

/* ---- the store ---- */

#define KEPT_US 20000 /* how often it is asked */

static struct loop_store_windows ask_store(const struct loop *loop)
{
	struct loop_store_windows windows = { 0 };

	if (loop->config->store) {
		loop->config->on_store(loop->config->store, &windows);
	}
	return windows;
}

static void save_when_kept(struct loop *loop)
{
	const struct timeval soon = { .tv_usec = KEPT_US };

	loop->is_state_waiting = ask_store(loop).settled < loop->kept_wanted;
	if (loop->is_state_waiting) {
		(void)event_add(loop->kept_event, &soon);
	} else {
		checkpoint_file_begin_save(loop->config->checkpoint_file);
	}
}

static void on_kept(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;

	if (!loop->is_stopping) { /* the last save has it all */
		save_when_kept(loop);
	}
}

/* ---- the timer ---- */

static void on_state(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	struct checkpoint_file *checkpoint_file = loop->config->checkpoint_file;
	uint64_t begin = now_monotonic_ns();
	struct err err = { 0 };
	int r;

	if (checkpoint_file_is_saving(checkpoint_file) || loop->is_state_waiting) {
		return;
	}
	r = checkpoint_file_end_save(checkpoint_file, &err);
	note_result(loop, r, &err);
	VEC_EACH_OF(&loop->relays, relay) {
		for (size_t k = 0; k < relay->sessions.count; k++) {
			session_checkpoint(relay->sessions.at[k]);
		}
	}
	if (loop->is_stopping) {
		return; /* the last save has it all */
	}
	loop->kept_wanted = ask_store(loop).given;
	save_when_kept(loop);
	if (loop->config->verbosity > 0) {
		loop->config->say("saving the state: %" PRIu64 " bytes, %.1f ms",
				  checkpoint_file_bytes(checkpoint_file),
				  (double)(now_monotonic_ns() - begin) / 1e6);
	}
}

/* Now and not before, since the trace's name is known. */
void loop_restore_triggers(const struct loop *loop, struct live_trace *trace)
{
	const struct loop_config *config = loop->config;

	if (trace->attached.count == 0) {
		return;
	}
	if (config->actions && actions_restore(config->actions, &trace->identity,
					       trace->attached.at, trace->attached.count) < 0) {
		config->say("the state of the triggers is damaged: they start without it");
	}
	vec_fini(&trace->attached);
	memset(&trace->attached, 0, sizeof(trace->attached));
}

void loop_on_save(void *user, struct live_trace *trace, struct codec_out *out)
{
	struct loop *loop = user;

	if (loop->config->actions) {
		loop_restore_triggers(loop, trace);
		actions_save(loop->config->actions, &trace->identity, out);
	}
}

void loop_start_checkpoints(struct loop *loop)
{
	const struct loop_config *config = loop->config;
	struct timeval every = {
		.tv_sec = (time_t)(config->state_every_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(config->state_every_ns % NS_PER_S / 1000),
	};

	if (config->checkpoint_file && config->state_every_ns > 0) {
		loop->state_event = event_new(loop->base, -1, EV_PERSIST, on_state, loop);
		(void)event_add(loop->state_event, &every);
		loop->kept_event = evtimer_new(loop->base, on_kept, loop);
	}
}
