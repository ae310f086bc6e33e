/*
 * tile: makes a large trace from a small one, for benchmarks.
 *
 * OUT has TIMES copies of all packets, one after another in time.  Each copy is later than the
 * trace by a multiple of 2^32 cycles, so short time stamps stay valid.  Full time stamps, in packet
 * contexts and long event headers, are patched.  Sequence numbers continue.  It supports LTTng's
 * event headers only.
 *
 * usage: tile TRACE OUT TIMES      TRACE: or a directory above it
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

struct patch {
	uint64_t at;    /* byte of a 64-bit value, little endian */
	uint64_t value; /* its value in the first copy */
	bool is_seq;    /* a sequence number, else a time stamp */
};

struct tiler {
	struct recorded trace;
	uint64_t step;    /* cycles from one copy to the next */
	uint64_t packets; /* number in the current stream */
	VEC(struct patch) patches;
	VEC(uint8_t) bytes; /* the current stream, whole */
};

static uint64_t load(const struct tiler *t, uint64_t at)
{
	uint64_t value;

	memcpy(&value, t->bytes.at + at, sizeof(value));
	return value;
}

static void patch(struct tiler *t, uint64_t at, bool is_seq)
{
	*vec_push(&t->patches) = (struct patch){ .at = at, .value = load(t, at), .is_seq = is_seq };
}

/* Records the 64-bit members of a packet context that change; their places are in its steps. */
static void patch_context(struct tiler *t, uint64_t packet, const struct plan_stream *stream,
			  uint64_t context_bits)
{
	uint64_t at = context_bits;

	for (const struct step *step = stream->packet_steps; step->op != STEP_END; step++) {
		bool is_time =
			step->slot != SLOT_NONE && (step->slot == stream->slot_timestamp_begin ||
						    step->slot == stream->slot_timestamp_end);
		bool is_seq = step->slot != SLOT_NONE && step->slot == stream->slot_seq_num;

		if (step->op == STEP_ALIGN) {
			at = bits_align(at, (uint32_t)step->size_bits);
		} else if (step->op == STEP_SKIP) {
			at += step->size_bits;
		} else if (is_time || is_seq) {
			if (step->op != STEP_U64) {
				die("a packet context that is not LTTng's");
			}
			patch(t, packet + (at + step->offset_bits) / 8, is_seq);
		}
	}
}

/* Records the full time stamp of the event header at the cursor, if it has one. */
static void patch_header(struct tiler *t, const struct decoder *d, uint64_t packet)
{
	const struct plan_stream *stream = d->stream;
	uint64_t at = bits_align(d->at_bits, stream->header_align_bits);
	const uint8_t *bytes = d->data + at / 8;
	bool is_compact = stream->header == HEADER_COMPACT;
	uint64_t id_at, tag;

	if (!is_compact && stream->header != HEADER_LARGE) {
		die("an event header that is not LTTng's");
	}
	tag = is_compact ? (bytes[0] & 31u) + (65535 - 31) : bytes[0] | (uint64_t)bytes[1] << 8;
	if (tag != 65535) {
		return;
	}
	id_at = bits_align(at + (is_compact ? 5 : 16), stream->extended_align_bits);
	patch(t, packet + bits_align(id_at + 32, stream->extended_clock_align_bits) / 8, false);
}

static void scan_packet(struct tiler *t, const struct recorded_file *file)
{
	struct decoder *d = t->trace.decoder;
	uint64_t context_bits = 0;
	struct packet_info info;
	struct ctf_event event;
	struct err err;

	if (packet_info_read(d, t->trace.plan, t->bytes.at + file->offset, file->info.size_bits / 8,
			     file->info.size_bits / 8, &info, &err) < 0) {
		die(err.text);
	}
	/* Run the header again to find where the context starts. */
	d->at_bits = 0;
	d->end_bits = info.size_bits;
	(void)decoder_run(d, t->trace.plan->header_steps);
	context_bits = d->at_bits;
	patch_context(t, file->offset, info.stream, context_bits);
	decoder_start(d, t->trace.plan, &info, t->bytes.at + file->offset,
		      t->bytes.count - file->offset);
	for (;;) {
		if (d->at_bits < d->end_bits) {
			patch_header(t, d, file->offset);
		}
		if (decoder_next(d, &event) <= 0) {
			break;
		}
	}
	if (d->fault) {
		die(d->fault);
	}
	t->packets++;
}

