/*
 * thread-phase: see thread-phase.h.
 */
#include "kernel/thread-phase.h"

static const struct codec_field fields[] = {
	CODEC_FIELD(struct thread_phase, since),
	CODEC_FIELD(struct thread_phase, out_ts),
	CODEC_FIELD(struct thread_phase, cpu),
	CODEC_FIELD(struct thread_phase, phase),
	CODEC_FIELD(struct thread_phase, has_out),
	CODEC_FIELD(struct thread_phase, out_sleeps),
	CODEC_FIELD(struct thread_phase, out_dies),
	CODEC_FIELD(struct thread_phase, has_pending),
	CODEC_FIELD(struct thread_phase, is_tentative),
	CODEC_FIELD(struct thread_phase, is_lost),
	{ 0 },
};

void thread_phase_codec(struct codec *codec, struct thread_phase *thread)
{
	codec_fields(codec, fields, thread);
	if (!codec_check(codec, thread->phase < PHASES)) {
		*thread = (struct thread_phase){ 0 };
	}
}
