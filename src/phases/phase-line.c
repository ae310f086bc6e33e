/*
 * phase-line: see phase-line.h.
 */
#include "phases/phase-line.h"

#include <assert.h>
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "phases/phases.h"

#define DEPTH_MAX 8 /* of a line: 4 */

/* NULL: it is not there, or of another type. */
static struct json_object *line_member(struct json_object *of, const char *key, enum json_type type)
{
	struct json_object *found = NULL;

	(void)json_object_object_get_ex(of, key, &found);
	return json_object_is_type(found, type) ? found : NULL;
}

static bool line_u64(struct json_object *of, const char *key, uint64_t *ret)
{
	struct json_object *found = line_member(of, key, json_type_int);

	*ret = found ? json_object_get_uint64(found) : 0;
	return found && (json_object_get_int64(found) >= 0 || *ret > INT64_MAX);
}

static bool line_real(struct json_object *of, const char *key, double *ret)
{
	struct json_object *found = NULL;

	(void)json_object_object_get_ex(of, key, &found);
	*ret = found ? json_object_get_double(found) : NAN;
	return (json_object_is_type(found, json_type_double) ||
		json_object_is_type(found, json_type_int)) &&
	       isfinite(*ret) && *ret >= 0;
}

static bool line_text(struct json_object *of, const char *key, struct arena *arena,
		      const char **ret)
{
	struct json_object *found = line_member(of, key, json_type_string);

	*ret = found ? arena_strndup(arena, json_object_get_string(found),
				     (size_t)json_object_get_string_len(found))
		     : NULL;
	return found;
}

static bool line_unit(const char *text, struct phase_mean *ret)
{
	for (int i = 0; i < 2 * (UNIT_NS + 1); i++) {
		ret->is_level = i % 2;
		ret->unit = (enum unit)(i / 2);
		if (strcmp(series_unit(false, ret->is_level, ret->unit), text) == 0) {
			return true;
		}
	}
	ret->is_level = false;
	ret->unit = UNIT_COUNT;
	ret->is_share = strcmp(series_unit(true, false, UNIT_COUNT), text) == 0;
	return ret->is_share;
}

static bool line_mean(struct json_object *from, struct arena *arena, struct phase_mean *ret)
{
	struct json_object *counterpart = line_member(from, "counterpart", json_type_boolean);
	const char *unit;

	*ret = (struct phase_mean){ .is_counterpart =
					    counterpart && json_object_get_boolean(counterpart) };
	return line_text(from, "series", arena, &ret->series) &&
	       line_text(from, "unit", arena, &unit) && line_unit(unit, ret) &&
	       line_real(from, "mean", &ret->mean);
}

static bool line_means(struct json_object *line, struct arena *arena, struct phase_record *ret)
{
	struct json_object *list = line_member(line, "means", json_type_array);
	size_t count = list ? json_object_array_length(list) : SIZE_MAX;
	struct phase_mean *means;

	if (count > PHASES_MEANS_MAX) {
		return false;
	}
	ret->means = means = arena_alloc(arena, (count + 1) * sizeof(*means));
	for (; ret->mean_count < count; ret->mean_count++) {
		if (!line_mean(json_object_array_get_idx(list, ret->mean_count), arena,
			       &means[ret->mean_count])) {
			return false;
		}
	}
	return true;
}

/* The series that changed is one of the means. */
static bool line_change(struct json_object *line, struct phase_record *ret)
{
	struct json_object *change = line_member(line, "change", json_type_object);
	struct json_object *series =
		change ? line_member(change, "series", json_type_string) : NULL;

	for (size_t i = 0; series && i < ret->mean_count; i++) {
		if (strcmp(ret->means[i].series, json_object_get_string(series)) == 0) {
			ret->change = &ret->means[i];
		}
	}
	return !change || (ret->change && line_real(change, "before", &ret->before));
}

int phase_line_take(struct json_object *line, struct arena *arena, struct phase_record *ret)
{
	struct json_object *open = line_member(line, "open", json_type_boolean);

	*ret = (struct phase_record){ .is_open = open && json_object_get_boolean(open) };
	return open && line_u64(line, "number", &ret->number) &&
			       line_u64(line, "begin", &ret->begin) &&
			       line_u64(line, "end", &ret->end) &&
			       line_u64(line, "slices", &ret->slices) && ret->begin <= ret->end &&
			       line_means(line, arena, ret) && line_change(line, ret)
		       ? 0
		       : -EINVAL;
}

int phase_line_parse(const char *text, size_t len, struct arena *arena, struct phase_record *ret)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	struct json_object *line;
	int r;

	assert(text);
	if (!tokener || len >= INT32_MAX) {
		json_tokener_free(tokener);
		return -EINVAL;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	line = json_tokener_parse_ex(tokener, text, (int)len);
	if (!line && json_tokener_get_error(tokener) == json_tokener_continue) {
		line = json_tokener_parse_ex(tokener, "", 1); /* it ends here */
	}
	r = json_object_is_type(line, json_type_object) ? phase_line_take(line, arena, ret)
							: -EINVAL;
	(void)json_object_put(line);
	json_tokener_free(tokener);
	return r;
}
