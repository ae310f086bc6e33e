/*
 * marks: a hostile index of a trace (src/index), whose hashes are right.
 *
 * What a hash would refuse is to be looked at, so hashes are put right first.  States are packed
 * with a checksum of zstd's; what is in them is checked as checkpoints are (partials.c).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/exchange/partial-file-frames.h"
#include "fuzz.h"
#include "index/index-file.h"
#include "index/index-parts.h"
#include "index/tiles.h"

/* Its own fields stay as they are but for those that tell versions and sizes. */
static void put_right(uint8_t *bytes, size_t size)
{
	struct codec read = { .at = bytes, .left = size };
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };
	struct index_header header = { 0 };

	index_header_codec(&read, &header);
	memcpy(header.magic, INDEX_MAGIC, sizeof(header.magic));
	header.version = INDEX_VERSION;
	header.state_version = PARTIAL_FILE_VERSION;
	header.bytes = size;
	header.sections = INDEX_SECTIONS;
	header.hash = 0;
	for (size_t i = 0; i < INDEX_SECTIONS; i++) {
		struct index_section *section = &header.section[i];

		if (section->at <= size && section->bytes <= size - section->at) {
			section->hash = index_hash(bytes + section->at, (size_t)section->bytes);
		}
	}
	index_header_codec(&codec, &header);
	header.hash = index_hash(out.bytes.at, out.bytes.count);
	out.bytes.count = 0;
	index_header_codec(&codec, &header);
	memcpy(bytes, out.bytes.at, out.bytes.count);
	vec_fini(&out.bytes);
}

static void read_all(const struct index_file *file)
{
	const index_marks *marks = index_file_marks(file);
	index_warnings warnings = { 0 };
	struct err err;

	(void)index_file_warnings(file, &warnings, &err);
	index_warnings_fini(&warnings);
	for (size_t i = 0; i < marks->count && i < 16; i++) {
		index_places places = { 0 };
		index_bytes state = { 0 };

		if (marks->at[i].size <= 1 << 20) {
			(void)index_file_state(file, i, &state, &err);
		}
		(void)index_file_places(file, i, &places, &err);
		vec_fini(&places);
		vec_fini(&state);
	}
}

static bool see_tile(void *user, const struct tile *tile)
{
	size_t *left = user;

	if (tile->begin >= tile->end || tile->count == 0) {
		abort();
	}
	return --*left > 0;
}

static void read_tiles(const struct index_file *file)
{
	struct index_tiles *tiles;
	struct err err;

	if (index_tiles_open(file, &tiles, &err) < 0) {
		return;
	}
	for (unsigned int by = TILES_ALL; by <= TILES_THREAD; by++) {
		unsigned int level = index_tiles_head(tiles)->finest + by;
		size_t left = 100;

		(void)index_tiles_read(tiles, level, 0, UINT64_MAX, (enum tiles_by)by, see_tile,
				       &left, &err);
	}
	index_tiles_free(tiles);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct index_file *file = NULL;
	struct err err = { 0 };
	uint8_t *bytes;
	int fd;

	if (size < INDEX_HEADER_BYTES_ALL) {
		return 0;
	}
	bytes = malloc(size);
	memcpy(bytes, data, size);
	put_right(bytes, size);
	fd = memfd_create("index", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
		abort();
	}
	if (index_file_open(fd, analyses, &file, &err) == 0) {
		read_all(file);
		read_tiles(file);
	} else if (!err.text[0]) {
		abort();
	}
	index_file_free(file);
	(void)close(fd);
	free(bytes);
	return 0;
}
