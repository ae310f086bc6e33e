/*
 * jobs: see jobs.h; the phase of each thread (kernel/thread-phase.h), where executions begin and
 * end, and their figures.
 *
 * The time of a phase is added to the parts of what the thread executes when the phase ends, since
 * only then it is known which one it was: a wake-up shows that an unknown thread slept.
 */
#include "analyses/jobs/jobs.h"

#include "base/limits.h"

extern const struct analysis analysis_jobs;

/* ---- phases ---- */

/* Adds the time of the phase up to @ts to the execution. */
static void add_part(struct machine *machine, uint64_t since, uint64_t ts, enum phase phase)
{
	uint64_t begin = since > machine->begin ? since : machine->begin;

	if (machine->next > 0 && ts > begin) {
		machine->ns[jobs_part_of(phase)] += ts - begin;
	}
}

/* A phase that began at @since has ended; it was in fact @was. */
static void add_parts(struct shard *shard, struct executing *e, uint64_t since, enum phase was)
{
	if (e->phase.since > since) {
		e->ns[jobs_part_of(was)] += e->phase.since - since;
	}
	for (size_t j = 0; e->machines && j < jobs_asked(shard); j++) {
		add_part(&e->machines[j], since, e->phase.since, was);
	}
}

/* The thread ends at @ts, and so does what it executes. */
static void die(struct shard *shard, struct thread *thread, struct executing *e, uint64_t ts)
{
	for (size_t j = 0; e->machines && j < jobs_asked(shard); j++) {
		struct ordered *note;

		if (e->machines[j].next > 0) {
			note = shard_note_ordered(shard, thread, ts, NOTE_ABANDON);
			note->words[0] = j;
			note->words[1] = e->machines[j].begin;
			note->words[2] = jobs_within_open(shard, e, j);
		}
	}
	for (size_t j = 0; e->machines && j < jobs_asked(shard); j++) {
		e->machines[j].next = 0;
		e->machines[j].is_stepped = false;
	}
	e->slept = 0;
	(void)shard_note_ordered(shard, thread, ts, NOTE_DIED);
}

static void wake(struct shard *shard, struct thread *thread, struct executing *e,
		 const struct record *record)
{
	/* The wake-up of a new thread is what releases it. */
	const struct phase_wake wake = { .ts = record->ts,
					 .cpu = record->arg64,
					 .kind = (record->arg16 & WAKE_KIND) == WAKE_CONFIRMS
							 ? WAKE_CONFIRMS
							 : WAKE_SOURCE,
					 .is_tentative = record->arg16 & WAKE_TENTATIVE };
	enum phase was = e->phase.is_lost ? PHASE_UNKNOWN : PHASE_BLOCKED;
	uint64_t since = e->phase.since;

	if (thread_phase_wake(&e->phase, &wake) == WOKEN) {
		add_parts(shard, e, since, was);
		e->slept = record->ts;
		if (!(record->arg16 & WAKE_CALM)) {
			(void)shard_note_ordered(shard, thread, record->ts, NOTE_SLEPT);
		}
	}
}

/* ---- executions ---- */

/* The thread took another tid since it was looked at. */
static void note_tid(struct shard *shard, struct thread *thread, struct executing *e, uint64_t ts)
{
	int32_t tid = shard_tid(thread);

	if (e->tid != tid) {
		if (e->tid != 0) {
			shard_note_ordered(shard, thread, ts, NOTE_RENAMED)->words[0] =
				(uint64_t)e->tid;
		}
		e->tid = tid;
	}
}

static void begin_execution(struct shard *shard, struct thread *thread, const struct executing *e,
			    size_t job, uint64_t ts)
{
	struct machine *machine = &e->machines[job];
	struct ordered *note = shard_note_ordered(shard, thread, ts, NOTE_BEGIN);

	note->words[0] = job;
	/* It leaves its CPU to sleep, after it was woken (doc/definitions.md, 4.4). */
	note->words[1] = e->phase.has_pending && shard_sleeps_at(shard, thread, ts) ? ts : e->slept;
	note->words[2] =
		(machine->is_doubted ? BEGIN_DOUBTED : 0) | (machine->is_again ? BEGIN_AGAIN : 0);
	machine->is_doubted = machine->is_again = false;
	machine->begin = ts;
	memset(machine->ns, 0, sizeof(machine->ns));
}

_Static_assert(2 + PART_COUNT <= ORDERED_WORDS, "the parts fit an ordered event");

