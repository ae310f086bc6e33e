/*
 * sink: what an output writes goes to the others beside it, to each as it wants it.
 */
#include <string.h>

#include "output/notice.h"
#include "output/sink.h"
#include "trigger/made-report.h"

/* What a sink got. */
struct heard {
	size_t reports, tables, rows, triggers, captures, attached;
};

static void on_report(struct output *output, const struct trace_identity *trace,
		      const struct report *report)
{
	struct heard *heard = output->state;

	heard->reports++;
	heard->tables = report->table_count;
	heard->rows = 0;
	for (size_t i = 0; i < report->table_count; i++) {
		heard->rows += report->tables[i].row_count;
	}
}

static void on_trigger(struct output *output, const struct trace_identity *trace,
		       const struct trigger_event *event)
{
	((struct heard *)output->state)->triggers++;
}

static void on_attach(struct output *output, const struct trace_identity *trace, bool is_attach,
		      const char *reason)
{
	((struct heard *)output->state)->attached++;
}

static void on_capture(struct output *output, const struct capture_result *capture)
{
	((struct heard *)output->state)->captures += capture->number;
}

static const struct sink some = { .name = "some", .report = on_report, .trigger = on_trigger };
static const struct sink all = { .name = "all",
				 .sees_unprinted = true,
				 .attach = on_attach,
				 .report = on_report,
				 .trigger = on_trigger,
				 .capture = on_capture };
static const struct sink captures_only = { .name = "captures", .capture = on_capture };

static struct made made;
static struct heard heard[3];
static struct output outputs[3];
static const struct analysis *of_sched[2];
static const struct display by_cpu = { .per = PER_CPU };

/* The output shows sched by CPU; beside it are one that wants all, and one of captures. */
static void setup(void)
{
	static const struct sink *const sinks[] = { &some, &all, &captures_only };

	memset(heard, 0, sizeof(heard));
	memset(outputs, 0, sizeof(outputs));
	for (int i = 0; i < 3; i++) {
		outputs[i].sink = sinks[i];
		outputs[i].state = &heard[i];
	}
	of_sched[0] = made_analysis("sched");
	outputs[0].analyses = of_sched;
	outputs[0].display = &by_cpu;
	*vec_push(&outputs[0].also) = &outputs[1];
	*vec_push(&outputs[0].also) = &outputs[2];
	made_window(&made, 1);
	(void)made_table(&made, "cpu", SCOPE_THREAD, NULL);
	(void)made_row(&made, 1, 1, "a");
	(void)made_table(&made, "sched", SCOPE_THREAD, NULL);
	(void)made_row(&made, 1, 1, "a");
	(void)made_row(&made, 2, 2, "b");
}

static void teardown(void)
{
	vec_fini(&outputs[0].also);
}

START_TEST(gives_all_what_is_not_shown)
{
	output_report(&outputs[0], NULL, &made.report);
	ck_assert_uint_eq(heard[0].reports, 1);
	ck_assert_uint_eq(heard[0].tables, 1);
	ck_assert_uint_eq(heard[0].rows, 0);
	ck_assert_uint_eq(heard[1].reports, 1);
	ck_assert_uint_eq(heard[1].tables, 2);
	ck_assert_uint_eq(heard[1].rows, 3);
	output_unseen(&outputs[0], NULL, &made.report);
	ck_assert_uint_eq(heard[0].reports, 1);
	ck_assert_uint_eq(heard[1].reports, 2);
	ck_assert_uint_eq(heard[2].reports, 0);
}
END_TEST

START_TEST(gives_what_is_not_printed_to_those_who_count)
{
	const struct trigger_event event = { .name = "t" };

	output_trigger(&outputs[0], NULL, &event, false);
	ck_assert_uint_eq(heard[0].triggers, 0);
	ck_assert_uint_eq(heard[1].triggers, 1);
	output_trigger(&outputs[0], NULL, &event, true);
	ck_assert_uint_eq(heard[0].triggers, 1);
	ck_assert_uint_eq(heard[1].triggers, 2);
}
END_TEST

START_TEST(gives_notices_to_those_who_take_them)
{
	const struct capture_result capture = { .number = 7 };

	output_capture(&outputs[0], &capture);
	output_attach(&outputs[0], NULL, true, NULL);
	ck_assert_uint_eq(heard[0].captures + heard[0].attached, 0);
	ck_assert_uint_eq(heard[1].captures, 7);
	ck_assert_uint_eq(heard[1].attached, 1);
	ck_assert_uint_eq(heard[2].captures, 7);
	ck_assert_uint_eq(heard[2].attached, 0);
}
END_TEST

Suite *suite_sink(void)
{
	Suite *suite = suite_create("sink");
	TCase *cases = tcase_create("sink");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, gives_all_what_is_not_shown);
	tcase_add_test(cases, gives_what_is_not_printed_to_those_who_count);
	tcase_add_test(cases, gives_notices_to_those_who_take_them);
	suite_add_tcase(suite, cases);
	return suite;
}
