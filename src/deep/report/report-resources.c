/*
 * report-resources: see report-resources.h.
 */
#include "deep/report/report-resources.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "deep/resources/resources.h"
#include "text/text-table.h"

#define NAME_ROOM 80
/* Pairs of threads below each row of text. */
#define PAIRS_SHOWN 3
/* Pairs of a resource in a page. */
#define PAGE_PAIRS 10

static const struct deep_thread *thread_of(const struct deep_report *report, uint32_t index)
{
	return index == NOBODY ? NULL : report->timeline->threads.at[index];
}

/* ---- text ---- */

static const char *who(char text[NAME_ROOM], const struct deep_report *report, uint32_t index)
{
	const struct deep_thread *thread = thread_of(report, index);

	if (!thread) {
		return "?";
	}
	(void)snprintf(text, NAME_ROOM, "%s (%d)", thread->comm[0] ? thread->comm : "?",
		       thread->tid);
	return text;
}

/* Of @count values; 0: there is no figure. */
static void put_ns(struct text_table *table, uint64_t count, double ns)
{
	char text[UNITS_TEXT_MAX];

	text_cell_format(table, "%s%s", count > 0 && ns < 0 ? "-" : "",
			 count == 0 ? "-" : units_ns(text, (uint64_t)fabs(ns)));
}

static void put_count(struct text_table *table, uint64_t count)
{
	if (count == 0) {
		text_cell(table, "-");
	} else {
		text_count(table, count);
	}
}

static double mean(const struct resource_sum *sum)
{
	return sum->count > 0 ? (double)sum->total / (double)sum->count : 0;
}

static const char *name_of(char text[NAME_ROOM], const struct resource *one)
{
	if (one->name) {
		(void)snprintf(text, NAME_ROOM, "%s", one->name);
	} else if (one->kind == RESOURCE_QUEUE) {
		(void)snprintf(text, NAME_ROOM, "descriptor %" PRIu64, one->address);
	} else {
		(void)snprintf(text, NAME_ROOM, "0x%" PRIx64, one->address);
	}
	if (one->pid >= 0) {
		size_t len = strlen(text);

		(void)snprintf(text + len, NAME_ROOM - len, " of %" PRId64, one->pid);
	} else if (one->may_be_shared) {
		size_t len = strlen(text);

		(void)snprintf(text + len, NAME_ROOM - len, " shared?");
	}
	return text;
}

static void put_pairs(const struct deep_report *report, const struct resource *one, FILE *out)
{
	for (size_t i = 0; i < deep_report_rows(one->pairs.count, PAIRS_SHOWN); i++) {
		const struct resource_pair *pair = &one->pairs.at[i];
		char by[NAME_ROOM], of[NAME_ROOM], total[UNITS_TEXT_MAX], longest[UNITS_TEXT_MAX];
		char times[UNITS_TEXT_MAX];

		if (one->kind == RESOURCE_TIMER) {
			(void)fprintf(out, "    wakes %s: %s time%s\n", who(of, report, pair->who),
				      units_count(times, pair->times), pair->times == 1 ? "" : "s");
			continue;
		}
		(void)fprintf(out, "    %s waited %s for %s: %s time%s, longest %s\n",
			      who(of, report, pair->who), units_ns(total, pair->total_ns),
			      who(by, report, pair->by), units_count(times, pair->times),
			      pair->times == 1 ? "" : "s", units_ns(longest, pair->longest_ns));
	}
	if (one->pairs.count > PAIRS_SHOWN) {
		(void)fprintf(out, "    ... and %zu more\n", one->pairs.count - PAIRS_SHOWN);
	}
}

static void put_timer(const struct resource *one, struct text_table *table)
{
	put_count(table, one->expiries);
	put_ns(table, one->period.count, mean(&one->period));
	put_ns(table, one->period.count, (double)one->period.min);
	put_ns(table, one->period.count, (double)one->period.max);
	put_ns(table, one->late_count,
	       one->late_total / (double)(one->late_count + !one->late_count));
	put_ns(table, one->late_count, (double)one->late_max);
	put_ns(table, one->callback.count, mean(&one->callback));
	put_count(table, one->cancelled);
	put_count(table, one->woken);
}

