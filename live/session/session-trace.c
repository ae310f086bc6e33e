/*
 * session-trace: the traces of a session: recognising them, starting and ending them.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "ctf/metadata/metadata.h"
#include "engine/engine.h"
#include "engine/exchange/checkpoint-file.h"
#include "engine/stream.h"
#include "engine/trace.h"
#include "history/history.h"
#include "live/session/session-state.h"
#include "phases/phases.h"
#include "rollup/rollup.h"

void session_say(const struct session *session, int verbosity, const char *fmt, ...)
{
	char text[768];
	va_list args;
	int len;

	len = snprintf(text, sizeof(text), "%s/%s: ", session->listed.host, session->listed.name);
	va_start(args, fmt);
	(void)vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, args);
	va_end(args);
	session->owner.say(session->owner.user, verbosity, fmt, text);
}

/* With buffers of each process a session has many traces of the same names. */
static void set_path(struct live_trace *trace, const char *path)
{
	trace->identity.path = mem_strdup_if(path);
	trace->identity.tells_path = path && strstr(path, "/pid/");
}

struct live_trace *session_find_trace(struct session *session, uint64_t relay_id, const char *path)
{
	struct live_trace *trace;

	for (size_t i = 0; i < session->traces.count; i++) {
		trace = session->traces.at[i];
		if (!trace->is_away && trace->relay_id == relay_id) {
			if (path && !trace->identity.path) {
				set_path(trace, path);
			}
			return trace;
		}
	}
	trace = mem_alloc(sizeof(*trace));
	trace->session = session;
	trace->relay_id = relay_id;
	trace->session_id = session->listed.id;
	trace->identity.host = mem_strdup(session->listed.host);
	trace->identity.session = mem_strdup(session->listed.name);
	set_path(trace, path);
	*vec_push(&session->traces) = trace;
	return trace;
}

void session_trace_drop_waiting(struct live_trace *trace, const struct live_stream *stream)
{
	size_t left = 0;

	for (size_t i = 0; i < trace->waiting.count; i++) {
		struct session_waiting *waiting = &trace->waiting.at[i];

		if (stream && waiting->stream != stream) {
			trace->waiting.at[left++] = *waiting;
		} else {
			account_give(session_memory(trace->session), ACCOUNT_WAITING, waiting->len);
			free(waiting->bytes);
		}
	}
	trace->waiting.count = left;
}

void session_trace_drop_metadata(struct live_trace *trace)
{
	account_give(session_memory(trace->session), ACCOUNT_METADATA, trace->metadata.count);
	vec_fini(&trace->metadata);
}

void session_trace_free(struct live_trace *trace)
{
	if (trace->trace && trace->part == 0) {
		trace_free(trace->trace);
	} else if (trace->trace) {
		trace_set_part_user(trace->trace, trace->part, NULL); /* the others go on */
	}
	kin_fini(&trace->kin);
	history_trace_free(trace->history);
	rollup_free(trace->rollup);
	phases_free(trace->phases);
	session_trace_drop_waiting(trace, NULL);
	vec_fini(&trace->waiting);
	session_trace_drop_metadata(trace);
	vec_fini(&trace->attached);
	output_trace_fini(&trace->identity);
	free(trace);
}

void session_trace_account(const struct live_trace *trace, struct run_summary *summary)
{
	if (trace->trace && trace->part == 0) {
		const struct merger_account *account = trace_account(trace->trace);

		summary->events += account->events - trace->before.events;
		summary->packets += account->packets - trace->before.packets;
		summary->bytes += account->bytes - trace->before.bytes;
		summary->lost_packets += account->lost_packets - trace->before.lost_packets;
		summary->duplicates += trace_duplicates(trace->trace);
		summary->unfetched_packets += trace_refound(trace->trace);
	}
}

/* Whether it can be saved, and its UUID. */
static bool can_be_saved(const struct live_trace *trace, uint8_t ret_uuid[16])
{
	return trace->trace && trace->has_plan && !trace->has_failed &&
	       trace_uuid(trace->trace, ret_uuid);
}

