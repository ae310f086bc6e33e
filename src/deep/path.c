/*
 * path: see path.h.
 */
#include "deep/path.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* What is still to be explained of a thread: [low, until), from the end on. */
struct frame {
	uint32_t thread;
	uint64_t low, until;
};

struct finder {
	const struct timeline *timeline;
	struct path *path; /* backward, while it is found */
	VEC(struct frame) frames;
};

/* Adds what lies before all that is there; the same again makes the segment longer. */
static void add(struct finder *finder, const struct frame *frame, uint64_t begin,
		const struct interval *interval)
{
	struct path *path = finder->path;
	struct segment_of_path segment = {
		.begin = begin,
		.end = frame->until,
		.thread = frame->thread,
		.cpu = interval ? interval->cpu : NO_CPU,
		.state = interval ? interval->state : STATE_UNKNOWN,
		.cause = interval ? interval->cause : CAUSE_NONE,
	};
	struct segment_of_path *before =
		path->segments.count > 0 ? &path->segments.at[path->segments.count - 1] : NULL;

	segment.state = state_runs(segment.state) ? STATE_USER : segment.state;
	if (before && before->begin == segment.end && before->thread == segment.thread &&
	    before->state == segment.state && before->cause == segment.cause &&
	    before->cpu == segment.cpu) {
		before->begin = begin;
	} else {
		*vec_push(&path->segments) = segment;
	}
}

