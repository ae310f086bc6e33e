/*
 * block: requests of block devices: latency, queueing, throughput, use (doc/definitions.md, 4.7).
 *
 *     insert ── queued ──► issue ──── time ────► complete (perhaps in parts)
 *
 * All events of all disks come in one time order (on_ordered()): a request is inserted, issued and
 * completed on any CPUs, and what is lost on one of them may be of any disk.  requests.h says which
 * events are of one request.  Devices that only pass requests on (dm, md, loop) have no such
 * events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyses/block/requests.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "engine/contract/analysis-rare.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"

enum { TOTALS, DISKS, THREADS, PROCESSES, LONGEST, CONTAINERS };
enum { REQUESTS, DISCARDS, FLUSHES, REQUEUES, ORPHANS, CUT };
enum {
	DISK_REQUESTS,
	DISK_READ,
	DISK_WRITTEN,
	DISK_ERRORS,
	DISK_BUSY,
	DISK_DEPTH,
	DISK_DEPTH_MAX,
	DISK_IN_FLIGHT,
	DISK_TIME,
	DISK_QUEUED,
	DISK_READ_TIME,
	DISK_WRITE_TIME
};
enum { THREAD_READ, THREAD_WRITTEN, THREAD_REQUESTS }; /* of the thread that issued */

/* Records, and the ordered events that are made of them. */
enum { OWN_INSERT = RECORD_OWN, OWN_ISSUE, OWN_COMPLETE, OWN_REQUEUE, OWN_NAME, OWN_LOST };

enum { SECTOR_BYTES = 512 };

/* Beside a record: device, sector, sectors; and rwbs, below the thread, or whether there is an
 * error. */
enum { WORD_DEV, WORD_SECTOR, WORD_SECTORS, WORD_RWBS, REQUEST_WORDS };
/* arg16 of an issue: the trace has no requeues. */
enum { ISSUE_REPEATS = 1 };

/* ---- worker's half ---- */

/* Entities that events without a thread belong to.  Issues come last of what is at one ns, like
 * those of threads. */
enum { ALL_DISKS, ISSUES_OF_NOBODY };

struct worker_block {
	bool is_asked, repeats;
};

static bool repeats(const struct worker *worker, struct worker_block *state)
{
	if (!state->is_asked) {
		state->is_asked = true;
		state->repeats = !worker_has_event(worker, "block_rq_requeue");
	}
	return state->repeats;
}

enum { DEV, SECTOR, COUNT, RWBS, ERROR_OR_TID, ERRORS };

static void on_request(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t kind)
{
	int32_t number = (int32_t)event_i64(event, ERROR_OR_TID, 0);
	uint64_t numbers[REQUEST_WORDS] = { event_u64(event, DEV, 0) & UINT32_MAX,
					    event_u64(event, SECTOR, 0),
					    event_u64(event, COUNT, 0) & UINT32_MAX,
					    event_u64(event, RWBS, 0) & UINT32_MAX };
	struct record *record;

	if (!event_has(event, DEV) || !event_has(event, SECTOR)) {
		return;
	}
	if (kind == OWN_COMPLETE) {
		number = number != 0 || event_i64(event, ERRORS, 0) != 0;
	}
	numbers[WORD_RWBS] |= (uint64_t)(uint32_t)number << 32;
	record = kind == OWN_ISSUE && number > 0
			 ? worker_emit(worker, event->ts, number, kind)
			 : worker_emit_entity(worker, event->ts,
					      kind == OWN_ISSUE ? ISSUES_OF_NOBODY : ALL_DISKS,
					      kind);
	record->arg16 = kind == OWN_ISSUE && repeats(worker, state) ? ISSUE_REPEATS : 0;
	record->arg64 = worker_numbers(worker, numbers, REQUEST_WORDS);
}

