/*
 * profile-json: the totals in the JSON lines of a run; see profile.h.
 *
 * The lines are untrusted: a member of the wrong type is an error that names line and member.  A
 * member that is not there is not known, since another version may have written the lines.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/process/line.h"
#include "compare/profile.h"
#include "figure/which.h"
#include "phases/phase-line.h"
#include "version.h"

#define DEPTH_MAX 12 /* of the lines: 6 */

/* The last total of a trace; totals "so far" come before it. */
struct total {
	char *trace; /* the member "trace" as text */
	struct json_object *line;
	uint64_t top;
	unsigned long long number; /* of the line */
};

/* A trace that has windows in a phase. */
struct seen_trace {
	size_t phase;
	uint64_t trace; /* a hash of what it is called */
};

/* What is taken of the lines: totals; or phases; or windows. */
struct lines {
	struct json_tokener *tokener;
	phase_sources *sources;       /* NULL: not phases */
	const compared_phases *parts; /* NULL: not windows */
	VEC(struct seen_trace) seen;
	const struct analysis *const *list;
	unsigned long long number;
	uint64_t top; /* of the run; 0: all rows */
	VEC(struct total) totals;
	struct err *err;
};

static int fail(const struct lines *lines, const char *member, const char *what)
{
	return err_raise(lines->err, -EINVAL, "line %llu: \"%.80s\" %s", lines->number, member,
			 what);
}

/* ---- members ---- */

/* NULL: it is not there, or null. */
static struct json_object *member(struct json_object *of, const char *key)
{
	struct json_object *found = NULL;

	(void)json_object_object_get_ex(of, key, &found);
	return found;
}

static int take_number(const struct lines *lines, const char *key, struct json_object *from,
		       uint64_t *ret)
{
	if (!json_object_is_type(from, json_type_int)) {
		return fail(lines, key, "is no number");
	}
	if (json_object_get_int64(from) < 0) {
		return fail(lines, key, "is below 0");
	}
	*ret = json_object_get_uint64(from);
	return 0;
}

/* 0 where there is none. */
static int take_optional(const struct lines *lines, struct json_object *of, const char *key,
			 uint64_t *ret)
{
	struct json_object *found = member(of, key);

	*ret = 0;
	return found ? take_number(lines, key, found, ret) : 0;
}

static int take_buckets(const struct lines *lines, struct json_object *of, struct spread *ret)
{
	uint64_t all = 0;
	int r = 0;

	json_object_object_foreach(of, key, value)
	{
		uint64_t count = 0;
		char *past;
		unsigned long long end = strtoull(key, &past, 10);

		r = take_number(lines, key, value, &count);
		if (r < 0 || key[0] < '0' || key[0] > '9' || *past || count == 0 ||
		    count > ret->count - all) {
			return r < 0 ? r : fail(lines, "buckets", "disagree with the count");
		}
		all += count;
		histogram_add_bucket(&ret->buckets, end, count);
	}
	if (all != ret->count) {
		return fail(lines, "buckets", "disagree with the count");
	}
	ret->buckets->sum = ret->sum;
	ret->buckets->min = ret->min;
	ret->buckets->max = ret->max;
	return 0;
}

/* Ends with NULL. */
static const char *const sums[] = { "count", "sum_ns", "min_ns", "max_ns", NULL };
static const char *const percentiles[] = { "p50_ns", "p95_ns", "p99_ns", "p999_ns", NULL };

static bool has_all(struct json_object *of, const char *const *keys)
{
	while (*keys && member(of, *keys)) {
		keys++;
	}
	return !*keys;
}

/* A distribution without a value has its count only. */
static bool is_known_spread(struct json_object *spread)
{
	struct json_object *count = member(spread, "count");

	return has_all(spread, sums) ||
	       (json_object_is_type(count, json_type_int) && json_object_get_int64(count) == 0);
}