static void put_futex(const struct resource *one, struct text_table *table)
{
	put_count(table, one->waits.count);
	put_ns(table, one->waits.count, (double)one->waits.total);
	put_ns(table, one->waits.count, (double)one->waits.max);
	put_count(table, one->outcomes[OUTCOME_DONE]);
	put_count(table, one->outcomes[OUTCOME_AGAIN]);
	put_count(table, one->outcomes[OUTCOME_TIMED_OUT]);
	put_count(table, one->outcomes[OUTCOME_INTERRUPTED]);
	put_count(table, one->moved_in);
	put_count(table, one->wake_calls);
}

static void put_queue(const struct resource *one, struct text_table *table)
{
	put_count(table, one->sent);
	put_count(table, one->received);
	if (one->has_gap) {
		text_cell(table, "?");
	} else {
		put_count(table, (uint64_t)one->depth_max);
	}
	put_count(table, one->waits.count);
	put_ns(table, one->waits.count, (double)one->waits.total);
	put_ns(table, one->waits.count, (double)one->waits.max);
	put_count(table, one->full.count);
	put_ns(table, one->full.count, (double)one->full.total);
	put_count(table, one->outcomes[OUTCOME_AGAIN]);
	put_count(table, one->outcomes[OUTCOME_TIMED_OUT]);
}

static const struct {
	const char *columns;
	void (*put)(const struct resource *one, struct text_table *table);
} kinds[RESOURCE_KINDS] = {
	[RESOURCE_TIMER] = { "  TIMERS<26| EXPIRED>7| PERIOD>9| MIN>9| MAX>9| LATE>9| LATEST>9"
			     "| CALLBACK>9| CANCELS>7| WAKES>7",
			     put_timer },
	[RESOURCE_FUTEX] = { "  FUTEXES<26| WAITS>7| TIME>9| LONGEST>9| WOKEN>7| CHANGED>7"
			     "| TIMEOUT>7| SIGNALS>7| MOVED>7| WAKES>7",
			     put_futex },
	[RESOURCE_QUEUE] = { "  MESSAGE QUEUES<26| SENT>7| RECEIVD>7| DEPTH>7| EMPTY>7| TIME>9"
			     "| LONGEST>9| FULL>7| TIME>9| AGAIN>7| TIMEOUT>7",
			     put_queue },
};

static void put_kind(const struct deep_report *report, enum resource_kind kind, size_t most,
		     FILE *out)
{
	const struct resources *resources = report->resources;
	struct text_table table = text_table_of(out, "%s", kinds[kind].columns);
	size_t count = 0;

	(void)fputc('\n', out);
	text_head(&table);
	VEC_EACH_OF(&resources->all, one) {
		char text[NAME_ROOM];

		if (one->kind != kind || (count++ >= most && most > 0)) {
			continue;
		}
		text_cell(&table, name_of(text, one));
		kinds[kind].put(one, &table);
		text_end(&table);
		put_pairs(report, one, out);
	}
	if (count == 0) {
		(void)fputs(resources->lacks[kind] ? "  not recorded\n" : "  none was used\n", out);
	} else if (most > 0) {
		text_more(out, count, most < count ? most : count);
	}
}

void report_resources_text(const struct deep_report *report, size_t most, FILE *out)
{
	const struct resources *resources = report->resources;

	for (unsigned int kind = 0; kind < RESOURCE_KINDS; kind++) {
		put_kind(report, (enum resource_kind)kind, most, out);
		if (resources->lacks[kind]) {
			(void)fprintf(
				out, "not recorded: %s: %s\n  to record it: %s\n",
				resources_lacks[kind].event, resources_lacks[kind].means,
				timeline_command(report->timeline, resources_lacks[kind].command));
		}
	}
	if (resources->cut > 0) {
		(void)fprintf(out,
			      "%" PRIu64 " calls are not counted: events are missing in them\n",
			      resources->cut);
	}
	if (resources->dropped.resources > 0 || resources->dropped.rows > 0) {
		(void)fprintf(out,
			      "too many to keep: %" PRIu64 " events of further resources, %" PRIu64
			      " of further threads are not counted\n",
			      resources->dropped.resources, resources->dropped.rows);
	}
}

