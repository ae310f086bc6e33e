/*
 * simulate: threads that read the files of a trace in chunks, and work on each page.
 *
 * usage: simulate TRACE [KEY=VALUE...]
 *
 *        way=pread      into a buffer                way=chunk   mmap and munmap of each chunk
 *        way=file       mmap of each file (file)
 *        chunk=BYTES    what a thread takes at a time (1048576)
 *        prefault=no    pages come as they are touched (no)
 *        prefault=all   all pages of a chunk at once (MAP_POPULATE, MADV_POPULATE_READ)
 *        prefault=lent  the same, and MADV_DONTNEED behind it, as `sillage` does; way=file only
 *        prefault=thread  one thread more touches them ahead; way=file only
 *        ahead=N        asks the kernel to read so many chunks ahead (0)
 *        work=N         additions a page, each depends on the one before (0)
 *        threads=N      (1)
 *        limit=BYTES    of the trace (all)
 *        runs=N         of which the best counts (3)
 *        cold=1         the pages of these files are dropped from the page cache before each run
 *
 * It prints the seconds and the CPU seconds, of the best run of each, the bytes, and whether pages
 * stayed in the cache.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#include "base/mem.h"
#include "ctf/decoder.h"

#define PAGE        ((uint64_t)4096)
#define THREADS_MAX 256

struct reading {
	enum { WAY_FILE, WAY_CHUNK, WAY_PREAD } way;
	enum { FAULT_NO, FAULT_ALL, FAULT_LENT, FAULT_THREAD } prefault;
	uint64_t chunk, ahead, work, threads, limit, runs, cold;
	int *fds;
	uint64_t *sizes; /* within the limit */
	const uint8_t **maps;
	size_t file_count;
	uint64_t bytes;
	/* Each thread takes the next chunk, counted over all files. */
	uint64_t chunk_count;
	atomic_ullong next, sum, touched;
};

/* Returns the offset of chunk @i in its file.  Chunks are numbered over all files. */
static uint64_t place_of(const struct reading *r, uint64_t i, size_t *ret_file)
{
	size_t file = 0;

	while (i >= (r->sizes[file] + r->chunk - 1) / r->chunk) {
		i -= (r->sizes[file] + r->chunk - 1) / r->chunk;
		file++;
	}
	*ret_file = file;
	return i * r->chunk;
}

/* ---- work ---- */

/* Simulates decoding: all bytes are read, and each step of the work depends on the one before. */
static uint64_t work_on(const uint8_t *bytes, uint64_t len, uint64_t work)
{
	uint64_t sum = 0;

	for (uint64_t page = 0; page < len; page += PAGE) {
		uint64_t end = page + PAGE < len ? page + PAGE : len;

		for (uint64_t at = page; at + 8 <= end; at += 8) {
			sum += DECODE_LOAD(uint64_t, bytes + at);
		}
		for (uint64_t i = 0; i < work; i++) {
			sum = (sum << 1 | sum >> 63) + page;
		}
	}
	return sum;
}

static void ask_ahead(const struct reading *r, size_t file, uint64_t offset)
{
	uint64_t begin = offset + r->chunk, len = r->ahead * r->chunk;

	if (r->ahead > 0 && begin < r->sizes[file]) {
		(void)posix_fadvise(r->fds[file], (off_t)begin, (off_t)len, POSIX_FADV_WILLNEED);
	}
}

static uint64_t read_mapped(const struct reading *r, size_t file, uint64_t offset, uint64_t len)
{
	bool populates = r->prefault == FAULT_ALL;
	uint8_t *mapped = mmap(NULL, len, PROT_READ, MAP_SHARED | (populates ? MAP_POPULATE : 0),
			       r->fds[file], (off_t)offset);
	uint64_t sum;

	if (mapped == MAP_FAILED) {
		die("cannot map a chunk");
	}
	sum = work_on(mapped, len, r->work);
	(void)munmap(mapped, len);
	return sum;
}

