/*
 * path: see path.h.
 */
#include "deep/path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* The part of a thread that is still to be explained: [low, until), from its end backward. */
struct path_frame {
	uint32_t thread;
	uint64_t low, until;
};

struct path_finder {
	bool goes_back; /* past the birth of the explained thread */
	const struct timeline *timeline;
	struct path *path; /* its segments are in reverse order until the end */
	VEC(struct path_frame) frames;
};

/* Adds [begin, until) before all present segments, or makes the first of these longer. */
static void add(struct path_finder *finder, const struct path_frame *frame, uint64_t begin,
		const struct interval *interval)
{
	struct path *path = finder->path;
	struct path_segment segment = {
		.begin = begin,
		.end = frame->until,
		.thread = frame->thread,
		.cpu = interval ? interval->cpu : NO_CPU,
		.state = interval ? interval->state : STATE_UNKNOWN,
		.cause = interval ? interval->cause : CAUSE_NONE,
	};
	struct path_segment *before =
		path->segments.count > 0 ? &path->segments.at[path->segments.count - 1] : NULL;

	assert(begin < frame->until);
	assert(!before || before->begin == segment.end);
	segment.state = timeline_state_runs(segment.state) ? STATE_USER : segment.state;
	if (before && before->thread == segment.thread && before->state == segment.state &&
	    before->cause == segment.cause && before->cpu == segment.cpu) {
		before->begin = begin;
	} else {
		*vec_push(&path->segments) = segment;
	}
}

/* Explains the last interval of the top frame. */
static void step(struct path_finder *finder)
{
	struct path_frame *frame = &finder->frames.at[finder->frames.count - 1];
	const struct deep_thread *thread = finder->timeline->threads.at[frame->thread];
	size_t i = timeline_thread_before(thread, frame->until);
	const struct interval *interval = i == SIZE_MAX ? NULL : &thread->intervals.at[i];
	uint64_t begin;

	if (!interval) {
		if (thread->was_born && thread->birth == frame->until && thread->parent != NOBODY &&
		    (finder->frames.count > 1 || finder->goes_back)) {
			frame->thread = thread->parent;
			return;
		}
		add(finder, frame, frame->low, NULL);
		frame->until = frame->low;
		return;
	}
	begin = interval->begin > frame->low ? interval->begin : frame->low;
	/* A chain of wakers longer than the number of threads is a cycle: the sleep stays. */
	if (interval->state == STATE_BLOCKED && interval->cause == CAUSE_TASK &&
	    timeline_thread_until(thread, i) <= frame->until &&
	    finder->frames.count <= finder->timeline->threads.count) {
		assert(interval->who < finder->timeline->threads.count);
		struct path_frame inner = { .thread = interval->who,
					    .low = begin,
					    .until = frame->until };

		frame->until = begin;
		*vec_push(&finder->frames) = inner;
		return;
	}
	add(finder, frame, begin, interval);
	frame->until = begin;
}

static void reverse(struct path *path)
{
	size_t count = path->segments.count;

	for (size_t i = 0; i < count / 2; i++) {
		struct path_segment swapped = path->segments.at[i];

		path->segments.at[i] = path->segments.at[count - 1 - i];
		path->segments.at[count - 1 - i] = swapped;
	}
}

/* add() asserts that segments are adjacent. */
static void check_tiles(const struct path *path)
{
	size_t count = path->segments.count;

	assert((count == 0) == (path->begin == path->end));
	assert(count == 0 || path->segments.at[0].begin == path->begin);
	assert(count == 0 || path->segments.at[count - 1].end == path->end);
}

static void find(struct path_finder finder, uint32_t thread, uint64_t begin, uint64_t end)
{
	const struct deep_thread *of = finder.timeline->threads.at[thread];
	struct path *path = finder.path;

	memset(path, 0, sizeof(*path));
	begin = begin < of->birth && !(finder.goes_back && of->was_born) ? of->birth : begin;
	end = end > of->end ? of->end : end;
	path->begin = begin;
	path->end = end > begin ? end : begin;
	*vec_push(&finder.frames) =
		(struct path_frame){ .thread = thread, .low = begin, .until = path->end };
	while (finder.frames.count > 0) {
		const struct path_frame *frame = &finder.frames.at[finder.frames.count - 1];

		if (frame->until <= frame->low) {
			finder.frames.count--;
		} else {
			step(&finder);
		}
	}
	vec_fini(&finder.frames);
	reverse(path);
	check_tiles(path);
}