/* ---- JSON ---- */

struct writer {
	struct json *json;
	const struct deep_report *report;
	size_t most;
	struct page_names *names; /* of a page; NULL: plain JSON */
};

static void put_thread(const struct writer *w, const char *key, uint32_t index)
{
	const struct deep_thread *thread = thread_of(w->report, index);

	if (!thread) {
		return;
	}
	if (w->names) {
		json_u64(w->json, key, page_names_of(w->names, index));
		return;
	}
	json_open(w->json, key, '{');
	json_i64(w->json, "tid", thread->tid);
	if (thread->pid >= 0) {
		json_i64(w->json, "pid", thread->pid);
	}
	json_text(w->json, "comm", thread->comm);
	json_close(w->json, '}');
}

static void put_sum(const struct writer *w, const char *key, const struct resource_sum *sum)
{
	json_open(w->json, key, '{');
	json_u64(w->json, "count", sum->count);
	if (sum->count > 0) {
		json_u64(w->json, "total_ns", sum->total);
		json_u64(w->json, "min_ns", sum->min);
		json_u64(w->json, "max_ns", sum->max);
	}
	json_close(w->json, '}');
}

static void put_timer_figures(const struct writer *w, const struct resource *one)
{
	json_u64(w->json, "starts", one->starts);
	json_u64(w->json, "rearmed", one->rearmed);
	json_u64(w->json, "expiries", one->expiries);
	json_u64(w->json, "cancelled", one->cancelled);
	json_u64(w->json, "woken", one->woken);
	put_sum(w, "period", &one->period);
	put_sum(w, "callback", &one->callback);
	if (one->late_count > 0) {
		json_u64(w->json, "late_count", one->late_count);
		json_i64(w->json, "late_min_ns", one->late_min);
		json_fixed(w->json, "late_mean_ns", one->late_total / (double)one->late_count);
		json_i64(w->json, "late_max_ns", one->late_max);
	}
}

static void put_outcomes(const struct writer *w, const struct resource *one)
{
	json_open(w->json, "outcomes", '{');
	for (unsigned int i = OUTCOME_DONE; i < OUTCOMES; i++) {
		if (one->outcomes[i] > 0) {
			json_u64(w->json, resources_outcome_name((enum outcome)i),
				 one->outcomes[i]);
		}
	}
	json_close(w->json, '}');
}

static void put_futex_figures(const struct writer *w, const struct resource *one)
{
	json_bool(w->json, "may_be_shared", one->may_be_shared);
	json_bool(w->json, "is_vector", one->is_vector);
	json_u64(w->json, "calls", one->calls);
	put_sum(w, "waits", &one->waits);
	put_outcomes(w, one);
	json_u64(w->json, "wake_calls", one->wake_calls);
	json_u64(w->json, "woken", one->woken);
	json_u64(w->json, "moved_in", one->moved_in);
	json_u64(w->json, "moved_out", one->moved_out);
}

static void put_queue_figures(const struct writer *w, const struct resource *one)
{
	json_u64(w->json, "sent", one->sent);
	json_u64(w->json, "received", one->received);
	json_u64(w->json, "sent_bytes", one->bytes_sent);
	json_u64(w->json, "received_bytes", one->bytes_received);
	if (!one->has_gap) {
		json_i64(w->json, "depth_begin", one->depth_begin);
		json_i64(w->json, "depth_end", one->depth_end);
		json_i64(w->json, "depth_max", one->depth_max);
	}
	put_sum(w, "empty_waits", &one->waits);
	put_sum(w, "full_waits", &one->full);
	put_outcomes(w, one);
}

