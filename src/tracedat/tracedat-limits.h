/*
 * tracedat-limits: the bounds of what a trace.dat says, with their reasons; all others are in
 * base/limits.h.
 */
#pragma once

#include "base/limits.h"

/* A trace.dat of trace-cmd: a text of it, such as a format or the names of tasks, and a name; event
 * formats, of which kernels have 3000, and the bytes of all; names of tasks, of which a kernel
 * keeps 128 by default; options, of all sections together; buffers; CPUs; CPUs of all
 * buffers whose losses are told. */
#define TRACEDAT_TEXT_BYTES_MAX    ((uint64_t)4 << 20)
#define TRACEDAT_NAME_BYTES_MAX    4096
#define TRACEDAT_FORMATS_MAX       65536
#define TRACEDAT_FORMATS_BYTES_MAX ((size_t)64 << 20)
#define TRACEDAT_TASKS_MAX         65536
#define TRACEDAT_OPTIONS_MAX       65536
#define TRACEDAT_BUFFERS_MAX       256
#define TRACEDAT_CPUS_MAX          8192
#define TRACEDAT_LOST_MAX          65536
/* A section that is unpacked: the symbols of a kernel have 20 MB.  The smallest sub-buffer.  Chunks
 * of all CPUs of a buffer that are unpacked at a time: trace-cmd's have ten sub-buffers each. */
#define TRACEDAT_SECTION_BYTES_MAX ((uint64_t)256 << 20)
#define TRACEDAT_PAGE_BYTES_MIN    256
#define TRACEDAT_CHUNKS_BYTES_MAX  ((uint64_t)1 << 30)
