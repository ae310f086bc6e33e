/*
 * report-page: see report-page.h.
 */
#include "deep/report/report-page.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/page/page.h"
#include "base/units.h"
#include "deep/report/page-resources.h"
#include "deep/report/page-rows.h"
#include "deep/report/report-print.h"
#include "deep/resources/resources.h"

static void names_reset(struct page_names *names, size_t count)
{
	free(names->numbers);
	names->numbers = mem_alloc((count + 1) * sizeof(*names->numbers));
	names->named.count = 0;
}

static void names_fini(struct page_names *names)
{
	free(names->numbers);
	vec_fini(&names->named);
}

/* What is drawn. */
struct drawing {
	struct printer p;
	VEC(struct page_row) rows; /* CPUs, paths, threads */
	size_t paths, threads;     /* where these begin */
	bool *is_there;            /* by thread: it has a row */
	struct path_spans chosen;  /* ranges in which nothing is added up */
	struct page_names calls;   /* numbers of the system calls that are named */
	size_t detail;             /* intervals in those */
	size_t pieces;             /* intervals and sums of them that there is room for */
};

/* ---- rows ---- */

static void add_thread(struct drawing *d, uint32_t thread, size_t most)
{
	if (thread == NOBODY || d->is_there[thread] || d->rows.count - d->threads >= most) {
		return;
	}
	d->is_there[thread] = true;
	*vec_push(&d->rows) = page_row_thread(d->p.timeline, thread);
}

/* The explained thread and those on its path; threads that tables lead to; what ran longest. */
static void add_threads(struct drawing *d)
{
	const struct deep_report *report = d->p.report;
	const struct resource *resources[PAGE_RESOURCES_ROWS];
	size_t count = page_resources_rows(report, d->p.most, resources);

	add_thread(d, report->thread, PAGE_LANES);
	for (size_t i = 0; i < report->worst.count && i < PAGE_WORST; i++) {
		add_thread(d, report->worst.at[i].execution->thread, PAGE_LANES / 4);
		add_thread(d, report->worst.at[i].thread, PAGE_LANES / 4);
	}
	for (size_t i = 0; i < report->parts.at.count; i++) {
		add_thread(d, report->parts.at.at[i].thread, PAGE_LANES / 2);
	}
	for (size_t i = 0; i < report->victims.count; i++) {
		add_thread(d, report->victims.at[i].thread, PAGE_LANES * 5 / 8);
	}
	for (size_t i = 0; i < count; i++) {
		if (resources[i]->pairs.count > 0) {
			add_thread(d, resources[i]->pairs.at[0].who, PAGE_LANES * 5 / 8);
			add_thread(d, resources[i]->pairs.at[0].by, PAGE_LANES * 5 / 8);
		}
	}
	for (size_t i = 0; i < deep_report_rows(report->waits.count, d->p.most); i++) {
		add_thread(d, report->waits.at[i].thread, PAGE_LANES * 3 / 4);
	}
	for (size_t i = 0; i < report->threads.count && report->threads.at[i].run_ns > 0; i++) {
		add_thread(d, report->threads.at[i].thread, PAGE_LANES);
	}
}

#define WORST_PATHS 5 /* rows for paths of the worst executions */

static void add_rows(struct drawing *d)
{
	const struct deep_report *report = d->p.report;

	for (size_t i = 0; i < d->p.timeline->cpus.count; i++) {
		*vec_push(&d->rows) = page_row_cpu(d->p.timeline, &d->p.timeline->cpus.at[i]);
	}
	d->paths = d->rows.count;
	if (report->path.segments.count > 0) {
		*vec_push(&d->rows) = page_row_path(d->p.timeline, &report->path);
	}
	for (size_t i = 0; i < report->worst.count && i < WORST_PATHS; i++) {
		*vec_push(&d->rows) = page_row_path(d->p.timeline, &report->worst.at[i].path);
	}
	d->threads = d->rows.count;
	add_threads(d);
}

