/*
 * block: requests of block devices: latency, queueing, throughput, use (doc/definitions.md, 4.7).
 *
 *     insert ── queued ──► issue ──── time ────► complete (perhaps in parts)
 *
 * A request is identified by its device and first sector.  If a part of it completes, the rest goes
 * on at the sector after that part.  All records of a device reach the merger in time order,
 * whichever CPU they are from.  Devices that only pass requests on (dm, md, loop) have no such
 * events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"

enum { TOTALS, DISKS, THREADS, PROCESSES, LONGEST, CONTAINERS };
enum { REQUESTS, DISCARDS, FLUSHES, REQUEUES, ORPHANS, REPLACED };
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

enum { OWN_INSERT = RECORD_OWN, OWN_ISSUE, OWN_COMPLETE, OWN_REQUEUE, OWN_NAME, OWN_ISSUED };

enum { SECTOR_BYTES = 512 };

#define REQUEST_WORDS 4 /* beside a record: sector, sectors, rwbs, error */

/* Bits of rwbs as LTTng writes it. */
enum { RWBS_WRITE = 1, RWBS_DISCARD = 2, RWBS_READ = 4, RWBS_FLUSH = 256 };

/* ---- worker's half ---- */

enum { DEV, SECTOR, COUNT, RWBS, ERROR_OR_TID, ERRORS };

static void on_request(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t kind)
{
	uint64_t numbers[REQUEST_WORDS] = { event_u64(event, SECTOR, 0), event_u64(event, COUNT, 0),
					    event_u64(event, RWBS, 0), 0 };
	struct record *record;

	if (!event_has(event, DEV) || !event_has(event, SECTOR)) {
		return;
	}
	if (kind == OWN_COMPLETE) {
		numbers[3] = event_u64(event, ERROR_OR_TID, 0) | event_u64(event, ERRORS, 0);
	}
	record = worker_emit_entity(worker, event->ts, event_u64(event, DEV, 0), kind);
	record->arg64 = worker_numbers(worker, numbers, REQUEST_WORDS);
	if (kind == OWN_ISSUE && event_i64(event, ERROR_OR_TID, 0) > 0) {
		record = worker_emit(worker, event->ts, (int32_t)event_i64(event, ERROR_OR_TID, 0),
				     OWN_ISSUED);
		record->arg64 = numbers[1] * SECTOR_BYTES;
		record->arg32 = (int32_t)numbers[2];
	}
}

static void on_name(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t kind)
{
	enum { NAME_DEV, NAME_TEXT };
	const struct value *name = event_text(event, NAME_TEXT);

	if (event_has(event, NAME_DEV) && name) {
		worker_emit_entity(worker, event->ts, event_u64(event, NAME_DEV, 0), kind)->arg64 =
			worker_text(worker, name->bytes, name->len);
	}
}

/* ---- merger's half ---- */

struct request {
	uint64_t sector; /* the first that has not completed */
	uint64_t insert_ts, issue_ts;
	uint64_t sectors, left; /* at issue, and those of them that have not completed */
	uint64_t rwbs;
	bool is_inserted, is_issued, is_requeued;
};

HASH_MAP(requests, struct request)

struct disk {
	struct row_key key;
	char name[ROW_KEY_NAME_BYTES];
	struct requests open;
	uint64_t depth; /* requests issued and not complete */
	uint64_t since; /* ns: `depth` is accounted for up to this time */
};

static uint64_t *disk_row(struct shard *shard, const struct disk *disk)
{
	keyed_label(shard_keyed(shard, DISKS, &disk->key), disk->name);
	return shard_keyed_row(shard, DISKS, &disk->key);
}

/* Accounts for the time of the disk up to @ts. */
static void account_until(struct shard *shard, struct disk *disk, uint64_t ts)
{
	if (disk->depth > 0 && ts > disk->since) {
		uint64_t *row = disk_row(shard, disk);

		row[DISK_BUSY] += ts - disk->since;
		row[DISK_DEPTH] += disk->depth * (ts - disk->since);
		column_raise(row, DISK_DEPTH_MAX, disk->depth);
	}
	disk->since = ts;
}

static void change_depth(struct shard *shard, struct disk *disk, uint64_t ts, int change)
{
	account_until(shard, disk, ts);
	disk->depth += (uint64_t)change;
	column_raise(disk_row(shard, disk), DISK_DEPTH_MAX, disk->depth);
}

static struct request *find_request(struct disk *disk, uint64_t sector)
{
	struct request *at = requests_get(&disk->open, sector);

	return at;
}

static void remove_request(struct disk *disk, const struct request *request)
{
	(void)requests_drop(&disk->open, request->sector);
}