static int take_spread(const struct lines *lines, const char *key, struct json_object *from,
		       struct spread *ret)
{
	const struct {
		const char *key;
		uint64_t *to;
	} figures[] = { { "count", &ret->count }, { "sum_ns", &ret->sum },  { "min_ns", &ret->min },
			{ "max_ns", &ret->max },  { "p50_ns", &ret->p50 },  { "p95_ns", &ret->p95 },
			{ "p99_ns", &ret->p99 },  { "p999_ns", &ret->p999 } };
	struct json_object *buckets;
	int r = json_object_is_type(from, json_type_object) ? 0 : fail(lines, key, "is no object");

	*ret = (struct spread){ .has_percentiles = has_all(from, percentiles) };
	for (size_t i = 0; r == 0 && i < ARRAY_COUNT(figures); i++) {
		r = take_optional(lines, from, figures[i].key, figures[i].to);
	}
	buckets = r == 0 ? member(from, "buckets") : NULL;
	if (buckets && ret->count > 0) {
		r = json_object_is_type(buckets, json_type_object)
			    ? take_buckets(lines, buckets, ret)
			    : fail(lines, "buckets", "is no object");
	}
	return r;
}

/* ---- rows ---- */

static int take_column(const struct lines *lines, struct profile_table *table,
		       struct profile_row *row, unsigned int i, struct json_object *value)
{
	const struct column *column = &table->table->columns[i];
	struct spread spread;
	uint64_t number = 0;
	int r;

	if (column->kind != COLUMN_HISTOGRAM) {
		r = take_number(lines, column->key, value, &number);
		if (r == 0) {
			profile_add_number(table, row, i, number);
		}
		return r;
	}
	r = take_spread(lines, column->key, value, &spread);
	if (r == 0) {
		profile_add_spread(row, i, &spread);
	}
	histogram_free(spread.buckets);
	return r;
}

/* Bit by bit the columns that the row does not have. */
static uint16_t lacks(const struct table *table, struct json_object *row)
{
	uint16_t lacks = 0;

	for (unsigned int i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		const struct column *column = &table->columns[i];
		struct json_object *value = member(row, column->key);
		bool is_known = value && (column->kind != COLUMN_HISTOGRAM ||
					  !json_object_is_type(value, json_type_object) ||
					  is_known_spread(value));

		lacks |= is_known || column->kind == COLUMN_PRIO ? 0 : (uint16_t)(1u << i);
	}
	return lacks;
}

static const char *text_of(struct json_object *of, const char *key)
{
	struct json_object *found = key ? member(of, key) : NULL;

	return found ? json_object_get_string(found) : "";
}

/* As a report's row is called; from malloc(). */
static char *name_of(const struct table *table, struct json_object *row)
{
	const char *label = table->scope == SCOPE_KEYED ? text_of(row, "label") : "";
	const char *name = label[0] ? label : text_of(row, which_name_key(table));

	if (scope_is_of_pairs(table->scope)) {
		return mem_printf("%s by %s",
				  text_of(row, table->name_key ? table->name_key : "comm"),
				  text_of(row, table->by_key));
	}
	return mem_strdup(!name[0] && table->scope == SCOPE_KEYED && table->id_key
				  ? text_of(row, table->id_key)
				  : name);
}

static int take_row(const struct lines *lines, struct profile_table *table, const char *name,
		    struct json_object *from)
{
	struct profile_row *row = profile_row_of(table, name);
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		struct json_object *value = member(from, table->table->columns[i].key);

		if (value && table->table->columns[i].kind != COLUMN_PRIO) {
			r = take_column(lines, table, row, i, value);
		}
	}
	return r;
}

static int take_list(const struct lines *lines, struct profile *profile, const struct total *total,
		     const struct analysis *analysis, const struct table *of, uint16_t unknown,
		     struct json_object *list)
{
	size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list)
								  : SIZE_MAX;
	struct profile_table *table;
	int r = 0;

	for (size_t i = 0; i < count && count < SIZE_MAX; i++) {
		unknown |= lacks(of, json_object_array_get_idx(list, i));
	}
	table = profile_table_of(profile, analysis, of, unknown);
	table->is_cut |= total->top > 0 && count >= total->top;
	for (size_t i = 0; r == 0 && i < count && count < SIZE_MAX; i++) {
		struct json_object *row = json_object_array_get_idx(list, i);
		char *name;

		if (!json_object_is_type(row, json_type_object)) {
			return fail(lines, of->key, "has a row that is no object");
		}
		name = name_of(of, row);
		r = take_row(lines, table, name, row);
		free(name);
	}
	return count == SIZE_MAX ? fail(lines, of->key, "is no list") : r;
}

