/*
 * events: the events of a range, decoded, in order of time.
 *
 * A trace of several has a reader of its own; the next_trace of their next events is shown. Packets
 * that end before the range are passed over by their headers.
 */
#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "deep/reader.h"
#include "engine/tables/selection.h"
#include "output/sink.h"
#include "query/value.h"
#include "run/say.h"

struct events_trace {
	const struct recorded_path *path;
	struct reader *reader; /* NULL: it has no more */
	uint64_t begin, end;   /* of the range */
	struct reader_event next;
};

#define DEPTH_MAX (API_DEPTH_MAX / 2)

/* Contexts come first, and those of stream and event are one. */
enum events_part { PART_NONE, PART_CONTEXT, PART_FIELDS };

struct events {
	const struct options *options;
	FILE *out;
	bool is_json, has_failed;
	struct recorded_paths paths;
	VEC(struct events_trace) traces;
	struct json json;
	uint64_t count, gaps, first, last; /* of what was shown */
	bool has_more;
	/* The event that is written. */
	enum events_part part;
	const char *name;       /* of the next value; NULL: it has none */
	char closes[DEPTH_MAX]; /* what is open within the part */
	unsigned int depth, left_depth;
	bool is_empty; /* text: nothing is in what was opened last */
	size_t bytes;
	uint64_t left_out;
	struct err err;
};

static const struct options *asked; /* plan_request.takes has no user */

static bool takes(const struct event_class *class)
{
	bool is_wanted = asked->recorded.count == 0;

	for (size_t i = 0; i < asked->recorded.count && !is_wanted; i++) {
		is_wanted = fnmatch(asked->recorded.at[i], class->name, 0) == 0;
	}
	return is_wanted;
}

static const struct plan_request requests[] = { { .event = "*", .takes = takes } };

/* ---- fields ---- */

static bool has_room(const struct events *run)
{
	return run->left_depth == 0 && run->bytes < ARGS_BYTES_MAX && run->depth < DEPTH_MAX;
}

static void open_bracket(struct events *run, const char *key, char bracket)
{
	run->is_empty = true;
	if (run->is_json) {
		json_open(&run->json, key, bracket);
	} else {
		(void)fprintf(run->out, "%s%c", key ? " " : "", bracket);
	}
}

static void close_bracket(struct events *run, char bracket)
{
	run->is_empty = false;
	if (run->is_json) {
		json_close(&run->json, bracket);
	} else {
		(void)fputc(bracket, run->out);
	}
}

/* Before a value at the top: the part that it is of is open. */
static void begin_part(struct events *run, enum events_part part)
{
	if (run->depth > 0 || run->part == part) {
		return;
	}
	if (run->part != PART_NONE) {
		close_bracket(run, '}');
	}
	run->part = part;
	open_bracket(run, part == PART_CONTEXT ? "context" : "fields", '{');
}

static void put_key(struct events *run)
{
	begin_part(run, PART_FIELDS);
	if (run->is_json && run->name) {
		json_key(&run->json, run->name);
	} else if (!run->is_json) {
		(void)fprintf(run->out, "%s%s%s", run->is_empty ? "" : " ",
			      run->name ? run->name : "", run->name ? "=" : "");
	}
	run->is_empty = false;
	run->name = NULL;
}

static void put_string_field(struct events *run, const char *bytes, size_t len)
{
	size_t most = len < ARGS_TEXT_MAX ? len : ARGS_TEXT_MAX, room = 3 * most + 1;
	char *text = mem_alloc(room);

	run->bytes += utf8_copy(text, room, bytes, most);
	put_key(run);
	if (run->is_json) {
		json_text(&run->json, NULL, text);
	} else {
		(void)fprintf(run->out, "\"%s\"", text);
	}
	free(text);
}

static void put_number(struct events *run, const struct type *type, const struct value *value)
{
	put_key(run);
	if (run->is_json && type->kind == TYPE_FLOAT) {
		json_real(&run->json, NULL, value->f);
	} else if (type->kind == TYPE_FLOAT) {
		(void)fprintf(run->out, "%.9g", value->f);
	} else if (run->is_json && type->is_signed) {
		json_i64(&run->json, NULL, value->i);
	} else if (run->is_json) {
		json_u64(&run->json, NULL, value->u);
	} else if (type->is_signed) {
		(void)fprintf(run->out, "%" PRId64, value->i);
	} else {
		(void)fprintf(run->out, "%" PRIu64, value->u);
	}
}

