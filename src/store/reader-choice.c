/*
 * reader-choice: see reader-choice.h.
 */
#include "store/reader-choice.h"
#include "base/check.h"
#include "store/rows/head.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- times ---- */

ORDER(by_begin, struct span, UP(begin))

/* What overlaps or meets becomes one. */
static void unite(struct spans *spans)
{
	size_t kept = 0;

	vec_sort(&spans->at, by_begin);
	for (size_t i = 0; i < spans->at.count; i++) {
		struct span *last = kept > 0 ? &spans->at.at[kept - 1] : NULL;

		assert_hot(!last || last->begin <= spans->at.at[i].begin);
		if (last && spans->at.at[i].begin <= last->end) {
			last->end =
				spans->at.at[i].end > last->end ? spans->at.at[i].end : last->end;
		} else {
			spans->at.at[kept++] = spans->at.at[i];
		}
	}
	spans->at.count = kept;
}

/* Adds what the windows of one trace leave of the range. */
static void add_rest(const struct span *range, const struct spans *covered, struct spans *ret)
{
	uint64_t at = range->begin;

	for (size_t i = 0; i < covered->at.count; i++) {
		if (covered->at.at[i].begin > at) {
			*vec_push(&ret->at) = (struct span){ at, covered->at.at[i].begin };
		}
		at = covered->at.at[i].end > at ? covered->at.at[i].end : at;
	}
	if (at < range->end) {
		*vec_push(&ret->at) = (struct span){ at, range->end };
	}
}