static void put_members(const struct writer *w, const struct resource *one)
{
	json_open(w->json, "threads", '[');
	for (size_t i = 0; i < deep_report_rows(one->members.count, w->most); i++) {
		const struct resource_member *member = &one->members.at[i];

		json_open(w->json, NULL, '{');
		put_thread(w, "thread", member->thread);
		json_u64(w->json, "waits", member->waits);
		json_u64(w->json, "total_ns", member->total_ns);
		json_u64(w->json, "longest_ns", member->longest_ns);
		if (one->kind == RESOURCE_FUTEX) {
			json_u64(w->json, "wake_calls", member->wakes);
		} else {
			json_u64(w->json, "sent", member->sends);
			json_u64(w->json, "received", member->receives);
		}
		json_close(w->json, '}');
	}
	json_close(w->json, ']');
}

static void put_pairs_json(const struct writer *w, const struct resource *one)
{
	size_t most = w->names ? PAGE_PAIRS : w->most;

	json_open(w->json, "pairs", '[');
	for (size_t i = 0; i < deep_report_rows(one->pairs.count, most); i++) {
		const struct resource_pair *pair = &one->pairs.at[i];

		json_open(w->json, NULL, '{');
		put_thread(w, "who", pair->who);
		put_thread(w, "by", pair->by);
		json_u64(w->json, "times", pair->times);
		if (one->kind != RESOURCE_TIMER) {
			json_u64(w->json, "total_ns", pair->total_ns);
			json_u64(w->json, "longest_ns", pair->longest_ns);
		}
		if (one->kind == RESOURCE_QUEUE) {
			json_bool(w->json, "waited_for_room", pair->is_sender);
		}
		json_close(w->json, '}');
	}
	json_close(w->json, ']');
}

static void put_intervals(const struct writer *w, const struct resource *one)
{
	json_open(w->json, "intervals", '[');
	for (size_t i = 0; i < deep_report_rows(one->intervals.count, w->most); i++) {
		const struct resource_interval *interval = &one->intervals.at[i];

		json_open(w->json, NULL, '{');
		json_u64(w->json, "begin", interval->begin);
		json_u64(w->json, "end", interval->end);
		json_text(w->json, "state",
			  resources_state_name((enum resource_state)interval->state));
		put_thread(w, "who", interval->who);
		put_thread(w, "by", interval->by);
		if (interval->outcome != OUTCOME_NONE) {
			json_text(w->json, "outcome",
				  resources_outcome_name((enum outcome)interval->outcome));
		}
		if (one->kind == RESOURCE_QUEUE) {
			json_u64(w->json, "senders", interval->senders);
			json_u64(w->json, "receivers", interval->receivers);
			json_bool(w->json, "has_slept", interval->has_slept);
		}
		json_close(w->json, '}');
	}
	json_close(w->json, ']');
}

/* A page leads to the longest interval.  Of several that are as long: the first. */
static void put_longest(const struct writer *w, const struct resource *one)
{
	const struct resource_interval *longest = NULL;

	VEC_EACH(&one->intervals, other) {
		if (!longest || other->end - other->begin > longest->end - longest->begin) {
			longest = other;
		}
	}
	if (longest) {
		json_u64(w->json, "begin_ns", longest->begin - w->report->timeline->begin);
		json_u64(w->json, "ns", longest->end - longest->begin);
		json_u64(w->json, "state", longest->state);
		json_u64(w->json, "outcome", longest->outcome);
		put_thread(w, "who", longest->who);
		put_thread(w, "by", longest->by);
	}
}

/* Numbers in a browser have 53 bits: an address is text there. */
static void put_name(const struct writer *w, const struct resource *one)
{
	char text[NAME_ROOM];

	if (w->names) {
		json_text(w->json, "name", name_of(text, one));
		put_longest(w, one);
	} else if (one->name) {
		json_text(w->json, "name", one->name);
	} else {
		json_u64(w->json, one->kind == RESOURCE_QUEUE ? "descriptor" : "address",
			 one->address);
	}
	if (one->pid >= 0) {
		json_i64(w->json, "pid", one->pid);
	}
}

