/*
 * keep-server: a pass over a store in ClickHouse; see keep.h.
 *
 * Tables have a partition for each length and day.  When a day is old as a whole, its windows are
 * merged, trace by trace, and then the heads of its windows are dropped, so that no window is there
 * without its rows.  The rows follow when nothing is written any more.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/units.h"
#include "store/clickhouse/clickhouse-send.h"
#include "store/keep-state.h"
#include "store/reader-state.h"

/* Files of the server: windows of one length that begin on one day; or what is of no length. */
struct server_partition {
	char table[STORE_NAME_MAX];
	uint64_t level; /* 0: it has none */
	uint64_t day;   /* since the epoch */
	bool is_fresh;  /* written within the last hour */
};

struct server_pass {
	const struct keep_pass *pass;
	struct clickhouse_url url;
	struct clickhouse_link link;
	struct clickhouse_encoder *encoder;
	struct clickhouse_batch *batch;
	uint64_t now; /* ages count back from it */
	VEC(struct server_partition) partitions;
	struct err *err;
};

/* ---- what is there ---- */

static int ask(struct server_pass *s, char *statement, char **ret)
{
	int r = http_ask(s->link.http, statement, false, ret, s->err);

	free(statement);
	return r;
}

/* "windows\t(1000000000,20000)\t1".  The user may have tables and views of his own there. */
static void take_partition(struct server_pass *s, const char *line)
{
	struct server_partition partition = { 0 };
	size_t len = strcspn(line, "\t");
	const char *at = line + len + 1;
	char *past;

	if (len == 0 || len >= sizeof(partition.table) || line[len] != '\t') {
		return;
	}
	memcpy(partition.table, line, len);
	if (clickhouse_table_number(partition.table) == UINT32_MAX) {
		return;
	}
	if (*at == '(') {
		partition.level = strtoull(at + 1, &past, 10);
		past += *past == ',';
		partition.day = strtoull(past, &past, 10);
		past += *past == ')';
	} else {
		partition.day = strtoull(at, &past, 10);
	}
	if (*past == '\t' && past > at && (*at != '(' || partition.level > 0) &&
	    partition.day < INT64_MAX / KEEP_DAY_NS) {
		partition.is_fresh = past[1] == '1';
		*vec_push(&s->partitions) = partition;
	}
}

static int find_partitions(struct server_pass *s)
{
	char *lines = NULL;
	int r = ask(s,
		    mem_printf("SELECT `table`, `partition`,"
			       " max(`modification_time`) > now() - 3600 FROM system.parts"
			       " WHERE `database` = '%s' AND `active` GROUP BY `table`, `partition`"
			       " ORDER BY `table`, `partition` FORMAT TabSeparated",
			       s->url.database),
		    &lines);

	for (const char *at = lines; r == 0 && *at; at += strcspn(at, "\n"), at += *at == '\n') {
		take_partition(s, at);
	}
	free(lines);
	return r;
}

/* Whether all of the day is older than what is kept for that long. */
static bool is_old(const struct server_pass *s, uint64_t day, uint64_t age_ns)
{
	return (day + 1) * KEEP_DAY_NS <= keep_before(s->now, age_ns);
}

static bool has_windows(const struct server_pass *s, uint64_t level, uint64_t day)
{
	assert(level > 0);
	VEC_EACH(&s->partitions, one) {
		if (one->level == level && one->day == day && strcmp(one->table, "windows") == 0) {
			return true;
		}
	}
	return false;
}

/* ---- merging ---- */

/* Windows of one length and day, by longer ones. */
struct merge {
	uint64_t level, day, length_ns;
};

static int send(struct server_pass *s)
{
	int r = clickhouse_send(&s->link, s->batch, s->err);

	clickhouse_batch_free(s->batch);
	s->batch = clickhouse_batch_new();
	return r;
}

static int note_gap(struct server_pass *s, const struct store_gap *gap)
{
	int r = s->batch->gap.windows > 0 ? send(s) : 0; /* a batch notes one */

	clickhouse_encode_gap(s->encoder, gap, s->batch);
	return r;
}

/* A pass that was cut, or did not drop what it had merged, has left all that the long window has.
 */
