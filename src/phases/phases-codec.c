/*
 * phases-codec: the state of phases in checkpoints; see phases.h.
 */
#include <float.h>

#include "base/limits.h"
#include "phases/phases-state.h"

static void series_codec(struct codec *codec, struct phases_series *series)
{
	uint8_t kind = (uint8_t)(series->is_share | (unsigned int)series->unit << 1);

	codec_text(codec, &series->name);
	codec_u8(codec, &kind);
	if (codec_check(codec, kind >> 1 <= UNIT_NS)) {
		series->is_share = kind & 1;
		series->unit = (enum unit)(kind >> 1);
	}
	codec_bool(codec, &series->is_counterpart);
	codec_real(codec, &series->scale, DBL_MAX);
	codec_real(codec, &series->sum, DBL_MAX);
	if (!codec_check(codec, series->name && series->scale >= 0)) {
		free(series->name);
		series->name = mem_strdup("?");
	}
}

static void cuts_codec(struct phases *phases, struct codec *codec)
{
	size_t count = codec_count(codec, phases->cuts.count, 16);
	uint64_t until = rolling_count(phases->rolling);

	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct phases_cut *cut = codec_at(codec, &phases->cuts, i);

		codec_u64(codec, &cut->slice);
		codec_u64(codec, &cut->stayed);
		(void)codec_check(codec, cut->slice < until);
	}
}

void phases_codec(struct phases *phases, struct codec *codec)
{
	size_t count = codec_count(codec, phases->series.count, 22);
	uint64_t slices;

	for (size_t i = 0; i < count && codec_check(codec, count <= ROLLING_SERIES_MAX); i++) {
		series_codec(codec, codec_at(codec, &phases->series, i));
	}
	rolling_codec(phases->rolling, codec);
	slices = rolling_count(phases->rolling);
	for (size_t i = 0; i < PHASES_ENDS; i++) {
		codec_u64(codec, &phases->ends[i]);
	}
	cuts_codec(phases, codec);
	codec_bool(codec, &phases->has_cpus);
	codec_u64(codec, &phases->number);
	codec_u64(codec, &phases->first);
	codec_u64(codec, &phases->begin);
	codec_u64(codec, &phases->end);
	codec_u64(codec, &phases->change);
	codec_u64(codec, &phases->changes);
	codec_real(codec, &phases->before, DBL_MAX);
	(void)codec_check(codec,
			  phases->begin <= phases->end && phases->change <= count &&
				  (phases->number > 0 ? phases->first < slices : slices == 0));
}

struct phases *phases_restore(struct phases *phases, struct codec *codec)
{
	if (codec->left == 0) {
		return phases;
	}
	phases_codec(phases, codec);
	if (codec->is_wrong || codec->left > 0) {
		phases_free(phases);
		return phases_new();
	}
	return phases;
}
