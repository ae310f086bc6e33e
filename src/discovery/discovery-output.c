/*
 * discovery-output: see discovery.h; what was found as text and as JSON.
 */
#include <string.h>

#include "base/json.h"
#include "base/shell.h"
#include "base/units.h"
#include "discovery/discovery.h"
#include "query/scan.h"
#include "text/text-table.h"

static void put_name(const struct deep_thread *thread, FILE *out)
{
	text_put(out, thread->comm[0] ? thread->comm : "?", -1);
	(void)fprintf(out, " (%d)", thread->tid);
}

/* Whether the name means this thread alone, in reports and as a pattern. */
static bool is_own_name(const struct timeline *timeline, const struct deep_thread *thread)
{
	size_t count = 0;
	bool is_plain = thread->comm[0] < '0' || thread->comm[0] > '9';

	for (const char *c = thread->comm; *c; c++) {
		is_plain &= scan_is_letter(*c, "-_.:+");
	}
	VEC_EACH_OF(&timeline->threads, other) {
		count += strcmp(other->comm, thread->comm) == 0;
	}
	return is_plain && thread->comm[0] && thread->comm[0] != '-' && count == 1;
}

static void put_words(const struct timeline *timeline, const struct discovered *one, FILE *out)
{
	const struct deep_thread *thread = timeline->threads.at[one->thread];

	(void)fputs("           --thread ", out);
	if (is_own_name(timeline, thread)) {
		(void)fputs(thread->comm, out);
	} else {
		(void)fprintf(out, "%d", thread->tid);
	}
	(void)fputs(" --job ", out);
	(void)shell_put(out, one->job);
	(void)fputc('\n', out);
}

static void put_one(struct text_table *table, const struct timeline *timeline,
		    const struct discovered *one)
{
	char text[UNITS_TEXT_MAX];

	text_cell_format(table, "%zu", one->count);
	text_cell(table, units_ns(text, one->period_ns));
	text_cell(table, units_ns(text, one->jitter_ns));
	text_cell(table, units_ns(text, one->mean_ns));
	text_share(table, one->coverage, 1);
	text_end(table);
	put_words(timeline, one, table->out);
}

void discovery_text(const struct discovery *discovery, const struct timeline *timeline, size_t top,
		    FILE *out)
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
	(void)fprintf(out, "JOBS FOUND in %zu of %zu thread%s%s\n", discovery->threads,
		      discovery->threads_all, discovery->threads_all == 1 ? "" : "s",
		      discovery->at.count == 0 ? ": none" : "");
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
			put_one(&table, timeline, one);
		}
	}
	if (discovery->is_cut) {
		(void)fputs("\n  Limits were reached: there may be more. --thread searches one, "
			    "--events more of it.\n",
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
	json_u64(&json, "threads_all", discovery->threads_all);
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
		json_text(&json, "job", one->job);
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
