/*
 * programs-output: see programs.h; what was found as text and as JSON.
 */
#include <inttypes.h>

#include "base/json.h"
#include "base/shell.h"
#include "base/units.h"
#include "discovery/programs.h"
#include "text/text-table.h"

static void put_spec(const char *option, const char *spec, FILE *out)
{
	(void)fprintf(out, "           --%s ", option);
	(void)shell_put(out, spec);
	(void)fputc('\n', out);
}

static void put_program_thread(const struct program_found *one, FILE *out)
{
	if (one->tid >= 0) {
		(void)fputs("           on ", out);
		text_put(out, one->comm[0] ? one->comm : "?", -1);
		(void)fprintf(out, " (%d)\n", one->tid);
	}
}

static void put_program(struct text_table *table, const struct program_found *one)
{
	char text[UNITS_TEXT_MAX];

	text_cell_format(table, "%zu", one->count);
	text_cell(table, one->period_ns > 0 ? units_ns(text, one->period_ns) : "-");
	text_cell(table, one->period_ns > 0 ? units_ns(text, one->jitter_ns) : "-");
	text_cell(table, one->is_period ? "-" : units_ns(text, one->mean_ns));
	text_end(table);
	put_spec(one->is_period ? "period" : "job", one->spec, table->out);
	if (one->parts) {
		put_spec("period", one->parts, table->out);
	}
	put_program_thread(one, table->out);
}

void programs_text(const struct programs *programs, const char *path, size_t top, FILE *out)
{
	struct text_table table = text_table_of(out, "  COUNT>7|  PERIOD>9|  JITTER>9|  MEAN>9");

	table.hangs = false;
	(void)fprintf(out, "LOOPS AND REQUESTS FOUND in %" PRIu64 " events of ", programs->events);
	text_put(out, path, -1);
	(void)fputs(programs->at.count == 0 ? ": none\n" : "\n", out);
	if (programs->at.count == 0) {
		(void)fputs("  no events come at a regular pace, and no two have equal values of "
			    "a field by turns\n",
			    out);
	} else {
		text_head(&table);
	}
	for (size_t i = 0; i < programs->at.count && (top == 0 || i < top); i++) {
		put_program(&table, &programs->at.at[i]);
	}
	if (top > 0 && programs->at.count > top) {
		(void)fprintf(out, "  ... and %zu more: -n 0\n", programs->at.count - top);
	}
	if (programs->is_cut) {
		(void)fputs("\n  Limits were reached: there may be more. --thread searches one.\n",
			    out);
	}
}

void programs_json(const struct programs *programs, const char *path, size_t top, FILE *out)
{
	struct json json;

	json_begin_object(&json, out, "discovery");
	json_version(&json);
	json_text(&json, "trace", path);
	json_u64(&json, "events", programs->events);
	json_bool(&json, "complete", !programs->is_cut);
	json_open(&json, "jobs", '[');
	for (size_t i = 0; i < programs->at.count && (top == 0 || i < top); i++) {
		const struct program_found *one = &programs->at.at[i];

		json_open(&json, NULL, '{');
		if (one->tid >= 0) {
			json_open(&json, "thread", '{');
			json_i64(&json, "tid", one->tid);
			json_text(&json, "comm", one->comm);
			json_close(&json, '}');
		}
		json_text(&json, one->is_period ? "period" : "job", one->spec);
		if (one->parts) {
			json_text(&json, "period", one->parts);
		}
		json_u64(&json, "count", one->count);
		if (one->period_ns > 0) {
			json_u64(&json, "period_ns", one->period_ns);
			json_u64(&json, "jitter_ns", one->jitter_ns);
		}
		json_u64(&json, "mean_ns", one->mean_ns);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_end_object(&json);
}