/* ---- chosen ranges ---- */

/* Adds a range with a margin, if all its intervals have room. */
static void choose(struct drawing *d, uint64_t begin, uint64_t end)
{
	const struct timeline *timeline = d->p.timeline;
	uint64_t margin = (end - begin) / 4 + 20000;
	struct path_span range;
	size_t items = 0;

	if (d->chosen.at.count >= PAGE_RANGES || end <= timeline->begin || begin >= timeline->end) {
		return;
	}
	range.begin = begin > timeline->begin + margin ? begin - margin : timeline->begin;
	range.end = end < timeline->end - margin ? end + margin : timeline->end;
	for (size_t i = 0; i < d->rows.count; i++) {
		items += page_row_within(&d->rows.at[i], &range);
	}
	if (d->detail + items <= PAGE_DETAIL) {
		d->detail += items;
		*vec_push(&d->chosen.at) = range;
	}
}

ORDER(by_begin, struct path_span, UP(begin))

static void join_overlapping(struct path_spans *spans)
{
	size_t count = 0;

	if (spans->at.count == 0) {
		return;
	}
	vec_sort(&spans->at, by_begin);
	for (size_t i = 1; i < spans->at.count; i++) {
		struct path_span *last = &spans->at.at[count];

		if (spans->at.at[i].begin > last->end) {
			spans->at.at[++count] = spans->at.at[i];
		} else if (spans->at.at[i].end > last->end) {
			last->end = spans->at.at[i].end;
		}
	}
	spans->at.count = count + 1;
}

/* What a reader looks at first: the worst executions, waits and inversions. */
static void choose_ranges(struct drawing *d)
{
	const struct deep_report *report = d->p.report;
	size_t most = d->p.most;

	for (size_t i = 0; i < report->worst.count; i++) {
		const struct execution *one = report->worst.at[i].execution;

		choose(d, one->arrival.ts, one->end);
	}
	for (size_t i = 0; i < deep_report_rows(report->rivals.findings.count, most); i++) {
		choose(d, report->rivals.findings.at[i].since, report->rivals.findings.at[i].end);
	}
	for (size_t i = 0; i < deep_report_rows(report->victims.count, most); i++) {
		const struct finding *longest = &report->victims.at[i].longest;

		choose(d, longest->since, longest->end);
	}
	for (size_t i = 0; i < deep_report_rows(report->waits.count, most); i++) {
		choose(d, report->waits.at[i].begin, report->waits.at[i].end);
	}
	for (size_t i = 0; report->jobs && i < report->jobs->worst.count && i < PAGE_RANGES; i++) {
		choose(d, report->jobs->worst.at[i]->begin, report->jobs->worst.at[i]->end);
	}
	join_overlapping(&d->chosen);
}

/* ---- a row as JSON ---- */

/* The columns of a row, which are printed one after the other. */
struct page_columns {
	struct drawing *d;
	const struct page_row *row;
	uint64_t last; /* begin of the piece before */
	VEC(int64_t) begins, who, facts, sums;
	VEC(char) states;
};

static int64_t number_of(struct page_columns *columns, uint32_t thread)
{
	return thread == NOBODY ? -1 : (int64_t)page_names_of(columns->d->p.names, thread);
}

/* Of a wait: who had the CPU, and the waker.  Of a sleep: its call, and what ended it: a thread,
 * or -2 and less, a cause. */
static void put_facts(struct page_columns *columns, const struct report_wait *wait,
		      const struct interval *interval)
{
	const struct timeline *timeline = columns->d->p.timeline;
	const struct deep_call *call;

	if (wait->state == STATE_WAIT || wait->state == STATE_PREEMPTED ||
	    wait->state == STATE_NEW) {
		*vec_push(&columns->facts) =
			number_of(columns, deep_report_rival(columns->d->p.report, wait, NULL));
		*vec_push(&columns->facts) =
			number_of(columns, interval->cause == CAUSE_TASK ? interval->who : NOBODY);
	} else if (wait->state == STATE_BLOCKED) {
		call = timeline_thread_call(timeline, timeline->threads.at[wait->thread],
					    interval->begin);
		*vec_push(&columns->facts) =
			call ? (int64_t)page_names_of(&columns->d->calls,
						      (uint32_t)(call - timeline->calls.at))
			     : -1;
		*vec_push(&columns->facts) = interval->cause == CAUSE_TASK
						     ? number_of(columns, interval->who)
						     : -2 - (int64_t)interval->cause;
	}
}

