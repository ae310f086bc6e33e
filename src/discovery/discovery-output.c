/*
 * discovery-output: see discovery.h; what was found as text and as JSON.
 */
#include <ctype.h>
#include <inttypes.h>

#include "base/json.h"
#include "base/units.h"
#include "discovery/discovery.h"
#include "text/text-table.h"

static void put_name(const struct deep_thread *thread, FILE *out)
{
	text_put(out, thread->comm[0] ? thread->comm : "?", -1);
	(void)fprintf(out, " (%d)", thread->tid);
}

/* The name of a job: that of the thread, as far as a name may have its letters. */
static void put_job_name(const struct deep_thread *thread, FILE *out)
{
	for (const char *c = thread->comm; *c; c++) {
		(void)fputc(isalnum((unsigned char)*c) || *c == '-' || *c == '_' ? *c : '_', out);
	}
	(void)fprintf(out, "%s = ", thread->comm[0] ? "" : "job");
}

/* @named: the thread that gives the job its name; NULL: it has none. */
static void put_one(struct text_table *table, const struct discovered *one,
		    const struct deep_thread *named)
{
	char text[UNITS_TEXT_MAX];

	text_cell_format(table, "%zu", one->count);
	text_cell(table, units_ns(text, one->period_ns));
	text_cell(table, units_ns(text, one->jitter_ns));
	text_cell(table, units_ns(text, one->mean_ns));
	text_share(table, one->coverage, 1);
	text_end(table);
	(void)fputs("           --job '", table->out);
	if (named) {
		put_job_name(named, table->out);
	}
	text_put(table->out, one->pattern, -1);
	(void)fputs("'\n", table->out);
}

void discovery_text(const struct discovery *discovery, const struct timeline *timeline, size_t top,
		    bool is_named, FILE *out)
{
	struct text_table table =
		text_table_of(out, "  COUNT>7|  PERIOD>9|  JITTER>9|  MEAN>9|  OF ITS TIME>7");
	uint32_t thread = NOBODY;
	size_t of_thread = 0;

	table.hangs = false;
	if (discovery->threads == 0) {
		(void)fputs("JOBS FOUND: none, no such thread ran\n", out);
		return;
	}
	(void)fprintf(out, "JOBS FOUND in the %zu thread%s that ran most%s\n", discovery->threads,
		      discovery->threads == 1 ? "" : "s", discovery->at.count == 0 ? ": none" : "");
	VEC_EACH(&discovery->at, one) {
		if (one->thread != thread) {
			thread = one->thread;
			of_thread = 0;
			(void)fputs("\n  ", out);
			put_name(timeline->threads.at[thread], out);
			(void)fputc('\n', out);
			text_head(&table);
		}
		of_thread++;
		if (top == 0 || of_thread <= top) {
			put_one(&table, one, is_named ? timeline->threads.at[thread] : NULL);
		}
	}
	if (discovery->is_cut) {
		(void)fputs("\n  Limits were reached: there may be more. --thread searches one.\n",
			    out);
	}
}

void discovery_json(const struct discovery *discovery, const struct timeline *timeline,
		    const char *path, size_t top, FILE *out)
{
	uint32_t thread = NOBODY;
	size_t of_thread = 0;
	struct json json;

	json_begin_object(&json, out, "discovery");
	json_version(&json);
	json_text(&json, "trace", path);
	json_u64(&json, "threads", discovery->threads);
	json_bool(&json, "complete", !discovery->is_cut);
	json_open(&json, "jobs", '[');
	VEC_EACH(&discovery->at, one) {
		const struct deep_thread *is = timeline->threads.at[one->thread];

		of_thread = one->thread == thread ? of_thread + 1 : 1;
		thread = one->thread;
		if (top > 0 && of_thread > top) {
			continue;
		}
		json_open(&json, NULL, '{');
		json_open(&json, "thread", '{');
		json_i64(&json, "tid", is->tid);
		json_i64(&json, "pid", is->pid);
		json_text(&json, "comm", is->comm);
		json_close(&json, '}');
		json_text(&json, "job", one->pattern);
		json_u64(&json, "count", one->count);
		json_u64(&json, "period_ns", one->period_ns);
		json_u64(&json, "jitter_ns", one->jitter_ns);
		json_u64(&json, "mean_ns", one->mean_ns);
		json_real(&json, "coverage", one->coverage);
		json_real(&json, "variation", one->variation);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_end_object(&json);
}
