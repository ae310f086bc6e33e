/*
 * traceevent: libtraceevent, which trace-cmd is made of, reads the same of formats and sub-buffers
 * as src/ftrace.
 *
 *     traceevent FILE.dat... [EVENTS-DIRECTORY] [kernel:KB...]
 *
 * Sub-buffers are compared as they are in the files, and as machines with the other byte order and
 * word size would have them.  Formats are those of the files and of the directory, which is
 * tracefs's `events`.  With kernel:KB this kernel fills sub-buffers of that many KiB, where it may
 * be told so: their records are also as many as it says.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <traceevent/event-parse.h>
#include <traceevent/kbuffer.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "ftrace/format.h"
#include "ftrace/host/instance.h"
#include "ftrace/page.h"
#include "tracedat/pages.h"
#include "tracedat/tracedat.h"

static unsigned long events, formats, fields, differences;

/* LeakSanitizer asks for it: the library forgets texts of formats that it cannot evaluate. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libtraceevent";
}

__attribute__((format(printf, 2, 3))) static void differ(const char *what, const char *fmt, ...)
{
	va_list args;

	if (differences++ < 20) {
		va_start(args, fmt);
		(void)printf("%s: ", what);
		(void)vprintf(fmt, args);
		(void)printf("\n");
		va_end(args);
	}
}

/* ---- formats ---- */

static void compare_field(const char *name, const struct ftrace_field *ours,
			  const struct tep_format_field *theirs)
{
	bool is_elsewhere = theirs->flags & TEP_FIELD_IS_DYNAMIC;
	bool is_relative = theirs->flags & TEP_FIELD_IS_RELATIVE;

	fields++;
	if (strcmp(ours->name, theirs->name) != 0 || (int)ours->offset != theirs->offset ||
	    (int)ours->size != theirs->size) {
		differ(name, "%s at %u, %u bytes; %s at %d, %d bytes", ours->name, ours->offset,
		       ours->size, theirs->name, theirs->offset, theirs->size);
	}
	if ((ours->place == FTRACE_DATA) != (is_elsewhere && !is_relative) ||
	    (ours->place == FTRACE_RELATIVE) != is_relative) {
		differ(name, "%s: another place", ours->name);
	}
	if (ours->kind == FTRACE_INTEGER && ours->place == FTRACE_HERE &&
	    ours->is_signed != !!(theirs->flags & TEP_FIELD_IS_SIGNED)) {
		differ(name, "%s: another sign", ours->name);
	}
	if (ours->kind == FTRACE_ARRAY && ours->place == FTRACE_HERE &&
	    ours->element_size != theirs->elementsize) {
		differ(name, "%s: elements of %u and %u bytes", ours->name, ours->element_size,
		       theirs->elementsize);
	}
}

static void compare_fields(const char *name, const struct ftrace_format *ours,
			   const struct tep_event *theirs)
{
	const struct tep_format_field *common = theirs->format.common_fields,
				      *own = theirs->format.fields;

	for (size_t i = 0; i < ours->count; i++) {
		const struct tep_format_field **next = ours->fields[i].is_common ? &common : &own;

		if (!*next) {
			differ(name, "%s is only ours", ours->fields[i].name);
			return;
		}
		compare_field(name, &ours->fields[i], *next);
		*next = (*next)->next;
	}
	if (common || own) {
		differ(name, "%s is only theirs", common ? common->name : own->name);
	}
}

static void compare_format(struct tep_handle *tep, const char *system, const char *text, size_t len)
{
	struct ftrace_format *ours;
	struct tep_event *theirs = NULL;
	struct err err;
	int r = ftrace_format_parse(text, len, system, &ours, &err);

	formats++;
	/* It reads the format of what is printed, too, which may fail by itself. */
	(void)tep_parse_format(tep, &theirs, text, len, system);
	if (r < 0) {
		differ(system, "%s: %.60s", err.text, text);
	} else if (!theirs) {
		differ(system, "libtraceevent refuses %.60s", text);
	} else if ((int)ours->id != theirs->id || strcmp(ours->name, theirs->name) != 0) {
		differ(system, "%s %u, %s %d", ours->name, ours->id, theirs->name, theirs->id);
	} else {
		compare_fields(ours->name, ours, theirs);
	}
	if (r == 0) {
		ftrace_format_free(ours);
	}
}

static void compare_file(struct tep_handle *tep, const char *path, const char *system)
{
	FILE *file = fopen(path, "r");
	static char text[1 << 18];
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file) {
		(void)fclose(file);
	}
	text[len] = '\0';
	if (len > 0) {
		compare_format(tep, system, text, len);
	}
}

/* EVENTS/SYSTEM/EVENT/format */
static void compare_directory(struct tep_handle *tep, const char *events_dir)
{
	struct dirent **systems, **names;
	int count = scandir(events_dir, &systems, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		char *dir = mem_printf("%s/%s", events_dir, systems[i]->d_name);
		int of = systems[i]->d_name[0] == '.' ? -1 : scandir(dir, &names, NULL, alphasort);

		for (int k = 0; k < of; k++) {
			char *path = mem_printf("%s/%s/format", dir, names[k]->d_name);

			compare_file(tep, path, systems[i]->d_name);
			free(path);
			free(names[k]);
		}
		if (of >= 0) {
			free(names);
		}
		free(dir);
		free(systems[i]);
	}
	if (count >= 0) {
		free(systems);
	}
}

