/*
 * session-join: windows of a kernel's trace and those of programs beside it as one, where a job or
 * a period asks for them.
 *
 *     session of the kernel     its trace ──► part 0 ─┐
 *     session of the programs   a trace ───► part 1 ─┴► one trace of the engine
 *                               a trace ───► part 2
 *
 * LTTng makes one session of the relay for each domain, and each of them has a connection of its
 * own.  A trace that may be one with others is bound once its metadata is whole, since that says
 * what it is of: the kernel's at once, those of programs when the kernel's is there.  Packets wait
 * until all traces of these sessions are bound, so that no window closes before who is there has
 * come: for the grace period at most, and no longer than JOIN_NS for what no session shows yet.
 * What comes later is joined, too, and not waited for.
 *
 *     metadata whole ── kernel's ─────────────────────────► part 0 ────────────────┐
 *                    ├─ program's, and the kernel's is there ─► a part ────────────┤ all are bound,
 *                    ├─ program's ── time is over ────────────► a trace by itself  │ or time is
 * over └─ of another host, or clock ─► a trace by itself             └─► packets go on
 *
 * A session that is read to its end while another one of them is not stays until that is, if its
 * traces wait, or the others are joined to it (SESSION_READ).
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "ctf/metadata/kin.h"
#include "ctf/metadata/metadata.h"
#include "ctf/plan/plan.h"
#include "engine/contract/beside.h"
#include "engine/trace.h"
#include "live/session/session-state.h"

#define JOIN_NS (2 * NS_PER_S)

/* Sessions that are one.  Traces that are one with a kernel's before this one stay so: they have
 * its trace of the engine. */
struct session_join {
	const struct beside *key;
	VEC(struct session *) sessions;
	struct live_trace *kernel; /* who comes is joined to it; NULL: none is there */
	struct kin kin;            /* of that */
	bool is_open;              /* packets go to the engine */
	bool said_late;            /* that programs came before the kernel was said */
	uint64_t since;            /* monotonic ns: of the first trace; 0: none is there */
};

struct session_joins {
	VEC(struct session_join *) all;
};

struct session_joins *session_joins_new(void)
{
	return mem_alloc(sizeof(struct session_joins));
}

void session_joins_free(struct session_joins *joins)
{
	if (joins) {
		assert(joins->all.count == 0); /* all sessions are freed */
		vec_fini(&joins->all);
		free(joins);
	}
}

void session_join_enter(struct session *session)
{
	struct session_joins *joins = session->owner.joins;

	if (!joins) {
		return;
	}
	VEC_EACH_OF(&joins->all, join) {
		if (join->key == session->beside) {
			session->join = join;
		}
	}
	if (!session->join) {
		session->join = mem_alloc(sizeof(*session->join));
		session->join->key = session->beside;
		*vec_push(&joins->all) = session->join;
	}
	*vec_push(&session->join->sessions) = session;
}

/* Without a kernel's trace it begins again; parts that it has stay as they are. */
static void forget_kernel(struct session_join *join)
{
	join->kernel = NULL;
	kin_fini(&join->kin);
	memset(&join->kin, 0, sizeof(join->kin));
	join->is_open = join->said_late = false;
	join->since = 0;
}

void session_join_leave(struct session *session)
{
	struct session_joins *joins = session->owner.joins;
	struct session_join *join = session->join;
	size_t left = 0;

	if (!join) {
		return;
	}
	VEC_EACH_OF(&join->sessions, other) {
		if (other != session) {
			join->sessions.at[left++] = other;
		}
	}
	join->sessions.count = left;
	session->join = NULL;
	if (left > 0) {
		return;
	}
	forget_kernel(join);
	vec_fini(&join->sessions);
	for (size_t i = 0; i < joins->all.count; i++) {
		if (joins->all.at[i] != join) {
			joins->all.at[left++] = joins->all.at[i];
		}
	}
	joins->all.count = left;
	free(join);
}

/* ---- which traces are one ---- */

static bool is_part_of(const struct session_join *join, const struct live_trace *trace)
{
	return join && join->kernel && trace->trace && trace->trace == join->kernel->trace;
}

/* Whether the engine has the two as one trace. */
static bool are_one(const struct live_trace *one, const struct live_trace *other)
{
	return one != other && one->trace && one->trace == other->trace;
}

