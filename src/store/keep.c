/*
 * keep: see keep.h.
 */
#include "store/keep.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "base/units.h"
#include "store/keep-state.h"
#include "store/reader-state.h"
#include "store/store.h"

/* ---- the option ---- */

/* Durations, and days, weeks, years.  -ERANGE: more ns than a time of a store can have. */
static int parse_time(const char *text, size_t len, uint64_t *ret)
{
	static const struct {
		char letter;
		uint64_t ns;
	} units[] = { { 'd', KEEP_DAY_NS }, { 'w', 7 * KEEP_DAY_NS }, { 'y', 365 * KEEP_DAY_NS } };
	char word[32], *rest;

	if (len == 0 || len >= sizeof(word)) {
		return -EINVAL;
	}
	memcpy(word, text, len);
	word[len] = '\0';
	for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
		unsigned long long number = strtoull(word, &rest, 10);

		if (word[0] >= '0' && word[0] <= '9' && rest[0] == units[i].letter && !rest[1]) {
			*ret = number <= INT64_MAX / units[i].ns ? number * units[i].ns : 0;
			return *ret > 0 || number == 0 ? 0 : -ERANGE;
		}
	}
	return units_parse_duration(word, ret);
}

static int fail(struct err *err, const char *text, const char *what)
{
	return err_raise(err, -EINVAL, "--store-keep \"%s\": %s", text, what);
}

/* "1m:30d" at *at, which is moved behind it. */
static int take_level(const char *text, const char **at, struct store_keep *ret, struct err *err)
{
	struct keep_level *level = &ret->at[ret->count];
	size_t len = strcspn(*at, ","), first = strcspn(*at, ":,");
	int r;

	assert(ret->count <= KEEP_LEVELS_MAX);
	if (ret->count == KEEP_LEVELS_MAX) {
		return fail(err, text, "too many lengths");
	}
	level->length_ns = UINT64_MAX;
	if (first < len && parse_time(*at, first, &level->length_ns) < 0) {
		return fail(err, text, "expected LENGTH:AGE, such as 1m:30d");
	}
	first = first < len ? first + 1 : 0;
	r = parse_time(*at + first, len - first, &level->age_ns);
	if (r < 0 || level->age_ns == 0) {
		return fail(err, text,
			    r == -ERANGE ? "an age is at most 292y"
					 : "expected an age such as 12h, 7d or 2y");
	}
	*at += len + ((*at)[len] == ',');
	ret->count++;
	return 0;
}

/* Each slot lies in one day, and has whole windows of the lengths before. */
static int check_levels(const char *text, uint64_t interval_ns, const struct store_keep *keep,
			struct err *err)
{
	assert(keep->count > 0 && keep->count <= KEEP_LEVELS_MAX);
	for (size_t i = 0; i < keep->count; i++) {
		const struct keep_level *level = &keep->at[i], *last = i > 0 ? level - 1 : NULL;

		if (level->length_ns == UINT64_MAX) {
			if (keep->count > 1) {
				return fail(err, text, "of several ages each has a length");
			}
			continue;
		}
		if (level->length_ns == 0 || KEEP_DAY_NS % level->length_ns != 0) {
			return fail(err, text, "a length divides a day");
		}
		if (last &&
		    (level->length_ns <= last->length_ns ||
		     level->length_ns % last->length_ns != 0 || level->age_ns <= last->age_ns)) {
			return fail(err, text,
				    "each length is a multiple of the one before, and kept longer");
		}
		if (last && level->length_ns % interval_ns != 0) {
			return fail(err, text, "windows of -i do not fit into the lengths");
		}
	}
	return 0;
}

int store_keep_parse(const char *text, uint64_t interval_ns, struct store_keep *ret,
		     struct err *err)
{
	const char *at = text;
	int r = 0;

	*ret = (struct store_keep){ 0 };
	do {
		r = take_level(text, &at, ret, err);
	} while (r == 0 && at[-1] == ',');
	return r < 0 ? r : check_levels(text, interval_ns, ret, err);
}

void store_keep_usual(uint64_t interval_ns, struct store_keep *ret)
{
	uint64_t minute = 60 * NS_PER_S, shortest = interval_ns;

	if (interval_ns < NS_PER_S && NS_PER_S % interval_ns == 0) {
		shortest = NS_PER_S;
	}
	*ret = (struct store_keep){ .count = 1, .is_usual = true };
	ret->at[0] = (struct keep_level){ UINT64_MAX, 30 * KEEP_DAY_NS };
	if (shortest < minute && minute % shortest == 0) {
		ret->at[0] = (struct keep_level){ shortest, KEEP_DAY_NS };
		ret->at[1] = (struct keep_level){ minute, 30 * KEEP_DAY_NS };
		ret->count = 2;
	}
}