/* ---- sub-buffers of other machines ---- */

static void put(uint8_t *at, uint64_t value, size_t bytes, bool is_big)
{
	for (size_t i = 0; i < bytes; i++) {
		at[is_big ? bytes - 1 - i : i] = (uint8_t)(value >> 8 * i);
	}
}

/* The bits of a record's header, as the other byte order has them. */
static uint32_t header_for(bool is_big, uint32_t type, uint32_t delta)
{
	return is_big ? type << 27 | delta : delta << 5 | type;
}

/* The same records, with numbers of headers in another order and a commit of another size.  Of
 * payloads only the length counts. */
static size_t translate(const struct ftrace_layout *from, const uint8_t *page, size_t len,
			const struct ftrace_layout *to, uint8_t *out)
{
	struct ftrace_page walk;
	struct ftrace_record record;
	uint64_t before = ftrace_page_time(from, page);
	uint8_t *at = out + to->data_at;
	struct err err;

	if (ftrace_page_begin(&walk, from, page, len, &err) < 0) {
		return 0;
	}
	put(out, before, 8, to->is_big);
	while (ftrace_page_next(&walk, &record)) {
		uint64_t delta = record.time - before;

		if (delta >> 27) {
			put(at, header_for(to->is_big, 30, delta & ((1U << 27) - 1)), 4,
			    to->is_big);
			put(at + 4, delta >> 27, 4, to->is_big);
			at += 8;
			delta = 0;
		}
		if (record.len > 28 * 4) {
			put(at, header_for(to->is_big, 0, (uint32_t)delta), 4, to->is_big);
			put(at + 4, record.len + 4, 4, to->is_big);
			at += 8;
		} else {
			put(at, header_for(to->is_big, record.len / 4, (uint32_t)delta), 4,
			    to->is_big);
			at += 4;
		}
		memcpy(at, record.payload, record.len);
		at += record.len;
		before = record.time;
	}
	put(out + to->commit_at, (uint64_t)(at - out - to->data_at), to->commit_size, to->is_big);
	return (size_t)(at - out);
}

/* ---- sub-buffers ---- */

