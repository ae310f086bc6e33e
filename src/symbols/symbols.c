/*
 * symbols: see symbols.h.
 */
#include "symbols/symbols.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "symbols/symbols-file.h"

/* A file, or builds of it, once for all processes. */
struct file_build {
	char *path;
	struct symbols_identity identity;
	bool has_looked;
	struct symbols_file *file; /* NULL: it gives no names ... */
	char *fault;               /* ... for this reason */
};

struct image {
	uint64_t base, end, since, until; /* ns; until: UINT64_MAX: it is there */
	char *path;
	struct symbols_identity identity;
	struct file_build *build; /* NULL: not looked for */
};

struct images {
	VEC(struct image *) at;
};

HASH_MAP(images_of, struct images *)
HASH_MAP(builds_by, struct file_build *)

struct symbols {
	struct images_of processes;
	struct builds_by builds; /* by hash of path and identity */
	VEC(struct file_build *) faults;
	size_t image_count, bytes; /* bytes: of files that were read */
};

/* ---- images ---- */

static struct images *images_of_process(struct symbols *symbols, int64_t pid)
{
	struct images **at = images_of_put(&symbols->processes, (uint64_t)pid, NULL);

	if (!*at) {
		*at = mem_alloc(sizeof(**at));
	}
	return *at;
}

/* The one that is there now. */
static struct image *image_at(struct symbols *symbols, struct symbols_place place)
{
	struct images *images = images_of_process(symbols, place.pid);

	for (size_t i = images->at.count; i-- > 0;) {
		if (images->at.at[i]->base == place.base && images->at.at[i]->until == UINT64_MAX) {
			return images->at.at[i];
		}
	}
	return NULL;
}

void symbols_map(struct symbols *symbols, const struct symbols_mapping *mapping)
{
	struct images *images = images_of_process(symbols, mapping->place.pid);
	struct image *image = image_at(symbols, mapping->place);
	uint64_t base = mapping->place.base, end = base + mapping->size;
	const char *path = mapping->path;
	size_t len = strnlen(path, mapping->path_len);

	if (end <= base || len == 0 || path[0] != '/' ||
	    symbols->image_count >= SYMBOLS_IMAGES_MAX ||
	    images->at.count >= SYMBOLS_IMAGES_OF_ONE_MAX) {
		return; /* [vdso], for one */
	}
	if (image && strlen(image->path) == len && memcmp(image->path, path, len) == 0) {
		return; /* the state dump says it again */
	}
	if (image) {
		image->until = mapping->ts;
	}
	*vec_push(&images->at) = mem_alloc(sizeof(*image));
	*images->at.at[images->at.count - 1] =
		(struct image){ .base = base,
				.end = end,
				.since = image || !mapping->was_before ? mapping->ts : 0,
				.until = UINT64_MAX,
				.path = mem_printf("%.*s", (int)len, path) };
	symbols->image_count++;
}

void symbols_unmap(struct symbols *symbols, struct symbols_place place, uint64_t until)
{
	struct image *image = image_at(symbols, place);

	if (image) {
		image->until = until;
	}
}

void symbols_build_id(struct symbols *symbols, struct symbols_place place, const uint8_t *id,
		      size_t len)
{
	struct image *image = image_at(symbols, place);

	if (image && len <= SYMBOLS_ID_BYTES && !image->build) {
		memcpy(image->identity.id, id, len);
		image->identity.id_len = len;
	}
}

void symbols_debug_link(struct symbols *symbols, struct symbols_place place, const char *name,
			size_t len, uint32_t crc)
{
	struct image *image = image_at(symbols, place);

	if (image && !image->build && !image->identity.link) {
		image->identity.link = mem_printf("%.*s", (int)strnlen(name, len), name);
		image->identity.crc = crc;
	}
}

/* ---- names ---- */

static struct file_build *build_of(struct symbols *symbols, const struct image *image)
{
	const struct symbols_identity *is = &image->identity;
	uint64_t hash = hash_bytes(hash_text(0, image->path), is->id, is->id_len);
	struct file_build **at;

	hash = hash_bytes(hash_text(hash, is->link ? is->link : ""), &is->crc, sizeof(is->crc));
	at = builds_by_put(&symbols->builds, hash, NULL);
	if (!*at) {
		*at = mem_alloc(sizeof(**at));
		(*at)->path = mem_strdup(image->path);
		(*at)->identity = *is;
		(*at)->identity.link = is->link ? mem_strdup(is->link) : NULL;
	}
	return *at;
}

