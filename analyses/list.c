/*
 * list: the table of all analyses, from analyses.inc, which meson makes of its list.
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
