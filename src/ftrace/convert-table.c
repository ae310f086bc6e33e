/*
 * convert-table: events of ftrace, and what LTTng calls them and their fields.
 *
 * SYSTEM/NAME of ftrace, LTTng's name, and the members of LTTng's class: NAME:TYPE, s or u with
 * bytes (x: hexadecimal), c16: 16 characters, str: text; =FIELD where ftrace calls it otherwise,
 * =FUNCTION(FIELD) where its value differs (convert-recipe.c).  A field that a kernel's event does
 * not have is left out.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ftrace/convert-state.h"

#define TASK  "comm:c16 tid:s4=pid prio:s4=prio(prio)"
#define WOKEN " success:s4 target_cpu:s4"
#define RQ    "dev:u4 sector:u8 nr_sector:u4 bytes:u4 tid:s4=cur() rwbs:u4=rwbs(rwbs) comm:c16"
#define BIO   "dev:u4 sector:u8 nr_sector:u4 rwbs:u4=rwbs(rwbs) tid:s4=cur() comm:c16"
#define PAGE  "page:u8x=page(pfn) pfn:u8 order:u4"
#define SKB   "skbaddr:u8x len:u4 name:str"

/* The names of one row of LTTng's that ftrace has with another system. */
#define VECTOR(name)                                                                               \
	"irq_vectors/" name "_entry x86_irq_vectors_" name "_entry vector:s4",                     \
		"irq_vectors/" name "_exit x86_irq_vectors_" name "_exit vector:s4"