/* An object from name to first column. */
static int take_names(const struct lines *lines, struct profile *profile, const struct total *total,
		      const struct analysis *analysis, const struct table *of, uint16_t unknown,
		      struct json_object *names)
{
	struct profile_table *table = profile_table_of(profile, analysis, of, unknown);

	if (!json_object_is_type(names, json_type_object)) {
		return fail(lines, of->key, "is no object");
	}
	table->is_cut |= total->top > 0 && (size_t)json_object_object_length(names) >= total->top;
	json_object_object_foreach(names, name, value)
	{
		int r = take_column(lines, table, profile_row_of(table, name), 0, value);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* ---- totals ---- */

/* What the analysis says that its trace does not record. */
static int take_missing(const struct lines *lines, const struct analysis *analysis,
			struct json_object *of, struct missing_events *ret)
{
	struct json_object *list = member(of, "missing");

	if (list && !json_object_is_type(list, json_type_array)) {
		return fail(lines, "missing", "is no list");
	}
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		*vec_push(&ret->at) = (struct missing_event){
			analysis, text_of(json_object_array_get_idx(list, i), "event")
		};
	}
	return 0;
}

static int take_analysis(const struct lines *lines, struct profile *profile,
			 const struct total *total, const struct analysis *analysis,
			 struct json_object *from, struct missing_events *missing)
{
	uint16_t unknown[TABLES_MAX] = { 0 };
	size_t first = missing->at.count;
	int r = json_object_is_type(from, json_type_object)
			? take_missing(lines, analysis, from, missing)
			: fail(lines, analysis->name, "is no object");

