/*
 * requests: see requests.h.
 *
 * Most disks have few open requests, and most of their events are about one of the oldest.  So they
 * lie in an array, in the order in which they were seen, and are found by a walk over their keys.
 */
#include "analyses/block/requests.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"

/* Of one in a checkpoint. */
#define REQUEST_BYTES 51

void requests_fini(struct requests *open)
{
	vec_fini(&open->keys);
	vec_fini(&open->all);
}

/* ---- what requests have in common ---- */

/* Those of one kind may be the same request.  Up to RWBS_DIRECTION: direction of what has sectors;
 * of zeroes and appends it is 0. */
enum { KIND_ANYWHERE, KIND_FLUSH = RWBS_DIRECTION + 1, KIND_COMMAND };

static uint32_t kind_of(const struct request *request)
{
	uint32_t direction = request->rwbs & RWBS_DIRECTION;

	if (request->sectors > 0) {
		return direction;
	}
	return request->rwbs & (RWBS_FLUSH | RWBS_PREFLUSH) ? KIND_FLUSH : KIND_COMMAND + direction;
}

static bool has_place(uint32_t kind)
{
	return kind != KIND_ANYWHERE && kind < KIND_FLUSH;
}

/* Never 0; of those without a place all have one key. */
static uint64_t key_of(const struct request *request)
{
	uint32_t kind = kind_of(request);

	return (has_place(kind) ? request->sector << 8 : 0) | (kind + 1);
}

/* Which phase an event is about, and how well a request fits to it; 0: not at all. */
struct sought {
	const struct request *like;
	unsigned int phases; /* bit by bit */
	uint32_t kind;
	uint64_t key;
};

static unsigned int fit(const struct sought *sought, const struct request *request)
{
	bool is_there = request->sector == sought->like->sector;
	unsigned int fits = 1;

	if (!(sought->phases >> request->phase & 1) || (has_place(sought->kind) && !is_there)) {
		return 0;
	}
	fits += !request->is_cut;
	fits += request->left == sought->like->sectors ? 2 : 0;
	fits += is_there || sought->kind != KIND_ANYWHERE ? 4 : 0;
	return fits;
}

static bool has_any(const struct requests *open, unsigned int phases)
{
	for (unsigned int phase = 0; phase < REQUEST_PHASES; phase++) {
		if ((phases >> phase & 1) && open->phases[phase] > 0) {
			return true;
		}
	}
	return false;
}

/* The one that fits best; of equal ones the oldest.  NULL: none. */
static struct request *find(struct requests *open, const struct request *like, unsigned int phases)
{
	const struct sought sought = { like, phases, kind_of(like), key_of(like) };
	struct request *best = NULL;
	unsigned int most = has_any(open, phases) ? 0 : 8;

	for (size_t i = open->first; i < open->keys.count && most < 8; i++) {
		unsigned int fits =
			open->keys.at[i] == sought.key ? fit(&sought, &open->all.at[i]) : 0;

		if (fits > most) {
			most = fits;
			best = &open->all.at[i];
		}
	}
	return best;
}

enum {
	WAITING = 1u << REQUEST_WAITING,
	IN_FLIGHT = 1u << REQUEST_IN_FLIGHT,
	REQUEUED = 1u << REQUEST_REQUEUED,
};

/* ---- the array ---- */

static void set_phase(struct requests *open, struct request *request, enum request_phase phase)
{
	if (request->phase < REQUEST_PHASES) {
		open->phases[request->phase]--;
	}
	if (phase < REQUEST_PHASES) {
		open->phases[phase]++;
	}
	open->depth -= request->phase == REQUEST_IN_FLIGHT && !request->is_cut;
	open->depth += phase == REQUEST_IN_FLIGHT && !request->is_cut;
	request->phase = (uint8_t)phase;
}

/* Moves the others together when half of the array is gone. */
static void compact(struct requests *open)
{
	size_t kept = 0;

	for (size_t i = 0; i < open->keys.count; i++) {
		if (open->keys.at[i] != 0) {
			open->keys.at[kept] = open->keys.at[i];
			open->all.at[kept++] = open->all.at[i];
		}
	}
	assert(open->gone == open->keys.count - kept);
	open->keys.count = open->all.count = kept;
	open->gone = open->first = 0;
}

static void add(struct requests *open, const struct request *request, enum request_phase phase)
{
	struct request *added;

	if (open->gone > 16 && open->gone * 2 > open->keys.count) {
		compact(open);
	}
	added = vec_push(&open->all);
	*added = *request;
	added->phase = REQUEST_PHASES; /* counted nowhere yet */
	set_phase(open, added, phase);
	*vec_push(&open->keys) = key_of(added);
}

