/*
 * merger-fixture: see merger-fixture.h.
 */
#include "engine/merger-fixture.h"
#include "engine/contract/untrusted.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- the analysis ---- */

static struct {
	char text[4096], shown[4096];
	size_t length;
} log_;
static struct fixture *current; /* analyses have no user pointer */

static __attribute__((format(printf, 1, 2))) void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_.length += (size_t)vsnprintf(log_.text + log_.length, sizeof(log_.text) - log_.length,
					 fmt, args);
	va_end(args);
	ck_assert_uint_lt(log_.length, sizeof(log_.text));
}

const char *fixture_log(void)
{
	memcpy(log_.shown, log_.text, log_.length + 1);
	log_.text[0] = 0;
	log_.length = 0;
	return log_.shown;
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	uint64_t *count = shard_thread_state(shard, thread);

	(*count)++;
	switch (record->kind) {
	case RECORD_SAY:
		say("rec %d %" PRIu64 " %" PRIu64 "\n", thread->view.tid, record->ts,
		    record->arg64);
		break;
	case RECORD_ORDER:
		shard_note_ordered(shard, thread, record->ts, 0)->words[0] = record->arg64;
		break;
	case RECORD_CURRENT:
		say("current %d %" PRIu64 "\n", record->arg32, record->ts);
		break;
	case RECORD_COUNT:
		say("count %d %" PRIu64 "\n", thread->view.tid, *count);
		break;
	default:
		current->sum += record->arg64;
		break;
	}
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	say("in %d %" PRIu64 "\n", thread->view.tid, in->ts);
}

static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	say("out %d %" PRIu64 "%s\n", thread->view.tid, out->ts, out->is_tie ? " tie" : "");
}

static void on_run(struct shard *shard, struct thread *thread, const struct run_part *part)
{
	say("run %d %" PRIu64 "\n", thread->view.tid, part->ns);
}

static void on_fork(struct shard *shard, struct thread *thread, uint64_t ts)
{
	say("fork %d %" PRIu64 "\n", thread->view.tid, ts);
}

static void on_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		    enum seen how)
{
	if (how == SEEN_FIRST) {
		say("initial %d %s\n", thread->view.tid, thread->view.comm);
	}
}

static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	if (what & DOUBT_EVENTS) {
		say("gap %d\n", thread->view.tid);
	}
}

static void on_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	uint64_t *count = state;

	(*count)++;
	say("ordered %d %" PRIu64 " %" PRIu64 "\n", ordered->thread->view.tid, ordered->ts,
	    ordered->words[0]);
}

static void on_trace_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	codec_u64(checkpoint->codec, state);
}

static void on_cpu(struct shard *shard, struct cpu *cpu, enum run_kind kind, uint64_t ns)
{
	current->cpu_ns[kind] += ns;
}

static void on_slice(struct shard *shard, const struct slice *slice,
		     const struct stream_identity *stream, uint64_t late_events)
{
	current->slices++;
	current->late += late_events;
}

static void on_tally(struct shard *shard, uint32_t event_name, uint64_t count)
{
	current->tallied += count;
}

static const struct analysis teller = {
	.name = "teller",
	.summary = "Tells what it is called with",
	.tables = { { .scope = SCOPE_TRACE, .columns = { { .key = "none", .title = "None" } } } },
	.uses_threads = true,
	.thread_state_size = sizeof(uint64_t),
	.trace_state_size = sizeof(uint64_t),
	.on_record = on_record,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.on_fork = on_fork,
	.on_seen = on_seen,
	.on_doubt = on_doubt,
	.on_ordered = on_ordered,
	.on_trace_checkpoint = on_trace_checkpoint,
	.rare = &(const struct analysis_rare){ .on_run = on_run,
					       .on_cpu = on_cpu,
					       .on_slice = on_slice,
					       .on_tally = on_tally },
};

/* ---- the host ---- */

static void emit(void *user, const struct report *report)
{
	struct fixture *fixture = user;

	*vec_push(&fixture->reports) =
		(struct fixture_report){ .kind = report->kind,
					 .begin = report->begin,
					 .end = report->end,
					 .events = report->events,
					 .late_events = report->lost.of[LOSS_LATE],
					 .complete = report->complete };
}

static void submit(void *user, struct job *job)
{
	struct fixture *fixture = user;

	*vec_push(&fixture->jobs) = job;
}

void fixture_run_jobs(struct fixture *fixture)
{
	while (fixture->jobs.count > 0) {
		struct job *job = fixture->jobs.at[--fixture->jobs.count];

		job->run(job, NULL);
		fixture->jobs_run++;
		merger_task_done(job->user);
	}
}

static void wait_jobs(void *user)
{
	fixture_run_jobs(user);
}

void fixture_init(struct fixture *fixture)
{
	struct setup *setup = &fixture->setup;
	const struct merger_host host = { .user = fixture,
					  .emit = emit,
					  .submit = submit,
					  .wait = wait_jobs,
					  .tasks_max = fixture->tasks_max };

	current = fixture;
	(void)fixture_log();
	setup->analyses[setup->analysis_count++] = &teller;
	setup->interval_ns = WINDOW_NS;
	setup->wants_windows = true;
	setup->range_end = setup->range_end ? setup->range_end : UINT64_MAX;
	setup_init(setup, NULL, 0);
	fixture->merger = merger_new(setup, &host);
	merger_add_class(fixture->merger, "event");
}

void fixture_fini(struct fixture *fixture)
{
	merger_free(fixture->merger);
	setup_fini(&fixture->setup);
	vec_fini(&fixture->jobs);
	vec_fini(&fixture->reports);
}

