/*
 * survey: what the sub-buffers of a buffer have, found out before they are converted.
 *
 * A trace.dat has the formats of all events that the kernel knows, whether they were recorded or
 * not.  A trace declares what it has events of, and no more: who reads it takes what is declared
 * and never came for something that never happened.
 *
 * Of the names of threads, which are as they were at the end, those count whose thread is there
 * and was not made while the recording ran: what tells of its begin has its name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "ftrace/format.h"
#include "ftrace/page.h"
#include "tracedat/tracedat.h"

typedef VEC(struct ftrace_format *) survey_formats;

/* A thread that has a name. */
struct survey_thread {
	const char *name; /* borrowed */
	bool is_seen, is_born;
};
HASH_MAP(survey_threads, struct survey_thread)

#define SURVEY_IDS 65536

struct survey {
	bool has[SURVEY_IDS]; /* events, by id */
	uint64_t begin, end;  /* times: of the first sub-buffer, of the last event */
	struct survey_threads threads;
};

/* -EINTR: a signal came. What cannot be read is not there. */
int survey_take(const struct tracedat *dat, const struct tracedat_buffer *buffer,
		const struct ftrace_layout *layout, const survey_formats *formats,
		struct survey *survey, struct err *err);
void survey_fini(struct survey *survey);
