/*
 * check: assertions that only builds for development pay for.
 *
 * assert() states an invariant where its cost is lost in the noise, and it stays in release
 * builds.  assert_hot() states one on a path that runs once per event, and CHECKS_ON guards a
 * walk over a whole structure (x_check()).  Both are active in debug and sanitizer builds, where
 * meson defines SILLAGE_CHECKS; in a release build they are not evaluated.
 */
#pragma once

#include <assert.h>

#ifdef SILLAGE_CHECKS
#define CHECKS_ON     1
#define assert_hot(x) assert(x)
#else
#define CHECKS_ON     0
#define assert_hot(x) ((void)(0 && (x))) /* compiled, never evaluated */
#endif