const struct fixture_report *fixture_last(const struct fixture *fixture)
{
	ck_assert_uint_gt(fixture->reports.count, 0);
	return &fixture->reports.at[fixture->reports.count - 1];
}

struct merger_stream *fixture_stream(struct fixture *fixture, uint64_t class_id, uint64_t cpu_id,
				     bool has_switches)
{
	struct merger_stream *stream = merger_stream_new(fixture->merger);

	merger_stream_identify(stream, &(struct stream_identity){ .class_id = class_id,
								  .cpu_id = cpu_id,
								  .has_switches = has_switches });
	return stream;
}

/* ---- partials ---- */

struct maker maker_start(uint64_t begin, uint64_t end)
{
	struct maker maker = { .partial = partial_new(), .draft = partial_new() };

	maker.partial->begin = maker.partial->covered_from = begin;
	maker.partial->end = maker.partial->covered_until = end;
	maker.partial->tail = RUN_UNKNOWN;
	return maker;
}

/* The slice's newest group of @key. */
static uint32_t group_of(struct partial *draft, int64_t key)
{
	for (size_t i = draft->groups.count; i-- > 0;) {
		if (draft->groups.at[i].key == key) {
			return (uint32_t)i;
		}
	}
	return partial_add_group(draft, key);
}

struct record *maker_add(struct maker *maker, int64_t key, uint64_t ts, unsigned int kind,
			 uint64_t arg64)
{
	struct partial *draft = maker->draft;
	uint32_t index =
		partial_add_record(draft, group_of(draft, key), ts, (enum record_kind)kind);

	draft->records.at[index].arg64 = arg64;
	if (ts > maker->partial->records_until) {
		maker->partial->records_until = ts;
	}
	return &draft->records.at[index];
}

void maker_new_group(struct maker *maker, int64_t key)
{
	(void)partial_add_group(maker->draft, key);
}

void maker_run(struct maker *maker, int64_t key, uint64_t ts, uint64_t ns)
{
	maker_add(maker, key, ts, RECORD_IN, ns)->arg16 = RECORD_LEFT | RECORD_PRIO;
}

void maker_current(struct maker *maker, uint64_t ts)
{
	*vec_push(&maker->partial->currents) = (struct current){
		.number = (uint32_t)(maker->partial->made.count + maker->draft->records.count),
		.limits = { WAKE_NEVER, WAKE_NEVER },
	};
	(void)maker_add(maker, KEY_NOBODY, ts, RECORD_CURRENT, 0);
}

void maker_slice(struct maker *maker, int64_t window, uint64_t events)
{
	struct partial *partial = maker->partial;
	struct slice slice = { .window = window,
			       .events = events,
			       .tally_first = (uint32_t)partial->tallies.count,
			       .tally_count = events > 0,
			       .chains = RECORD_NONE };

	if (events > 0) {
		*vec_push(&partial->tallies) = (struct tally){ .count = events };
	}
	partial_take_slice(partial, &slice, maker->draft, 0, (uint32_t)maker->draft->groups.count);
	if (partial->initial == INITIAL_GAP && partial->slices.count == 0) {
		partial->initial_group = maker->draft->groups.at[partial->initial_group].next;
	}
	partial_take_order(partial, maker->draft);
	*vec_push(&partial->slices) = slice;
	partial->events += events;
}

void maker_initial(struct maker *maker, uint64_t ts, int32_t tid, const char *name)
{
	struct partial *partial = maker->partial;

	partial->initial = INITIAL_THREAD;
	partial->initial_ts = ts;
	partial->initial_tid = tid;
	if (name) {
		partial->initial_has_prio = true;
		(void)snprintf(partial->initial_name, NAME_BYTES, "%s", name);
	}
	maker_tail(maker, ts, tid);
}

void maker_initial_gap(struct maker *maker, uint64_t ts)
{
	maker->partial->initial = INITIAL_GAP;
	maker->partial->initial_ts = ts;
	maker_new_group(maker, KEY_INITIAL);
	(void)maker_add(maker, KEY_INITIAL, ts, RECORD_GAP, 0);
	maker->partial->initial_group = group_of(maker->draft, KEY_INITIAL);
	maker_tail(maker, ts, -1);
}

void maker_tail(struct maker *maker, uint64_t ts, int32_t tid)
{
	struct partial *partial = maker->partial;

	partial->tail = tid > 0 ? RUN_THREAD : tid == 0 ? RUN_IDLE : RUN_UNKNOWN;
	partial->tail_tid = tid;
	partial->tail_ts = ts;
	if (ts > partial->records_until) {
		partial->records_until = ts;
	}
}

struct partial *maker_done(struct maker *maker)
{
	struct partial *partial = maker->partial;

	ck_assert_uint_eq(maker->draft->records.count, 0);
	if (partial->events > 0) {
		partial->first_ts = partial->begin;
		partial->last_ts = partial->end;
	}
	partial_free(maker->draft);
	*maker = (struct maker){ 0 };
	return partial;
}

void maker_take(struct maker *maker, struct merger_stream *stream)
{
	merger_take(stream, merger_stream_submitted(stream), maker_done(maker));
}

void fixture_take(struct merger_stream *stream, uint64_t begin, uint64_t end, uint64_t events)
{
	struct maker maker = maker_start(begin, end);

	maker_slice(&maker, (int64_t)(begin / WINDOW_NS), events);
	maker_take(&maker, stream);
}
