/*
 * test-worker: what a worker makes of one chunk: who runs, slices, keyed rows, faults.
 *
 * Packets are made by hand, with the compact event header of LTTng.  Each test compares the whole
 * partial, as text: see describe().
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/now.h"
#include "ctf/metadata/metadata.h"
#include "engine/contract/handler.h"
#include "engine/worker/worker.h"
#include "suites.h"

static const char metadata_text[] =
	"/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
	"clock { name = m; freq = 1000000000; };\n"
	"typealias integer { size = 8; align = 8; } := u8;\n"
	"typealias integer { size = 8; align = 8; encoding = UTF8; } := text;\n"
	"typealias integer { size = 32; align = 8; } := u32;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
	"typealias integer { size = 27; align = 1; map = clock.m.value; } := brief;\n"
	"typealias integer { size = 64; align = 8; map = clock.m.value; } := full;\n"
	"stream { id = 0; event.header := struct {\n"
	"  enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;\n"
	"  variant <id> { struct { brief timestamp; } compact;\n"
	"    struct { u32 id; full timestamp; } extended; } v; } align(8); };\n"
	"event { name = sched_switch; id = 0; fields := struct { text prev_comm[16]; s32 "
	"prev_tid;\n"
	"  s32 prev_prio; s64 prev_state; text next_comm[16]; s32 next_tid; s32 next_prio; }; };\n"
	"event { name = sched_process_exec; id = 1; fields := struct { string filename; s32 tid;\n"
	"  s32 old_tid; }; };\n"
	"event { name = thing; id = 2; fields := struct { u8 n; }; };\n"
	"event { name = unwanted; id = 3; fields := struct { u8 n; }; };\n"
	"event { name = sched_process_fork; id = 4; fields := struct { text child_comm[16];\n"
	"  s32 child_tid; s32 child_pid; }; };\n";

enum { SWITCH, EXEC, THING, UNWANTED, FORK, CLASSES };

/* ---- an analysis ---- */

/* A record, and a keyed row, for each thing; one more where the on-CPU interval ends after some. */
enum { OWN_THING = RECORD_OWN, OWN_END };

#define SIGNAL 255

struct things {
	uint64_t seen;
};

static void on_thing(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	struct things *things = state;
	struct record *record = worker_emit(worker, event->ts, worker_tid(worker), OWN_THING);

	record->arg64 = event->values[0].u;
	worker_note_current(worker, record);
	worker_keyed_row(worker, 0, event->values[0].u, "thing", 5)[0] += 1;
	things->seen++;
	if (event->values[0].u == SIGNAL) { /* one came long ago */
		now_leave_at_ns = 1;
	}
}

static void on_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	struct things *things = state;

	if (things->seen > 0) {
		worker_emit(worker, ts, worker_tid(worker), OWN_END)->arg64 =
			things->seen + (is_window ? 100 : 0);
	}
	things->seen = 0;
}

static const struct need needs[] = { { "thing", { "n" }, on_thing } };

static const struct analysis analysis_things = {
	.name = "things",
	.summary = "things",
	.tables = { { .key = "rows",
		      .scope = SCOPE_KEYED,
		      .columns = { { "count", "COUNT", UNIT_COUNT, COLUMN_SUM } } } },
	.needs = needs,
	.need_count = 1,
	.uses_threads = true,
	.worker_state_size = sizeof(struct things),
	.on_oncpu_end = on_oncpu_end,
};

/* ---- a run ---- */

struct run {
	struct setup setup;
	struct metadata_stream *metadata;
	struct plan_builder *builder;
	struct plan *plan;
	struct worker *worker;
	struct chunk chunk;
	VEC(uint8_t) bytes; /* of the packet being made */
	char text[4096];    /* the partial */
};

static void run_init(struct run *run, uint64_t range_begin, uint64_t range_end)
{
	struct err err = { "" };

	*run = (struct run){ 0 };
	run->setup = (struct setup){ .analyses = { &analysis_things },
				     .analysis_count = 1,
				     .interval_ns = 1000,
				     .wants_windows = true,
				     .range_begin = range_begin,
				     .range_end = range_end };
	setup_init(&run->setup, worker_needs, WORKER_NEEDS);
	run->metadata = metadata_stream_new();
	ck_assert_int_eq(
		metadata_stream_feed(run->metadata, metadata_text, strlen(metadata_text), &err), 0);
	run->builder = plan_builder_new(metadata_stream_arena(run->metadata), run->setup.requests,
					run->setup.request_count, false);
	ck_assert_msg(plan_build(run->builder, metadata_stream_types(run->metadata), &run->plan,
				 &err) == 0,
		      "%s", err.text);
	ck_assert_uint_eq(run->plan->class_count, CLASSES);
	run->worker = worker_new(&run->setup);
}

