/*
 * recorded-file: see recorded.h; streams in files, packet by packet, across damage.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/process/foreign.h"
#include "ctf/clock.h"
#include "recorded/recorded.h"

/* The packet's magic number (CTF 1.8.3, 5.1), in both byte orders. */
static const uint8_t magic_le[4] = { 0xC1, 0x1F, 0xFC, 0xC1 };
static const uint8_t magic_be[4] = { 0xC1, 0xFC, 0x1F, 0xC1 };

/* The next magic number is looked for in a small block first: it is often near. */
#define SCAN_BYTES_MIN 4096
#define SCAN_BYTES     65536

/* ---- one packet ---- */

/* Reads up to @want bytes of the packet at @offset.  -ENODATA: its header is longer. */
static int read_head(struct recorded_file *file, const struct plan *plan, struct decoder *decoder,
		     uint64_t offset, size_t want, struct err *err)
{
	uint64_t left = file->size - offset;
	size_t len = left < want ? left : want;
	ssize_t got;

	if (len > file->head_room) {
		file->head = mem_realloc(file->head, len);
		file->head_room = len;
	}
	got = pread(file->fd, file->head, len, (off_t)offset);
	if (got < 0) {
		return err_raise(err, -errno, "%s", strerror(errno));
	}
	file->searched += file->is_searching ? len : 0;
	if ((size_t)got < len) {
		return err_raise(err, -EIO, "the file became shorter");
	}
	return packet_info_read(decoder, plan, file->head, len, left, &file->info, err);
}

/* Reads the header of the packet at @offset into file->info. */
static int read_info(struct recorded_file *file, const struct plan *plan, struct decoder *decoder,
		     uint64_t offset, struct err *err)
{
	size_t want = PACKET_HEAD_BYTES;
	int r;

	do {
		r = read_head(file, plan, decoder, offset, want, err);
		want *= 16;
	} while (r == -ENODATA && want <= PACKET_BYTES_MAX);
	if (r == 0 && !file->info.has_sizes && file->size - offset > PACKET_BYTES_MAX) {
		r = err_raise(err, -EPROTO, "a packet of %" PRIu64 " bytes, the limit is %" PRIu64,
			      file->size - offset, PACKET_BYTES_MAX);
	}
	return r;
}

/* ---- damage ---- */

static int read_index(struct recorded_part *part, struct err *err)
{
	int fd = foreign_open(part->index_path, 0, err);
	struct stat status;
	uint8_t *bytes;
	int r;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size > INDEX_BYTES_MAX) {
		if (fd >= 0) {
			(void)close(fd);
		}
		return err_raise(err, -ENOENT, "no readable index");
	}
	bytes = mem_alloc((size_t)status.st_size + 1);
	if (read(fd, bytes, (size_t)status.st_size) == status.st_size) {
		r = packet_index_parse(&part->index, bytes, (size_t)status.st_size, part->size,
				       err);
	} else {
		r = err_raise(err, -EIO, "it cannot be read");
	}
	if (r < 0) {
		packet_index_fini(&part->index);
	}
	free(bytes);
	(void)close(fd);
	return r;
}

/* Whether the search may go on.  Bytes that look like packets without end would otherwise cost the
 * square of their number. */
static bool may_search(const struct recorded_file *file)
{
	return file->searched / SEARCH_BYTES_FACTOR <= file->size + SEARCH_BYTES_MORE &&
	       !now_must_leave();
}

/* The place of the first magic number from @from on, or the size of the file. */
static uint64_t find_magic(struct recorded_file *file, uint64_t from)
{
	uint8_t block[SCAN_BYTES];
	size_t want = SCAN_BYTES_MIN;

	while (from < file->size && may_search(file)) {
		ssize_t got = pread(file->fd, block, want, (off_t)from);
		const uint8_t *at = block;

		want = SCAN_BYTES;
		file->searched += got > 0 ? (uint64_t)got : 0;
		if (got < (ssize_t)sizeof(magic_le)) {
			return file->size;
		}
		while ((at = memchr(at, magic_le[0], (size_t)(block + got - at)))) {
			if (block + got - at < (ssize_t)sizeof(magic_le)) {
				break;
			}
			if (memcmp(at, magic_le, sizeof(magic_le)) == 0 ||
			    memcmp(at, magic_be, sizeof(magic_be)) == 0) {
				return from + (uint64_t)(at - block);
			}
			at++;
		}
		from += (uint64_t)got - sizeof(magic_le) + 1;
	}
	return file->size;
}

