/*
 * compare-json: a comparison as JSON lines; see compare-output.h.
 */
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "compare/compare-output.h"
#include "figure/which.h"

static void put_side(struct json *json, const char *key, const struct profile *profile)
{
	json_open(json, key, '{');
	json_text(json, "name", profile->name);
	json_u64(json, "traces", profile->traces);
	json_moment(json, "begin", profile->begin);
	json_moment(json, "end", profile->end);
	json_u64(json, "covered_ns", profile->covered_ns);
	for (int i = 0; i < LOSSES; i++) {
		if (profile->lost.of[i] > 0) {
			json_u64(json, report_lost_keys[i], profile->lost.of[i]);
		}
	}
	json_close(json, '}');
}

/* Of phases each line says which: it may be taken by itself. */
static void begin_line(struct json *json, const struct comparison *comparison, const char *type,
		       FILE *out)
{
	json_begin_object(json, out, type);
	if (comparison->phases[0] > 0) {
		json_u64(json, "phase_a", comparison->phases[0]);
		json_u64(json, "phase_b", comparison->phases[1]);
	}
}

static void put_start(const struct comparison *comparison, FILE *out)
{
	struct json json;

	begin_line(&json, comparison, "compare", out);
	json_version(&json);
	put_side(&json, "a", comparison->side[0]);
	put_side(&json, "b", comparison->side[1]);
	json_end_object(&json);
}

static const char *unit_text(enum unit unit)
{
	return unit == UNIT_NS ? "ns" : unit == UNIT_BYTES ? "bytes" : "count";
}

static void put_list(struct json *json, const struct analysis *analysis, const struct table *table)
{
	json_text(json, "analysis", analysis->name);
	if (table->key) {
		json_text(json, "list", table->key);
	}
}

static void put_values(struct json *json, double a, double b)
{
	json_real(json, "a", a);
	json_real(json, "b", b);
	json_real(json, "difference", b - a);
	json_real(json, "change", change_relative(a, b));
}

static void put_spread(struct json *json, const struct comparison *comparison,
		       const struct change *change)
{
	static const struct {
		const char *key;
		enum histogram_part part;
	} parts[] = { { "count", HISTOGRAM_COUNT }, { "sum_ns", HISTOGRAM_SUM },
		      { "min_ns", HISTOGRAM_MIN },  { "mean_ns", HISTOGRAM_MEAN },
		      { "max_ns", HISTOGRAM_MAX },  { "p50_ns", HISTOGRAM_P50 },
		      { "p95_ns", HISTOGRAM_P95 },  { "p99_ns", HISTOGRAM_P99 },
		      { "p999_ns", HISTOGRAM_P999 } };

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		json_open(json, parts[i].key, '{');
		put_values(json, change_part(comparison, change, 0, parts[i].part),
			   change_part(comparison, change, 1, parts[i].part));
		json_close(json, '}');
	}
	json_real(json, "d", change->has_distance ? change->distance : NAN);
	json_real(json, "p", change->has_distance ? change->probability : NAN);
}

static void put_change(const struct comparison *comparison, const struct change *change, FILE *out)
{
	static const char *const kinds[] = {
		[CHANGE_RATE] = "rate", [CHANGE_LEVEL] = "level", [CHANGE_SPREAD] = "spread"
	};
	const char *key = which_name_key(change->table);
	char *figure = change_figure(change);
	struct json json;

	begin_line(&json, comparison, "change", out);
	json_text(&json, "figure", figure);
	put_list(&json, change->analysis, change->table);
	if (change->table->key) {
		json_text(&json, key ? key : "row", change->name);
	}
	json_text(&json, "key", change->table->columns[change->column].key);
	json_text(&json, "kind", kinds[change->kind]);
	json_text(&json, "unit", unit_text(change_unit(change)));
	if (change_rests(change)) {
		json_bool(&json, "rests", true);
	}
	if (change->is_in[0] != change->is_in[1]) {
		json_text(&json, "only", change->is_in[0] ? "a" : "b");
	}
	if (change->kind == CHANGE_SPREAD) {
		put_spread(&json, comparison, change);
	} else {
		put_values(&json, change->value[0], change->value[1]);
	}
	json_end_object(&json);
	free(figure);
}

static void put_unmeasured(const struct comparison *comparison, const struct unmeasured *one,
			   FILE *out)
{
	struct json json;

	begin_line(&json, comparison, "not-compared", out);
	put_list(&json, one->analysis, one->table);
	json_open(&json, "keys", '[');
	for (unsigned int i = 0; i < COLUMNS_MAX && one->table->columns[i].key; i++) {
		if (one->columns >> i & 1) {
			json_text(&json, NULL, one->table->columns[i].key);
		}
	}
	json_close(&json, ']');
	json_open(&json, "lacks", '[');
	for (int i = 0; i < 2; i++) {
		if (one->lacks[i]) {
			json_text(&json, NULL, i == 0 ? "a" : "b");
		}
	}
	json_close(&json, ']');
	json_text(&json, "why", one->why);
	json_end_object(&json);
}

void compare_json(const struct comparison *comparison, uint64_t top, FILE *out)
{
	put_start(comparison, out);
	for (size_t i = 0; i < comparison->changes.count && (top == 0 || i < top); i++) {
		put_change(comparison, &comparison->changes.at[i], out);
	}
	for (size_t i = 0; i < comparison->unmeasured.count; i++) {
		put_unmeasured(comparison, &comparison->unmeasured.at[i], out);
	}
}

static void put_phase(struct json *json, const char *key, const struct compared_phase *phase)
{
	if (phase) {
		json_open(json, key, '{');
		json_u64(json, "number", phase->number);
		json_moment(json, "begin", phase->begin);
		json_moment(json, "end", phase->end);
		json_close(json, '}');
	}
}

void compare_phase_line(const struct phase_pair *pair, FILE *out)
{
	struct json json;

	json_begin_object(&json, out, "compare-phase");
	json_version(&json);
	put_phase(&json, "a", pair->of[0]);
	put_phase(&json, "b", pair->of[1]);
	if (phase_pair_is_one(pair)) {
		json_real(&json, "distance", pair->distance);
	}
	json_end_object(&json);
}

void compare_phases_json(const phase_pairs *pairs, uint64_t top, FILE *out)
{
	VEC_EACH(pairs, pair) {
		compare_phase_line(pair, out);
		if (phase_pair_is_one(pair)) {
			compare_json(&pair->comparison, top, out);
		}
	}
}
