/*
 * merger: see merger.h.  Here are streams, partials in sequence, and the watermark.
 */
#include "engine/merger/merger.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/check.h"
#include "engine/merger/cpus.h"
#include "engine/merger/holes.h"
#include "engine/merger/merger-state.h"
#include "engine/merger/ordered.h"
#include "engine/merger/window.h"

/* ---- lifecycle ---- */

struct merger *merger_new(const struct setup *setup, const struct merger_host *host)
{
	struct merger *merger = mem_alloc(sizeof(*merger));

	assert(setup->window_ns > 0); /* setup_init() has run */
	assert(host->tasks_max == 0 || (host->submit && host->wait));
	merger->setup = setup;
	merger->host = *host;
	merger->first_ts = merger->kernel_first_ts = merger->cut_at = UINT64_MAX;
	merger->stitched = partial_new();
	tables_init(&merger->tables, setup);
	ordered_init(&merger->tables);
	return merger;
}

static void stream_free(struct merger_stream *stream)
{
	for (size_t i = 0; i < stream->early.count; i++) {
		partial_free(stream->early.at[i].partial);
	}
	vec_free_each(&stream->ready, partial_free);
	vec_fini(&stream->early);
	free(stream);
}

void merger_free(struct merger *merger)
{
	if (!merger) {
		return;
	}
	account_give(merger->setup->account, ACCOUNT_PARTIALS, merger->held_bytes);
	assert(merger->tasks_running == 0);
	vec_free_each(&merger->streams, stream_free);
	partial_free(merger->stitched);
	vec_fini(&merger->order);
	vec_fini(&merger->renames);
	coverage_fini(&merger->coverage);
	vec_fini(&merger->holes);
	vec_fini(&merger->round.entries);
	ordered_fini(&merger->tables);
	tables_fini(&merger->tables);
	free(merger);
}

void merger_set_classes(struct merger *merger, const struct plan *plan)
{
	merger_wait(merger); /* tasks read event names */
	tables_set_classes(&merger->tables, plan);
}

void merger_set_domain(struct merger *merger, const char *domain, const char *tracer)
{
	tables_set_domain(&merger->tables, domain, tracer);
}

void merger_set_host(struct merger *merger, const struct host_containers *containers)
{
	merger->tables.host_containers = containers;
}

void merger_set_beside(struct merger *merger, const struct event_names *beside)
{
	tables_set_beside(&merger->tables, beside);
}

int merger_check_classes(const struct merger *merger, const struct plan *plan, struct err *err)
{
	const struct tables *tables = &merger->tables;

	for (size_t i = 0; i < tables->class_names.count && i < plan->class_count; i++) {
		const char *name = tables->names.at[tables->class_names.at[i]]->name;

		if (strcmp(plan->classes[i]->class->name, name) != 0) {
			return err_raise(err, -EINVAL,
					 "event class %zu is not %.100s, as it was before", i,
					 name);
		}
	}
	return 0;
}

void merger_add_class(struct merger *merger, const char *name)
{
	merger_wait(merger);
	tables_add_class(&merger->tables, name);
}

/* ---- streams ---- */

uint32_t merger_stream_number(const struct merger_stream *stream)
{
	return stream->ordinal;
}

struct merger_stream *merger_stream_at(const struct merger *merger, uint32_t number)
{
	return number < merger->streams.count ? merger->streams.at[number] : NULL;
}

uint64_t merger_stream_submitted(const struct merger_stream *stream)
{
	return stream->next_seq;
}

struct merger_stream *merger_stream_new(struct merger *merger)
{
	struct merger_stream *stream = mem_alloc(sizeof(*stream));

	stream->merger = merger;
	stream->ordinal = (uint32_t)merger->streams.count;
	stream->end_seq = UINT64_MAX;
	*vec_push(&merger->streams) = stream;
	merger->order.count = 0;
	merger->lowest = stream;
	return stream;
}

void merger_note_joined(struct merger *merger)
{
	merger->is_joined = true;
	for (unsigned int s = 0; s < SHARDS; s++) {
		merger->tables.shards[s].is_joined = true;
	}
}

/* Nothing is known of the CPU yet: windows wait for its initial thread. */
static void await_initial(struct merger *merger, struct cpu *cpu, uint64_t begin)
{
	cpu->state = CPU_INITIAL;
	merger->initial_count++;
	if (merger->has_started) {
		cpu->since = merger->window_begin;
		cpu->initial_limit = window_initial_limit(begin);
	}
	if (holes_had_one_since(merger, cpu->since)) {
		cpus_give_up(merger, cpu);
	}
}

