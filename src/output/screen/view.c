/*
 * view: see view.h; windows.
 */
#include "output/screen/view.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "output/screen/view-state.h"

struct view *view_new(void)
{
	struct view *view = mem_alloc(sizeof(*view));

	view->at = WINDOW_NEWEST;
	view->sort = SIZE_MAX;
	return view;
}

static void free_traces(struct view *view)
{
	VEC_EACH_OF(&view->traces, trace) {
		vec_free_each(&trace->windows, snapshot_free);
		free(trace->key);
		free(trace->host);
		free(trace->session);
		free(trace);
	}
	vec_fini(&view->traces);
}

void view_free(struct view *view)
{
	free_traces(view);
	free(view->jobs);
	free(view);
}

/* ---- windows ---- */

const struct report_table *view_table(const struct snapshot *snapshot, size_t index,
				      size_t *ret_count)
{
	const struct report_table *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < snapshot->report.table_count; i++) {
		if (snapshot->report.tables[i].table->scope != SCOPE_TRACE) {
			found = count++ == index ? &snapshot->report.tables[i] : found;
		}
	}
	*ret_count = count;
	return found;
}

size_t view_group(const struct snapshot *snapshot, size_t group)
{
	const struct analysis *analysis = NULL;
	const struct report_table *table;
	size_t count, groups = 0;

	for (size_t i = 0; (table = view_table(snapshot, i, &count)); i++) {
		if (table->analysis != analysis && groups++ == group) {
			return i;
		}
		analysis = table->analysis;
	}
	return SIZE_MAX;
}

static struct view_trace *trace_of(struct view *view, const char *key,
				   const struct trace_identity *identity)
{
	struct view_trace *trace;

	for (size_t i = 0; i < view->traces.count; i++) {
		if (strcmp(view->traces.at[i]->key, key) == 0) {
			return view->traces.at[i];
		}
	}
	trace = mem_alloc(sizeof(*trace));
	trace->key = mem_strdup(key);
	trace->host = mem_strdup(identity->host ? identity->host : "");
	trace->session = mem_strdup(identity->session ? identity->session : "");
	*vec_push(&view->traces) = trace;
	return trace;
}

static void drop_oldest(struct view *view, struct view_trace *trace)
{
	struct snapshot *oldest = trace->windows.at[0];

	assert(view->bytes >= oldest->bytes);
	view->bytes -= oldest->bytes;
	memmove(trace->windows.at, trace->windows.at + 1,
		--trace->windows.count * sizeof(trace->windows.at[0]));
	snapshot_free(oldest);
	if (trace == view->traces.at[view->trace] && view->at != WINDOW_NEWEST && view->at > 0) {
		view->at--;
	}
}

/* Threads are the most useful list, so they are shown first, and of programs their calls by name; a
 * list that is not recorded, last. */
static void choose_table(struct view *view, const struct snapshot *snapshot)
{
	const struct report_table *table;
	size_t count, known = SIZE_MAX, calls = SIZE_MAX;

	for (size_t i = 0; (table = view_table(snapshot, i, &count)); i++) {
		if (missing_is_whole(table->table, table->unknown)) {
			continue;
		}
		known = known == SIZE_MAX ? i : known;
		if (calls == SIZE_MAX && strcmp(table->analysis->name, "calls") == 0) {
			calls = i;
		}
		if (table->table->scope == SCOPE_THREAD) {
			known = calls == SIZE_MAX ? i : calls;
			break;
		}
	}
	view->table = known == SIZE_MAX ? 0 : known;
}

void view_change_trace(struct view *view, size_t at)
{
	const struct snapshot *snapshot;
	const struct report_table *table;
	size_t count;

	assert(at < view->traces.count);
	view->trace = at;
	view->at = WINDOW_NEWEST;
	snapshot = view_shown(view);
	table = snapshot ? view_table(snapshot, view->table, &count) : NULL;
	if (table && missing_is_whole(table->table, table->unknown)) {
		choose_table(view, snapshot); /* the kernel and programs have other lists */
	}
}

