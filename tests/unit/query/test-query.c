/*
 * query: what a user may write for events and periods, and what is reported if it is wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/limits.h"
#include "ctf/metadata/metadata.h"
#include "engine/contract/analysis.h"
#include "engine/contract/untrusted.h"
#include "kernel/thread-list.h"
#include "query/across.h"
#include "query/names.h"
#include "query/period.h"
#include "suites.h"

/* ---- periods ---- */

static const struct {
	const char *text;
	const char *message; /* NULL: it is valid */
} periods[] = {
	{ "x = a; b", NULL },
	{ "x=a b=1;c;by d=e,$cpu,$tid;group f,g;within outer", NULL },
	{ "x = a; b; within none", "\"x = a; b; within none\": column 18: expected the name of a "
				   "period that was given before" },
	{ "x = a; b; by c; then d; then e q=1; by c=f; each; group g", NULL },
	{ "x = a; b; each", "\"x = a; b; each\": column 15: expected events by keys, where each "
			    "counts" },
	{ "x = a; b; then c; within outer",
	  "\"x = a; b; then c; within outer\": column 31: expected periods by $tid, one within "
	  "the other" },
	{ "x = a; b; by c; within outer",
	  "\"x = a; b; by c; within outer\": column 29: expected periods by $tid, one within the "
	  "other" },
	{ "outer = a; b",
	  "\"outer = a; b\": column 9: expected another name: there is one of this" },
	{ "outer x=1; b", "\"outer x=1; b\": column 1: expected NAME = before: there is a period "
			  "of this name" },
	{ "x y=1; b; by global", NULL },
	{ "x; z; by $pid", NULL },
	{ "x = a c1=1,c2=1,c3=1,c4=1,c5=1,c6=1,c7=1,c8=1; b; by d,e,f; group g,h", NULL },
	{ "x = a; b c1=1,c2=1,c3=1,c4=1,c5=1,c6=1,c7=1,c8=1; by d,e,f; then c; by g,h,i; group j",
	  "\"x = a; b c1=1,c2=1,c3=1,c4=1,c5=1,c6=1,c7=1,c8=1; by d,e,f; then c; by g,h,i; group "
	  "j\": column 86: expected fewer fields in all" },
};

START_TEST(reads_periods)
{
	struct period_set set = { 0 };
	struct err err;
	int r;

	ck_assert_int_eq(period_add(&set, "outer = c; d", &err), 0);
	r = period_add(&set, periods[_i].text, &err);
	ck_assert_int_eq(r, periods[_i].message ? -EINVAL : 0);
	ck_assert_uint_eq(set.all.count, periods[_i].message ? 1 : 2);
	if (periods[_i].message) {
		ck_assert_str_eq(err.text, periods[_i].message);
	} else {
		ck_assert_str_eq(set.all.at[1]->name, "x");
	}
	period_set_fini(&set);
}
END_TEST

START_TEST(finds_places_of_fields)
{
	struct period_set set = { 0 };
	const struct period *period;
	const struct period_side *begin, *end;
	struct err err;

	ck_assert_int_eq(period_add(&set, "x = a p=$tid, q=1; b; by k=l, $cpu; group g", &err), 0);
	period = set.all.at[0];
	ck_assert(!period->by_thread);
	begin = &period->steps[0];
	end = &period->steps[1];
	ck_assert_uint_eq(period->step_count, 2);
	ck_assert_uint_eq(period->links[0].key_count, 2);
	ck_assert_str_eq(begin->fields.at[begin->thread], PLAN_ANY "p");
	ck_assert_str_eq(begin->fields.at[begin->conditions[1]], PLAN_ANY "q");
	ck_assert_str_eq(begin->fields.at[begin->after[0]], PLAN_ANY "k");
	ck_assert_str_eq(end->fields.at[end->before[0]], PLAN_ANY "l");
	ck_assert_uint_eq(end->fields.made[end->before[1] - FIELD_MADE].kind, MADE_CPU);
	ck_assert_uint_eq(end->thread, FIELD_NONE);
	ck_assert_str_eq(end->fields.at[end->groups[0].keys[0]], PLAN_ANY "g");
	ck_assert_str_eq(end->fields.at[end->running.vtid], "context.vtid");
	ck_assert_int_eq(period->within, -1);
	period_set_fini(&set);
}
END_TEST

