/*
 * boot: which boot of which machine this is.
 */
#pragma once

#include <stddef.h>

#define BOOT_ID_BYTES 64 /* "01234567-89ab-...", and a zero */

/* The kernel's own id of it, which tracers give their clocks; "": it is not known. */
void boot_id(char text[BOOT_ID_BYTES]);
