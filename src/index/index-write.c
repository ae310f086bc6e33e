/*
 * index-write: writing an index; see index-file.h.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "engine/exchange/partial-file-frames.h"
#include "index/index-parts.h"

#define LEVEL 1 /* as in files of partials */

struct index_writer {
	FILE *file;
	int failure; /* errno of the first write that failed; 0: none did */
	uint64_t at; /* bytes that were written */
	ZSTD_CCtx *context;
	index_marks marks;
	struct codec_out places, tiles, blocks;
	size_t files; /* places of each mark */
	index_bytes packed;
};

static void put_all(struct index_writer *out, const void *bytes, size_t len)
{
	if (out->failure == 0 && len > 0 && fwrite(bytes, 1, len, out->file) != len) {
		out->failure = errno ? errno : EIO;
	}
	out->at += len;
}

struct index_writer *index_writer_new(FILE *file)
{
	static const uint8_t nothing[INDEX_HEADER_BYTES_ALL];
	struct index_writer *out = mem_alloc(sizeof(*out));

	out->file = file;
	out->context = ZSTD_createCCtx();
	if (!out->context) {
		abort(); /* as mem.c does */
	}
	(void)ZSTD_CCtx_setParameter(out->context, ZSTD_c_compressionLevel, LEVEL);
	(void)ZSTD_CCtx_setParameter(out->context, ZSTD_c_checksumFlag, 1);
	put_all(out, nothing, sizeof(nothing));
	return out;
}

void index_writer_free(struct index_writer *out)
{
	if (out) {
		(void)ZSTD_freeCCtx(out->context);
		vec_fini(&out->marks);
		vec_fini(&out->places.bytes);
		vec_fini(&out->tiles.bytes);
		vec_fini(&out->blocks.bytes);
		vec_fini(&out->packed);
		free(out);
	}
}

uint64_t index_writer_bytes(const struct index_writer *out)
{
	return out->at;
}

uint64_t index_writer_put(struct index_writer *out, const void *bytes, size_t len)
{
	uint64_t at = out->at;

	put_all(out, bytes, len);
	return at;
}

void index_writer_tiles(struct index_writer *out, struct index_tiles_head *head,
			tile_threads *threads, tile_lanes *lanes, tile_blocks *blocks)
{
	const struct analysis *const all[] = { head->analysis, NULL };
	struct codec codec = { .out = &out->tiles };

	assert(out->tiles.bytes.count == 0);
	index_tiles_codec(&codec, head, all, threads, lanes);
	codec.out = &out->blocks;
	VEC_EACH(blocks, block) {
		index_block_codec(&codec, block);
	}
	assert(out->blocks.bytes.count == blocks->count * INDEX_BLOCK_BYTES);
}

static void put_places(struct index_writer *out, struct index_mark *mark, index_places *places)
{
	size_t before = out->places.bytes.count;
	struct codec codec = { .out = &out->places };

	assert(out->marks.count == 0 || out->files == places->count);
	out->files = places->count;
	VEC_EACH(places, place) {
		index_place_codec(&codec, place);
	}
	assert(out->places.bytes.count == before + places->count * INDEX_PLACE_BYTES);
	mark->places = index_hash(out->places.bytes.at + before, out->places.bytes.count - before);
}

void index_writer_mark(struct index_writer *out, struct index_mark *mark, const uint8_t *state,
		       size_t size, index_places *places)
{
	size_t bound = ZSTD_compressBound(size), stored;

	assert(size > 0 && size <= PARTIAL_FILE_FRAME_BYTES_MAX);
	vec_reserve(&out->packed, bound);
	stored = ZSTD_compress2(out->context, out->packed.at, bound, state, size);
	if (ZSTD_isError(stored)) { /* the room suffices, so memory is short */
		out->failure = out->failure ? out->failure : ENOMEM;
		return;
	}
	mark->at = out->at;
	mark->stored = stored;
	mark->size = size;
	put_all(out, out->packed.at, stored);
	put_places(out, mark, places);
	*vec_push(&out->marks) = *mark;
}

static struct index_section put_section(struct index_writer *out, struct codec_out *bytes,
					uint64_t count)
{
	struct index_section section = { .at = out->at,
					 .bytes = bytes->bytes.count,
					 .count = count,
					 .hash = index_hash(bytes->bytes.at, bytes->bytes.count) };

	put_all(out, bytes->bytes.at, bytes->bytes.count);
	bytes->bytes.count = 0;
	return section;
}

/* The header, in place of the zeroes that were there. */
static void put_index_header(struct index_writer *out, struct index_header *header)
{
	struct codec_out bytes = { 0 };
	struct codec codec = { .out = &bytes };

	memcpy(header->magic, INDEX_MAGIC, sizeof(header->magic));
	header->version = INDEX_VERSION;
	header->state_version = PARTIAL_FILE_VERSION;
	header->bytes = out->at;
	header->sections = INDEX_SECTIONS;
	index_header_codec(&codec, header);
	assert(bytes.bytes.count == INDEX_HEADER_BYTES_ALL);
	header->hash = index_hash(bytes.bytes.at, bytes.bytes.count);
	bytes.bytes.count = 0;
	index_header_codec(&codec, header);
	if (out->failure == 0 && (fflush(out->file) != 0 || fseek(out->file, 0, SEEK_SET) != 0)) {
		out->failure = errno;
	}
	put_all(out, bytes.bytes.at, bytes.bytes.count);
	vec_fini(&bytes.bytes);
}

int index_writer_end(struct index_writer *out, const struct index_head *head,
		     index_warnings *warnings, struct err *err)
{
	struct index_header header = { 0 };
	struct index_head copy = *head;
	struct codec_out bytes = { 0 };
	struct codec codec = { .out = &bytes };

	index_head_codec(&codec, &copy, head->analyses);
	header.section[SECTION_SOURCES] = put_section(out, &bytes, head->sources.count);
	index_warnings_codec(&codec, warnings);
	header.section[SECTION_WARNINGS] = put_section(out, &bytes, warnings->count);
	VEC_EACH(&out->marks, mark) {
		index_mark_codec(&codec, mark);
	}
	header.section[SECTION_MARKS] = put_section(out, &bytes, out->marks.count);
	header.section[SECTION_PLACES] =
		put_section(out, &out->places, out->files * out->marks.count);
	header.section[SECTION_TILES] = put_section(out, &out->tiles, out->tiles.bytes.count > 0);
	header.section[SECTION_BLOCKS] =
		put_section(out, &out->blocks, out->blocks.bytes.count / INDEX_BLOCK_BYTES);
	put_index_header(out, &header);
	vec_fini(&bytes.bytes);
	if (out->failure == 0 && fflush(out->file) != 0) {
		out->failure = errno;
	}
	return out->failure == 0 ? 0 : err_raise(err, -out->failure, "%s", strerror(out->failure));
}