/* Keys of a chain belong to the event that was given last, and to the one before it. */
START_TEST(finds_places_of_chains)
{
	struct period_set set = { 0 };
	const struct period *period;
	struct err err;

	ck_assert_int_eq(period_add(&set, "x = a; b; by k=l; then c; then d; by m, $tid", &err), 0);
	period = set.all.at[0];
	ck_assert(period->is_chain && !period->by_thread && !period->has_each);
	ck_assert_uint_eq(period->step_count, 4);
	ck_assert(!period->links[0].by_thread && period->links[1].by_thread &&
		  period->links[2].by_thread);
	ck_assert_uint_eq(period->links[1].key_count, 0);
	ck_assert_uint_eq(period->links[2].key_count, 1);
	ck_assert_str_eq(period->steps[0].fields.at[period->steps[0].after[0]], PLAN_ANY "k");
	ck_assert_str_eq(period->steps[1].fields.at[period->steps[1].before[0]], PLAN_ANY "l");
	ck_assert_str_eq(period->steps[2].fields.at[period->steps[2].after[0]], PLAN_ANY "m");
	ck_assert_str_eq(period->steps[3].fields.at[period->steps[3].before[0]], PLAN_ANY "m");
	period_set_fini(&set);
}
END_TEST

/* ---- labels ---- */

static const struct {
	const char *text;
	const char *message; /* NULL: it is valid */
} labels[] = {
	{ "x = a key=b name=c", NULL },
	{ "x=a d=1,key=$pid,b,c name=first(e)", NULL },
	{ "x = a b=1, name=first, key = b", NULL },
	{ "first = b key=k name=n", NULL },
	{ "x = a key=b name=second(c)",
	  "\"x = a key=b name=second(c)\": column 18: expected the name "
	  "of a label that was given before" },
	{ "x = a key=b name=first(c, d)",
	  "\"x = a key=b name=first(c, d)\": column 18: expected as "
	  "many fields as the label has keys" },
	{ "first = a key=k,l name=n", "\"first = a key=k,l name=n\": column 25: expected the keys "
				      "that this label has elsewhere" },
	{ "first = a key=k name=first(k)",
	  "\"first = a key=k name=first(k)\": column 30: expected a "
	  "name by a label that was given before this" },
};

START_TEST(reads_labels)
{
	struct label_set set = { 0 };
	struct err err;
	int r;

	ck_assert_int_eq(label_add(&set, "first = a key=k name=n", &err), 0);
	r = label_add(&set, labels[_i].text, &err);
	if (labels[_i].message) {
		ck_assert_str_eq(err.text, labels[_i].message);
	}
	ck_assert_int_eq(r, labels[_i].message ? -EINVAL : 0);
	ck_assert_uint_eq(set.sources.count, labels[_i].message ? 1 : 2);
	label_set_fini(&set);
}
END_TEST

START_TEST(finds_places_of_labels)
{
	struct period_set set = { 0 };
	const struct label_source *source;
	const struct period_side *end;
	struct err err;

	ck_assert_int_eq(label_add(&set.labels, "f = a key=k name=n", &err), 0);
	ck_assert_int_eq(label_add(&set.labels, "g = a key=$pid,k,l name=f(m)", &err), 0);
	source = set.labels.sources.at[1];
	ck_assert(set.labels.all.at[1].by_process && !set.labels.all.at[0].by_process);
	ck_assert_uint_eq(set.labels.all.at[1].key_count, 2);
	ck_assert_int_eq(source->value.label, 0);
	ck_assert_str_eq(source->fields.at[source->id.keys[1]], PLAN_ANY "l");
	ck_assert_str_eq(
		source->fields.at[source->fields.made[source->id.process - FIELD_MADE].from[0]],
		"context.vpid");
	ck_assert_str_eq(source->fields.at[source->value_at.keys[0]], PLAN_ANY "m");
	/* In a group a label's name alone stands for its name of the field of that name. */
	ck_assert_int_eq(period_add(&set, "x = a; b; group g(o, p), f", &err), 0);
	end = &set.all.at[0]->steps[1];
	ck_assert_int_eq(set.all.at[0]->group.uses[0].label, 1);
	ck_assert_str_eq(end->fields.at[end->groups[0].keys[1]], PLAN_ANY "p");
	ck_assert_str_eq(
		end->fields.at[end->fields.made[end->groups[0].process - FIELD_MADE].from[1]],
		"context.pid");
	ck_assert_str_eq(end->fields.at[end->groups[1].keys[0]], PLAN_ANY "f");
	ck_assert_str_eq(label_use_name(&set.labels, &set.all.at[0]->group.uses[0]), "g");
	ck_assert_int_eq(period_add(&set, "y = a; b; group g", &err), -EINVAL);
	period_set_fini(&set);
}
END_TEST