/* Of the streams of a CPU that have switches, the one of the lowest class owns it. */
static void own_cpu(struct merger_stream *stream)
{
	struct cpu *cpu = stream->cpu;
	struct merger_stream *former = cpu->owner;

	if (!stream->identity.has_switches ||
	    (former && former->identity.class_id <= stream->identity.class_id)) {
		return;
	}
	if (former) {
		assert(former->owns_cpu);
		former->owns_cpu = false;
	}
	cpu->owner = stream;
	stream->owns_cpu = true;
	if (!former) {
		await_initial(stream->merger, cpu, stream->identity.begin);
	}
}

void merger_stream_identify(struct merger_stream *stream, const struct stream_identity *identity)
{
	assert(!stream->is_identified);
	assert(stream->next_seq == 0); /* partials are stitched by what the stream is */
	stream->identity = *identity;
	stream->is_identified = true;
	if (identity->is_beside && !stream->merger->is_joined) {
		merger_note_joined(stream->merger);
	}
	stream->merger->order.count = 0;
	stream->merger->ends_changed = true;
	if (identity->cpu_id != UINT64_MAX) {
		stream->cpu = tables_cpu(&stream->merger->tables, identity->cpu_id);
		own_cpu(stream);
	}
}

const struct stream_identity *merger_stream_identity(const struct merger_stream *stream)
{
	return stream->is_identified ? &stream->identity : NULL;
}

/* The stream has come further, or does not count any more.  Whichever is found to hold the
 * watermark back stays so until then: streams that hear of one moment one after the other are
 * walked over few times. */
static void let_go(struct merger_stream *stream)
{
	if (stream->merger->lowest == stream) {
		stream->merger->lowest = NULL;
	}
	stream->merger->ends_changed |= stream->is_ended;
}

/* Applies what was said of the stream's future, once the chunks before that are merged. */
static void apply_known(struct merger_stream *stream)
{
	if (stream->has_known && stream->known_seq <= stream->next_seq) {
		if (!stream->has_until || stream->known_ts > stream->until) {
			stream->until = stream->known_ts;
		}
		stream->has_until = true;
		stream->has_known = false;
		let_go(stream);
	}
	assert(!stream->is_ended || stream->end_seq <= stream->next_seq);
	if (stream->end_seq <= stream->next_seq) {
		stream->is_ended = true;
		let_go(stream);
	}
}

void merger_stream_known(struct merger_stream *stream, uint64_t seq, uint64_t ts)
{
	stream->known_seq = seq;
	stream->known_ts = ts;
	stream->has_known = true;
	if (!stream->is_identified && stream->heard_from == 0) {
		stream->heard_from = ts;
	}
	apply_known(stream);
}

void merger_stream_end(struct merger_stream *stream, uint64_t seq)
{
	stream->end_seq = seq;
	apply_known(stream);
}

bool merger_stream_has_ended(const struct merger_stream *stream)
{
	return stream->is_ended;
}

void merger_stream_reopen(struct merger_stream *stream)
{
	stream->end_seq = UINT64_MAX;
	stream->is_ended = false;
	stream->merger->lowest = NULL;
	stream->merger->ends_changed = true;
}

void merger_stream_exclude(struct merger_stream *stream, bool excluded)
{
	stream->is_excluded = excluded;
	stream->merger->lowest = NULL;
}

uint64_t merger_stream_until(const struct merger_stream *stream)
{
	return stream->has_until ? stream->until : 0;
}

bool merger_stream_waits(const struct merger_stream *stream)
{
	return stream->owns_cpu && cpus_is_awaited(stream->cpu);
}

/* ---- taking partials ---- */

/* Adds what the partial says of its chunk as a whole. */
static void account_partial(const struct merger_stream *stream, const struct partial *partial)
{
	struct merger *merger = stream->merger;

	merger->account.events += partial->events;
	merger->account.packets += partial->packets;
	merger->account.bytes += partial->bytes;
	if (partial->first_ts < merger->first_ts) {
		merger->first_ts = partial->first_ts;
	}
	if (!stream->identity.is_beside && partial->first_ts < merger->kernel_first_ts) {
		merger->kernel_first_ts = partial->first_ts;
	}
	if (partial->last_ts > merger->last_ts) {
		merger->last_ts = partial->last_ts;
	}
}

static void take_in_sequence(struct merger_stream *stream, struct partial *partial)
{
	struct merger *merger = stream->merger;

	stream->next_seq++;
	account_partial(stream, partial);
	if (partial->end > stream->until || !stream->has_until) {
		stream->until = partial->end;
		stream->has_until = true;
		let_go(stream);
	}
	/* Who ran, and what the kernel did, is in its own trace. */
	if (!stream->identity.is_beside) {
		coverage_add(&merger->coverage, partial->covered_from, partial->covered_until);
	}
	*vec_push(&stream->ready) = partial;
	stream->waiting++;
	merger->waiting++;
	if (merger->has_started) {
		holes_stitch(stream, 0);
	}
	apply_known(stream);
}