static void write_all(int fd, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t put = write(fd, bytes, len);

		if (put <= 0) {
			die(strerror(errno));
		}
		bytes += put;
		len -= (size_t)put;
	}
}

static void tile_file(struct tiler *t, struct recorded_file *file, const char *out, uint64_t times)
{
	char *path = mem_printf("%s/%s", out, file->name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	free(path);
	t->bytes.count = 0;
	t->patches.count = 0;
	t->packets = 0;
	vec_reserve(&t->bytes, file->size + 1);
	t->bytes.count = file->size;
	if (fd < 0 || pread(file->fd, t->bytes.at, file->size, 0) != (ssize_t)file->size) {
		die(strerror(errno));
	}
	while (file->has_info) {
		scan_packet(t, file);
		recorded_next(file, t->trace.plan, t->trace.decoder);
	}
	for (uint64_t copy = 0; copy < times; copy++) {
		for (size_t i = 0; i < t->patches.count; i++) {
			const struct patch *one = &t->patches.at[i];
			uint64_t value = one->value + copy * (one->is_seq ? t->packets : t->step);

			memcpy(t->bytes.at + one->at, &value, sizeof(value));
		}
		write_all(fd, t->bytes.at, t->bytes.count);
	}
	(void)close(fd);
}

/* Returns the length of the trace, rounded up to a multiple of 2^32 cycles. */
static uint64_t step_of(const struct recorded_path *path)
{
	uint64_t low = UINT64_MAX, high = 0;
	struct recorded scan;
	struct err err;

	if (recorded_open(path, &scan, &err) < 0) {
		die(err.text);
	}
	for (size_t i = 0; i < scan.files.at.count; i++) {
		struct recorded_file *file = &scan.files.at.at[i];

		while (file->has_info) {
			low = file->info.begin < low ? file->info.begin : low;
			high = file->info.end > high ? file->info.end : high;
			recorded_next(file, scan.plan, scan.decoder);
		}
	}
	recorded_close(&scan);
	return (((high - low) >> 32) + 1) << 32;
}

static void copy_metadata(const char *dir, const char *out)
{
	char *from = mem_printf("%s/metadata", dir), *to = mem_printf("%s/metadata", out);
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	uint8_t buffer[65536];
	ssize_t got;

	if (in < 0 || fd < 0) {
		die(strerror(errno));
	}
	while ((got = read(in, buffer, sizeof(buffer))) > 0) {
		write_all(fd, buffer, (size_t)got);
	}
	(void)close(in);
	(void)close(fd);
	free(from);
	free(to);
}

int main(int argc, char **argv)
{
	struct recorded_paths paths = { 0 };
	const struct recorded_path *path;
	struct tiler t = { 0 };
	struct err err;

	if (argc != 4 || strtol(argv[3], NULL, 10) < 1) {
		die("usage: tile TRACE OUT TIMES");
	}
	path = one_trace(argv[1], &paths);
	if (recorded_open(path, &t.trace, &err) < 0) {
		die(err.text);
	}
	if (mkdir(argv[2], 0777) < 0) {
		die(strerror(errno));
	}
	t.step = step_of(path);
	copy_metadata(path->dirs.at[0], argv[2]);
	for (size_t i = 0; i < t.trace.files.at.count; i++) {
		tile_file(&t, &t.trace.files.at.at[i], argv[2], strtoull(argv[3], NULL, 10));
	}
	vec_fini(&t.patches);
	vec_fini(&t.bytes);
	recorded_close(&t.trace);
	recorded_paths_fini(&paths);
	return 0;
}
