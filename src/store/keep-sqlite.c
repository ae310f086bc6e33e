/*
 * keep-sqlite: a pass over a file of SQLite; see keep.h.
 *
 * Each transaction merges some slots, or removes some windows.  It begins before what it reads is
 * read, so that nobody writes in between; others wait for it, so it is short.
 */
#include <assert.h>

#include "base/limits.h"
#include "base/units.h"
#include "store/keep-state.h"
#include "store/reader-state.h"
#include "store/sqlite/sqlite-write.h"

struct place_list {
	VEC(struct sqlite_place) at;
};

struct file_pass {
	const struct keep_pass *pass;
	struct sqlite_writer *writer;
	struct store_reader *reader;       /* of the transaction */
	uint64_t now;                      /* ages count back from it */
	size_t windows;                    /* that the transaction has read or removed */
	uint64_t levels[KEEP_LENGTHS_MAX]; /* the lengths of windows when it began */
	size_t level_count;
	struct err *err;
};

/* ---- what is due ---- */

/* The oldest windows of a length that begin before a time. */
static int find_old(struct file_pass *f, uint64_t level, uint64_t before, struct place_list *ret)
{
	struct store_reader *reader = f->reader;
	sqlite3_stmt *rows = NULL;
	int step = SQLITE_DONE;
	int r = sqlite_prepare(reader->db, reader->path,
			       "SELECT begin, trace, \"end\" FROM windows WHERE level = ?"
			       " AND begin < ? ORDER BY begin, trace LIMIT ?",
			       &rows, f->err);

	sqlite_bind(rows, 1, level, before, KEEP_WINDOWS_MAX);
	while (r == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		if ((uint64_t)sqlite3_column_int64(rows, 2) <= before) {
			*vec_push(&ret->at) =
				(struct sqlite_place){ (int64_t)level,
						       sqlite3_column_int64(rows, 0),
						       sqlite3_column_int64(rows, 1) };
		}
	}
	r = r < 0 || step == SQLITE_DONE ? r : sqlite_failed(reader->db, reader->path, f->err);
	(void)sqlite3_finalize(rows);
	return r;
}

/* All windows of a trace that begin in a slot and fit into it. */
static int find_in_slot(struct file_pass *f, int64_t trace, uint64_t begin, uint64_t length_ns,
			struct place_list *ret)
{
	struct store_reader *reader = f->reader;
	sqlite3_stmt *rows = NULL;
	int step = SQLITE_DONE;
	int r = sqlite_prepare(reader->db, reader->path,
			       "SELECT level, begin, trace FROM windows WHERE level = ? AND"
			       " begin >= ? AND begin < ? AND trace = ?",
			       &rows, f->err);

	assert(f->level_count <= KEEP_LENGTHS_MAX);
	sqlite_bind(rows, 2, begin, begin + length_ns, trace);
	for (size_t i = 0; r == 0 && i < f->level_count && step == SQLITE_DONE; i++) {
		if (length_ns % f->levels[i] != 0) {
			continue;
		}
		(void)sqlite3_reset(rows);
		(void)sqlite3_bind_int64(rows, 1, (int64_t)f->levels[i]);
		while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
			*vec_push(&ret->at) =
				(struct sqlite_place){ sqlite3_column_int64(rows, 0),
						       sqlite3_column_int64(rows, 1),
						       sqlite3_column_int64(rows, 2) };
		}
	}
	r = r < 0 || step == SQLITE_DONE ? r : sqlite_failed(reader->db, reader->path, f->err);
	(void)sqlite3_finalize(rows);
	return r;
}

/* ---- merging and removing ---- */

static int choose(struct file_pass *f, int64_t trace, uint64_t begin, uint64_t length_ns,
		  struct store_windows *ret)
{
	size_t count, at = 0;
	const struct store_trace *traces = store_reader_traces(f->reader, &count);

	while (at < count && traces[at].number != trace) {
		at++;
	}
	return at == count ? 0 /* a damaged store: nobody can read these */
			   : keep_choose(f->reader, at, length_ns, begin, begin + length_ns, ret,
					 f->err);
}

static int note_late(struct file_pass *f, const struct keep_slot *slot,
		     const struct place_list *places, const struct store_window *window,
		     uint64_t level, uint64_t length_ns)
{
	uint64_t shorter = 0, ignored, events, begin = window->begin / length_ns * length_ns;
	struct store_gap gap;
	int r = keep_count(f->reader, level, window->trace, begin, begin + length_ns, &ignored,
			   &events, f->err);

	for (size_t i = 0; i < places->at.count; i++) {
		shorter += (uint64_t)places->at.at[i].level < length_ns;
	}
	return r == 0 && keep_is_late(f->pass, f->reader, slot, shorter - slot->merged, events,
				      begin, length_ns, &gap)
		       ? sqlite_writer_add_gap(f->writer, &gap, f->err)
		       : r;
}