static void drop(struct requests *open, struct request *request)
{
	set_phase(open, request, REQUEST_PHASES);
	open->keys.at[request - open->all.at] = 0;
	open->gone++;
	while (open->first < open->keys.count && open->keys.at[open->first] == 0) {
		open->first++;
	}
}

/* ---- insert, issue, requeue ---- */

void requests_insert(struct requests *open, const struct request *request)
{
	if (!find(open, request, REQUEUED)) { /* else it waits again */
		add(open, request, REQUEST_WAITING);
	}
}

/* The inserted request is part of @request, which is issued. */
static void join(struct requests *open, struct request *request, struct request *inserted)
{
	if (request->insert_ts == 0 || inserted->since < request->insert_ts) {
		request->insert_ts = inserted->since;
		request->tid = inserted->tid > 0 ? inserted->tid : request->tid;
	}
	drop(open, inserted);
}

static bool lies_within(const struct request *inner, const struct request *outer)
{
	return inner->sector >= outer->sector && inner->sector - outer->sector <= outer->sectors &&
	       inner->sectors <= outer->sectors - (inner->sector - outer->sector);
}

/* Takes what was inserted of the request: the same, or all that were merged to it.  Merges are not
 * always recorded, so it is the extent that tells. */
static void take_inserted(struct requests *open, struct request *request)
{
	struct request *same = find(open, request, WAITING);
	uint32_t kind = kind_of(request);

	if (same && (same->sectors >= request->sectors || !has_place(kind))) {
		join(open, request, same);
		return;
	}
	for (size_t i = open->first; has_any(open, WAITING) && i < open->keys.count; i++) {
		struct request *one = &open->all.at[i];

		if (open->keys.at[i] != 0 && one->phase == REQUEST_WAITING &&
		    kind_of(one) == kind && has_place(kind) && lies_within(one, request)) {
			join(open, request, one);
		}
	}
}

/* Whether the request may have completed before it was issued: clocks of CPUs differ. */
static bool ended_early(struct requests *open, const struct request *request)
{
	uint32_t kind = kind_of(request);

	for (size_t i = 0; i < EARLY_ENDS; i++) {
		struct early_end *end = &open->early[i];
		const struct request like = { .sectors = end->sectors, .rwbs = end->rwbs };

		if (end->ts != 0 && request->since - end->ts <= EARLY_END_NS &&
		    kind_of(&like) == kind &&
		    (!has_place(kind) ||
		     (end->sector == request->sector && end->sectors == request->sectors))) {
			*end = (struct early_end){ 0 };
			return true;
		}
	}
	return false;
}

enum issued requests_issue(struct requests *open, const struct request *request, bool repeats,
			   bool *ret_queued, uint64_t *ret_queued_ns)
{
	struct request issued = *request;
	struct request *again = find(open, request, REQUEUED);

	if (!again && repeats) {
		again = find(open, request, IN_FLIGHT);
		again = again && again->left == request->sectors ? again : NULL;
	}
	take_inserted(open, &issued);
	if (again) {
		set_phase(open, again, REQUEST_IN_FLIGHT);
		*ret_queued = false;
		return ISSUED_AGAIN;
	}
	*ret_queued = issued.insert_ts != 0;
	*ret_queued_ns = issued.since - issued.insert_ts;
	issued.is_cut = ended_early(open, request);
	add(open, &issued, REQUEST_IN_FLIGHT);
	return issued.is_cut ? ISSUED_CUT : ISSUED;
}

bool requests_requeue(struct requests *open, const struct request *request)
{
	struct request *found = find(open, request, IN_FLIGHT);

	if (found) {
		set_phase(open, found, REQUEST_REQUEUED);
	}
	return found;
}

/* ---- complete ---- */

static void note_early(struct requests *open, const struct request *part)
{
	memmove(open->early + 1, open->early, sizeof(open->early) - sizeof(open->early[0]));
	open->early[0] = (struct early_end){ .ts = part->since,
					     .sector = part->sector,
					     .sectors = part->sectors,
					     .rwbs = part->rwbs };
}

/* What a completion may be of, in this order: in flight, requeued, waiting. */
static struct request *find_open(struct requests *open, const struct request *like)
{
	struct request *found = find(open, like, IN_FLIGHT);

	found = found ? found : find(open, like, REQUEUED);
	return found ? found : find(open, like, WAITING);
}

/* Of an append that failed, and of commands, the sector says nothing. */
static struct request *find_completed(struct requests *open, const struct request *part)
{
	struct request like = *part, *found;

	if (part->sector != SECTOR_NONE) {
		return find_open(open, part);
	}
	like.sectors = 0;
	found = find_open(open, &like);
	return found || part->sectors == 0 ? found : find_open(open, part);
}

enum completed requests_complete(struct requests *open, const struct request *part,
				 struct request *ret_done)
{
	struct request *found = find_completed(open, part);

