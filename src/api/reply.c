/*
 * reply: see reply.h.
 */
#include "api/reply.h"

#include <assert.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "api/quality.h"
#include "api/rows.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/process/line.h"
#include "version.h"

struct api_reply {
	const struct api_request *request;
	struct api_rows *rows;
	struct json_object *top;
	struct json_object *quality, *warnings, *messages; /* in `top` */
	struct json_object *tables; /* of figures without `table`: name and rows of each */
	uint64_t warning_count, message_count, events;
	bool has_answer;
};

struct api_reply *api_reply_new(const struct api_request *request, struct err *err)
{
	const char *order = request->values[API_ORDER];
	const struct api_page page = {
		.filter = request->values[API_FILTER],
		.sort = request->values[API_SORT],
		.columns = request->values[API_COLUMNS],
		.is_ascending = order && strcmp(order, "asc") == 0,
		.offset = request->numbers[API_OFFSET],
		.limit = request->numbers[API_LIMIT],
	};
	struct api_rows *rows = api_rows_new(&page, err);
	struct api_reply *reply;

	if (!rows) {
		return NULL;
	}
	reply = mem_alloc(sizeof(*reply));
	reply->request = request;
	reply->rows = rows;
	reply->top = json_object_new_object();
	reply->quality = json_object_new_array();
	reply->warnings = json_object_new_array();
	reply->messages = json_object_new_array();
	return reply;
}

void api_reply_free(struct api_reply *reply)
{
	if (reply) {
		api_rows_free(reply->rows);
		json_object_put(reply->top);
		json_object_put(reply->quality);
		json_object_put(reply->warnings);
		json_object_put(reply->messages);
		json_object_put(reply->tables);
		free(reply);
	}
}

/* ---- lines ---- */

/* Numbers of the traces in "quality", which rows have as "trace". */
static size_t trace_number(struct api_reply *reply, struct json_object *line)
{
	struct json_object *trace = quality_member(line, "trace");
	size_t count = json_object_array_length(reply->quality), i = 0;

	while (i < count &&
	       !json_object_equal(
		       quality_member(json_object_array_get_idx(reply->quality, i), "trace"),
		       trace)) {
		i++;
	}
	if (i == count) { /* its total is yet to come */
		struct json_object *ret = json_object_new_object();

		quality_copy(ret, line, "trace");
		json_object_array_add(reply->quality, ret);
	}
	return i;
}

/* ---- figures ---- */

/* Numbers and distributions, without lists and without objects whose keys are data. */
static void drop_lists(struct json_object *analysis)
{
	static const char *const others[] = { "by_name", "log2", "buckets", "missing" };
	VEC(const char *) keys = { 0 };

	json_object_object_foreach(analysis, key, value)
	{
		bool goes = json_object_is_type(value, json_type_array);

		for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
			goes |= strcmp(key, others[i]) == 0;
		}
		if (goes) {
			*vec_push(&keys) = key;
		} else if (json_object_is_type(value, json_type_object)) {
			drop_lists(value);
		}
	}
	VEC_EACH(&keys, one) {
		json_object_object_del(analysis, *one);
	}
	vec_fini(&keys);
}

static void note_tables(struct api_reply *reply, struct json_object *line, size_t trace)
{
	reply->tables = reply->tables ? reply->tables : json_object_new_array();
	json_object_object_foreach(line, name, analysis)
	{
		if (!quality_is_analysis(name, analysis) ||
		    !quality_is_asked(reply->request, name)) {
			continue;
		}
		json_object_object_foreach(analysis, key, value)
		{
			struct json_object *one;
			char *path;

			if (!json_object_is_type(value, json_type_array) ||
			    strcmp(key, "missing") == 0) {
				continue;
			}
			one = json_object_new_object();
			path = mem_printf("%s.%s", name, key);
			json_object_object_add(one, "trace", json_object_new_uint64(trace));
			json_object_object_add(one, "table", json_object_new_string(path));
			json_object_object_add(
				one, "rows",
				json_object_new_uint64(json_object_array_length(value)));
			json_object_array_add(reply->tables, one);
			free(path);
		}
	}
}

static struct json_object *begin_row(struct json_object *line, size_t trace)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "trace", json_object_new_uint64(trace));
	quality_copy_times(row, line);
	return row;
}

/* A row of what is beside the lists. */
static void add_figures(struct api_reply *reply, struct json_object *line, size_t trace)
{
	struct json_object *row = begin_row(line, trace);

	quality_copy(row, line, "complete");
	json_object_object_foreach(line, key, value)
	{
		if (quality_is_analysis(key, value) && quality_is_asked(reply->request, key)) {
			drop_lists(value);
			json_object_object_add(row, key, json_object_get(value));
		}
	}
	api_rows_add(reply->rows, row);
}