/* ---- spans ---- */

static const struct {
	const char *text;
	const char *name; /* NULL: an error */
} spans[] = {
	{ "a:begin,a:end", "a:begin" },
	{ "a", NULL },
	{ ",b", NULL },
	{ "a,", NULL },
	{ "a b,c", NULL },
	{ "a=1,c", NULL },
};

START_TEST(reads_spans)
{
	struct period_set set = { 0 };
	struct err err;
	int r = period_add_span(&set, spans[_i].text, &err);

	ck_assert_int_eq(r, spans[_i].name ? 0 : -EINVAL);
	if (spans[_i].name) {
		ck_assert_str_eq(set.all.at[0]->name, spans[_i].name);
	} else {
		ck_assert_ptr_nonnull(strstr(err.text, "expected BEGIN,END"));
	}
	period_set_fini(&set);
}
END_TEST

/* ---- names ---- */

static const char names_metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; };\n"
	"env { domain = \"kernel\"; };\n"
	"stream { id = 0; event.header := struct { int32_t id; };\n"
	"	event.context := struct { int32_t _tid; string _procname; }; };\n"
	"event { name = sched_switch; id = 0; stream_id = 0; fields := struct {\n"
	"	int32_t _prev_tid; string _prev_comm; }; };\n"
	"event { name = sched_waking; id = 1; stream_id = 0; fields := struct {\n"
	"	int32_t _tid; int32_t prio; string comm; }; };\n"
	"event { name = \"app:begin\"; id = 2; stream_id = 0; fields := struct { int32_t a; }; };\n"
	"event { name = \"app:end\"; id = 3; stream_id = 0; fields := struct { string a; }; };\n"
	"event { name = \"app:kinds\"; id = 4; stream_id = 0; fields := struct {\n"
	"	floating_point { exp_dig = 8; mant_dig = 24; align = 8; } real; int32_t row[2];\n"
	"	enum : int32_t { READY = 1 } state; struct { int32_t x; } parts; string words[2];\n"
	"	variant <state> { struct { int32_t x; } READY; } choice;\n"
	"	variant <state> { int32_t READY; } one; }; };\n";