static void end_execution(struct shard *shard, struct thread *thread, const struct executing *e,
			  size_t job, uint64_t ts, uint64_t cpu)
{
	struct machine *machine = &e->machines[job];
	struct ordered *note = shard_note_ordered(shard, thread, ts, NOTE_END);

	add_part(machine, e->phase.since, ts, (enum phase)e->phase.phase);
	note->words[0] = job | (cpu + 1) << 8; /* 0: no CPU */
	note->words[1] = machine->begin;
	memcpy(note->words + 2, machine->ns, sizeof(machine->ns));
	machine->next = 0;
}

static void note_words(struct shard *shard, struct thread *thread, size_t job, size_t at,
		       uint64_t ts, const uint64_t *words)
{
	struct ordered *note = shard_note_ordered(shard, thread, ts, NOTE_WORDS);

	note->words[0] = job;
	note->words[1] = (uint64_t)(uintptr_t)words;
	note->words[2] = at;
}

/* The event meets a definition: the next one of the thread's execution? */
static void on_match(struct shard *shard, struct thread *thread, struct executing *e,
		     const struct record *record, const uint64_t *numbers)
{
	size_t job = record->arg16 / MATCH_DEFINITIONS, at = record->arg16 % MATCH_DEFINITIONS;
	size_t last = jobs_at(shard, job)->is->event_count - 1;
	bool has_words = jobs_has_words(jobs_at(shard, job), at);
	const uint64_t *words = has_words ? numbers + record->arg64 : NULL;
	struct machine *machine;

	if (!e->machines) {
		e->machine_count = (uint8_t)jobs_asked(shard);
		e->machines = mem_alloc(e->machine_count * sizeof(*e->machines));
	}
	machine = &e->machines[job];
	machine->is_stepped &= record->arg32 != 0;
	if (machine->is_stepped) {
		return; /* an event makes one step, but one that ends an execution may begin another
			 */
	}
	if (machine->next != at) {
		if (at == 0) {
			jobs_count_one(shard, job, NULL, OVERLAPPED);
			machine->is_again = true;
		}
		return;
	}
	machine->is_stepped = true;
	if (at == 0) {
		begin_execution(shard, thread, e, job, record->ts);
	}
	machine->next++;
	if (words) {
		note_words(shard, thread, job, at, record->ts, words);
	}
	if (at == last) {
		end_execution(shard, thread, e, job, record->ts,
			      words ? words[MATCH_CPU] : record->arg64);
		machine->is_stepped = false;
	}
}

/* ---- hooks ---- */

static void on_entity_record(struct shard *shard, const struct record *record,
			     const uint64_t *numbers, struct thread *cpu)
{
	static const uint8_t notes[] = {
		[OWN_SET] = NOTE_SET,     [OWN_EXPIRE] = NOTE_EXPIRE, [OWN_EXPIRED] = NOTE_EXPIRED,
		[OWN_WOKEN] = NOTE_WOKEN, [OWN_SIGNAL] = NOTE_SIGNAL, [OWN_LOST] = NOTE_LOST,
		[OWN_LABEL] = NOTE_LABEL, [OWN_STEP] = NOTE_STEP,     [OWN_NAME] = NOTE_NAME,
		[OWN_GAP] = NOTE_GAP,
	};
	struct ordered *note = shard_note_ordered(shard, cpu, record->ts, notes[record->kind]);

	switch (record->kind) {
	case OWN_SET:
		memcpy(note->words, numbers + record->arg64, 2 * sizeof(uint64_t));
		break;
	case OWN_EXPIRE:
		memcpy(note->words, numbers + record->arg64, 3 * sizeof(uint64_t));
		break;
	case OWN_LABEL:
		note->words[0] = record->arg16;
		note->words[1] = (uint64_t)(uintptr_t)(numbers + record->arg64);
		break;
	case OWN_STEP:
	case OWN_NAME:
		note->words[0] = (uint32_t)record->arg32;
		note->words[1] = (uint64_t)(uintptr_t)(numbers + record->arg64);
		note->words[2] = record->arg16;
		break;
	default:
		note->words[0] = (uint64_t)record->arg32;
		note->words[1] = record->arg64;
		break;
	}
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct executing *e = jobs_executing(shard, thread);

	if (record->kind == OWN_STEP_OF) {
		if (shard_tid(thread) > 0) {
			note_tid(shard, thread, e, record->ts);
		}
		jobs_across_note(shard, thread, record, numbers);
		return;
	}
	if (record->kind >= OWN_SET) {
		on_entity_record(shard, record, numbers, thread);
		return;
	}
	if (shard_tid(thread) <= 0) {
		return; /* nobody knows whose it is */
	}
	note_tid(shard, thread, e, record->ts);
	if (record->kind == OWN_MATCH) {
		on_match(shard, thread, e, record, numbers);
	} else {
		wake(shard, thread, e, record);
	}
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct executing *e = jobs_executing(shard, thread);
	enum phase was = (enum phase)e->phase.phase;
	uint64_t since = e->phase.since;

	note_tid(shard, thread, e, in->ts);
	thread_phase_in(&e->phase, in->ts, in->cpu);
	add_parts(shard, e, since, was);
}