static void look_for(struct symbols *symbols, struct file_build *build)
{
	struct err err;

	build->has_looked = true;
	build->file = symbols->bytes < SYMBOLS_BYTES_MAX
			      ? symbols_file_open(build->path, &build->identity, &err)
			      : NULL;
	if (symbols->bytes >= SYMBOLS_BYTES_MAX) {
		(void)err_raise(&err, -E2BIG, "other files have too many symbols");
	}
	symbols->bytes += build->file ? symbols_file_bytes(build->file) : 0;
	if (!build->file) {
		build->fault = mem_printf("%s: %s", build->path, err.text);
		*vec_push(&symbols->faults) = build;
	}
}

/* The image that has the address at a time; NULL: none that is known. */
static struct image *image_of(const struct symbols *symbols, int64_t pid, uint64_t ts,
			      uint64_t address)
{
	struct images **images = images_of_get(&symbols->processes, (uint64_t)pid);

	for (size_t i = images ? (*images)->at.count : 0; i-- > 0;) {
		struct image *image = (*images)->at.at[i];

		if (address >= image->base && address < image->end && ts >= image->since &&
		    ts < image->until) {
			return image;
		}
	}
	return NULL;
}

const char *symbols_find(struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address)
{
	struct image *image = image_of(symbols, pid, ts, address);

	if (!image) {
		return NULL;
	}
	if (!image->build) {
		image->build = build_of(symbols, image);
	}
	if (!image->build->has_looked) {
		look_for(symbols, image->build);
	}
	return image->build->file ? symbols_file_find(image->build->file, image->base, address)
				  : NULL;
}

const char *symbols_why(const struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address)
{
	const struct image *image = image_of(symbols, pid, ts, address);

	return !image ? "no state dump says which file: lttng enable-event -u "
			"'lttng_ust_statedump:*', context vpid"
	       : image->build && image->build->fault ? image->build->fault
						     : "its file has no function there";
}

const char *symbols_next_fault(const struct symbols *symbols, size_t *at)
{
	return *at < symbols->faults.count ? symbols->faults.at[(*at)++]->fault : NULL;
}

/* ---- in files ---- */

static void codec_image(struct codec *codec, struct image *image)
{
	struct symbols_identity *identity = &image->identity;
	uint64_t len = identity->id_len;

	codec_each(codec, &image->base, &image->end, &image->since, &image->until, &len);
	codec_text(codec, &image->path);
	if (codec_check(codec, len <= SYMBOLS_ID_BYTES && image->path)) {
		identity->id_len = len;
		codec_bytes(codec, identity->id, len);
	}
	codec_text(codec, &identity->link);
	codec_u32(codec, &identity->crc);
}

static void codec_process(struct codec *codec, struct symbols *symbols, uint64_t pid)
{
	struct images *images;
	size_t count;

	codec_u64(codec, &pid);
	images = images_of_process(symbols, (int64_t)pid);
	count = codec_count(codec, images->at.count, 52);
	for (size_t i = 0; i < count && codec_check(codec, count <= SYMBOLS_IMAGES_OF_ONE_MAX);
	     i++) {
		if (codec_reads(codec)) {
			*vec_push(&images->at) = mem_alloc(sizeof(struct image));
			symbols->image_count++;
		}
		codec_image(codec, images->at.at[i]);
	}
}

ORDER_POINTERS(by_pid, struct images_of_entry, UP(key))

void symbols_codec(struct codec *codec, struct symbols *symbols)
{
	VEC(struct images_of_entry *) all = { 0 };
	size_t count = codec_count(codec, symbols->processes.used, 12);

	if (!codec_reads(codec)) {
		HASH_EACH(images_of, &symbols->processes, one) {
			*vec_push(&all) = one;
		}
		vec_sort(&all, by_pid);
	}
	for (size_t i = 0;
	     i < count && codec_check(codec, symbols->processes.used == i || !codec_reads(codec));
	     i++) {
		codec_process(codec, symbols, i < all.count ? all.at[i]->key : 0);
	}
	(void)codec_check(codec, symbols->image_count <= SYMBOLS_IMAGES_MAX);
	vec_fini(&all);
}

/* ---- lifecycle ---- */

struct symbols *symbols_new(void)
{
	return mem_alloc(sizeof(struct symbols));
}

static void free_image(struct image *image)
{
	free(image->identity.link);
	free(image->path);
	free(image);
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols) {
		return;
	}
	HASH_EACH(images_of, &symbols->processes, one) {
		vec_free_each(&one->value->at, free_image);
		free(one->value);
	}
	HASH_EACH(builds_by, &symbols->builds, one) {
		symbols_file_free(one->value->file);
		free(one->value->identity.link);
		free(one->value->fault);
		free(one->value->path);
		free(one->value);
	}
	images_of_fini(&symbols->processes);
	builds_by_fini(&symbols->builds);
	vec_fini(&symbols->faults);
	free(symbols);
}