static void put_thread_facts(struct page_columns *columns, size_t item)
{
	const struct deep_thread *thread = columns->d->p.timeline->threads.at[columns->row->thread];
	const struct interval *interval = &thread->intervals.at[item];

	put_facts(columns,
		  &(struct report_wait){ .thread = columns->row->thread,
					 .begin = interval->begin,
					 .end = timeline_thread_until(thread, item),
					 .state = interval->state,
					 .cpu = interval->cpu },
		  interval);
}

/* A segment is an interval of its thread, or a part of one. */
static void put_path_facts(struct page_columns *columns, size_t item)
{
	const struct path_segment *segment = &columns->row->path->segments.at[item];
	const struct deep_thread *thread = columns->d->p.timeline->threads.at[segment->thread];
	size_t at = timeline_thread_before(thread, segment->begin + 1);

	assert(at != SIZE_MAX); /* it is alive in its segments */
	put_facts(columns,
		  &(struct report_wait){ .thread = segment->thread,
					 .begin = segment->begin,
					 .end = segment->end,
					 .state = segment->state,
					 .cpu = segment->cpu },
		  &thread->intervals.at[at]);
}

static void put_sum(struct page_columns *columns, const struct page_piece *piece)
{
	size_t at;
	int64_t states = 0;

	*vec_push(&columns->sums) = (int64_t)piece->count;
	at = columns->sums.count;
	*vec_push(&columns->sums) = 0;
	for (unsigned int state = 0; state < STATES; state++) {
		if (piece->ns[state] > 0) {
			*vec_push(&columns->sums) = state;
			*vec_push(&columns->sums) = (int64_t)piece->ns[state];
			states++;
		}
	}
	columns->sums.at[at] = states;
}

/* A sum has the letter of its longest state, the items themselves have digits. */
static void take_piece(void *user, const struct page_piece *piece)
{
	struct page_columns *columns = user;
	uint64_t begin = piece->begin - columns->d->p.timeline->begin;
	unsigned int most = 0;

	for (unsigned int state = 1; state < STATES; state++) {
		most = piece->ns[state] > piece->ns[most] ? state : most;
	}
	*vec_push(&columns->begins) = (int64_t)(begin - columns->last);
	columns->last = begin;
	*vec_push(&columns->states) = (char)((piece->count > 1 ? 'a' : '0') + most);
	if (columns->row->kind != PAGE_ROW_THREAD) {
		*vec_push(&columns->who) = number_of(columns, piece->who);
	}
	if (piece->count > 1) {
		put_sum(columns, piece);
		if (columns->row->kind != PAGE_ROW_THREAD) {
			*vec_push(&columns->sums) = (int64_t)piece->who_ns;
		}
	} else if (columns->row->kind == PAGE_ROW_THREAD) {
		put_thread_facts(columns, piece->first);
	} else if (columns->row->kind == PAGE_ROW_PATH) {
		put_path_facts(columns, piece->first);
	}
}

static void put_numbers(struct printer *p, const char *key, const int64_t *numbers, size_t count)
{
	if (count == 0) {
		return;
	}
	json_open(&p->json, key, '[');
	for (size_t i = 0; i < count; i++) {
		json_i64(&p->json, NULL, numbers[i]);
	}
	json_close(&p->json, ']');
}

/* Time since the start of the report, within it. */
static uint64_t relative(const struct printer *p, uint64_t ts)
{
	ts = ts > p->timeline->end ? p->timeline->end : ts;
	return ts > p->timeline->begin ? ts - p->timeline->begin : 0;
}