static void on_field(void *user, const struct type *type, const struct value *value)
{
	struct events *run = user;
	const struct query_value number = {
		.kind = QUERY_NUMBER, .is_signed = type->is_signed, .type = type, .is = *value
	};
	size_t at = 0;
	const char *label;

	if (!has_room(run)) {
		run->left_out++;
		return;
	}
	run->bytes += 8;
	label = type->kind == TYPE_ENUM ? query_value_label(&number, &at) : NULL;
	if (label) {
		put_string_field(run, label, strlen(label));
	} else if (type->kind == TYPE_INT || type->kind == TYPE_ENUM || type->kind == TYPE_FLOAT) {
		put_number(run, type, value);
	} else {
		put_string_field(run, (const char *)value->bytes,
				 strnlen((const char *)value->bytes, value->len));
	}
}

static void enter_field(struct events *run, const struct type *type)
{
	bool is_struct = type->kind == TYPE_STRUCT;

	if (!has_room(run)) {
		run->left_depth++;
		return;
	}
	if (run->depth == 0 && run->name == plan_context_name) {
		begin_part(run, PART_CONTEXT);
		run->name = NULL;
		run->closes[run->depth++] = '\0';
		return;
	}
	put_key(run);
	run->closes[run->depth++] = is_struct ? '}' : ']';
	open_bracket(run, NULL, is_struct ? '{' : '[');
}

static void leave_field(struct events *run)
{
	if (run->left_depth > 0) {
		run->left_depth--;
		return;
	}
	assert(run->depth > 0);
	if (run->closes[--run->depth]) { /* a context stays open: there may be another */
		close_bracket(run, run->closes[run->depth]);
	}
}

static void on_bracket(void *user, const struct step *step)
{
	struct events *run = user;

	if (step->op == STEP_NAME) {
		run->name = step->name;
	} else if (step->op == STEP_ENTER) {
		enter_field(run, step->type);
	} else {
		leave_field(run);
	}
}

/* ---- an event ---- */

static void put_head(struct events *run, const struct events_trace *trace)
{
	const struct reader_event *event = &trace->next;
	const char *name = event->class ? event->class->class->name : NULL;
	char iso[UNITS_TEXT_MAX];

	if (!run->is_json) {
		(void)fprintf(run->out, "%s", units_iso(iso, event->ts));
		if (event->cpu != UINT64_MAX) {
			(void)fprintf(run->out, " cpu %" PRIu64, event->cpu);
		}
		(void)fprintf(run->out, " %s", name ? name : "(events are missing)");
		return;
	}
	json_begin_object(&run->json, run->out, "event");
	json_u64(&run->json, "trace", (uint64_t)(trace - run->traces.at));
	json_moment(&run->json, "begin", event->ts);
	if (event->cpu != UINT64_MAX) {
		json_u64(&run->json, "cpu", event->cpu);
	} else {
		json_null(&run->json, "cpu");
	}
	if (name) {
		json_text(&run->json, "event", name);
	} else {
		json_null(&run->json, "event");
	}
}

static void put_event(struct events *run, struct events_trace *trace)
{
	const struct batch_visitor visitor = { .visit = on_field,
					       .shape = on_bracket,
					       .user = run };

	run->part = PART_NONE;
	run->name = NULL;
	run->depth = run->left_depth = 0;
	run->bytes = run->left_out = 0;
	put_head(run, trace);
	if (trace->next.class) {
		reader_visit(trace->reader, &visitor);
	}
	begin_part(run, PART_FIELDS);
	close_bracket(run, '}');
	if (run->is_json) {
		if (run->left_out > 0) {
			json_u64(&run->json, "left_out", run->left_out);
		}
		json_end_object(&run->json);
	} else {
		(void)fputc('\n', run->out);
	}
}

/* ---- the range ---- */

