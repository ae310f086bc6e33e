/*
 * kallsyms: the functions of a kernel and of its modules, as the kernel lists them.
 *
 *     ffffffff81000000 T _text
 *     ffffffffc0401000 t nf_hook	[nf_tables]
 *
 * The list has no sizes.  A function goes up to the next symbol, of whatever kind; the last one of
 * a module up to the end of its page.
 */
#pragma once

#include "base/err.h"
#include "symbols/functions.h"

/* What the kernel of this host says. */
#define KALLSYMS_HERE "/proc/kallsyms"

/* -errno with the reason: it cannot be read, or is no such list; -EACCES: its addresses are hidden.
 * Any bytes may come. */
int kallsyms_read(const char *path, struct functions *ret, struct err *err);