static struct request *put_request(struct shard *shard, struct disk *disk, uint64_t ts,
				   const struct request *request)
{
	struct request *at;

	if (disk->open.used >= REQUESTS_MAX) { /* completions are missing */
		shard_trace_row(shard, TOTALS)[REPLACED] += disk->open.used;
		change_depth(shard, disk, ts, -(int)disk->depth);
		requests_clear(&disk->open);
	}
	at = requests_put(&disk->open, request->sector, NULL);
	*at = *request;
	return at;
}

static void insert(struct shard *shard, struct disk *disk, uint64_t ts,
		   const struct request *request)
{
	struct request *open = find_request(disk, request->sector);

	if (!open) {
		open = put_request(shard, disk, ts, request);
		open->is_inserted = true;
		open->insert_ts = ts;
	}
}

/* The extent at issue counts: since its insertion, others may have been merged with the request. */
static void issue(struct shard *shard, struct disk *disk, uint64_t ts,
		  const struct request *request)
{
	struct request *open = find_request(disk, request->sector);
	uint64_t *totals = shard_trace_row(shard, TOTALS);

	if (!open) {
		open = put_request(shard, disk, ts, request);
	} else if (open->is_issued && open->is_requeued) {
		open->is_requeued = false; /* the first issue counts */
		return;
	} else if (open->is_issued) {
		totals[REPLACED]++;
		change_depth(shard, disk, ts, -1);
	}
	open->sectors = request->sectors;
	open->left = request->left;
	open->rwbs = request->rwbs;
	open->is_issued = true;
	open->issue_ts = ts;
	change_depth(shard, disk, ts, 1);
	if (open->is_inserted) {
		column_add(disk_row(shard, disk), DISK_QUEUED, ts - open->insert_ts);
	}
}

/* A request that has completed.  Discards and flushes have bits of their own, and may have that of
 * writes as well. */
static void add_request(struct shard *shard, struct disk *disk, const struct request *done,
			uint64_t ts, bool is_error)
{
	uint64_t *totals = shard_trace_row(shard, TOTALS), *row = disk_row(shard, disk);
	uint64_t ns = ts - done->issue_ts, bytes = done->sectors * SECTOR_BYTES;

	totals[REQUESTS]++;
	row[DISK_REQUESTS]++;
	row[DISK_ERRORS] += is_error;
	column_add(row, DISK_TIME, ns);
	if (done->rwbs & RWBS_DISCARD) {
		totals[DISCARDS]++;
	} else if ((done->rwbs & RWBS_FLUSH) && done->sectors == 0) {
		totals[FLUSHES]++;
	} else if (done->rwbs & RWBS_WRITE) {
		row[DISK_WRITTEN] += bytes;
		column_add(row, DISK_WRITE_TIME, ns);
	} else if (done->rwbs & RWBS_READ) {
		row[DISK_READ] += bytes;
		column_add(row, DISK_READ_TIME, ns);
	}
	if (shard_is_long(shard, LONGEST, ns)) {
		shard_longest(shard, LONGEST,
			      &(struct instance){ .ns = ns,
						  .end = ts,
						  .more = { (int64_t)bytes },
						  .cpu = UINT64_MAX,
						  .keyed = row_key_of(disk->key.id, disk->name,
								      sizeof(disk->name)) });
	}
}

static void complete(struct shard *shard, struct disk *disk, uint64_t ts,
		     const struct request *part, bool is_error)
{
	struct request *open = find_request(disk, part->sector), done;

	if (!open || !open->is_issued) {
		shard_trace_row(shard, TOTALS)[ORPHANS]++;
		return;
	}
	done = *open;
	remove_request(disk, &done);
	if (part->sectors > 0 && part->sectors < done.left) {
		done.sector += part->sectors;
		done.left -= part->sectors;
		open = find_request(disk, done.sector);
		if (open && open->is_issued) { /* its completion was not recorded */
			shard_trace_row(shard, TOTALS)[REPLACED]++;
			change_depth(shard, disk, ts, -1);
		}
		(void)put_request(shard, disk, ts, &done);
		return;
	}
	change_depth(shard, disk, ts, -1);
	add_request(shard, disk, &done, ts, is_error);
}

static void requeue(struct shard *shard, struct disk *disk, uint64_t sector)
{
	struct request *open = find_request(disk, sector);

	if (open && open->is_issued) {
		open->is_requeued = true;
		shard_trace_row(shard, TOTALS)[REQUEUES]++;
	}
}

/* The kernel's number of a device: 12 bits of major, 20 of minor. */
static struct disk *disk_of(struct shard *shard, struct thread *entity)
{
	struct disk **state = shard_thread_state(shard, entity), *disk = *state;
	uint64_t dev = shard_entity_id(entity) & UINT32_MAX;