/* Whether it lies in a time that no window covers yet. */
static bool is_free(const struct spans *covered, const struct span *window)
{
	size_t low = 0, high = covered->at.count;

	while (low < high) { /* the first that ends behind its begin */
		size_t middle = low + (high - low) / 2;

		if (covered->at.at[middle].end <= window->begin) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low == covered->at.count || covered->at.at[low].begin >= window->end;
}

/* ---- analyses ---- */

uint64_t store_reader_lists(const char *text)
{
	uint64_t lists = 0;

	for (size_t a = 0; analyses[a]; a++) {
		lists |= store_head_names(text, analyses[a]->name) ? UINT64_C(1) << a : 0;
	}
	return lists;
}

bool store_reader_wants(const struct store_reader *reader, const struct analysis *analysis)
{
	for (size_t i = 0; reader->list[i]; i++) {
		if (reader->list[i] == analysis) {
			return true;
		}
	}
	return false;
}

/* ---- groups ---- */

static void choice_group_fini(struct choice_group *group)
{
	vec_fini(&group->covered.at);
	vec_fini(&group->fresh.at);
	vec_fini(&group->windows.at);
}

void reader_choice_init(struct reader_choice *choice, struct store_reader *reader,
			const bool *wanted, uint64_t begin, uint64_t end)
{
	*choice = (struct reader_choice){
		.reader = reader,
		.wanted = wanted,
		.range = { begin, end },
		.traces = mem_alloc((reader->traces.count + 1) * sizeof(*choice->traces)),
	};
	for (size_t a = 0; analyses[a]; a++) {
		choice->asked |= store_reader_wants(reader, analyses[a]) ? UINT64_C(1) << a : 0;
	}
	for (size_t i = 0; i < reader->traces.count; i++) {
		if (wanted[i]) {
			*vec_push(&choice->traces[i].at) =
				(struct choice_group){ .lists = choice->asked | STORE_HEAD };
		}
	}
}

void reader_choice_fini(struct reader_choice *choice)
{
	for (size_t i = 0; i < choice->reader->traces.count; i++) {
		vec_fini_each(&choice->traces[i].at, choice_group_fini);
	}
	free(choice->traces);
	free(choice->text);
}

/* Those of the group that a window does not have go their own way from here on. */
static void split(struct choice_groups *groups, size_t at, uint64_t lists)
{
	struct choice_group *other = vec_push(&groups->at), *group = &groups->at.at[at];

	assert(at < groups->at.count);
	assert((group->lists & lists) && (group->lists & ~lists));
	*other = (struct choice_group){ .lists = group->lists & ~lists };
	vec_append(&other->covered.at, group->covered.at.at, group->covered.at.count);
	vec_append(&other->fresh.at, group->fresh.at.at, group->fresh.at.count);
	vec_append(&other->windows.at, group->windows.at.at, group->windows.at.count);
	group->lists &= lists;
}

/* ---- windows ---- */

uint32_t reader_choice_global(const struct choice_source *source, uint32_t trace)
{
	assert(trace < source->reader->traces.count);
	return source->global ? source->global[trace] : trace;
}

/* The trace of all stores that one of them calls so; UINT32_MAX: there is none.  Windows of one
 * time come by trace, so it is looked for from behind the last one. */
static uint32_t trace_of(struct reader_choice *choice, const struct choice_source *source,
			 int64_t number)
{
	const struct store_reader *reader = source->reader;
	size_t count = reader->traces.count;

	for (size_t i = 0; i < count; i++) {
		size_t at = (choice->next_trace + i) % count;

		if (reader->traces.at[at].number == number) {
			choice->next_trace = at + 1;
			return reader_choice_global(source, (uint32_t)at);
		}
	}
	return UINT32_MAX;
}

/* The analyses of a window: most have those of the one before. */
static uint64_t lists_of(struct reader_choice *choice, const char *text)
{
	if (!text) {
		return STORE_HEAD;
	}
	if (!choice->text || strcmp(choice->text, text) != 0) {
		free(choice->text);
		choice->text = mem_strdup(text);
		choice->lists = STORE_HEAD | store_reader_lists(text);
	}
	return choice->lists;
}

static bool is_free_in(const struct choice_group *group, const struct span *window)
{
	const struct span *last =
		group->fresh.at.count > 0 ? &group->fresh.at.at[group->fresh.at.count - 1] : NULL;
	/* A window of one moment covers it. */
	struct span shown = { window->begin,
			      window->end > window->begin ? window->end : window->begin + 1 };

	/* Of windows of one length that overlap, the one that begins first is taken. */
	return is_free(&group->covered, &shown) && (!last || last->end <= window->begin);
}

static void take(struct reader_choice *choice, const struct choice_source *source, uint64_t level,
		 sqlite3_stmt *row)
{
	struct span window = { (uint64_t)sqlite3_column_int64(row, 0),
			       (uint64_t)sqlite3_column_int64(row, 1) };
	uint32_t trace = trace_of(choice, source, sqlite3_column_int64(row, 2));
	uint64_t lists;
	struct choice_groups *groups;

	if (trace == UINT32_MAX || !choice->wanted[trace] || window.end < window.begin) {
		return;
	}
	lists = lists_of(choice, (const char *)sqlite3_column_text(row, 3));
	groups = &choice->traces[trace];
	for (size_t g = 0; g < groups->at.count; g++) {
		struct choice_group *group = &groups->at.at[g];

		if ((group->lists & lists) == 0 || !is_free_in(group, &window)) {
			continue;
		}
		if (group->lists & ~lists) {
			split(groups, g, lists);
			group = &groups->at.at[g];
		}
		*vec_push(&group->fresh.at) = window;
		*vec_push(&group->windows.at) = (struct store_window){ .level = level,
								       .begin = window.begin,
								       .end = window.end,
								       .trace = trace,
								       .member = source->member };
	}
}

static int take_range(struct reader_choice *choice, const struct choice_source *source,
		      uint64_t level, const struct span *range, struct err *err)
{
	struct store_reader *reader = source->reader;
	sqlite3_stmt *rows = NULL;
	int step = SQLITE_DONE;
	int r = sqlite_prepare(reader->db, reader->path,
			       "SELECT begin, \"end\", trace, analyses FROM windows WHERE level = ?"
			       " AND begin >= ? AND begin < ? ORDER BY level, begin, trace",
			       &rows, err);

	if (r == 0) {
		uint64_t end = range->end < INT64_MAX ? range->end : INT64_MAX;

		sqlite_bind(rows, 1, level, range->begin, end);
		while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
			take(choice, source, level, rows);
		}
	}
	r = r < 0 || step == SQLITE_DONE ? r : sqlite_failed(reader->db, reader->path, err);
	(void)sqlite3_finalize(rows);
	return r;
}

/* What windows of a length and trace have, some of them at least; by an index, from text to text.
 */