void path_find(const struct timeline *timeline, uint32_t thread, uint64_t begin, uint64_t end,
	       struct path *path)
{
	find((struct path_finder){ .timeline = timeline, .path = path }, thread, begin, end);
}

void path_find_back(const struct timeline *timeline, uint32_t thread, uint64_t begin, uint64_t end,
		    struct path *path)
{
	find((struct path_finder){ .timeline = timeline, .path = path, .goes_back = true }, thread,
	     begin, end);
}

void path_fini(struct path *path)
{
	vec_fini(&path->segments);
}

/* ---- parts ---- */

HASH_MAP(places, uint32_t)

ORDER(by_total, struct path_part, DOWN(total) UP(thread))

void path_sum(const struct path *path, struct path_parts *parts)
{
	struct places places = { 0 };

	memset(parts, 0, sizeof(*parts));
	VEC_EACH(&path->segments, segment) {
		uint64_t ns = segment->end - segment->begin;
		bool is_new;
		uint32_t *at = places_put(&places, segment->thread, &is_new);
		struct path_part *part;

		if (is_new) {
			*at = (uint32_t)parts->at.count;
			*vec_push(&parts->at) = (struct path_part){ .thread = segment->thread };
		}
		part = &parts->at.at[*at];
		part->ns[segment->state] += ns;
		part->total += ns;
	}
	places_fini(&places);
	vec_sort(&parts->at, by_total);
}

/* ---- rivals ---- */

const char *path_inversion_name(enum inversion kind)
{
	static const char *const names[INVERSIONS] = {
		[INVERSION_DIRECT] = "direct",
		[INVERSION_UNBOUNDED] = "unbounded",
		[INVERSION_DISPATCH] = "dispatch",
	};

	assert(kind < INVERSIONS);
	return names[kind];
}

const char *path_wait_name(enum wait wait)
{
	static const char *const names[WAITS] = {
		[WAIT_CPU] = "cpu",     [WAIT_LOCK] = "lock",   [WAIT_EXECUTION] = "execution",
		[WAIT_REPLY] = "reply", [WAIT_OTHER] = "other",
	};

	assert(wait < WAITS);
	return names[wait];
}

struct path_search {
	const struct timeline *timeline;
	uint32_t thread; /* the explained thread */
	const struct path *path;
	const struct path_spans *work; /* its executions; NULL: unknown */
	struct rivals *rivals;
	struct places places; /* index into rivals.at, by thread */
	uint64_t judged;      /* the begin of the last wait of which is_reply() was asked ... */
	bool is_reply;        /* ... and its answer */
};

static const struct deep_thread *thread_at(const struct path_search *search, uint32_t index)
{
	return search->timeline->threads.at[index];
}

/* How much less urgent @thread is than @than; negative: more urgent; INT64_MIN: unknown. */
static int64_t less_urgent(const struct path_search *search, uint32_t thread, uint32_t than,
			   uint64_t ts)
{
	const struct prio_change *a = timeline_thread_prio(thread_at(search, thread), ts);
	const struct prio_change *b = timeline_thread_prio(thread_at(search, than), ts);

	return a && b ? (int64_t)a->prio - b->prio : INT64_MIN;
}

static bool is_real_time(const struct path_search *search, uint32_t thread, uint64_t ts)
{
	const struct prio_change *prio = timeline_thread_prio(thread_at(search, thread), ts);

	return prio && prio->prio < 0;
}

/* The first of the thread's executions that ends after @ts; NULL: none does. */
static const struct path_span *span_at(const struct path_spans *work, uint64_t ts)
{
	size_t low = 0, high = work ? work->at.count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (work->at.at[middle].end <= ts) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return work && low < work->at.count ? &work->at.at[low] : NULL;
}

/* When the thread last began to be runnable before interval @i, a sleep: what it did since then may
 * have been a request. */
