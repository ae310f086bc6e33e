/*
 * call-result: what the result of a system call says (doc/definitions.md, 4.5).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ERRNO_MAX 4095 /* Linux's: negative values beyond it are results */

/* The kernel's own codes by which a call begins again after a signal; no program sees them. */
static inline bool call_restarts(int64_t ret)
{
	return ret <= -512 && ret >= -516;
}

static inline bool call_failed(int64_t ret)
{
	return ret < 0 && ret >= -ERRNO_MAX && !call_restarts(ret);
}

/* Whether the call returns what the program had in a register when a signal came. */
static inline bool call_has_no_result(const char *call)
{
	return strcmp(call, "rt_sigreturn") == 0 || strcmp(call, "sigreturn") == 0;
}