static void compare_page(const char *path, const struct ftrace_layout *layout, uint8_t *page,
			 size_t len)
{
	struct kbuffer *theirs =
		kbuffer_alloc(layout->commit_size == 8 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
			      layout->is_big ? KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
	struct ftrace_page ours;
	struct ftrace_record record;
	unsigned long long time = 0;
	struct err err;
	uint8_t *event;

	if (ftrace_page_begin(&ours, layout, page, len, &err) < 0) {
		differ(path, "%s", err.text);
		kbuffer_free(theirs);
		return;
	}
	(void)kbuffer_load_subbuffer(theirs, page);
	event = kbuffer_read_event(theirs, &time);
	if ((ours.missed > 0) != (kbuffer_missed_events(theirs) != 0)) {
		differ(path, "missed %" PRIu64 ", and %d", ours.missed,
		       kbuffer_missed_events(theirs));
	}
	while (ftrace_page_next(&ours, &record)) {
		events++;
		if (event != record.payload || time != record.time ||
		    kbuffer_event_size(theirs) != (int)record.len) {
			differ(path, "%" PRIu64 " ns, %u bytes at %td; %llu ns, %d bytes at %td",
			       record.time, record.len, record.payload - page, time,
			       kbuffer_event_size(theirs), event ? event - page : -1);
			break;
		}
		event = kbuffer_next_event(theirs, &time);
	}
	if (event || ours.is_bad) {
		differ(path, "another end of a sub-buffer");
	}
	kbuffer_free(theirs);
}

static void compare_machines(const char *path, const struct ftrace_layout *layout, uint8_t *page,
			     size_t len)
{
	uint8_t *other = mem_alloc(4 * len + 64);

	compare_page(path, layout, page, len);
	for (unsigned int i = 0; i < 4; i++) {
		uint32_t commit_size = i & 1 ? 4 : 8;
		const struct ftrace_layout machine = { .bytes = layout->bytes,
						       .commit_at = 8,
						       .commit_size = commit_size,
						       .data_at = 8 + commit_size,
						       .is_big = i & 2 };

		memset(other, 0, 4 * len + 64);
		compare_page(path, &machine, other,
			     translate(layout, page, len, &machine, other) + 8);
	}
	free(other);
}

static void compare_cpu(const char *path, const struct tracedat *dat,
			const struct tracedat_buffer *buffer, const struct tracedat_cpu *cpu)
{
	struct ftrace_layout layout;
	struct pages pages;
	const uint8_t *page = NULL;
	size_t len;
	struct err err;
	int r = ftrace_layout_parse(dat->header_page, strlen(dat->header_page), dat->is_big,
				    &layout, &err);

	if (r == 0) {
		r = pages_begin(dat, buffer, cpu, &pages, &err);
	}
	if (r < 0) {
		differ(path, "%s", err.text);
		return;
	}
	while ((r = pages_next(&pages, &page, &len, &err)) == 0 && page) {
		compare_machines(path, &layout, (uint8_t *)page, len);
	}
	if (r < 0) {
		differ(path, "%s", err.text);
	}
	pages_fini(&pages);
}

static void compare_dat(struct tep_handle *tep, const char *path)
{
	struct tracedat dat;
	struct err err;

	if (tracedat_open(path, &dat, &err) < 0) {
		differ(path, "%s", err.text);
	}
	for (size_t i = 0; i < dat.formats.count; i++) {
		compare_format(tep, dat.formats.at[i].system, dat.formats.at[i].text,
			       dat.formats.at[i].len);
	}
	for (size_t i = 0; i < dat.buffers.count; i++) {
		for (size_t k = 0; k < dat.buffers.at[i].cpus.count; k++) {
			compare_cpu(path, &dat, &dat.buffers.at[i], &dat.buffers.at[i].cpus.at[k]);
		}
	}
	tracedat_close(&dat);
}

/* ---- this kernel ---- */

/* false: it has sub-buffers of one size only. */
static bool set_subbuf(unsigned int kb)
{
	char *path = mem_printf("/sys/kernel/tracing/instances/sillage-%d/buffer_subbuf_size_kb",
				(int)getpid());
	FILE *file = fopen(path, "r+");
	bool is_set = file && fprintf(file, "%u", kb) > 0;

	is_set = file && fclose(file) == 0 && is_set;
	free(path);
	return is_set;
}

static void fill_subbufs(void)
{
	for (unsigned int i = 0; i < 20000; i++) {
		(void)getppid();
	}
}

static void compare_kept(const char *what, struct ftrace_instance *instance,
			 const struct ftrace_layout *layout)
{
	unsigned long before = events;
	uint64_t read = 0;
	size_t largest = 0, len;
	const uint8_t *page;
	struct err err;

	for (uint32_t cpu = 0; cpu < instance_cpus(instance); cpu++) {
		struct instance_stats stats;

		while ((len = instance_read(instance, cpu, &page)) > 0) {
			uint8_t *copy = mem_alloc(layout->bytes);
			size_t used = ftrace_page_used(layout, page);

			memcpy(copy, page, len < layout->bytes ? len : layout->bytes);
			compare_page(what, layout, copy, len);
			largest = used > largest ? used : largest;
			free(copy);
		}
		if (instance_stats(instance, cpu, &stats, &err) < 0 || stats.overrun > 0) {
			differ(what, "the account of CPU %u", cpu);
		}
		read += stats.read;
	}
	if (read != events - before || largest <= layout->bytes / 2) {
		differ(what, "%lu events, the kernel has %" PRIu64 "; %zu bytes at most",
		       events - before, read, largest);
	}
}

static void compare_kernel(const char *what)
{
	const struct instance_config config = { .buffer_bytes = 8 << 20 };
	unsigned int kb = (unsigned int)strtoul(strchr(what, ':') + 1, NULL, 10);
	struct ftrace_instance *instance = NULL;
	struct ftrace_format *format = NULL;
	struct ftrace_layout layout;
	struct err err;

	if (instance_new(&config, &instance, &err) < 0) {
		(void)printf("%s: skipped: %s\n", what, err.text);
		return;
	}
	if (!set_subbuf(kb)) {
		(void)printf("%s: skipped: this kernel has one size\n", what);
	} else if (instance_enable(instance, "raw_syscalls", "sys_enter", &format, &err) < 0 ||
		   instance_layout(instance, &layout, &err) < 0 ||
		   instance_on(instance, &err) < 0) {
		differ(what, "%s", err.text);
	} else {
		if (layout.bytes != kb * 1024) {
			differ(what, "sub-buffers of %u bytes", layout.bytes);
		}
		fill_subbufs();
		instance_off(instance);
		compare_kept(what, instance, &layout);
	}
	ftrace_format_free(format);
	instance_free(instance);
}

int main(int argc, char **argv)
{
	tep_set_loglevel(TEP_LOG_NONE);
	for (int i = 1; i < argc; i++) {
		struct tep_handle *tep = tep_alloc();
		struct stat status;

		tep_set_long_size(tep, 8);
		if (strncmp(argv[i], "kernel:", 7) == 0) {
			compare_kernel(argv[i]);
		} else if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode)) {
			compare_directory(tep, argv[i]);
		} else if (stat(argv[i], &status) == 0 || strstr(argv[i], ".dat")) {
			compare_dat(tep, argv[i]);
		}
		tep_free(tep);
	}
	(void)printf("%lu events, %lu formats, %lu fields; %lu differences\n", events, formats,
		     fields, differences);
	return differences > 0 || events == 0 || formats == 0;
}
