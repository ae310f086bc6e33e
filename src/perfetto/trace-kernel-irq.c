/*
 * trace-kernel-irq: interrupts and softirqs of a CPU, which nest.
 */
#include "perfetto/trace-kernel.h"

enum { HARD, SOFT };

static void put_irq(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts, bool is_entry,
		    int32_t irq, const struct value *name_or_ret)
{
	struct perfetto_event *event = trace_kernel_event(kernel, cpu, ts);

	if (is_entry) {
		perfetto__irq_handler_entry_ftrace_event__init(&event->irq_entry);
		event->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_IRQ_HANDLER_ENTRY;
		event->event.irq_handler_entry = &event->irq_entry;
		event->irq_entry.has_irq = 1;
		event->irq_entry.irq = irq;
		if (name_or_ret) {
			(void)utf8_copy(event->names[0], sizeof(event->names[0]),
					name_or_ret->bytes, name_or_ret->len);
			event->irq_entry.name = event->names[0];
		}
		return;
	}
	perfetto__irq_handler_exit_ftrace_event__init(&event->irq_exit);
	event->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_IRQ_HANDLER_EXIT;
	event->event.irq_handler_exit = &event->irq_exit;
	event->irq_exit.has_irq = 1;
	event->irq_exit.irq = irq;
	event->irq_exit.has_ret = name_or_ret != NULL;
	event->irq_exit.ret = name_or_ret ? (int32_t)name_or_ret->i : 0;
}

static void put_softirq(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts, bool is_entry,
			uint32_t vec)
{
	struct perfetto_event *event = trace_kernel_event(kernel, cpu, ts);

	if (is_entry) {
		perfetto__softirq_entry_ftrace_event__init(&event->softirq_entry);
		event->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_SOFTIRQ_ENTRY;
		event->event.softirq_entry = &event->softirq_entry;
		event->softirq_entry.has_vec = 1;
		event->softirq_entry.vec = vec;
		return;
	}
	perfetto__softirq_exit_ftrace_event__init(&event->softirq_exit);
	event->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_SOFTIRQ_EXIT;
	event->event.softirq_exit = &event->softirq_exit;
	event->softirq_exit.has_vec = 1;
	event->softirq_exit.vec = vec;
}

void trace_kernel_end_interrupts(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts)
{
	for (; cpu->irqs[HARD] > 0; cpu->irqs[HARD]--) {
		put_irq(kernel, cpu, ts, false, 0, NULL);
	}
	for (; cpu->irqs[SOFT] > 0; cpu->irqs[SOFT]--) {
		put_softirq(kernel, cpu, ts, false, 0);
	}
}

void trace_kernel_irq(struct kernel *kernel, struct kernel_cpu *cpu,
		      const struct reader_event *event, bool is_entry)
{
	enum { IRQ, MORE };
	const struct value *v = event->values;

	if (!is_entry && cpu->irqs[HARD] == 0) {
		return; /* it began before the range, or before a loss */
	}
	cpu->irqs[HARD] = is_entry ? cpu->irqs[HARD] + 1 : cpu->irqs[HARD] - 1;
	put_irq(kernel, cpu, event->ts, is_entry, reader_has(event, IRQ) ? (int32_t)v[IRQ].i : 0,
		reader_has(event, MORE) ? &v[MORE] : NULL);
}

void trace_kernel_softirq(struct kernel *kernel, struct kernel_cpu *cpu,
			  const struct reader_event *event, bool is_entry)
{
	if (!is_entry && cpu->irqs[SOFT] == 0) {
		return;
	}
	cpu->irqs[SOFT] = is_entry ? cpu->irqs[SOFT] + 1 : cpu->irqs[SOFT] - 1;
	put_softirq(kernel, cpu, event->ts, is_entry,
		    reader_has(event, 0) ? (uint32_t)event->values[0].u : 0);
}
