/*
 * missing: what a host lacks for recording the kernel, and what helps, in one line.
 */
#pragma once

#include "base/err.h"

/* @err: what lttng said when the first of the kernel's commands failed.  It is replaced by the
 * reason with what helps, if that is known. */
void missing_kernel(struct err *err);
