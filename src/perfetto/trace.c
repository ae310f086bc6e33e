/*
 * trace: see trace.h.
 */
#include "perfetto/trace.h"

#include <errno.h>
#include <string.h>

#include "ctf/metadata/type.h"
#include "perfetto/user-spans.h"

/* A state dump or a long quiet time may lie between two events that are wanted. */
bool trace_next(struct trace_export *export, struct reader *reader, struct reader_event *event)
{
	if ((export->stop && atomic_load_explicit(export->stop, memory_order_relaxed)) ||
	    !reader_next(reader, event) || event->ts >= export->end) {
		return false;
	}
	export->has_range |= event->ts >= export->begin && !event->is_hole;
	return true;
}

static const char *env_text(const struct metadata *metadata, const char *name)
{
	const struct env_entry *entry = metadata_env(metadata, name);

	return entry ? entry->text : NULL;
}

bool trace_is_kernel(const struct plan *plan)
{
	const char *domain = env_text(plan->metadata, "domain");
	const char *tracer = env_text(plan->metadata, "tracer_name");

	/* perf names this domain for whatever it records. */
	return plan_has_event(plan, "sched_switch") || (domain && strcmp(domain, "kernel") == 0 &&
							!(tracer && strcmp(tracer, "perf") == 0));
}

int trace_write(struct perfetto *writer, struct trace_export *export, struct err *err)
{
	struct reader *reader =
		reader_open(export->setup, kernel_requests, kernel_request_count, err);
	struct reader_setup with_args = *export->setup;
	const struct metadata *metadata;
	struct reader_seen seen;
	bool is_of_kernel;
	int r = 0;

	if (!reader) {
		return -EINVAL;
	}
	is_of_kernel = trace_is_kernel(reader_plan(reader));
	if (!is_of_kernel) {
		reader_close(reader);
		with_args.visits = export->has_args;
		reader =
			reader_open(&with_args, user_spans_requests, user_spans_request_count, err);
	}
	if (!reader) {
		return -EINVAL;
	}
	metadata = reader_plan(reader)->metadata;
	reader_seen(reader, &seen);
	writer_host(writer, env_text(metadata, "hostname"), env_text(metadata, "kernel_release"),
		    seen.first < UINT64_MAX ? seen.first : 0);
	if (is_of_kernel) {
		r = trace_write_kernel(writer, export, reader, err);
	} else {
		r = trace_write_user(writer, export, reader, err);
	}
	reader_seen(reader, &seen);
	export->read = seen.events;
	reader_close(reader);
	return r;
}
