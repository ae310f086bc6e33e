/*
 * tracedat: see tracedat.h; the begin of the file, and version 6.
 */
#include "tracedat/tracedat.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/foreign.h"
#include "tracedat/tracedat-limits.h"
#include "tracedat/tracedat-parts.h"

/* ---- version 6 ---- */

#define KIND_BYTES 10 /* "options  ", "latency  ", "flyrecord", each with its zero */

/* The options, up to the one that says that there are no more. */
static void pass_options(struct tracedat *dat, struct cursor *cursor)
{
	for (size_t i = 0; !cursor->is_wrong; i++) {
		unsigned int id = (unsigned int)cursor_number(cursor, 2);
		struct cursor option;
		uint64_t bytes;

		if (id == OPTION_DONE) {
			return;
		}
		bytes = cursor_number(cursor, 4);
		option = *cursor;
		cursor_skip(cursor, bytes);
		option.end = cursor->at;
		optional_take(dat, id, &option);
		cursor->is_wrong |= option.is_wrong || i > TRACEDAT_OPTIONS_MAX;
	}
}

/* The text of a clock behind the table of CPUs: one that cannot be read is that of old trace-cmd,
 * which wrote it wrong. */
static void take_own_clock(struct tracedat *dat, struct cursor *cursor,
			   struct tracedat_buffer *buffer)
{
	struct cursor at = *cursor;
	char *text = cursor_copy(&at, cursor_number(&at, 8), TRACEDAT_NAME_BYTES_MAX);

	if (dat->has_own_clock && !at.is_wrong && strchr(text, '[')) {
		free(buffer->clock);
		buffer->clock = optional_clock(text);
	}
	free(text);
}

/* Where the CPUs' sub-buffers are.  A text of a latency tracer has none. */
static void take_places(struct tracedat *dat, struct cursor *cursor, struct tracedat_buffer *buffer)
{
	char kind[KIND_BYTES];

	cursor_bytes(cursor, kind, sizeof(kind));
	if (memcmp(kind, "options  ", sizeof(kind)) == 0) {
		pass_options(dat, cursor);
		cursor_bytes(cursor, kind, sizeof(kind));
	}
	if (memcmp(kind, "latency  ", sizeof(kind)) == 0) {
		dat->texts++;
		return;
	}
	cursor->is_wrong |= memcmp(kind, "flyrecord", sizeof(kind)) != 0;
	cursor->is_wrong |= dat->cpus > TRACEDAT_CPUS_MAX;
	for (uint32_t i = 0; i < dat->cpus && !cursor->is_wrong; i++) {
		struct tracedat_cpu cpu = { .cpu = i, .offset = cursor_number(cursor, 8) };

		cpu.bytes = cursor_number(cursor, 8);
		*vec_push(&buffer->cpus) = cpu;
	}
	take_own_clock(dat, cursor, buffer);
}

/* The buffers of instances, whose places the options told. */
static void take_instances(struct tracedat *dat, struct cursor *cursor)
{
	size_t count = dat->buffers.count;

	for (size_t i = 0; i < count && !cursor->is_wrong; i++) {
		struct tracedat_buffer buffer = { .name = mem_strdup(dat->buffers.at[i].name),
						  .clock = mem_strdup(""),
						  .page_bytes = dat->page_bytes };
		uint64_t place = dat->buffers.at[i].cpus.at[0].offset;

		cursor->is_wrong |= place > cursor->end;
		cursor->at = cursor->is_wrong ? cursor->at : place;
		take_places(dat, cursor, &buffer);
		free(dat->buffers.at[i].name);
		free(dat->buffers.at[i].clock);
		vec_fini(&dat->buffers.at[i].cpus);
		dat->buffers.at[i] = buffer;
	}
}

/* The part that the cursor is at, for a message. */
static const char *read_file_parts(struct tracedat *dat, struct cursor *cursor)
{
	static void (*const parts[])(struct tracedat *, struct cursor *) = {
		contents_header,
		contents_own_formats,
		contents_formats,
		contents_symbols,
	};
	static const char *const names[] = { "layout of sub-buffers", "formats of ftrace's events",
					     "formats of events", "symbols of the kernel" };

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		parts[i](dat, cursor);
		if (cursor->is_wrong) {
			return names[i];
		}
	}
	contents_prints(cursor);
	contents_tasks(dat, cursor);
	return cursor->is_wrong ? "names of tasks" : NULL;
}

