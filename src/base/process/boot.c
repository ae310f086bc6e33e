/*
 * boot: see boot.h.
 */
#include "base/process/boot.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void boot_id(char text[BOOT_ID_BYTES])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = fd >= 0 ? read(fd, text, BOOT_ID_BYTES - 1) : 0;

	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (fd >= 0) {
		(void)close(fd);
	}
}
