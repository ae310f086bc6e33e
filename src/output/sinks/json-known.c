/*
 * json-known: see json-known.h.
 */
#include "output/sinks/json-known.h"

#include <stdlib.h>

#include "base/json.h"

void json_known_missing(struct json *json, const struct report *report,
			const struct analysis *analysis)
{
	bool is_open = false;

	for (size_t i = 0; i < report->missing_count; i++) {
		const struct missing_event *missing = &report->missing[i];

		if (missing->analysis != analysis) {
			continue;
		}
		if (!is_open) {
			json_open(json, "missing", '[');
			is_open = true;
		}
		json_open(json, NULL, '{');
		json_text(json, "event", missing->event);
		if (missing->near) {
			json_text(json, "near", missing->near);
		} else if (report->tracer) {
			json_text(json, "tracer", report->tracer);
		} else {
			char *command = missing_command(missing);

			json_text(json, "command", command);
			free(command);
		}
		json_close(json, '}');
	}
	if (is_open) {
		json_close(json, ']');
	}
}

void json_known_whole(struct json *json, const struct report *report, size_t first)
{
	bool any = false;

	for (size_t i = first; i < report->table_count &&
			       report->tables[i].analysis == report->tables[first].analysis;
	     i++) {
		const struct report_table *table = &report->tables[i];

		/* An analysis may have two tables of the trace's figures: they are one object. */
		if (!table->is_whole || (!table->table->key && i > first)) {
			continue;
		}
		if (!any) {
			json_open(json, "whole_system", '[');
			any = true;
		}
		json_text(json, NULL, table->table->key ? table->table->key : "totals");
	}
	if (any) {
		json_close(json, ']');
	}
}

void json_known_parts(struct json *json, const struct output *output, const struct report *report)
{
	bool is_open = false;

	for (size_t i = 0; i < report->part_count; i++) {
		const struct report_part *part = &report->parts[i];

		if (!report_part_is_short(part) || !output_wants(output, part->analysis)) {
			continue;
		}
		if (!is_open) {
			json_open(json, "stored", '{');
			is_open = true;
		}
		json_open(json, part->analysis->name, '{');
		json_u64(json, "known_ns", part->known_ns);
		json_u64(json, "of_ns", part->of_ns);
		json_close(json, '}');
	}
	if (is_open) {
		json_close(json, '}');
	}
}
