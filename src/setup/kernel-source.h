/*
 * kernel-source: which tracer records the kernel of this host.
 *
 * LTTng's needs lttng-modules, which are not everywhere.  The kernel's own (ftrace) needs a tracefs
 * that this user may write to.
 */
#pragma once

#include <stdbool.h>

enum kernel_source {
	KERNEL_BY_LTTNG,
	KERNEL_BY_FTRACE,
};

/* The words of --tracer, up to NULL. */
extern const char *const kernel_source_words[];

/*
 * What --tracer asks for; NULL and "auto": LTTng's where its modules are there, else ftrace where
 * this user may use it, else LTTng's, whose messages tell what is missing.  @root: where the host's
 * files are, "" outside of tests.
 */
enum kernel_source kernel_source_choose(const char *asked, const char *root);

/* Whether this user may record by ftrace: tracefs is there and may be written to, or may be mounted
 * by root. */
bool kernel_source_may_ftrace(const char *root);