/* As the state calls it; it borrows the names. */
static struct partial_file_trace saved_identity(const struct live_trace *trace)
{
	return (struct partial_file_trace){ .host = trace->identity.host,
					    .session = trace->identity.session,
					    .domain = trace->identity.domain,
					    .path = trace->identity.path,
					    .range_end = UINT64_MAX };
}

static void put_checkpoint(struct live_trace *trace, const uint8_t uuid[16], bool stays_open)
{
	const struct partial_file_trace identity = saved_identity(trace);
	struct codec_out beside = { 0 }, phases = { 0 }, attached = { 0 };
	struct codec codec = { .out = &phases };

	if (trace->phases) {
		phases_codec(trace->phases, &codec);
	}
	if (trace->session->owner.on_save) {
		trace->session->owner.on_save(trace->session->owner.user, trace, &attached);
	}
	checkpoint_file_add_part(&beside, &phases);
	checkpoint_file_add_part(&beside, &attached);
	checkpoint_file_put(trace->session->owner.checkpoint_file, uuid, trace->trace, &identity,
			    &beside, stays_open);
	vec_fini(&beside.bytes);
}

void session_trace_checkpoint(struct live_trace *trace)
{
	uint8_t uuid[16];

	assert(trace->session->owner.checkpoint_file);
	if (can_be_saved(trace, uuid)) {
		trace_pause(trace->trace, now_wall_ns());
		put_checkpoint(trace, uuid, true);
	}
}

/* Saves a checkpoint for another run; false: the session is over, or nothing can be saved. */
static bool save_last(struct live_trace *trace, bool is_over)
{
	const struct partial_file_trace identity = saved_identity(trace);
	uint8_t uuid[16];

	if (!can_be_saved(trace, uuid)) {
		return false;
	}
	if (is_over) {
		checkpoint_file_drop(trace->session->owner.checkpoint_file, uuid, &identity,
				     trace->trace);
		return false;
	}
	trace_pause(trace->trace, now_wall_ns());
	(void)trace_total_so_far(trace->trace);
	put_checkpoint(trace, uuid, false);
	return true;
}

void session_trace_announced_again(struct live_trace *trace)
{
	uint8_t uuid[16];

	trace->unfetched = 0;
	if (trace->trace && !trace_part_uuid(trace->trace, trace->part, uuid)) {
		trace_announced_again(trace->trace, trace->part);
	}
}

/* Packets without metadata; reports them. */
uint64_t session_trace_lose_waiting(const struct live_trace *trace)
{
	uint64_t packets = 0;
	struct err err;

	for (size_t i = 0; i < trace->waiting.count; i++) {
		packets += session_lose_waiting(&trace->waiting.at[i]);
	}
	if (packets > 0) {
		const char *path = trace->identity.path ? trace->identity.path : "a trace";

		if (trace->has_plan && !trace_metadata_is_whole(trace->trace, trace->part, &err)) {
			session_say(trace->session, 0,
				    "%" PRIu64 " packets of %s are lost: metadata incomplete: %s",
				    packets, path, err.text);
		} else {
			session_say(trace->session, 0,
				    "%" PRIu64 " packets of %s are lost: there was no metadata for "
				    "them",
				    packets, path);
		}
	}
	return packets;
}

/* Packets of a trace whose connection was lost, if it was never known which one it is. */
static uint64_t lose_unfetched(const struct live_trace *trace)
{
	if (trace->unfetched > 0) {
		session_say(
			trace->session, 0, "%" PRIu64 " packets of %s are lost with the connection",
			trace->unfetched, trace->identity.path ? trace->identity.path : "a trace");
	}
	return trace->unfetched;
}

/* Packets of a trace that cannot be analysed.  Each connection had them all, or those that it came
 * to; one that could analyse them has. */
static uint64_t lose_dropped(struct live_trace *trace)
{
	uint64_t all = trace->dropped + trace->dropped_before, lost = trace->dropped;

	if (trace->has_failed && trace->dropped_before > lost) {
		lost = trace->dropped_before;
	}
	lost = trace->was_read ? 0 : lost;
	trace->session->account.duplicates += all - lost;
	return lost;
}