static void run_fini(struct run *run)
{
	worker_free(run->worker);
	chunk_fini(&run->chunk);
	plan_unref(run->plan);
	plan_builder_free(run->builder);
	metadata_stream_free(run->metadata);
	setup_fini(&run->setup);
	vec_fini(&run->bytes);
}

/* A new chunk, which begins at @begin. */
static void begin_chunk(struct run *run, uint64_t begin, bool has_switches)
{
	chunk_fini(&run->chunk);
	run->chunk = (struct chunk){
		.plan = plan_ref(run->plan), .fd = -1, .has_switches = has_switches, .begin = begin
	};
}

/* ---- packets ---- */

static void put(struct run *run, const void *bytes, size_t len)
{
	vec_append(&run->bytes, (const uint8_t *)bytes, len);
}

static void put_number(struct run *run, int64_t number, size_t bytes)
{
	put(run, &number, bytes); /* little-endian, as the machine */
}

static void put_header(struct run *run, uint64_t ts, unsigned int id)
{
	put_number(run, (int64_t)(ts << 5 | id), 4);
}

/* The comm of a thread is its tid. */
static void put_comm(struct run *run, int32_t tid)
{
	char comm[NAME_BYTES] = "";

	(void)snprintf(comm, sizeof(comm), "t%" PRId32, tid);
	put(run, comm, sizeof(comm));
}

static void put_switch(struct run *run, uint64_t ts, int32_t prev, int32_t next)
{
	put_header(run, ts, SWITCH);
	put_comm(run, prev);
	put_number(run, prev, 4);
	put_number(run, 20, 4);
	put_number(run, 1, 8); /* sleeps */
	put_comm(run, next);
	put_number(run, next, 4);
	put_number(run, 20, 4);
}

static void put_exec(struct run *run, uint64_t ts, const char *path, int32_t tid, int32_t former)
{
	put_header(run, ts, EXEC);
	put(run, path, strlen(path) + 1);
	put_number(run, tid, 4);
	put_number(run, former, 4);
}

static void put_fork(struct run *run, uint64_t ts, int32_t tid)
{
	put_header(run, ts, FORK);
	put_comm(run, tid);
	put_number(run, tid, 4);
	put_number(run, tid, 4);
}

static void put_thing(struct run *run, uint64_t ts, unsigned int class, uint8_t n)
{
	put_header(run, ts, class);
	put_number(run, n, 1);
}

/* Adds what was put as a packet of the chunk. */
static struct packet *put_packet(struct run *run, uint64_t floor, uint64_t begin, uint64_t end)
{
	struct packet *packet = vec_push(&run->chunk.packets);

	*packet = (struct packet){ .bytes = mem_alloc(run->bytes.count + 1),
				   .size = run->bytes.count,
				   .number = run->chunk.packets.count - 1,
				   .floor = floor,
				   .begin = begin,
				   .end = end,
				   .limit = end };
	if (run->bytes.count > 0) {
		memcpy(packet->bytes, run->bytes.at, run->bytes.count);
	}
	run->bytes.count = 0;
	return packet;
}

/* ---- a partial as text ---- */

static void say(struct run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct run *run, const char *fmt, ...)
{
	size_t len = strlen(run->text);
	va_list args;
	int added;

	va_start(args, fmt);
	added = vsnprintf(run->text + len, sizeof(run->text) - len, fmt, args);
	va_end(args);
	ck_assert_uint_lt(len + (size_t)added, sizeof(run->text));
}

static void say_record(struct run *run, const struct record *record)
{
	static const char *const kinds[] = { "in",        "on",    "out",   "run",  "initial",
					     "gap",       "reset", "fork",  "exec", "process",
					     "container", "place", "thing", "end" };
	unsigned int flags = record->kind < RECORD_GAP ? record->arg16 : 0;

	say(run, " %s@%" PRIu64, kinds[record->kind], record->ts);
	if (record->kind >= RECORD_OWN || (flags & RECORD_LEFT)) {
		say(run, "+%" PRIu64, record->arg64);
	}
	say(run, "%s%s", flags & RECORD_SLEEPS ? "s" : "", flags & RECORD_PRIO ? "p" : "");
}

static void say_group(struct run *run, const struct group *group)
{
	if (group->key == KEY_INITIAL || group->key == KEY_LOST || group->key == KEY_NOBODY) {
		say(run, "; %s",
		    group->key == KEY_INITIAL ? "initial"
		    : group->key == KEY_LOST  ? "lost"
					      : "nobody");
	} else {
		say(run, "; %" PRId64, group->key);
	}
	say(run, "%s%.16s", group->has_name ? "=" : "", group->has_name ? group->name : "");
	for (uint32_t i = group->first; i != RECORD_NONE;
	     i = run->chunk.partial->records.at[i].next) {
		say_record(run, &run->chunk.partial->records.at[i]);
	}
}

