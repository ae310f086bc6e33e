/*
 * index-file: the form of its sections, and reading; see index-file.h.
 */
#include "index/index-file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "engine/contract/analysis-rare.h"
#include "engine/exchange/partial-file-frames.h"
#include "engine/exchange/partial-file.h"
#include "index/index-parts.h"

/* ---- the form ---- */

void index_header_codec(struct codec *codec, struct index_header *header)
{
	codec_bytes(codec, header->magic, sizeof(header->magic));
	codec_each(codec, &header->version, &header->state_version, &header->bytes,
		   &header->sections, &header->unused, &header->hash);
	for (size_t i = 0; i < INDEX_SECTIONS; i++) {
		struct index_section *section = &header->section[i];

		codec_each(codec, &section->at, &section->bytes, &section->count, &section->hash);
	}
}

/* The analysis of a name and form, among @all; NULL: there is none. */
static const struct analysis *index_file_analysis_codec(struct codec *codec,
							const struct analysis *of,
							const struct analysis *const *all)
{
	uint64_t form = of ? partial_file_form(of) : 0;
	char *name = of ? mem_strdup(of->name) : NULL;

	codec_text(codec, &name);
	codec_u64(codec, &form);
	while (*all && strcmp((*all)->name, name ? name : "") != 0) {
		all++;
	}
	free(name);
	return codec_check(codec, *all && partial_file_form(*all) == form) ? *all : NULL;
}

void index_head_codec(struct codec *codec, struct index_head *head,
		      const struct analysis *const *all)
{
	size_t count = 0;

	while (!codec_reads(codec) && head->analyses[count]) {
		count++;
	}
	count = codec_count(codec, count, 12);
	for (size_t i = 0; i < count && codec_check(codec, count < ANALYSES_MAX); i++) {
		const struct analysis *is =
			index_file_analysis_codec(codec, head->analyses[i], all);

		for (size_t k = 0; k < i; k++) {
			(void)codec_check(codec, head->analyses[k] != is);
		}
		if (codec_check(codec, is != NULL)) {
			head->analyses[i] = is;
		}
	}
	count = codec_count(codec, head->sources.count, 28);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct index_source *source = codec_at(codec, &head->sources, i);

		codec_text(codec, &source->name);
		codec_each(codec, &source->bytes, &source->mtime_ns, &source->hash);
	}
}

void index_warnings_codec(struct codec *codec, index_warnings *warnings)
{
	size_t count = codec_count(codec, warnings->count, 36);

	for (size_t i = 0; i < count && codec_check(codec, count <= INDEX_WARNINGS_MAX); i++) {
		struct index_warning *warning = codec_at(codec, warnings, i);

		codec_text(codec, &warning->what);
		codec_text(codec, &warning->message);
		codec_text(codec, &warning->stream_name);
		codec_each(codec, &warning->packet, &warning->begin, &warning->end);
	}
}

void index_mark_codec(struct codec *codec, struct index_mark *mark)
{
	codec_each(codec, &mark->until, &mark->done, &mark->ended, &mark->at, &mark->stored,
		   &mark->size, &mark->clock, &mark->places);
	codec_each(codec, &mark->warnings, &mark->given);
}

enum { PLACE_KNOWN = 1, PLACE_OVER = 2, PLACE_RENUMBERED = 4, PLACE_TOLD = 8 };

void index_place_codec(struct codec *codec, struct index_place *place)
{
	struct stream_facts *facts = &place->place.stream;
	uint32_t flags = (facts->is_known ? PLACE_KNOWN : 0) | (facts->is_over ? PLACE_OVER : 0) |
			 (facts->is_renumbered ? PLACE_RENUMBERED : 0) |
			 (facts->has_told_remedy ? PLACE_TOLD : 0);

	codec_each(codec, &place->place.offset, &place->hash, &facts->seq_num, &facts->end,
		   &place->place.part, &flags);
	facts->is_known = flags & PLACE_KNOWN;
	facts->is_over = flags & PLACE_OVER;
	facts->is_renumbered = flags & PLACE_RENUMBERED;
	facts->has_told_remedy = flags & PLACE_TOLD;
}

static void index_file_thread_codec(struct codec *codec, struct tile_thread *thread)
{
	uint8_t len = (uint8_t)strnlen(thread->comm, sizeof(thread->comm) - 1);

	codec_each(codec, &thread->id, &thread->pid, &thread->container, &len);
	if (codec_check(codec, len < sizeof(thread->comm))) {
		codec_bytes(codec, thread->comm, len);
	}
}

