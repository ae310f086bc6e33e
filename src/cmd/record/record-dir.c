/*
 * record-dir: see record-dir.h.
 */
#include "cmd/record/record-dir.h"

#include <assert.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ctf/packet-index.h"

struct record_file {
	int fd;
	uint64_t len; /* of what is whole */
};

struct record_stream {
	struct record_file packets, index;
};

struct record_dir {
	char *path; /* of the trace: DIR/kernel */
	struct record_file metadata;
	VEC(struct record_stream) streams; /* by CPU */
	uint64_t bytes;
};

/* ---- files ---- */

/* What is behind was not written whole.  A disk that refuses even that leaves it. */
static void cut_file(int fd, uint64_t len)
{
	int r = ftruncate(fd, (off_t)len);

	(void)r;
}

static int create_file(const char *dir, const char *name, struct record_file *file, struct err *err)
{
	char *path = mem_printf("%s/%s", dir, name);
	int r = 0;

	*file = (struct record_file){ .fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
						 0666) };
	if (file->fd < 0) {
		r = err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	free(path);
	return r;
}

/* Writes all of it, or nothing. */
static int append_whole(const struct record_dir *dir, struct record_file *file, const void *bytes,
			size_t len, struct err *err)
{
	const char *at = bytes;
	size_t left = len;

	while (left > 0) {
		ssize_t done = write(file->fd, at, left);

		if (done < 0 && errno == EINTR) {
			continue;
		}
		if (done < 0) {
			int code = -errno;

			cut_file(file->fd, file->len);
			return err_raise(err, code, "%s: %s; what was written before is whole",
					 dir->path, strerror(-code));
		}
		at += done;
		left -= (size_t)done;
	}
	file->len += len;
	return 0;
}

/* ---- the directory ---- */

static bool is_empty_dir(const char *path)
{
	DIR *list = opendir(path);
	const struct dirent *entry;
	bool is = list;

	while (list && (entry = readdir(list))) {
		is = is && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
	}
	if (list) {
		(void)closedir(list);
	}
	return is;
}

int record_dir_make(const char *path, struct err *err)
{
	if (mkdir(path, 0777) == 0) {
		return 1;
	}
	if (errno == EEXIST && is_empty_dir(path)) {
		return 0;
	}
	return errno == EEXIST ? err_raise(err, -EEXIST,
					   "%s is there, and not empty: name another with -o", path)
			       : err_raise(err, -errno, "%s: %s", path, strerror(errno));
}

int record_dir_new(const char *path, struct record_dir **ret, struct err *err)
{
	struct record_dir *dir = mem_alloc(sizeof(*dir));
	char *index;
	int r = 0;

	dir->path = mem_printf("%s/kernel", path);
	dir->metadata.fd = -1;
	index = mem_printf("%s/index", dir->path);
	if (mkdir(dir->path, 0777) < 0 || mkdir(index, 0777) < 0) {
		r = err_raise(err, -errno, "%s: %s", dir->path, strerror(errno));
	}
	r = r < 0 ? r : create_file(dir->path, "metadata", &dir->metadata, err);
	free(index);
	if (r < 0) {
		record_dir_free(dir);
		return r;
	}
	*ret = dir;
	return 0;
}

static void close_file(const struct record_file *file)
{
	if (file->fd >= 0) {
		(void)close(file->fd);
	}
}

void record_dir_free(struct record_dir *dir)
{
	if (!dir) {
		return;
	}
	VEC_EACH(&dir->streams, stream) {
		close_file(&stream->packets);
		close_file(&stream->index);
	}
	close_file(&dir->metadata);
	vec_fini(&dir->streams);
	free(dir->path);
	free(dir);
}

uint64_t record_dir_bytes(const struct record_dir *dir)
{
	return dir->bytes;
}

int record_dir_metadata(void *user, const char *text, size_t len, struct err *err)
{
	struct record_dir *dir = user;

	dir->bytes += len;
	return append_whole(dir, &dir->metadata, text, len, err);
}

/* ---- packets ---- */

static int open_stream(struct record_dir *dir, struct record_stream *stream, uint32_t cpu,
		       struct err *err)
{
	uint8_t head[INDEX_HEADER_BYTES];
	char name[64];
	int r;

	(void)snprintf(name, sizeof(name), "channel0_%u", cpu);
	r = create_file(dir->path, name, &stream->packets, err);
	if (r == 0) {
		(void)snprintf(name, sizeof(name), "index/channel0_%u.idx", cpu);
		r = create_file(dir->path, name, &stream->index, err);
	}
	if (r == 0) {
		packet_index_put_header(head);
		r = append_whole(dir, &stream->index, head, sizeof(head), err);
	}
	return r;
}

