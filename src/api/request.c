/*
 * request: see request.h.
 */
#include "api/request.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text/utf8.h"

#define ON(what)   (1U << API_##what)
#define ON_FIGURES (ON(TABLES) | ON(SERIES))
#define ON_RANGE   (ON_FIGURES | ON(HOSTS) | ON(EXPLAIN) | ON(EVENTS) | ON(MARKS))
#define ON_ROWS    (ON_FIGURES | ON(HOSTS) | ON(STATE) | ON(EVENTS) | ON(COMPARE) | ON(MARKS))
#define ON_STORES  (ON_FIGURES | ON(HOSTS) | ON(COMPARE) | ON(MARKS))
#define ON_ALL     ((1U << API_WHATS) - 1)

enum form {
	FORM_SOURCE, /* the number of one */
	FORM_COUNT,  /* from `least` to `most` */
	FORM_WORDS,  /* letters, digits and _ . - , */
	FORM_ORDER,  /* asc, desc */
	FORM_TIME,   /* as --begin has it, which never has two dots, or @ but in front */
	FORM_TEXT,   /* no control characters */
};

struct param {
	const char *name;
	enum form form;
	unsigned int on, needed; /* bits of what it is of, and of what cannot be without */
	uint64_t least, most, usual;
	const char *option; /* of the command; NULL: none */
	const char *about;
};

static const struct {
	const char *name, *about;
	unsigned int kinds;
} whats[API_WHATS] = {
	[API_SOURCES] = { "sources", "what is served",
			  1U << API_TRACE | 1U << API_CAPTURE | 1U << API_STORE },
	[API_HOSTS] = { "hosts", "hosts of a store side by side", 1U << API_STORE },
	[API_TABLES] = { "tables", "rows of an analysis over a range",
			 1U << API_TRACE | 1U << API_CAPTURE | 1U << API_STORE },
	[API_STATE] = { "state", "all threads at an instant", 1U << API_TRACE | 1U << API_CAPTURE },
	[API_EXPLAIN] = { "explain", "where the time of a thread, a job or a range went",
			  1U << API_TRACE | 1U << API_CAPTURE },
	[API_EVENTS] = { "events", "events of a range, decoded",
			 1U << API_TRACE | 1U << API_CAPTURE },
	[API_SERIES] = { "series", "figures over time",
			 1U << API_TRACE | 1U << API_CAPTURE | 1U << API_STORE },
	[API_COMPARE] = { "compare", "what changed from one range or source to another",
			  1U << API_TRACE | 1U << API_CAPTURE | 1U << API_STORE },
	[API_MARKS] = { "marks", "captures, triggers, phases and losses in time",
			1U << API_TRACE | 1U << API_CAPTURE | 1U << API_STORE },
};