/* The rows of one list; of windows each with the times of its window. */
static void add_table(struct api_reply *reply, struct json_object *line, size_t trace)
{
	const char *table = reply->request->values[API_TABLE];
	struct json_object *list = api_rows_member(line, table);
	size_t count =
		json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		struct json_object *row = reply->request->what == API_SERIES
						  ? begin_row(line, trace)
						  : json_object_new_object();

		json_object_object_add(row, "trace", json_object_new_uint64(trace));
		json_object_object_foreach(one, key, value)
		{
			json_object_object_add(row, key, json_object_get(value));
		}
		api_rows_add(reply->rows, row);
	}
}

static void add_line(struct api_reply *reply, struct json_object *line, bool is_total)
{
	size_t trace = trace_number(reply, line);

	if (is_total) {
		json_object_array_put_idx(reply->quality, trace,
					  quality_of_total(reply->request, line));
	}
	if (is_total != (reply->request->what != API_SERIES) || reply->request->what == API_MARKS ||
	    reply->request->what == API_SOURCES) {
		return;
	}
	if (reply->request->values[API_TABLE]) {
		add_table(reply, line, trace);
		return;
	}
	if (is_total) {
		note_tables(reply, line, trace);
	}
	add_figures(reply, line, trace);
}

/* ---- other lines ---- */

/* Arrays in the order of the figures, as objects. */
static struct json_object *by_figure(struct json_object *figures, struct json_object *values)
{
	struct json_object *ret = json_object_new_object();

	for (size_t i = 0; i < json_object_array_length(figures); i++) {
		const char *name = json_object_get_string(
			quality_member(json_object_array_get_idx(figures, i), "figure"));

		json_object_object_add(ret, name,
				       json_object_get(json_object_array_get_idx(values, i)));
	}
	return ret;
}

static void add_hosts(struct api_reply *reply, struct json_object *line)
{
	struct json_object *rows = quality_member(line, "rows"),
			   *figures = quality_member(line, "figures");

	/* "complete" and "known" of each row say how much is known. */
	json_object_array_add(reply->quality, quality_of_range(line, NULL));
	quality_copy(reply->top, line, "figures");
	quality_copy(reply->top, line, "absent");
	quality_copy(reply->top, line, "host_count");
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_get(json_object_array_get_idx(rows, i));
		struct json_object *values = by_figure(figures, quality_member(row, "values"));
		struct json_object *distances =
			by_figure(figures, quality_member(row, "distances"));

		json_object_object_add(row, "values", values);
		json_object_object_add(row, "distances", distances);
		api_rows_add(reply->rows, row);
	}
}

static void add_sides(struct api_reply *reply, struct json_object *line)
{
	json_object_array_add(reply->quality, quality_of_side(line, "a"));
	json_object_array_add(reply->quality, quality_of_side(line, "b"));
}

static void add_not_compared(struct api_reply *reply, struct json_object *line)
{
	struct json_object *list = quality_member(reply->top, "not_compared");

	if (!list) {
		list = json_object_new_array();
		json_object_object_add(reply->top, "not_compared", list);
	}
	json_object_object_del(line, "type");
	json_object_array_add(list, json_object_get(line));
}

static void take_report(struct api_reply *reply, struct json_object *line)
{
	json_object_array_add(reply->quality, quality_of_report(reply->request, line));
	api_rows_add(reply->rows, json_object_get(line));
}

/* ---- marks ---- */

static void add_mark(struct api_reply *reply, const char *kind, struct json_object *from,
		     struct json_object *says)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "kind", json_object_new_string(kind));
	quality_copy_times(row, from);
	json_object_object_add(row, "says", says);
	api_rows_add(reply->rows, row);
}

static void add_phases(struct api_reply *reply, struct json_object *line)
{
	struct json_object *phases = quality_member(line, "phases");

	for (size_t i = 0; i < json_object_array_length(phases); i++) {
		struct json_object *phase = json_object_array_get_idx(phases, i);
		struct json_object *says = json_object_new_object();

		json_object_object_add(says, "number", json_object_new_uint64(i + 1));
		quality_copy(says, phase, "change");
		add_mark(reply, "phase", phase, says);
	}
}

static void add_warning(struct api_reply *reply, struct json_object *line)
{
	reply->warning_count++;
	json_object_object_del(line, "type");
	if (reply->request->what == API_MARKS && quality_member(line, "begin")) {
		add_mark(reply, "loss", line, json_object_get(line));
	}
	if (json_object_array_length(reply->warnings) < API_SAID_MAX) {
		json_object_array_add(reply->warnings, json_object_get(line));
	}
}

/* ---- all lines ---- */

static void take_total_line(struct api_reply *reply, struct json_object *line)
{
	add_line(reply, line, true);
}

static void take_window_line(struct api_reply *reply, struct json_object *line)
{
	add_line(reply, line, false);
}

static void take_row(struct api_reply *reply, struct json_object *line)
{
	json_object_object_del(line, "type");
	api_rows_add(reply->rows, json_object_get(line));
}

static void take_stored_phase(struct api_reply *reply, struct json_object *line)
{
	add_mark(reply, "phase", line, json_object_get(line));
}

