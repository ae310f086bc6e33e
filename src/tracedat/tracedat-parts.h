/*
 * tracedat-parts: what the two versions of the file share; each function reads from a cursor, whose
 * fault is the caller's to see.
 */
#pragma once

#include "tracedat/cursor.h"
#include "tracedat/tracedat.h"

/* contents.c: what follows the head of a section, or the part before. */
void contents_header(struct tracedat *dat, struct cursor *cursor);
void contents_own_formats(struct tracedat *dat, struct cursor *cursor);
void contents_formats(struct tracedat *dat, struct cursor *cursor);
void contents_symbols(struct tracedat *dat, struct cursor *cursor);
void contents_prints(struct cursor *cursor);
void contents_tasks(struct tracedat *dat, struct cursor *cursor);

/* Ids of options. */
enum option_id {
	OPTION_DONE = 0,
	OPTION_DATE = 1,
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_CPUCOUNT = 8,
	OPTION_TSC2NSEC = 14,
	OPTION_HEADER_INFO = 16,
	OPTION_FTRACE_EVENTS = 17,
	OPTION_EVENT_FORMATS = 18,
	OPTION_KALLSYMS = 19,
	OPTION_PRINTK = 20,
	OPTION_CMDLINES = 21,
	OPTION_BUFFER_TEXT = 22,
};

/* optional.c: what an option of either version says; @cursor ends with it.  Others are passed
 * over. */
void optional_take(struct tracedat *dat, unsigned int id, struct cursor *cursor);
/* The name in brackets, of the text of `trace_clock`; the caller frees it. */
char *optional_clock(const char *text);

/* lost.c: the text of a file `stats`, or of a buffer's name. */
void lost_take(struct tracedat *dat, const char *text);

/* sections.c: version 7, from the offset of the first options on. */
int sections_read(struct tracedat *dat, uint64_t options, struct err *err);