static const struct {
	const char *period;
	const char *message; /* NULL: the trace has all of it */
} looked_up[] = {
	{ "x = sched_switch; sched_waking", NULL },
	{ "x = sched_*; app:*", NULL },
	{ "x = sched_switch prev_tid=$tid, prev_comm=a; sched_waking", NULL },
	{ "x = sched_switch context.tid=1, context.procname=a; sched_waking", NULL },
	{ "x = app:begin; app:end; by a", NULL },
	{ "x = app:begin; sched_waking; group prio", NULL },
	{ "x = sched_switch; sched_waking; by prev_tid=tid, $cpu", NULL },
	{ "x = app:*; app:* a=text", NULL },
	{ "x = sched_swich; sched_waking",
	  "no event \"sched_swich\" is recorded; did you mean \"sched_switch\"?" },
	{ "x = begin; sched_waking",
	  "no event \"begin\" is recorded; did you mean \"app:begin\"?" },
	{ "x = net_dev_xmit; sched_waking",
	  "no event \"net_dev_xmit\" is recorded: lttng enable-event -k net_dev_xmit" },
	{ "x = syscall_entry_read; sched_waking",
	  "no event \"syscall_entry_read\" is recorded: lttng enable-event -k --syscall read" },
	{ "x = other:*; sched_waking",
	  "no event \"other:*\" is recorded: lttng enable-event -u 'other:*'" },
	{ "x = \"other: event\"; sched_waking",
	  "no event \"other: event\" is recorded: lttng enable-event -u 'other: event'" },
	{ "x = sched_switch; sched_waking prioo=1",
	  "the event \"sched_waking\" has no field \"prioo\"; did you mean \"prio\"?" },
	{ "x = sched_switch context.vtid=1; sched_waking",
	  "the event \"sched_switch\" has no field \"context.vtid\"; did you mean "
	  "\"context.tid\"?" },
	{ "x = sched_switch prev_comm=1; sched_waking",
	  "the field \"prev_comm\" of \"sched_switch\" is a text" },
	{ "x = sched_switch prev_tid=init; sched_waking",
	  "the field \"prev_tid\" of \"sched_switch\" is a number" },
	{ "x = app:begin; sched_waking; by a", "the event \"sched_waking\" has no field \"a\"" },
	{ "x = app:begin; sched_waking; group zzzzzz",
	  "the event \"app:begin\" has no field \"zzzzzz\"" },
	{ "x = app:kinds state=1; app:end", NULL },
	{ "x = app:kinds state=READY, state!~/BUSY/; app:end", NULL },
	{ "x = app:kinds state!=REDY; app:end",
	  "the field \"state\" of \"app:kinds\" has no label \"REDY\"; did you mean \"READY\"?" },
	{ "x = app:kinds state=\"\"; app:end",
	  "the field \"state\" of \"app:kinds\" has no label \"\"" },
	{ "x = app:kinds real>1.5, row[1]=3; app:end; by real=a; group row[0]", NULL },
	{ "x = app:kinds real&1=1; app:end",
	  "the field \"real\" of \"app:kinds\" is a floating-point number" },
	{ "x = app:kinds real=a; app:end",
	  "the field \"real\" of \"app:kinds\" is a floating-point number" },
	{ "x = app:kinds row~/a/; app:end",
	  "the field \"row\" of \"app:kinds\" is an array of numbers: write which element, as "
	  "[0]" },
	{ "x = app:kinds; app:end; group row",
	  "the field \"row\" of \"app:kinds\" is an array of numbers: write which element, as "
	  "[0]" },
	{ "x = app:kinds row[2]=1; app:end",
	  "the field \"row[2]\" of \"app:kinds\" is an array of fewer elements" },
	{ "x = app:kinds state[0]=1; app:end",
	  "the field \"state[0]\" of \"app:kinds\" is no array of numbers" },
	{ "x = app:kinds words[0]=a; app:end",
	  "the field \"words[0]\" of \"app:kinds\" is an array of what cannot be compared" },
	{ "x = app:kinds parts=1; app:end",
	  "the field \"parts\" of \"app:kinds\" is a struct, whose members cannot be compared" },
	{ "x = app:kinds choice=1; app:end",
	  "the field \"choice\" of \"app:kinds\" is a variant, whose options cannot be "
	  "compared" },
	{ "x = app:kinds one=1, one>2; app:kinds; by one", NULL },
	{ "x = app:kinds one=x; app:end", "the field \"one\" of \"app:kinds\" is a number" },
	{ "x = app:begin; app:end; by $pid",
	  "the event \"app:begin\" has no field \"context.vpid\"; did you mean "
	  "\"context.tid\"?" },
	/* Each field is in some event, and all of the id are in none. */
	{ "x = app:begin; sched_waking; group l(a, prio)",
	  "the event \"app:begin\" has no field \"prio\"" },
	{ "x = app:begin; sched_waking; group l(prio, a)",
	  "the event \"sched_waking\" has no field \"a\"" },
	{ "x = app:begin; sched_waking; group l(tid, prio)", NULL },
};

static int look_up(struct names *names, const void *period)
{
	return names_period(names, period);
}

/* ---- jobs ---- */

