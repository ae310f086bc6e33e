/*
 * analysis: defaults for untrusted records and states; see analysis.h.
 */
#include "engine/contract/analysis-rare.h"

#include <assert.h>

#include "engine/contract/untrusted.h"

bool analysis_accepts(const struct analysis *analysis, const struct untrusted_record *untrusted)
{
	unsigned int kind = untrusted->record->kind;
	uint8_t words = 0;

	assert(kind >= RECORD_OWN);
	if (!analysis->on_record) {
		return false;
	}
	if (analysis->accepts) {
		return analysis->accepts(untrusted);
	}
	if (kind >= RECORD_KINDS) {
		return false;
	}
	if (analysis->record_words) {
		words = analysis->record_words[kind];
	}
	return words == RECORD_TEXT ? untrusted_has_text(untrusted) : untrusted->count >= words;
}

void analysis_checkpoint(const struct analysis *analysis, const struct checkpoint *checkpoint,
			 void *state)
{
	uint64_t *words = state;

	if (analysis->on_checkpoint) {
		analysis->on_checkpoint(checkpoint, state);
		return;
	}
	for (size_t i = 0; i < analysis->thread_state_size / sizeof(*words); i++) {
		codec_u64(checkpoint->codec, &words[i]);
	}
}

size_t analysis_thread_table(const struct analysis *analysis)
{
	size_t t = 0;

	while (t < TABLES_MAX && analysis->tables[t].scope != SCOPE_THREAD) {
		t++;
	}
	return t;
}

void analysis_check(const struct analysis *analysis)
{
	assert(analysis->name && analysis->summary);
	assert(analysis->tables[0].columns[0].key);
	assert((analysis->needs != NULL) == (analysis->need_count > 0));
	assert(!analysis->accepts || !analysis->record_words);
	/* The default for states writes 64-bit words. */
	assert(analysis->on_checkpoint || analysis->thread_state_size % sizeof(uint64_t) == 0);
	assert((analysis->on_trace_checkpoint != NULL) == (analysis->trace_state_size > 0));
	assert((analysis->on_ordered != NULL) == (analysis->trace_state_size > 0));
	for (size_t t = 0; t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
		assert((analysis->tables[t].key == NULL) ==
		       (analysis->tables[t].scope == SCOPE_TRACE));
	}
}