bool view_add(struct view *view, const struct trace_identity *trace, const struct report *report)
{
	struct snapshot *snapshot;
	struct view_trace *to;

	if (report->kind != REPORT_WINDOW) {
		return false;
	}
	snapshot = snapshot_new(trace, report, VIEW_ROWS_MAX);
	if (view->traces.count == 0) {
		choose_table(view, snapshot);
	}
	to = trace_of(view, snapshot->key, trace);
	*vec_push(&to->windows) = snapshot;
	view->bytes += snapshot->bytes;
	while (view->bytes > VIEW_BYTES_MAX && to->windows.count > 1) {
		drop_oldest(view, to);
	}
	assert(view->trace < view->traces.count);
	return to == view->traces.at[view->trace];
}

/* ---- windows of the owner ---- */

void view_browse(struct view *view)
{
	view->browses = true;
}

/* Keeps the shown list, where it is in the other window. */
static void keep_table(struct view *view, const struct table *shown)
{
	const struct snapshot *snapshot = view_shown(view);
	const struct report_table *table;
	size_t count;

	for (size_t i = 0; (table = view_table(snapshot, i, &count)); i++) {
		if (table->table == shown) {
			view->table = i;
			return;
		}
	}
	choose_table(view, snapshot);
}

void view_show(struct view *view, const struct trace_identity *trace, const struct report *report,
	       const char *status, size_t at, size_t traces)
{
	const struct snapshot *before = view_shown(view);
	struct snapshot *snapshot = snapshot_new(trace, report, VIEW_ROWS_MAX);
	const struct report_table *table;
	const struct table *shown = NULL;
	size_t count;

	assert(view->browses && at < traces);
	if (before && (table = view_table(before, view->table, &count))) {
		shown = table->table;
	}
	free_traces(view);
	*vec_push(&trace_of(view, snapshot->key, trace)->windows) = snapshot;
	assert(view->traces.count == 1);
	keep_table(view, shown);
	view->browsed = traces;
	view->browsed_at = at;
	view_show_status(view, status);
}

void view_show_status(struct view *view, const char *status)
{
	(void)snprintf(view->status, sizeof(view->status), " %s ", status);
}

enum view_move view_take_move(struct view *view, const char **ret_text)
{
	enum view_move move = view->move_count > 0 ? view->moves[0] : VIEW_STAYS;

	assert(view->move_count <= VIEW_MOVES_MAX);
	if (view->move_count > 0) {
		memmove(view->moves, view->moves + 1, --view->move_count * sizeof(view->moves[0]));
	}
	*ret_text = move == VIEW_TO_TRACE ? view->wanted : view->typed;
	return move;
}

void view_ask(struct view *view, enum view_move move)
{
	if (view->move_count < VIEW_MOVES_MAX) {
		view->moves[view->move_count++] = move;
	}
}

bool view_trace_matches(const char *host, const char *session, const char *text)
{
	return (host && strcasestr(host, text)) || (session && strcasestr(session, text));
}

/* ---- messages ---- */

void view_say(struct view *view, const char *text)
{
	(void)snprintf(view->message, sizeof(view->message), "%s", text);
}

void view_waits_for(struct view *view, const char *text)
{
	(void)snprintf(view->waiting, sizeof(view->waiting), "%s", text);
}

bool view_asks_jobs(struct view *view, const char **ret_host, const char **ret_session)
{
	const struct view_trace *trace = view_current(view);
	bool asks = view->asks_jobs && trace;

	view->asks_jobs = false;
	if (asks) {
		*ret_host = trace->host;
		*ret_session = trace->session;
	}
	return asks;
}

void view_show_jobs(struct view *view, const char *text)
{
	free(view->jobs);
	view->jobs = mem_strdup(text);
	view->jobs_top = 0;
}

const struct view_trace *view_current(const struct view *view)
{
	assert(view->traces.count == 0 || view->trace < view->traces.count);
	return view->traces.count > 0 ? view->traces.at[view->trace] : NULL;
}

const struct snapshot *view_shown(const struct view *view)
{
	const struct view_trace *trace = view_current(view);

	if (!trace || trace->windows.count == 0) {
		return NULL;
	}
	return trace->windows
		.at[view->at < trace->windows.count ? view->at : trace->windows.count - 1];
}