static const struct {
	const char *text;
	const char *message; /* NULL: it is valid */
	const char *pattern; /* of it that for reports */
	size_t events;
	uint64_t deadline_ns, period_ns;
} jobs[] = {
	{ "x = timerfd", NULL, "timerfd", 2, UINT64_MAX, 0 },
	{ " x=run ;every 5ms", NULL, "run", 2, UINT64_MAX, 5000000 },
	{ "x = a; b", NULL, "a; b", 2, UINT64_MAX, 0 },
	{ "x = a f=$tid; b; c; deadline 2ms; every 1.5s", NULL, "a f=$tid; b; c", 3, 2000000,
	  1500000000 },
	{ "x = deadline; every; deadline 1us", NULL, "deadline; every", 2, 1000, 0 },
	{ "x; y", NULL, "x; y", 2, UINT64_MAX, 0 },
	{ "x = a; b; group y(c)", "\"x = a; b; group y(c)\": column 17: expected the name of a "
				  "label that was given before" },
};

START_TEST(reads_jobs)
{
	struct period_set set = { 0 };
	struct err err;
	int r = period_add_job(&set, jobs[_i].text, &err);

	ck_assert_int_eq(r, jobs[_i].message ? -EINVAL : 0);
	if (jobs[_i].message) {
		ck_assert_str_eq(err.text, jobs[_i].message);
	} else {
		ck_assert_str_eq(set.jobs.at[0]->name, "x");
		ck_assert_str_eq(set.jobs.at[0]->pattern, jobs[_i].pattern);
		ck_assert_uint_eq(set.jobs.at[0]->is->event_count, jobs[_i].events);
		ck_assert_uint_eq(set.jobs.at[0]->deadline_ns, jobs[_i].deadline_ns);
		ck_assert_uint_eq(set.jobs.at[0]->period_ns, jobs[_i].period_ns);
	}
	period_set_fini(&set);
}
END_TEST

static const struct {
	const char *text, *message;
} within_jobs[] = {
	{ "x = a; b; within none", "\"x = a; b; within none\": column 18: expected the name of a "
				   "job that was given before" },
	{ "x = a; b; within x", "\"x = a; b; within x\": column 18: expected the name of a job "
				"that was given before" },
	{ "x = a; b; within inner", "\"x = a; b; within inner\": column 18: expected a job that "
				    "lies in none itself" },
	{ "x = a; b; every 1s; within over", "\"x = a; b; every 1s; within over\": column 28: "
					     "expected " JOB_NO_PERIOD },
	{ "x = a; b; every 1s; within outer", NULL },
	{ "x = a; b; by c; within outer", NULL },
};

/* A job lies in one that was given before. */
START_TEST(finds_what_jobs_lie_in)
{
	struct period_set set = { 0 };
	struct err err;
	int r;

	ck_assert_int_eq(period_add_job(&set, "outer = e; f", &err), 0);
	ck_assert_int_eq(period_add_job(&set, "over = e; f; by g", &err), 0);
	ck_assert_int_eq(period_add_job(&set, "inner = e; g; within outer", &err), 0);
	ck_assert(set.jobs.at[0]->is_around && !set.jobs.at[0]->is_around_any);
	ck_assert(!set.jobs.at[1]->is_around && set.jobs.at[2]->within == 0);
	ck_assert_ptr_eq(period_set_first_job(&set), set.jobs.at[1]);
	r = period_add_job(&set, within_jobs[_i].text, &err);
	ck_assert_int_eq(r, within_jobs[_i].message ? -EINVAL : 0);
	if (within_jobs[_i].message) {
		ck_assert_str_eq(err.text, within_jobs[_i].message);
	} else {
		ck_assert_int_eq(set.jobs.at[3]->within, 0);
		ck_assert_int_eq(set.jobs.at[3]->is_joined, set.jobs.at[3]->is_across);
	}
	period_set_fini(&set);
}
END_TEST

/* What --within says is a job before all others, in which those lie that say nothing else. */
START_TEST(puts_jobs_within)
{
	static const char *const texts[] = { "job out = e; f; by g", "job one = a; b; within out",
					     "job two = c; d; within out",
					     "model job three = e; g" };
	struct period_set set = { 0 }, before;
	struct err err;

	ck_assert_int_eq(period_add_job(&set, "one = a; b", &err), 0);
	ck_assert_int_eq(period_add_job(&set, "two = c; d", &err), 0);
	before = set;
	ck_assert_int_eq(period_add_job(&set, "three = e; g", &err), 0);
	period_set_mark(&set, &before, "model");
	ck_assert_int_eq(period_set_within(&set, "out = e; f; by g", &err), 0);
	for (size_t i = 0; i < 4; i++) {
		char *text = period_set_text(&set, i);

		ck_assert_str_eq(text, texts[i]);
		free(text);
	}
	ck_assert_uint_eq(set.jobs.count, 4);
	ck_assert(set.jobs.at[0]->is_around_any && set.jobs.at[3]->within < 0);
	ck_assert_int_eq(period_set_within(&set, "one = e; f", &err), -EINVAL);
	period_set_fini(&set);
}
END_TEST