static void on_name(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t kind)
{
	enum { NAME_DEV, NAME_TEXT };
	const struct value *name = event_text(event, NAME_TEXT);
	struct record *record;

	if (event_has(event, NAME_DEV) && name) {
		record = worker_emit_entity(worker, event->ts, ALL_DISKS, kind);
		record->arg32 = (int32_t)event_u64(event, NAME_DEV, 0);
		record->arg64 = worker_text(worker, name->bytes, name->len);
	}
}

static void on_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
	if (!is_over) {
		worker_emit_entity(worker, ts, ALL_DISKS, OWN_LOST)->arg64 = worker_gap_end(worker);
	}
}

/* ---- merger's half: to ordered events ---- */

/* Numbers stay in their partial until the ordered events of the round are through. */
enum { ORDERED_NUMBERS, ORDERED_CHANNEL, ORDERED_FLAGS };

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct ordered *ordered = shard_note_ordered(shard, thread, record->ts, record->kind);

	ordered->words[ORDERED_NUMBERS] = record->kind == OWN_LOST
						  ? record->arg64
						  : (uint64_t)(uintptr_t)(numbers + record->arg64);
	ordered->words[ORDERED_CHANNEL] = shard_channel(shard);
	ordered->words[ORDERED_FLAGS] =
		record->kind == OWN_NAME ? (uint32_t)record->arg32 : record->arg16;
}

/* ---- disks ---- */

struct disk {
	uint32_t dev;
	char name[ROW_KEY_NAME_BYTES];
	struct requests open;
	uint64_t since;          /* ns: the depth is accounted for up to this time */
	struct keyed_row *keyed; /* its row, NULL: not requested yet */
};

HASH_MAP(disks, struct disk *)

/* The state of a trace. */
struct block {
	struct disks disks;
	VEC(uint64_t) channels; /* that had events of requests */
	uint64_t now;           /* ns: what comes late comes then */
	/* ns: what is open then may have completed unseen; 0: none.  Both may lie behind the end of
	 * the trace, and then nothing is. */
	uint64_t lost_from, lost_until;
};

/* The kernel's number of a device: 12 bits of major, 20 of minor. */
static struct disk *disk_of(struct block *block, uint32_t dev)
{
	struct disk **at = disks_put(&block->disks, dev, NULL);

	if (!*at) {
		*at = mem_alloc(sizeof(**at));
		(*at)->dev = dev;
		(void)snprintf((*at)->name, sizeof((*at)->name), "(%" PRIu32 ",%" PRIu32 ")",
			       dev >> 20, dev & 0xFFFFF);
	}
	return *at;
}

static uint64_t *disk_row(struct shard *shard, struct disk *disk)
{
	const struct row_key key = { .id = disk->dev };

	if (!disk->keyed) {
		disk->keyed = shard_keyed(shard, DISKS, &key);
		keyed_label(disk->keyed, disk->name);
	}
	return shard_keyed_again(shard, disk->keyed);
}

static void rename_disk(struct disk *disk, const uint64_t *numbers)
{
	struct row_key name = row_key_of_numbers(0, numbers);

	if (name.name[0]) {
		memcpy(disk->name, name.name, sizeof(disk->name));
		if (disk->keyed) {
			keyed_label(disk->keyed, disk->name);
		}
	}
}

/* ---- time ---- */

/* Accounts for the time of the disk up to @ts. */
static void account_until(struct shard *shard, struct disk *disk, uint64_t ts)
{
	uint64_t *row;

	if (ts <= disk->since) {
		return;
	}
	if (disk->open.depth > 0) {
		row = disk_row(shard, disk);
		row[DISK_BUSY] += ts - disk->since;
		row[DISK_DEPTH] += disk->open.depth * (ts - disk->since);
		column_raise(row, DISK_DEPTH_MAX, disk->open.depth);
	}
	disk->since = ts;
}

/* The same, and forgets what is open for too long. */
static void pass_time(struct shard *shard, struct disk *disk, uint64_t ts)
{
	uint64_t over;

	while (requests_oldest_is_over(&disk->open, ts, &over)) {
		account_until(shard, disk, over);
		shard_trace_row(shard, TOTALS)[CUT] += requests_forget_oldest(&disk->open);
	}
	account_until(shard, disk, ts);
}

