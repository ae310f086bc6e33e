/*
 * optional: see tracedat-parts.h.
 */
#include <string.h>

#include "tracedat/tracedat-limits.h"
#include "tracedat/tracedat-parts.h"

/* What is left of the option, as a text. */
static char *rest_of_option(struct cursor *cursor)
{
	return cursor_copy(cursor, cursor->end - cursor->at, TRACEDAT_TEXT_BYTES_MAX);
}

char *optional_clock(const char *text)
{
	const char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	return end ? mem_printf("%.*s", (int)(end - begin - 1), begin + 1) : mem_strdup(text);
}

static void take_clock(struct tracedat *dat, struct cursor *cursor)
{
	char *text = rest_of_option(cursor);

	if (dat->version == 6) {
		dat->has_own_clock = true;
	} else {
		free(dat->clock);
		dat->clock = optional_clock(text);
	}
	free(text);
}

static void take_places_of(struct tracedat_buffer *buffer, struct cursor *cursor)
{
	uint64_t count = cursor_number(cursor, 4);

	cursor->is_wrong |= count > TRACEDAT_CPUS_MAX;
	for (uint64_t i = 0; i < count && !cursor->is_wrong; i++) {
		struct tracedat_cpu cpu = { .cpu = (uint32_t)cursor_number(cursor, 4) };

		cpu.offset = cursor_number(cursor, 8);
		cpu.bytes = cursor_number(cursor, 8);
		cursor->is_wrong |= cpu.cpu >= TRACEDAT_CPUS_MAX;
		*vec_push(&buffer->cpus) = cpu;
	}
}

/* In version 6 the place of the table of CPUs is kept, until it is read, as that of a CPU. */
static void take_buffer(struct tracedat *dat, struct cursor *cursor)
{
	struct tracedat_buffer buffer = { .page_bytes = dat->page_bytes };
	uint64_t place = cursor_number(cursor, 8);

	buffer.name = cursor_text(cursor, TRACEDAT_NAME_BYTES_MAX);
	if (dat->version == 6) {
		*vec_push(&buffer.cpus) = (struct tracedat_cpu){ .offset = place };
		buffer.clock = mem_strdup("");
	} else {
		buffer.clock = cursor_text(cursor, TRACEDAT_NAME_BYTES_MAX);
		buffer.page_bytes = (uint32_t)cursor_number(cursor, 4);
		take_places_of(&buffer, cursor);
		buffer.is_packed = dat->packed_by != UNPACK_NONE;
	}
	cursor->is_wrong |= dat->buffers.count >= TRACEDAT_BUFFERS_MAX;
	*vec_push(&dat->buffers) = buffer;
}

/* Of trace-cmd record --date and report --ts-offset, decimal or "0x...": a number whose sign is its
 * highest bit. */
static int64_t take_offset(struct cursor *cursor)
{
	char *text = rest_of_option(cursor);
	const char *digits = text + strspn(text, " ");
	int64_t offset =
		*digits == '-' ? strtoll(digits, NULL, 0) : (int64_t)strtoull(digits, NULL, 0);

	free(text);
	return offset;
}

static void add_offset(struct tracedat *dat, int64_t offset, int64_t unit)
{
	__int128 sum = (__int128)offset * unit + dat->offset;

	dat->offset = sum == (int64_t)sum ? (int64_t)sum : dat->offset;
}

static void take_tsc(struct tracedat *dat, struct cursor *cursor)
{
	dat->mult = (uint32_t)cursor_number(cursor, 4);
	dat->shift = (uint32_t)cursor_number(cursor, 4);
	cursor->is_wrong |= dat->shift > 63;
}

void optional_take(struct tracedat *dat, unsigned int id, struct cursor *cursor)
{
	char *text;

	switch (id) {
	case OPTION_DATE: /* us */
		add_offset(dat, take_offset(cursor), 1000);
		break;
	case OPTION_OFFSET: /* ns */
		add_offset(dat, take_offset(cursor), 1);
		break;
	case OPTION_CPUSTAT:
		text = rest_of_option(cursor);
		lost_take(dat, text);
		free(text);
		break;
	case OPTION_BUFFER:
		take_buffer(dat, cursor);
		break;
	case OPTION_TRACECLOCK:
		take_clock(dat, cursor);
		break;
	case OPTION_UNAME:
		free(dat->uname);
		dat->uname = rest_of_option(cursor);
		break;
	case OPTION_CPUCOUNT:
		dat->cpus = (uint32_t)cursor_number(cursor, 4);
		break;
	case OPTION_TSC2NSEC:
		take_tsc(dat, cursor);
		break;
	case OPTION_BUFFER_TEXT:
		dat->texts++;
		break;
	default:
		break;
	}
}
