/*
 * boot: see boot.h.
 */
#include "base/process/boot.h"

#include <string.h>

#include "base/process/host-file.h"

void boot_id(char text[BOOT_ID_BYTES])
{
	(void)host_file_read("/proc/sys/kernel/random/boot_id", text, BOOT_ID_BYTES);
	text[strcspn(text, "\n")] = '\0';
}