/* Groups are said in the order they were made. */
static void say_slice(struct run *run, const struct slice *slice)
{
	const struct partial *partial = run->chunk.partial;

	say(run, "%" PRId64 ": ran %" PRIu64 " idle %" PRIu64 " unknown %" PRIu64 "%s",
	    slice->window, slice->cpu_ns[RUN_THREAD], slice->cpu_ns[RUN_IDLE],
	    slice->cpu_ns[RUN_UNKNOWN], slice->has_gap ? " gap" : "");
	for (uint32_t made = 0; made < slice->group_count; made++) {
		for (uint32_t i = 0; i < slice->group_count; i++) {
			if (partial->groups.at[slice->shards[0] + i].made == made) {
				say_group(run, &partial->groups.at[slice->shards[0] + i]);
			}
		}
	}
	say(run, "\n");
}

static void say_ends(struct run *run)
{
	static const char *const initials[] = { "none", "thread", "gap" };
	static const char *const tails[] = { "thread", "idle", "unknown" };
	const struct partial *partial = run->chunk.partial;

	for (size_t i = 0; i < partial->segments.count; i++) {
		const struct segment *segment = &partial->segments.at[i];

		say(run, "%" PRIu64 "-%" PRIu64 " %s", segment->begin, segment->end,
		    tails[segment->kind]);
		if (segment->kind == RUN_THREAD) {
			say(run, " %" PRId32, segment->tid);
		}
		say(run, "%s\n", segment->is_broken ? " broken" : "");
	}
	say(run, "%s", initials[partial->initial]);
	if (partial->initial == INITIAL_THREAD) {
		say(run, " %" PRId32 "%s%.16s", partial->initial_tid,
		    partial->initial_has_prio ? "=" : "", partial->initial_name);
	}
	if (partial->initial != INITIAL_NONE) {
		say(run, " to %" PRIu64, partial->initial_ts);
	}
	say(run, ", %s", tails[partial->tail]);
	if (partial->tail == RUN_THREAD) {
		say(run, " %" PRId32, partial->tail_tid);
	}
	say(run, " from %" PRIu64 "\n", partial->tail_ts);
}

/* Decodes the chunk. */
static const struct partial *decode(struct run *run)
{
	worker_run_chunk(run->worker, &run->chunk);
	partial_check_worker(run->chunk.partial, CLASSES);
	return run->chunk.partial;
}

/*
 * Decodes the chunk, and says the partial: a line for each slice, with its groups and their
 * records, for each segment, and for the ends.
 */
static const char *describe(struct run *run)
{
	const struct partial *partial = decode(run);

	run->text[0] = '\0';
	for (size_t i = 0; i < partial->slices.count; i++) {
		say_slice(run, &partial->slices.at[i]);
	}
	say_ends(run);
	return run->text;
}

/* ---- who runs ---- */

START_TEST(first_switch_names_initial_thread)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	(void)put_packet(&run, 1000, 1050, 1900);
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; 5=t5 out@1100sp;"
					 " 7=t7 in@1100\n"
					 "thread 5=t5 to 1100, thread 7 from 1100\n");
	run_fini(&run);
}
END_TEST

/* The same from the packed bytes of a class that nobody else wants, and by the handler: the first
 * switch and the last of a packet go to the handler. */
START_TEST(intervals_within_slice_are_whole)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	put_switch(&run, 1150, 7, 0);
	put_switch(&run, 1170, 0, 8);
	put_switch(&run, 1200, 8, 7);
	put_switch(&run, 1300, 7, 0);
	(void)put_packet(&run, 1000, 1050, 1900);
	ck_assert_str_eq(describe(&run),
			 "1: ran 130 idle 20 unknown 0; 5=t5 out@1100sp;"
			 " 7=t7 in@1100 out@1150sp in@1200+100sp; 8=t8 in@1170+30sp\n"
			 "1100-1150 thread 7\n"
			 "thread 5=t5 to 1100, idle from 1300\n");
	run_fini(&run);
}
END_TEST

START_TEST(interval_across_windows_is_segment)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1900, 5, 7);
	put_switch(&run, 2100, 7, 8);
	put_switch(&run, 2150, 8, 0);
	(void)put_packet(&run, 1000, 1050, 2900);
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; 5=t5 out@1900sp;"
					 " 7=t7 in@1900\n"
					 "2: ran 50 idle 0 unknown 0; 7=t7 out@2100sp;"
					 " 8=t8 in@2100+50sp\n"
					 "1900-2100 thread 7\n"
					 "thread 5=t5 to 1900, idle from 2150\n");
	run_fini(&run);
}
END_TEST

