/*
 * thread-phase: see thread-phase.h.
 */
#include "kernel/thread-phase.h"

void thread_phase_codec(struct codec *codec, struct thread_phase *thread)
{
	codec_each(codec, &thread->since, &thread->cpu, &thread->phase, &thread->has_pending,
		   &thread->is_tentative, &thread->is_lost);
	if (!codec_check(codec, thread->phase < PHASES &&
					(!thread->has_pending || thread_phase_runs(thread)))) {
		*thread = (struct thread_phase){ 0 };
	}
}