/* The usual ages are whole days. */
static const char *days_text(char text[UNITS_TEXT_MAX], uint64_t ns)
{
	assert(ns > 0 && ns % KEEP_DAY_NS == 0);
	(void)snprintf(text, UNITS_TEXT_MAX, ns > KEEP_DAY_NS ? "%" PRIu64 " days" : "a day",
		       ns / KEEP_DAY_NS);
	return text;
}

const char *store_keep_usual_text(const struct store_keep *keep, char ret[KEEP_TEXT_MAX])
{
	const struct keep_level *last = &keep->at[keep->count - 1];
	char shorter[UNITS_TEXT_MAX], longer[UNITS_TEXT_MAX];

	assert(keep->is_usual && keep->count > 0);
	(void)days_text(longer, last->age_ns);
	if (keep->count == 1) {
		(void)snprintf(ret, KEEP_TEXT_MAX, "windows stay for %s", longer);
	} else {
		(void)snprintf(ret, KEEP_TEXT_MAX, "windows stay for %s, those of a minute for %s",
			       days_text(shorter, keep->at[0].age_ns), longer);
	}
	return ret;
}

size_t store_keep_level(const struct store_keep *keep, uint64_t length_ns)
{
	size_t i = 0;

	assert(keep->count > 0);
	while (i + 1 < keep->count && keep->at[i].length_ns < length_ns) {
		i++;
	}
	return i;
}

/* ---- what a pass does in both databases ---- */

struct keep_fate keep_fate_of(const struct store_keep *keep, uint64_t level)
{
	size_t at = store_keep_level(keep, level);
	uint64_t length_ns = at + 1 < keep->count ? keep->at[at + 1].length_ns : 0;

	if (length_ns > 0 && length_ns % level != 0) { /* what fits nowhere stays longest */
		return (struct keep_fate){ keep->at[keep->count - 1].age_ns, 0 };
	}
	return (struct keep_fate){ keep->at[at].age_ns, length_ns };
}

int keep_now(struct store_reader *reader, uint64_t *ret, struct err *err)
{
	uint64_t first, last, now = now_wall_ns();
	int r = store_reader_span(reader, &first, &last, err);

	*ret = r < 0 ? 0 : last < now ? last : now;
	return r;
}

uint64_t keep_before(uint64_t now, uint64_t age_ns)
{
	return now > age_ns ? now - age_ns : 0;
}

int keep_choose(struct store_reader *reader, size_t trace, uint64_t length_ns, uint64_t begin,
		uint64_t end, struct store_windows *ret, struct err *err)
{
	size_t traces, kept = 0;
	bool *wanted;
	int r;

	assert(length_ns > 0 && begin <= end);
	(void)store_reader_traces(reader, &traces);
	assert(trace < traces);
	wanted = mem_alloc(traces);
	wanted[trace] = true;
	r = store_reader_windows(reader, wanted, length_ns, begin, end, ret, err);
	for (size_t i = 0; i < ret->at.count; i++) {
		if (length_ns % ret->at.at[i].level == 0) {
			ret->at.at[kept++] = ret->at.at[i];
		}
	}
	ret->at.count = kept;
	free(wanted);
	return r;
}

bool keep_is_again(const struct store_window *windows, size_t at)
{
	for (size_t i = at; i-- > 0 && windows[i].begin == windows[at].begin;) {
		if (windows[i].level == windows[at].level) {
			return true;
		}
	}
	return false;
}

/* Windows that had not all analyses that the long one has: it is short of them. */
static uint64_t short_windows(const struct report *report, const struct store_window *windows,
			      size_t count)
{
	uint64_t lacks = 0, found = 0;

	for (size_t i = 0; i < report->part_count; i++) {
		const struct report_part *part = &report->parts[i];

		for (size_t a = 0; analyses[a]; a++) {
			lacks |= analyses[a] == part->analysis && part->known_ns > 0 &&
						 report_part_is_short(part)
					 ? UINT64_C(1) << a
					 : 0;
		}
	}
	for (size_t i = 0; i < count; i++) {
		found += windows[i].group == 0 && (lacks & ~windows[i].lists);
	}
	return found;
}

void keep_slot_fini(struct keep_slot *slot)
{
	if (slot->item) {
		store_item_free(slot->item);
	}
	if (slot->row) {
		store_item_free(slot->row);
	}
}

