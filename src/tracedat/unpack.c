/*
 * unpack: see unpack.h.
 */
#include "tracedat/unpack.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"

enum unpack_method unpack_method_of(const char *name)
{
	return strcmp(name, "none") == 0 || !*name ? UNPACK_NONE
	       : strcmp(name, "zlib") == 0         ? UNPACK_ZLIB
	       : strcmp(name, "zstd") == 0         ? UNPACK_ZSTD
						   : UNPACK_OTHER;
}

static bool unpack_zlib(const uint8_t *from, size_t len, uint8_t *to, size_t to_len)
{
	struct libdeflate_decompressor *zlib = libdeflate_alloc_decompressor();
	size_t got = 0;
	bool is_done;

	if (!zlib) {
		mem_exhausted(to_len);
	}
	is_done =
		libdeflate_zlib_decompress(zlib, from, len, to, to_len, &got) == LIBDEFLATE_SUCCESS;
	libdeflate_free_decompressor(zlib);
	return is_done && got == to_len;
}

static bool unpack_frame(const void *from, size_t len, uint8_t *to, size_t to_len)
{
	size_t got = ZSTD_decompress(to, to_len, from, len);

	return !ZSTD_isError(got) && got == to_len;
}

/* trace-cmd leaves out the magic number of a frame where the library lets it, by a switch that is
 * not in the stable interface: it is put back. */
static bool unpack_zstd(const uint8_t *from, size_t len, uint8_t *to, size_t to_len)
{
	static const uint8_t magic[4] = { 0x28, 0xB5, 0x2F, 0xFD };
	bool is_done = len >= sizeof(magic) && memcmp(from, magic, sizeof(magic)) == 0 &&
		       unpack_frame(from, len, to, to_len);

	if (!is_done) {
		uint8_t *frame = mem_alloc(sizeof(magic) + len);

		memcpy(frame, magic, sizeof(magic));
		memcpy(frame + sizeof(magic), from, len);
		is_done = unpack_frame(frame, sizeof(magic) + len, to, to_len);
		free(frame);
	}
	return is_done;
}

bool unpack(enum unpack_method method, const uint8_t *from, size_t len, uint8_t *to, size_t to_len)
{
	return method == UNPACK_ZLIB   ? unpack_zlib(from, len, to, to_len)
	       : method == UNPACK_ZSTD ? unpack_zstd(from, len, to, to_len)
				       : false;
}
