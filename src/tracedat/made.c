/*
 * made: see made.h.
 *
 *     sources, one for each CPU: their next sub-buffers
 *         │ the one with the earliest time
 *         ▼
 *     convert_page() ── convert_until(the earliest time of those that are left) ──► packets
 */
#include "tracedat/made.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/process/foreign.h"
#include "ftrace/convert.h"
#include "tracedat/pages.h"
#include "tracedat/survey.h"
#include "tracedat/tracedat-parts.h"

#define MADE_PACKET_BYTES (UINT32_C(64) << 10)

/* The sub-buffers of a CPU: the next one, which is @page; NULL: there is no more. */
struct made_source {
	uint32_t cpu;
	struct pages pages;
	const uint8_t *page;
	size_t len;
	uint64_t time; /* of it; no earlier event follows */
};

struct made {
	const struct tracedat *dat;
	const struct tracedat_buffer *buffer;
	const char *dir;
	struct made_notes *notes;
	struct ftrace_layout layout;
	survey_formats formats;
	struct survey *survey;
	VEC(struct made_source) sources;
	struct convert *convert;
	struct convert_setup setup;
	char *clock; /* its name in the metadata */
};

static __attribute__((format(printf, 2, 3))) void note(struct made_notes *notes, const char *fmt,
						       ...)
{
	char text[FAULT_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	*vec_push(notes) = mem_strdup(text);
}

bool made_has_events(const struct tracedat_buffer *buffer)
{
	for (size_t i = 0; i < buffer->cpus.count; i++) {
		if (buffer->cpus.at[i].bytes > 0) {
			return true;
		}
	}
	return false;
}

/* ---- files ---- */

static int append_to(const struct made *made, const char *name, const void *bytes, size_t len,
		     struct err *err)
{
	char *path = mem_printf("%s/%s", made->dir, name);
	int fd = foreign_create(path, O_APPEND), r = fd < 0 ? fd : 0;
	bool has_written = false;

	if (r == 0) {
		r = -foreign_write(fd, false, bytes, len, &has_written);
		(void)close(fd);
	}
	if (r < 0) {
		(void)err_raise(err, r, "%s: %s%s", path, strerror(-r),
				r == -ENOSPC ? ": TMPDIR=DIR names another directory" : "");
	}
	free(path);
	return r;
}

static int write_dat_text(void *user, const char *text, size_t len, struct err *err)
{
	return append_to(user, "metadata", text, len, err);
}

static int write_packet(void *user, const struct convert_packet *packet, struct err *err)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "channel0_%" PRIu32, packet->cpu);
	return append_to(user, name, packet->bytes, packet->len, err);
}

/* ---- what the trace says of itself ---- */

/* The words of "Linux HOST RELEASE MACHINE"; those that are missing are "". */
struct made_machine {
	char *text;
	const char *words[4];
};

static void machine_init(struct made_machine *machine, const struct tracedat *dat)
{
	char *rest = machine->text = mem_strdup(dat->uname ? dat->uname : "");

	for (size_t i = 0; i < ARRAY_COUNT(machine->words); i++) {
		char *word = rest ? strsep(&rest, " ") : NULL;

		machine->words[i] = word ? word : "";
	}
}

/* Two files, and two buffers of one, differ; what is made twice is the same. */
static void fill_uuid(const struct made *made, uint8_t uuid[CONVERT_UUID_BYTES])
{
	uint64_t sums[2] = { UINT64_C(0xcbf29ce484222325), UINT64_C(0x84222325cbf29ce4) };
	char text[128];
	int len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %.40s", made->dat->bytes,
			   made->survey->begin, made->buffer->name);

	for (int i = 0; i < len && i < (int)sizeof(text); i++) {
		sums[0] = (sums[0] ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
		sums[1] = (sums[1] ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3) + sums[0];
	}
	memcpy(uuid, sums, CONVERT_UUID_BYTES);
}

static const char *clock_of(const struct made *made)
{
	const char *main = made->dat->clock && made->dat->clock[0] ? made->dat->clock : "local";

	return made->buffer->clock[0] ? made->buffer->clock : main;
}

