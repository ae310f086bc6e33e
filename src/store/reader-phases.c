/*
 * reader-phases: the phases of a store; see reader.h.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "phases/phase-line.h"
#include "store/reader-state.h"

#define PHASES                                                                                     \
	"SELECT trace, slice_ns, begin, \"end\", number FROM phases WHERE \"end\" > ? AND begin "  \
	"< ?"
#define PHASE "SELECT json FROM phases WHERE trace = ? AND slice_ns = ? AND begin = ?"

ORDER(by_phase_time, struct store_phase, UP(trace) UP(begin) UP(member) UP(slice_ns))

static int impossible(const struct store_reader *reader, struct err *err)
{
	return err_raise(err, -EIO, "%s: damaged: a phase is impossible", reader->path);
}

/* Stores of older versions have no such table. */
static int has_phases(struct store_reader *reader, struct err *err)
{
	sqlite3_stmt *columns = NULL;
	int r = sqlite_prepare(reader->db, reader->path,
			       "SELECT name FROM pragma_table_info('phases')", &columns, err);

	r = r < 0 ? r : sqlite_has_column(columns, "json");
	(void)sqlite3_finalize(columns);
	return r;
}

static uint32_t trace_by_number(const struct store_reader *reader, int64_t number)
{
	for (uint32_t i = 0; i < reader->traces.count; i++) {
		if (reader->traces.at[i].number == number) {
			return i;
		}
	}
	return UINT32_MAX;
}

/* @global: by its traces those of all stores; NULL: there is one.  Returns what sqlite3_step() did
 * last; SQLITE_CORRUPT: a row is impossible. */
static int take_phases(struct store_reader *reader, uint32_t member, const uint32_t *global,
		       const bool *wanted, sqlite3_stmt *rows, store_phases *ret)
{
	int step;

	while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
		uint32_t trace = trace_by_number(reader, sqlite3_column_int64(rows, 0));
		struct store_phase phase = {
			.trace = trace != UINT32_MAX && global ? global[trace] : trace,
			.member = member,
			.slice_ns = (uint64_t)sqlite3_column_int64(rows, 1),
			.begin = (uint64_t)sqlite3_column_int64(rows, 2),
			.end = (uint64_t)sqlite3_column_int64(rows, 3),
			.number = (uint64_t)sqlite3_column_int64(rows, 4),
		};

		if (sqlite3_column_int64(rows, 1) <= 0 || sqlite3_column_int64(rows, 2) < 0 ||
		    phase.begin > phase.end) {
			return SQLITE_CORRUPT;
		}
		if (trace != UINT32_MAX && wanted[phase.trace]) {
			*vec_push(ret) = phase;
		}
	}
	return step;
}

static int read_store_phases(struct store_reader *reader, uint32_t member, const uint32_t *global,
			     const bool *wanted, uint64_t begin, uint64_t end, store_phases *ret,
			     struct err *err)
{
	sqlite3_stmt *rows = NULL;
	int step, r = reader->mirror ? mirror_phases(reader->mirror, begin, end, err) : 0;

	r = r < 0 ? r : has_phases(reader, err);
	if (r <= 0) {
		return r;
	}
	r = sqlite_prepare(reader->db, reader->path, PHASES, &rows, err);
	if (r == 0) {
		sqlite_bind(rows, 1, begin, end < INT64_MAX ? end : INT64_MAX);
		step = take_phases(reader, member, global, wanted, rows, ret);
		r = step == SQLITE_DONE      ? 0
		    : step == SQLITE_CORRUPT ? impossible(reader, err)
					     : sqlite_failed(reader->db, reader->path, err);
	}
	(void)sqlite3_finalize(rows);
	return r;
}

static bool counts_before(const struct store_phase *a, const struct store_phase *b)
{
	return a->member != b->member ? a->member < b->member : a->slice_ns < b->slice_ns;
}

/* Each time once. */
static void keep_apart(store_phases *phases)
{
	size_t kept = 0;

	vec_sort(phases, by_phase_time);
	VEC_EACH(phases, phase) {
		struct store_phase *last = kept > 0 ? &phases->at[kept - 1] : NULL;

		if (!last || last->trace != phase->trace || last->end <= phase->begin) {
			phases->at[kept++] = *phase;
		} else if (counts_before(phase, last)) {
			*last = *phase;
		}
	}
	phases->count = kept;
}

int store_reader_phases(struct store_reader *reader, const bool *wanted, uint64_t begin,
			uint64_t end, store_phases *ret, struct err *err)
{
	int r = 0;

	assert(begin <= end && ret->count == 0);
	for (uint32_t m = 0; r == 0 && m < reader->members.count; m++) {
		r = read_store_phases(reader->members.at[m].reader, m, reader->members.at[m].global,
				      wanted, begin, end, ret, err);
	}
	if (reader->members.count == 0) {
		r = read_store_phases(reader, 0, NULL, wanted, begin, end, ret, err);
	}
	keep_apart(ret);
	return r;
}

/* The row of a file may be anything. */
static int take_record(struct store_reader *reader, sqlite3_stmt *row, struct phase_record *ret,
		       struct err *err)
{
	int step = sqlite3_step(row);
	const char *line = step == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;

	if (step != SQLITE_ROW && step != SQLITE_DONE) {
		return sqlite_failed(reader->db, reader->path, err);
	}
	arena_reset(&reader->texts);
	if (!line || phase_line_parse(line, strlen(line), &reader->texts, ret) < 0) {
		return impossible(reader, err);
	}
	return 0;
}

int store_reader_phase(struct store_reader *reader, const struct store_phase *phase,
		       struct phase_record *ret, struct err *err)
{
	struct store_reader *one = reader;
	uint32_t trace = phase->trace;
	sqlite3_stmt *row = NULL;
	int r;

	if (reader->members.count > 0) {
		assert(phase->member < reader->members.count);
		one = reader->members.at[phase->member].reader;
		trace = reader->members.at[phase->member].own[trace];
	}
	assert(trace < one->traces.count);
	r = sqlite_prepare(one->db, one->path, PHASE, &row, err);
	if (r == 0) {
		sqlite_bind(row, 1, one->traces.at[trace].number, (int64_t)phase->slice_ns,
			    (int64_t)phase->begin);
		r = take_record(one, row, ret, err);
	}
	(void)sqlite3_finalize(row);
	return r;
}