/* A signal came long ago: no packet is read, and what the chunk covers is still a stretch of time.
 */
START_TEST(left_before_first_packet)
{
	const struct partial *partial;
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	(void)put_packet(&run, 1000, 1050, 1900);
	now_leave_at_ns = 1;
	partial = decode(&run);
	now_leave_at_ns = 0;
	ck_assert(now_has_left);
	now_has_left = false;
	ck_assert_uint_eq(partial->packets, 0);
	ck_assert_uint_eq(partial->covered_from, 1050);
	ck_assert_uint_ge(partial->covered_until, partial->covered_from);
	run_fini(&run);
}
END_TEST

/* The same within a packet: its rest is missing, and it is not bad. */
START_TEST(left_within_packet)
{
	const struct partial *partial;
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	put_thing(&run, 1200, THING, SIGNAL);
	put_thing(&run, 1300, THING, 1);
	(void)put_packet(&run, 1000, 1050, 1900);
	partial = decode(&run);
	now_leave_at_ns = 0;
	ck_assert(now_has_left);
	now_has_left = false;
	ck_assert_uint_lt(partial->events, 3);
	ck_assert_uint_eq(partial->faults.count, 1);
	ck_assert_str_eq(strstr(partial->faults.at[0].text, "the run was"),
			 "the run was interrupted (0)");
	ck_assert_uint_eq(partial->slices.at[0].bad_packets, 0);
	run_fini(&run);
}
END_TEST

/* The thread that leaves is not the one that was switched in: from then on it is unknown what the
 * CPU does, until a switch fits.  Whether the first one does, the merger knows. */
START_TEST(missing_switch_breaks_interval)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	put_switch(&run, 1120, 7, 6);
	put_switch(&run, 1150, 9, 8);
	put_switch(&run, 1160, 8, 4);
	put_switch(&run, 1170, 2, 3);
	(void)put_packet(&run, 1000, 1050, 1900);
	ck_assert_str_eq(describe(&run),
			 "1: ran 0 idle 0 unknown 10 gap; 5=t5 out@1100sp; 7=t7 in@1100 out@1120sp;"
			 " 6=t6 in@1120; 9=t9 out@1150sp; 8=t8 in@1150 out@1160sp;"
			 " 4=t4 in@1160; 2=t2 out@1170sp; 3=t3 in@1170\n"
			 "1100-1120 thread 7\n1120-1150 thread 6 broken\n"
			 "1160-1170 thread 4 broken\n"
			 "thread 5=t5 to 1100, thread 3 from 1170\n");
	ck_assert(run.chunk.partial->tail_is_doubted);
	run_fini(&run);
}
END_TEST

/* Under another name a tid has another group. */
START_TEST(name_changes_group)
{
	struct run run;
	char *comm;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	comm = (char *)run.bytes.at + 4 + 16 + 4 + 4 + 8;
	ck_assert_str_eq(comm, "t7");
	memcpy(comm, "old", 4);
	put_switch(&run, 1150, 7, 0);
	(void)put_packet(&run, 1000, 1050, 1900);
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; 5=t5 out@1100sp;"
					 " 7=old in@1100; 7=t7 out@1150sp\n"
					 "1100-1150 thread 7\n"
					 "thread 5=t5 to 1100, idle from 1150\n");
	run_fini(&run);
}
END_TEST

START_TEST(gap_ends_what_is_known)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	(void)put_packet(&run, 1000, 1050, 1200);
	put_thing(&run, 1320, THING, 1);
	put_switch(&run, 1350, 9, 8);
	put_packet(&run, 1200, 1300, 1900)->has_gap = true;
	ck_assert_str_eq(describe(&run),
			 "1: ran 0 idle 0 unknown 150 gap; 5=t5 out@1100sp; 7=t7 in@1100 gap@1200; "
			 "lost reset@1200 thing@1320+1 end@1350+1; 9=t9 out@1350sp;"
			 " 8=t8 in@1350\n"
			 "1100-1200 thread 7\n"
			 "thread 5=t5 to 1100, thread 8 from 1350\n");
	run_fini(&run);
}
END_TEST

