/*
 * list: the table of all analyses.  meson generates analyses.inc from its list of names.
 */
#include "engine/contract/analysis.h"

#define ANALYSIS(name) extern const struct analysis analysis_##name;
#include "analyses.inc"
#undef ANALYSIS

const struct analysis *const analyses[] = {
#define ANALYSIS(name) &analysis_##name,
#include "analyses.inc"
#undef ANALYSIS
	NULL,
};