/* A file has all of them as texts. */
START_TEST(texts_make_them_again)
{
	static const char *const texts[] = { "label l = a key=k name=n", "job = a; b",
					     "label = a; b; group l",    "model y = a; b",
					     "job job = a; b; group l",  "model job x = run" };
	struct period_set set = { 0 }, again = { 0 };
	struct err err;

	for (size_t i = 0; i < 6; i++) {
		ck_assert_int_eq(period_add_text(&set, texts[i], &err), 0);
	}
	ck_assert_int_eq(period_add_job(&set, "x = sleep", &err), -EINVAL);
	ck_assert_str_eq(err.text, "\"x\": there is another job of this name: NAME = before the "
				   "events gives one");
	ck_assert_uint_eq(set.labels.sources.count, 1);
	ck_assert_uint_eq(set.all.count, 3);
	ck_assert(set.all.at[2]->model && !set.all.at[1]->model);
	ck_assert_uint_eq(set.jobs.count, 2);
	for (size_t i = 0; i < period_set_count(&set); i++) {
		char *text = period_set_text(&set, i);

		ck_assert_str_eq(text, texts[i]);
		ck_assert_int_eq(period_add_text(&again, text, &err), 0);
		free(text);
	}
	ck_assert_uint_eq(again.jobs.count, 2);
	period_set_fini(&set);
	period_set_fini(&again);
}
END_TEST

extern const struct analysis analysis_periods;

/* An open period of two events, as a state has it. */
static void put_open(struct codec *codec, uint16_t period)
{
	uint64_t number = 1;
	int32_t tid = 7;
	bool is_tainted = false;
	char *item = NULL;

	(void)codec_count(codec, 1, 1);
	codec_u64(codec, &number);
	codec_u64(codec, &number);
	codec_i32(codec, &tid);
	codec_u16(codec, &period);
	codec_bool(codec, &is_tainted);
	for (size_t i = 0; i < LABEL_GROUP_MAX; i++) {
		codec_text(codec, &item);
	}
	codec_bool(codec, &is_tainted); /* no counters */
}

/* A chain that is open as a period of two events would never end. */
START_TEST(refuses_open_chains)
{
	struct period_set set = { 0 };
	struct err err;

	ck_assert_int_eq(period_add(&set, "pair = a; b", &err), 0);
	ck_assert_int_eq(period_add(&set, "chain = a; b; then c", &err), 0);
	for (uint16_t period = 0; period < 3; period++) {
		struct codec_out out = { 0 };
		struct codec writes = { .out = &out }, reads;
		const struct checkpoint checkpoint = { .codec = &reads, .periods = &set };
		void *state = mem_alloc(analysis_periods.thread_state_size);

		put_open(&writes, period);
		reads = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
		analysis_periods.on_checkpoint(&checkpoint, state);
		ck_assert_int_eq(reads.is_wrong, period != 0);
		analysis_periods.on_forget(state);
		free(state);
		vec_fini(&out.bytes);
	}
	period_set_fini(&set);
}
END_TEST

/* As text and back they are the same: one without a name gets none.  What ends two calls alike ends
 * the first of both. */