static int merge_slot(struct file_pass *f, int64_t trace, uint64_t begin, uint64_t level,
		      uint64_t length_ns)
{
	struct store_windows windows = { 0 };
	struct place_list places = { 0 };
	struct keep_slot slot = { 0 };
	int r = choose(f, trace, begin, length_ns, &windows);

	assert(length_ns > 0 && begin % length_ns == 0);
	r = r < 0 ? r : find_in_slot(f, trace, begin, length_ns, &places);
	if (r == 0 && windows.at.count > 0) {
		r = keep_merge(f->reader, windows.at.at, windows.at.count, length_ns, f->pass->top,
			       &slot, f->err);
	}
	if (r == 0 && slot.was_incomplete) {
		r = note_late(f, &slot, &places, &windows.at.at[0], level, length_ns);
	}
	if (r == 0 && slot.mixed.windows > 0) {
		r = sqlite_writer_add_gap(f->writer, &slot.mixed, f->err);
	}
	for (size_t i = 0; r == 0 && i < places.at.count; i++) {
		if (slot.item || (uint64_t)places.at.at[i].level < length_ns) {
			r = sqlite_writer_remove(f->writer, &places.at.at[i], f->err);
		}
	}
	r = r < 0 || !slot.item ? r : sqlite_writer_add(f->writer, slot.item, f->err);
	r = r < 0 || !slot.row || slot.merged == 0 ? r
						   : sqlite_writer_add(f->writer, slot.row, f->err);
	keep_slot_fini(&slot);
	f->windows += places.at.count + 1;
	vec_fini(&windows.at);
	vec_fini(&places.at);
	return r;
}

static int keep_level(struct file_pass *f, uint64_t level)
{
	const struct keep_fate fate = keep_fate_of(f->pass->keep, level);
	uint64_t length = fate.length_ns, before = keep_before(f->now, fate.age_ns);
	struct place_list old = { 0 };
	int r;

	before -= length > 0 ? before % length : 0; /* whole slots */
	r = find_old(f, level, before, &old);
	for (size_t i = 0; r == 0 && i < old.at.count && f->windows < KEEP_WINDOWS_MAX; i++) {
		struct sqlite_place *place = &old.at.at[i];
		uint64_t begin = length > 0 ? (uint64_t)place->begin / length * length : 0;
		bool is_done = false;

		for (size_t k = 0; length > 0 && k < i; k++) {
			is_done |= old.at.at[k].trace == place->trace &&
				   (uint64_t)old.at.at[k].begin / length * length == begin;
		}
		if (length == 0) {
			r = sqlite_writer_remove(f->writer, place, f->err);
			f->windows++;
		} else if (!is_done) {
			r = merge_slot(f, place->trace, begin, level, length);
		}
	}
	vec_fini(&old.at);
	return r;
}

/* ---- the pass ---- */

static int read_levels(struct file_pass *f)
{
	sqlite3_stmt *next = NULL;
	uint64_t level = 0;
	int r = sqlite_prepare(f->reader->db, f->reader->path, SQLITE_NEXT_LEVEL, &next, f->err);

	f->level_count = 0;
	while (r == 0 && f->level_count < KEEP_LENGTHS_MAX &&
	       (r = sqlite_next_level(f->reader->db, f->reader->path, next, &level, f->err)) == 0 &&
	       level > 0) {
		f->levels[f->level_count++] = level;
	}
	(void)sqlite3_finalize(next);
	return r;
}

/* 1: there may be more to do. */
static int one_transaction(struct file_pass *f)
{
	uint64_t oldest = f->pass->keep->at[f->pass->keep->count - 1].age_ns;
	int r = sqlite_writer_begin(f->writer, f->err);

	assert(!f->reader);
	f->windows = f->level_count = 0;
	r = r < 0 ? r : store_reader_open(f->pass->url, f->pass->stop, &f->reader, f->err);
	r = r < 0 ? r : read_levels(f);
	for (size_t i = 0; r == 0 && i < f->level_count && f->windows < KEEP_WINDOWS_MAX; i++) {
		r = keep_level(f, f->levels[i]);
	}
	if (r == 0 && f->level_count > 0) {
		r = sqlite_writer_remove_others(f->writer, keep_before(f->now, oldest), f->err);
	}
	r = sqlite_writer_end(f->writer, r, f->err);
	store_reader_close(f->reader);
	f->reader = NULL;
	return r < 0 ? r : f->windows > 0;
}

/* Before a transaction: it takes long, and nobody has to wait. */
static int find_now(struct file_pass *f)
{
	struct store_reader *reader = NULL;
	int r = store_reader_open(f->pass->url, f->pass->stop, &reader, f->err);

	r = r < 0 ? r : keep_now(reader, &f->now, f->err);
	store_reader_close(reader);
	return r;
}

int keep_pass_file(const struct keep_pass *pass, const char *path, struct err *err)
{
	struct file_pass f = { .pass = pass, .err = err };
	int r = sqlite_writer_open(path, 1, &f.writer, err);

	if (r < 0) {
		return r;
	}
	r = find_now(&f);
	do {
		r = r < 0 ? r : one_transaction(&f);
	} while (r > 0 && !*pass->stop);
	sqlite_writer_close(f.writer);
	return r < 0 ? r : 0;
}