/* Whether it is one with a kernel's trace that newcomers are not joined to any more. */
static bool is_of_former(const struct session_join *join, const struct live_trace *trace)
{
	return trace->trace && (trace->part > 0 || trace->parts > 0) && !is_part_of(join, trace);
}

bool session_join_waits(const struct live_trace *trace)
{
	const struct session_join *join = trace->session->join;

	return is_part_of(join, trace) && !join->is_open;
}

/* A trace of programs whose metadata could not be compiled with the others' must not take them
 * with it. */
static bool can_be_read(struct metadata_stream *stream)
{
	struct plan_builder *builder =
		plan_builder_new(metadata_stream_arena(stream), NULL, 0, false);
	struct plan *plan = NULL;
	struct err err;
	bool is = plan_build(builder, metadata_stream_types(stream), &plan, &err) == 0;

	if (is) {
		plan_unref(plan);
	}
	plan_builder_free(builder);
	return is;
}

bool session_join_take(struct live_trace *trace)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct err err;
	int r;

	assert(!trace->trace && trace->session->join);
	metadata_stream_count(stream, session_memory(trace->session));
	r = metadata_stream_feed(stream, trace->metadata.at, trace->metadata.count, &err);
	trace->is_known = r < 0 || (metadata_stream_end(stream, &err) == 0 &&
				    metadata_stream_types(stream)->has_trace);
	kin_fini(&trace->kin);
	memset(&trace->kin, 0, sizeof(trace->kin));
	trace->stands_alone = r < 0;
	if (trace->is_known && r == 0) {
		kin_take(&trace->kin, metadata_stream_types(stream));
		trace->stands_alone = !can_be_read(stream);
	}
	metadata_stream_free(stream);
	return trace->is_known;
}

bool session_join_binds(const struct live_trace *trace)
{
	return trace->is_known && !trace->trace && !trace->has_failed && !trace->is_away;
}

/* As others are read with it.  NULL: no trace of the kernel can have them. */
static struct live_trace *kernel_of(const struct session_join *join)
{
	return join->kernel && join->kernel->trace && !join->kernel->has_failed ? join->kernel
										: NULL;
}

static const char *path_of(const struct live_trace *trace)
{
	return trace->identity.path ? trace->identity.path : "a trace";
}

/* Whether it becomes a part of the kernel's; says why it does not, if there is more to say than
 * that it is none. */
static bool may_join(const struct session_join *join, const struct live_trace *trace)
{
	const struct kin_clock *clock, *own;
	const char *why;

	if (kin_may_join(&join->kin, &trace->kin, &clock, &own, &why) &&
	    join->kernel->parts < JOINED_PARTS_MAX) {
		return true;
	}
	if (why) {
		session_say(trace->session, 0, "%s %s than %s: not taken with it", path_of(trace),
			    why, path_of(join->kernel));
	} else if (join->kernel->parts >= JOINED_PARTS_MAX) {
		session_say(trace->session, 0,
			    "%s is not read with the kernel's trace: %u others are already",
			    path_of(trace), (unsigned int)JOINED_PARTS_MAX);
	}
	return false;
}

/* The kernel's trace has come. */
static void begin_with(struct session_join *join, struct live_trace *trace)
{
	assert(!join->kernel && !trace->trace);
	join->kernel = trace;
	join->is_open = false;
	session_trace_bind(trace);
	if (!trace->trace) { /* it was read before: it is not there for others */
		forget_kernel(join);
		return;
	}
	join->kin = trace->kin;
	memset(&trace->kin, 0, sizeof(trace->kin));
	VEC_EACH_OF(&join->sessions, session) {
		VEC_EACH_OF(&session->traces, other) {
			if (other != trace && other->trace && !join->said_late &&
			    session->state != SESSION_READ && !is_of_former(join, other)) {
				join->said_late = true;
				session_say(session, 0,
					    "%s was begun before the kernel's trace came: the two "
					    "are not read as one",
					    path_of(other));
			}
		}
	}
}

static void join_to(struct session_join *join, struct live_trace *trace)
{
	assert(kernel_of(join) && !trace->trace && trace->part == 0);
	trace->joins = true;
	session_trace_bind(trace);
	trace->joins = false;
	if (trace->part > 0) {
		join->kernel->parts++;
		session_say(trace->session, 0,
			    "%s is read with the kernel's trace as one, since a job or a period is "
			    "of programs' events%s",
			    path_of(trace),
			    join->is_open ? "; windows that are closed are without it" : "");
	}
}

