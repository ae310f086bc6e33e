/*
 * thread-phase: see thread-phase.h.
 */
#include "kernel/thread-phase.h"

void thread_phase_codec(struct codec *codec, struct thread_phase *thread)
{
	codec_each(codec, &thread->since, &thread->out_ts, &thread->cpu, &thread->phase,
		   &thread->has_out, &thread->out_sleeps, &thread->out_dies, &thread->has_pending);
	codec_each(codec, &thread->is_tentative, &thread->is_lost);
	if (!codec_check(codec, thread->phase < PHASES)) {
		*thread = (struct thread_phase){ 0 };
	}
}