void session_trace_finish(struct live_trace *trace, const char *reason, bool is_over)
{
	struct session *session = trace->session;
	uint64_t dropped = lose_dropped(trace);
	uint64_t lost = dropped + session_trace_lose_waiting(trace) + lose_unfetched(trace);

	if (trace->trace) {
		trace_lose(trace->trace, lost);
	} else {
		session->account.lost_packets += lost;
	}
	if (trace->trace && trace->part > 0) {
		if (is_over) {
			session_trace_end_streams(trace); /* the kernel's ends them else */
		}
		trace_settle_part(trace->trace, trace->part); /* captures have it, too */
	} else if (trace->trace) {
		if (!session->owner.checkpoint_file || !save_last(trace, is_over)) {
			if (!is_over) {
				trace_cut(trace->trace);
			}
			trace_finish(trace->trace, now_wall_ns());
		}
		session_trace_account(trace, &session->account);
	}
	if (trace->has_attached) {
		session->owner.on_attach(session->owner.user, &trace->identity, false, reason);
	}
}

struct live_trace *session_find_away(const struct session *session, const uint8_t *uuid)
{
	for (size_t i = 0; i < session->traces.count; i++) {
		struct live_trace *trace = session->traces.at[i];
		uint8_t other[16];

		if (trace->is_away && trace->trace &&
		    (!uuid || (trace_part_uuid(trace->trace, trace->part, other) &&
			       memcmp(uuid, other, 16) == 0))) {
			return trace;
		}
	}
	return NULL;
}

/* The same, of this session or another one: after a restart of the relay, two sessions of one name
 * cannot be told apart. */
static struct live_trace *find_away(const struct session *session, const uint8_t *uuid)
{
	struct live_trace *trace = session_find_away(session, uuid);

	return trace || !session->owner.find_away
		       ? trace
		       : session->owner.find_away(session->owner.user, session, uuid);
}

struct live_trace *session_find_namesake(const struct live_trace *trace)
{
	const struct session *session = trace->session;

	for (size_t i = 0; i < session->traces.count && trace->identity.path; i++) {
		struct live_trace *other = session->traces.at[i];

		if (other->is_away && other->trace && other->session_id == trace->session_id &&
		    other->identity.path &&
		    strcmp(other->identity.path, trace->identity.path) == 0) {
			return other;
		}
	}
	return NULL;
}

/* The same for a trace without UUID: only the relay's names tell that it is the same one. */
static struct live_trace *find_away_by_path(const struct live_trace *trace)
{
	struct live_trace *away = session_find_namesake(trace);
	uint8_t uuid[16];

	return away && !trace_part_uuid(away->trace, away->part, uuid) ? away : NULL;
}

/* Reads the UUID from the metadata so far; *@ret_has is false if the trace has none.  False: more
 * metadata is needed. */
static bool read_uuid(const struct live_trace *trace, uint8_t uuid[16], bool *ret_has)
{
	struct metadata_stream *stream = metadata_stream_new();
	const struct metadata *types;
	struct err err;
	bool is_known = false;

	if (metadata_stream_feed(stream, trace->metadata.at, trace->metadata.count, &err) == 0) {
		types = metadata_stream_types(stream);
		is_known = types->has_uuid || types->has_trace;
		memcpy(uuid, types->uuid, 16);
		*ret_has = types->has_uuid;
	}
	metadata_stream_free(stream);
	return is_known;
}

/* Continues the engine's trace of a lost connection. */
static void resume_trace(struct live_trace *trace, struct live_trace *away)
{
	assert(away->is_away);
	assert(!trace->is_away);
	trace->trace = away->trace;
	trace->has_attached = away->has_attached;
	trace->has_window = away->has_window;
	trace->is_resumed = true;
	trace->since = away->since;
	vec_append(&trace->attached, away->attached.at, away->attached.count);
	trace->before = away->before;
	trace->dropped_before =
		away->dropped > away->dropped_before ? away->dropped : away->dropped_before;
	trace->session->account.duplicates +=
		away->dropped + away->dropped_before - trace->dropped_before;
	away->dropped = away->dropped_before = 0;
	session_join_note_resumed(away, trace);
	if (trace->part == 0) {
		trace_set_user(trace->trace, trace);
	}
	trace_metadata_restart(trace->trace, trace->part);
	away->trace = NULL;
	away->has_attached = false;
	trace->history = away->history;
	away->history = NULL;
	trace->rollup = away->rollup;
	away->rollup = NULL;
	phases_free(trace->phases);
	trace->phases = away->phases;
	away->phases = NULL;
	if (trace->history) {
		history_metadata_restart(trace->history);
	}
	session_say(trace->session, trace->session->recall.is_on ? 1 : 0,
		    "attached again; anything missing of what was traced meanwhile is a gap");
}