START_TEST(keeps_calls)
{
	static const char *const texts[] = { "call p:*_entry; p:*; error ret<0, on=1",
					     "call r = a; c; by k", "call w = b; c; by j=k",
					     "call o = b; c d=1; by k",
					     "call own = b; c; by $tid, k" };
	static const uint32_t ends_as[] = { 0, 1, 1, 3, 4 };
	struct period_set set = { 0 };
	const char *stem;
	struct err err;
	size_t len;

	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		char *text;

		ck_assert_int_eq(period_add_text(&set, texts[i], &err), 0);
		text = period_set_text(&set, i);
		ck_assert_str_eq(text, texts[i]);
		free(text);
		ck_assert_uint_eq(set.calls.at[i]->ends_as, ends_as[i]);
		ck_assert_int_eq(set.calls.at[i]->is->has_name, i > 0);
	}
	ck_assert(period_call_takes(set.calls.at[0], 0, "p:x_entry", &stem, &len));
	ck_assert(len == 1 && *stem == 'x');
	ck_assert(!period_call_takes(set.calls.at[0], 0, "p:_entr", &stem, &len));
	ck_assert(period_call_takes(set.calls.at[0], 1, "p:", &stem, &len) && len == 0);
	ck_assert(period_call_takes(set.calls.at[1], 0, "a", &stem, &len) && len == 0);
	ck_assert_int_eq(period_add_call(&set, "w = x; y", &err), -EINVAL);
	period_set_fini(&set);
}
END_TEST

START_TEST(looks_names_up)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct metadata_stream *none = metadata_stream_new();
	const struct metadata *traces[2];
	struct period_set set = { 0 };
	struct err err;
	int r;

	ck_assert_int_eq(
		metadata_stream_feed(stream, names_metadata, sizeof(names_metadata) - 1, &err), 0);
	traces[0] = metadata_stream_types(none);
	traces[1] = metadata_stream_types(stream);
	ck_assert_int_eq(label_add(&set.labels, "l = app:begin key=k,m name=n", &err), 0);
	ck_assert_int_eq(period_add(&set, looked_up[_i].period, &err), 0);
	/* One of the traces has to have all; the error is of the one that has the most. */
	for (size_t first = 0; first < 2; first++) {
		r = names_in_any(traces + first, 2 - first, look_up, set.all.at[0], &err);
		ck_assert_int_eq(r, looked_up[_i].message ? -ENOENT : 0);
		if (looked_up[_i].message && first == 1) {
			ck_assert_str_eq(err.text, looked_up[_i].message);
		}
	}
	period_set_fini(&set);
	metadata_stream_free(stream);
	metadata_stream_free(none);
}
END_TEST

/* ---- executions over threads ---- */

START_TEST(bounds_what_is_open)
{
	struct across across = { 0 };
	struct across_open *open;
	size_t count = 0;

	for (uint64_t key = 0; key < JOBS_OPEN_MAX + 2; key++) {
		open = mem_alloc(sizeof(*open));
		open->key = key;
		open->begin = key;
		open = across_add(&across, open);
		if (key < JOBS_OPEN_MAX) {
			ck_assert_ptr_null(open);
		} else {
			ck_assert_uint_eq(open->key, key - JOBS_OPEN_MAX); /* the oldest goes */
		}
		free(open);
	}
	ck_assert_ptr_null(across_find(&across, 1));
	ck_assert_uint_eq(across_find(&across, 2)->begin, 2);
	for (; (open = across_next(&across)); count++) {
		ck_assert_uint_eq(open->key, count + 2);
		free(open);
	}
	ck_assert_uint_eq(count, JOBS_OPEN_MAX);
}
END_TEST

START_TEST(bounds_names)
{
	struct across_names names = { 0 };
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };

	ck_assert(!across_names_tell(&names, 0, "idle", 4));
	for (int32_t tid = 1; tid <= JOBS_NAMES_MAX; tid++) {
		ck_assert(!across_names_tell(&names, tid, "a", 1));
	}
	ck_assert(!across_names_tell(&names, 1, "a name of many letters", 22));
	ck_assert(across_names_tell(&names, JOBS_NAMES_MAX + 1, "last\0of it", 9));
	ck_assert_str_eq(across_names_of(&names, 1), "a name of many "); /* told again */
	ck_assert_str_eq(across_names_of(&names, 2), "");
	ck_assert_str_eq(across_names_of(&names, 3), "a");
	ck_assert_str_eq(across_names_of(&names, JOBS_NAMES_MAX + 1), "last");
	across_names_codec(&codec, &names);
	across_names_fini(&names);
	codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
	across_names_codec(&codec, &names);
	ck_assert(!codec.is_wrong && codec.left == 0);
	ck_assert_str_eq(across_names_of(&names, 1), "a name of many ");
	ck_assert(across_names_tell(&names, 2, "b", 1)); /* the oldest is the same */
	ck_assert_str_eq(across_names_of(&names, 3), "");
	across_names_fini(&names);
	out.bytes.at[out.bytes.count - 1] = 'x'; /* the last name has no end */
	codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
	across_names_codec(&codec, &names);
	ck_assert(codec.is_wrong);
	across_names_fini(&names);
	vec_fini(&out.bytes);
}
END_TEST

