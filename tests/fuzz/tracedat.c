/*
 * tracedat: a hostile trace.dat (tracedat/tracedat.h), with all of its sub-buffers.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "fuzz.h"
#include "tracedat/pages.h"
#include "tracedat/tracedat.h"

#define BYTES_MAX  ((size_t)1 << 22) /* of packed sub-buffers, for each input */
#define PAGES_MAX  10000
#define BUFFER_MAX 16

static volatile uint8_t read_byte;

/* Reads what a CPU has; what a chunk says to be it has to be. */
static void read_pages(const struct tracedat *dat, const struct tracedat_buffer *buffer,
		       const struct tracedat_cpu *cpu, size_t *left)
{
	struct pages pages;
	const uint8_t *page = NULL;
	size_t len;
	struct err err;

	if (pages_begin(dat, buffer, cpu, &pages, &err) == 0) {
		pages.most = pages.most < BYTES_MAX ? pages.most : BYTES_MAX;
		while (*left > 0 && pages_next(&pages, &page, &len, &err) == 0 && page) {
			if (len == 0 || len > buffer->page_bytes) {
				abort();
			}
			read_byte = page[0];
			read_byte = page[len - 1];
			--*left;
		}
	}
	pages_fini(&pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace.dat", MFD_CLOEXEC);
	char *path = mem_printf("/proc/self/fd/%d", fd);
	struct tracedat dat;
	size_t left = PAGES_MAX;
	struct err err = { "" };

	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		abort();
	}
	if (tracedat_open(path, &dat, &err) < 0 && !err.text[0]) {
		abort();
	}
	for (size_t i = 0; i < dat.buffers.count && i < BUFFER_MAX; i++) {
		for (size_t k = 0; k < dat.buffers.at[i].cpus.count; k++) {
			read_pages(&dat, &dat.buffers.at[i], &dat.buffers.at[i].cpus.at[k], &left);
		}
	}
	tracedat_close(&dat);
	(void)close(fd);
	free(path);
	return 0;
}
