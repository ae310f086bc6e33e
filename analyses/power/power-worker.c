/*
 * power-worker: see power.h.
 *
 * What may be the cause of a wake-up from idle is told from the idle event on until a thread runs.
 * Else nothing is: interrupts and switches are many.  Where another stream may have the idle events
 * of the CPU, all of it is told; the merger knows better.
 */
#include "analyses/power/power.h"

#include "base/mem.h"

/* All records are of one entity, so that they come in time order. */
enum { ALL_CPUS };

static bool asks_alone(const struct worker *worker, struct power_worker *own)
{
	if (!own->is_asked) {
		own->is_asked = true;
		own->is_alone = worker_has_cpu_alone(worker);
	}
	return own->is_alone;
}

static void set_quiet(const struct worker *worker, struct power_worker *own, bool quiet)
{
	own->is_quiet = quiet && asks_alone(worker, own);
}

/* The kernel tells of an idle state on the CPU itself. */
static void on_idle(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t kind)
{
	enum { STATE, CPU };

	if (!event_has(event, STATE) ||
	    event_u64(event, CPU, worker_cpu(worker)) != worker_cpu(worker)) {
		return;
	}
	worker_emit_entity(worker, event->ts, ALL_CPUS, kind)->arg32 =
		(int32_t)(uint32_t)event_u64(event, STATE, 0);
	set_quiet(worker, state, false);
}

static void tell_frequency(struct worker *worker, void *state, const struct trace_event *event,
			   uint32_t kind)
{
	enum { STATE, CPU };
	struct record *record;

	if (event_has(event, STATE) && event_has(event, CPU)) {
		record = worker_emit_entity(worker, event->ts, ALL_CPUS, kind);
		record->arg32 = (int32_t)(uint32_t)event_u64(event, STATE, 0);
		record->arg64 = event_u64(event, CPU, 0) & UINT32_MAX;
	}
}

static void on_interrupt(struct worker *worker, void *state, const struct trace_event *event,
			 uint32_t kind)
{
	enum { NUMBER, NAME };
	const struct power_worker *own = state;
	const struct value *name = event_text(event, NAME);
	struct record *record;

	if (own->is_quiet || !event_has(event, NUMBER)) {
		return;
	}
	record = worker_emit_entity(worker, event->ts, ALL_CPUS, kind);
	record->arg32 = (int32_t)event_u64(event, NUMBER, 0);
	record->arg64 =
		name ? worker_text(worker, name->bytes, name->len) : worker_text(worker, "", 0);
}

static void on_cause(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t kind)
{
	const struct power_worker *own = state;

	if (!own->is_quiet) {
		(void)worker_emit_entity(worker, event->ts, ALL_CPUS, kind);
	}
}

static void on_switch(struct worker *worker, void *state, const struct trace_event *event,
		      uint32_t kind)
{
	enum { NEXT_TID };

	if (event_i64(event, NEXT_TID, 0) != 0) {
		on_cause(worker, state, event, kind);
		set_quiet(worker, state, true);
	}
}

void power_worker_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
	if (!is_over) {
		worker_emit_entity(worker, ts, ALL_CPUS, OWN_LOST)->arg64 = worker_gap_end(worker);
	}
}

#define TIMER(event)                                                                               \
	{                                                                                          \
		event, { NULL }, on_cause, OWN_TIMER                                               \
	}

const struct need power_needs[POWER_NEEDS] = {
	{ "power_cpu_idle", { "state", "cpu_id" }, on_idle, OWN_IDLE },
	{ "power_cpu_frequency", { "state", "cpu_id" }, tell_frequency, OWN_FREQUENCY },
	{ "irq_handler_entry", { "irq", "@name" }, on_interrupt, OWN_INTERRUPT },
	{ "irq_handler_exit", { NULL }, on_cause, OWN_INTERRUPT_END },
	TIMER("timer_hrtimer_expire_entry"),
	TIMER("hrtimer_expire_entry"),
	{ "sched_switch", { "next_tid" }, on_switch, OWN_RUNS },
	{ "sched_waking", { NULL }, on_cause, OWN_WAKES },
	{ "x86_irq_vectors_local_timer_entry", { NULL }, on_cause, OWN_TIMER, .is_extra = true },
	{ "local_timer_entry", { NULL }, on_cause, OWN_TIMER, .is_extra = true },
	{ "x86_irq_vectors_reschedule_entry", { NULL }, on_cause, OWN_CALLED, .is_extra = true },
	{ "reschedule_entry", { NULL }, on_cause, OWN_CALLED, .is_extra = true },
	{ "x86_irq_vectors_call_function_single_entry",
	  { NULL },
	  on_cause,
	  OWN_CALLED,
	  .is_extra = true },
	{ "call_function_single_entry", { NULL }, on_cause, OWN_CALLED, .is_extra = true },
};