static void cut_all(struct shard *shard, struct block *block, uint64_t ts)
{
	HASH_EACH(disks, &block->disks, one) {
		pass_time(shard, one->value, ts);
		shard_trace_row(shard, TOTALS)[CUT] += requests_cut(&one->value->open);
	}
}

/* Goes on to @ts, over what is lost: there as well if nothing comes in that ns but issues. */
static void advance(struct shard *shard, struct block *block, uint64_t ts, bool is_last)
{
	if (block->lost_from != 0 && block->lost_from < ts + is_last) {
		cut_all(shard, block, block->lost_from);
		block->lost_from = 0;
	}
	if (block->lost_from == 0 && block->lost_until != 0 && block->lost_until <= ts) {
		cut_all(shard, block, block->lost_until);
		block->lost_until = 0;
	}
	block->now = ts;
}

/* ---- events ---- */

/* Discards and flushes have bits of their own, and may have that of writes as well. */
static bool is_flush(const struct request *request)
{
	return request->sectors == 0 && (request->rwbs & (RWBS_FLUSH | RWBS_PREFLUSH));
}

/* What the request is read or written: one of the columns, -1 for neither. */
static int moved_column(const struct request *request, int read, int written)
{
	if ((request->rwbs & RWBS_DISCARD) || is_flush(request)) {
		return -1;
	}
	return request->rwbs & RWBS_WRITE ? written : request->rwbs & RWBS_READ ? read : -1;
}

static void note_longest(struct shard *shard, const struct disk *disk, const struct request *done,
			 uint64_t ts)
{
	shard_longest(shard, LONGEST,
		      &(struct instance){
			      .ns = ts - done->since,
			      .end = ts,
			      .more = { (int64_t)(done->sectors * SECTOR_BYTES) },
			      .cpu = UINT64_MAX,
			      .has_begun_by = done->tid > 0,
			      .begun_by = done->tid > 0 ? done->tid : 0,
			      .keyed = row_key_of(disk->dev, disk->name, sizeof(disk->name)) });
}

static void add_request(struct shard *shard, struct disk *disk, const struct request *done,
			uint64_t ts)
{
	uint64_t *totals = shard_trace_row(shard, TOTALS), *row = disk_row(shard, disk);
	int moved = moved_column(done, DISK_READ, DISK_WRITTEN);
	int timed = moved_column(done, DISK_READ_TIME, DISK_WRITE_TIME);
	uint64_t ns = ts - done->since;

	totals[REQUESTS]++;
	totals[DISCARDS] += (done->rwbs & RWBS_DISCARD) != 0;
	totals[FLUSHES] += is_flush(done) && !(done->rwbs & RWBS_DISCARD);
	row[DISK_REQUESTS]++;
	row[DISK_ERRORS] += done->has_failed;
	if (moved >= 0) {
		row[moved] += done->sectors * SECTOR_BYTES;
	}
	if (done->is_cut) {
		return;
	}
	column_add(row, DISK_TIME, ns);
	if (timed >= 0) {
		column_add(row, (unsigned int)timed, ns);
	}
	if (shard_is_long(shard, LONGEST, ns)) {
		note_longest(shard, disk, done, ts);
	}
}

/* Counts for the thread in the event; what is issued again counted before. */
static void issue(struct shard *shard, struct disk *disk, const struct ordered *ordered,
		  const struct request *request)
{
	bool was_queued, repeats = ordered->words[ORDERED_FLAGS] & ISSUE_REPEATS;
	uint64_t queued_ns, *row;
	enum issued how = requests_issue(&disk->open, request, repeats, &was_queued, &queued_ns);
	int moved = moved_column(request, THREAD_READ, THREAD_WRITTEN);

	if (how == ISSUED_AGAIN) {
		return;
	}
	shard_trace_row(shard, TOTALS)[CUT] += how == ISSUED_CUT;
	if (was_queued) {
		column_add(disk_row(shard, disk), DISK_QUEUED, queued_ns);
	}
	if (shard_tid(ordered->thread) <= 0) {
		return; /* the event names no thread */
	}
	row = shard_thread_row(ordered->shard, ordered->thread, THREADS);
	row[THREAD_REQUESTS]++;
	if (moved >= 0) {
		row[moved] += request->sectors * SECTOR_BYTES;
	}
}