	if (!found || found->phase == REQUEST_WAITING) {
		/* An empty write that asks for a flush never reaches the disk. */
		bool is_empty = part->sectors == 0 && (part->rwbs & RWBS_DIRECTION) &&
				part->sector != SECTOR_NONE;

		if (found) { /* its issue is missing */
			drop(open, found);
		}
		note_early(open, part);
		return is_empty ? COMPLETED_NOTHING : COMPLETED_ORPHAN;
	}
	found->has_failed |= part->has_failed;
	if (has_place(kind_of(found)) && part->sectors < found->left) {
		found->sector += part->sectors;
		found->left -= part->sectors;
		open->keys.at[found - open->all.at] = key_of(found);
		return COMPLETED_IN_PART;
	}
	*ret_done = *found;
	drop(open, found);
	return COMPLETED;
}

/* ---- what is not known any more ---- */

uint64_t requests_cut(struct requests *open)
{
	uint64_t cut = 0;

	for (size_t i = 0; i < open->keys.count; i++) {
		struct request *one = &open->all.at[i];

		if (open->keys.at[i] == 0) {
			continue;
		}
		if (one->phase == REQUEST_WAITING) {
			drop(open, one);
		} else if (!one->is_cut) {
			open->depth -= one->phase == REQUEST_IN_FLIGHT;
			one->is_cut = true;
			cut++;
		}
	}
	assert(open->depth == 0);
	compact(open);
	return cut;
}

bool requests_oldest_is_over(const struct requests *open, uint64_t ts, uint64_t *ret_ts)
{
	size_t held = open->keys.count - open->gone;
	uint64_t since = held > 0 ? open->all.at[open->first].since : ts;

	*ret_ts = held > REQUESTS_MAX ? ts : since + REQUEST_OPEN_MAX_NS;
	return held > REQUESTS_MAX || ts - since >= REQUEST_OPEN_MAX_NS;
}

bool requests_forget_oldest(struct requests *open)
{
	struct request *request = &open->all.at[open->first];
	bool is_cut = request->phase != REQUEST_WAITING && !request->is_cut;

	assert(open->keys.count > open->gone);
	drop(open, request);
	return is_cut;
}

/* ---- checkpoints ---- */

static void request_codec(struct codec *codec, struct request *request)
{
	codec_each(codec, &request->sector, &request->sectors, &request->left, &request->since,
		   &request->insert_ts, &request->rwbs, &request->tid, &request->phase);
	codec_each(codec, &request->is_cut, &request->has_failed);
}

static void read_requests(struct codec *codec, struct requests *open, size_t count)
{
	uint64_t since = 0;

	for (size_t i = 0; i < count; i++) {
		struct request request = { 0 };

		request_codec(codec, &request);
		if (!codec_check(codec, request.phase < REQUEST_PHASES && request.since >= since &&
						request.insert_ts <= request.since &&
						request.left <= request.sectors)) {
			return;
		}
		since = request.since;
		add(open, &request, (enum request_phase)request.phase);
	}
}

void requests_codec(struct codec *codec, struct requests *open)
{
	size_t count = codec_count(codec, open->keys.count - open->gone, REQUEST_BYTES);

	for (size_t i = 0; i < EARLY_ENDS; i++) {
		struct early_end *end = &open->early[i];

		codec_each(codec, &end->ts, &end->sector, &end->sectors, &end->rwbs);
	}
	if (codec_reads(codec)) {
		read_requests(codec, open, codec_check(codec, count <= REQUESTS_MAX) ? count : 0);
		return;
	}
	for (size_t i = 0; i < open->keys.count; i++) {
		if (open->keys.at[i] != 0) {
			request_codec(codec, &open->all.at[i]);
		}
	}
}

void requests_check(const struct requests *open)
{
	size_t gone = 0, phases[REQUEST_PHASES] = { 0 };
	uint64_t depth = 0, since = 0;

	assert(open->keys.count == open->all.count);
	for (size_t i = 0; i < open->keys.count; i++) {
		const struct request *one = &open->all.at[i];

		if (open->keys.at[i] == 0) {
			gone++;
			continue;
		}
		assert(open->keys.at[i] == key_of(one));
		assert(one->since >= since);
		assert(one->phase < REQUEST_PHASES);
		assert(one->phase != REQUEST_WAITING || !one->is_cut);
		since = one->since;
		phases[one->phase]++;
		depth += one->phase == REQUEST_IN_FLIGHT && !one->is_cut;
	}
	assert(gone == open->gone);
	assert(open->first == open->keys.count || open->keys.at[open->first] != 0);
	assert(memcmp(phases, open->phases, sizeof(phases)) == 0);
	assert(depth == open->depth);
}