static int note_late(struct server_pass *s, struct store_reader *reader,
		     const struct store_window *windows, size_t count, const struct merge *merge,
		     const struct keep_slot *slot)
{
	uint64_t begin = windows->begin / merge->length_ns * merge->length_ns, late, events;
	struct store_gap gap;
	int r = keep_count(reader, merge->level, windows->trace, begin, begin + merge->length_ns,
			   &late, &events, s->err);

	for (size_t i = 0; r == 0 && i < count; i++) {
		/* It is taken. */
		late -= windows[i].level == merge->level && !keep_is_again(windows, i);
	}
	if (r < 0 ||
	    !keep_is_late(s->pass, reader, slot, late, events, begin, merge->length_ns, &gap)) {
		return r;
	}
	return note_gap(s, &gap);
}

static int merge_slot(struct server_pass *s, struct store_reader *reader,
		      const struct store_window *windows, size_t count, const struct merge *merge)
{
	struct keep_slot slot;
	int r = keep_merge(reader, windows, count, merge->length_ns, s->pass->top, &slot, s->err);

	assert(count > 0 && merge->length_ns > 0);
	if (r == 0 && slot.was_incomplete) {
		r = note_late(s, reader, windows, count, merge, &slot);
	}
	if (r == 0 && slot.mixed.windows > 0) {
		r = note_gap(s, &slot.mixed);
	}
	if (slot.item && r == 0) {
		clickhouse_encode(s->encoder, slot.item, s->batch);
	}
	if (slot.row && slot.merged > 0 && r == 0) {
		clickhouse_encode(s->encoder, slot.row, s->batch);
	}
	keep_slot_fini(&slot);
	return r < 0 || s->batch->bytes < CLICKHOUSE_BATCH_BYTES ? r : send(s);
}

static int merge_slots(struct server_pass *s, struct store_reader *reader,
		       const struct store_windows *windows, const struct merge *merge)
{
	int r = 0;

	for (size_t i = 0, count; r == 0 && i < windows->at.count; i += count) {
		const struct store_window *first = &windows->at.at[i];

		count = 1;
		while (i + count < windows->at.count &&
		       first[count].begin / merge->length_ns == first->begin / merge->length_ns) {
			count++;
		}
		r = *s->pass->stop ? err_raise(s->err, -EINTR, "interrupted")
				   : merge_slot(s, reader, first, count, merge);
	}
	return r;
}

/* One trace's windows of a day.  Each reader has another place for a trace: others come and go. */
static int merge_trace(struct server_pass *s, const char *id, const struct merge *merge)
{
	struct store_reader *reader = NULL;
	struct store_windows windows = { 0 };
	const struct store_trace *traces = NULL;
	size_t count = 0, at = 0;
	int r = store_reader_open(s->pass->url, s->pass->stop, &reader, s->err);

	if (r == 0) {
		traces = store_reader_traces(reader, &count);
	}
	while (at < count && strcmp(traces[at].id, id) != 0) {
		at++;
	}
	if (r == 0 && at == count) {
		r = err_raise(s->err, -ENOENT, "%s: trace %s has gone", s->url.shown, id);
	}
	r = r < 0 ? r
		  : keep_choose(reader, at, merge->length_ns, merge->day * KEEP_DAY_NS,
				(merge->day + 1) * KEEP_DAY_NS, &windows, s->err);
	r = r < 0 ? r : merge_slots(s, reader, &windows, merge);
	vec_fini(&windows.at);
	store_reader_close(reader);
	return r;
}

static int merge_day(struct server_pass *s, const struct merge *merge)
{
	struct store_reader *reader = NULL;
	const struct store_trace *traces;
	VEC(char *) ids = { 0 };
	size_t count = 0;
	int r = store_reader_open(s->pass->url, s->pass->stop, &reader, s->err);

	if (r == 0) {
		traces = store_reader_traces(reader, &count);
		for (size_t i = 0; i < count; i++) {
			*vec_push(&ids) = mem_strdup(traces[i].id);
		}
		store_reader_close(reader);
	}
	for (size_t i = 0; i < ids.count; i++) {
		r = r < 0 ? r : merge_trace(s, ids.at[i], merge);
		free(ids.at[i]);
	}
	vec_fini(&ids);
	return r < 0 || s->batch->bytes == 0 ? r : send(s);
}

/* ---- dropping ---- */