	if (missing->at.count > first) {
		missing_columns(analysis, missing->at.at + first, missing->at.count - first,
				unknown);
	}
	for (size_t t = 0; r == 0 && t < TABLES_MAX && analysis->tables[t].columns[0].key; t++) {
		const struct table *table = &analysis->tables[t];
		struct json_object *list = table->key ? member(from, table->key) : NULL;

		if (table->scope == SCOPE_TRACE) {
			r = take_row(lines,
				     profile_table_of(profile, analysis, table,
						      unknown[t] | lacks(table, from)),
				     "", from);
		} else if (list && table->scope == SCOPE_EVENT) {
			r = take_names(lines, profile, total, analysis, table, unknown[t], list);
		} else if (list && profile_has_names(table)) {
			r = take_list(lines, profile, total, analysis, table, unknown[t], list);
		}
	}
	return r;
}

/* Losses are figures of `count`; anomalies are also in the line, if there are any. */
static int take_losses(const struct lines *lines, struct profile *profile, struct json_object *line)
{
	struct json_object *count = member(line, "count");
	struct losses lost = { 0 };
	int r = 0;

	for (int i = 0; r == 0 && i < LOSSES; i++) {
		struct json_object *value =
			i < LOSS_ANOMALIES ? NULL : member(line, report_lost_keys[i]);

		value = !value && count ? member(count, report_lost_keys[i]) : value;
		r = value ? take_number(lines, report_lost_keys[i], value, &lost.of[i]) : 0;
		profile->knows_losses &= value != NULL || i >= LOSS_ANOMALIES;
	}
	if (r == 0 && lost.of[LOSS_MISFITS] > lost.of[LOSS_ANOMALIES]) {
		return fail(lines, report_lost_keys[LOSS_MISFITS], "disagree with the anomalies");
	}
	report_lost_add(&profile->lost, &lost);
	return r;
}

static int take_total(const struct lines *lines, struct profile *profile, const struct total *total)
{
	struct missing_events missing = { 0 };
	struct json_object *from;
	uint64_t begin, end;
	int r = take_optional(lines, total->line, "begin", &begin);

	r = r < 0 ? r : take_optional(lines, total->line, "end", &end);
	r = r < 0 ? r : take_losses(lines, profile, total->line);
	for (size_t i = 0; r == 0 && lines->list[i]; i++) {
		from = member(total->line, lines->list[i]->name);
		r = from ? take_analysis(lines, profile, total, lines->list[i], from, &missing) : 0;
	}
	if (r == 0) {
		profile_add_span(profile, begin, end);
		profile_add_trace(profile, missing.at.at, missing.at.count);
	}
	vec_fini(&missing.at);
	return r;
}

/* ---- phases ---- */

static const char *trace_text(struct json_object *line)
{
	struct json_object *trace = member(line, "trace");

	return trace ? json_object_to_json_string_ext(trace, JSON_C_TO_STRING_PLAIN) : "";
}

static struct phase_source *source_of(phase_sources *sources, const char *trace)
{
	VEC_EACH(sources, source) {
		if (strcmp(source->trace, trace) == 0) {
			return source;
		}
	}
	*vec_push(sources) = (struct phase_source){ .trace = mem_strdup(trace) };
	return &sources->at[sources->count - 1];
}

/* What a line says of a phase takes the place of what one before it said. */
static int take_phase(struct lines *lines, struct json_object *line)
{
	struct phase_source *source = source_of(lines->sources, trace_text(line));
	compared_phases *phases = &source->phases;
	struct arena arena = { 0 };
	struct phase_record record;
	int r = phase_line_take(line, &arena, &record);

	if (r < 0) {
		arena_fini(&arena);
		return fail(lines, "phase", "is no phase of a run");
	}
	for (size_t i = 0; i < record.mean_count; i++) {
		source->has_cpus |= record.means[i].is_share;
	}
	arena_fini(&arena);
	if (phases->count > 0 && phases->at[phases->count - 1].begin == record.begin) {
		phases->count--;
	}
	if (phases->count > 0 && phases->at[phases->count - 1].end > record.begin) {
		return fail(lines, "begin", "is in the phase before");
	}
	*vec_push(phases) =
		(struct compared_phase){ record.number, record.begin, record.end, NULL };
	return 0;
}

/* The phase that a window begins in; NULL: none. */
static const struct compared_phase *phase_at(const compared_phases *phases, uint64_t begin)
{
	size_t low = 0, high = phases->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (phases->at[middle].end <= begin) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < phases->count && phases->at[low].begin <= begin ? &phases->at[low] : NULL;
}

/* A trace counts once, however many windows it has there. */
static void count_trace(struct lines *lines, const struct compared_phase *phase, const char *trace)
{
	const struct seen_trace seen = { (size_t)(phase - lines->parts->at), hash_text(0, trace) };

	VEC_EACH(&lines->seen, one) {
		if (one->phase == seen.phase && one->trace == seen.trace) {
			phase->profile->traces--;
			return;
		}
	}
	*vec_push(&lines->seen) = seen;
}

static int take_window_in_phase(struct lines *lines, struct json_object *line)
{
	struct total window = { .line = line, .top = lines->top };
	const struct compared_phase *phase;
	uint64_t begin;
	int r = take_optional(lines, line, "begin", &begin);

	phase = r == 0 ? phase_at(lines->parts, begin) : NULL;
	if (!phase) {
		return r;
	}
	r = take_total(lines, phase->profile, &window);
	if (r == 0) {
		count_trace(lines, phase, trace_text(line));
	}
	return r;
}

/* ---- lines ---- */

/* Takes the line's object. */
static void keep_total(struct lines *lines, struct json_object *line)
{
	const char *text = trace_text(line);
	struct total *total = NULL;

	for (size_t i = 0; i < lines->totals.count; i++) {
		if (strcmp(lines->totals.at[i].trace, text) == 0) {
			total = &lines->totals.at[i];
			(void)json_object_put(total->line);
		}
	}
	if (!total) {
		total = vec_push(&lines->totals);
		total->trace = mem_strdup(text);
	}
	total->line = line;
	total->number = lines->number;
	total->top = lines->top;
}

static int take_line(struct lines *lines, const char *text, size_t len)
{
	static const char window[] = "{\"type\":\"window\"";
	struct json_object *line;
	const char *type;
	uint64_t form;
	int r = 0;

	if ((!lines->parts && strncmp(text, window, strlen(window)) == 0) ||
	    text[strspn(text, " \t\r\n")] == '\0') {
		return 0; /* many, and not needed */
	}
	json_tokener_reset(lines->tokener);
	line = len < INT32_MAX ? json_tokener_parse_ex(lines->tokener, text, (int)len) : NULL;
	if (!json_object_is_type(line, json_type_object)) {
		(void)json_object_put(line);
		return err_raise(lines->err, -EINVAL,
				 "line %llu: is no JSON object of a run (analyze -f json)",
				 lines->number);
	}
	type = text_of(line, "type");
	if (strcmp(type, "total") == 0 && !lines->sources && !lines->parts) {
		keep_total(lines, line);
		return 0;
	}
	if (strcmp(type, "phase") == 0 && lines->sources) {
		r = take_phase(lines, line);
	} else if (strcmp(type, "window") == 0 && lines->parts) {
		r = take_window_in_phase(lines, line);
	}
	if (strcmp(type, "start") == 0) {
		r = take_optional(lines, line, "top", &lines->top);
		r = r < 0 ? r : take_optional(lines, line, "json", &form);
		if (r == 0 && form > JSON_FORM) {
			r = err_raise(lines->err, -EINVAL,
				      "form %llu of JSON, of a newer sillage; this one reads up to "
				      "form %d: compare with that one",
				      (unsigned long long)form, JSON_FORM);
		}
	}
	(void)json_object_put(line);
	return r;
}

static int read_lines(struct lines *lines, FILE *in)
{
	struct line line = { 0 };
	int r;

	while ((r = line_next(&line, in, JSON_LINE_BYTES_MAX)) > 0) {
		lines->number = line.number;
		r = take_line(lines, line.text.at, strlen(line.text.at));
		if (r < 0) {
			break;
		}
	}
	if (r == -EMSGSIZE) {
		err_raise(lines->err, r, "line %llu is longer than %d MiB: -n leaves out rows",
			  (unsigned long long)line.number, JSON_LINE_BYTES_MAX >> 20);
	} else if (r == 0 && ferror(in)) {
		r = err_raise(lines->err, -EIO, "cannot be read: %s", strerror(errno));
	}
	line_fini(&line);
	return r;
}

static int lines_read(struct lines *lines, FILE *in)
{
	int r;

	lines->tokener = json_tokener_new_ex(DEPTH_MAX);
	if (!lines->tokener) {
		return err_raise(lines->err, -ENOMEM, "out of memory");
	}
	json_tokener_set_flags(lines->tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	r = read_lines(lines, in);
	json_tokener_free(lines->tokener);
	return r;
}

int phase_sources_json(FILE *in, phase_sources *ret, struct err *err)
{
	struct lines lines = { .sources = ret, .err = err };
	int r = lines_read(&lines, in);

	return r == 0 && ret->count == 0
		       ? err_raise(err, -ENODATA,
				   "has no phases of a run (analyze --phases -f json)")
		       : r;
}

int compared_phases_json(const compared_phases *phases, const struct analysis *const *list,
			 FILE *in, struct err *err)
{
	struct lines lines = { .parts = phases, .list = list, .err = err };
	int r = lines_read(&lines, in);

	vec_fini(&lines.seen);
	return r;
}

int profile_add_json(struct profile *profile, const struct analysis *const *list, FILE *in,
		     struct err *err)
{
	struct lines lines = { .list = list, .err = err };
	int r = lines_read(&lines, in);

	for (size_t i = 0; i < lines.totals.count; i++) {
		lines.number = lines.totals.at[i].number;
		r = r < 0 ? r : take_total(&lines, profile, &lines.totals.at[i]);
		(void)json_object_put(lines.totals.at[i].line);
		free(lines.totals.at[i].trace);
	}
	if (r == 0 && lines.totals.count == 0) {
		r = err_raise(err, -ENODATA, "has no total of a run (analyze -f json)");
	}
	vec_fini(&lines.totals);
	return r;
}