/* The place of the next packet with a readable header, or the size of the file. */
static uint64_t find_packet(struct recorded_file *file, const struct plan *plan,
			    struct decoder *decoder)
{
	struct recorded_part *part = &file->parts.at[file->part];
	const struct index_entry *entry;
	uint64_t at = file->offset;
	struct err err;

	if (!part->has_looked) {
		part->has_looked = true;
		(void)read_index(part, &err); /* without an index: search magic numbers */
	}
	entry = packet_index_after(&part->index, file->offset);
	if (entry) {
		return entry->offset;
	}
	if (plan->slot_magic == SLOT_NONE) {
		return file->size;
	}
	file->is_searching = true;
	do {
		at = find_magic(file, at + 1);
	} while (at < file->size && read_info(file, plan, decoder, at, &err) < 0);
	file->is_searching = false;
	return at;
}

/* Records that the bytes from the file's offset to @next cannot be read. */
static void add_fault(struct recorded_file *file, const char *text, uint64_t next)
{
	const struct recorded_part *part = &file->parts.at[file->part];
	char *before = file->fault;

	assert(next > file->offset);
	if (file->is_shared && !file->is_first) {
		return;
	}
	if (before && strlen(before) > FAULT_TEXT_MAX) {
		return; /* long enough */
	}
	file->fault = mem_printf(
		"%s%s%s%sat byte %" PRIu64 " of the file: %s; %" PRIu64 " bytes cannot be read",
		before ? before : "", before ? "; " : "", file->part > 0 ? part->path : "",
		file->part > 0 ? ": " : "", file->offset, text, next - file->offset);
	free(before);
}

/* Goes to the next part; false: this was the last. */
static bool next_part(struct recorded_file *file)
{
	if (file->part + 1 >= file->parts.count) {
		return false;
	}
	file->part++;
	file->fd = file->parts.at[file->part].fd;
	file->size = file->parts.at[file->part].size;
	file->offset = 0;
	file->searched = 0;
	return true;
}

/* Whether two packets are of one stream, by the ids in them. */
static bool same_ids(const struct packet_info *left, const struct packet_info *right)
{
	return left->stream->id == right->stream->id && left->instance_id == right->instance_id &&
	       left->cpu_id == right->cpu_id;
}

/* Finds the first packet from the file's offset on. */
static void look(struct recorded_file *file, const struct plan *plan, struct decoder *decoder)
{
	for (;;) {
		uint64_t next;
		struct err err;
		bool is_cut;
		int r;

		if (file->offset >= file->size || now_must_leave()) {
			file->has_info = false;
			if (now_must_leave() || !next_part(file)) {
				return;
			}
			continue;
		}
		r = read_info(file, plan, decoder, file->offset, &err);
		is_cut = r == 0 && packet_info_cut(&file->info, file->size - file->offset);
		file->is_cut = false;
		if (r == 0 && file->is_shared && !same_ids(&file->info, &file->who)) {
			file->offset += file->info.size_bits / 8;
			continue;
		}
		if (r == 0 && !is_cut) {
			file->has_info = true;
			return;
		}
		file->has_other_uuid |= r == -EXDEV;
		next = find_packet(file, plan, decoder);
		if (is_cut && next == file->size) {
			/* The file ends within this packet: read it as far as it goes. */
			(void)read_info(file, plan, decoder, file->offset, &err);
			(void)packet_info_cut(&file->info, file->size - file->offset);
			file->has_info = file->is_cut = true;
			return;
		}
		add_fault(file, is_cut ? "the packet's size passes the end of the file" : err.text,
			  next);
		file->offset = next;
	}
}

