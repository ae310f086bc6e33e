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
#include "base/queue.h"
#include "symbols/symbols-file.h"
#include "symbols/symbols-here.h"
#include "symbols/symbols-kernel.h"

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

/* Of a process. */
struct images {
	struct list_node node; /* first: the list is of these */
	int64_t pid;
	bool has_dropped; /* there was no room for one that is there */
	VEC(struct image *) at;
};

HASH_MAP(images_of, struct images *)
HASH_MAP(builds_by, struct file_build *)
HASH_MAP(pids, bool)

struct symbols {
	struct images_of processes;
	struct list used;        /* the process that was used last is the last */
	bool has_forgotten;      /* those of a process */
	struct builds_by builds; /* by hash of path and identity */
	struct symbols_kernel kernel;
	bool has_asked, is_here; /* whether processes may be those of this host */
	struct pids looked;      /* processes that were looked for on this host */
	VEC(const char *) faults;
	size_t image_count, bytes; /* bytes: of files that were read */
};

/* ---- images ---- */

static struct images *find_images(const struct symbols *symbols, int64_t pid)
{
	struct images **at = images_of_get(&symbols->processes, (uint64_t)pid);

	return at ? *at : NULL;
}

/* Those of a process, made when new, as what was used last. */
static struct images *use_images(struct symbols *symbols, int64_t pid)
{
	bool is_new;
	struct images **at = images_of_put(&symbols->processes, (uint64_t)pid, &is_new);

	if (is_new) {
		*at = mem_alloc(sizeof(**at));
		(*at)->pid = pid;
	} else {
		list_remove(&symbols->used, &(*at)->node);
	}
	list_add(&symbols->used, &(*at)->node);
	return *at;
}

static void free_image(struct image *image)
{
	free(image->identity.link);
	free(image->path);
	free(image);
}

static void remove_image(struct symbols *symbols, struct images *images, size_t i)
{
	free_image(images->at.at[i]);
	memmove(images->at.at + i, images->at.at + i + 1,
		(--images->at.count - i) * sizeof(*images->at.at));
	symbols->image_count--;
}

/* Nobody says that a process has ended, so the images of the one that was used longest ago go. */
static void forget_images(struct symbols *symbols)
{
	struct images *images = (struct images *)symbols->used.first;

	symbols->image_count -= images->at.count;
	symbols->has_forgotten = true;
	(void)images_of_drop(&symbols->processes, (uint64_t)images->pid);
	list_remove(&symbols->used, &images->node);
	vec_free_each(&images->at, free_image);
	free(images);
}

/* The one that is there now. */
static struct image *image_at(const struct symbols *symbols, struct symbols_place place)
{
	const struct images *images = find_images(symbols, place.pid);

	for (size_t i = images ? images->at.count : 0; i-- > 0;) {
		if (images->at.at[i]->base == place.base && images->at.at[i]->until == UINT64_MAX) {
			return images->at.at[i];
		}
	}
	return NULL;
}

/* Makes room for one more of the process, in place of what is there no longer, the longest ago
 * first; false: all are there. */
static bool room_for_image(struct symbols *symbols, struct images *images)
{
	size_t oldest = 0;

	for (size_t i = 1; i < images->at.count; i++) {
		oldest = images->at.at[i]->until < images->at.at[oldest]->until ? i : oldest;
	}
	if (images->at.count >= SYMBOLS_IMAGES_OF_ONE_MAX) {
		if (images->at.at[oldest]->until == UINT64_MAX) {
			images->has_dropped = true;
			return false;
		}
		remove_image(symbols, images, oldest);
	}
	while (symbols->image_count >= SYMBOLS_IMAGES_MAX) {
		assert(symbols->used.first != &images->node);
		forget_images(symbols);
	}
	return true;
}

_Static_assert(SYMBOLS_IMAGES_OF_ONE_MAX < SYMBOLS_IMAGES_MAX, "another process has some");