int keep_merge(struct store_reader *reader, const struct store_window *windows, size_t count,
	       uint64_t length_ns, uint64_t top, struct keep_slot *ret, struct err *err)
{
	struct rollup *rollup = rollup_new(length_ns, top, NULL, false);
	size_t traces;
	const struct store_trace *trace = &store_reader_traces(reader, &traces)[windows[0].trace];
	const struct report *merged;
	int r = 0;

	assert(count > 0 && length_ns > 0);
	*ret = (struct keep_slot){ 0 };
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct report report;

		assert(windows[i].trace == windows[0].trace && windows[i].level <= length_ns);
		r = store_reader_read(reader, &windows[i], &report, err);
		if (r == 0) {
			if (windows[i].level == length_ns && !report.complete) {
				ret->was_incomplete = true;
				ret->events = report.events;
			}
			ret->merged += windows[i].level < length_ns && !keep_is_again(windows, i);
			if (report_fits(&report, length_ns)) {
				rollup_add(rollup, &report, 0);
				continue;
			}
			assert(!ret->row); /* what comes next begins behind the slot */
			ret->row = store_item_merged(&trace->identity, trace->id, trace->uuid,
						     length_ns, &report);
		}
	}
	merged = r == 0 && ret->merged > 0 ? rollup_take(rollup) : NULL;
	if (merged) {
		ret->item = store_item_merged(&trace->identity, trace->id, trace->uuid, length_ns,
					      merged);
		ret->mixed = (struct store_gap){
			.begin = merged->begin,
			.end = merged->end,
			.windows = short_windows(merged, windows, count),
			.why = "merged with windows that have more analyses",
		};
	}
	rollup_free(rollup);
	return r;
}

int keep_count(struct store_reader *reader, uint64_t level, size_t trace, uint64_t begin,
	       uint64_t end, uint64_t *ret_windows, uint64_t *ret_events, struct err *err)
{
	sqlite3_stmt *found = NULL;
	int r = sqlite_prepare(reader->db, reader->path,
			       "SELECT count(*), sum(events) FROM windows WHERE level = ?"
			       " AND begin >= ? AND begin < ? AND trace = ?",
			       &found, err);

	assert(trace < reader->traces.count && begin <= end);
	sqlite_bind(found, 1, level, begin, end, reader->traces.at[trace].number);
	if (r == 0 && sqlite3_step(found) != SQLITE_ROW) {
		r = sqlite_failed(reader->db, reader->path, err);
	}
	*ret_windows = r < 0 ? 0 : (uint64_t)sqlite3_column_int64(found, 0);
	*ret_events = r < 0 ? 0 : (uint64_t)sqlite3_column_int64(found, 1);
	(void)sqlite3_finalize(found);
	return r;
}

bool keep_is_late(const struct keep_pass *pass, struct store_reader *reader,
		  const struct keep_slot *slot, uint64_t windows, uint64_t events, uint64_t begin,
		  uint64_t length_ns, struct store_gap *ret)
{
	*ret = (struct store_gap){ .begin = begin,
				   .end = begin + length_ns,
				   .windows = windows,
				   .why = "they came after longer windows were made" };
	if (!slot->was_incomplete || windows == 0 || events == slot->events) {
		return false; /* the same again, most likely */
	}
	pass->say("%s: %llu windows are left out: %s", store_reader_name(reader),
		  (unsigned long long)windows, ret->why);
	return true;
}

#define OVERDUE_NS (2 * KEEP_DAY_NS) /* a server drops whole days */

int store_keep_is_overdue(const struct keep_pass *pass, struct err *err)
{
	uint64_t oldest = pass->keep->at[pass->keep->count - 1].age_ns, first, last, now;
	char days[UNITS_TEXT_MAX];
	struct store_reader *reader = NULL;
	int r = store_reader_open(pass->url, pass->stop, &reader, err);

	assert(pass->keep->is_usual && pass->keep->count > 0);
	r = r < 0 ? r : store_reader_span(reader, &first, &last, err);
	if (r == 0) {
		now = last < now_wall_ns() ? last : now_wall_ns();
		r = last > 0 && first < keep_before(now, oldest + OVERDUE_NS);
	}
	if (r > 0) {
		pass->say("%s: it has windows of more than %s, so none is removed: "
			  "--store-keep says how long they stay",
			  store_reader_name(reader), days_text(days, oldest));
	}
	store_reader_close(reader);
	return r;
}

int store_keep_pass(const struct keep_pass *pass, struct err *err)
{
	const char *path;

	assert(pass->keep->count > 0);
	if (store_is_clickhouse(pass->url)) {
		return keep_pass_server(pass, err);
	}
	path = store_file_of(pass->url, err);
	return path ? keep_pass_file(pass, path, err) : -EINVAL;
}