static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct executing *e = jobs_executing(shard, thread);
	enum phase was = (enum phase)e->phase.phase;
	uint64_t since = e->phase.since;

	if (out->is_tie) {
		return;
	}
	thread_phase_out(&e->phase, out->ts, out->flags & RECORD_SLEEPS, out->flags & RECORD_DEAD);
	add_parts(shard, e, since, was);
	if (e->phase.phase == PHASE_DEAD) {
		die(shard, thread, e, out->ts);
	} else if (e->phase.phase == PHASE_WAIT) {
		e->slept = out->ts;
	}
}

static void on_fork(struct shard *shard, struct thread *thread, uint64_t ts)
{
	struct executing *e = jobs_executing(shard, thread);

	thread_phase_set(&e->phase, ts, PHASE_NEW);
	e->tid = shard_tid(thread);
	(void)shard_note_ordered(shard, thread, ts, NOTE_FORKED);
}

/* Where it leaves its CPU to end, on_switch_out() tells. */
static void on_end(struct shard *shard, struct thread *thread, uint64_t ts)
{
	const struct executing *e = jobs_executing(shard, thread);

	if (!thread_phase_runs(&e->phase) && shard_tid(thread) > 0) {
		(void)shard_note_ordered(shard, thread, ts, NOTE_FORKED);
	}
	if (shard_tid(thread) > 0 && jobs_any_within(shard_periods(shard))) {
		shard_note_ordered(shard, thread, ts, NOTE_OVER)->is_last = true;
	}
}

static void on_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		    enum seen how)
{
	struct executing *e = jobs_executing(shard, thread);
	enum phase was = (enum phase)e->phase.phase;
	uint64_t since = e->phase.since;

	note_tid(shard, thread, e, ts);
	if (thread_phase_seen(&e->phase, ts, cpu)) {
		add_parts(shard, e, since, was);
	}
}

/* In the gap, executions may have ended. */
static void cut(struct shard *shard, struct thread *thread, const struct executing *e, uint64_t ts)
{
	unsigned int what = !shard_is_joined(shard)         ? MISSING_ANY
			    : shard_source_is_beside(shard) ? MISSING_BESIDE
							    : MISSING_KERNEL;

	for (size_t j = 0; e->machines && j < jobs_asked(shard); j++) {
		if (!jobs_may_miss(jobs_at(shard, j), what)) {
			continue;
		}
		e->machines[j].is_doubted = true;
		if (e->machines[j].next > 0) {
			e->machines[j].next = 0;
			jobs_count_dropped(shard, j, &e->machines[j].items, CUT);
			if (jobs_at(shard, j)->is_around) {
				shard_note_ordered(shard, thread, ts, NOTE_CUT)->words[0] = j;
			}
		}
	}
}

static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct executing *e = jobs_executing(shard, thread);

	if (what & DOUBT_SWITCHES) {
		thread_phase_lose(&e->phase);
	}
	if (what & DOUBT_EVENTS) {
		cut(shard, thread, e, ts);
	}
	if ((what & DOUBT_HOLE) && shard_tid(thread) < 0) {
		(void)shard_note_ordered(shard, thread, ts, NOTE_LOSE);
	} else if (what & DOUBT_HOLE) {
		e->phase.is_lost = true;
		e->slept = 0;
	}
}

/* ---- windows ---- */

static void free_machines(struct executing *e)
{
	for (size_t j = 0; e->machines && j < e->machine_count; j++) {
		labels_items_fini(&e->machines[j].items);
		free(e->machines[j].counters);
	}
	free(e->machines);
	e->machines = NULL;
}

static void end_thread(struct shard *shard, struct thread *thread, struct executing *e)
{
	for (size_t j = 0; e->machines && j < jobs_asked(shard); j++) {
		struct machine *machine = &e->machines[j];

		if (machine->next > 0 && jobs_within_open(shard, e, j)) {
			if (jobs_at(shard, j)->within >= 0) {
				jobs_count_follow(jobs_at(shard, j), machine, machine->begin,
						  &machine->doubts);
			}
			jobs_count_abandoned(shard, machine, j, shard_end_ts(shard, thread));
		}
	}
	free_machines(e);
	*e = (struct executing){ .phase.phase = PHASE_DEAD, .tid = e->tid };
}