/* clang-format off: a row a line */
static const struct param params[API_PARAMS] = {
	[API_SOURCE] = { "source", FORM_SOURCE, ON_ALL & ~(ON(SOURCES) | ON(COMPARE)),
			 ON_ALL & ~(ON(SOURCES) | ON(COMPARE)), 0, 0, 0, NULL,
			 "its number in `sources`" },
	[API_A] = { "a", FORM_SOURCE, ON(COMPARE), ON(COMPARE), 0, 0, 0, NULL,
		    "the number of the source before" },
	[API_B] = { "b", FORM_SOURCE, ON(COMPARE), ON(COMPARE), 0, 0, 0, NULL,
		    "the number of the source after; it may be the same" },
	[API_COUNT] = { "count", FORM_COUNT, ON(SOURCES), 0, 0, 1, 0, NULL,
			"1: events are counted, which reads the traces" },
	[API_BEGIN] = { "begin", FORM_TIME, ON_RANGE, 0, 0, 0, 0, "begin",
			"a time, as --begin has it" },
	[API_END] = { "end", FORM_TIME, ON_RANGE, 0, 0, 0, 0, "end", "a time, as --end has it" },
	[API_A_BEGIN] = { "a_begin", FORM_TIME, ON(COMPARE), 0, 0, 0, 0, NULL, "the range of a" },
	[API_A_END] = { "a_end", FORM_TIME, ON(COMPARE), 0, 0, 0, 0, NULL, "its end" },
	[API_B_BEGIN] = { "b_begin", FORM_TIME, ON(COMPARE), 0, 0, 0, 0, NULL, "the range of b" },
	[API_B_END] = { "b_end", FORM_TIME, ON(COMPARE), 0, 0, 0, 0, NULL, "its end" },
	[API_AT] = { "at", FORM_TIME, ON(STATE), ON(STATE), 0, 0, 0, "at", "the instant" },
	[API_ANALYSES] = { "analyses", FORM_WORDS, ON_FIGURES | ON(COMPARE), 0, 0, 0, 0, "analyses",
			   "names, or all" },
	[API_INTERVAL] = { "interval", FORM_WORDS, ON(SERIES), ON(SERIES), 0, 0, 0, "interval",
			   "the length of windows: 10ms" },
	[API_PER] = { "per", FORM_WORDS, ON_FIGURES | ON(COMPARE), 0, 0, 0, 0, "per",
		      "cpu, tid, pid, comm, prio, container, service" },
	[API_HOST] = { "host", FORM_TEXT, ON_STORES, 0, 0, 0, 0, "host",
		       "of stores: hosts of such names" },
	[API_SESSION] = { "session", FORM_TEXT, ON_STORES, 0, 0, 0, 0, "session",
			  "of stores: sessions of such names" },
	[API_TID] = { "tid", FORM_WORDS, ON_FIGURES, 0, 0, 0, 0, "tid",
		      "only what these threads did" },
	[API_PID] = { "pid", FORM_WORDS, ON_FIGURES, 0, 0, 0, 0, "pid",
		      "only what these processes did" },
	[API_COMM] = { "comm", FORM_TEXT, ON_FIGURES, 0, 0, 0, 0, "comm",
		       "only what threads of these names did" },
	[API_CPU] = { "cpu", FORM_WORDS, ON_FIGURES | ON(EVENTS), 0, 0, 0, 0, "cpu",
		      "only what happened on these CPUs" },
	[API_IRQ] = { "irq", FORM_TEXT, ON_FIGURES, 0, 0, 0, 0, "irq",
		      "only rows of these interrupts" },
	[API_FIGURES] = { "figures", FORM_TEXT, ON(HOSTS), 0, 0, 0, 0, "figure",
			  "columns, named as in triggers" },
	[API_THREAD] = { "thread", FORM_TEXT, ON(EXPLAIN), 0, 0, 0, 0, "thread",
			 "explain the first of these" },
	[API_JOB] = { "job", FORM_TEXT, ON(EXPLAIN), 0, 0, 0, 0, "job", "its executions" },
	[API_WITHIN] = { "within", FORM_TEXT, ON(EXPLAIN), 0, 0, 0, 0, "within",
			 "only those within one of these" },
	[API_EVERY] = { "every", FORM_WORDS, ON(EXPLAIN), 0, 0, 0, 0, "every",
			"they arrive so often" },
	[API_DEADLINE] = { "deadline", FORM_WORDS, ON(EXPLAIN), 0, 0, 0, 0, "deadline",
			   "count those that take longer" },
	[API_WORST] = { "worst", FORM_COUNT, ON(EXPLAIN), 0, 0, 20, 3, "worst",
			"explain so many executions" },
	[API_TOP] = { "top", FORM_COUNT, ON(EXPLAIN), 0, 1, API_ROWS_MAX, API_ROWS_USUAL, "top",
		      "rows of each list" },
	[API_EVENT] = { "event", FORM_TEXT, ON(EVENTS), 0, 0, 0, 0, "event",
			"names and patterns of events" },
	[API_TABLE] = { "table", FORM_WORDS, ON_FIGURES | ON(STATE), 0, 0, 0, 0, NULL,
			"rows of this list: cpu.threads" },
	[API_FILTER] = { "filter", FORM_TEXT, ON_ROWS, 0, 0, 0, 0, NULL,
			 "rows for which all hold: run_ns>1000,comm~db*" },
	[API_SORT] = { "sort", FORM_WORDS, ON_ROWS & ~ON(EVENTS), 0, 0, 0, 0, NULL,
		       "by this member" },
	[API_ORDER] = { "order", FORM_ORDER, ON_ROWS & ~ON(EVENTS), 0, 0, 0, 0, NULL, "desc, asc" },
	[API_COLUMNS] = { "columns", FORM_WORDS, ON_ROWS, 0, 0, 0, 0, NULL,
			  "only these members: comm,wake.p99_ns" },
	[API_OFFSET] = { "offset", FORM_COUNT, ON_ROWS | ON(EXPLAIN), 0, 0, API_OFFSET_MAX, 0, NULL,
			 "rows before the page" },
	[API_LIMIT] = { "limit", FORM_COUNT, ON_ROWS | ON(EXPLAIN), 0, 1, API_ROWS_MAX,
			API_ROWS_USUAL, NULL, "rows of the page" },
};
/* clang-format on */