/* Clocks of ftrace, and what is wrong with them; those that are not listed count no ns. */
static const struct clock_kind {
	const char *name, *wrong;
	const char *shown; /* as LTTng calls it; NULL: the same */
} clock_kinds[] = {
	{ "mono", NULL, "monotonic" },
	{ "boot", NULL, NULL },
	{ "tai", NULL, NULL },
	{ "mono_raw", NULL, NULL },
	{ "global", NULL, NULL },
	{ "perf", NULL, NULL },
	{ "local",
	  "each CPU has its own: times of two CPUs may differ, and so may what is told of "
	  "wake-ups and migrations",
	  NULL },
};

static const struct clock_kind *kind_of_clock(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(clock_kinds); i++) {
		if (strcmp(clock_kinds[i].name, name) == 0) {
			return &clock_kinds[i];
		}
	}
	return NULL;
}

/* As a name of the metadata, where it has to be an identifier; the caller frees it. */
static char *clock_identifier(const struct made *made)
{
	const struct clock_kind *kind = kind_of_clock(clock_of(made));
	char *name = mem_printf("%s%.40s", kind ? "" : "clock_",
				kind && kind->shown ? kind->shown : clock_of(made));

	for (char *at = name; *at; at++) {
		*at = isalnum((unsigned char)*at) && *at > 0 ? *at : '_';
	}
	return name;
}

static void note_clock(const struct made *made)
{
	const char *name = clock_of(made);
	const struct clock_kind *kind = kind_of_clock(name);

	if (kind && kind->wrong) {
		note(made->notes,
		     "its clock is \"%s\": %s (`trace-cmd record -C mono` has one for all)", name,
		     kind->wrong);
	} else if (!kind && made->dat->mult == 0) {
		note(made->notes,
		     "its clock \"%.40s\" does not count ns, and the file does not say how long a "
		     "tick is: durations are numbers of ticks (`trace-cmd record -C mono` has ns)",
		     name);
	}
}

static enum convert_machine machine_said(const struct made *made,
					 const struct made_machine *machine)
{
	const struct tracedat *dat = made->dat;
	enum convert_machine found = convert_machine_of(machine->words[3]);

	if (found == CONVERT_MACHINE_UNKNOWN && dat->calls) {
		found = convert_machine_of(dat->calls);
	}
	if (found == CONVERT_MACHINE_UNKNOWN) {
		note(made->notes,
		     "it does not say of which machine it is, so that system calls have numbers "
		     "and no names");
	}
	return found;
}

/* ---- sub-buffers ---- */

/* The next one; what cannot be read is said, and ends the CPU. */
static void next_page(struct made *made, struct made_source *source)
{
	struct err err;

	if (pages_next(&source->pages, &source->page, &source->len, &err) < 0) {
		note(made->notes, "CPU %" PRIu32 ": %s: later events are missing", source->cpu,
		     err.text);
		source->page = NULL;
	}
	if (source->page && source->len < made->layout.data_at) { /* of a file that was cut */
		source->page = NULL;
	}
	if (source->page) {
		uint64_t time =
			convert_ns(&made->setup, ftrace_page_time(&made->layout, source->page));

		source->time = time > source->time ? time : source->time;
	}
}

static void open_cpus(struct made *made)
{
	VEC_EACH(&made->buffer->cpus, cpu) {
		struct made_source *source = vec_push(&made->sources);
		struct err err;

		*source = (struct made_source){ .cpu = cpu->cpu };
		if (pages_begin(made->dat, made->buffer, cpu, &source->pages, &err) < 0) {
			note(made->notes, "%s", err.text);
		} else {
			next_page(made, source);
		}
	}
}

/* The one with the earliest next sub-buffer; NULL: there is no more. */
static struct made_source *earliest(const struct made *made)
{
	struct made_source *found = NULL;

	VEC_EACH(&made->sources, source) {
		if (source->page && (!found || source->time < found->time)) {
			found = source;
		}
	}
	return found;
}