void recorded_next(struct recorded_file *file, const struct plan *plan, struct decoder *decoder)
{
	assert(file->has_info);
	file->offset += file->info.size_bits / 8;
	look(file, plan, decoder);
}

bool recorded_go_to(struct recorded_file *file, const struct plan *plan, struct decoder *decoder,
		    uint32_t part, uint64_t offset)
{
	if (part >= file->parts.count || offset >= file->parts.at[part].size) {
		return false;
	}
	free(recorded_take_fault(file));
	file->part = part;
	file->fd = file->parts.at[part].fd;
	file->size = file->parts.at[part].size;
	file->offset = offset;
	file->searched = 0;
	look(file, plan, decoder);
	return file->has_info && file->part == part && file->offset == offset;
}

const uint8_t *recorded_map_file(struct recorded_part *part)
{
	if (!part->mapped && part->size > 0 && part->size <= SIZE_MAX) {
		void *at = mmap(NULL, part->size, PROT_READ, MAP_SHARED, part->fd, 0);

		part->mapped = at == MAP_FAILED ? NULL : at;
	}
	return part->mapped;
}

uint8_t *recorded_start(const struct recorded_file *file, const struct plan *plan,
			struct decoder *decoder, size_t most)
{
	size_t size = (size_t)(file->info.content_bits + 7) / 8;
	uint8_t *bytes;

	assert(file->has_info);
	size = size < most ? size : most;
	bytes = mem_alloc(size + 1);
	if (pread(file->fd, bytes, size, (off_t)file->offset) != (ssize_t)size) {
		free(bytes);
		return NULL;
	}
	decoder_start(decoder, plan, &file->info, bytes, size);
	return bytes;
}

char *recorded_take_fault(struct recorded_file *file)
{
	char *fault = file->fault;

	file->fault = NULL;
	return fault;
}

/* ---- opening ---- */

static void file_fini(struct recorded_file *file)
{
	VEC_EACH(&file->parts, part) {
		if (part->mapped) {
			(void)munmap(part->mapped, part->size);
		}
		(void)close(part->fd);
		free(part->path);
		free(part->index_path);
		packet_index_fini(&part->index);
	}
	vec_fini(&file->parts);
	free(file->name);
	free(file->fault);
	free(file->head);
}

/* So many packets of a file are looked at: if they are of one stream, all are. */
#define MIXED_PACKETS 64

typedef VEC(struct packet_info) packet_infos;

static bool has_ids(const packet_infos *all, const struct packet_info *info)
{
	for (size_t i = 0; i < all->count; i++) {
		if (same_ids(&all->at[i], info)) {
			return true;
		}
	}
	return false;
}

/* Goes back to the first packet. */
static void restart(struct recorded_file *file, const struct plan *plan, struct decoder *decoder)
{
	free(recorded_take_fault(file));
	file->offset = file->searched = 0;
	look(file, plan, decoder);
}

/* One packet of each stream that has packets in the file, at its first packet, which is left. */
static void find_streams(struct recorded_file *file, const struct plan *plan,
			 struct decoder *decoder, packet_infos *ret)
{
	for (size_t i = 0; file->has_info && (i < MIXED_PACKETS || ret->count > 1); i++) {
		if (!has_ids(ret, &file->info)) {
			*vec_push(ret) = file->info;
		}
		recorded_next(file, plan, decoder);
	}
}

/* Adds the file, which is at its first packet: once for each stream in it. */
static void add_file(struct recorded_files *files, struct recorded_file *file,
		     const struct plan *plan, struct decoder *decoder)
{
	packet_infos streams = { 0 };

	find_streams(file, plan, decoder, &streams);
	for (size_t i = 1; i < streams.count; i++) {
		struct recorded_part part = file->parts.at[0];
		struct recorded_file other = { .name = mem_strdup(file->name),
					       .size = part.size,
					       .is_shared = true,
					       .who = streams.at[i] };

		other.fd = part.fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
		if (part.fd < 0) {
			free(other.name);
			continue;
		}
		part.path = mem_strdup(part.path);
		part.index_path = mem_strdup(part.index_path);
		part.index = (struct packet_index){ 0 };
		part.has_looked = false;
		*vec_push(&other.parts) = part;
		look(&other, plan, decoder);
		*vec_push(&files->at) = other;
	}
	if (streams.count > 1) {
		file->is_shared = file->is_first = true;
		file->who = streams.at[0];
	}
	restart(file, plan, decoder);
	*vec_push(&files->at) = *file;
	vec_fini(&streams);
}