void index_tiles_codec(struct codec *codec, struct index_tiles_head *head,
		       const struct analysis *const *all, tile_threads *threads, tile_lanes *lanes)
{
	size_t count;

	head->analysis = index_file_analysis_codec(codec, head->analysis, all);
	codec_each(codec, &head->finest, &head->coarsest, &head->begin, &head->end);
	(void)codec_check(codec, head->finest <= head->coarsest &&
					 head->coarsest <= TILES_LEVEL_MAX &&
					 head->begin <= head->end && head->end < INT64_MAX);
	count = codec_count(codec, threads->count, 17);
	for (size_t i = 0; i < count && codec_check(codec, count <= INDEX_LANES_MAX); i++) {
		index_file_thread_codec(codec, codec_at(codec, threads, i));
	}
	count = codec_count(codec, lanes->count, 12);
	for (size_t i = 0; i < count && codec_check(codec, count <= INDEX_LANES_MAX); i++) {
		struct tile_lane *lane = codec_at(codec, lanes, i);

		codec_each(codec, &lane->thread, &lane->cpu);
		if (!codec_check(codec, lane->thread < threads->count)) {
			lane->thread = 0;
		}
	}
}

void index_block_codec(struct codec *codec, struct tile_block *block)
{
	uint64_t k = block->k;

	codec_each(codec, &block->first, &block->last, &block->at, &block->stored, &block->size,
		   &k);
	block->k = (uint8_t)k;
	(void)codec_check(codec, k < 64);
}

uint64_t index_hash(const uint8_t *bytes, size_t len)
{
	return hash_bytes(0, bytes, len);
}

void index_sources_fini(index_source_vec *sources)
{
	VEC_EACH(sources, source) {
		free(source->name);
	}
	vec_fini(sources);
}

void index_warnings_fini(index_warnings *warnings)
{
	VEC_EACH(warnings, warning) {
		free(warning->what);
		free(warning->message);
		free(warning->stream_name);
	}
	vec_fini(warnings);
}

/* ---- reading ---- */

struct index_file {
	int fd;
	struct index_header header;
	struct index_head head;
	index_marks marks;
};

const struct index_head *index_file_head(const struct index_file *in)
{
	return &in->head;
}

const index_marks *index_file_marks(const struct index_file *in)
{
	return &in->marks;
}

void index_file_free(struct index_file *in)
{
	if (in) {
		index_sources_fini(&in->head.sources);
		vec_fini(&in->marks);
		free(in);
	}
}

static int not_readable(struct err *err, const char *what)
{
	return err_raise(err, -EINVAL, "its %s cannot be read", what);
}

/* Bytes of the file, which has them: both were checked. */
static int read_bytes(const struct index_file *in, uint64_t at, size_t len, index_bytes *ret)
{
	vec_reserve(ret, len + 1);
	ret->count = len;
	return pread(in->fd, ret->at, len, (off_t)at) == (ssize_t)len ? 0 : -EINVAL;
}

/* All of a section. */
static int read_section(const struct index_file *in, enum index_section_kind kind, index_bytes *ret)
{
	const struct index_section *section = &in->header.section[kind];

	if (section->bytes > INDEX_SECTION_BYTES_MAX ||
	    read_bytes(in, section->at, (size_t)section->bytes, ret) < 0 ||
	    index_hash(ret->at, ret->count) != section->hash) {
		return -EINVAL;
	}
	return 0;
}

/* Sections lie one behind the other, up to the end of the file. */
static bool sections_fit(const struct index_header *header)
{
	uint64_t at = header->section[0].at;

	for (size_t i = 0; i < INDEX_SECTIONS; i++) {
		const struct index_section *section = &header->section[i];

		if (section->at != at || section->bytes > header->bytes - at) {
			return false;
		}
		at += section->bytes;
	}
	return at == header->bytes;
}

