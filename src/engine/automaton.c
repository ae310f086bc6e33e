/*
 * automaton: records in time order -> who runs on each CPU, and which threads there are.
 *
 * Each CPU has a current thread and a time up to which that thread has been
 * charged.  IN and OUT move it; STAY is both at once; GAP makes it unknown:
 *
 *          IN(a)        OUT(a) IN(b)            GAP            OUT(c) IN(d)
 *     ------|-------------|----|-----------------|---------------|--|------
 *            a is charged        b is charged      unknown          d ...
 *
 * Time that no evidence covers is charged to "unknown", never to somebody.
 */
#include "engine/merge-state.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"

/* Calls a merge-side function of every analysis that has it. */
#define for_each_with(merge, member, call)                                                         \
	for (size_t a_ = 0; a_ < (merge)->setup->analysis_count; a_++) {                           \
		const struct analysis *analysis_ = (merge)->setup->analyses[a_];                   \
		if (analysis_->member) {                                                           \
			(merge)->running = a_;                                                     \
			analysis_->member call;                                                    \
		}                                                                                  \
	}

static void set_current(struct cpu *cpu, enum cpu_state state, struct thread *thread)
{
	if (cpu->thread) {
		assert(cpu->thread->cpus_current > 0);
		cpu->thread->cpus_current--;
	}
	if (thread) {
		thread->cpus_current++;
	}
	cpu->state = state;
	cpu->thread = thread;
}

static void charge_as(struct merge *merge, struct cpu *cpu, enum run_kind kind, uint64_t ns)
{
	struct run_time run = { .kind = kind,
				.cpu = cpu,
				.thread = kind == RUN_THREAD ? cpu->thread : NULL,
				.ns = ns };

	if (ns > 0) {
		for_each_with(merge, on_run, (merge, &run));
	}
}

static enum run_kind run_kind_of(const struct cpu *cpu)
{
	if (cpu->state != CPU_KNOWN) {
		return RUN_UNKNOWN;
	}
	return cpu->thread ? RUN_THREAD : RUN_IDLE;
}

/* Before its first packet, a CPU whose stream begins late is unknown. */
static void charge_late(struct merge *merge, struct cpu *cpu, uint64_t until)
{
	uint64_t end = until < cpu->resume_ts ? until : cpu->resume_ts;

	if (end > cpu->since) {
		charge_as(merge, cpu, RUN_UNKNOWN, end - cpu->since);
		cpu->since = end;
	}
	if (until >= cpu->resume_ts) {
		cpu->resume_ts = 0;
	}
}

/* Charges the CPU's time up to @until to whoever had it. */
static void charge(struct merge *merge, struct cpu *cpu, uint64_t until)
{
	if (cpu->resume_ts != 0) {
		charge_late(merge, cpu, until);
	}
	if (until > cpu->since) {
		charge_as(merge, cpu, run_kind_of(cpu), until - cpu->since);
		cpu->since = until;
	}
}

void automaton_charge(struct merge *merge, uint64_t until)
{
	struct rows *rows = &merge->rows;

	for (khint_t i = kh_begin(rows->cpus); i != kh_end(rows->cpus); i++) {
		if (kh_exist(rows->cpus, i) && kh_value(rows->cpus, i)->owner) {
			charge(merge, kh_value(rows->cpus, i), until);
		}
	}
}

/* ---- threads ---- */

static void set_name(struct thread *thread, const struct partial *partial, uint32_t name)
{
	if (thread && name != NAME_NONE) {
		assert(name < partial->names.count);
		memcpy(thread->view.comm, partial->names.at[name].text, NAME_BYTES);
	}
}

static void set_prio(struct thread *thread, int32_t prio)
{
	if (thread) {
		thread->view.prio = prio;
		thread->view.has_prio = true;
	}
}

static void switch_in(struct merge *merge, struct cpu *cpu, const struct partial *partial,
		      const struct record *record, uint64_t ts)
{
	struct thread *thread = record->tid == 0 ? NULL : rows_thread(&merge->rows, record->tid);

	cpu->since = ts;
	set_current(cpu, CPU_KNOWN, thread);
	set_name(thread, partial, record->name);
	if (!thread) {
		return;
	}
	set_prio(thread, record->prio);
	for_each_with(merge, on_switch_in,
		      (merge, thread, thread->cpu != UINT64_MAX && thread->cpu != cpu->id));
	thread->cpu = cpu->id;
	if (record->flags & RECORD_ANEW) {
		for_each_with(merge, on_anew, (merge, thread));
	}
}

static void switch_out(struct merge *merge, struct cpu *cpu, const struct partial *partial,
		       const struct record *record, uint64_t ts)
{
	struct thread *thread = record->tid == 0 ? NULL : rows_thread(&merge->rows, record->tid);

	if (cpu->state == CPU_KNOWN && cpu->thread != thread) {
		/* Switches are missing although nothing was said to be lost. */
		merge->account.anomalies++;
		merge->window_has_gap = true;
		set_current(cpu, CPU_UNKNOWN, NULL);
		cpu->resume_ts = 0;
	}
	charge(merge, cpu, ts);
	set_name(thread, partial, record->name);
	if (thread) {
		set_prio(thread, record->prio);
		thread->cpu = cpu->id;
		thread->is_dead |= record->flags & RECORD_DEAD;
	}
}