void symbols_map(struct symbols *symbols, const struct symbols_mapping *mapping)
{
	struct image *image = image_at(symbols, mapping->place);
	uint64_t base = mapping->place.base, end = base + mapping->size;
	const char *path = mapping->path;
	size_t len = strnlen(path, mapping->path_len);
	struct images *images;

	if (end <= base || len == 0 || path[0] != '/') {
		return; /* [vdso], for one */
	}
	images = use_images(symbols, mapping->place.pid);
	if (image && strlen(image->path) == len && memcmp(image->path, path, len) == 0) {
		return; /* the state dump says it again */
	}
	if (image) {
		image->until = mapping->ts;
	}
	if (!room_for_image(symbols, images)) {
		return;
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

void symbols_inode(struct symbols *symbols, struct symbols_place place, uint64_t inode)
{
	struct image *image = image_at(symbols, place);

	if (image && !image->build && image->identity.id_len == 0 && !image->identity.link) {
		image->identity.inode = inode;
	}
}

/* ---- names ---- */

/* NULL: there are too many. */
static struct file_build *build_of(struct symbols *symbols, const struct image *image)
{
	const struct symbols_identity *is = &image->identity;
	uint64_t hash = hash_bytes(hash_text(0, image->path), is->id, is->id_len);
	struct file_build **at;

	hash = hash_bytes(hash_text(hash, is->link ? is->link : ""), &is->crc, sizeof(is->crc));
	hash = hash_bytes(hash, &is->inode, sizeof(is->inode));
	at = builds_by_get(&symbols->builds, hash);
	if (!at && symbols->builds.used >= SYMBOLS_IMAGES_MAX) {
		return NULL;
	}
	at = at ? at : builds_by_put(&symbols->builds, hash, NULL);
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
		*vec_push(&symbols->faults) = build->fault;
	}
}

/* The image that has the address at a time; NULL: none that is known. */
static struct image *image_of(const struct symbols *symbols, int64_t pid, uint64_t ts,
			      uint64_t address)
{
	const struct images *images = find_images(symbols, pid);

	for (size_t i = images ? images->at.count : 0; i-- > 0;) {
		struct image *image = images->at.at[i];

		if (address >= image->base && address < image->end && ts >= image->since &&
		    ts < image->until) {
			return image;
		}
	}
	return NULL;
}

static void take_here(void *user, const struct symbols_event *event)
{
	symbols_take(user, event);
}

static bool is_of_here(struct symbols *symbols)
{
	if (!symbols->has_asked) {
		symbols->has_asked = true;
		symbols->is_here = symbols_here_is_of(symbols->kernel.of);
	}
	return symbols->is_here;
}

/* Once for each, as far as there is room: what the trace says later counts as well. */
static void ask_process(struct symbols *symbols, int64_t pid, uint64_t ts)
{
	bool is_new;

	if (symbols->kernel.of && !find_images(symbols, pid) &&
	    symbols->looked.used < SYMBOLS_IMAGES_MAX) {
		(void)pids_put(&symbols->looked, (uint64_t)pid, &is_new);
		if (is_new && is_of_here(symbols)) {
			symbols_here_each(symbols->kernel.of, pid, ts, take_here, symbols);
		}
	}
}

const char *symbols_find(struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address)
{
	struct image *image;

	ask_process(symbols, pid, ts);
	image = image_of(symbols, pid, ts, address);
	if (!image) {
		return NULL;
	}
	(void)use_images(symbols, pid);
	image->build = image->build ? image->build : build_of(symbols, image);
	if (!image->build) {
		return NULL;
	}
	if (!image->build->has_looked) {
		look_for(symbols, image->build);
	}
	return image->build->file ? symbols_file_find(image->build->file, image->base, address)
				  : NULL;
}

const char *symbols_path(const struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address,
			 uint64_t *ret_base)
{
	const struct image *image = image_of(symbols, pid, ts, address);

	*ret_base = image ? image->base : 0;
	return image ? image->path : NULL;
}

const char *symbols_why(const struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address)
{
	const struct images *images = find_images(symbols, pid);
	const struct image *image = image_of(symbols, pid, ts, address);

	if (!image && images && images->has_dropped) {
		return "too many images are mapped in its process";
	}
	if (!image && !images && symbols->has_forgotten) {
		return "no state dump of its process is known: of too many images those of "
		       "processes that were used longest ago are forgotten";
	}
	return !image ? "no state dump says which file: lttng enable-event -u "
			"'lttng_ust_statedump:*', context vpid"
	       : image->build && image->build->fault ? image->build->fault
	       : image->build                        ? "its file has no function there"
						     : "too many files have functions";
}

void symbols_of_kernel(struct symbols *symbols, const struct functions *given,
		       const struct metadata *of)
{
	assert(!symbols->kernel.has_looked);
	symbols->kernel.given = given;
	symbols->kernel.of = of;
}

const char *symbols_find_kernel(struct symbols *symbols, uint64_t address)
{
	bool had_looked = symbols->kernel.has_looked;
	const char *name = symbols_kernel_find(&symbols->kernel, address);

	if (!had_looked && symbols->kernel.fault) {
		*vec_push(&symbols->faults) = symbols->kernel.fault;
	}
	return name;
}

#define FAULTS_SAID 3 /* one by one */

void symbols_say_faults(const struct symbols *symbols, void (*say)(void *user, const char *message),
			void *user)
{
	for (size_t i = 0; say && i < symbols->faults.count && i <= FAULTS_SAID; i++) {
		char *text = i < FAULTS_SAID ? mem_printf("no symbols of %s", symbols->faults.at[i])
					     : mem_strdup("no symbols of further files");

		say(user, text);
		free(text);
	}
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
	codec_u64(codec, &identity->inode);
}

static void codec_process(struct codec *codec, struct symbols *symbols, struct images *images)
{
	uint64_t pid = images ? (uint64_t)images->pid : 0;
	size_t count;

	codec_u64(codec, &pid);
	if (!codec_check(codec, !find_images(symbols, (int64_t)pid))) {
		return;
	}
	images = images ? images : use_images(symbols, (int64_t)pid);
	codec_bool(codec, &images->has_dropped);
	count = codec_count(codec, images->at.count, 60);
	for (size_t i = 0; i < count && codec_check(codec, count <= SYMBOLS_IMAGES_OF_ONE_MAX);
	     i++) {
		if (codec_reads(codec)) {
			*vec_push(&images->at) = mem_alloc(sizeof(struct image));
			symbols->image_count++;
		}
		codec_image(codec, images->at.at[i]);
	}
}

/* In the order of use, which goes on. */
void symbols_codec(struct codec *codec, struct symbols *symbols)
{
	size_t count = codec_count(codec, symbols->used.count, 13);
	struct list_node *at = symbols->used.first;

	codec_bool(codec, &symbols->has_forgotten);
	for (size_t i = 0; i < count && !codec->is_wrong; i++) {
		struct images *images = (struct images *)at;

		at = at ? at->after : NULL;
		codec_process(codec, symbols, images);
	}
	(void)codec_check(codec, symbols->image_count <= SYMBOLS_IMAGES_MAX);
}

/* ---- lifecycle ---- */

struct symbols *symbols_new(void)
{
	return mem_alloc(sizeof(struct symbols));
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
	pids_fini(&symbols->looked);
	vec_fini(&symbols->faults);
	symbols_kernel_fini(&symbols->kernel);
	free(symbols);
}
