/*
 * trace: see trace.h.
 */
#include "engine/trace.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/metadata/join.h"
#include "ctf/metadata/metadata.h"
#include "engine/chunk-job.h"
#include "engine/engine-state.h"
#include "engine/warn.h"
#include "kernel/perf-names.h"

/* Recorded, at the end; live, after the first window, since what is selected may still come. */
static void warn_unmatched(struct trace *trace, const struct report *report)
{
	char *selection;

	if (!report->nothing_matched || trace->has_said_unmatched ||
	    (report->kind == REPORT_WINDOW && !report->has_lag)) {
		return;
	}
	selection = selection_asked(trace->engine->config.selection);
	trace->has_said_unmatched = true;
	warn_trace(trace, NULL, -1, "nothing-matched", "nothing matched %s%s", selection,
		   report->kind == REPORT_TOTAL ? "" : " so far");
	free(selection);
}

static void on_merge_report(void *user, const struct report *report)
{
	struct trace *trace = user;
	struct stats *stats = trace->engine->config.stats;

	trace->engine->config.on_report(trace->user, report);
	warn_unmatched(trace, report);
	if (stats) {
		stats->windows += report->kind == REPORT_WINDOW;
		if (report->has_lag && report->lag_ns > 0) {
			histogram_add(&stats->lag, (uint64_t)report->lag_ns);
		}
	}
}

static void submit_merge(void *user, struct job *job)
{
	struct trace *trace = user;

	job->is_timed = trace->engine->config.stats != NULL;
	pool_submit(trace->engine->pool, job);
}

static void wait_for_job(void *user)
{
	struct trace *trace = user;

	(void)engine_reap(trace->engine, true);
}

static void new_metadata(struct trace *trace)
{
	struct engine *engine = trace->engine;

	trace->parts.at[0].metadata = trace_new_part(trace);
	trace->builder =
		plan_builder_new(metadata_stream_arena(trace->parts.at[0].metadata),
				 engine->setup.requests, engine->setup.request_count, false);
	plan_builder_rename(trace->builder, &perf_names);
}

static void on_merge_spans(void *user, const struct thread_span *spans, size_t count,
			   uint64_t until)
{
	const struct trace *trace = user;

	trace->engine->config.on_spans(trace->user, spans, count, until);
}

static bool step_is_over(void *user)
{
	const struct trace *trace = user;

	return engine_must_pause(trace->engine);
}

struct trace *trace_new(struct engine *engine, void *user)
{
	struct merger_host host = {
		.emit = on_merge_report,
		.submit = submit_merge,
		.spans = engine->config.on_spans ? on_merge_spans : NULL,
		.wait = wait_for_job,
		.must_pause = step_is_over,
		.tasks_max = 2 * pool_workers(engine->pool),
		.may_begin_late = !engine->config.expects_beginning,
	};
	struct trace *trace = mem_alloc(sizeof(*trace));

	trace->engine = engine;
	trace->user = user;
	host.user = trace;
	trace->merger = merger_new(&engine->setup, &host);
	*vec_push(&trace->parts) = (struct trace_part){ 0 };
	new_metadata(trace);
	assert(trace->merger && trace->builder);
	*vec_push(&engine->traces) = trace;
	return trace;
}

void trace_set_user(struct trace *trace, void *user)
{
	trace->user = user;
}

void trace_warn(struct trace *trace, const struct engine_warning *warning)
{
	trace->engine->config.on_warning(trace->user, warning);
}

static void drain(struct trace *trace)
{
	while (trace->in_flight > 0) {
		(void)engine_reap(trace->engine, true);
	}
	merger_wait(trace->merger);
	assert(trace->in_flight == 0);
}

static void free_filling(struct stream *stream)
{
	if (stream->filling) {
		account_give(stream->trace->engine->account, ACCOUNT_CHUNKS,
			     stream->filling->chunk.bytes);
		chunk_job_free(stream->filling);
		stream->filling = NULL;
	}
}

