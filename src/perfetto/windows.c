/*
 * windows: see windows.h.
 */
#include "perfetto/windows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/text/utf8.h"
#include "engine/tables/columns.h"
#include "output/notice.h"
#include "perfetto/tracks.h"

HASH_MAP(counters, uint64_t)

/* The tracks of what has one name: the time up to which each is taken. */
struct name_track {
	uint64_t track, until;
};

struct name_tracks {
	VEC(struct name_track) at;
};

HASH_MAP(tracks_by_name, struct name_tracks *)

#define SLICED 3 /* analyses whose instances are slices */

struct windows {
	struct perfetto *writer;
	char *trace;               /* the one that the tracks are of; NULL: none yet */
	uint64_t parent, triggers; /* tracks; 0: none yet */
	struct counters counters;  /* tracks by what they count */
	struct tracks_by_name slices;
	uint64_t lists[SLICED]; /* tracks that those are below, see sliced[]; 0: none yet */
};

/* What is shown of a distribution. */
static const struct {
	const char *name;
	unsigned int permille; /* 0: the count; 1000: the maximum */
} parts[] = { { ".count", 0 }, { ".p50", 500 }, { ".p99", 990 }, { ".max", 1000 } };

#define PARTS ARRAY_COUNT(parts)

static void forget_slices(struct windows *windows)
{
	HASH_EACH(tracks_by_name, &windows->slices, one) {
		vec_fini(&one->value->at);
		free(one->value);
	}
	tracks_by_name_clear(&windows->slices);
	memset(windows->lists, 0, sizeof(windows->lists));
}

/* ---- traces ---- */

static void begin_trace(struct windows *windows, const struct trace_identity *trace, uint64_t ts)
{
	char *text = output_trace_text(trace, true), *name;

	if (windows->trace && strcmp(windows->trace, text) == 0) {
		free(text);
		return;
	}
	free(windows->trace);
	windows->trace = text;
	counters_clear(&windows->counters);
	forget_slices(windows);
	windows->triggers = 0;
	writer_host(windows->writer, trace->host, NULL, ts);
	name = output_trace_text(trace, false);
	text = mem_printf("windows of %s", name);
	windows->parent = tracks_add(windows->writer, 0, text);
	free(name);
	free(text);
}

/* ---- counters ---- */

static Perfetto__CounterDescriptor__Unit unit_of(const struct column *column, size_t part)
{
	assert(part < PARTS);
	if (column->kind == COLUMN_HISTOGRAM && parts[part].permille == 0) {
		return PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_COUNT;
	}
	return column->unit == UNIT_NS      ? PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_TIME_NS
	       : column->unit == UNIT_BYTES ? PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES
					    : PERFETTO__COUNTER_DESCRIPTOR__UNIT__UNIT_COUNT;
}

/* "sched.wake.p99", "cpu.cpus[3].busy" */
static char *name_of(const struct report_table *table, const struct report_row *row,
		     const struct column *column, size_t part)
{
	size_t len = strlen(column->key);
	const char *of_part = column->kind == COLUMN_HISTOGRAM ? parts[part].name : "";
	char list[64] = "";

	if (len > 3 && strcmp(column->key + len - 3, "_ns") == 0) {
		len -= 3;
	}
	if (table->table->scope == SCOPE_CPU) {
		(void)snprintf(list, sizeof(list), "%s[%" PRIu64 "].", table->table->key, row->id);
	}
	return mem_printf("%s.%s%.*s%s", table->analysis->name, list, (int)len, column->key,
			  of_part);
}

/* A counter, by the number of its table in the report. */
struct counted {
	const struct report_table *table;
	const struct report_row *row;
	unsigned int number, column;
	size_t part;
};

static void count(struct windows *windows, const struct counted *counted, uint64_t ts,
		  uint64_t value)
{
	const struct column *column = &counted->table->table->columns[counted->column];
	uint64_t cpu = counted->table->table->scope == SCOPE_CPU ? counted->row->id : 0;
	uint64_t key =
		((uint64_t)counted->number * COLUMNS_MAX + counted->column) * PARTS + counted->part;
	char *name;
	uint64_t *at;

	key = key << 40 | (cpu & 0xFFFFFFFFFF);
	at = value == 0 ? counters_get(&windows->counters, key)
			: counters_put(&windows->counters, key, NULL);
	if (!at) {
		return;
	}
	assert(windows->parent != 0);
	if (*at == 0) {
		name = name_of(counted->table, counted->row, column, counted->part);
		*at = tracks_add_counter(windows->writer, windows->parent, name,
					 unit_of(column, counted->part));
		free(name);
	}
	tracks_count(windows->writer, *at, ts, value);
}