/* Also if the kernel's trace has failed since: its parts go on without it. */
static void open_join(struct session_join *join)
{
	assert(join->kernel && join->kernel->trace && !join->is_open);
	join->is_open = true;
	if (join->kernel->parts == 0 && !join->kernel->has_failed) {
		session_say(
			join->kernel->session, 0,
			"no trace of a program has come yet: the kernel's windows go on without "
			"one; who comes later is read with it");
	}
	VEC_EACH_OF(&join->sessions, session) {
		for (size_t i = 0; i < session->traces.count; i++) {
			if (is_part_of(join, session->traces.at[i])) {
				session_trace_go_on(session->traces.at[i]);
			}
		}
	}
}

/* Who comes from now on is of another kernel's trace. */
static void retire_kernel(struct session_join *join)
{
	if (!join->is_open) {
		open_join(join);
	}
	forget_kernel(join);
}

/* Whether its session is read to its end, and stays for those that are joined to it. */
static bool is_kernel_over(const struct session_join *join)
{
	return join->kernel && join->kernel->trace && join->kernel->session->state == SESSION_READ;
}

/* Binds it, if what it is one with is known, or @is_over: it is not waited for any longer. */
static void try_bind(struct session_join *join, struct live_trace *trace, bool is_over)
{
	if (trace->stands_alone || session_trace_finds_away(trace)) {
		session_trace_bind(trace);
	} else if (trace->kin.is_kernel && (!join->kernel || is_kernel_over(join))) {
		if (join->kernel) {
			retire_kernel(join);
		}
		begin_with(join, trace);
	} else if (trace->kin.is_kernel || (kernel_of(join) && !may_join(join, trace))) {
		session_trace_bind(trace);
	} else if (kernel_of(join)) {
		join_to(join, trace);
	} else if (is_over || join->kernel) {
		session_trace_bind(trace);
	}
	if (trace->trace || trace->has_failed) {
		kin_fini(&trace->kin);
		memset(&trace->kin, 0, sizeof(trace->kin));
		session_trace_begin(trace);
	}
}

/* ---- when packets go on ---- */

/* The traces of programs come after the kernel's of the same list. */
static void bind_all(struct session_join *join, bool is_over)
{
	for (unsigned int kernels = 2; kernels-- > 0;) {
		for (size_t i = 0; i < join->sessions.count; i++) {
			struct session *session = join->sessions.at[i];

			for (size_t k = 0; k < session->traces.count; k++) {
				struct live_trace *trace = session->traces.at[k];

				if (session_join_binds(trace) && trace->kin.is_kernel == kernels) {
					try_bind(join, trace, is_over);
				}
			}
		}
	}
}

/* Whether its connection is made, or made again: what it has will show. */
static bool is_on_its_way(const struct session *session)
{
	return session->state == SESSION_CONNECTING || session->state == SESSION_AWAY;
}

/* Whether each session has shown a trace, and the engine has all that were. */
static bool is_settled(const struct session_join *join)
{
	bool is = join->kernel && join->kernel->parts > 0;

	VEC_EACH_OF(&join->sessions, session) {
		is &= session->traces.count > 0 || session->state == SESSION_ENDED;
		is &= !is_on_its_way(session);
		VEC_EACH_OF(&session->traces, trace) {
			is &= trace->has_failed || trace->is_away ||
			      (trace->trace && trace->is_current);
		}
	}
	return is;
}

/* Whether the metadata of some trace is on its way. */
static bool any_comes(const struct session_join *join)
{
	VEC_EACH_OF(&join->sessions, session) {
		if (is_on_its_way(session)) {
			return true;
		}
		VEC_EACH_OF(&session->traces, trace) {
			if (!trace->trace && !trace->is_known && !trace->has_failed &&
			    !trace->is_away) {
				return true;
			}
		}
	}
	return false;
}

/* Whether nothing is waited for any longer. */
static bool is_time_over(struct session_join *join, uint64_t now)
{
	uint64_t age, grace = 0;

	VEC_EACH_OF(&join->sessions, session) {
		grace = session->owner.grace_ns;
		VEC_EACH_OF(&session->traces, trace) {
			if (join->since == 0 && !is_of_former(join, trace)) {
				join->since = now;
			}
		}
	}
	age = join->since > 0 ? now - join->since : 0;
	return age > grace || (age > JOIN_NS && !any_comes(join));
}