void trace_free(struct trace *trace)
{
	struct engine *engine = trace->engine;
	size_t retained = 0;

	drain(trace);
	for (size_t i = 0; i < engine->traces.count; i++) {
		if (engine->traces.at[i] != trace) {
			engine->traces.at[retained++] = engine->traces.at[i];
		}
	}
	assert(retained + 1 == engine->traces.count); /* it was listed once */
	engine->traces.count = retained;
	for (size_t i = 0; i < trace->streams.count; i++) {
		free_filling(trace->streams.at[i]);
		free(trace->streams.at[i]->name);
		free(trace->streams.at[i]);
	}
	merger_free(trace->merger);
	account_give(engine->account, ACCOUNT_METADATA, trace->classes * ACCOUNT_EVENT_CLASS_BYTES);
	plan_unref(trace->plan);
	plan_unref(trace->former_plan);
	plan_builder_free(trace->builder);
	metadata_join_free(trace->join);
	VEC_EACH(&trace->parts, part) {
		metadata_stream_free(part->metadata);
		metadata_stream_free(part->again);
		account_give(engine->account, ACCOUNT_METADATA, part->fed.count);
		vec_fini(&part->fed);
	}
	vec_fini(&trace->parts);
	assert(trace->old_metadata.count == trace->old_builders.count);
	for (size_t i = 0; i < trace->old_metadata.count; i++) {
		plan_builder_free(trace->old_builders.at[i]);
		metadata_stream_free(trace->old_metadata.at[i]);
	}
	vec_fini(&trace->old_metadata);
	vec_fini(&trace->old_builders);
	vec_fini(&trace->streams);
	free(trace);
}

void trace_set_domain(struct trace *trace, const char *domain, const char *tracer)
{
	merger_set_domain(trace->merger, domain, tracer);
}

void trace_set_beside(struct trace *trace, const struct event_names *beside)
{
	merger_set_beside(trace->merger, beside);
}

/* What is wrong in the metadata, each once, also when all of it comes again. */
void trace_warn_notes(struct trace *trace)
{
	VEC_EACH(&trace->parts, part) {
		const struct metadata_notes *notes = metadata_stream_types(part->metadata)->notes;
		const struct metadata_note *note = notes ? notes->first : NULL;

		for (uint32_t i = 0; note; note = note->next, i++) {
			if (i >= part->notes_said) {
				warn_trace(trace, NULL, -1, "metadata", "%s", note->text);
				part->notes_said = i + 1;
			}
		}
	}
}

bool trace_part_ignore_uuid(struct trace *trace, uint32_t part)
{
	for (size_t i = 0; i < trace->streams.count; i++) {
		const struct stream *stream = trace->streams.at[i];

		if (stream->has_packet && !stream->is_away && stream->part == part) {
			return false;
		}
	}
	if (trace->in_flight > 0) {
		return false; /* workers read the plan */
	}
	trace->parts.at[part].ignores_uuid = true;
	plan_ignore_uuid(trace->builder, plan_part(trace->plan, part));
	trace_warn_notes(trace);
	return true;
}

/* The tables keep names and numbers of each. */
static void count_classes(struct trace *trace, uint32_t count)
{
	if (count > trace->classes) {
		account_take(trace->engine->account, ACCOUNT_METADATA,
			     (count - trace->classes) * ACCOUNT_EVENT_CLASS_BYTES);
		trace->classes = count;
	}
}

/* User space has no namespaces here: nothing is said of its traces. */
static void find_host(struct trace *trace, const struct metadata *types)
{
	const struct host_containers *containers = trace->engine->setup.host_containers;
	const struct env_entry *domain = metadata_env(types, "domain");
	char why[HOST_CONTAINERS_WHY];

	if (!containers || (domain && domain->text && strcmp(domain->text, "kernel") != 0)) {
		return;
	}
	if (containers->fits(types, why)) {
		merger_set_host(trace->merger, containers);
	} else if (!trace->has_said_host) {
		trace->has_said_host = true;
		warn_trace(trace, NULL, -1, "names", "--containers auto gives no names: %s", why);
	}
}