/* Explains the last part of the frame that is on top. */
static void step(struct finder *finder)
{
	struct frame *frame = &finder->frames.at[finder->frames.count - 1];
	const struct deep_thread *thread = finder->timeline->threads.at[frame->thread];
	size_t i = timeline_thread_before(thread, frame->until);
	const struct interval *interval = i == SIZE_MAX ? NULL : &thread->intervals.at[i];
	uint64_t begin;

	if (!interval) {
		if (thread->was_born && thread->birth == frame->until && thread->parent != NOBODY &&
		    finder->frames.count > 1) {
			frame->thread = thread->parent;
			return;
		}
		add(finder, frame, frame->low, NULL);
		frame->until = frame->low;
		return;
	}
	begin = interval->begin > frame->low ? interval->begin : frame->low;
	/* Wakers that wait for each other cannot be more than there are threads. */
	if (interval->state == STATE_BLOCKED && interval->cause == CAUSE_TASK &&
	    timeline_thread_until(thread, i) <= frame->until &&
	    finder->frames.count <= finder->timeline->threads.count) {
		struct frame inner = { .thread = interval->who,
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
		struct segment_of_path swapped = path->segments.at[i];

		path->segments.at[i] = path->segments.at[count - 1 - i];
		path->segments.at[count - 1 - i] = swapped;
	}
}

void path_find(const struct timeline *timeline, uint32_t thread, uint64_t begin, uint64_t end,
	       struct path *path)
{
	const struct deep_thread *of = timeline->threads.at[thread];
	struct finder finder = { .timeline = timeline, .path = path };

	memset(path, 0, sizeof(*path));
	begin = begin < of->birth ? of->birth : begin;
	end = end > of->end ? of->end : end;
	path->begin = begin;
	path->end = end > begin ? end : begin;
	*vec_push(&finder.frames) =
		(struct frame){ .thread = thread, .low = begin, .until = path->end };
	while (finder.frames.count > 0) {
		const struct frame *frame = &finder.frames.at[finder.frames.count - 1];

		if (frame->until <= frame->low) {
			finder.frames.count--;
		} else {
			step(&finder);
		}
	}
	vec_fini(&finder.frames);
	reverse(path);
}

void path_fini(struct path *path)
{
	vec_fini(&path->segments);
}

/* ---- parts ---- */

HASH_DECLARE(places, uint32_t)

static int by_total(const void *left, const void *right)
{
	const struct path_part *a = left, *b = right;

	if (a->total != b->total) {
		return a->total > b->total ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

void path_sum(const struct path *path, struct path_parts *parts)
{
	khash_t(places) *places = kh_init(places);

	memset(parts, 0, sizeof(*parts));
	for (size_t i = 0; i < path->segments.count; i++) {
		const struct segment_of_path *segment = &path->segments.at[i];
		uint64_t ns = segment->end - segment->begin;
		int is_new;
		khint_t at = kh_put(places, places, segment->thread, &is_new);
		struct path_part *part;

		if (is_new) {
			kh_value(places, at) = (uint32_t)parts->at.count;
			*vec_push(&parts->at) = (struct path_part){ .thread = segment->thread };
		}
		part = &parts->at.at[kh_value(places, at)];
		part->ns[segment->state] += ns;
		part->total += ns;
	}
	kh_destroy(places, places);
	if (parts->at.count > 0) {
		qsort(parts->at.at, parts->at.count, sizeof(*parts->at.at), by_total);
	}
}

/* ---- who had the CPU ---- */

const char *path_inversion_name(enum inversion kind)
{
	static const char *const names[INVERSIONS] = {
		[INVERSION_DIRECT] = "direct",
		[INVERSION_UNBOUNDED] = "unbounded",
		[INVERSION_DISPATCH] = "dispatch",
	};

	return names[kind];
}

struct watching {
	const struct timeline *timeline;
	uint32_t thread; /* whose path it is */
	struct rivals *rivals;
	khash_t(places) * places;
};

static const struct deep_thread *thread_at(const struct watching *watching, uint32_t index)
{
	return watching->timeline->threads.at[index];
}

/* How much less urgent @thread is than @than, below 0: more; INT64_MIN: that is not known. */
static int64_t less_urgent(const struct watching *watching, uint32_t thread, uint32_t than,
			   uint64_t ts)
{
	const struct prio_change *a = timeline_thread_prio(thread_at(watching, thread), ts);
	const struct prio_change *b = timeline_thread_prio(thread_at(watching, than), ts);

	return a && b ? (int64_t)a->prio - b->prio : INT64_MIN;
}

static bool is_real_time(const struct watching *watching, uint32_t thread, uint64_t ts)
{
	const struct prio_change *prio = timeline_thread_prio(thread_at(watching, thread), ts);

	return prio && prio->prio < 0;
}

static void find_one(struct watching *watching, struct finding *finding)
{
	struct rivals *rivals = watching->rivals;
	struct finding *last = rivals->findings.count > 0
				       ? &rivals->findings.at[rivals->findings.count - 1]
				       : NULL;

	if (last && last->end == finding->begin && last->kind == finding->kind &&
	    last->on_path == finding->on_path && last->rival == finding->rival) {
		last->end = finding->end;
		return;
	}
	finding->is_fair = !is_real_time(watching, watching->thread, finding->begin) &&
			   !is_real_time(watching, finding->on_path, finding->begin) &&
			   !is_real_time(watching, finding->rival, finding->begin);
	finding->call = timeline_thread_call(watching->timeline,
					     thread_at(watching, watching->thread), finding->begin);
	*vec_push(&rivals->findings) = *finding;
}

static void note_prio(const struct watching *watching, struct rival *rival, uint64_t ts)
{
	const struct prio_change *at = timeline_thread_prio(thread_at(watching, rival->thread), ts);

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

/* @runs had the CPU from @begin to @end, while the path's thread wanted it. */
static void add_rival(struct watching *watching, const struct segment_of_path *segment,
		      uint32_t runs, uint64_t begin, uint64_t end)
{
	struct finding finding = {
		.begin = begin, .end = end, .on_path = segment->thread, .rival = runs
	};
	uint32_t of = watching->thread;
	int64_t less = less_urgent(watching, runs, of, begin);
	int is_new;
	khint_t at = kh_put(places, watching->places, runs, &is_new);
	struct rival *rival;

	if (is_new) {
		kh_value(watching->places, at) = (uint32_t)watching->rivals->at.count;
		*vec_push(&watching->rivals->at) = (struct rival){ .thread = runs };
	}
	rival = &watching->rivals->at.at[kh_value(watching->places, at)];
	rival->total += end - begin;
	rival->longest = end - begin > rival->longest ? end - begin : rival->longest;
	rival->times++;
	note_prio(watching, rival, begin);
	rival->same += less == 0 ? end - begin : 0;
	if (less <= 0) {
		return;
	}
	rival->inverted += end - begin;
	finding.kind = INVERSION_UNBOUNDED;
	if (segment->thread == of) {
		finding.kind = INVERSION_DISPATCH;
	} else if (less_urgent(watching, segment->thread, runs, begin) <= 0) {
		return; /* it is not between the two */
	}
	find_one(watching, &finding);
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

/* The last stay that begins at or before @ts. */
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

static void watch_cpu(struct watching *watching, const struct segment_of_path *segment)
{
	const struct deep_cpu *cpu = cpu_numbered(watching->timeline, segment->cpu);

	for (size_t i = cpu ? oncpu_at(cpu, segment->begin) : SIZE_MAX;
	     i < (cpu ? cpu->oncpus.count : 0) && cpu->oncpus.at[i].begin < segment->end; i++) {
		const struct cpu_oncpu *oncpu = &cpu->oncpus.at[i];
		uint64_t begin = oncpu->begin > segment->begin ? oncpu->begin : segment->begin;
		uint64_t end = i + 1 < cpu->oncpus.count ? cpu->oncpus.at[i + 1].begin
							 : watching->timeline->end;

		end = end < segment->end ? end : segment->end;
		if (end <= begin || oncpu->thread == CPU_NOBODY ||
		    oncpu->thread == segment->thread) {
			continue;
		}
		if (oncpu->thread == CPU_IDLE) {
			watching->rivals->idle_ns += end - begin;
		} else {
			add_rival(watching, segment, oncpu->thread, begin, end);
		}
	}
}

/* Another thread runs in place of the one whose path it is. */
static void watch_run(struct watching *watching, const struct segment_of_path *segment)
{
	uint32_t on_path = segment->thread;
	int64_t less = less_urgent(watching, on_path, watching->thread, segment->begin);

	if (less > 0) {
		find_one(watching, &(struct finding){ .kind = INVERSION_DIRECT,
						      .begin = segment->begin,
						      .end = segment->end,
						      .on_path = on_path,
						      .rival = on_path });
	} else if (less != INT64_MIN &&
		   timeline_thread_prio(thread_at(watching, on_path), segment->begin)->is_boost) {
		watching->rivals->inherited_ns += segment->end - segment->begin;
	}
}

static int by_rival_total(const void *left, const void *right)
{
	const struct rival *a = left, *b = right;

	if (a->total != b->total) {
		return a->total > b->total ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int longest_first(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;
	uint64_t a_ns = a->end - a->begin, b_ns = b->end - b->begin;

	if (a_ns != b_ns) {
		return a_ns > b_ns ? -1 : 1;
	}
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

void path_find_rivals(const struct timeline *timeline, uint32_t thread, const struct path *path,
		      struct rivals *rivals)
{
	struct watching watching = {
		.timeline = timeline, .thread = thread, .rivals = rivals, .places = kh_init(places)
	};

	memset(rivals, 0, sizeof(*rivals));
	for (size_t i = 0; i < path->segments.count; i++) {
		const struct segment_of_path *segment = &path->segments.at[i];

		if (segment->state == STATE_PREEMPTED || segment->state == STATE_WAIT ||
		    segment->state == STATE_NEW) {
			watch_cpu(&watching, segment);
		} else if (segment->state == STATE_USER && segment->thread != thread) {
			watch_run(&watching, segment);
		}
	}
	kh_destroy(places, watching.places);
	if (rivals->at.count > 0) {
		qsort(rivals->at.at, rivals->at.count, sizeof(*rivals->at.at), by_rival_total);
	}
	if (rivals->findings.count > 0) {
		qsort(rivals->findings.at, rivals->findings.count, sizeof(*rivals->findings.at),
		      longest_first);
	}
}

void path_fini_rivals(struct rivals *rivals)
{
	vec_fini(&rivals->at);
	vec_fini(&rivals->findings);
}