static void apply(struct shard *shard, struct disk *disk, const struct ordered *ordered,
		  const struct request *request)
{
	struct request done;

	switch (ordered->kind) {
	case OWN_INSERT:
		requests_insert(&disk->open, request);
		break;
	case OWN_ISSUE:
		issue(shard, disk, ordered, request);
		break;
	case OWN_REQUEUE:
		shard_trace_row(shard, TOTALS)[REQUEUES] += requests_requeue(&disk->open, request);
		break;
	case OWN_COMPLETE:
		switch (requests_complete(&disk->open, request, &done)) {
		case COMPLETED:
			add_request(shard, disk, &done, request->since);
			break;
		case COMPLETED_ORPHAN:
			shard_trace_row(shard, TOTALS)[ORPHANS]++;
			break;
		case COMPLETED_IN_PART:
		case COMPLETED_NOTHING:
			break;
		}
		break;
	}
}

static void on_request_event(struct shard *shard, struct block *block,
			     const struct ordered *ordered)
{
	const uint64_t *numbers = (const uint64_t *)(uintptr_t)ordered->words[ORDERED_NUMBERS];
	struct disk *disk = disk_of(block, (uint32_t)numbers[WORD_DEV]);
	uint32_t number = numbers[WORD_RWBS] >> 32;
	const struct request request = {
		.sector = numbers[WORD_SECTOR],
		.sectors = numbers[WORD_SECTORS],
		.left = numbers[WORD_SECTORS],
		.since = block->now,
		.rwbs = (uint32_t)numbers[WORD_RWBS],
		.tid = ordered->kind == OWN_COMPLETE ? 0 : (int32_t)number,
		.has_failed = ordered->kind == OWN_COMPLETE && number != 0,
	};

	pass_time(shard, disk, block->now);
	apply(shard, disk, ordered, &request);
	if (disk->open.depth > 0) {
		column_raise(disk_row(shard, disk), DISK_DEPTH_MAX, disk->open.depth);
	}
}

/* Whether events of requests may be among those that the channel has lost: it had some before. */
static bool has_requests(const struct block *block, uint64_t channel)
{
	for (size_t i = 0; i < block->channels.count; i++) {
		if (block->channels.at[i] == channel) {
			return true;
		}
	}
	return block->channels.count == BLOCK_CHANNELS_MAX;
}

/* Nothing comes between the loss and the event that advances over it, so one cut is enough. */
static void note_lost(struct block *block, uint64_t ts, uint64_t until)
{
	if (block->lost_from == 0) {
		block->lost_from =
			block->lost_until != 0 && block->lost_until < ts ? block->lost_until : ts;
	}
	block->lost_until = until > block->lost_until ? until : block->lost_until;
}

static void on_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	struct block *block = state;
	uint64_t ts = ordered->ts < block->now ? block->now : ordered->ts;
	uint64_t channel = ordered->words[ORDERED_CHANNEL];
	uint64_t word = ordered->words[ORDERED_NUMBERS];

	if (ordered->kind == OWN_LOST) {
		if (has_requests(block, channel)) {
			note_lost(block, ts, word);
		}
		return;
	}
	advance(shard, block, ts, ordered->kind == OWN_ISSUE);
	if (ordered->kind == OWN_NAME) {
		rename_disk(disk_of(block, (uint32_t)ordered->words[ORDERED_FLAGS]),
			    (const uint64_t *)(uintptr_t)word);
	} else {
		if (!has_requests(block, channel)) {
			*vec_push(&block->channels) = channel;
		}
		on_request_event(shard, block, ordered);
	}
}