static uint64_t awake_since(const struct deep_thread *thread, size_t i)
{
	while (i > 0 && thread->intervals.at[i - 1].state != STATE_BLOCKED &&
	       thread->intervals.at[i - 1].state != STATE_UNKNOWN) {
		i--;
	}
	return thread->intervals.at[i].begin;
}

/* Whether @of was woken by the explained thread between @from and @until. */
static bool was_asked(const struct path_search *search, uint32_t of, uint64_t from, uint64_t until)
{
	const struct deep_thread *thread = thread_at(search, of);
	size_t i = timeline_thread_before(thread, until);

	for (; i != SIZE_MAX && thread->intervals.at[i].begin >= from; i--) {
		const struct interval *interval = &thread->intervals.at[i];

		if (interval->state == STATE_WAIT && interval->cause == CAUSE_TASK &&
		    interval->who == search->thread) {
			return true;
		}
	}
	return false;
}

static size_t segment_at(const struct path *path, uint64_t ts)
{
	size_t low = 0, high = path->segments.count;

	while (low < high) { /* finds the first one that ends after @ts */
		size_t middle = low + (high - low) / 2;

		if (path->segments.at[middle].end <= ts) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/*
 * Whether the sleep, interval @i of the explained thread, ends by the work of a thread that it has
 * woken since it was awake: the wake-ups that end it, which the path follows, lead there.
 *
 *     W   ── wakes U ── blocked ─────────────────────── run
 *                       └─ U: wait ─ run ─ wakes K ─ K: run ─ wakes W
 */
static bool is_reply(struct path_search *search, const struct deep_thread *thread, size_t i)
{
	uint64_t begin = thread->intervals.at[i].begin, end = timeline_thread_until(thread, i);
	const struct path *path = search->path;
	struct places asked = { 0 };
	uint64_t since;
	bool is_new;

	if (search->judged == begin) {
		return search->is_reply;
	}
	search->judged = begin;
	search->is_reply = false;
	since = awake_since(thread, i);
	for (size_t k = segment_at(path, begin);
	     !search->is_reply && k < path->segments.count && path->segments.at[k].begin < end;
	     k++) {
		uint32_t on_path = path->segments.at[k].thread;

		(void)places_put(&asked, on_path, &is_new);
		search->is_reply = is_new && on_path != search->thread &&
				   was_asked(search, on_path, since, end);
	}
	places_fini(&asked);
	return search->is_reply;
}

/* What the explained thread waits for at the finding's begin, and since when. */
static void note_wait(struct path_search *search, struct finding *finding)
{
	const struct deep_thread *thread = thread_at(search, search->thread);
	const struct path_span *work = span_at(search->work, finding->begin);
	size_t at = timeline_thread_before(thread, finding->begin + 1);

	finding->call = timeline_thread_call(search->timeline, thread, finding->begin);
	finding->since = at == SIZE_MAX ? finding->begin : thread->intervals.at[at].begin;
	if (at == SIZE_MAX || thread->intervals.at[at].state != STATE_BLOCKED) {
		finding->wait = WAIT_CPU;
	} else if (finding->call && finding->call->is_lock) {
		finding->wait = WAIT_LOCK;
	} else if (work && work->begin <= finding->begin) {
		finding->wait = WAIT_EXECUTION;
	} else {
		finding->wait = is_reply(search, thread, at) ? WAIT_REPLY : WAIT_OTHER;
	}
}

/* Whether no thread of it is real-time. */
static bool is_fair(const struct path_search *search, const struct finding *finding)
{
	return !is_real_time(search, search->thread, finding->begin) &&
	       !is_real_time(search, finding->on_path, finding->begin) &&
	       !is_real_time(search, finding->rival, finding->begin);
}

/* Adds a finding, or makes the last one longer if it continues. */
static void add_finding(struct path_search *search, struct finding *finding)
{
	struct rivals *rivals = search->rivals;
	struct finding *last;
	size_t count;

	finding->is_fair = is_fair(search, finding);
	if (finding->wait == WAIT_OTHER) {
		count = rivals->apart.count;
		last = count > 0 ? &rivals->apart.at[count - 1] : NULL;
	} else {
		count = rivals->findings.count;
		last = count > 0 ? &rivals->findings.at[count - 1] : NULL;
	}
	if (last && last->end == finding->begin && last->kind == finding->kind &&
	    last->wait == finding->wait && last->is_fair == finding->is_fair &&
	    last->on_path == finding->on_path && last->rival == finding->rival) {
		last->end = finding->end;
		return;
	}
	if (finding->wait == WAIT_OTHER) {
		*vec_push(&rivals->apart) = *finding;
	} else {
		*vec_push(&rivals->findings) = *finding;
	}
}

/* Widens the rival's range of priorities by the one at @ts. */
static void note_prio(const struct path_search *search, struct rival *rival, uint64_t ts)
{
	const struct prio_change *at = timeline_thread_prio(thread_at(search, rival->thread), ts);

	if (!at) {
		return;
	}
	if (!rival->has_prio || at->prio < rival->prio_min) {
		rival->prio_min = at->prio;
	}
	if (!rival->has_prio || at->prio > rival->prio_max) {
		rival->prio_max = at->prio;
	}
	rival->has_prio = true;
}

/* When a priority of the thread that was valid at @ts may change; at most @end. */
static uint64_t prio_until(const struct deep_thread *thread, uint64_t ts, uint64_t end)
{
	size_t low = 0, high = thread->prios.count;

	while (low < high) { /* finds the first change after @ts */
		size_t middle = low + (high - low) / 2;

		if (thread->prios.at[middle].ts <= ts) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < thread->prios.count && thread->prios.at[low].ts < end
		       ? thread->prios.at[low].ts
		       : end;
}

/* Until when, at most @end, all priorities are as they are at @ts, and no execution begins or ends.
 */
static uint64_t same_until(const struct path_search *search, uint32_t on_path, uint32_t runs,
			   uint64_t ts, uint64_t end)
{
	const struct path_span *work = span_at(search->work, ts);

	if (work && (work->begin > ts ? work->begin : work->end) < end) {
		end = work->begin > ts ? work->begin : work->end;
	}
	end = prio_until(thread_at(search, search->thread), ts, end);
	end = prio_until(thread_at(search, on_path), ts, end);
	return prio_until(thread_at(search, runs), ts, end);
}

/* What the rival's running means from @begin to @end, in which nothing changes. */
static void judge_rival(struct path_search *search, const struct path_segment *segment,
			struct rival *rival, uint64_t begin, uint64_t end)
{
	struct finding finding = {
		.begin = begin, .end = end, .on_path = segment->thread, .rival = rival->thread
	};
	uint32_t of = search->thread;
	int64_t less = less_urgent(search, rival->thread, of, begin);

	note_prio(search, rival, begin);
	rival->unknown += less == INT64_MIN ? end - begin : 0;
	rival->same += less == 0 ? end - begin : 0;
	if (less <= 0) {
		return;
	}
	note_wait(search, &finding);
	*(finding.wait == WAIT_OTHER ? &rival->apart : &rival->inverted) += end - begin;
	rival->fair += finding.wait != WAIT_OTHER && is_fair(search, &finding) ? end - begin : 0;
	assert(rival->fair <= rival->inverted && rival->inverted <= rival->total);
	finding.kind = INVERSION_UNBOUNDED;
	if (segment->thread == of) {
		finding.kind = INVERSION_DISPATCH;
	} else if (less_urgent(search, segment->thread, rival->thread, begin) <= 0) {
		return; /* its priority is not between the two */
	}
	add_finding(search, &finding);
}

/* @runs had the CPU from @begin to @end while the segment's thread waited for it. */
static void add_rival(struct path_search *search, const struct path_segment *segment, uint32_t runs,
		      uint64_t begin, uint64_t end)
{
	bool is_new;
	uint32_t *at = places_put(&search->places, runs, &is_new);
	struct rival *rival;

	if (is_new) {
		*at = (uint32_t)search->rivals->at.count;
		*vec_push(&search->rivals->at) = (struct rival){ .thread = runs };
	}
	rival = &search->rivals->at.at[*at];
	rival->total += end - begin;
	if (end - begin > rival->longest) {
		rival->longest = end - begin;
		rival->longest_begin = begin;
	}
	rival->times++;
	for (uint64_t until; begin < end; begin = until) {
		until = same_until(search, segment->thread, runs, begin, end);
		judge_rival(search, segment, rival, begin, until);
	}
}

static const struct deep_cpu *cpu_numbered(const struct timeline *timeline, uint16_t cpu)
{
	for (size_t i = 0; cpu != NO_CPU && i < timeline->cpus.count; i++) {
		if (timeline->cpus.at[i].id == cpu) {
			return &timeline->cpus.at[i];
		}
	}
	return NULL;
}

/* The last on-CPU interval that begins at or before @ts. */
static size_t oncpu_at(const struct deep_cpu *cpu, uint64_t ts)
{
	size_t low = 0, high = cpu->oncpus.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (cpu->oncpus.at[middle].begin <= ts) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

/* The segment waits for its CPU: finds what ran there. */
static void search_cpu(struct path_search *search, const struct path_segment *segment)
{
	const struct deep_cpu *cpu = cpu_numbered(search->timeline, segment->cpu);

	for (size_t i = cpu ? oncpu_at(cpu, segment->begin) : SIZE_MAX;
	     i < (cpu ? cpu->oncpus.count : 0) && cpu->oncpus.at[i].begin < segment->end; i++) {
		const struct cpu_oncpu *oncpu = &cpu->oncpus.at[i];
		uint64_t begin = oncpu->begin > segment->begin ? oncpu->begin : segment->begin;
		uint64_t end = i + 1 < cpu->oncpus.count ? cpu->oncpus.at[i + 1].begin
							 : search->timeline->end;

		end = end < segment->end ? end : segment->end;
		if (end <= begin || oncpu->thread == CPU_NOBODY ||
		    oncpu->thread == segment->thread) {
			continue;
		}
		if (oncpu->thread == CPU_IDLE) {
			search->rivals->idle_ns += end - begin;
		} else {
			add_rival(search, segment, oncpu->thread, begin, end);
		}
	}
}

/* The path runs on another thread than the explained one, and nothing changes. */
static void judge_run(struct path_search *search, uint32_t on_path, uint64_t begin, uint64_t end)
{
	struct finding finding = { .kind = INVERSION_DIRECT,
				   .begin = begin,
				   .end = end,
				   .on_path = on_path,
				   .rival = on_path };
	int64_t less = less_urgent(search, on_path, search->thread, begin);

	if (less == INT64_MIN) {
		search->rivals->unknown_ns += end - begin;
	} else if (less > 0) {
		note_wait(search, &finding);
		add_finding(search, &finding);
	} else if (timeline_thread_prio(thread_at(search, on_path), begin)->is_boost) {
		search->rivals->inherited_ns += end - begin;
	}
}

static void search_run(struct path_search *search, const struct path_segment *segment)
{
	uint64_t until;

	for (uint64_t begin = segment->begin; begin < segment->end; begin = until) {
		until = same_until(search, segment->thread, segment->thread, begin, segment->end);
		judge_run(search, segment->thread, begin, until);
	}
}

ORDER(by_rival_total, struct rival, DOWN(total) UP(thread))

ORDER(longest_first, struct finding, LONGER UP(begin))

void path_find_rivals(const struct timeline *timeline, uint32_t thread, const struct path *path,
		      const struct path_spans *work, struct rivals *rivals)
{
	struct path_search search = {
		.timeline = timeline,
		.thread = thread,
		.path = path,
		.work = work,
		.rivals = rivals,
		.judged = UINT64_MAX,
	};

	assert(thread < timeline->threads.count);
	memset(rivals, 0, sizeof(*rivals));
	VEC_EACH(&path->segments, segment) {
		if (timeline_state_waits(segment->state)) {
			search_cpu(&search, segment);
		} else if (segment->state == STATE_USER && segment->thread != thread) {
			search_run(&search, segment);
		}
	}
	places_fini(&search.places);
	vec_sort(&rivals->at, by_rival_total);
	vec_sort(&rivals->findings, longest_first);
	vec_sort(&rivals->apart, longest_first);
}

void path_fini_rivals(struct rivals *rivals)
{
	vec_fini(&rivals->at);
	vec_fini(&rivals->findings);
	vec_fini(&rivals->apart);
}