static uint64_t part_of(const struct histogram *histogram, size_t part)
{
	if (!histogram) {
		return 0;
	}
	return parts[part].permille == 0 ? histogram->count
	       : parts[part].permille == 1000
		       ? histogram->max
		       : histogram_percentile(histogram, parts[part].permille);
}

static void count_row(struct windows *windows, struct counted counted, uint64_t ts)
{
	const struct table *table = counted.table->table;

	assert(counted.row);
	for (unsigned int i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		counted.column = i;
		counted.part = 0;
		if (table->columns[i].kind == COLUMN_PRIO || report_is_unknown(counted.table, i)) {
			continue;
		}
		if (table->columns[i].kind != COLUMN_HISTOGRAM) {
			count(windows, &counted, ts, counted.row->values[i]);
			continue;
		}
		for (; counted.part < PARTS; counted.part++) {
			count(windows, &counted, ts,
			      part_of(column_histogram(counted.row->values, i), counted.part));
		}
	}
}

/* ---- slices ---- */

static const char *const sliced[SLICED] = { "periods", "jobs", "calls" };

/* The first track of the name that is free at @begin; 0: there are too many. */
static uint64_t free_track(struct windows *windows, uint64_t list, const char *name, uint64_t begin,
			   uint64_t end)
{
	uint64_t key = hash_text(list, name);
	struct name_tracks **of = tracks_by_name_get(&windows->slices, key);
	struct name_track *found = NULL;

	if (!of && windows->slices.used >= LANE_NAMES_MAX) {
		return 0;
	}
	of = of ? of : tracks_by_name_put(&windows->slices, key, NULL);
	*of = *of ? *of : mem_alloc(sizeof(**of));
	for (size_t i = 0; !found && i < (*of)->at.count; i++) {
		found = (*of)->at.at[i].until <= begin ? &(*of)->at.at[i] : NULL;
	}
	if (!found && (*of)->at.count >= LANES_MAX) {
		return 0;
	}
	if (!found) {
		found = vec_push(&(*of)->at);
		*found = (struct name_track){ .track = tracks_add(windows->writer, list, name) };
	}
	assert(found->until <= begin && begin <= end);
	found->until = end;
	return found->track;
}

/* Events that follow each other on one thread. */
struct stay {
	uint64_t begin, end, track;
	int32_t tid;
};

/* Those on known threads: how many. */
static size_t list_stays(const struct visits *visits, struct stay stays[VISITS_MAX])
{
	size_t count = 0;

	for (unsigned int i = 0, next; i < visits->count; i = next) {
		for (next = i + 1; next < visits->count && visits->tids[next] == visits->tids[i];
		     next++) {
		}
		if (visits->tids[i] > 0) {
			stays[count++] = (struct stay){ .begin = visits->ts[i],
							.end = visits->ts[next - 1],
							.tid = visits->tids[i] };
		}
	}
	return count;
}

/* Gives each a track, and leaves out those for which there is none. */
static size_t place_stays(struct windows *windows, uint64_t list, const char *name,
			  struct stay *stays, size_t count)
{
	size_t placed = 0;

	for (size_t i = 0; i < count; i++) {
		char *of_thread = mem_printf("%s: thread %d", name, (int)stays[i].tid);

		stays[placed] = stays[i];
		stays[placed].track =
			free_track(windows, list, of_thread, stays[i].begin, stays[i].end);
		placed += stays[placed].track != 0;
		free(of_thread);
	}
	return placed;
}

/* What goes over threads is a slice on each of them, too, with one flow through all of these. */
static void put_flow(struct windows *windows, uint64_t list, const char *name,
		     const struct visits *visits)
{
	struct stay stays[VISITS_MAX];
	size_t count = list_stays(visits, stays);
	uint64_t flow;

	count = count > 1 ? place_stays(windows, list, name, stays, count) : 0;
	flow = count > 1 ? writer_number(windows->writer) : 0;
	for (size_t i = 0; i < count; i++) {
		bool is_last = i + 1 == count;
		const struct tracks_flow at = { .in = is_last ? flow : 0,
						.out = is_last ? 0 : flow };

		tracks_begin(windows->writer, stays[i].track, stays[i].begin, name, at);
		tracks_end(windows->writer, stays[i].track, stays[i].end);
	}
}

