/*
 * recorded-scratch: see recorded-parts.h; where traces lie that are made of files.
 */
#include <stdlib.h>

#include "base/process/scratch.h"
#include "recorded/recorded-parts.h"

static struct scratch *scratch;

static void forget_scratch(void)
{
	scratch_free(scratch);
	scratch = NULL;
}

const char *recorded_scratch(struct err *err)
{
	if (!scratch) {
		scratch = scratch_new(err);
		if (!scratch) {
			return NULL;
		}
		(void)atexit(forget_scratch);
	}
	return scratch_dir(scratch);
}
