/*
 * record-events: see record-events.h.
 */
#include "cmd/record/record-events.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "setup/wanted.h"

/* Who is who, of which container, and which thread runs: without it no figure has a name. */
static const char *const always[] = {
	"task/task_newtask",        "sched/sched_process_fork",  "sched/sched_process_exec",
	"sched/sched_process_exit", "cgroup/cgroup_attach_task", "cgroup/cgroup_transfer_tasks",
};

/* What `report` explains with: all but memory, which is much. */
static const char *const usual[] = {
	"sched_switch",       "sched_waking",     "sched_wakeup",       "sched_wakeup_new",
	"sched_migrate_task", "sched_pi_setprio", "irq_handler_*",      "irq_softirq_*",
	"timer_hrtimer_*",    "timer_expire_*",   "timer_start",        "block_rq_*",
	"net_dev_xmit",       "net_dev_queue",    "net_if_receive_skb", "net_if_rx",
	"signal_*",
};

/* The events of this kernel: "SYSTEM/NAME" and their names in LTTng. */
struct known_event {
	char *path, *name; /* the path is cut at its slash: the system */
	const char *own;   /* its name in ftrace */
};

struct known_events {
	VEC(struct known_event) at;
};

static void find_kernel_events(struct known_events *known, const struct ftrace_instance *instance)
{
	char **paths = instance_find(instance);

	for (size_t i = 0; paths[i]; i++) {
		struct known_event *one = vec_push(&known->at);
		char *slash = strchr(paths[i], '/');

		assert(slash);
		*slash = '\0';
		*one = (struct known_event){ .path = paths[i],
					     .own = slash + 1,
					     .name = convert_name(paths[i], slash + 1) };
	}
	free(paths);
}

static void free_kernel_events(struct known_events *known)
{
	VEC_EACH(&known->at, one) {
		free(one->path);
		free(one->name);
	}
	vec_fini(&known->at);
}

/* Whether a name or pattern means an event: LTTng's name, or SYSTEM:NAME of ftrace. */
static bool means(const char *pattern, const struct known_event *event, bool of_ftrace)
{
	char *full;
	bool is;

	if (fnmatch(pattern, event->name, 0) == 0) {
		return true;
	}
	if (!of_ftrace) {
		return false;
	}
	full = mem_printf("%s:%s", event->path, event->own);
	is = fnmatch(pattern, full, 0) == 0;
	free(full);
	return is;
}

/* Enables what a pattern means; *ret_count: how many.  What the kernel refuses is left out of
 * patterns. */
static int enable_pattern(struct recorder *recorder, const struct known_events *known,
			  const char *pattern, bool of_ftrace, size_t *ret_count, struct err *err)
{
	*ret_count = 0;
	VEC_EACH(&known->at, event) {
		int r;

		/* Events of ftrace itself cannot be enabled. */
		if (strcmp(event->path, "ftrace") == 0 || !means(pattern, event, of_ftrace)) {
			continue;
		}
		r = recorder_enable(recorder, event->path, event->own, err);
		if (r < 0 && !strpbrk(pattern, "*?[")) {
			return r;
		}
		*ret_count += r == 0;
	}
	return 0;
}

static int enable_calls(struct recorder *recorder, struct err *err)
{
	int r = recorder_enable(recorder, "raw_syscalls", "sys_enter", err);

	return r < 0 ? r : recorder_enable(recorder, "raw_syscalls", "sys_exit", err);
}

static int enable_list(struct recorder *recorder, const struct known_events *known,
		       const char *const *names, size_t count, struct err *err)
{
	size_t found;
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		r = enable_pattern(recorder, known, names[i], false, &found, err);
	}
	return r;
}

static int enable_wanted(struct recorder *recorder, const struct known_events *known,
			 const struct options *options, struct err *err)
{
	struct wanted wanted = { 0 };
	int r;

	wanted_find(&wanted, options->analyses, &options->periods);
	r = enable_list(recorder, known, (const char *const *)wanted.kernel.at.at,
			wanted.kernel.at.count, err);
	if (r == 0 && (wanted.all_calls || wanted.calls.at.count > 0)) {
		r = enable_calls(recorder, err);
	}
	wanted_fini(&wanted);
	return r;
}

static int enable_asked(struct recorder *recorder, const struct known_events *known,
			const struct options *options, struct err *err)
{
	size_t found;
	int r = 0;

	for (size_t i = 0; i < options->recorded.count && r == 0; i++) {
		const char *pattern = options->recorded.at[i];

		r = enable_pattern(recorder, known, pattern, true, &found, err);
		if (r == 0 && found == 0) {
			r = err_raise(err, -ENOENT,
				      "--event %s: this kernel has none of that name; it lists all "
				      "in /sys/kernel/tracing/available_events",
				      pattern);
		}
	}
	return r;
}

int record_events_enable(struct recorder *recorder, const struct options *options, struct err *err)
{
	struct known_events known = { { 0 } };
	int r = 0;

	find_kernel_events(&known, recorder_instance(recorder));
	if (options->has_analyses) {
		r = enable_wanted(recorder, &known, options, err);
	} else if (options->recorded.count == 0) {
		r = enable_list(recorder, &known, usual, ARRAY_COUNT(usual), err);
		r = r < 0 ? r : enable_calls(recorder, err);
	}
	r = r < 0 ? r : enable_asked(recorder, &known, options, err);
	if (r == 0 && recorder_events(recorder) == 0) {
		r = err_raise(err, -ENOENT, "the kernel has no event that these analyses read");
	}
	for (size_t i = 0; i < ARRAY_COUNT(always) && r == 0; i++) {
		char *system = mem_strdup(always[i]), *name = strchr(system, '/');
		struct err ignored;

		*name++ = '\0';
		(void)recorder_enable(recorder, system, name, &ignored); /* as far as it has them */
		free(system);
	}
	free_kernel_events(&known);
	return r;
}