static void take_last(struct api_reply *reply, struct json_object *line)
{
	reply->events = json_object_get_uint64(quality_member(line, "events"));
	if (reply->request->what == API_EVENTS) {
		quality_copy(reply->top, line, "is_all");
		json_object_array_add(reply->quality, quality_of_range(line, "gaps"));
		reply->has_answer = true;
	}
}

static int take_line(struct api_reply *reply, struct json_object *line)
{
	static const struct {
		const char *type;
		void (*take)(struct api_reply *reply, struct json_object *line);
		bool is_answer;
	} types[] = {
		{ "total", take_total_line, true },   { "window", take_window_line, true },
		{ "fleet-total", add_hosts, true },   { "compare", add_sides, true },
		{ "change", take_row, true },         { "not-compared", add_not_compared, true },
		{ "report", take_report, true },      { "overview", add_phases, true },
		{ "phase", take_stored_phase, true }, { "event", take_row, true },
		{ "warning", add_warning, false },    { "end", take_last, false },
	};
	const char *type = json_object_get_string(quality_member(line, "type"));

	for (size_t i = 0; type && i < ARRAY_COUNT(types); i++) {
		if (strcmp(types[i].type, type) == 0) {
			reply->has_answer |= types[i].is_answer;
			types[i].take(reply, line);
			return 0;
		}
	}
	return 0;
}

int api_reply_take(struct api_reply *reply, FILE *printed, struct err *err)
{
	struct json_tokener *tokener = json_tokener_new_ex(API_DEPTH_MAX);
	struct line line = { 0 };
	int r;

	if (!tokener) {
		return err_raise(err, -ENOMEM, "out of memory");
	}
	while ((r = line_next(&line, printed, API_PRINTED_BYTES)) > 0) {
		struct json_object *object;

		json_tokener_reset(tokener);
		object = json_tokener_parse_ex(tokener, line.text.at, (int)strlen(line.text.at));
		if (!json_object_is_type(object, json_type_object)) {
			json_object_put(object);
			r = err_raise(err, -EPROTO, "line %llu is no object of JSON",
				      (unsigned long long)line.number);
			break;
		}
		r = take_line(reply, object);
		json_object_put(object);
	}
	line_fini(&line);
	json_tokener_free(tokener);
	return r == -EMSGSIZE ? err_raise(err, r, "a line of it is too long") : r;
}

void api_reply_say(struct api_reply *reply, const char *line)
{
	reply->message_count++;
	if (json_object_array_length(reply->messages) < API_SAID_MAX) {
		json_object_array_add(reply->messages, json_object_new_string(line));
	}
}

bool api_reply_has_answer(const struct api_reply *reply)
{
	return reply->has_answer;
}

uint64_t api_reply_events(const struct api_reply *reply)
{
	return reply->events;
}

void api_reply_row(struct api_reply *reply, struct json_object *row)
{
	reply->has_answer = true;
	api_rows_add(reply->rows, row);
}

void api_reply_member(struct api_reply *reply, const char *key, struct json_object *value)
{
	json_object_object_add(reply->top, key, value);
}

/* ---- the whole ---- */

static struct json_object *said(struct json_object *list, uint64_t count)
{
	struct json_object *ret = json_object_new_object();

	json_object_object_add(ret, "count", json_object_new_uint64(count));
	json_object_object_add(ret, "first", json_object_get(list));
	return ret;
}

static void put_source(const struct api_reply *reply, struct json_object *top, const char *key,
		       enum api_param param)
{
	if (reply->request->values[param]) {
		json_object_object_add(top, key,
				       json_object_new_uint64(reply->request->numbers[param]));
	}
}

int api_reply_put(struct api_reply *reply, FILE *out, struct err *err)
{
	struct json_object *top = json_object_new_object();
	const char *text;
	size_t len = 0;
	int r = 0;

	json_object_object_add(top, "api", json_object_new_int(API_VERSION));
	json_object_object_add(top, "version", json_object_new_string(SILLAGE_VERSION));
	json_object_object_add(top, "json", json_object_new_int(JSON_FORM));
	json_object_object_add(top, "request",
			       json_object_new_string(api_what_name(reply->request->what)));
	put_source(reply, top, "source", API_SOURCE);
	put_source(reply, top, "a", API_A);
	put_source(reply, top, "b", API_B);
	json_object_object_add(top, "quality", json_object_get(reply->quality));
	json_object_object_add(top, "warnings", said(reply->warnings, reply->warning_count));
	json_object_object_add(top, "messages", said(reply->messages, reply->message_count));
	json_object_object_foreach(reply->top, key, value)
	{
		json_object_object_add(top, key, json_object_get(value));
	}
	if (reply->tables) {
		json_object_object_add(top, "tables", json_object_get(reply->tables));
	}
	api_rows_put(reply->rows, top);
	text = json_object_to_json_string_length(
		top, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	if (!text || len > API_REPLY_BYTES) {
		r = err_raise(err, -EMSGSIZE,
			      "the reply is too large: fewer rows (limit, top), or columns");
	} else {
		(void)fputs(text, out);
		(void)fputc('\n', out);
	}
	json_object_put(top);
	return r;
}