static int read_index_header(struct index_file *in, struct err *err)
{
	uint8_t bytes[INDEX_HEADER_BYTES_ALL];
	struct codec codec = { .at = bytes, .left = sizeof(bytes) };
	struct index_header *header = &in->header;
	struct stat status;

	if (fstat(in->fd, &status) < 0 ||
	    pread(in->fd, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		return not_readable(err, "header");
	}
	index_header_codec(&codec, header);
	memset(bytes + INDEX_HASH_AT, 0, sizeof(header->hash));
	if (memcmp(header->magic, INDEX_MAGIC, sizeof(header->magic)) != 0) {
		return err_raise(err, -EINVAL, "it is no index, or one that was never finished");
	}
	if (header->version != INDEX_VERSION || header->state_version != PARTIAL_FILE_VERSION) {
		return err_raise(err, -EINVAL, "another version of sillage made it");
	}
	if (header->hash != index_hash(bytes, sizeof(bytes)) ||
	    header->sections != INDEX_SECTIONS || header->bytes != (uint64_t)status.st_size ||
	    header->bytes < sizeof(bytes) || header->section[0].at < sizeof(bytes) ||
	    header->section[0].at > header->bytes || !sections_fit(header)) {
		return not_readable(err, "header");
	}
	return 0;
}

static int read_head(struct index_file *in, const struct analysis *const *all, struct err *err)
{
	index_bytes bytes = { 0 };
	int r = read_section(in, SECTION_SOURCES, &bytes);
	struct codec codec = { .at = bytes.at, .left = bytes.count };

	if (r == 0) {
		index_head_codec(&codec, &in->head, all);
	}
	vec_fini(&bytes);
	return r < 0 || codec.is_wrong || codec.left > 0
		       ? err_raise(err, -EINVAL, "it was made with other analyses, or is damaged")
		       : 0;
}

/* Bytes that lie between the header and the sections. */
static bool lies_before_sections(const struct index_file *in, uint64_t at, uint64_t stored,
				 uint64_t size)
{
	uint64_t end = in->header.section[0].at;

	return at >= INDEX_HEADER_BYTES_ALL && at <= end && stored <= end - at && size > 0 &&
	       stored <= ZSTD_compressBound((size_t)size);
}

static bool mark_is_right(const struct index_file *in, const struct index_mark *mark)
{
	return lies_before_sections(in, mark->at, mark->stored, mark->size) &&
	       mark->size <= PARTIAL_FILE_FRAME_BYTES_MAX && mark->warnings <= INDEX_WARNINGS_MAX &&
	       mark->warnings <= mark->given;
}

static int read_marks(struct index_file *in, struct err *err)
{
	const struct index_section *section = &in->header.section[SECTION_MARKS];
	index_bytes bytes = { 0 };
	int r = section->count == section->bytes / INDEX_MARK_BYTES &&
				section->bytes % INDEX_MARK_BYTES == 0
			? read_section(in, SECTION_MARKS, &bytes)
			: -EINVAL;
	struct codec codec = { .at = bytes.at, .left = bytes.count };
	uint64_t before = 0;

	for (uint64_t i = 0; r == 0 && i < section->count; i++) {
		struct index_mark *mark = vec_push(&in->marks);

		*mark = (struct index_mark){ 0 };
		index_mark_codec(&codec, mark);
		r = mark_is_right(in, mark) && mark->until >= before ? 0 : -EINVAL;
		before = mark->until;
	}
	vec_fini(&bytes);
	return r < 0 ? not_readable(err, "marks") : 0;
}

int index_file_open(int fd, const struct analysis *const *all, struct index_file **ret,
		    struct err *err)
{
	struct index_file *in = mem_alloc(sizeof(*in));
	int r;

	in->fd = fd;
	r = read_index_header(in, err);
	r = r < 0 ? r : read_head(in, all, err);
	r = r < 0 ? r : read_marks(in, err);
	if (r < 0) {
		index_file_free(in);
		return r;
	}
	*ret = in;
	return 0;
}

/* Blocks are in order of levels, and of tiles; tiles lie in the time that the head says. */
static bool block_is_right(const struct index_file *in, const struct index_tiles_head *head,
			   const struct tile_block *before, const struct tile_block *block)
{
	bool is_next = before && before->k == block->k;

	return lies_before_sections(in, block->at, block->stored, block->size) &&
	       block->size <= INDEX_BLOCK_BYTES_MAX && block->k >= head->finest &&
	       block->k <= head->coarsest && (block->k - head->finest) % 2 == 0 &&
	       (!before || before->k <= block->k) && block->first <= block->last &&
	       block->last <= head->end >> block->k && block->first >= head->begin >> block->k &&
	       (!is_next || before->last < block->first);
}

static int index_file_read_blocks(const struct index_file *in, const struct index_tiles_head *head,
				  tile_blocks *ret)
{
	const struct index_section *section = &in->header.section[SECTION_BLOCKS];
	index_bytes bytes = { 0 };
	int r = section->bytes / INDEX_BLOCK_BYTES == section->count &&
				section->bytes % INDEX_BLOCK_BYTES == 0
			? read_section(in, SECTION_BLOCKS, &bytes)
			: -EINVAL;
	struct codec codec = { .at = bytes.at, .left = bytes.count };

	for (uint64_t i = 0; r == 0 && i < section->count; i++) {
		struct tile_block block = { 0 };

		index_block_codec(&codec, &block);
		r = !codec.is_wrong &&
				    block_is_right(in, head, i > 0 ? &ret->at[i - 1] : NULL, &block)
			    ? 0
			    : -EINVAL;
		*vec_push(ret) = block;
	}
	vec_fini(&bytes);
	return r;
}

int index_file_tiles(const struct index_file *in, struct index_tiles_head *ret,
		     tile_threads *ret_threads, tile_lanes *ret_lanes, tile_blocks *ret_blocks,
		     struct err *err)
{
	index_bytes bytes = { 0 };
	struct codec codec;
	int r;

	if (in->header.section[SECTION_TILES].bytes == 0) {
		return err_raise(err, -ENOENT, "it has no tiles");
	}
	r = read_section(in, SECTION_TILES, &bytes);
	codec = (struct codec){ .at = bytes.at, .left = bytes.count };
	if (r == 0) {
		index_tiles_codec(&codec, ret, in->head.analyses, ret_threads, ret_lanes);
		r = codec.is_wrong || codec.left > 0 ||
				    analysis_rare(ret->analysis)->on_spans_end == NULL
			    ? -EINVAL
			    : index_file_read_blocks(in, ret, ret_blocks);
	}
	vec_fini(&bytes);
	return r < 0 ? not_readable(err, "tiles") : 0;
}

static int index_file_unpack(const struct index_file *in, uint64_t at, uint64_t stored,
			     uint64_t size, index_bytes *ret)
{
	index_bytes packed = { 0 };
	int r = read_bytes(in, at, (size_t)stored, &packed);
	size_t got = 0;

	if (r == 0) {
		vec_reserve(ret, (size_t)size);
		got = ZSTD_decompress(ret->at, (size_t)size, packed.at, packed.count);
		r = ZSTD_isError(got) || got != size ? -EINVAL : 0;
	}
	vec_fini(&packed);
	ret->count = r == 0 ? got : 0;
	return r;
}

int index_file_block(const struct index_file *in, const struct tile_block *block, index_bytes *ret,
		     struct err *err)
{
	return index_file_unpack(in, block->at, block->stored, block->size, ret) < 0
		       ? not_readable(err, "tiles")
		       : 0;
}

int index_file_state(const struct index_file *in, size_t mark, index_bytes *ret, struct err *err)
{
	const struct index_mark *of = &in->marks.at[mark];

	assert(mark < in->marks.count);
	return index_file_unpack(in, of->at, of->stored, of->size, ret) < 0
		       ? not_readable(err, "states")
		       : 0;
}

int index_file_places(const struct index_file *in, size_t mark, index_places *ret, struct err *err)
{
	const struct index_section *section = &in->header.section[SECTION_PLACES];
	uint64_t marks = in->marks.count, files = marks > 0 ? section->count / marks : 0;
	size_t row = (size_t)files * INDEX_PLACE_BYTES;
	index_bytes bytes = { 0 };
	struct codec codec;
	int r = -EINVAL;

	assert(mark < marks);
	if (files * marks == section->count &&
	    section->bytes / INDEX_PLACE_BYTES == section->count &&
	    section->bytes % INDEX_PLACE_BYTES == 0 && row <= INDEX_SECTION_BYTES_MAX) {
		r = read_bytes(in, section->at + mark * row, row, &bytes);
	}
	if (r < 0 || index_hash(bytes.at, bytes.count) != in->marks.at[mark].places) {
		vec_fini(&bytes);
		return not_readable(err, "places");
	}
	codec = (struct codec){ .at = bytes.at, .left = bytes.count };
	for (uint64_t i = 0; i < files; i++) {
		struct index_place *place = vec_push(ret);

		*place = (struct index_place){ 0 };
		index_place_codec(&codec, place);
	}
	vec_fini(&bytes);
	return 0;
}

int index_file_warnings(const struct index_file *in, index_warnings *ret, struct err *err)
{
	index_bytes bytes = { 0 };
	int r = read_section(in, SECTION_WARNINGS, &bytes);
	struct codec codec = { .at = bytes.at, .left = bytes.count };

	if (r == 0) {
		index_warnings_codec(&codec, ret);
	}
	vec_fini(&bytes);
	return r < 0 || codec.is_wrong || codec.left > 0 ? not_readable(err, "warnings") : 0;
}
