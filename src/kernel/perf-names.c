/*
 * perf-names: see perf-names.h.
 */
#include "kernel/perf-names.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"

static const struct {
	const char *perf, *lttng; /* "*" at the end: any rest, in both */
} events[] = {
	{ "sched:sched_switch", "sched_switch" },
	{ "sched:sched_waking", "sched_waking" },
	{ "sched:sched_wakeup", "sched_wakeup" },
	{ "sched:sched_wakeup_new", "sched_wakeup_new" },
	{ "sched:sched_process_fork", "sched_process_fork" },
	{ "sched:sched_process_exec", "sched_process_exec" },
	{ "sched:sched_process_exit", "sched_process_exit" },
	{ "sched:sched_migrate_task", "sched_migrate_task" },
	{ "syscalls:sys_enter_*", "syscall_entry_*" },
	{ "syscalls:sys_exit_*", "syscall_exit_*" },
	{ "irq:irq_handler_entry", "irq_handler_entry" },
	{ "irq:irq_handler_exit", "irq_handler_exit" },
	{ "irq:softirq_raise", "irq_softirq_raise" },
	{ "irq:softirq_entry", "irq_softirq_entry" },
	{ "irq:softirq_exit", "irq_softirq_exit" },
	{ "timer:hrtimer_start", "timer_hrtimer_start" },
	{ "timer:hrtimer_expire_entry", "timer_hrtimer_expire_entry" },
	{ "timer:hrtimer_expire_exit", "timer_hrtimer_expire_exit" },
	{ "power:cpu_idle", "power_cpu_idle" },
	{ "power:cpu_frequency", "power_cpu_frequency" },
	{ "signal:signal_generate", "signal_generate" },
	{ "exceptions:page_fault_user", "x86_exceptions_page_fault_user" },
	{ "exceptions:page_fault_kernel", "x86_exceptions_page_fault_kernel" },
	{ "kmem:mm_page_alloc", "kmem_mm_page_alloc" },
	{ "kmem:mm_page_free", "kmem_mm_page_free" },
	{ "kmem:mm_page_free_batched", "kmem_mm_page_free_batched" },
	{ "vmscan:mm_vmscan_*", "mm_vmscan_*" },
	{ "net:net_dev_xmit", "net_dev_xmit" },
	{ "net:netif_receive_skb", "net_if_receive_skb" },
};

/* Fields of other names or scales; NULL: perf has none of this meaning. */
static const struct {
	const char *lttng, *perf;
	int16_t add;
} fields[] = {
	{ "tid", "pid" },
	{ "prev_tid", "prev_pid" },
	{ "next_tid", "next_pid" },
	{ "child_tid", "child_pid" },
	{ "parent_tid", "parent_pid" },
	{ "old_tid", "old_pid" },
	{ "child_pid", NULL },
	{ "parent_pid", NULL },
	{ "prio", "prio", -100 },
	{ "prev_prio", "prev_prio", -100 },
	{ "next_prio", "next_prio", -100 },
	{ "context.tid", "perf_tid" },
	{ "context.pid", "perf_pid" },
};

bool perf_names_event(const char *domain, const char *name, char ret[PLAN_NAME_BYTES])
{
	if (!strchr(name, ':') || !domain || strcmp(domain, "kernel") != 0) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_COUNT(events); i++) {
		size_t len = strlen(events[i].perf), to = strlen(events[i].lttng);
		bool has_rest = events[i].perf[len - 1] == '*';

		if (has_rest ? strncmp(name, events[i].perf, len - 1) == 0
			     : strcmp(name, events[i].perf) == 0) {
			(void)snprintf(ret, PLAN_NAME_BYTES, "%.*s%s", (int)(to - has_rest),
				       events[i].lttng, has_rest ? name + len - 1 : "");
			return true;
		}
	}
	return false;
}

const char *perf_names_field(const char *field, int16_t *ret_add)
{
	*ret_add = 0;
	for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
		if (strcmp(field, fields[i].lttng) == 0) {
			*ret_add = fields[i].add;
			return fields[i].perf;
		}
	}
	return field;
}

const struct plan_names perf_names = { perf_names_event, perf_names_field };