/* Chunk @i, of a file that is mapped as a whole. */
static uint64_t read_file(struct reading *r, uint64_t i, size_t file, uint64_t offset, uint64_t len)
{
	const uint8_t *at = r->maps[file] + offset;
	uint64_t sum;

	if (r->prefault == FAULT_ALL || r->prefault == FAULT_LENT) {
		(void)madvise((void *)(uintptr_t)at, len, MADV_POPULATE_READ);
	}
	while (r->prefault == FAULT_THREAD && atomic_load(&r->touched) <= i) {
		(void)usleep(10);
	}
	sum = work_on(at, len, r->work);
	if (r->prefault == FAULT_LENT) {
		(void)madvise((void *)(uintptr_t)at, len, MADV_DONTNEED);
	}
	return sum;
}

static uint64_t read_chunk(struct reading *r, uint64_t i, uint8_t *buffer)
{
	size_t file;
	uint64_t offset = place_of(r, i, &file), left = r->sizes[file] - offset;
	uint64_t len = left < r->chunk ? left : r->chunk;

	ask_ahead(r, file, offset);
	if (r->way == WAY_PREAD) {
		if (pread(r->fds[file], buffer, len, (off_t)offset) != (ssize_t)len) {
			die("cannot read");
		}
		return work_on(buffer, len, r->work);
	}
	if (r->way == WAY_CHUNK) {
		return read_mapped(r, file, offset, len);
	}
	return read_file(r, i, file, offset, len);
}

/* ---- threads ---- */

static void *reader(void *user)
{
	struct reading *r = user;
	uint8_t *buffer = mem_alloc(r->chunk);
	uint64_t i, sum = 0;

	while ((i = atomic_fetch_add(&r->next, 1)) < r->chunk_count) {
		sum += read_chunk(r, i, buffer);
	}
	atomic_fetch_add(&r->sum, sum);
	free(buffer);
	return NULL;
}

static void *toucher(void *user)
{
	struct reading *r = user;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < r->chunk_count; i++) {
		size_t file;
		uint64_t offset = place_of(r, i, &file);

		for (uint64_t at = offset; at < offset + r->chunk && at < r->sizes[file];
		     at += PAGE) {
			sum += r->maps[file][at];
		}
		atomic_store(&r->touched, i + 1);
	}
	__asm__ volatile("" : : "r"(sum));
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	if (pthread_create(thread, NULL, run, arg) != 0) {
		die("a thread cannot be started");
	}
}