static void on_ordered_hole(struct shard *shard, void *state, uint64_t ts)
{
	struct block *block = state;

	advance(shard, block, ts < block->now ? block->now : ts, true);
	cut_all(shard, block, block->now);
}

static void on_ordered_window_end(struct shard *shard, void *state, uint64_t end)
{
	struct block *block = state;

	advance(shard, block, end < block->now ? block->now : end, true);
	HASH_EACH(disks, &block->disks, one) {
		pass_time(shard, one->value, block->now);
		disk_row(shard, one->value)[DISK_IN_FLIGHT] += one->value->open.depth;
		if (CHECKS_ON) {
			requests_check(&one->value->open);
		}
	}
}

/* ---- checkpoints ---- */

static void disk_codec(struct codec *codec, struct block *block, struct disk *disk)
{
	uint32_t dev = disk ? disk->dev : 0;

	codec_u32(codec, &dev);
	disk = disk ? disk : disk_of(block, dev);
	if (!codec_check(codec, disk->open.all.count == 0)) {
		return; /* it comes twice */
	}
	codec_bytes(codec, disk->name, sizeof(disk->name));
	codec_u64(codec, &disk->since);
	requests_codec(codec, &disk->open);
	if (!codec_check(codec, disk->name[sizeof(disk->name) - 1] == 0)) {
		disk->name[sizeof(disk->name) - 1] = 0;
	}
}

/* Rows are not part of it: they are requested again when they are needed. */
static void on_trace_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct block *block = state;
	size_t count = codec_count(codec, block->channels.count, sizeof(uint64_t));

	codec_each(codec, &block->now, &block->lost_from, &block->lost_until);
	for (size_t i = 0; i < count && codec_check(codec, count <= BLOCK_CHANNELS_MAX); i++) {
		codec_u64(codec, codec_at(codec, &block->channels, i));
	}
	count = codec_count(codec, block->disks.used, sizeof(struct disk *));
	if (!codec_reads(codec)) {
		HASH_EACH(disks, &block->disks, one) {
			disk_codec(codec, block, one->value);
		}
		return;
	}
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		disk_codec(codec, block, NULL);
	}
}

static void on_trace_forget(void *state)
{
	struct block *block = state;

	HASH_EACH(disks, &block->disks, one) {
		requests_fini(&one->value->open);
		free(one->value);
	}
	disks_fini(&block->disks);
	vec_fini(&block->channels);
}

#define REQUEST(event_, more, kind)                                                                \
	{                                                                                          \
		"block_rq_" event_, { "dev", "sector", "nr_sector", "rwbs", more }, on_request,    \
			kind                                                                       \
	}

static const struct need needs[] = {
	REQUEST("insert", "tid", OWN_INSERT),
	REQUEST("issue", "tid", OWN_ISSUE),
	{ "block_rq_complete",
	  { "dev", "sector", "nr_sector", "rwbs", "error", "errors" },
	  on_request,
	  OWN_COMPLETE },
	REQUEST("requeue", NULL, OWN_REQUEUE),
	{ "lttng_statedump_block_device", { "dev", "@diskname" }, on_name, OWN_NAME },
};

#define ISSUERS                                                                                    \
	.columns = {                                                                               \
		[THREAD_READ] = { "read_bytes", "READ", UNIT_BYTES },                              \
		[THREAD_WRITTEN] = { "write_bytes", "WRITTEN", UNIT_BYTES },                       \
		[THREAD_REQUESTS] = { "requests", "REQUESTS", UNIT_COUNT },                        \
	}

static const struct essential essentials[] = {
	{ ANY_EVENT("block_rq_issue") },
	{ ANY_EVENT("block_rq_complete"),
	  { [TOTALS] = ALL_COLUMNS ^ COLUMN(REQUEUES),
	    [DISKS] = ALL_COLUMNS ^ COLUMN(DISK_QUEUED),
	    [LONGEST] = ALL_COLUMNS } },
	{ ANY_EVENT("block_rq_insert"), { [DISKS] = COLUMN(DISK_QUEUED) } },
	{ ANY_EVENT("block_rq_requeue"), { [TOTALS] = COLUMN(REQUEUES) } },
};