/* Changes when a window of the partition is written. */
static int count_heads(struct server_pass *s, uint64_t level, uint64_t day, char **ret)
{
	return ask(
		s,
		mem_printf("SELECT count(), sum(`version`) FROM `windows` WHERE `level` = %" PRIu64
			   " AND intDiv(`begin`, %" PRIu64 ") = %" PRIu64 " FORMAT TabSeparated",
			   level, KEEP_DAY_NS, day),
		ret);
}

static int drop(struct server_pass *s, const struct server_partition *one)
{
	char *ignored = NULL;
	int r = one->level > 0 ? ask(s,
				     mem_printf("ALTER TABLE `%s` DROP PARTITION (%" PRIu64
						", %" PRIu64 ")",
						one->table, one->level, one->day),
				     &ignored)
			       : ask(s,
				     mem_printf("ALTER TABLE `%s` DROP PARTITION %" PRIu64,
						one->table, one->day),
				     &ignored);

	free(ignored);
	return r;
}

/* ---- one partition of windows ---- */

/* Merges the day's windows of this length, and drops their heads: then they are not there. */
static int keep_partition(struct server_pass *s, const struct server_partition *one)
{
	const struct keep_fate fate = keep_fate_of(s->pass->keep, one->level);
	const struct merge merge = { one->level, one->day, fate.length_ns };
	char *before = NULL, *after = NULL;
	int r;

	if (!is_old(s, one->day, fate.age_ns)) {
		return 0;
	}
	r = count_heads(s, one->level, one->day, &before);
	r = r < 0 || merge.length_ns == 0 ? r : merge_day(s, &merge);
	r = r < 0 ? r : count_heads(s, one->level, one->day, &after);
	if (r == 0 && strcmp(before, after) == 0) { /* else there is more to merge the next time */
		r = drop(s, one);
	}
	free(before);
	free(after);
	return r;
}

/* What is of no window goes when the last windows of its day do.  Rows go when no head is left, and
 * none can be on its way: it follows its rows at once. */
static int keep_other(struct server_pass *s, const struct server_partition *one)
{
	const struct store_keep *keep = s->pass->keep;
	bool is_other = false;

	for (size_t i = 0; sqlite_other_tables[i]; i++) {
		is_other |= strcmp(one->table, sqlite_other_tables[i]) == 0;
	}
	if (one->level > 0) {
		return !one->is_fresh && !has_windows(s, one->level, one->day) &&
				       is_old(s, one->day,
					      keep->at[store_keep_level(keep, one->level)].age_ns)
			       ? drop(s, one)
			       : 0;
	}
	return is_other && is_old(s, one->day, keep->at[keep->count - 1].age_ns) ? drop(s, one) : 0;
}

static int find_now(struct server_pass *s)
{
	struct store_reader *reader = NULL;
	int r = store_reader_open(s->pass->url, s->pass->stop, &reader, s->err);

	if (r == 0) {
		r = keep_now(reader, &s->now, s->err);
		store_reader_close(reader);
	}
	return r;
}

static int keep_all(struct server_pass *s)
{
	int r;

	s->partitions.count = 0;
	r = find_partitions(s);
	for (size_t i = 0; r == 0 && i < s->partitions.count && !*s->pass->stop; i++) {
		const struct server_partition *one = &s->partitions.at[i];

		r = strcmp(one->table, "windows") == 0 ? keep_partition(s, one)
						       : keep_other(s, one);
	}
	return r;
}

int keep_pass_server(const struct keep_pass *pass, struct err *err)
{
	struct server_pass s = { .pass = pass, .err = err };
	int r = clickhouse_url_parse(pass->url, &s.url, err);

	if (r < 0) {
		return r;
	}
	s.link = (struct clickhouse_link){ .http = http_new(&s.url, pass->stop), .url = &s.url };
	s.encoder = clickhouse_encoder_new(1);
	s.batch = clickhouse_batch_new();
	r = find_now(&s);
	for (size_t i = 0; r == 0 && i < pass->keep->count; i++) {
		r = keep_all(&s); /* what was merged may be old enough for the next length */
	}
	vec_fini(&s.partitions);
	clickhouse_batch_free(s.batch);
	clickhouse_encoder_free(s.encoder);
	http_free(s.link.http);
	clickhouse_url_fini(&s.url);
	return r;
}