START_TEST(gap_comes_before_any_switch)
{
	struct run run;
	const struct partial *partial;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_thing(&run, 1060, THING, 1);
	(void)put_packet(&run, 1000, 1050, 1200);
	put_packet(&run, 1200, 1300, 1900)->has_gap = true;
	ck_assert_str_eq(describe(&run),
			 "1: ran 0 idle 0 unknown 0 gap; initial thing@1060+1 end@1200+1;"
			 " initial gap@1200; lost reset@1200\n"
			 "gap to 1200, unknown from 1200\n");
	partial = run.chunk.partial;
	ck_assert_int_eq(partial->groups.at[partial->initial_group].key, KEY_INITIAL);
	ck_assert_uint_eq(partial->groups.at[partial->initial_group].ts, 1200);
	run_fini(&run);
}
END_TEST

/* The merger fills in who ran only where the chunk did not know. */
START_TEST(currents_are_of_initial_thread)
{
	struct run run;
	const struct partial *partial;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_thing(&run, 1060, THING, 1);
	put_switch(&run, 1100, 5, 7);
	put_thing(&run, 1160, THING, 2);
	(void)put_packet(&run, 1000, 1050, 1900);
	partial = decode(&run);
	ck_assert_uint_eq(partial->currents.count, 1);
	ck_assert_uint_eq(partial->currents.at[0].number, 0);
	ck_assert_int_eq(partial->records.at[partial->made.at[0]].arg32, -1);
	for (size_t i = 0; i < partial->records.count; i++) {
		if (partial->records.at[i].kind == OWN_THING && partial->records.at[i].arg64 == 2) {
			ck_assert_int_eq(partial->records.at[i].arg32, 7);
		}
	}
	run_fini(&run);
}
END_TEST

START_TEST(exec_goes_on_under_another_tid)
{
	struct run run;
	const struct partial *partial;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	put_exec(&run, 1130, "/bin/true", 6, 7);
	put_thing(&run, 1140, THING, 1);
	(void)put_packet(&run, 1000, 1050, 1900);
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; 5=t5 out@1100sp; 7=t7 in@1100;"
					 " 6=true exec@1130 on@1130 thing@1140+1 end@1140+1\n"
					 "1100-1130 thread 7\n"
					 "thread 5=t5 to 1100, thread 6 from 1130\n");
	partial = run.chunk.partial;
	ck_assert_uint_eq(partial->renames.count, 1);
	ck_assert_uint_eq(partial->renames.at[0].ts, 1130);
	ck_assert_int_eq(partial->renames.at[0].from, 7);
	ck_assert_int_eq(partial->renames.at[0].to, 6);
	run_fini(&run);
}
END_TEST

/* The name is the end of the path, in a group of its own; the leader keeps its tid. */
START_TEST(exec_changes_name)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	put_exec(&run, 1130, "/usr/bin/a-name-longer-than-comm", 7, 7);
	put_thing(&run, 1140, THING, 1);
	(void)put_packet(&run, 1000, 1050, 1900);
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; 5=t5 out@1100sp; 7=t7 in@1100;"
					 " 7=a-name-longer-t exec@1130 thing@1140+1 end@1140+1\n"
					 "thread 5=t5 to 1100, thread 7 from 1100\n");
	ck_assert_uint_eq(run.chunk.partial->renames.count, 0);
	run_fini(&run);
}
END_TEST

/* It is the first that the chunk tells of who runs. */
START_TEST(exec_names_initial_thread)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_exec(&run, 1130, "x", 6, 7);
	(void)put_packet(&run, 1000, 1050, 1900);
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; 6=x exec@1130 on@1130\n"
					 "thread 7 to 1130, thread 6 from 1130\n");
	run_fini(&run);
}
END_TEST

START_TEST(fork_begins_group)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	put_fork(&run, 1120, 7);
	(void)put_packet(&run, 1000, 1050, 1900);
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; 5=t5 out@1100sp;"
					 " 7=t7 in@1100; 7=t7 fork@1120\n"
					 "thread 5=t5 to 1100, thread 7 from 1100\n");
	run_fini(&run);
}
END_TEST

/* Another channel of the CPU: its switches are not those that count. */
START_TEST(stream_without_switches_knows_no_thread)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, false);
	put_switch(&run, 1100, 5, 7);
	put_thing(&run, 1140, THING, 1);
	(void)put_packet(&run, 1000, 1050, 1200);
	put_packet(&run, 1200, 1300, 1900)->has_gap = true;
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; initial thing@1140+1"
					 " end@1200+1 gap@1200\n"
					 "none, unknown from 1000\n");
	run_fini(&run);
}
END_TEST

/* ---- slices ---- */

static uint64_t tally(const struct partial *partial, size_t slice, uint32_t class)
{
	const struct slice *at = &partial->slices.at[slice];

	ck_assert_uint_lt(slice, partial->slices.count);
	for (uint32_t i = 0; i < at->tally_count; i++) {
		if (partial->tallies.at[at->tally_first + i].class_index == class) {
			return partial->tallies.at[at->tally_first + i].count;
		}
	}
	return 0;
}