static void open_streams(struct live_trace *trace)
{
	struct session *session = trace->session;

	for (size_t i = 0; i < session->streams.count; i++) {
		struct live_stream *stream = session->streams.at[i];

		if (stream->trace == trace && !stream->stream) {
			stream->stream = stream_new(trace->trace, trace->part, stream->name);
		}
	}
}

static bool was_read(const struct live_trace *trace, const uint8_t *uuid)
{
	const struct session_owner *owner = &trace->session->owner;

	return owner->was_read && owner->was_read(owner->user, trace->session, uuid);
}

void session_note_read(struct session *session)
{
	session->is_read = true;
	for (size_t i = 0; i < session->traces.count; i++) {
		const struct live_trace *trace = session->traces.at[i];
		uint8_t uuid[16];

		if (trace->is_away) {
			continue;
		}
		if (trace->trace && trace_part_uuid(trace->trace, trace->part, uuid)) {
			vec_append(&session->read_uuids, uuid, sizeof(uuid));
		} else {
			session->is_read &= trace->was_read;
		}
	}
}

bool session_is_read(const struct session *session)
{
	return session->is_read;
}

const uint8_t *session_read_uuids(const struct session *session, size_t *ret_count)
{
	*ret_count = session->read_uuids.count / 16;
	return session->read_uuids.at;
}

bool session_is_again(const struct session *session)
{
	return session->is_again;
}

bool session_has_only_read(const struct session *session)
{
	for (size_t i = 0; i < session->traces.count; i++) {
		if (!session->traces.at[i]->was_read) {
			return false;
		}
	}
	return session->is_again;
}

/* All packets of the trace came before. */
static void pass_over(struct live_trace *trace)
{
	bool is_again = trace->session->is_again;

	trace->has_failed = trace->was_read = true;
	trace->dropped += trace->waiting.count;
	session_trace_drop_waiting(trace, NULL);
	session_say(trace->session, is_again ? 1 : 0,
		    "%s was read to its end before %s; it is not read once more",
		    trace->identity.path ? trace->identity.path : "its trace",
		    is_again ? "the session ended" : "the relay was started again");
}

static void begin_trace(struct live_trace *trace)
{
	struct live_trace *kernel = session_join_kernel(trace->session);

	if (trace->joins) {
		trace->trace = kernel->trace;
		trace->part = trace_add_part(trace->trace);
		trace_set_part_user(trace->trace, trace->part, trace);
		return;
	}
	trace->trace = trace_new(trace->session->owner.engine, trace);
	trace_set_live(trace->trace);
	trace_set_beside(trace->trace, &trace->session->beside->all);
	if (trace == kernel) {
		trace_expect_parts(trace->trace);
	}
}

void session_trace_end_streams(struct live_trace *trace)
{
	VEC_EACH_OF(&trace->session->streams, stream) {
		if (stream->trace == trace && stream->stream) {
			stream_end(stream->stream);
		}
	}
	trace_exclude_away(trace->trace, trace->part);
}

void session_trace_leave(struct live_trace *trace)
{
	VEC_EACH_OF(&trace->session->streams, stream) {
		stream->stream = stream->trace == trace ? NULL : stream->stream;
	}
	trace_set_part_user(trace->trace, trace->part, NULL);
	trace->trace = NULL;
	trace->part = 0;
	trace->has_failed = true;
	trace->has_plan = trace->is_current = false;
}