static int replan(struct trace *trace, struct err *err)
{
	const struct metadata *types;
	const struct env_entry *domain;
	struct plan *plan;
	int r = trace_all_types(trace, &types, err);

	if (r < 0 || !types) {
		return r;
	}
	r = plan_build(trace->builder, types, &plan, err);
	if (r == 0 && trace->is_restored) {
		r = merger_check_classes(trace->merger, plan, err);
		if (r < 0) {
			plan_unref(plan);
		}
	}
	if (r < 0) {
		return r;
	}
	for (uint32_t i = 0; i < trace->parts.count; i++) {
		if (trace->parts.at[i].ignores_uuid) { /* packets were read: it is in the plan */
			plan_ignore_uuid(trace->builder, plan_part(plan, i));
		}
	}
	plan_unref(trace->plan);
	trace->plan = plan;
	merger_set_classes(trace->merger, plan);
	count_classes(trace, plan->class_count);
	trace_warn_notes(trace);
	domain = metadata_env(types, "domain");
	merger_set_domain(trace->merger, domain ? domain->text : NULL,
			  metadata_other_tracer(types));
	find_host(trace, types);
	return 0;
}

static int feed_part(struct trace *trace, uint32_t part, const void *bytes, size_t len,
		     bool is_last, struct err *err)
{
	struct metadata_stream *metadata = trace->parts.at[part].metadata;
	const uint8_t *fed = bytes;
	int r = trace->expects_parts
			? trace_take_fed(trace, &trace->parts.at[part], &fed, &len, err)
			: 0;

	if (r == 0 && len > 0) {
		r = metadata_stream_feed(metadata, fed, len, err);
	}
	if (r < 0) {
		return r;
	}
	if (is_last) {
		r = metadata_stream_finish(metadata, err);
		if (r < 0) {
			return r;
		}
		if (!metadata_stream_types(metadata)->has_trace) {
			return err_raise(err, -EINVAL, "metadata has no trace block");
		}
	}
	return 0;
}

int trace_part_metadata(struct trace *trace, uint32_t part, const void *bytes, size_t len,
			bool is_last, struct err *err)
{
	struct trace_part *of = &trace->parts.at[part];
	int r;

	if (of->is_dead && part < trace->joined) {
		return err_raise(err, -EINVAL, "its metadata could not be read before");
	}
	r = feed_part(trace, part, bytes, len, is_last, err);
	of->is_dead = r < 0 && !metadata_stream_types(of->metadata)->has_trace;
	return r < 0 ? r : replan(trace, err);
}

int trace_metadata(struct trace *trace, const void *bytes, size_t len, bool is_last,
		   struct err *err)
{
	return trace_part_metadata(trace, 0, bytes, len, is_last, err);
}

void trace_metadata_forget(struct trace *trace)
{
	if (!trace->plan && trace->in_flight == 0 && !trace->join) {
		plan_builder_free(trace->builder);
		metadata_stream_free(trace->parts.at[0].metadata);
		new_metadata(trace);
	}
}

void trace_announced_again(struct trace *trace, uint32_t part)
{
	struct trace_part *of = &trace->parts.at[part];

	trace->refound += of->refused;
	of->unfetched = of->refused = 0;
}

void trace_metadata_restart(struct trace *trace, uint32_t part)
{
	if (trace->expects_parts) {
		trace_restart_part(trace, part);
		return;
	}
	assert(part == 0 && !trace->join);
	*vec_push(&trace->old_metadata) = trace->parts.at[0].metadata;
	*vec_push(&trace->old_builders) = trace->builder;
	if (trace->plan) {
		plan_unref(trace->former_plan);
		trace->former_plan = trace->plan;
		trace->plan = NULL;
	}
	trace_announced_again(trace, part); /* what does not come is missing by its number */
	new_metadata(trace);
}

const struct plan *trace_plan(const struct trace *trace)
{
	return trace->plan;
}

const struct plan *trace_part_plan(const struct trace *trace, uint32_t part)
{
	bool is_in = trace->plan && !trace->parts.at[part].is_dead &&
		     part < (trace->plan->parts ? trace->plan->part_count : 1);

	return is_in ? plan_part(trace->plan, part) : NULL;
}

const struct plan *trace_last_plan(const struct trace *trace, uint32_t part)
{
	return trace->plan ? trace_part_plan(trace, part) : trace->former_plan;
}

