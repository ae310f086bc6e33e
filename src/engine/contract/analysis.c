/*
 * analysis: defaults for untrusted records and states; see analysis.h.
 */
#include "engine/contract/analysis-rare.h"

#include <assert.h>

#include "engine/contract/untrusted.h"

bool analysis_accepts(const struct analysis *analysis, const struct untrusted_record *untrusted)
{
	unsigned int kind = untrusted->record->kind;
	const struct record_shape *shape;

	assert(kind >= RECORD_OWN);
	if (!analysis->on_record) {
		return false;
	}
	if (analysis->accepts) {
		return analysis->accepts(untrusted);
	}
	if (!analysis->record_shapes) {
		return untrusted_has(untrusted, 0);
	}
	if (kind - RECORD_OWN >= analysis->record_shape_count) {
		return false;
	}
	shape = &analysis->record_shapes[kind - RECORD_OWN];
	if (!shape->exists || (untrusted->has_current && !shape->has_current)) {
		return false;
	}
	return shape->has_text ? untrusted_has_text(untrusted) : untrusted->count >= shape->words;
}

void analysis_checkpoint(const struct analysis *analysis, const struct checkpoint *checkpoint,
			 void *state)
{
	uint64_t *words = state;

	if (analysis->on_checkpoint) {
		analysis->on_checkpoint(checkpoint, state);
		return;
	}
	if (analysis->thread_state_fields) {
		codec_fields(checkpoint->codec, analysis->thread_state_fields, state);
		return;
	}
	for (size_t i = 0; i < analysis->thread_state_size / 8; i++) {
		codec_u64(checkpoint->codec, &words[i]);
	}
}

void analysis_check(const struct analysis *analysis)
{
	assert(analysis->name && analysis->summary);
	assert(analysis->tables[0].columns[0].key);
	assert((analysis->needs != NULL) == (analysis->need_count > 0));
	assert(!analysis->accepts || !analysis->record_shapes);
	assert(!analysis->on_checkpoint || !analysis->thread_state_fields);
	/* The default for states writes 64-bit words. */
	assert(analysis->on_checkpoint || analysis->thread_state_fields ||
	       analysis->thread_state_size % 8 == 0);
	assert((analysis->on_trace_checkpoint != NULL) == (analysis->trace_state_size > 0));
	assert((analysis->on_ordered != NULL) == (analysis->trace_state_size > 0));
	for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
		assert((analysis->tables[t].key == NULL) ==
		       (analysis->tables[t].scope == SCOPE_TRACE));
	}
}