static const char *const rows[] = {
	"sched/sched_switch sched_switch prev_comm:c16 prev_tid:s4=prev_pid "
	"prev_prio:s4=prio(prev_prio) prev_state:s8 next_comm:c16 next_tid:s4=next_pid "
	"next_prio:s4=prio(next_prio)",
	"sched/sched_wakeup sched_wakeup " TASK WOKEN,
	"sched/sched_wakeup_new sched_wakeup_new " TASK WOKEN,
	"sched/sched_waking sched_waking " TASK WOKEN,
	"sched/sched_migrate_task sched_migrate_task " TASK " orig_cpu:s4 dest_cpu:s4",
	"sched/sched_process_fork sched_process_fork",
	"sched/sched_process_exec sched_process_exec filename:str tid:s4=pid old_tid:s4=old_pid",
	"sched/sched_process_exit sched_process_exit " TASK " group_dead:u1",
	"sched/sched_process_free sched_process_free " TASK,
	"sched/sched_process_wait sched_process_wait " TASK,
	"sched/sched_wait_task sched_wait_task " TASK,
	"sched/sched_pi_setprio sched_pi_setprio comm:c16 tid:s4=pid oldprio:s4=prio(oldprio) "
	"newprio:s4=prio(newprio)",
	"sched/sched_kthread_stop sched_kthread_stop comm:c16 tid:s4=pid",
	"sched/sched_kthread_stop_ret sched_kthread_stop_ret ret:s4",
	"sched/sched_stat_runtime sched_stat_runtime comm:c16 tid:s4=pid runtime:u8 vruntime:u8",
	"sched/sched_stat_wait sched_stat_wait comm:c16 tid:s4=pid delay:u8",
	"sched/sched_stat_sleep sched_stat_sleep comm:c16 tid:s4=pid delay:u8",
	"sched/sched_stat_iowait sched_stat_iowait comm:c16 tid:s4=pid delay:u8",
	"sched/sched_stat_blocked sched_stat_blocked comm:c16 tid:s4=pid delay:u8",
	"irq/irq_handler_entry irq_handler_entry irq:s4 name:str",
	"irq/irq_handler_exit irq_handler_exit irq:s4 ret:s4",
	"irq/softirq_raise irq_softirq_raise vec:u4",
	"irq/softirq_entry irq_softirq_entry vec:u4",
	"irq/softirq_exit irq_softirq_exit vec:u4",
	"irq/tasklet_entry irq_tasklet_entry tasklet:u8x function:u8x=func",
	"irq/tasklet_exit irq_tasklet_exit tasklet:u8x function:u8x=func",
	"timer/timer_init timer_init timer:u8x",
	"timer/timer_start timer_start timer:u8x function:u8x expires:u8 bucket_expiry:u8 now:u8 "
	"flags:u4",
	"timer/timer_expire_entry timer_expire_entry timer:u8x now:u8 function:u8x baseclk:u8",
	"timer/timer_expire_exit timer_expire_exit timer:u8x",
	"timer/timer_cancel timer_cancel timer:u8x",
	"timer/hrtimer_init timer_hrtimer_init hrtimer:u8x clockid:s4 mode:u4",
	"timer/hrtimer_setup timer_hrtimer_init hrtimer:u8x clockid:s4 mode:u4",
	"timer/hrtimer_start timer_hrtimer_start hrtimer:u8x function:u8x expires:s8 "
	"softexpires:s8 "
	"mode:u4 was_armed:u1",
	"timer/hrtimer_expire_entry timer_hrtimer_expire_entry hrtimer:u8x now:s8 function:u8x",
	"timer/hrtimer_expire_exit timer_hrtimer_expire_exit hrtimer:u8x",
	"timer/hrtimer_cancel timer_hrtimer_cancel hrtimer:u8x",
	"timer/itimer_state timer_itimer_state which:s4 expires:u8 value_sec:s8 value_nsec:s8 "
	"interval_sec:s8 interval_nsec:s8",
	"timer/itimer_expire timer_itimer_expire which:s4 pid:s4 now:u8",
	"block/block_touch_buffer block_touch_buffer dev:u4 sector:u8 size:u8",
	"block/block_dirty_buffer block_dirty_buffer dev:u4 sector:u8 size:u8",
	"block/block_rq_requeue block_rq_requeue dev:u4 sector:u8 nr_sector:u4 rwbs:u4=rwbs(rwbs)",
	"block/block_rq_complete block_rq_complete dev:u4 sector:u8 nr_sector:u4 error:s4 "
	"errors:s4 "
	"rwbs:u4=rwbs(rwbs)",
	"block/block_rq_insert block_rq_insert " RQ,
	"block/block_rq_issue block_rq_issue " RQ,
	"block/block_rq_merge block_rq_merge " RQ,
	"block/block_bio_complete block_bio_complete dev:u4 sector:u8 nr_sector:u4 error:s4 "
	"errors:s4 "
	"rwbs:u4=rwbs(rwbs)",
	"block/block_bio_backmerge block_bio_backmerge " BIO,
	"block/block_bio_frontmerge block_bio_frontmerge " BIO,
	"block/block_bio_queue block_bio_queue " BIO,
	"block/block_getrq block_getrq " BIO,
	"block/block_plug block_plug tid:s4=cur() comm:c16",
	"block/block_unplug block_unplug nr_rq:s4 tid:s4=cur() comm:c16",
	"block/block_split block_split dev:u4 sector:u8 rwbs:u4=rwbs(rwbs) new_sector:u8 "
	"tid:s4=cur() comm:c16",
	"block/block_bio_remap block_bio_remap dev:u4 sector:u8 nr_sector:u4 rwbs:u4=rwbs(rwbs) "
	"old_dev:u4 old_sector:u8",
	"kmem/mm_page_alloc kmem_mm_page_alloc " PAGE " gfp_flags:u4 migratetype:s4",
	"kmem/mm_page_free kmem_mm_page_free " PAGE,
	"kmem/mm_page_free_batched kmem_mm_page_free_batched page:u8x=page(pfn) pfn:u8",
	"kmem/mm_page_alloc_zone_locked kmem_mm_page_alloc_zone_locked " PAGE
	" migratetype:s4 percpu_refill:s4",
	"kmem/mm_page_pcpu_drain kmem_mm_page_pcpu_drain pfn:u8 order:u4 migratetype:s4",
	"kmem/mm_page_alloc_extfrag kmem_mm_page_alloc_extfrag page:u8x=page(pfn) pfn:u8 "
	"alloc_order:s4 fallback_order:s4 alloc_migratetype:s4 fallback_migratetype:s4 "
	"change_ownership:s4",
	"kmem/kmalloc kmem_kmalloc call_site:u8x ptr:u8x bytes_req:u8 bytes_alloc:u8 gfp_flags:u4 "
	"node:s4 accounted:u1=acct(gfp_flags)",
	"kmem/kmem_cache_alloc kmem_cache_alloc call_site:u8x ptr:u8x bytes_req:u8 bytes_alloc:u8 "
	"gfp_flags:u4 node:s4 accounted:u1",
	"kmem/kfree kmem_kfree call_site:u8x ptr:u8x",
	"kmem/kmem_cache_free kmem_cache_free call_site:u8x ptr:u8x name:str",
	"net/net_dev_xmit net_dev_xmit skbaddr:u8x rc:s4 len:u4 name:str",
	"net/net_dev_queue net_dev_queue " SKB,
	"net/netif_receive_skb net_if_receive_skb " SKB,
	"net/netif_rx net_if_rx " SKB,
	"net/napi_gro_frags_entry net_napi_gro_frags_entry skbaddr:u8x",
	"net/napi_gro_receive_entry net_napi_gro_receive_entry skbaddr:u8x",
	"net/netif_receive_skb_entry net_if_receive_skb_entry skbaddr:u8x",
	"net/netif_rx_entry net_if_rx_entry skbaddr:u8x",
	"net/netif_receive_skb_list_entry net_if_receive_skb_list_entry skbaddr:u8x",
	"net/napi_gro_frags_exit net_napi_gro_frags_exit ret:s4",
	"net/napi_gro_receive_exit net_napi_gro_receive_exit ret:s4",
	"net/netif_receive_skb_exit net_if_receive_skb_exit ret:s4",
	"net/netif_rx_exit net_if_rx_exit ret:s4",
	"net/netif_receive_skb_list_exit net_if_receive_skb_list_exit ret:s4",
	"napi/napi_poll napi_poll napi:u8x dev_name:str work:s4 budget:s4",
	"signal/signal_generate signal_generate sig:s4 errno:s4 code:s4 comm:c16 pid:s4 group:s4 "
	"result:s4",
	"signal/signal_deliver signal_deliver sig:s4 errno:s4 code:s4 sa_handler:u8 sa_flags:u8",
	"power/cpu_idle power_cpu_idle state:u4 cpu_id:u4",
	"power/cpu_frequency power_cpu_frequency state:u4 cpu_id:u4",
	"workqueue/workqueue_queue_work workqueue_queue_work work:u8x function:u8x req_cpu:s4",
	"workqueue/workqueue_activate_work workqueue_activate_work work:u8x",
	"workqueue/workqueue_execute_start workqueue_execute_start work:u8x function:u8x",
	"workqueue/workqueue_execute_end workqueue_execute_end work:u8x function:u8x",
	"exceptions/page_fault_user x86_exceptions_page_fault_user address:u8x ip:u8x "
	"error_code:u8x",
	"exceptions/page_fault_kernel x86_exceptions_page_fault_kernel address:u8x ip:u8x "
	"error_code:u8x",
	VECTOR("local_timer"),
	VECTOR("reschedule"),
	VECTOR("spurious_apic"),
	VECTOR("error_apic"),
	VECTOR("x86_platform_ipi"),
	VECTOR("irq_work"),
	VECTOR("call_function"),
	VECTOR("call_function_single"),
	VECTOR("threshold_apic"),
	VECTOR("deferred_error_apic"),
	VECTOR("thermal_apic"),
};

const char *convert_table_find(const char *system, const char *name)
{
	size_t system_len = strlen(system), name_len = strlen(name);

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		const char *at = rows[i];

		if (strncmp(at, system, system_len) == 0 && at[system_len] == '/' &&
		    strncmp(at + system_len + 1, name, name_len) == 0 &&
		    at[system_len + 1 + name_len] == ' ') {
			return at + system_len + name_len + 2;
		}
	}
	return NULL;
}

char *convert_name(const char *system, const char *name)
{
	const char *known = convert_table_find(system, name);

	return known ? mem_printf("%.*s", (int)strcspn(known, " "), known) : mem_strdup(name);
}

enum convert_machine convert_machine_of(const char *uname_machine)
{
	if (strcmp(uname_machine, "x86_64") == 0) {
		return CONVERT_X86_64;
	}
	if (strcmp(uname_machine, "aarch64") == 0) {
		return CONVERT_ARM64;
	}
	if (strncmp(uname_machine, "arm", 3) == 0) {
		return CONVERT_ARM;
	}
	return strlen(uname_machine) == 4 && uname_machine[0] == 'i' &&
			       strcmp(uname_machine + 2, "86") == 0
		       ? CONVERT_I386
		       : CONVERT_MACHINE_UNKNOWN;
}