bool trace_has_had(const struct trace *trace, uint32_t part, const struct stream *stream,
		   const char *name, uint64_t end)
{
	if (stream && merger_stream_identity(stream->merger)) {
		return stream->may_repeat && end <= stream->end;
	}
	for (size_t i = 0; i < trace->streams.count; i++) {
		const struct stream *before = trace->streams.at[i];

		if (before != stream && before->part == part && before->merger &&
		    before->has_packet && strcmp(before->name, name) == 0) {
			return end <= before->end;
		}
	}
	return false;
}

bool trace_uuid(const struct trace *trace, uint8_t ret_uuid[16])
{
	return trace_part_uuid(trace, 0, ret_uuid);
}

void trace_set_live(struct trace *trace)
{
	trace->is_live = true;
}

void trace_lose(struct trace *trace, uint64_t packets)
{
	assert(!trace->has_finished);
	trace->unplaced += packets;
}

uint64_t trace_duplicates(const struct trace *trace)
{
	return trace->duplicates;
}

uint64_t trace_refound(const struct trace *trace)
{
	return trace->refound;
}

uint64_t trace_absent_until(const struct trace *trace, uint32_t part)
{
	uint64_t until = 0;

	for (size_t i = 0; i < trace->streams.count; i++) {
		const struct stream *stream = trace->streams.at[i];

		if (stream->part == part && (stream->is_away || stream->may_return) &&
		    stream->has_packet && stream->end > until) {
			until = stream->end;
		}
	}
	return until;
}

/* Hands on what streams hold, and waits for it. */
static void settle(struct trace *trace)
{
	assert(!trace->has_finished);
	for (uint32_t i = 0; i < trace->parts.count; i++) {
		trace_settle_part(trace, i);
	}
	drain(trace);
}

void trace_cut(struct trace *trace)
{
	settle(trace);
	merger_cut(trace->merger);
}

void trace_finish(struct trace *trace, uint64_t now_ns)
{
	const struct engine_export *exporter = trace->engine->config.exporter;
	struct engine_timer timer;
	uint64_t lost;

	assert(!trace->has_finished);
	for (size_t i = 0; i < trace->streams.count; i++) {
		stream_end(trace->streams.at[i]);
	}
	drain(trace);
	lost = trace->unplaced;
	trace->unplaced = 0;
	VEC_EACH(&trace->parts, part) {
		lost += part->unfetched;
		part->unfetched = 0;
	}
	merger_lose(trace->merger, lost);
	timer = engine_timer_start(trace->engine);
	merger_finish(trace->merger, now_ns);
	if (exporter) {
		exporter->finish(exporter->user, lost);
	}
	trace->has_finished = true;
	engine_timer_stop(trace->engine, &timer);
}

/* ---- checkpoint ---- */

void trace_pause(struct trace *trace, uint64_t now_ns)
{
	settle(trace);
	merger_drain(trace->merger, now_ns);
}

void trace_forget_sums(struct trace *trace)
{
	assert(trace->in_flight == 0);
	merger_forget_sums(trace->merger);
}

bool trace_set_range(struct trace *trace)
{
	assert(trace->is_restored);
	return merger_set_range(trace->merger);
}

uint64_t trace_last(const struct trace *trace)
{
	return merger_last(trace->merger);
}

unsigned int trace_warnings(const struct trace *trace)
{
	return trace->warnings;
}

void trace_warn_again(struct trace *trace, const struct engine_warning *warnings, size_t count,
		      unsigned int given)
{
	for (size_t i = trace->warnings; i < count; i++) {
		trace->engine->config.on_warning(trace->user, &warnings[i]);
	}
	trace->warnings = given > trace->warnings ? given : trace->warnings;
}

void trace_end_away(struct trace *trace)
{
	for (size_t i = 0; i < trace->streams.count; i++) {
		if (trace->streams.at[i]->is_away) {
			stream_end(trace->streams.at[i]);
		}
	}
}

bool trace_total_so_far(struct trace *trace)
{
	bool any = merger_closed_until(trace->merger) > 0;

	if (any) {
		merger_emit_total(trace->merger, true);
	}
	return any;
}

const struct merger_account *trace_account(const struct trace *trace)
{
	return merger_account(trace->merger);
}

uint64_t trace_watermark(const struct trace *trace)
{
	return merger_watermark(trace->merger);
}

uint64_t trace_closed_until(const struct trace *trace)
{
	return merger_closed_until(trace->merger);
}
