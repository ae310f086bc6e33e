/*
 * contents: see tracedat-parts.h; what trace-cmd copied from the traced machine.
 */
#include <inttypes.h>
#include <string.h>

#include "tracedat/tracedat-limits.h"
#include "tracedat/tracedat-parts.h"

static char *take_sized(struct cursor *cursor)
{
	uint64_t len = cursor_number(cursor, 8);

	return cursor_copy(cursor, len, TRACEDAT_TEXT_BYTES_MAX);
}

void contents_header(struct tracedat *dat, struct cursor *cursor)
{
	static const char page[] = "header_page", event[] = "header_event";

	cursor->is_wrong |= !cursor_expect(cursor, page, sizeof(page));
	free(dat->header_page);
	dat->header_page = take_sized(cursor);
	cursor->is_wrong |= !cursor_expect(cursor, event, sizeof(event));
	cursor_skip(cursor, cursor_number(cursor, 8));
}

static void take_format(struct tracedat *dat, struct cursor *cursor, const char *system)
{
	uint64_t len = cursor_number(cursor, 8);
	char *text = cursor_copy(cursor, len, TRACEDAT_TEXT_BYTES_MAX);

	dat->format_bytes += cursor->is_wrong ? 0 : (size_t)len;
	cursor->is_wrong |= dat->formats.count >= TRACEDAT_FORMATS_MAX ||
			    dat->format_bytes > TRACEDAT_FORMATS_BYTES_MAX;
	if (cursor->is_wrong) {
		free(text);
		return;
	}
	*vec_push(&dat->formats) = (struct tracedat_format){ .system = mem_strdup(system),
							     .text = text,
							     .len = (size_t)len };
}

static void take_system(struct tracedat *dat, struct cursor *cursor, const char *system)
{
	uint64_t count = cursor_number(cursor, 4);

	for (uint64_t i = 0; i < count && !cursor->is_wrong; i++) {
		take_format(dat, cursor, system);
	}
}

void contents_own_formats(struct tracedat *dat, struct cursor *cursor)
{
	take_system(dat, cursor, "ftrace");
}

void contents_formats(struct tracedat *dat, struct cursor *cursor)
{
	uint64_t systems = cursor_number(cursor, 4);

	for (uint64_t i = 0; i < systems && !cursor->is_wrong; i++) {
		char *system = cursor_text(cursor, TRACEDAT_NAME_BYTES_MAX);

		take_system(dat, cursor, system);
		free(system);
	}
}

/* How the kernel calls the functions of its system calls, for each machine. */
static const struct symbol {
	const char *symbol, *machine;
	unsigned int long_bytes;
} symbols[] = {
	{ " __x64_sys_read\n", "x86_64", 8 },
	{ " __arm64_sys_read\n", "aarch64", 8 },
	{ " __ia32_sys_read\n", "i686", 4 },
	{ " arm_syscall\n", "armv7l", 4 },
};

#define SYMBOLS_PIECE   65536
#define SYMBOLS_OVERLAP 32 /* a symbol is shorter */

static void find_machine(struct tracedat *dat, const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_COUNT(symbols) && !dat->calls; i++) {
		const struct symbol *one = &symbols[i];

		if (one->long_bytes == dat->long_bytes &&
		    memmem(text, len, one->symbol, strlen(one->symbol))) {
			dat->calls = one->machine;
		}
	}
}

void contents_symbols(struct tracedat *dat, struct cursor *cursor)
{
	char *piece = mem_alloc(SYMBOLS_OVERLAP + SYMBOLS_PIECE);
	uint64_t left = cursor_number(cursor, 4);

	cursor->is_wrong |= left > cursor->end - cursor->at;
	while (left > 0 && !cursor->is_wrong) {
		size_t len = left < SYMBOLS_PIECE ? (size_t)left : SYMBOLS_PIECE;

		cursor_bytes(cursor, piece + SYMBOLS_OVERLAP, len);
		find_machine(dat, piece, SYMBOLS_OVERLAP + len);
		memmove(piece, piece + len, SYMBOLS_OVERLAP);
		left -= len;
	}
	free(piece);
}

void contents_prints(struct cursor *cursor)
{
	cursor_skip(cursor, cursor_number(cursor, 4));
}

/* "TID NAME"; what is no such line is passed over. */
static void take_task(struct tracedat *dat, char *line)
{
	char *name;
	long tid = strtol(line, &name, 10);

	if (name == line || *name != ' ' || tid <= 0 || tid > INT32_MAX ||
	    dat->tasks.count >= TRACEDAT_TASKS_MAX) {
		return;
	}
	*vec_push(&dat->tasks) =
		(struct tracedat_task){ .tid = (int32_t)tid, .name = mem_strdup(name + 1) };
}

void contents_tasks(struct tracedat *dat, struct cursor *cursor)
{
	char *text = take_sized(cursor), *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		take_task(dat, line);
	}
	free(text);
}
