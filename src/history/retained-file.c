/*
 * retained-file: see retained-file.h.
 */
#include "history/retained-file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct retained_segment {
	atomic_uint refs; /* from packets, and from the store while this is the last segment */
	int fd;
	uint64_t used;
};

struct retained_file {
	char *dir;
	uint64_t segment_bytes;
	pthread_mutex_t mutex; /* guards `last` and its `used` */
	struct retained_segment *last;
	atomic_int failed;        /* errno of the first write that failed; 0: none */
	atomic_bool was_reported; /* `failed` was returned once */
};

static int open_unnamed(const char *dir)
{
	return open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

struct retained_file *retained_file_new(const char *dir, uint64_t segment_bytes, struct err *err)
{
	struct retained_file *store;
	int fd = open_unnamed(dir);

	if (fd < 0) {
		(void)err_raise(err, -errno, "%s: unnamed files cannot be made there: %s", dir,
				strerror(errno));
		return NULL;
	}
	(void)close(fd);
	store = mem_alloc(sizeof(*store));
	store->dir = mem_strdup(dir);
	store->segment_bytes = segment_bytes;
	(void)pthread_mutex_init(&store->mutex, NULL);
	return store;
}

struct retained_segment *retained_segment_of(int fd, struct err *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct retained_segment *segment;

	if (copy < 0) {
		(void)err_raise(err, -errno, "%s", strerror(errno));
		return NULL;
	}
	segment = mem_alloc(sizeof(*segment));
	segment->fd = copy;
	atomic_init(&segment->refs, 1);
	return segment;
}

struct retained_segment *retained_segment_ref(struct retained_segment *segment)
{
	(void)atomic_fetch_add(&segment->refs, 1);
	return segment;
}

void retained_segment_unref(struct retained_segment *segment)
{
	unsigned int before;

	if (!segment) {
		return;
	}
	before = atomic_fetch_sub(&segment->refs, 1);
	assert(before > 0);
	if (before == 1) {
		(void)close(segment->fd);
		free(segment);
	}
}

void retained_file_free(struct retained_file *store)
{
	if (store) {
		retained_segment_unref(store->last);
		(void)pthread_mutex_destroy(&store->mutex);
		free(store->dir);
		free(store);
	}
}

/* A segment with room for @len more bytes, with a reference; NULL: it cannot be made.  Under the
 * mutex. */
static struct retained_segment *take_room(struct retained_file *store, uint64_t len,
					  uint64_t *ret_offset)
{
	struct retained_segment *segment = store->last;
	int fd;

	if (!segment || segment->used + len > store->segment_bytes) {
		fd = open_unnamed(store->dir);
		if (fd < 0) {
			return NULL;
		}
		retained_segment_unref(segment);
		segment = mem_alloc(sizeof(*segment));
		segment->fd = fd;
		atomic_init(&segment->refs, 1);
		store->last = segment;
	}
	(void)atomic_fetch_add(&segment->refs, 1);
	*ret_offset = segment->used;
	segment->used += len;
	return segment;
}

static bool write_all(int fd, const uint8_t *bytes, uint64_t len, uint64_t offset)
{
	while (len > 0) {
		ssize_t done = pwrite(fd, bytes, len, (off_t)offset);

		if (done < 0 && errno == EINTR) {
			continue;
		}
		if (done <= 0) {
			return false;
		}
		bytes += done;
		offset += (uint64_t)done;
		len -= (uint64_t)done;
	}
	return true;
}

struct retained_segment *retained_file_put(struct retained_file *store, const uint8_t *bytes,
					   uint64_t len, uint64_t *ret_offset)
{
	struct retained_segment *segment;

	(void)pthread_mutex_lock(&store->mutex);
	segment = take_room(store, len, ret_offset);
	(void)pthread_mutex_unlock(&store->mutex);
	if (segment && write_all(segment->fd, bytes, len, *ret_offset)) {
		return segment;
	}
	(void)atomic_compare_exchange_strong(&store->failed, &(int){ 0 }, errno);
	retained_segment_unref(segment);
	return NULL;
}

bool retained_segment_read(const struct retained_segment *segment, uint64_t offset, uint8_t *bytes,
			   uint64_t len)
{
	while (len > 0) {
		ssize_t got = pread(segment->fd, bytes, len, (off_t)offset);

		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			return false;
		}
		bytes += got;
		offset += (uint64_t)got;
		len -= (uint64_t)got;
	}
	return true;
}

int retained_file_failed(struct retained_file *store)
{
	int failed = atomic_load(&store->failed);

	return failed != 0 && !atomic_exchange(&store->was_reported, true) ? failed : 0;
}