static void put_slice(struct windows *windows, uint64_t list, const char *category,
		      const struct report_row *row)
{
	const struct instance *instance = row->instance;
	const char *name = row->label ? row->label : row->name;
	Perfetto__DebugAnnotation by = PERFETTO__DEBUG_ANNOTATION__INIT, tid = by, *args[2];
	struct tracks_said said = { .name = name, .category = category, .args = args };
	uint64_t begin = instance->end - instance->ns;
	uint64_t track = free_track(windows, list, name, begin, instance->end);
	char text[3 * sizeof(instance->by) + 1], by_name[] = "by", tid_name[] = "tid";

	if (track == 0) {
		return;
	}
	assert(instance->ns <= instance->end);
	if (utf8_copy(text, sizeof(text), instance->by, strlen(instance->by)) > 0) {
		by.name_field_case = PERFETTO__DEBUG_ANNOTATION__NAME_FIELD_NAME;
		by.name = by_name;
		by.value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
		by.string_value = text;
		args[said.arg_count++] = &by;
	}
	if (row->thread && row->thread->tid >= 0) {
		tid.name_field_case = PERFETTO__DEBUG_ANNOTATION__NAME_FIELD_NAME;
		tid.name = tid_name;
		tid.value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE;
		tid.int_value = row->thread->tid;
		args[said.arg_count++] = &tid;
	}
	tracks_put(windows->writer, track, begin, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
		   &said);
	tracks_end(windows->writer, track, instance->end);
	put_flow(windows, list, name, &instance->visits);
}

static int by_begin(const void *left, const void *right)
{
	const struct instance *a = (*(const struct report_row *const *)left)->instance;
	const struct instance *b = (*(const struct report_row *const *)right)->instance;
	uint64_t a_begin = a->end - a->ns, b_begin = b->end - b->ns;

	return a_begin != b_begin ? (a_begin > b_begin) - (a_begin < b_begin)
				  : (a->end < b->end) - (a->end > b->end);
}

static void put_slices(struct windows *windows, const struct report_table *table, uint64_t ts)
{
	VEC(const struct report_row *) rows = { 0 };
	size_t kind = 0;

	while (kind < ARRAY_COUNT(sliced) && strcmp(table->analysis->name, sliced[kind]) != 0) {
		kind++;
	}
	if (kind == ARRAY_COUNT(sliced) || table->row_count == 0) {
		return;
	}
	if (windows->lists[kind] == 0) {
		windows->lists[kind] = tracks_add(windows->writer, windows->parent, sliced[kind]);
	}
	for (size_t i = 0; i < table->row_count; i++) {
		*vec_push(&rows) = &table->rows[i];
	}
	vec_sort(&rows, by_begin);
	for (size_t i = 0; i < rows.count; i++) {
		put_slice(windows, windows->lists[kind], sliced[kind], rows.at[i]);
	}
	if (rows.count == LONGEST_MAX) {
		tracks_instant(windows->writer, windows->lists[kind], ts,
			       "only the longest of this window");
	}
	vec_fini(&rows);
}

static void report(struct output *output, const struct trace_identity *trace,
		   const struct report *report)
{
	struct windows *windows = output->state;

	if (report->kind != REPORT_WINDOW) {
		return;
	}
	begin_trace(windows, trace, report->begin);
	for (size_t i = 0; i < report->table_count; i++) {
		struct counted counted = { .table = &report->tables[i], .number = (unsigned int)i };
		enum scope scope = counted.table->table->scope;

		if (scope == SCOPE_LONGEST) {
			put_slices(windows, counted.table, report->begin);
		}
		for (size_t k = 0;
		     (scope == SCOPE_TRACE || scope == SCOPE_CPU) && k < counted.table->row_count;
		     k++) {
			counted.row = &counted.table->rows[k];
			count_row(windows, counted, report->begin);
		}
	}
}

/* ---- triggers ---- */

static void trigger(struct output *output, const struct trace_identity *trace,
		    const struct trigger_event *event)
{
	struct windows *windows = output->state;
	char values[256], *text;

	begin_trace(windows, trace, event->begin);
	if (windows->triggers == 0) {
		windows->triggers = tracks_add(windows->writer, windows->parent, "triggers");
	}
	notice_trigger_text(event, values, sizeof(values));
	text = mem_printf("%s: %s", event->name, values);
	tracks_instant(windows->writer, windows->triggers, event->end, text);
	free(text);
}

const struct sink windows_sink = {
	.name = "perfetto",
	.lacks_missing = true,
	.report = report,
	.trigger = trigger,
};

struct windows *windows_new(struct perfetto *writer)
{
	struct windows *windows = mem_alloc(sizeof(*windows));

	windows->writer = writer;
	return windows;
}

void windows_free(struct windows *windows)
{
	forget_slices(windows);
	tracks_by_name_fini(&windows->slices);
	counters_fini(&windows->counters);
	free(windows->trace);
	free(windows);
}