static int find_lists(const struct choice_source *source, uint64_t level, uint32_t trace,
		      uint64_t *ret, struct err *err)
{
	struct store_reader *reader = source->reader;
	sqlite3_stmt *next = NULL;
	char *last = mem_strdup("");
	bool goes_on = true;
	int r = sqlite_prepare(reader->db, reader->path,
			       "SELECT min(analyses) FROM windows WHERE trace = ? AND level = ?"
			       " AND analyses > ?",
			       &next, err);

	assert(trace < reader->traces.count);
	*ret = STORE_HEAD;
	while (r == 0 && goes_on) {
		sqlite_bind(next, 1, reader->traces.at[trace].number, level);
		(void)sqlite3_bind_text(next, 3, last, -1, SQLITE_TRANSIENT);
		r = sqlite3_step(next) == SQLITE_ROW ? 0
						     : sqlite_failed(reader->db, reader->path, err);
		goes_on = r == 0 && sqlite3_column_type(next, 0) == SQLITE_TEXT;
		if (goes_on) {
			free(last);
			last = mem_strdup((const char *)sqlite3_column_text(next, 0));
			*ret |= store_reader_lists(last);
		}
		(void)sqlite3_reset(next);
	}
	(void)sqlite3_finalize(next);
	free(last);
	return r;
}

/* Adds the times in which some group of the trace may find windows of that length. */
static int add_rests(struct reader_choice *choice, const struct choice_source *source,
		     uint64_t level, uint32_t trace, struct spans *rest, struct err *err)
{
	uint32_t own = source->own ? source->own[trace] : trace;
	const struct choice_groups *groups = &choice->traces[trace];
	uint64_t lists = STORE_HEAD;
	int r = 0;

	assert(groups->at.count > 0);
	if (own == UINT32_MAX) {
		return 0; /* this store does not have it */
	}
	if (groups->at.count > 1) {
		r = find_lists(source, level, own, &lists, err);
	}
	for (size_t g = 0; r == 0 && g < groups->at.count; g++) {
		if (groups->at.at[g].lists & lists) {
			add_rest(&choice->range, &groups->at.at[g].covered, rest);
		}
	}
	return r;
}

int reader_choice_take(struct reader_choice *choice, const struct choice_source *source,
		       uint64_t level, struct err *err)
{
	size_t traces = choice->reader->traces.count;
	struct spans rest = { 0 };
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < traces; i++) {
		if (choice->wanted[i]) {
			r = add_rests(choice, source, level, i, &rest, err);
		}
	}
	unite(&rest);
	for (size_t i = 0; r == 0 && i < rest.at.count; i++) {
		r = take_range(choice, source, level, &rest.at.at[i], err);
	}
	for (size_t i = 0; i < traces; i++) {
		VEC_EACH(&choice->traces[i].at, group) {
			vec_append(&group->covered.at, group->fresh.at.at, group->fresh.at.count);
			unite(&group->covered);
			group->fresh.at.count = 0;
		}
	}
	vec_fini(&rest.at);
	return r;
}

/* ---- the result ---- */

ORDER(by_trace, struct store_window, UP(trace) UP(begin) UP(group))

void reader_choice_windows(struct reader_choice *choice, struct store_windows *ret)
{
	for (size_t i = 0; i < choice->reader->traces.count; i++) {
		const struct choice_groups *groups = &choice->traces[i];
		uint64_t found = 0;
		uint32_t number = 1;

		for (size_t g = 0; g < groups->at.count; g++) {
			const struct choice_group *group = &groups->at.at[g];

			found |= group->windows.at.count > 0 ? group->lists & ~STORE_HEAD : 0;
		}
		for (size_t g = 0; g < groups->at.count; g++) {
			const struct choice_group *group = &groups->at.at[g];
			uint32_t own = group->lists & STORE_HEAD ? 0 : number++;

			for (size_t w = 0; w < group->windows.at.count; w++) {
				struct store_window *window = vec_push(&ret->at);

				*window = group->windows.at.at[w];
				window->lists = group->lists;
				window->expected = choice->reader->says_all ? choice->asked : found;
				window->group = own;
			}
		}
	}
	vec_sort(&ret->at, by_trace);
}