/* Takes those of the early partials whose turn it is. */
static void take_early(struct merger_stream *stream)
{
	for (size_t i = 0; i < stream->early.count;) {
		struct held held = stream->early.at[i];

		if (held.seq != stream->next_seq) {
			i++;
			continue;
		}
		stream->early.at[i] = stream->early.at[--stream->early.count];
		take_in_sequence(stream, held.partial);
		i = 0;
	}
}

void merger_take(struct merger_stream *stream, uint64_t seq, struct partial *partial)
{
	struct merger *merger = stream->merger;

	assert(seq >= stream->next_seq);
	assert(partial->slices_used == 0); /* it comes from a worker, or a file */
	if (CHECKS_ON) {
		partial_check(partial);
	}
	partial->held_bytes = partial_bytes(partial);
	if (merger->setup->has_ordered) { /* each record may become an ordered event */
		partial->held_bytes += partial->records.count * sizeof(struct ordered);
	}
	merger_hold(merger, partial);
	*vec_push(&stream->early) = (struct held){ .partial = partial, .seq = seq };
	take_early(stream);
	if (CHECKS_ON) {
		merger_check(merger);
	}
}

/* ---- figures ---- */

void merger_hold(struct merger *merger, const struct partial *partial)
{
	merger->held_bytes += partial->held_bytes;
	account_take(merger->setup->account, ACCOUNT_PARTIALS, partial->held_bytes);
}

void merger_let_go(struct merger *merger, const struct partial *partial)
{
	assert(merger->held_bytes >= partial->held_bytes);
	merger->held_bytes -= partial->held_bytes;
	account_give(merger->setup->account, ACCOUNT_PARTIALS, partial->held_bytes);
}

size_t merger_held_bytes(const struct merger *merger)
{
	return merger->held_bytes;
}

const struct merger_account *merger_account(const struct merger *merger)
{
	return &merger->account;
}

uint64_t merger_closed_until(const struct merger *merger)
{
	return merger->closed_end;
}

void merger_cut(struct merger *merger)
{
	merger->cut_at = UINT64_MAX;
	merger->ends_changed = true;
	for (size_t i = 0; i < merger->streams.count; i++) {
		struct merger_stream *stream = merger->streams.at[i];
		uint64_t until = stream->has_until ? stream->until : 0;

		stream->is_cut = !stream->is_ended;
		if (stream->is_cut && until < merger->cut_at) {
			merger->cut_at = until;
		}
	}
}

static bool holds_back(const struct merger_stream *stream)
{
	return !stream->is_ended && !stream->is_excluded;
}

/* The last one of those that have come as far: they go on in their order. */
static struct merger_stream *find_lowest(const struct merger *merger)
{
	struct merger_stream *lowest = NULL;

	for (size_t i = 0; i < merger->streams.count; i++) {
		struct merger_stream *stream = merger->streams.at[i];

		if (holds_back(stream) && !stream->has_until) {
			return stream;
		}
		if (holds_back(stream) && (!lowest || stream->until <= lowest->until)) {
			lowest = stream;
		}
	}
	return lowest;
}

uint64_t merger_watermark(struct merger *merger)
{
	if (!merger->lowest) {
		merger->lowest = find_lowest(merger);
	}
	if (!merger->lowest) {
		return UINT64_MAX;
	}
	return merger->lowest->has_until ? merger->lowest->until : 0;
}

void merger_lose(struct merger *merger, uint64_t packets)
{
	merger->unplaced += packets;
}

/* ---- checkpoints before a range ---- */

void merger_task_done(struct merger *merger)
{
	assert(merger->tasks_running > 0);
	merger->tasks_running--;
}

void merger_wait(struct merger *merger)
{
	while (merger->tasks_running > 0) {
		merger->host.wait(merger->host.user);
	}
}

void merger_forget_sums(struct merger *merger)
{
	assert(!merger->is_round_open && merger->tasks_running == 0);
	if (merger->has_started && merger->is_before_range) {
		window_forget(merger);
		tables_close_window(&merger->tables, false);
	}
}

bool merger_set_range(struct merger *merger)
{
	uint64_t begin = merger->setup->range_begin;

	if (merger->last_ts >= begin || merger->last_bound > begin) {
		return false;
	}
	if (!merger->has_started) {
		return true;
	}
	if (!merger->is_before_range || merger->window_begin >= begin) {
		return false;
	}
	window_open(merger, merger->window_begin);
	return true;
}

uint64_t merger_last(const struct merger *merger)
{
	return merger->last_ts;
}
