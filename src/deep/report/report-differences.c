/*
 * report-differences: see report-differences.h.
 */
#include "deep/report/report-differences.h"

#include <inttypes.h>

#include "text/text-table.h"

void report_put_differences(const struct executions *jobs, const struct execution *one, FILE *out)
{
	const struct diff_values *values = executions_differences(jobs, one);
	const struct expression *is = jobs->config->job->is;

	for (size_t i = 0; values && i < is->diff_count; i++) {
		if (values->has >> i & 1) {
			(void)fputs("  ", out);
			text_put(out, expression_shown(is, is->diffs[i]), -1);
			(void)fprintf(out, " +%" PRIu64, values->of[i]);
		}
	}
}

void report_put_all_differences(const struct executions *jobs, FILE *out)
{
	const struct expression *is = jobs->config->job->is;
	struct text_table table =
		text_table_of(out, "  DIFFERENCE<31| MEASURED>8| TOTAL>9| LARGEST>9| MEAN>9");

	text_head(&table);
	for (size_t i = 0; i < is->diff_count; i++) {
		const struct executions_difference *sum = &jobs->differed[i];

		text_cell(&table, expression_shown(is, is->diffs[i]));
		text_count(&table, sum->measured);
		if (sum->measured > 0) { /* else nothing is known of it */
			text_count(&table, sum->total);
			text_count(&table, sum->largest);
			text_count(&table, sum->total / sum->measured);
		}
		text_end(&table);
	}
}

/* ---- JSON ---- */

void report_json_differences(struct printer *p, const struct execution *one)
{
	const struct executions *jobs = p->report->jobs;
	const struct diff_values *values = executions_differences(jobs, one);
	const struct expression *is = jobs->config->job->is;

	if (!values) {
		return;
	}
	json_open(&p->json, "differences", '{');
	for (size_t i = 0; i < is->diff_count; i++) {
		if (values->has >> i & 1) {
			json_u64(&p->json, expression_shown(is, is->diffs[i]), values->of[i]);
		}
	}
	json_close(&p->json, '}');
}

void report_json_all_differences(struct printer *p)
{
	const struct executions *jobs = p->report->jobs;
	const struct expression *is = jobs->config->job->is;

	if (is->diff_count == 0) {
		return;
	}
	json_open(&p->json, "differences", '[');
	for (size_t i = 0; i < is->diff_count; i++) {
		const struct executions_difference *sum = &jobs->differed[i];

		json_open(&p->json, NULL, '{');
		json_text(&p->json, "field", expression_shown(is, is->diffs[i]));
		json_u64(&p->json, "measured", sum->measured);
		if (sum->measured > 0) {
			json_u64(&p->json, "total", sum->total);
			json_u64(&p->json, "largest", sum->largest);
		}
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}
