/*
 * quality: see quality.h.
 */
#include "api/quality.h"

#include <assert.h>
#include <json-c/json.h>
#include <string.h>

#include "api/rows.h"
#include "base/vec.h"

/* What the reply calls losses, and what lines do. */
static const char *const loss_keys[][2] = { { "events", "discarded" },
					    { "packets", "lost_packets" },
					    { "bad_packets", "bad_packets" },
					    { "late_events", "late_events" },
					    { "anomalies", "anomalies" } };

struct json_object *quality_member(struct json_object *of, const char *key)
{
	struct json_object *found = NULL;

	(void)json_object_object_get_ex(of, key, &found);
	return found;
}

void quality_copy(struct json_object *to, struct json_object *from, const char *key)
{
	struct json_object *found = quality_member(from, key);

	if (found) {
		json_object_object_add(to, key, json_object_get(found));
	}
}

void quality_copy_times(struct json_object *to, struct json_object *from)
{
	static const char *const keys[] = { "begin", "begin_time", "end", "end_time" };

	for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
		quality_copy(to, from, keys[i]);
	}
}

bool quality_is_analysis(const char *key, struct json_object *value)
{
	return json_object_is_type(value, json_type_object) && strcmp(key, "trace") != 0 &&
	       strcmp(key, "phase") != 0 && strcmp(key, "stored") != 0;
}

/* Whether the user asked for it: others are there for the quality. */
bool quality_is_asked(const struct api_request *request, const char *analysis)
{
	const char *list = request->values[API_ANALYSES];
	size_t len = strlen(analysis);

	if (!list || request->what == API_STATE) {
		return true;
	}
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t word = strcspn(at, ",");

		if ((word == len && strncmp(at, analysis, len) == 0) ||
		    (word == 3 && strncmp(at, "all", 3) == 0)) {
			return true;
		}
	}
	return false;
}

/* ---- quality ---- */

/* What is not recorded, of all analyses: each event once. */
static void add_missing(struct json_object *list, struct json_object *missing)
{
	for (size_t i = 0; i < json_object_array_length(missing); i++) {
		struct json_object *one = json_object_array_get_idx(missing, i);
		bool is_there = false;

		for (size_t k = 0; k < json_object_array_length(list) && !is_there; k++) {
			is_there = json_object_equal(json_object_array_get_idx(list, k), one);
		}
		if (!is_there) {
			json_object_array_add(list, json_object_get(one));
		}
	}
}

static struct json_object *missing_in(const struct api_request *request, struct json_object *line)
{
	struct json_object *list = json_object_new_array();
	struct json_object *own = quality_member(line, "missing");

	if (json_object_is_type(own, json_type_array)) {
		add_missing(list, own);
	}
	json_object_object_foreach(line, key, value)
	{
		struct json_object *missing =
			quality_is_analysis(key, value) && quality_is_asked(request, key)
				? quality_member(value, "missing")
				: NULL;

		if (json_object_is_type(missing, json_type_array)) {
			add_missing(list, missing);
		}
	}
	return list;
}

/* null: what is lost was not measured. */
static struct json_object *losses_of(struct json_object *from)
{
	struct json_object *ret = json_object_new_object();

	for (size_t i = 0; i < ARRAY_COUNT(loss_keys); i++) {
		json_object_object_add(ret, loss_keys[i][0],
				       json_object_get(quality_member(from, loss_keys[i][1])));
	}
	return ret;
}

struct json_object *quality_of_total(const struct api_request *request, struct json_object *line)
{
	struct json_object *ret = json_object_new_object(), *unknown;
	struct json_object *count = quality_member(line, "count");

	quality_copy(ret, line, "trace");
	quality_copy_times(ret, line);
	quality_copy(ret, line, "covered_ns");
	quality_copy(ret, line, "complete");
	quality_copy(ret, line, "interrupted");
	quality_copy(ret, line, "stored");
	unknown = api_rows_member(line, "cpu.unknown_ns");
	unknown = unknown ? unknown : api_rows_member(line, "state.unknown_ns");
	json_object_object_add(ret, "losses", count ? losses_of(count) : NULL);
	json_object_object_add(ret, "unknown_ns", json_object_get(unknown));
	json_object_object_add(ret, "missing", missing_in(request, line));
	return ret;
}

struct json_object *quality_of_range(struct json_object *line, const char *gaps)
{
	struct json_object *ret = json_object_new_object(), *losses = NULL;

	quality_copy_times(ret, line);
	if (gaps) {
		losses = json_object_new_object();
		quality_copy(losses, line, gaps);
	}
	json_object_object_add(ret, "losses", losses);
	json_object_object_add(ret, "unknown_ns", NULL);
	json_object_object_add(ret, "missing", NULL);
	return ret;
}

/* Only what is above 0 has a member in the line. */
struct json_object *quality_of_side(struct json_object *line, const char *name)
{
	struct json_object *side = quality_member(line, name), *losses;
	struct json_object *ret = json_object_new_object();

	json_object_object_add(ret, "side", json_object_new_string(name));
	quality_copy(ret, side, "name");
	quality_copy(ret, side, "traces");
	quality_copy_times(ret, side);
	quality_copy(ret, side, "covered_ns");
	losses = losses_of(side);
	for (size_t i = 0; i < ARRAY_COUNT(loss_keys); i++) {
		if (!quality_member(losses, loss_keys[i][0])) {
			json_object_object_add(losses, loss_keys[i][0], json_object_new_int(0));
		}
	}
	json_object_object_add(ret, "losses", losses);
	json_object_object_add(ret, "unknown_ns", NULL);
	json_object_object_add(ret, "missing", NULL); /* it is in "not_compared" */
	return ret;
}

static uint64_t sum_of(struct json_object *list, const char *key)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		sum += json_object_get_uint64(
			quality_member(json_object_array_get_idx(list, i), key));
	}
	return sum;
}

struct json_object *quality_of_report(const struct api_request *request, struct json_object *line)
{
	struct json_object *ret = quality_of_range(line, "gaps"),
			   *cpus = quality_member(line, "cpus");

	quality_copy(ret, line, "trace");
	/* Of more CPUs than `top` the report has the busiest. */
	if (json_object_is_type(cpus, json_type_array) &&
	    json_object_array_length(cpus) < request->numbers[API_TOP]) {
		json_object_object_add(ret, "unknown_ns",
				       json_object_new_uint64(sum_of(cpus, "unknown_ns")));
	}
	json_object_object_add(ret, "missing", missing_in(request, line));
	return ret;
}