START_TEST(window_ends_before_its_end)
{
	struct run run;
	const struct partial *partial;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_thing(&run, 1000, UNWANTED, 1);
	put_thing(&run, 1999, UNWANTED, 1);
	put_thing(&run, 2000, UNWANTED, 1);
	put_thing(&run, 2000, THING, 1);
	put_thing(&run, 5000, THING, 2);
	(void)put_packet(&run, 1000, 1000, 5000);
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0\n"
					 "2: ran 0 idle 0 unknown 0; initial thing@2000+1"
					 " end@2999+101\n"
					 "5: ran 0 idle 0 unknown 0; initial thing@5000+2"
					 " end@5000+1\n"
					 "none, unknown from 1000\n");
	partial = run.chunk.partial;
	ck_assert_uint_eq(tally(partial, 0, UNWANTED), 2);
	ck_assert_uint_eq(tally(partial, 0, THING), 0);
	ck_assert_uint_eq(tally(partial, 1, UNWANTED), 1);
	ck_assert_uint_eq(tally(partial, 1, THING), 1);
	ck_assert_uint_eq(tally(partial, 2, THING), 1);
	ck_assert_uint_eq(partial->slices.at[1].events, 2);
	ck_assert_uint_eq(partial->events, 5);
	ck_assert_uint_eq(partial->first_ts, 1000);
	ck_assert_uint_eq(partial->last_ts, 5000);
	run_fini(&run);
}
END_TEST

START_TEST(range_cuts_slices)
{
	struct run run;
	const struct partial *partial;

	run_init(&run, 1500, 2500);
	begin_chunk(&run, 1000, true);
	put_thing(&run, 1499, UNWANTED, 1);
	put_thing(&run, 1500, UNWANTED, 1);
	put_thing(&run, 1999, UNWANTED, 1);
	put_thing(&run, 2499, UNWANTED, 1);
	put_thing(&run, 2500, UNWANTED, 1);
	put_thing(&run, 9999, UNWANTED, 1);
	(void)put_packet(&run, 1000, 1000, 9999);
	partial = decode(&run);
	ck_assert_uint_eq(partial->slices.count, 4);
	ck_assert_int_eq(partial->slices.at[0].window, WINDOW_BEFORE);
	ck_assert_int_eq(partial->slices.at[1].window, 1);
	ck_assert_int_eq(partial->slices.at[2].window, 2);
	ck_assert_int_eq(partial->slices.at[3].window, WINDOW_AFTER);
	ck_assert_uint_eq(partial->slices.at[0].events, 1);
	ck_assert_uint_eq(partial->slices.at[1].events, 2);
	ck_assert_uint_eq(partial->slices.at[2].events, 1);
	ck_assert_uint_eq(partial->slices.at[3].events, 2);
	run_fini(&run);
}
END_TEST

/* Time goes neither back nor out of the packet. */
START_TEST(wrong_times_are_clamped)
{
	struct run run;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, false);
	put_thing(&run, 800, THING, 1);
	put_thing(&run, 1200, THING, 2);
	(void)put_packet(&run, 1000, 1050, 1100);
	put_thing(&run, 1150, THING, 3);
	(void)put_packet(&run, 1100, 1100, 1900);
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; initial thing@1000+1"
					 " thing@1100+2 thing@1150+3 end@1150+3\n"
					 "none, unknown from 1000\n");
	ck_assert_uint_eq(run.chunk.partial->slices.at[0].anomalies, 2);
	ck_assert_uint_eq(run.chunk.partial->first_anomaly, 0);
	run_fini(&run);
}
END_TEST

/* Losses are counted where the packet begins that tells of them, and nothing after that is older,
 * whatever it says. */
START_TEST(losses_are_counted_where_packet_begins)
{
	struct run run;
	const struct partial *partial;
	struct packet *packet;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, false);
	put_thing(&run, 1100, THING, 1);
	(void)put_packet(&run, 1000, 1050, 1200);
	put_thing(&run, 2500, THING, 2);
	put_thing(&run, 5100, THING, 3);
	packet = put_packet(&run, 1200, 5000, 5900);
	packet->has_gap = true;
	packet->discarded = 17;
	packet->lost_packets = 2;
	ck_assert_str_eq(describe(&run), "1: ran 0 idle 0 unknown 0; initial thing@1100+1"
					 " end@1200+1 gap@1200\n"
					 "5: ran 0 idle 0 unknown 0; initial thing@5000+2"
					 " thing@5100+3 end@5100+2\n"
					 "none, unknown from 1000\n");
	partial = run.chunk.partial;
	ck_assert_uint_eq(partial->slices.at[0].discarded, 0);
	ck_assert_uint_eq(partial->slices.at[1].discarded, 17);
	ck_assert_uint_eq(partial->slices.at[1].lost_packets, 2);
	ck_assert_uint_eq(partial->slices.at[1].anomalies, 1);
	run_fini(&run);
}
END_TEST