/* Of one that lies in another: what its arrival is if it counts. */
static void count_open_inner(struct shard *shard, const struct executing *e, size_t job,
			     uint64_t end)
{
	const struct job_spec *spec = jobs_at(shard, job);
	struct machine machine = e->machines[job];
	bool counts = spec->is_joined
			      ? jobs_within_any_open(shard_trace_state(shard), spec, machine.begin)
			      : jobs_within_open(shard, e, job);

	if (!counts) {
		jobs_count_none(shard, job, &machine.items);
		return;
	}
	jobs_count_follow(spec, &machine, machine.begin, &machine.doubts);
	jobs_count_open(shard, job, &machine.items,
			&(struct jobs_open){ &machine.arrival, machine.begin, spec->period_ns },
			end);
}

static void on_window_end(struct shard *shard, struct thread *thread, uint64_t end)
{
	struct executing *e = jobs_executing(shard, thread);

	if (shard_is_dead(thread)) {
		end_thread(shard, thread, e);
		return;
	}
	for (size_t j = 0; e->machines && j < jobs_asked(shard); j++) {
		const struct machine *machine = &e->machines[j];

		if (machine->next > 0 && jobs_at(shard, j)->within >= 0) {
			count_open_inner(shard, e, j, end);
		} else if (machine->next > 0) {
			jobs_count_open(shard, j, &machine->items,
					&(struct jobs_open){ &machine->arrival, machine->begin,
							     machine->cadence.nominal },
					end);
		}
	}
}

static void on_forget(void *state)
{
	free_machines(state);
}

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch"), { [PARTS] = ALL_COLUMNS } },
	{ ANY_EVENT(WAKE_SOURCES), { [PARTS] = COLUMN(PART_WAITING) | COLUMN(PART_BLOCKED) } },
	/* When executions arrive: jobs_needs_essential(). */
	{ ANY_EVENT(WAKE_SOURCES),
	  { [TOTALS] = COLUMN(SKIPPED),
	    [BY_JOB] = COLUMN(SKIPPED) | COLUMN(JOB_RESPONSE) | COLUMN(JOB_LATE),
	    [THREADS] = COLUMN(THREAD_RESPONSE),
	    [WORST] = COLUMN(WORST_LATE) } },
	{ ANY_EVENT("timer_hrtimer_expire_entry", "hrtimer_expire_entry"),
	  { [TOTALS] = COLUMN(SKIPPED), [BY_JOB] = COLUMN(SKIPPED) } },
};

#define OF_THREADS                                                                                 \
	.sort_mask = 1u << THREAD_DURATION, .columns = {                                           \
		[THREAD_DURATION] = { "duration", "EXECUTIONS", UNIT_NS, COLUMN_HISTOGRAM },       \
		[THREAD_RESPONSE] = { "response", "RESPONSES", UNIT_NS, COLUMN_HISTOGRAM },        \
		[THREAD_MISSES] = { "misses", "MISSES", UNIT_COUNT },                              \
	}