/* A sub-buffer that cannot be read counts in the account, and the next one can be right. */
static int feed_page(struct made *made, struct made_source *source, struct err *err)
{
	int r = convert_page(made->convert, source->cpu, source->page, source->len, err);

	if (r == 0 || r == -EINVAL) {
		next_page(made, source);
		source = earliest(made);
		r = convert_until(made->convert, source ? source->time : UINT64_MAX, err);
	}
	return r;
}

static int feed_pages(struct made *made, struct err *err)
{
	struct made_source *source;
	int r = 0;

	while (r == 0 && (source = earliest(made))) {
		r = now_is_leaving() ? err_raise(err, -EINTR, "interrupted while it was converted")
				     : feed_page(made, source, err);
	}
	return r;
}

/* ---- the account ---- */

/* What the kernel lost, by its own account.  Events that it had left count if they did not come
 * into the file after the account. */
static uint64_t lost_of(const struct made *made, uint32_t cpu, uint64_t read)
{
	VEC_EACH(&made->dat->lost, lost) {
		uint64_t taken, missing;

		if (lost->cpu != cpu || strcmp(lost->buffer, made->buffer->name) != 0) {
			continue;
		}
		taken = lost->read + lost->entries;
		missing = taken > read ? taken - read : 0;
		return lost->overrun + lost->commit_overrun + lost->dropped +
		       (missing < lost->entries ? missing : lost->entries);
	}
	return 0;
}

/* Sub-buffers tell what was lost before them; the rest is at a place that nobody knows. */
static void settle_losses(struct made *made)
{
	uint64_t bad = 0;

	VEC_EACH(&made->sources, source) {
		struct convert_account account;
		uint64_t lost;

		convert_account(made->convert, source->cpu, &account);
		lost = lost_of(made, source->cpu, account.read);
		if (lost > account.lost && lost <= FTRACE_MISSED_MAX) {
			convert_lost(made->convert, source->cpu, lost - account.lost);
		}
		bad += account.bad_pages;
	}
	if (bad > 0) {
		note(made->notes, "%" PRIu64 " sub-buffers could not be read to their ends", bad);
	}
}

/* ---- one trace ---- */

static void parse_formats(struct made *made)
{
	VEC_EACH(&made->dat->formats, one) {
		struct ftrace_format *format;
		struct err why;

		if (ftrace_format_parse(one->text, one->len, one->system, &format, &why) == 0) {
			*vec_push(&made->formats) = format;
		}
	}
}

/* Formats that nothing needs may be of any form. */
static void note_unknown(const struct made *made)
{
	size_t unknown = 0;

	for (size_t id = 0; id < SURVEY_IDS; id++) {
		bool is_known = !made->survey->has[id];

		for (size_t i = 0; i < made->formats.count && !is_known; i++) {
			is_known = made->formats.at[i]->id == id;
		}
		unknown += !is_known;
	}
	if (unknown > 0) {
		note(made->notes,
		     "the formats of %zu kinds of events are missing, or cannot be read: these "
		     "events are left out",
		     unknown);
	}
}

/* Of events that are there. */
static int add_seen_formats(struct made *made, struct err *err)
{
	VEC_EACH_OF(&made->formats, format) {
		struct err why;
		int r = made->survey->has[format->id] ? convert_format(made->convert, format, &why)
						      : 0;

		if (r < 0 && r != -EEXIST) {
			return err_raise(err, r, "%s", why.text);
		}
	}
	return 0;
}

#define COMM_BYTES 16

/* What the file says of threads, as a state dump does. */
static void tell_threads(struct made *made, uint32_t class_id)
{
	const struct survey_threads_entry *entry = NULL;

	while ((entry = survey_threads_next(&made->survey->threads, NULL, entry))) {
		struct {
			uint32_t tid, pid; /* which process they are of is not known */
			char name[COMM_BYTES];
		} payload = { .tid = htole32((uint32_t)entry->key), .pid = htole32(UINT32_MAX) };
		const char *name = entry->value.name;

		if (entry->value.is_seen && !entry->value.is_born) {
			memcpy(payload.name, name, strnlen(name, COMM_BYTES - 1));
			convert_event(made->convert, class_id, made->buffer->cpus.at[0].cpu,
				      made->setup.begin, &payload, sizeof(payload));
		}
	}
}