/* The merger frees a partial once it has passed that time. */
START_TEST(records_until_knows_last_gap)
{
	struct run run;
	const struct partial *partial;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, false);
	put_thing(&run, 1100, THING, 1);
	(void)put_packet(&run, 1000, 1050, 1200);
	put_thing(&run, 1350, THING, 1);
	(void)put_packet(&run, 1200, 1300, 1400);
	free(run.chunk.packets.at[1].bytes);
	run.chunk.packets.at[1].bytes = NULL; /* to be read from file -1 */
	partial = decode(&run);
	ck_assert_uint_eq(partial->last_ts, 1100);
	ck_assert_uint_eq(partial->records_until, 1200);
	run_fini(&run);
}
END_TEST

/* ---- keyed rows ---- */

static uint64_t keyed_count(const struct partial *partial, size_t slice, uint64_t id)
{
	const struct slice *at = &partial->slices.at[slice];
	const struct row_key key = row_key_of(id, "thing", 5);

	for (uint32_t i = 0; i < at->keyed_count; i++) {
		const struct slice_row *row = &partial->keyed_rows.at[at->keyed_first + i];

		if (row_key_equal(&row->key, &key)) {
			ck_assert_uint_eq(row->table, 0);
			return partial->numbers.at[row->numbers];
		}
	}
	return 0;
}

START_TEST(keyed_rows_are_of_slice)
{
	struct run run;
	const struct partial *partial;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_thing(&run, 1100, THING, 3);
	put_thing(&run, 1200, THING, 67);
	put_thing(&run, 1300, THING, 3);
	put_thing(&run, 2100, THING, 3);
	(void)put_packet(&run, 1000, 1050, 2900);
	partial = decode(&run);
	ck_assert_uint_eq(partial->slices.count, 2);
	ck_assert_uint_eq(partial->slices.at[0].keyed_count, 2);
	ck_assert_uint_eq(partial->slices.at[1].keyed_count, 1);
	ck_assert_uint_eq(keyed_count(partial, 0, 3), 2);
	ck_assert_uint_eq(keyed_count(partial, 0, 67), 1);
	ck_assert_uint_eq(keyed_count(partial, 1, 3), 1);
	ck_assert_uint_eq(keyed_count(partial, 1, 67), 0);
	run_fini(&run);
}
END_TEST

/* More groups than the table of places has room for at first. */
START_TEST(many_groups_are_found_again)
{
	enum { THREADS = 1000 };
	struct run run;
	const struct partial *partial;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 0, true);
	for (int32_t i = 0; i < 3 * THREADS; i++) {
		put_switch(&run, 10000 + (uint64_t)i / 4, i % THREADS + 1, (i + 1) % THREADS + 1);
	}
	(void)put_packet(&run, 0, 0, 90000);
	partial = decode(&run);
	ck_assert(!partial->tail_is_doubted);
	ck_assert_uint_eq(partial->slices.count, 1);
	ck_assert_uint_eq(partial->slices.at[0].group_count, THREADS);
	run_fini(&run);
}
END_TEST

/* ---- faults ---- */

START_TEST(broken_packet_is_gap_and_fault)
{
	struct run run;
	const struct partial *partial;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	put_header(&run, 1150, SWITCH); /* and no fields */
	(void)put_packet(&run, 1000, 1050, 1200);
	put_switch(&run, 1350, 7, 8);
	(void)put_packet(&run, 1200, 1300, 1900);
	ck_assert_str_eq(describe(&run),
			 "1: ran 0 idle 0 unknown 250 gap; 5=t5 out@1100sp; 7=t7 in@1100 gap@1100;"
			 " lost reset@1100; 7=t7 out@1350sp; 8=t8 in@1350\n"
			 "1100-1100 thread 7\n"
			 "thread 5=t5 to 1100, thread 8 from 1350\n");
	partial = run.chunk.partial;
	ck_assert_uint_eq(partial->faults.count, 1);
	ck_assert_uint_eq(partial->faults.at[0].packet, 0);
	ck_assert_uint_gt(strlen(partial->faults.at[0].text), 0);
	ck_assert_uint_eq(partial->slices.at[0].bad_packets, 1);
	ck_assert_uint_eq(partial->events, 2);
	run_fini(&run);
}
END_TEST