static void put_row(struct drawing *d, const struct page_row *row)
{
	struct page_columns columns = { .d = d, .row = row };
	struct printer *p = &d->p;

	page_row_each(row, &d->chosen, take_piece, &columns);
	*vec_push(&columns.states) = '\0';
	json_open(&p->json, NULL, '{');
	switch (row->kind) {
	case PAGE_ROW_CPU:
		json_u64(&p->json, "cpu", row->cpu->id);
		json_u64(&p->json, "end", relative(p, p->timeline->end));
		break;
	case PAGE_ROW_PATH:
		json_u64(&p->json, "end", relative(p, row->path->end));
		break;
	case PAGE_ROW_THREAD:
		json_u64(&p->json, "n", page_names_of(p->names, row->thread));
		json_u64(&p->json, "end", relative(p, p->timeline->threads.at[row->thread]->end));
		break;
	}
	json_u64(&p->json, "bin", row->bin);
	put_numbers(p, "begins", columns.begins.at, columns.begins.count);
	json_text(&p->json, "states", columns.states.at);
	put_numbers(p, "who", columns.who.at, columns.who.count);
	put_numbers(p, "facts", columns.facts.at, columns.facts.count);
	put_numbers(p, "sums", columns.sums.at, columns.sums.count);
	json_close(&p->json, '}');
	vec_fini(&columns.begins);
	vec_fini(&columns.states);
	vec_fini(&columns.who);
	vec_fini(&columns.facts);
	vec_fini(&columns.sums);
}

static void put_rows(struct drawing *d, const char *key, size_t first, size_t past)
{
	json_open(&d->p.json, key, '[');
	for (size_t i = first; i < past; i++) {
		put_row(d, &d->rows.at[i]);
	}
	json_close(&d->p.json, ']');
}

/* ---- data ---- */