static void stay(struct merge *merge, struct cpu *cpu, const struct partial *partial,
		 const struct record *record, uint64_t ts)
{
	switch_in(merge, cpu, partial, record, ts);
	charge_as(merge, cpu, run_kind_of(cpu), record->a);
	cpu->since = ts + record->a;
	if (cpu->thread) {
		cpu->thread->is_dead |= record->flags & RECORD_DEAD;
	}
}

static void gap(struct merge *merge, struct cpu *cpu, uint64_t ts)
{
	struct thread *thread = cpu->state == CPU_KNOWN ? cpu->thread : NULL;

	charge(merge, cpu, ts);
	for_each_with(merge, on_gap, (merge, cpu, thread));
	if (cpu->nobody) {
		for_each_with(merge, on_anew, (merge, cpu->nobody)); /* somebody else */
	}
	set_current(cpu, CPU_UNKNOWN, NULL);
	cpu->resume_ts = 0;
	merge->window_has_gap = true;
}

static void fork_thread(struct merge *merge, const struct partial *partial,
			const struct record *record)
{
	struct thread *thread = rows_thread_fork(&merge->rows, record->tid);

	set_name(thread, partial, record->name);
	if (record->a != UINT64_MAX) {
		thread->view.pid = (int64_t)record->a;
	}
}

static void exec_thread(struct merge *merge, const struct partial *partial,
			const struct record *record)
{
	struct thread *thread = rows_thread_rename(&merge->rows, (int32_t)record->a, record->tid);

	set_name(thread, partial, record->name);
}

/* A statedump tells what was true before: it must not overwrite a name seen since. */
static void process_of(struct merge *merge, const struct partial *partial,
		       const struct record *record)
{
	struct thread *thread;

	if (record->tid == 0) {
		return;
	}
	thread = rows_thread(&merge->rows, record->tid);
	thread->view.pid = (int64_t)record->a;
	if (!thread->view.comm[0]) {
		set_name(thread, partial, record->name);
	}
}

/* Who runs on the CPU of @cpu at @ts; a thread of its own for "not known". */
static struct thread *current_thread(struct merge *merge, struct cpu *cpu, uint64_t ts)
{
	struct rows *rows = &merge->rows;
	struct thread **nobody = cpu ? &cpu->nobody : &rows->nobody;

	if (cpu && cpu->state == CPU_KNOWN && cpu->thread &&
	    (cpu->resume_ts == 0 || cpu->resume_ts <= ts)) {
		return cpu->thread;
	}
	if (!*nobody) {
		*nobody = rows_thread_nobody(rows, cpu ? cpu->id : UINT64_MAX);
	}
	return *nobody;
}

static void own_record(struct merge_stream *stream, const struct partial *partial,
		       const struct record *record, uint64_t ts)
{
	struct merge *merge = stream->merge;
	const struct analysis *analysis = merge->setup->analyses[record->owner];
	/* The idle thread makes no calls: if it seems so, the truth is not known. */
	struct thread *thread = record->tid == TID_CURRENT ? current_thread(merge, stream->cpu, ts)
				: record->tid == 0         ? current_thread(merge, NULL, ts)
							   : rows_thread(&merge->rows, record->tid);
	struct record at = *record;

	at.ts = ts;
	merge->running = record->owner;
	analysis->on_record(merge, &at, partial->numbers.at, stream->cpu, thread);
}

void automaton_record(struct merge_stream *stream, const struct partial *partial,
		      const struct record *record, uint64_t ts)
{
	struct merge *merge = stream->merge;
	struct cpu *cpu = stream->cpu;

	if (record->kind <= RECORD_GAP && !stream->owns_cpu) {
		return;
	}
	switch ((enum record_kind)record->kind) {
	case RECORD_IN:
		charge(merge, cpu, ts);
		switch_in(merge, cpu, partial, record, ts);
		break;
	case RECORD_OUT:
		switch_out(merge, cpu, partial, record, ts);
		break;
	case RECORD_STAY:
		charge(merge, cpu, ts);
		stay(merge, cpu, partial, record, ts);
		break;
	case RECORD_GAP:
		gap(merge, cpu, ts);
		break;
	case RECORD_FORK:
		fork_thread(merge, partial, record);
		break;
	case RECORD_EXEC:
		exec_thread(merge, partial, record);
		break;
	case RECORD_PROCESS:
		process_of(merge, partial, record);
		break;
	case RECORD_OWN:
	default:
		own_record(stream, partial, record, ts);
		break;
	}
}

/* ---- the first thread of a CPU ---- */

void automaton_head_unknown(struct merge *merge, struct cpu *cpu)
{
	assert(cpu->state == CPU_HEAD);
	assert(merge->heads > 0);
	merge->heads--;
	set_current(cpu, CPU_UNKNOWN, NULL);
}

void automaton_head(struct merge_stream *stream, const struct partial *partial)
{
	struct merge *merge = stream->merge;
	struct cpu *cpu = stream->cpu;
	struct thread *thread;

	if (!stream->owns_cpu || cpu->state != CPU_HEAD || partial->head_ts == UINT64_MAX) {
		return;
	}
	if (partial->head_tid == TID_CURRENT || partial->head_ts >= cpu->head_limit) {
		automaton_head_unknown(merge, cpu);
		return;
	}
	merge->heads--;
	thread = partial->head_tid == 0 ? NULL : rows_thread(&merge->rows, partial->head_tid);
	set_current(cpu, CPU_KNOWN, thread);
	if (thread) {
		set_name(thread, partial, partial->head_name);
		set_prio(thread, partial->head_prio);
		thread->cpu = cpu->id;
	}
	if (stream->identity.starts_late) {
		cpu->resume_ts = stream->identity.begin;
	}
}