const char *api_kind_name(enum api_kind kind)
{
	static const char *const names[] = { "trace", "capture", "store" };

	return names[kind];
}

bool api_can(enum api_kind kind, enum api_what what)
{
	return whats[what].kinds >> kind & 1;
}

const char *api_what_name(enum api_what what)
{
	return whats[what].name;
}

const char *api_option(enum api_param param)
{
	return params[param].option;
}

/* ---- forms ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* In place; false: a byte is no text. */
static bool decode(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		int high, low;

		if (*at != '%') {
			*to++ = (char)(*at == '+' ? ' ' : *at);
			continue;
		}
		high = hex_digit(at[1]);
		low = high < 0 ? -1 : hex_digit(at[2]);
		if (low < 0 || high * 16 + low == 0) {
			return false;
		}
		*to++ = (char)(high * 16 + low);
		at += 2;
	}
	*to = '\0';
	return true;
}

static bool is_clean(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		size_t len = *at < 0x80 ? 1 : utf8_length(at);

		if (len == 0 || *at < ' ' || *at == 0x7f) {
			return false;
		}
		at += len;
	}
	return true;
}

static bool is_words(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (!isalnum((unsigned char)*at) && !strchr("_.,-", *at)) {
			return false;
		}
	}
	return true;
}

static bool is_time(const char *text)
{
	return !strstr(text, "..") &&
	       strspn(text + (text[0] == '@'), "0123456789:.-+TZ abcdefghijklmnopqrstuvwxyz") ==
		       strlen(text + (text[0] == '@'));
}

static int take_count(const struct param *param, const char *text, uint64_t least, uint64_t most,
		      uint64_t *ret, struct err *err)
{
	size_t digits = strspn(text, "0123456789");

	*ret = digits > 0 && digits < 12 && !text[digits] ? strtoull(text, NULL, 10) : UINT64_MAX;
	if (*ret < least || *ret > most) {
		return err_raise(err, -EINVAL, "%s is a number from %llu to %llu", param->name,
				 (unsigned long long)least, (unsigned long long)most);
	}
	return 0;
}

/* A word that has a command print what there is, in place of an answer. */
static bool is_help(const char *text)
{
	const char *found = strstr(text, "help");

	return found && (found == text || found[-1] == ',') && (!found[4] || found[4] == ',');
}

static bool has_form(enum form form, const char *text)
{
	if (!text[0] || strlen(text) > API_VALUE_BYTES || !is_clean(text) || is_help(text)) {
		return false;
	}
	return form == FORM_WORDS   ? is_words(text)
	       : form == FORM_ORDER ? strcmp(text, "asc") == 0 || strcmp(text, "desc") == 0
	       : form == FORM_TIME  ? is_time(text)
				    : true;
}

static int take_value(enum api_param number, char *text, size_t source_count,
		      struct api_request *ret, struct err *err)
{
	const struct param *param = &params[number];
	if (!(param->on >> ret->what & 1)) {
		return err_raise(err, -EINVAL, "%s has no %s", whats[ret->what].name, param->name);
	}
	if (ret->values[number]) {
		return err_raise(err, -EINVAL, "%s is given twice", param->name);
	}
	if (!decode(text) || !has_form(param->form, text)) {
		return err_raise(err, -EINVAL, "%s is not of the form that it has", param->name);
	}
	ret->values[number] = text;
	if (param->form == FORM_SOURCE) {
		return source_count == 0 ? err_raise(err, -EINVAL, "there is no source")
					 : take_count(param, text, 0, source_count - 1,
						      &ret->numbers[number], err);
	}
	return param->form == FORM_COUNT ? take_count(param, text, param->least, param->most,
						      &ret->numbers[number], err)
					 : 0;
}