static void put_names(struct printer *p)
{
	json_open(&p->json, "names", '[');
	for (size_t i = 0; i < p->names->named.count; i++) {
		const struct deep_thread *thread = p->timeline->threads.at[p->names->named.at[i]];

		json_open(&p->json, NULL, '{');
		json_i64(&p->json, "tid", thread->tid);
		if (thread->pid >= 0) {
			json_i64(&p->json, "pid", thread->pid);
		}
		json_text(&p->json, "comm", thread->comm);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_calls(struct printer *p, const struct page_names *calls)
{
	json_open(&p->json, "calls", '[');
	for (size_t i = 0; i < calls->named.count; i++) {
		const struct deep_call *call = &p->timeline->calls.at[calls->named.at[i]];
		char *text = call->has_futex ? mem_printf("%s 0x%llx", call->name,
							  (unsigned long long)call->futex)
					     : NULL;

		json_text(&p->json, NULL, text ? text : call->name);
		free(text);
	}
	json_close(&p->json, ']');
}

static void put_found(struct printer *p)
{
	json_open(&p->json, "found", '[');
	for (size_t i = 0; i < p->report->found_count; i++) {
		const struct report_found *one = &p->report->found[i];

		json_open(&p->json, NULL, '{');
		json_u64(&p->json, "thread", page_names_of(p->names, one->thread));
		json_text(&p->json, "job", one->job);
		json_u64(&p->json, "count", one->count);
		json_u64(&p->json, "period_ns", one->period_ns);
		json_u64(&p->json, "jitter_ns", one->jitter_ns);
		json_u64(&p->json, "mean_ns", one->mean_ns);
		json_real(&p->json, "coverage", one->coverage);
		json_close(&p->json, '}');
	}
	json_close(&p->json, ']');
}

static void put_chosen(struct drawing *d)
{
	json_open(&d->p.json, "chosen", '[');
	for (size_t i = 0; i < d->chosen.at.count; i++) {
		json_u64(&d->p.json, NULL, relative(&d->p, d->chosen.at.at[i].begin));
		json_u64(&d->p.json, NULL, relative(&d->p, d->chosen.at.at[i].end));
	}
	json_close(&d->p.json, ']');
}

/* Which range of the trace this is, and why. */
static void put_label(struct printer *p)
{
	const struct report_range *range = &p->report->ranges[p->report->range];
	char begin[UNITS_TEXT_MAX];
	char *text = mem_printf("%.15s", units_clock(begin, p->timeline->begin));

	json_text(&p->json, "label", text);
	json_text(&p->json, "why", range->why);
	free(text);
}

static void put_data(struct drawing *d)
{
	struct printer *p = &d->p;

	json_open(&p->json, NULL, '{');
	report_json_put(p, "report");
	json_u64(&p->json, "begin_s", p->timeline->begin / NS_PER_S);
	json_u64(&p->json, "begin_rest_ns", p->timeline->begin % NS_PER_S);
	json_u64(&p->json, "thread_count", p->report->threads.count);
	if (p->report->range_count > 0) {
		put_label(p);
	}
	put_rows(d, "cpus", 0, d->paths);
	put_rows(d, "paths", d->paths, d->threads);
	json_bool(&p->json, "has_path", p->report->path.segments.count > 0);
	put_rows(d, "threads", d->threads, d->rows.count);
	if (p->report->resources) {
		page_resources_put(p, d->pieces / 8);
	}
	if (p->report->found) {
		put_found(p);
	}
	put_chosen(d);
	put_calls(p, &d->calls);
	put_names(p); /* all have numbers now */
	json_close(&p->json, '}');
}

/* Resources of a kind in a table: no fewer than have a row, whose index it is. */
static size_t table_rows(const struct drawing *d, size_t wanted)
{
	return deep_report_rows(d->p.most,
				wanted > PAGE_RESOURCES_ROWS ? wanted : PAGE_RESOURCES_ROWS);
}

/* The data in no more than @room bytes, with as many pieces as that allows. */
static char *make_data(struct drawing *d, size_t room, size_t *ret_len)
{
	struct page_names names = { 0 };
	char *data = NULL;

	d->p.names = &names;
	for (size_t pieces = PAGE_PIECES;; pieces /= 2) {
		names_reset(&names, d->p.timeline->threads.count);
		names_reset(&d->calls, d->p.timeline->calls.count);
		page_rows_fit(d->rows.at, d->rows.count, &d->chosen, pieces);
		d->pieces = pieces;
		d->p.resources_most = table_rows(d, pieces / 256);
		json_init(&d->p.json, open_memstream(&data, ret_len));
		assert(d->p.json.out);
		put_data(d);
		json_flush(&d->p.json);
		(void)fclose(d->p.json.out);
		if (page_size(data, *ret_len) <= room || pieces < d->rows.count) {
			break;
		}
		free(data);
	}
	names_fini(&names);
	names_fini(&d->calls);
	return data;
}

void report_page_add(struct report_page *page, const struct deep_report *report, size_t most)
{
	struct drawing d = { .p = { .report = report,
				    .timeline = report->timeline,
				    .most = deep_report_rows(most == 0 ? PAGE_ROWS : most,
							     PAGE_ROWS) } };
	size_t len;
	char *data;

	assert(page->parts > 0);
	if (page->count++ == 0) {
		page_begin(deep_page, page->out);
		(void)fputc('[', page->out);
	} else {
		(void)fputc(',', page->out);
	}
	d.is_there = mem_alloc(report->timeline->threads.count + 1);
	add_rows(&d);
	choose_ranges(&d);
	data = make_data(&d, PAGE_BYTES_MAX / page->parts, &len);
	page_put(data, len, page->out);
	free(data);
	free(d.is_there);
	vec_fini(&d.rows);
	vec_fini(&d.chosen.at);
}

void report_page_end(struct report_page *page)
{
	if (page->count > 0) {
		(void)fputc(']', page->out);
		page_end(deep_page, page->out);
	}
}