	if (!disk) {
		disk = mem_alloc(sizeof(*disk));
		disk->key = (struct row_key){ .id = dev };
		(void)snprintf(disk->name, sizeof(disk->name), "(%" PRIu64 ",%" PRIu64 ")",
			       dev >> 20, dev & 0xFFFFF);
		*state = disk;
	}
	return disk;
}

static void on_issued(struct shard *shard, struct thread *thread, const struct record *record)
{
	uint64_t *row = shard_thread_row(shard, thread, THREADS);

	row[THREAD_REQUESTS]++;
	if (!(record->arg32 & RWBS_DISCARD)) {
		row[record->arg32 & RWBS_WRITE ? THREAD_WRITTEN : THREAD_READ] += record->arg64;
	}
}

static void request_codec(struct codec *codec, struct request *request)
{
	codec_each(codec, &request->sector, &request->insert_ts, &request->issue_ts,
		   &request->sectors, &request->left, &request->rwbs, &request->is_inserted,
		   &request->is_issued);
	codec_bool(codec, &request->is_requeued);
}

static void requests_codec(struct codec *codec, struct disk *disk)
{
	size_t count = codec_count(codec, disk->open.used, 51);
	struct request request = { 0 };

	if (!codec_reads(codec)) {
		HASH_EACH(requests, &disk->open, one) {
			request_codec(codec, &one->value);
		}
		return;
	}
	for (size_t i = 0; i < count && codec_check(codec, count <= REQUESTS_MAX); i++) {
		request_codec(codec, &request);
		*requests_put(&disk->open, request.sector, NULL) = request;
	}
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct disk **disk = state;
	bool has_disk = *disk != NULL;

	codec_bool(codec, &has_disk);
	if (!has_disk) {
		return;
	}
	if (!*disk) {
		*disk = mem_alloc(sizeof(**disk));
	}
	codec_u64(codec, &(*disk)->key.id);
	codec_bytes(codec, (*disk)->name, sizeof((*disk)->name));
	codec_each(codec, &(*disk)->depth, &(*disk)->since);
	requests_codec(codec, *disk);
	(void)codec_check(codec, (*disk)->name[sizeof((*disk)->name) - 1] == 0);
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *entity)
{
	struct request request = { 0 };
	struct disk *disk;

	if (record->kind == OWN_ISSUED) {
		on_issued(shard, entity, record);
		return;
	}
	disk = disk_of(shard, entity);
	numbers += record->arg64;
	if (record->kind == OWN_NAME) {
		struct row_key name = row_key_of_numbers(0, numbers);

		if (name.name[0]) {
			memcpy(disk->name, name.name, sizeof(disk->name));
		}
		return;
	}
	request.sector = numbers[0];
	request.sectors = request.left = numbers[1];
	request.rwbs = numbers[2];
	switch (record->kind) {
	case OWN_INSERT:
		insert(shard, disk, record->ts, &request);
		break;
	case OWN_ISSUE:
		issue(shard, disk, record->ts, &request);
		break;
	case OWN_COMPLETE:
		complete(shard, disk, record->ts, &request, numbers[3] != 0);
		break;
	case OWN_REQUEUE:
		requeue(shard, disk, request.sector);
		break;
	}
}

/* Requests that are open may have completed: when is unknown. */
static void on_doubt(struct shard *shard, struct thread *entity, uint64_t ts, unsigned int what)
{
	struct disk **state = shard_thread_state(shard, entity);

	if (*state && (what & DOUBT_HOLE)) {
		account_until(shard, *state, ts);
		(*state)->depth = 0;
		requests_clear(&(*state)->open);
	}
}

static void on_window_end(struct shard *shard, struct thread *entity, uint64_t end)
{
	struct disk **state = shard_thread_state(shard, entity);

	if (*state) {
		account_until(shard, *state, end);
		disk_row(shard, *state)[DISK_IN_FLIGHT] += (*state)->depth;
	}
}

static void on_forget(void *state)
{
	struct disk **disk = state;

	if (*disk) {
		requests_fini(&(*disk)->open);
		free(*disk);
	}
}

#define REQUEST(event_, more, kind)                                                                \
	{                                                                                          \
		"block_rq_" event_, { "dev", "sector", "nr_sector", "rwbs", more }, on_request,    \
			kind                                                                       \
	}

static const struct need needs[] = {
	REQUEST("insert", NULL, OWN_INSERT),
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
	.thread_state_size = sizeof(struct disk *), /* of entities; NULL in threads */
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
				[REPLACED] = { "replaced", NULL, UNIT_COUNT },
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
			.key = "processes",
			.scope = SCOPE_PROCESS,
			.has_containers = true,
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
	.on_checkpoint = on_checkpoint,
	.on_doubt = on_doubt,
	.on_window_end = on_window_end,
	.on_forget = on_forget,
};