/* Its bytes cannot be read: the gap begins where the packet before ends, and is counted where the
 * packet begins. */
START_TEST(unreadable_packet_is_gap_and_fault)
{
	struct run run;
	const struct partial *partial;

	run_init(&run, 0, UINT64_MAX);
	begin_chunk(&run, 1000, true);
	put_switch(&run, 1100, 5, 7);
	(void)put_packet(&run, 1000, 1050, 1200);
	put_switch(&run, 2350, 7, 8);
	(void)put_packet(&run, 1200, 2300, 2900);
	free(run.chunk.packets.at[1].bytes);
	run.chunk.packets.at[1].bytes = NULL; /* to be read from file -1 */
	ck_assert_str_eq(describe(&run),
			 "1: ran 0 idle 0 unknown 0 gap; 5=t5 out@1100sp; 7=t7 in@1100 gap@1200;"
			 " lost reset@1200\n"
			 "2: ran 0 idle 0 unknown 0\n"
			 "1100-1200 thread 7\n"
			 "thread 5=t5 to 1100, unknown from 1200\n");
	partial = run.chunk.partial;
	ck_assert_uint_eq(partial->faults.count, 1);
	ck_assert_uint_eq(partial->faults.at[0].packet, 1);
	ck_assert_ptr_ne(strstr(partial->faults.at[0].text, "reading"), NULL);
	ck_assert_uint_eq(partial->slices.at[1].bad_packets, 1);
	ck_assert_uint_eq(partial->packets, 2);
	ck_assert_uint_eq(partial->end, 2900);
	run_fini(&run);
}
END_TEST

/* A partial depends on its chunk alone, not on what the worker has done before. */
START_TEST(chunks_are_independent)
{
	struct run run;
	char first[sizeof(run.text)];

	run_init(&run, 0, UINT64_MAX);
	for (unsigned int i = 0; i < 2; i++) {
		begin_chunk(&run, 1000, true);
		put_thing(&run, 1100, THING, 3);
		(void)put_packet(&run, 1000, 1050, 1900);
		(void)describe(&run);
		ck_assert_int_eq(run.chunk.partial->tail_tid, 0);
		ck_assert_uint_eq(run.chunk.partial->records_until, 1100);
		if (i == 0) {
			memcpy(first, run.text, sizeof(first));
		}
		begin_chunk(&run, 7000, true);
		put_switch(&run, 7100, 5, 7);
		put_thing(&run, 7150, THING, 3);
		(void)put_packet(&run, 7000, 7050, 7900);
		(void)decode(&run);
	}
	begin_chunk(&run, 1000, true);
	put_thing(&run, 1100, THING, 3);
	(void)put_packet(&run, 1000, 1050, 1900);
	ck_assert_str_eq(describe(&run), first);
	run_fini(&run);
}
END_TEST

Suite *suite_worker(void)
{
	Suite *suite = suite_create("worker");
	TCase *tcase = tcase_create("worker");

	tcase_add_test(tcase, first_switch_names_initial_thread);
	tcase_add_test(tcase, intervals_within_slice_are_whole);
	tcase_add_test(tcase, interval_across_windows_is_segment);
	tcase_add_test(tcase, left_before_first_packet);
	tcase_add_test(tcase, left_within_packet);
	tcase_add_test(tcase, missing_switch_breaks_interval);
	tcase_add_test(tcase, name_changes_group);
	tcase_add_test(tcase, gap_ends_what_is_known);
	tcase_add_test(tcase, gap_comes_before_any_switch);
	tcase_add_test(tcase, currents_are_of_initial_thread);
	tcase_add_test(tcase, exec_goes_on_under_another_tid);
	tcase_add_test(tcase, exec_changes_name);
	tcase_add_test(tcase, exec_names_initial_thread);
	tcase_add_test(tcase, fork_begins_group);
	tcase_add_test(tcase, stream_without_switches_knows_no_thread);
	tcase_add_test(tcase, window_ends_before_its_end);
	tcase_add_test(tcase, range_cuts_slices);
	tcase_add_test(tcase, wrong_times_are_clamped);
	tcase_add_test(tcase, losses_are_counted_where_packet_begins);
	tcase_add_test(tcase, records_until_knows_last_gap);
	tcase_add_test(tcase, keyed_rows_are_of_slice);
	tcase_add_test(tcase, many_groups_are_found_again);
	tcase_add_test(tcase, broken_packet_is_gap_and_fault);
	tcase_add_test(tcase, unreadable_packet_is_gap_and_fault);
	tcase_add_test(tcase, chunks_are_independent);
	suite_add_tcase(suite, tcase);
	return suite;
}