static int open_file(const char *dir, const char *name, const struct plan *plan,
		     struct decoder *decoder, struct recorded_files *files, struct err *err)
{
	struct recorded_part part = { .path = mem_printf("%s/%s", dir, name) };
	struct recorded_file file = { 0 };
	struct stat status = { 0 };

	part.fd = foreign_open(part.path, 0, err);
	if (part.fd < 0 || fstat(part.fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		int r = part.fd == -EINVAL || part.fd >= 0 ? 0 : part.fd; /* no stream at all */

		(void)(part.fd >= 0 && close(part.fd));
		free(part.path);
		return r;
	}
	part.index_path = mem_printf("%s/index/%s.idx", dir, name);
	part.size = (uint64_t)status.st_size;
	file.name = mem_strdup(name);
	file.fd = part.fd;
	file.size = part.size;
	*vec_push(&file.parts) = part;
	look(&file, plan, decoder);
	add_file(files, &file, plan, decoder);
	return 0;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int open_dir(const char *dir, const struct plan *plan, struct decoder *decoder,
		    struct recorded_files *files, struct err *err)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, visible, alphasort);
	int r = 0;

	if (count < 0) {
		return err_raise(err, -errno, "%s: %s", dir, strerror(errno));
	}
	for (int i = 0; i < count; i++) {
		if (r == 0 && strcmp(entries[i]->d_name, "metadata") != 0) {
			r = open_file(dir, entries[i]->d_name, plan, decoder, files, err);
		}
		free(entries[i]);
	}
	free(entries);
	return r;
}

/* ---- streams in several files ---- */

/* Whether two files hold the same stream. */
static bool same_stream(const struct recorded_file *a, const struct recorded_file *b)
{
	return a->has_info && b->has_info && same_ids(&a->info, &b->info) &&
	       (a->info.instance_id != UINT64_MAX || a->info.cpu_id != UINT64_MAX);
}

ORDER(by_time, struct recorded_file, UP(info.begin))

/* Makes file @i and all later files of the same stream one file with parts in order of time.  The
 * later ones become empty. */
static void take_parts(struct recorded_files *files, size_t i)
{
	struct recorded_files group = { 0 };

	assert(files->at.at[i].parts.count == 1);
	*vec_push(&group.at) = files->at.at[i];
	for (size_t k = i + 1; k < files->at.count; k++) {
		if (same_stream(&files->at.at[i], &files->at.at[k])) {
			*vec_push(&group.at) = files->at.at[k];
			memset(&files->at.at[k], 0, sizeof(files->at.at[k]));
		}
	}
	vec_sort(&group.at, by_time);
	for (size_t k = 1; k < group.at.count; k++) {
		struct recorded_file *part = &group.at.at[k];

		if (part->is_shared && !group.at.at[0].is_shared) {
			group.at.at[0].is_shared = true;
			group.at.at[0].who = group.at.at[0].info;
		}
		group.at.at[0].is_first |= part->is_first;
		*vec_push(&group.at.at[0].parts) = part->parts.at[0];
		part->parts.count = 0;
		file_fini(part); /* a fault at its start will be found again */
	}
	files->at.at[i] = group.at.at[0];
	vec_fini(&group.at);
}

/* Quadratic at most in streams times files: a trace has few streams, but many files if its session
 * was rotated hundreds of times. */
static void join_streams(struct recorded_files *files)
{
	size_t count = 0;

	for (size_t i = 0; i < files->at.count; i++) {
		if (files->at.at[i].parts.count > 0) {
			take_parts(files, i);
			files->at.at[count++] = files->at.at[i];
		}
	}
	files->at.count = count;
}

#define FIRST_EVENT_BYTES 65536