static const struct {
	const char *list;
	int32_t tid;
	const char *comm;
	bool has;
} lists[] = {
	{ "job", 1, "job", true },      { "job", 1, "jobs", false }, { "job*", 1, "jobs", true },
	{ "a,12", 12, "", true },       { "a,12", 1, "12", false },  { "a\\,b", 1, "a,b", true },
	{ "a\\,b", 1, "a", false },     { "*", 1, "", false },       { ",b", 1, "b", true },
	{ "a\\*", 1, "a*", true },      { "a\\*", 1, "ab", false },  { "0", 0, "", false },
	{ "4294967297", 1, "", false }, { "[ab]x", 1, "bx", true },  { "\\", 1, "a", false },
	{ "", 1, "", false },
};

START_TEST(lists_threads)
{
	ck_assert_int_eq(thread_list_has(lists[_i].list, lists[_i].tid, lists[_i].comm),
			 lists[_i].has);
}
END_TEST

START_TEST(keys_of_jobs)
{
	static const char *const refused[] = { "a @w; b; every d(e)", "a; b; c; by d" };
	struct job_spec *job;
	struct err err;
	uint64_t key = 5;

	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(job_parse(refused[i], FORM_JOB, NULL, &job, &err), -EINVAL);
	}
	ck_assert_int_eq(job_parse("a; b; by $tid, x=y", FORM_JOB, NULL, &job, &err), 0);
	ck_assert(job->is_across && job->has_keys && !job->has_names);
	ck_assert_str_eq(job->pattern, "a; b; by $tid, x=y");
	ck_assert(!job_key_with(job, -1, &key));
	job_free(job);
	ck_assert_int_eq(job_parse("a @7|x*; b", FORM_JOB, NULL, &job, &err), 0);
	ck_assert(job->is_across && !job->has_keys && job->has_names);
	key = 5;
	ck_assert(job_key_with(job, -1, &key) && key == 5);
	ck_assert(pattern_has_who(&job->is->events[0].who, 7, ""));
	ck_assert(pattern_has_who(&job->is->events[0].who, 8, "xy"));
	ck_assert(!pattern_has_who(&job->is->events[0].who, 8, ""));
	ck_assert(pattern_has_who(&job->is->events[1].who, -1, ""));
	job_free(job);
}
END_TEST

Suite *suite_query(void)
{
	Suite *suite = suite_create("query");
	TCase *tcase = tcase_create("query");

	tcase_add_test(tcase, finds_places_of_chains);
	tcase_add_loop_test(tcase, reads_labels, 0, sizeof(labels) / sizeof(labels[0]));
	tcase_add_test(tcase, finds_places_of_labels);
	tcase_add_loop_test(tcase, reads_periods, 0, sizeof(periods) / sizeof(periods[0]));
	tcase_add_test(tcase, finds_places_of_fields);
	tcase_add_loop_test(tcase, reads_spans, 0, sizeof(spans) / sizeof(spans[0]));
	tcase_add_loop_test(tcase, reads_jobs, 0, sizeof(jobs) / sizeof(jobs[0]));
	tcase_add_loop_test(tcase, finds_what_jobs_lie_in, 0,
			    sizeof(within_jobs) / sizeof(within_jobs[0]));
	tcase_add_test(tcase, puts_jobs_within);
	tcase_add_test(tcase, texts_make_them_again);
	tcase_add_test(tcase, refuses_open_chains);
	tcase_add_test(tcase, bounds_what_is_open);
	tcase_add_test(tcase, bounds_names);
	tcase_add_loop_test(tcase, lists_threads, 0, sizeof(lists) / sizeof(lists[0]));
	tcase_add_test(tcase, keys_of_jobs);
	tcase_add_test(tcase, keeps_calls);
	tcase_add_loop_test(tcase, looks_names_up, 0, sizeof(looked_up) / sizeof(looked_up[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