/* ---- the end ---- */

/* Whether a trace of the one is joined to the other's. */
static bool is_joined_to(const struct session *one, const struct session *other)
{
	VEC_EACH_OF(&other->traces, kernel) {
		VEC_EACH_OF(&one->traces, part) {
			if (kernel->part == 0 && are_one(part, kernel)) {
				return true;
			}
		}
	}
	return false;
}

bool session_join_holds(const struct session *session)
{
	const struct session_join *join = session->join;

	VEC_EACH_OF(&session->traces, trace) {
		if (join && (session_join_binds(trace) ||
			     (session_join_waits(trace) && !trace->has_failed))) {
			return true;
		}
	}
	for (size_t i = 0; join && i < join->sessions.count; i++) {
		const struct session *other = join->sessions.at[i];

		if (other != session && is_joined_to(other, session)) {
			return true;
		}
	}
	return false;
}

void session_join_forget(const struct live_trace *trace)
{
	struct session_join *join = trace->session->join;

	if (!join || trace->part > 0) {
		return;
	}
	VEC_EACH_OF(&join->sessions, session) {
		VEC_EACH_OF(&session->traces, part) {
			if (are_one(part, trace)) {
				session_trace_leave(part);
			}
		}
	}
	if (join->kernel == trace) {
		forget_kernel(join);
	}
}

struct live_trace *session_join_kernel(const struct session *session)
{
	return session->join ? session->join->kernel : NULL;
}

bool session_has_parts(const struct session *session)
{
	VEC_EACH_OF(&session->traces, trace) {
		if (trace->parts > 0) {
			return true;
		}
	}
	return false;
}

void session_join_each(struct session *session, void (*call)(struct session *session, uint64_t arg),
		       uint64_t arg)
{
	const struct session_join *join = session->join;

	call(session, arg);
	for (size_t i = 0; join && i < join->sessions.count; i++) {
		if (join->sessions.at[i] != session &&
		    is_joined_to(join->sessions.at[i], session)) {
			call(join->sessions.at[i], arg);
		}
	}
}

void session_join_note_resumed(const struct live_trace *before, struct live_trace *trace)
{
	struct session_join *join = trace->session->join;

	if (join && join->kernel == before) {
		join->kernel = trace;
	}
	assert(before->is_away && !trace->is_away);
	trace->part = before->part;
	trace->parts = before->parts;
	trace_set_part_user(trace->trace, trace->part, trace);
}

/* What is away for longer than the grace period does not hold back the others. */
static void exclude_away(const struct session_join *join, uint64_t now)
{
	VEC_EACH_OF(&join->sessions, session) {
		VEC_EACH_OF(&session->traces, trace) {
			if (trace->is_away && trace->trace &&
			    now - session->away_since > session->owner.grace_ns) {
				trace_exclude_away(trace->trace, trace->part);
			}
		}
	}
}

/* Those that stayed for others. */
static void end_read(struct session_join *join, bool is_over)
{
	for (size_t i = 0; i < join->sessions.count; i++) {
		struct session *session = join->sessions.at[i];

		if (session->state == SESSION_READ && !session_join_holds(session)) {
			session_end_read(session, is_over);
			i = SIZE_MAX; /* it may have been the last that another one stayed for */
		}
	}
}

static void step(struct session_join *join, bool is_last)
{
	uint64_t now = now_monotonic_ns();
	bool is_over;

	if (is_kernel_over(join) && join->is_open) {
		retire_kernel(join);
	}
	is_over = is_time_over(join, now) || is_last;
	bind_all(join, is_over);
	if (join->kernel && join->kernel->trace && !join->is_open &&
	    (is_over || is_settled(join))) {
		open_join(join);
	}
	exclude_away(join, now);
	end_read(join, !is_last);
}

void session_join_step(struct session *session)
{
	if (session->join) {
		step(session->join, false);
	}
}

void session_joins_step(struct session_joins *joins, bool is_last)
{
	for (size_t i = 0; joins && i < joins->all.count; i++) {
		step(joins->all.at[i], is_last);
	}
}