const struct analysis analysis_block = {
	.name = "block",
	.summary = "requests of block devices: latency, queueing, throughput, use",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct worker_block),
	.trace_state_size = sizeof(struct block),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.of_all = OF_ALL_THREADS | OF_ALL_CPUS,
			.columns = {
				[REQUESTS] = { "requests", "requests", UNIT_COUNT },
				[DISCARDS] = { "discards", NULL, UNIT_COUNT },
				[FLUSHES] = { "flushes", NULL, UNIT_COUNT },
				[REQUEUES] = { "requeues", NULL, UNIT_COUNT },
				[ORPHANS] = { "orphans", NULL, UNIT_COUNT },
				[CUT] = { "cut", NULL, UNIT_COUNT },
			},
		},
		[DISKS] = {
			.key = "disks",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS | OF_ALL_CPUS,
			.name_key = "name",
			.title = "DISK",
			.lami_class = "disk",
			.sort_mask = 1u << DISK_READ | 1u << DISK_WRITTEN,
			.columns = {
				[DISK_REQUESTS] = { "requests", "REQUESTS", UNIT_COUNT },
				[DISK_READ] = { "read_bytes", "READ", UNIT_BYTES },
				[DISK_WRITTEN] = { "write_bytes", "WRITTEN", UNIT_BYTES },
				[DISK_ERRORS] = { "errors", NULL, UNIT_COUNT },
				[DISK_BUSY] = { "busy_ns", "BUSY", UNIT_NS, COLUMN_SUM, true },
				[DISK_DEPTH] = { "depth_ns", NULL, UNIT_NS },
				[DISK_DEPTH_MAX] = { "depth_max", NULL, UNIT_COUNT, COLUMN_MAX },
				[DISK_IN_FLIGHT] = { "in_flight", NULL, UNIT_COUNT, COLUMN_LAST },
				[DISK_TIME] = { "time", "DONE", UNIT_NS, COLUMN_HISTOGRAM },
				[DISK_QUEUED] = { "queued", NULL, UNIT_NS, COLUMN_HISTOGRAM },
				[DISK_READ_TIME] = { "read_time", NULL, UNIT_NS, COLUMN_HISTOGRAM },
				[DISK_WRITE_TIME] = { "write_time", NULL, UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << THREAD_READ | 1u << THREAD_WRITTEN,
			ISSUERS,
		},
		[PROCESSES] = {
			PROCESSES_TABLE,
			.sort_mask = 1u << THREAD_READ | 1u << THREAD_WRITTEN,
			ISSUERS,
		},
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.of_all = OF_ALL_THREADS | OF_ALL_CPUS,
			.name_key = "disk",
			.title = "LONGEST REQUESTS",
			.lami_class = "disk",
			.columns = {
				{ "ns", "TIME", UNIT_NS },
				{ "bytes", "BYTES", UNIT_BYTES },
			},
		},
		[CONTAINERS] = { CONTAINERS_TABLE, .sort_mask = 1u << THREAD_READ | 1u << THREAD_WRITTEN, ISSUERS },
	},
	.on_record = on_record,
	.record_words = (const uint8_t[RECORD_KINDS]){ [OWN_INSERT] = REQUEST_WORDS,
						       [OWN_ISSUE] = REQUEST_WORDS,
						       [OWN_COMPLETE] = REQUEST_WORDS,
						       [OWN_REQUEUE] = REQUEST_WORDS,
						       [OWN_NAME] = RECORD_TEXT },
	.on_ordered = on_ordered,
	.on_trace_checkpoint = on_trace_checkpoint,
	.on_trace_forget = on_trace_forget,
	.rare = &(const struct analysis_rare){ .on_lost = on_lost,
					       .on_ordered_hole = on_ordered_hole,
					       .on_ordered_window_end = on_ordered_window_end },
};
