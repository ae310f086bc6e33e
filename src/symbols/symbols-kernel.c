/*
 * symbols-kernel: see symbols-kernel.h.
 */
#include "symbols/symbols-kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/mem.h"
#include "base/process/boot.h"
#include "symbols/kallsyms.h"

static bool has_release_of(const struct metadata *trace, const char *release)
{
	const struct env_entry *entry = metadata_env(trace, "kernel_release");

	return !entry || !entry->text || strcmp(entry->text, release) == 0;
}

/* Why the kernel of this host is not the one of the trace; NULL: it is. */
static const char *why_other(const struct metadata *trace)
{
	char text[BOOT_ID_BYTES];
	uint8_t boot[16];
	struct utsname host;

	boot_id(text);
	if (!metadata_uuid_of(text, boot) || uname(&host) < 0) {
		return "this host does not say which boot it is";
	}
	return metadata_has_clock(trace, boot) && has_release_of(trace, host.release)
		       ? NULL
		       : "the trace is not known to be of the present boot of this host";
}

bool symbols_kernel_is_other(const struct metadata *trace)
{
	return why_other(trace) != NULL;
}

static void look_here(struct symbols_kernel *kernel)
{
	const char *other = why_other(kernel->of);
	struct err err;

	kernel->has_looked = true;
	if (!other && kallsyms_read(KALLSYMS_HERE, &kernel->here, &err) < 0) {
		other = err.text;
	}
	if (other) {
		kernel->fault = mem_printf("the kernel: %s; --kallsyms FILE gives them, made on "
					   "the traced host as root: cat /proc/kallsyms >FILE",
					   other);
	}
}

const char *symbols_kernel_find(struct symbols_kernel *kernel, uint64_t address)
{
	if (kernel->given) {
		return functions_find(kernel->given, address);
	}
	if (!kernel->has_looked && kernel->of) {
		look_here(kernel);
	}
	return functions_find(&kernel->here, address);
}

void symbols_kernel_fini(struct symbols_kernel *kernel)
{
	functions_fini(&kernel->here);
	free(kernel->fault);
}