static int read_v6(struct tracedat *dat, struct cursor *cursor, struct err *err)
{
	struct tracedat_buffer buffer = { .name = mem_strdup(""),
					  .clock = mem_strdup(""),
					  .page_bytes = dat->page_bytes };
	const char *part = read_file_parts(dat, cursor);

	if (!part && cursor->at == cursor->end) {
		free(buffer.name);
		free(buffer.clock);
		return err_raise(err, -ENODATA,
				 "it has no events yet: `trace-cmd restore -i %s CPU-FILE...` adds "
				 "those of the files for each CPU",
				 dat->path);
	}
	dat->cpus = (uint32_t)cursor_number(cursor, 4);
	if (!part) {
		take_places(dat, cursor, &buffer);
		take_instances(dat, cursor);
	}
	/* The main one stands first, as in version 7. */
	*vec_push(&dat->buffers) = buffer;
	memmove(&dat->buffers.at[1], &dat->buffers.at[0],
		(dat->buffers.count - 1) * sizeof(buffer));
	dat->buffers.at[0] = buffer;
	if (cursor->is_wrong) {
		return err_raise(err, -EINVAL,
				 "at byte %" PRIu64 ": the %s are cut off, or say what cannot be",
				 cursor->at, part ? part : "places of events");
	}
	return 0;
}

/* ---- the begin ---- */

static int read_packing(struct tracedat *dat, struct cursor *cursor, struct err *err)
{
	char *name = cursor_text(cursor, TRACEDAT_NAME_BYTES_MAX);
	char *version = cursor_text(cursor, TRACEDAT_NAME_BYTES_MAX);
	int r = 0;

	dat->packed_by = unpack_method_of(name);
	if (dat->packed_by == UNPACK_OTHER) {
		r = err_raise(
			err, -ENOTSUP,
			"it is compressed with \"%.40s\": `trace-cmd convert -i %s -o plain.dat "
			"--compression none` makes one that can be read",
			name, dat->path);
	}
	free(name);
	free(version);
	return r;
}

static int read_begin(struct tracedat *dat, struct cursor *cursor, struct err *err)
{
	char *version;
	int r = 0;

	if (!cursor_expect(cursor, TRACEDAT_MAGIC, TRACEDAT_MAGIC_BYTES)) {
		return err_raise(err, -EINVAL, "no file of trace-cmd");
	}
	version = cursor_text(cursor, TRACEDAT_NAME_BYTES_MAX);
	dat->version = (unsigned int)strtoul(version, NULL, 10);
	if (!cursor->is_wrong && dat->version != 6 && dat->version != 7) {
		r = err_raise(err, -ENOTSUP,
			      "version %.20s of trace.dat; versions 6 and 7 can be read", version);
	}
	free(version);
	cursor->is_big = dat->is_big = cursor_number(cursor, 1) != 0;
	dat->long_bytes = (unsigned int)cursor_number(cursor, 1);
	dat->page_bytes = (uint32_t)cursor_number(cursor, 4);
	return r;
}

static int read_whole_dat(struct tracedat *dat, struct err *err)
{
	struct cursor cursor = { .fd = dat->fd, .end = dat->bytes };
	uint64_t options;
	int r = read_begin(dat, &cursor, err);

	if (r < 0 || (dat->version == 6 && !cursor.is_wrong)) {
		return r < 0 ? r : read_v6(dat, &cursor, err);
	}
	r = read_packing(dat, &cursor, err);
	options = cursor_number(&cursor, 8);
	if (r == 0 && (cursor.is_wrong || options == 0)) {
		r = err_raise(err, -EINVAL, "it ends before it says what is in it");
	}
	return r < 0 ? r : sections_read(dat, options, err);
}

int tracedat_open(const char *path, struct tracedat *dat, struct err *err)
{
	struct stat status;
	int r;

	*dat = (struct tracedat){ .path = mem_strdup(path) };
	dat->fd = foreign_open(path, 0, err);
	if (dat->fd < 0) {
		return dat->fd;
	}
	r = fstat(dat->fd, &status) < 0 ? err_raise(err, -errno, "%s", strerror(errno)) : 0;
	dat->bytes = r == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
	r = r < 0 ? r : read_whole_dat(dat, err);
	return r < 0 ? err_note(err, r, "%s", path) : 0;
}

static void format_fini(struct tracedat_format *format)
{
	free(format->system);
	free(format->text);
}

static void task_fini(struct tracedat_task *task)
{
	free(task->name);
}

static void lost_fini(struct tracedat_lost *lost)
{
	free(lost->buffer);
}

static void buffer_fini(struct tracedat_buffer *buffer)
{
	free(buffer->name);
	free(buffer->clock);
	vec_fini(&buffer->cpus);
}

void tracedat_close(struct tracedat *dat)
{
	if (dat->fd >= 0) {
		(void)close(dat->fd);
	}
	vec_fini_each(&dat->formats, format_fini);
	vec_fini_each(&dat->tasks, task_fini);
	vec_fini_each(&dat->lost, lost_fini);
	vec_fini_each(&dat->buffers, buffer_fini);
	free(dat->path);
	free(dat->header_page);
	free(dat->lost_buffer);
	free(dat->clock);
	free(dat->uname);
}