static void say_warning(void *user, const char *message)
{
	const struct events *run = user;

	if (run->options->verbosity >= 0) {
		say("%s", message);
	}
}

/* Goes to the next event of the trace that is wanted. */
static void advance(struct events *run, struct events_trace *trace)
{
	while (trace->reader) {
		if (run_stop || !reader_next(trace->reader, &trace->next) ||
		    trace->next.ts >= trace->end) {
			reader_close(trace->reader);
			trace->reader = NULL;
		} else if (!trace->next.is_hole && trace->next.ts >= trace->begin &&
			   (trace->next.cpu == UINT64_MAX ||
			    selection_wants_cpu(&run->options->selection, trace->next.cpu))) {
			return;
		}
	}
}

static int open_trace(struct events *run, const struct recorded_path *path)
{
	struct reader_setup setup = {
		.path = path, .warn = say_warning, .user = run, .visits = true
	};
	struct events_trace trace = { .path = path };
	int r = run_range(run->options, path, &setup.from, &trace.end, &run->err);

	if (r == 0) {
		trace.begin = setup.from;
		trace.reader = reader_open(&setup, requests, ARRAY_COUNT(requests), &run->err);
	}
	if (!trace.reader) {
		say("%s", run->err.text);
		run->has_failed = true;
		return -1;
	}
	*vec_push(&run->traces) = trace;
	return 0;
}

static struct events_trace *next_trace(struct events *run)
{
	struct events_trace *found = NULL;

	VEC_EACH(&run->traces, trace) {
		if (trace->reader && (!found || trace->next.ts < found->next.ts)) {
			found = trace;
		}
	}
	return found;
}

static void put_range(struct events *run)
{
	struct events_trace *trace;

	while ((trace = next_trace(run)) && !run_stop) {
		if (run->options->has_top && run->options->top > 0 &&
		    run->count == run->options->top) {
			run->has_more = true;
			return;
		}
		put_event(run, trace);
		run->first = run->count++ > 0 ? run->first : trace->next.ts;
		run->gaps += !trace->next.class;
		run->last = trace->next.ts;
		advance(run, trace);
	}
}

static void put_last_line(struct events *run)
{
	if (!run->is_json) {
		return;
	}
	json_begin_object(&run->json, run->out, "end");
	json_u64(&run->json, "events", run->count);
	json_u64(&run->json, "gaps", run->gaps);
	if (run->count > 0) {
		json_moment(&run->json, "begin", run->first);
		json_moment(&run->json, "end", run->last);
	}
	json_bool(&run->json, "is_all", !run->has_more && !run_stop);
	json_end_object(&run->json);
}

static int work(const struct options *options, struct output *output)
{
	struct events run = { .options = options,
			      .out = output->out,
			      .is_json = strcmp(options->format, "json") == 0 };

	asked = options;
	run_stop_on_signals();
	for (size_t i = 0; options->args[i] && !run_stop; i++) {
		if (run_find(options, options->args[i], &run.paths, &run.err) < 0) {
			say("%s", run.err.text);
			run.has_failed = true;
		}
	}
	VEC_EACH(&run.paths.at, path) {
		if (open_trace(&run, path) == 0) {
			advance(&run, &run.traces.at[run.traces.count - 1]);
		}
	}
	if (run.traces.count > 0) {
		put_range(&run);
		put_last_line(&run);
	}
	VEC_EACH(&run.traces, trace) {
		reader_close(trace->reader);
	}
	vec_fini(&run.traces);
	recorded_paths_fini(&run.paths);
	return run_signal_status() ? run_signal_status() : run.has_failed ? EXIT_FAILED : EXIT_DONE;
}

static int run(const struct options *options)
{
	struct output output = run_output_of(options);

	return run_output(options, &output, work);
}

const struct command cmd_events = {
	.name = "events",
	.args = "TRACE|CAPTURE|URL...",
	.summary = "the events of a range, decoded",
	.examples = "  sillage events --begin 12:00:01 --end 12:00:02 TRACE\n"
		    "  sillage events --event 'sched_*' --cpu 0 -f json TRACE\n",
	.options = FOR_EVENTS,
	.args_min = 1,
	.run = run,
};
