/*
 * wanted: see wanted.h.
 */
#include "setup/wanted.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/contract/setup.h"
#include "engine/worker/worker.h"

/* ---- lists of names ---- */

static void add(struct wanted_names *names, const char *name)
{
	for (size_t i = 0; i < names->at.count; i++) {
		if (strcmp(names->at.at[i], name) == 0) {
			return;
		}
	}
	*vec_push(&names->at) = mem_strdup(name);
}

static void clear(struct wanted_names *names)
{
	vec_free_each(&names->at, free);
}

/* ---- events ---- */

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Calls of 32-bit programs come with the others.  The other forms are those of tracers before 2.6,
 * which no tracer of today records. */
static bool is_old_or_compat(const char *event)
{
	return starts_with(event, "compat_sys") || starts_with(event, "sys_") ||
	       strcmp(event, "exit_syscall") == 0;
}

static void add_kernel(struct wanted *wanted, const char *event)
{
	static const char *const prefixes[] = { "syscall_entry_", "syscall_exit_" };

	if (is_old_or_compat(event)) {
		return;
	}
	if (strcmp(event, "syscall_*") == 0) {
		wanted->all_calls = true;
		return;
	}
	for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++) {
		if (starts_with(event, prefixes[i])) {
			const char *call = event + strlen(prefixes[i]);

			wanted->all_calls |= strchr(call, '*') != NULL;
			add(&wanted->calls, call);
			return;
		}
	}
	add(&wanted->kernel, event);
}

static bool is_of_user(const struct plan_request *request)
{
	/* Names of the kernel's events have no colon. */
	return (request->domain && plan_in_domain("ust", request->domain)) ||
	       strchr(request->event, ':');
}

/* ---- contexts ---- */

/* Those that `lttng add-context` knows in each domain.  Periods and jobs ask for the kernel's and
 * the user's name of the same thing; each is in one list only. */
static const char *const of_kernel[] = { "pid",      "tid",           "ppid",
					 "prio",     "nice",          "hostname",
					 "procname", "cgroup_ns",     "ipc_ns",
					 "mnt_ns",   "net_ns",        "pid_ns",
					 "uts_ns",   "interruptible", "need_reschedule",
					 NULL };
static const char *const of_user[] = { "vpid",   "vtid",      "procname", "pthread_id",
				       "ip",     "cgroup_ns", "ipc_ns",   "mnt_ns",
				       "net_ns", "pid_ns",    "uts_ns",   NULL };

static void add_context(struct wanted_names *contexts, const char *const *known, const char *field)
{
	field += *field == '@'; /* as text */
	if (!starts_with(field, "context.")) {
		return;
	}
	field += strlen("context.");
	for (; *known; known++) {
		if (strcmp(*known, field) == 0) {
			add(contexts, field);
		}
	}
}

static void add_contexts(struct wanted *wanted, const struct plan_request *request)
{
	bool is_user = is_of_user(request);

	for (size_t i = 0; i < PLAN_FIELDS_MAX && request->fields[i]; i++) {
		add_context(is_user ? &wanted->user_contexts : &wanted->kernel_contexts,
			    is_user ? of_user : of_kernel, request->fields[i]);
	}
}

/* Events of user space are of threads: without these one cannot be told from another later. */
static void add_user(struct wanted *wanted, const char *event)
{
	add(&wanted->user, event);
	add(&wanted->user_contexts, "vpid");
	add(&wanted->user_contexts, "vtid");
}

/* ---- all ---- */

/* Whether the engine's own events, which come first, are of use: not where periods and jobs are
 * made of user-space events only. */
static bool needs_kernel(const struct setup *setup)
{
	bool is_needed = false;

	for (size_t i = 0; i < setup->analysis_count; i++) {
		const struct analysis *analysis = setup->analyses[i];

		is_needed |= analysis->uses_threads &&
			     (analysis->need_count == 0 || analysis->needs[0].is_extra) &&
			     !analysis_rare(analysis)->needs_of;
	}
	for (size_t i = setup->base_count; i < setup->request_count; i++) {
		is_needed |= !is_of_user(&setup->requests[i]);
	}
	return is_needed;
}

void wanted_find(struct wanted *wanted, const struct analysis *const *list,
		 const struct period_set *periods)
{
	struct setup setup = { .interval_ns = 1, .range_end = UINT64_MAX, .periods = periods };

	while (list[setup.analysis_count]) {
		setup.analyses[setup.analysis_count] = list[setup.analysis_count];
		setup.analysis_count++;
	}
	setup_init(&setup, worker_needs, WORKER_NEEDS);
	for (size_t i = 0; i < setup.request_count; i++) {
		const struct plan_request *request = &setup.requests[i];

		if (request->is_extra || (setup.follows_rt && i < setup.base_count)) {
			continue;
		}
		if (is_of_user(request)) {
			add_user(wanted, request->event);
		} else {
			add_kernel(wanted, request->event);
		}
		add_contexts(wanted, request);
	}
	if (!needs_kernel(&setup)) {
		wanted_drop_kernel(wanted);
	}
	setup_fini(&setup);
	if (wanted->all_calls) {
		clear(&wanted->calls);
	}
}

void wanted_narrow_user(struct wanted *wanted)
{
	struct wanted_names named = { 0 };

	VEC_EACH_OF(&wanted->user.at, name) {
		if (strcmp(name, "*") != 0) {
			add(&named, name);
		}
	}
	if (named.at.count > 0) {
		clear(&wanted->user);
		wanted->user = named;
	}
}

void wanted_add_user(struct wanted *wanted, const char *pattern)
{
	add_user(wanted, pattern);
	wanted_narrow_user(wanted);
}

bool wanted_has_kernel(const struct wanted *wanted)
{
	return wanted->kernel.at.count > 0 || wanted->calls.at.count > 0 || wanted->all_calls;
}

void wanted_drop_kernel(struct wanted *wanted)
{
	clear(&wanted->kernel);
	clear(&wanted->calls);
	clear(&wanted->kernel_contexts);
	wanted->all_calls = false;
}

bool wanted_is_much(const struct wanted *wanted)
{
	bool is_much = wanted->all_calls;

	for (size_t i = 0; i < wanted->kernel.at.count; i++) {
		is_much |= strchr(wanted->kernel.at.at[i], '*') != NULL;
	}
	return is_much;
}

void wanted_fini(struct wanted *wanted)
{
	wanted_drop_kernel(wanted);
	clear(&wanted->user);
	clear(&wanted->user_contexts);
}