static void put_resource(const struct writer *w, const struct resource *one)
{
	json_open(w->json, NULL, '{');
	put_name(w, one);
	if (one->kind == RESOURCE_TIMER) {
		if (one->function != 0 && !w->names) {
			json_u64(w->json, "function", one->function);
		}
		put_timer_figures(w, one);
	} else if (one->kind == RESOURCE_FUTEX) {
		put_futex_figures(w, one);
	} else {
		put_queue_figures(w, one);
	}
	if (one->kind != RESOURCE_TIMER && !w->names) {
		put_members(w, one);
	}
	put_pairs_json(w, one);
	if (!w->names) {
		put_intervals(w, one);
	}
	json_close(w->json, '}');
}

static void put_lacks(const struct writer *w)
{
	const struct resources *resources = w->report->resources;

	json_open(w->json, "missing", '[');
	for (unsigned int kind = 0; kind < RESOURCE_KINDS; kind++) {
		if (resources->lacks[kind]) {
			json_open(w->json, NULL, '{');
			json_text(w->json, "event", resources_lacks[kind].event);
			json_text(w->json, "command",
				  timeline_command(w->report->timeline,
						   resources_lacks[kind].command));
			if (w->names) {
				json_text(w->json, "means", resources_lacks[kind].means);
			}
			json_close(w->json, '}');
		}
	}
	json_close(w->json, ']');
}

static const char *const keys[RESOURCE_KINDS] = { "timers", "futexes", "queues" };

/* What the page says of names and numbers. */
static void put_words(const struct writer *w)
{
	const struct resources *resources = w->report->resources;
	uint64_t counts[RESOURCE_KINDS] = { 0 };

	for (size_t i = 0; i < resources->all.count; i++) {
		counts[resources->all.at[i]->kind]++;
	}
	json_open(w->json, "counts", '{');
	for (unsigned int kind = 0; kind < RESOURCE_KINDS; kind++) {
		json_u64(w->json, keys[kind], counts[kind]);
	}
	json_close(w->json, '}');
	json_open(w->json, "states", '[');
	for (unsigned int state = 0; state < RESOURCE_STATES; state++) {
		json_text(w->json, NULL, resources_state_name((enum resource_state)state));
	}
	json_close(w->json, ']');
	json_open(w->json, "outcome_names", '[');
	json_text(w->json, NULL, "");
	for (unsigned int i = OUTCOME_DONE; i < OUTCOMES; i++) {
		json_text(w->json, NULL, resources_outcome_name((enum outcome)i));
	}
	json_close(w->json, ']');
}

void report_resources_json(struct printer *p)
{
	const struct resources *resources = p->report->resources;
	struct json *json = &p->json;
	size_t most = p->names ? p->resources_most : p->most;
	const struct writer w = {
		.json = json, .report = p->report, .most = most, .names = p->names
	};

	json_open(json, "resources", '{');
	if (p->names) {
		put_words(&w);
	}
	for (unsigned int kind = 0; kind < RESOURCE_KINDS; kind++) {
		size_t count = 0;

		if (resources->lacks[kind]) {
			continue; /* nothing is known: not an empty list */
		}
		json_open(json, keys[kind], '[');
		for (size_t i = 0; i < resources->all.count; i++) {
			if (resources->all.at[i]->kind == (enum resource_kind)kind &&
			    (most == 0 || count++ < most)) {
				put_resource(&w, resources->all.at[i]);
			}
		}
		json_close(json, ']');
	}
	put_lacks(&w);
	json_u64(json, "cut", resources->cut);
	json_open(json, "dropped", '{');
	json_u64(json, "resources", resources->dropped.resources);
	json_u64(json, "intervals", resources->dropped.intervals);
	json_u64(json, "rows", resources->dropped.rows);
	json_close(json, '}');
	json_close(json, '}');
}