static void new_trace(struct live_trace *trace, const uint8_t uuid[16])
{
	struct session *session = trace->session;
	struct partial_file_trace identity;
	struct codec beside;
	struct err err;
	int r;

	begin_trace(trace);
	if (session->owner.wants_phases && !trace->phases) {
		trace->phases =
			phases_new(session->owner.checkpoint_file, session->owner.has_calls);
	}
	if (!session->owner.checkpoint_file) {
		return;
	}
	identity = saved_identity(trace);
	r = checkpoint_file_restore(session->owner.checkpoint_file, uuid, &identity, trace->trace,
				    &beside, &err);
	if (r < 0) { /* a partly restored trace is of no use */
		trace_free(trace->trace);
		begin_trace(trace);
		session_say(session, 0, "%s; the trace starts without it", err.text);
	} else if (r > 0) {
		struct codec phases = checkpoint_file_take_part(&beside);
		struct codec attached = checkpoint_file_take_part(&beside);

		vec_append(&trace->attached, attached.at, attached.left);
		session_trace_account(trace, &trace->before);
		trace->is_resumed = true;
		if (trace->phases) {
			trace->phases = phases_restore(trace->phases, &phases);
		}
		session_say(session, 0, "goes on from %s",
			    checkpoint_file_path(session->owner.checkpoint_file));
	}
}

void session_trace_bind(struct live_trace *trace)
{
	struct session *session = trace->session;
	struct live_trace *away = NULL;
	uint8_t uuid[16] = { 0 };
	bool has_uuid = false;

	assert(!trace->trace);
	if (find_away(session, NULL) || session->owner.checkpoint_file || was_read(trace, NULL)) {
		if (!read_uuid(trace, uuid, &has_uuid)) {
			return;
		}
		away = has_uuid ? find_away(session, uuid) : find_away_by_path(trace);
	}
	if (!away && was_read(trace, uuid)) {
		pass_over(trace);
		return;
	}
	if (away) {
		resume_trace(trace, away);
	} else {
		new_trace(trace, uuid);
		if (session->owner.history) {
			trace->history = history_trace_new(session->owner.history);
		}
	}
	assert(trace->trace);
	open_streams(trace);
}

bool session_trace_finds_away(const struct live_trace *trace)
{
	uint8_t uuid[16] = { 0 };
	bool has_uuid = false;

	return find_away(trace->session, NULL) && read_uuid(trace, uuid, &has_uuid) &&
	       (has_uuid ? find_away(trace->session, uuid) : find_away_by_path(trace));
}

bool session_trace_may_resume(const struct live_trace *trace)
{
	const struct session_owner *owner = &trace->session->owner;

	if (trace->trace) {
		return trace->is_resumed;
	}
	return find_away(trace->session, NULL) ||
	       (owner->checkpoint_file && checkpoint_file_any(owner->checkpoint_file));
}

void session_trace_fail(struct live_trace *trace, const struct err *err)
{
	struct engine_warning warning = { .what = "trace", .packet = -1 };

	trace->has_failed = true;
	for (size_t i = 0; i < trace->waiting.count; i++) {
		trace->dropped += session_lose_waiting(&trace->waiting.at[i]);
	}
	session_trace_drop_waiting(trace, NULL);
	(void)snprintf(warning.message, sizeof(warning.message),
		       "the trace %.100s is skipped: %.350s",
		       trace->identity.path ? trace->identity.path : "", err->text);
	if (!trace->trace) {
		session_trace_drop_metadata(trace);
		session_say(trace->session, 0, "%s", warning.message);
		return;
	}
	trace_warn(trace->trace, &warning);
	if (trace->part > 0 || trace->parts > 0) {
		session_trace_end_streams(trace); /* the others go on */
	}
}

void session_trace_note_plan(struct live_trace *trace)
{
	const struct plan *plan = session_plan(trace);
	const struct env_entry *domain;

	if (plan) {
		beside_add(trace->session->beside, plan->of);
	}
	if (trace->has_plan || !plan) {
		return;
	}
	trace->has_plan = true;
	trace->identity.has_uuid = trace_part_uuid(trace->trace, trace->part, trace->identity.uuid);
	trace->identity.tracer = metadata_tracer(plan->of);
	domain = metadata_env(plan->of, "domain");
	if (domain && domain->text && !trace->identity.domain) {
		trace->identity.domain = mem_strdup(domain->text);
	}
	if (!trace->has_attached) {
		trace->has_attached = true;
		trace->session->owner.on_attach(trace->session->owner.user, &trace->identity, true,
						"attached");
	}
}