/* ---- the whole ---- */

static int find_what(const char *name, enum api_what *ret, struct err *err)
{
	for (int i = 0; i < API_WHATS; i++) {
		if (strcmp(whats[i].name, name) == 0) {
			*ret = (enum api_what)i;
			return 0;
		}
	}
	return err_raise(err, -ENOENT, "there is nothing of this name; doc/api.md lists what is");
}

static int take_pair(char *pair, size_t source_count, struct api_request *ret, struct err *err)
{
	char *equals = strchr(pair, '=');

	if (!equals) {
		return err_raise(err, -EINVAL, "a parameter has no value");
	}
	*equals = '\0';
	for (int i = 0; i < API_PARAMS; i++) {
		if (strcmp(params[i].name, pair) == 0) {
			return take_value((enum api_param)i, equals + 1, source_count, ret, err);
		}
	}
	return err_raise(err, -EINVAL, "%s has no parameter of this name", whats[ret->what].name);
}

static int check_needed(const struct api_request *request, struct err *err)
{
	for (int i = 0; i < API_PARAMS; i++) {
		if (params[i].needed >> request->what & 1 && !request->values[i]) {
			return err_raise(err, -EINVAL, "%s needs %s: %s", whats[request->what].name,
					 params[i].name, params[i].about);
		}
	}
	if ((request->values[API_SORT] || request->values[API_ORDER]) &&
	    (request->what == API_TABLES || request->what == API_STATE) &&
	    !request->values[API_TABLE]) {
		return err_raise(err, -EINVAL, "sort and order are of a table");
	}
	return 0;
}

int api_parse(const char *text, size_t source_count, struct api_request *ret, struct err *err)
{
	const char *name =
		strncmp(text, API_PLACE, strlen(API_PLACE)) == 0 ? text + strlen(API_PLACE) : text;
	char *query, *pair, *rest = NULL;
	int r;

	*ret = (struct api_request){ 0 };
	if (strlen(text) > API_REQUEST_BYTES) {
		return err_raise(err, -EINVAL, "a request has %d bytes at most", API_REQUEST_BYTES);
	}
	for (int i = 0; i < API_PARAMS; i++) {
		ret->numbers[i] = params[i].usual;
	}
	ret->memory = mem_strdup(name);
	query = strchr(ret->memory, '?');
	if (query) {
		*query++ = '\0';
	}
	r = find_what(ret->memory, &ret->what, err);
	for (pair = query ? strtok_r(query, "&", &rest) : NULL; r == 0 && pair;
	     pair = strtok_r(NULL, "&", &rest)) {
		r = take_pair(pair, source_count, ret, err);
	}
	return r < 0 ? r : check_needed(ret, err);
}

void api_request_fini(struct api_request *request)
{
	free(request->memory);
	*request = (struct api_request){ 0 };
}

/* ---- texts ---- */

void api_describe(FILE *out)
{
	static const char *const forms[] = {
		"a number", "a number", "words", "word", "time", "text"
	};

	for (int what = 0; what < API_WHATS; what++) {
		(void)fprintf(out, "%s%s%s: %s\n", what > 0 ? "\n" : "", API_PLACE,
			      whats[what].name, whats[what].about);
		for (int i = 0; i < API_PARAMS; i++) {
			const struct param *param = &params[i];

			if (param->on >> what & 1) {
				(void)fprintf(out, "  %-9s %s (%s%s)\n", param->name, param->about,
					      forms[param->form],
					      param->needed >> what & 1 ? ", needed" : "");
			}
		}
	}
}

char *api_error(int status, const char *message)
{
	char *text = NULL;
	struct json json;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out) {
		mem_lacks("a text in memory");
	}
	json_init(&json, out);
	json_open(&json, NULL, '{');
	json_u64(&json, "api", API_VERSION);
	json_open(&json, "error", '{');
	json_u64(&json, "status", (uint64_t)status);
	json_text(&json, "message", message);
	json_close(&json, '}');
	json_close(&json, '}');
	json_end_line(&json);
	(void)fclose(out);
	return text;
}
