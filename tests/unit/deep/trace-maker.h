/*
 * trace-maker: writes a small kernel trace into a temporary directory.
 *
 *     maker_new ── (events ── maker_packet) ... ── maker_stream ── ... ── maker_free
 *
 * Events go to the packet that is made next, packets to the stream that is made next.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "recorded/recorded.h"

struct trace_maker {
	char dir[64];
	struct recorded_path path; /* of the trace */
	VEC(uint8_t) events, stream;
	VEC(char *) files;
	uint64_t begin, end; /* of the packet's events */
};

enum { MADE_RUNNABLE = 0, MADE_SLEEPS = 1, MADE_DEAD = 0x20, MADE_PREEMPTED = 0x100 };

struct trace_maker *maker_new(void);
void maker_free(struct trace_maker *maker); /* removes the trace */

void maker_switch(struct trace_maker *maker, uint64_t ts, int32_t prev, int64_t prev_state,
		  int32_t next);
void maker_waking(struct trace_maker *maker, uint64_t ts, int32_t tid);
/* syscall_entry_read and syscall_exit_read. */
void maker_read_entry(struct trace_maker *maker, uint64_t ts);
void maker_read_exit(struct trace_maker *maker, uint64_t ts);
/* An event "mark" with a number, and the same number as text. */
void maker_mark(struct trace_maker *maker, uint64_t ts, uint32_t number);

void maker_futex_entry(struct trace_maker *maker, uint64_t ts, uint64_t uaddr, int32_t op,
		       uint64_t uaddr2);
void maker_futex_exit(struct trace_maker *maker, uint64_t ts, int64_t ret);
/* futex_wait or futex_wake. */
void maker_futex2_entry(struct trace_maker *maker, uint64_t ts, bool is_wake, uint64_t uaddr,
			uint32_t flags);
void maker_futex2_exit(struct trace_maker *maker, uint64_t ts, bool is_wake, int64_t ret);
enum { MADE_TIMER_START, MADE_TIMER_CANCEL, MADE_TIMER_ENTRY, MADE_TIMER_EXIT };
/* @time: of a start or an entry, by the timer's clock. */
void maker_timer(struct trace_maker *maker, uint64_t ts, unsigned int what, uint64_t timer,
		 int64_t time);
/* mq_timedsend or mq_timedreceive. */
void maker_queue_entry(struct trace_maker *maker, uint64_t ts, bool is_send, int32_t descriptor,
		       uint64_t len);
void maker_queue_exit(struct trace_maker *maker, uint64_t ts, bool is_send, int64_t ret);

void maker_packet(struct trace_maker *maker, uint32_t cpu, uint64_t seq_num, uint64_t discarded);
void maker_stream(struct trace_maker *maker, const char *name);
