/*
 * folded-switches: see folded-switches.h.
 *
 *     (tid, time) ──► the innermost frame in a tree of frames, which all threads share
 */
#include "folded/folded-switches.h"

#include <assert.h>
#include <errno.h>

#include "base/hash.h"
#include "base/mem.h"
#include "perfetto/trace.h"
#include "symbols/callstack.h"
#include "symbols/symbols.h"

enum { SWITCH, STACK };
static const struct plan_request requests[] = {
	[SWITCH] = { .event = "sched_switch", .fields = { "prev_tid" } },
	[STACK] = CALLSTACK_REQUEST,
};

HASH_MAP(frames_of_switches, uint32_t)

struct switch_stacks {
	struct frames_of_switches left; /* by hash of tid and time */
	struct stacks *frames;
	struct symbols *symbols;
	struct callstack stack;
};

static uint64_t switch_key(int32_t tid, uint64_t ts)
{
	return hash_bytes(ts, &tid, sizeof(tid));
}

static void note_left(struct switch_stacks *stacks, const struct reader_event *event)
{
	struct reader_event left, as;
	int32_t tid;

	if (!event->class || !reader_as(event, SWITCH, &left) || !reader_has(&left, 0) ||
	    !reader_as(event, STACK, &as) ||
	    !callstack_read(&stacks->stack, as.class, as.binding, as.values)) {
		return;
	}
	tid = (int32_t)left.values[0].i;
	*frames_of_switches_put(&stacks->left, switch_key(tid, event->ts), NULL) =
		folded_callstack(stacks->frames, 0, stacks->symbols, &stacks->stack, event->ts);
}

struct switch_stacks *switch_stacks_read(const struct folded_trace *trace, struct err *err)
{
	const struct reader_setup quiet = { .path = trace->setup->path };
	struct trace_export range = { .setup = &quiet, .end = trace->end, .stop = trace->stop };
	struct switch_stacks *stacks = mem_alloc(sizeof(*stacks));
	struct reader *reader = reader_open(&quiet, requests, ARRAY_COUNT(requests), err);
	struct reader_event event;

	stacks->frames = folded_new();
	stacks->symbols = symbols_new();
	if (!reader) {
		switch_stacks_free(stacks);
		return NULL;
	}
	symbols_of_kernel(stacks->symbols, trace->kernel, reader_plan(reader)->metadata);
	while (trace_next(&range, reader, &event)) {
		note_left(stacks, &event);
	}
	symbols_say_faults(stacks->symbols, trace->setup->warn, trace->setup->user);
	reader_close(reader);
	return stacks;
}

void switch_stacks_free(struct switch_stacks *stacks)
{
	if (stacks) {
		frames_of_switches_fini(&stacks->left);
		folded_free(stacks->frames);
		symbols_free(stacks->symbols);
		callstack_fini(&stacks->stack);
		free(stacks);
	}
}

bool switch_stacks_find(const struct switch_stacks *stacks, int32_t tid, uint64_t ts,
			uint32_t *ret_stack)
{
	const uint32_t *found = frames_of_switches_get(&stacks->left, switch_key(tid, ts));

	*ret_stack = found ? *found : 0;
	return found != NULL;
}

uint32_t switch_stacks_frame(const struct switch_stacks *stacks, uint32_t stack,
			     struct stacks *folded, uint32_t within)
{
	return folded_copy(folded, within, stacks->frames, stack);
}
