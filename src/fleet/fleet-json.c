/*
 * fleet-json: see fleet-output.h.
 */
#include <inttypes.h>
#include <math.h>

#include "base/json.h"
#include "engine/contract/row-key.h"
#include "fleet/fleet-output.h"

#define EXACT 9007199254740992.0 /* 2^53: below, every number is exact */

/* Counts are integers; shares, rates and means are not.  NAN: null. */
static void put_number(struct json *json, const char *key, double value)
{
	if (value >= 0 && value < EXACT && value == floor(value)) {
		json_u64(json, key, (uint64_t)value);
	} else {
		json_real(json, key, value);
	}
}

static void put_columns(struct json *json, const struct fleet_table *table)
{
	json_open(json, "figures", '[');
	for (size_t i = 0; i < table->figures->at.count; i++) {
		const struct fleet_figure *figure = table->figures->at.at[i];
		const struct robust *column = &table->columns[i];

		json_open(json, NULL, '{');
		json_text(json, "figure", figure->figure.text);
		json_text(json, "unit", fleet_figure_unit(figure));
		json_u64(json, "known", column->count);
		put_number(json, "median", column->count > 0 ? column->median : NAN);
		put_number(json, "spread", robust_has_distance(column) ? column->spread : NAN);
		if (table->is_whole[i]) {
			json_bool(json, "whole_system", true);
		}
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_cells(struct json *json, const struct fleet_table *table,
		      const struct fleet_row *row)
{
	json_open(json, "values", '[');
	for (size_t i = 0; i < table->figures->at.count; i++) {
		put_number(json, NULL, row->cells[i].is_known ? row->cells[i].value : NAN);
	}
	json_close(json, ']');
	if (table->before) {
		json_open(json, "before", '[');
		for (size_t i = 0; i < table->figures->at.count; i++) {
			put_number(json, NULL, row->cells[i].is_known ? row->cells[i].before : NAN);
		}
		json_close(json, ']');
	}
	json_open(json, "distances", '[');
	for (size_t i = 0; i < table->figures->at.count; i++) {
		if (row->cells[i].has_distance) {
			json_fixed(json, NULL, row->cells[i].distance);
		} else {
			json_null(json, NULL);
		}
	}
	json_close(json, ']');
	json_open(json, "far", '[');
	for (size_t i = 0; i < table->figures->at.count; i++) {
		if (row->cells[i].is_far) {
			json_text(json, NULL, table->figures->at.at[i]->figure.text);
		}
	}
	json_close(json, ']');
}

static void put_row(struct json *json, const struct fleet_table *table, const struct fleet_row *row)
{
	json_open(json, NULL, '{');
	json_text(json, "host", row->host);
	if (row->container && row->container_id != ROW_KEY_NO_ID) {
		json_u64(json, "pid_ns", row->container_id);
	}
	if (row->container && row->container[0]) {
		json_text(json, "container", row->container);
	}
	json_u64(json, "traces", row->traces);
	json_moment(json, "begin", row->begin);
	json_moment(json, "end", row->end);
	json_u64(json, "covered_ns", row->covered_ns);
	json_bool(json, "complete", row->is_complete);
	json_real(json, "known", row->known);
	json_bool(json, "judged", row->is_judged);
	put_cells(json, table, row);
	json_close(json, '}');
}

static void put_names(struct json *json, const char *key, const char *const *names, size_t count)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < count; i++) {
		json_text(json, NULL, names[i]);
	}
	json_close(json, ']');
}

void fleet_json(struct output *output, const struct fleet_table *table)
{
	struct json json;
	size_t count =
		output->top > 0 && output->top < table->row_count ? output->top : table->row_count;

	json_begin_object(&json, output->out,
			  table->before     ? "fleet-change"
			  : table->is_total ? "fleet-total"
					    : "fleet-window");
	if (table->before) {
		json_moment(&json, "before_begin", fleet_before_begin(table->before));
		json_moment(&json, "before_end", fleet_before_end(table->before));
	}
	if (!table->is_total) {
		json_u64(&json, "seq", table->seq);
	}
	json_moment(&json, "begin", table->begin);
	json_moment(&json, "end", table->end);
	json_u64(&json, "host_count", table->host_count);
	put_columns(&json, table);
	json_open(&json, "rows", '[');
	for (size_t i = 0; i < count; i++) {
		put_row(&json, table, &table->rows[i]);
	}
	json_close(&json, ']');
	put_names(&json, "absent", table->absent, table->absent_count);
	if (table->before) {
		put_names(&json, "only_before", table->gone, table->gone_count);
		put_names(&json, "only_after", table->added, table->new_count);
	}
	json_end_object(&json);
}
