/*
 * request: what can be asked of `sillage serve` and `sillage api`, from one table (doc/api.md).
 *
 *     "/api/v1/tables?source=0&analyses=cpu&table=cpu.threads"
 *          ──► what is asked, and a text for each parameter
 *
 * The text is untrusted.  What api_parse() has taken is of the form that its parameter wants, and
 * no parameter names a file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define API_VERSION 1
#define API_PLACE   "/api/v1/"

enum api_what {
	API_SOURCES,
	API_HOSTS,
	API_TABLES,
	API_STATE,
	API_EXPLAIN,
	API_EVENTS,
	API_SERIES,
	API_COMPARE,
	API_MARKS,
	API_WHATS
};

enum api_param {
	API_SOURCE,
	API_A,
	API_B,
	API_COUNT,
	API_BEGIN,
	API_END,
	API_A_BEGIN,
	API_A_END,
	API_B_BEGIN,
	API_B_END,
	API_AT,
	API_ANALYSES,
	API_INTERVAL,
	API_PER,
	API_HOST,
	API_SESSION,
	API_TID,
	API_PID,
	API_COMM,
	API_CPU,
	API_IRQ,
	API_FIGURES,
	API_THREAD,
	API_JOB,
	API_WITHIN,
	API_EVERY,
	API_DEADLINE,
	API_WORST,
	API_TOP,
	API_EVENT,
	API_TABLE,
	API_FILTER,
	API_SORT,
	API_ORDER,
	API_COLUMNS,
	API_OFFSET,
	API_LIMIT,
	API_PARAMS
};

struct api_request {
	enum api_what what;
	const char *values[API_PARAMS]; /* NULL: not given */
	uint64_t numbers[API_PARAMS];   /* of counts, or their default */
	void *memory;
};

/* What kind a source is, and the bits of what can be asked of it. */
enum api_kind { API_TRACE, API_CAPTURE, API_STORE };
const char *api_kind_name(enum api_kind kind);
bool api_can(enum api_kind kind, enum api_what what);
const char *api_what_name(enum api_what what);

/* 0; -ENOENT: nothing has this name; -EINVAL: a parameter is wrong, and @err says which.  The
 * place before the name may be left out.  Call api_request_fini() whatever the result. */
int api_parse(const char *text, size_t source_count, struct api_request *ret, struct err *err);
void api_request_fini(struct api_request *request);

/* The option of a command that a parameter is the value of; NULL: it is none. */
const char *api_option(enum api_param param);

/* All requests with their parameters, as `sillage help requests` prints them. */
void api_describe(FILE *out);
/* The text of a reply that is none: {"api":1,"error":{...}}; from malloc(). */
char *api_error(int status, const char *message);