static double now(void)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static double cpu_now(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double run_once(struct reading *r)
{
	pthread_t threads[THREADS_MAX], touch = 0;
	double begin = now();

	r->next = r->sum = r->touched = 0;
	for (size_t i = 0; r->way == WAY_FILE && i < r->file_count; i++) {
		r->maps[i] = mmap(NULL, r->sizes[i], PROT_READ, MAP_SHARED, r->fds[i], 0);
		if (r->maps[i] == MAP_FAILED) {
			die("cannot map a file");
		}
	}
	if (r->prefault == FAULT_THREAD) {
		start(&touch, toucher, r);
	}
	for (uint64_t i = 0; i < r->threads; i++) {
		start(&threads[i], reader, r);
	}
	for (uint64_t i = 0; i < r->threads; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	if (r->prefault == FAULT_THREAD) {
		(void)pthread_join(touch, NULL);
	}
	for (size_t i = 0; r->way == WAY_FILE && i < r->file_count; i++) {
		(void)munmap((void *)(uintptr_t)r->maps[i], r->sizes[i]);
	}
	return now() - begin;
}

/* ---- the page cache ---- */

/* Drops the pages of these files, once they are written.  False: some stay. */
static bool drop_pages(const struct reading *r)
{
	bool are_gone = true;

	for (size_t i = 0; i < r->file_count; i++) {
		char byte;
		struct iovec to = { &byte, 1 };

		(void)fsync(r->fds[i]);
		(void)posix_fadvise(r->fds[i], 0, 0, POSIX_FADV_DONTNEED);
		are_gone &= preadv2(r->fds[i], &to, 1, 0, RWF_NOWAIT) < 0 && errno == EAGAIN;
	}
	return are_gone;
}

/* ---- the whole ---- */

static void open_files(const char *dir, struct recorded *trace, struct reading *r)
{
	struct recorded_paths paths = { 0 };
	struct err err;

	if (recorded_open(one_trace(dir, &paths), trace, &err) < 0) {
		die(err.text);
	}
	recorded_paths_fini(&paths);
	r->fds = mem_alloc((trace->files.at.count + 1) * sizeof(*r->fds));
	r->sizes = mem_alloc((trace->files.at.count + 1) * sizeof(*r->sizes));
	r->maps = mem_alloc((trace->files.at.count + 1) * sizeof(*r->maps));
	for (size_t i = 0; i < trace->files.at.count && r->bytes < r->limit; i++) {
		uint64_t size = trace->files.at.at[i].size, left = r->limit - r->bytes;

		if (size > 0) {
			r->fds[r->file_count] = trace->files.at.at[i].fd;
			r->sizes[r->file_count] = size < left ? size : left;
			r->bytes += r->sizes[r->file_count];
			r->chunk_count += (r->sizes[r->file_count++] + r->chunk - 1) / r->chunk;
		}
	}
}

/* The number of a word in a list that ends with NULL. */
static unsigned int word_of(const char *value, const char *const *words)
{
	for (unsigned int i = 0; words[i]; i++) {
		if (strcmp(words[i], value) == 0) {
			return i;
		}
	}
	die(value);
}

static void take(struct reading *r, char *word)
{
	static const char *const ways[] = { "file", "chunk", "pread", NULL };
	static const char *const faults[] = { "no", "all", "lent", "thread", NULL };
	const struct {
		const char *key;
		uint64_t *to, least;
	} numbers[] = { { "chunk", &r->chunk, PAGE }, { "ahead", &r->ahead, 0 },
			{ "work", &r->work, 0 },      { "threads", &r->threads, 1 },
			{ "limit", &r->limit, PAGE }, { "runs", &r->runs, 1 },
			{ "cold", &r->cold, 0 } };
	char *value = strchr(word, '=');

	if (!value) {
		die("expected KEY=VALUE");
	}
	*value++ = '\0';
	if (strcmp(word, "way") == 0) {
		r->way = word_of(value, ways);
		return;
	}
	if (strcmp(word, "prefault") == 0) {
		r->prefault = word_of(value, faults);
		return;
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(word, numbers[i].key) == 0) {
			*numbers[i].to = strtoull(value, NULL, 10);
			if (*numbers[i].to < numbers[i].least) {
				die("the number is too small");
			}
			return;
		}
	}
	die(word);
}

int main(int argc, char **argv)
{
	struct reading r = { .chunk = 1 << 20, .threads = 1, .limit = UINT64_MAX, .runs = 3 };
	struct recorded trace;
	bool were_dropped = true;
	double best = 0, best_cpu = 0;

	if (argc < 2) {
		die("usage: simulate TRACE [KEY=VALUE...]; see the top of bench/simulate.c");
	}
	for (int i = 2; i < argc; i++) {
		take(&r, argv[i]);
	}
	if (r.threads > THREADS_MAX || r.chunk % PAGE != 0 ||
	    (r.prefault >= FAULT_LENT && r.way != WAY_FILE)) {
		die("at most 256 threads, chunks of whole pages, prefault=lent and =thread of "
		    "way=file");
	}
	open_files(argv[1], &trace, &r);
	for (uint64_t i = 0; i < r.runs; i++) {
		double seconds, cpu;

		were_dropped = r.cold == 0 || drop_pages(&r);
		cpu = cpu_now();
		seconds = run_once(&r);
		cpu = cpu_now() - cpu;
		best = i == 0 || seconds < best ? seconds : best;
		best_cpu = i == 0 || cpu < best_cpu ? cpu : best_cpu;
	}
	printf("%.6f\t%.6f\t%llu\t%s\n", best, best_cpu, (unsigned long long)r.bytes,
	       were_dropped ? "" : "pages stay in the cache");
	free(r.fds);
	free(r.sizes);
	free(r.maps);
	recorded_close(&trace);
	return 0;
}