/* The time of the first packet, or of its first event; false: it has none. */
static bool first_time(const struct recorded_file *file, const struct plan *plan,
		       struct decoder *decoder, uint64_t *ret_cycles)
{
	struct ctf_event event = { 0 };
	uint8_t *bytes;
	bool has;

	*ret_cycles = file->info.begin;
	if (file->info.has_begin) {
		return true;
	}
	bytes = recorded_start(file, plan, decoder, FIRST_EVENT_BYTES);
	has = bytes && decoder_next(decoder, &event) > 0;
	*ret_cycles = event.cycles;
	free(bytes);
	return has;
}

static double offset_of(const struct clock_class *clock)
{
	return (double)clock->offset_s + (double)clock->offset / (double)clock->freq;
}

/* One clock, one offset: LTTng may sample it again for a later chunk.  That of the first chunk is
 * used, as it is by whoever followed the session live. */
static void take_first_offsets(const struct recorded_path *path, const struct metadata *types)
{
	struct metadata_stream *metadata = metadata_stream_new();
	const struct recorded_path first = { .name = path->name,
					     .dirs = { .at = path->dirs.at, .count = 1 } };
	struct err err;
	bool is_read = recorded_read_metadata(&first, metadata, &err) == 0;

	for (struct clock_class *clock = types->clocks; is_read && clock; clock = clock->next) {
		const struct clock_class *before =
			clock->name ? metadata_clock(metadata_stream_types(metadata), clock->name)
				    : NULL;

		if (!before || before->freq != clock->freq ||
		    (before->offset_s == clock->offset_s && before->offset == clock->offset)) {
			continue;
		}
		metadata_note(types->notes,
			      "the offsets of its clock differ by %.9f s between chunks: that of "
			      "the first one is used for all",
			      offset_of(clock) - offset_of(before));
		clock->offset_s = before->offset_s;
		clock->offset = before->offset;
	}
	metadata_stream_free(metadata);
}

/* The clock of a kernel's trace: its offset counts (recorded_join()). */
static void take_offset_of(const struct kin_clock *on, const struct metadata *types)
{
	for (struct clock_class *clock = types->clocks; clock; clock = clock->next) {
		if (clock->has_uuid && clock->freq == on->freq &&
		    memcmp(clock->uuid, on->uuid, sizeof(on->uuid)) == 0) {
			clock->offset_s = on->offset_s;
			clock->offset = on->offset;
		}
	}
}

static void place_clocks(struct recorded_files *files, const struct plan *plan,
			 struct decoder *decoder)
{
	for (size_t i = 0; i < files->at.count; i++) {
		const struct recorded_file *file = &files->at.at[i];
		uint64_t cycles;
		double seconds;

		if (file->has_info && file->info.stream->clock &&
		    first_time(file, plan, decoder, &cycles) &&
		    clock_place(plan->of, file->info.stream->clock, cycles, &seconds)) {
			metadata_note(plan->of->notes, CLOCK_PLACED_TEXT, seconds);
		}
	}
}

static bool have_other_uuid(const struct recorded_files *files)
{
	bool have = false;

	for (size_t i = 0; i < files->at.count; i++) {
		if (files->at.at[i].has_info) {
			return false;
		}
		have |= files->at.at[i].has_other_uuid;
	}
	return have;
}

int recorded_open_files(const struct recorded_path *path, const struct plan *plan,
			struct decoder *decoder, struct recorded_files *files, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < path->dirs.count; i++) {
		r = open_dir(path->dirs.at[i], plan, decoder, files, err);
	}
	if (r == 0) {
		join_streams(files);
		if (path->on.is_set) {
			take_offset_of(&path->on, plan->of);
		} else if (path->dirs.count > 1) {
			take_first_offsets(path, plan->of);
		}
		place_clocks(files, plan, decoder);
		for (size_t i = 0; i < path->notes.count; i++) {
			metadata_note(plan->of->notes, "%s", path->notes.at[i]);
		}
		files->have_other_uuid = have_other_uuid(files);
	}
	return r;
}

void recorded_files_fini(struct recorded_files *files)
{
	vec_fini_each(&files->at, file_fini);
}