int record_dir_packet(void *user, const struct convert_packet *packet, struct err *err)
{
	struct record_dir *dir = user;
	struct record_stream *stream;
	uint8_t entry[INDEX_ENTRY_BYTES];
	int r = 0;

	while (dir->streams.count <= packet->cpu) {
		*vec_push(&dir->streams) = (struct record_stream){ { -1, 0 }, { -1, 0 } };
	}
	stream = &dir->streams.at[packet->cpu];
	if (stream->packets.fd < 0) {
		r = open_stream(dir, stream, packet->cpu, err);
	}
	packet_index_put(entry, &(struct index_facts){ .offset = stream->packets.len,
						       .packet_bits = packet->len * 8,
						       .content_bits = packet->content_bits,
						       .begin = packet->begin,
						       .end = packet->end,
						       .discarded = packet->discarded,
						       .instance_id = packet->cpu,
						       .seq_num = packet->seq });
	r = r < 0 ? r : append_whole(dir, &stream->packets, packet->bytes, packet->len, err);
	if (r == 0) {
		r = append_whole(dir, &stream->index, entry, sizeof(entry), err);
		if (r < 0) { /* one that the index does not have is none */
			cut_file(stream->packets.fd, stream->packets.len - packet->len);
		}
	}
	dir->bytes += packet->len;
	return r;
}

/* ---- after a kill ---- */

/* Bytes of the stream that whole entries of its index tell of. */
static uint64_t indexed_bytes(int fd)
{
	uint8_t entry[INDEX_ENTRY_BYTES];
	off_t len = lseek(fd, 0, SEEK_END);
	off_t count = (len - INDEX_HEADER_BYTES) / INDEX_ENTRY_BYTES;
	uint64_t offset, bits;

	if (len < INDEX_HEADER_BYTES + INDEX_ENTRY_BYTES ||
	    ftruncate(fd, INDEX_HEADER_BYTES + count * INDEX_ENTRY_BYTES) < 0 ||
	    pread(fd, entry, sizeof(entry), INDEX_HEADER_BYTES + (count - 1) * INDEX_ENTRY_BYTES) !=
		    sizeof(entry)) {
		return 0;
	}
	memcpy(&offset, entry, sizeof(offset));
	memcpy(&bits, entry + sizeof(offset), sizeof(bits));
	return be64toh(offset) + be64toh(bits) / 8;
}

static void repair_stream(const char *path, const char *name)
{
	char *file = mem_printf("%s/kernel/%s", path, name);
	char *index = mem_printf("%s/kernel/index/%s.idx", path, name);
	int fd = open(index, O_RDWR | O_CLOEXEC);
	struct stat stat;
	bool has_index = fd >= 0;
	uint64_t whole = has_index ? indexed_bytes(fd) : 0;

	if (has_index) {
		(void)close(fd);
	}
	fd = has_index ? open(file, O_RDWR | O_CLOEXEC) : -1;
	if (fd >= 0) {
		if (fstat(fd, &stat) == 0 && (uint64_t)stat.st_size > whole) {
			cut_file(fd, whole);
		}
		(void)close(fd);
	}
	free(index);
	free(file);
}

/* Text comes in whole declarations, each of which ends so. */
static void repair_metadata(const char *path)
{
	enum { TAIL = 1 << 16 };
	static const char end[] = "};\n\n";
	char *file = mem_printf("%s/kernel/metadata", path), *text = mem_alloc(TAIL);
	int fd = open(file, O_RDWR | O_CLOEXEC);
	off_t len = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0, from = len > TAIL ? len - TAIL : 0;
	ssize_t got = len > 0 ? pread(fd, text, TAIL, from) : 0;

	for (ssize_t i = got - (ssize_t)strlen(end); i >= 0; i--) {
		if (memcmp(text + i, end, strlen(end)) == 0) {
			cut_file(fd, (uint64_t)from + (uint64_t)i + strlen(end));
			break;
		}
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	free(text);
	free(file);
}

/* The trace of a directory; false: it has none. */
static bool repair_trace(const char *path)
{
	char *trace = mem_printf("%s/kernel", path);
	DIR *list = opendir(trace);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, "channel0_", strlen("channel0_")) == 0) {
			repair_stream(path, entry->d_name);
		}
	}
	free(trace);
	if (!list) {
		return false;
	}
	(void)closedir(list);
	repair_metadata(path);
	return true;
}

void record_dir_repair(const char *path)
{
	DIR *list = repair_trace(path) ? NULL : opendir(path);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, RECORD_DIR_SNAPSHOT, strlen(RECORD_DIR_SNAPSHOT)) == 0) {
			char *snapshot = mem_printf("%s/%s", path, entry->d_name);

			(void)repair_trace(snapshot);
			free(snapshot);
		}
	}
	if (list) {
		(void)closedir(list);
	}
}