const struct analysis analysis_jobs = {
	.name = "jobs",
	.summary = "executions of what --job names: durations, responses, missed deadlines",
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct jobs_worker),
	.thread_state_size = sizeof(struct executing),
	.trace_state_size = sizeof(struct jobs_trace),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[MISSES] = { "misses", "missed", UNIT_COUNT },
				[MISSES_RUN] = { "misses_run", "in a row", UNIT_COUNT, COLUMN_MAX },
				[SKIPPED] = { "skipped", "skipped", UNIT_COUNT },
				[UNARRIVED] = { "unarrived", NULL, UNIT_COUNT },
				[ABANDONED] = { "abandoned", NULL, UNIT_COUNT },
				[CUT] = { "cut", "cut", UNIT_COUNT },
				[OVERLAPPED] = { "overlapped", "overlapped", UNIT_COUNT },
				[DROPPED] = { "dropped", "dropped", UNIT_COUNT },
				[OPEN] = { "open", "open", UNIT_COUNT, COLUMN_LAST },
				[OPEN_MISSES] = { "open_misses", NULL, UNIT_COUNT, COLUMN_LAST },
				[ALL_ENDED] = { "ended", "ended", UNIT_COUNT },
				[ALL_OLDEST_NS] = { "oldest_ns", "oldest", UNIT_NS, COLUMN_LAST_MAX },
				[ALL_FORGOTTEN] = { "names_forgotten", NULL, UNIT_COUNT },
			},
		},
		[BY_JOB] = {
			.key = "jobs",
			.scope = SCOPE_KEYED,
			.name_key = "name",
			.title = "JOB",
			.sort_mask = 1u << JOB_DURATION,
			.columns = {
				[MISSES] = { "misses", "MISSED", UNIT_COUNT },
				[MISSES_RUN] = { "misses_run", "IN A ROW", UNIT_COUNT, COLUMN_MAX },
				[SKIPPED] = { "skipped", "SKIPPED", UNIT_COUNT },
				[UNARRIVED] = { "unarrived", NULL, UNIT_COUNT },
				[ABANDONED] = { "abandoned", NULL, UNIT_COUNT },
				[CUT] = { "cut", NULL, UNIT_COUNT },
				[OVERLAPPED] = { "overlapped", NULL, UNIT_COUNT },
				[DROPPED] = { "dropped", NULL, UNIT_COUNT },
				[OPEN] = { "open", NULL, UNIT_COUNT, COLUMN_LAST },
				[OPEN_MISSES] = { "open_misses", NULL, UNIT_COUNT, COLUMN_LAST },
				[JOB_DURATION] = { "duration", "EXECUTIONS", UNIT_NS, COLUMN_HISTOGRAM },
				[JOB_RESPONSE] = { "response", "RESPONSES", UNIT_NS, COLUMN_HISTOGRAM },
				[JOB_LATE] = { "late", "LATE", UNIT_NS, COLUMN_HISTOGRAM },
				[JOB_PERIOD] = { "period", "PERIODS", UNIT_NS, COLUMN_HISTOGRAM },
				[JOB_JITTER] = { "period_jitter", "JITTERS", UNIT_NS,
						 COLUMN_HISTOGRAM },
			},
		},
		[PARTS] = {
			.key = "parts",
			.scope = SCOPE_KEYED,
			.name_key = "name",
			.title = "MEAN PARTS OF EXECUTIONS",
			.shows_means = true,
			.sort_mask = (1u << PART_COUNT) - 1,
			.columns = {
				[PART_RUNNING] = { "running", "RUNNING", UNIT_NS, COLUMN_HISTOGRAM },
				[PART_PREEMPTED] = { "preempted", "PREEMPTED", UNIT_NS, COLUMN_HISTOGRAM },
				[PART_WAITING] = { "waiting", "WAITING", UNIT_NS, COLUMN_HISTOGRAM },
				[PART_BLOCKED] = { "blocked", "BLOCKED", UNIT_NS, COLUMN_HISTOGRAM },
				[PART_UNKNOWN] = { "unknown", "UNKNOWN", UNIT_NS, COLUMN_HISTOGRAM,
						   .rest = REST_ALL },
			},
		},
		[THREADS] = { .key = "threads", .scope = SCOPE_THREAD, OF_THREADS },
		[PROCESSES] = { .key = "processes", .scope = SCOPE_PROCESS, OF_THREADS },
		[WORST] = {
			.key = "worst",
			.scope = SCOPE_LONGEST,
			.name_key = "name",
			.by_key = "by",
			.title = "WORST EXECUTIONS",
			.columns = {
				[WORST_RESPONSE] = { "ns", "RESPONSE", UNIT_NS },
				[WORST_DURATION] = { "duration_ns", "DURATION", UNIT_NS },
				[WORST_LATE] = { "late_ns", "LATE", UNIT_NS },
			},
		},
		[DIFFERENCES] = { COUNTERS_TABLE },
	},
	.on_record = on_record,
	.accepts = jobs_accepts,
	.on_checkpoint = jobs_checkpoint,
	.on_trace_checkpoint = jobs_count_checkpoint,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.on_fork = on_fork,
	.on_seen = on_seen,
	.on_doubt = on_doubt,
	.on_window_end = on_window_end,
	.on_forget = on_forget,
	.on_ordered = jobs_count_ordered,
	.on_trace_forget = jobs_count_forget,
	.rare = &(const struct analysis_rare){
		.needs_of = jobs_worker_needs_of,
		.missing_of = jobs_missing_of,
		.needs_essential = jobs_needs_essential,
		.is_asked = jobs_is_asked,
		.label_of = jobs_count_label_of,
		.on_lost = jobs_worker_lost,
		.on_end = on_end,
		.on_ordered_hole = jobs_across_hole,
		.on_ordered_window_end = jobs_across_window_end,
	},
};
