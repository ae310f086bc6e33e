/*
 * perf-names: kernel events as perf names them ("perf data convert --to-ctf"), in LTTng's names.
 *
 *     perf    sched:sched_switch   prev_pid   perf_tid      syscalls:sys_enter_read
 *     LTTng   sched_switch         prev_tid   context.tid   syscall_entry_read
 *
 * The kernel gives both their tracepoints.  perf leaves out what is the tracer's own (the state
 * dump), and has flags of block requests as text: such events have no name here.  Its priorities
 * are the kernel's, which LTTng subtracts 100 from (doc/definitions.md, 0.4, 1).  LTTng's kernel
 * events have no colon, so names tell perf's apart in a trace of the kernel.
 */
#pragma once

#include <stdbool.h>

#include "ctf/plan/plan.h"

/* LTTng's name of an event in a trace of this domain (NULL: unknown); false: it has no other. */
bool perf_names_event(const char *domain, const char *name, char ret[PLAN_NAME_BYTES]);
/* perf's name of a field as a plan_request has it, without a prefix for its kind, and what is added
 * to its number; NULL: perf lacks it. */
const char *perf_names_field(const char *field, int16_t *ret_add);

/* Both, for plan_builder_rename(). */
extern const struct plan_names perf_names;