static uint32_t made_cpus_of(const struct made *made)
{
	uint32_t cpus = 0;

	VEC_EACH(&made->buffer->cpus, cpu) {
		cpus = cpu->cpu >= cpus ? cpu->cpu + 1 : cpus;
	}
	return cpus;
}

static int open_convert(struct made *made, struct err *err)
{
	const struct convert_sink sink = { .metadata = write_dat_text,
					   .packet = write_packet,
					   .user = made };
	struct made_machine machine;
	struct convert_env env[4];
	size_t count = 0;

	made->clock = clock_identifier(made);
	made->setup = (struct convert_setup){
		.clock_name = made->clock,
		.clock_offset = made->dat->offset,
		.clock_frequency = 1000000000,
		.clock_mult = made->dat->mult,
		.clock_shift = made->dat->shift,
		.cpus = made_cpus_of(made),
		.packet_bytes = MADE_PACKET_BYTES,
	};
	made->setup.begin = convert_ns(&made->setup, made->survey->begin);
	machine_init(&machine, made->dat);
	made->setup.machine = machine_said(made, &machine);
	fill_uuid(made, made->setup.uuid);
	if (machine.words[1][0]) {
		env[count++] = (struct convert_env){ .name = "hostname", .text = machine.words[1] };
		env[count++] =
			(struct convert_env){ .name = "kernel_release", .text = machine.words[2] };
	}
	made->setup.env = env;
	made->setup.env_count = count;
	made->convert = convert_new(&made->setup, &sink, err);
	made->setup.env = NULL; /* it is of this function */
	made->setup.env_count = 0;
	free(machine.text);
	return made->convert ? 0 : -EINVAL;
}

static void note_odd(const struct made *made)
{
	char *odd = convert_odd(made->convert);

	if (odd) {
		note(made->notes, "%s", odd);
	}
	free(odd);
}

static int convert_all(struct made *made, struct err *err)
{
	uint32_t class_id;
	int r = open_convert(made, err);

	if (r < 0) {
		return r;
	}
	convert_layout(made->convert, &made->layout);
	class_id = convert_class(made->convert, "lttng_statedump_process_state",
				 "tid:s4 pid:s4 name:c16");
	r = add_seen_formats(made, err);
	r = r < 0 ? r : convert_start(made->convert, err);
	if (r == 0) {
		note_odd(made);
		tell_threads(made, class_id);
		open_cpus(made);
		r = feed_pages(made, err);
	}
	if (r == 0) {
		settle_losses(made);
		r = convert_finish(made->convert, convert_ns(&made->setup, made->survey->end), err);
	}
	return r;
}

static int make(struct made *made, struct err *err)
{
	const char *text = made->dat->header_page;
	int r = text ? ftrace_layout_parse(text, strlen(text), made->dat->is_big, &made->layout,
					   err)
		     : err_raise(err, -EINVAL, "the layout of sub-buffers is missing");

	if (r < 0) {
		return r;
	}
	made->layout.bytes = made->buffer->page_bytes;
	note_clock(made);
	parse_formats(made);
	r = survey_take(made->dat, made->buffer, &made->layout, &made->formats, made->survey, err);
	if (r < 0) {
		return r;
	}
	note_unknown(made);
	return convert_all(made, err);
}

static void source_fini(struct made_source *source)
{
	pages_fini(&source->pages);
}

int made_trace(const struct tracedat *dat, const struct tracedat_buffer *buffer, const char *dir,
	       struct made_notes *notes, struct err *err)
{
	struct made made = { .dat = dat,
			     .buffer = buffer,
			     .dir = dir,
			     .notes = notes,
			     .survey = mem_alloc(sizeof(*made.survey)) };
	int r = make(&made, err);

	convert_free(made.convert);
	survey_fini(made.survey);
	free(made.survey);
	free(made.clock);
	vec_fini_each(&made.sources, source_fini);
	vec_free_each(&made.formats, ftrace_format_free);
	return r < 0 ? err_note(err, r, "%s", dat->path) : 0;
}
