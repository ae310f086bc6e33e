/*
 * gate: see gate.h.
 */
#include "trigger/gate.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/process/foreign.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "engine/tables/report.h"
#include "output/sink.h"

#define FIRINGS_MAX 20 /* that a case tells; all are counted */

struct gate_case {
	char *name;
	bool fails;
	uint64_t fired;
	char *skipped;       /* why it was not evaluated; NULL: it was */
	bool is_mistaken;    /* it names what is not there */
	VEC(char *) firings; /* the first ones */
	VEC(char *) notes;
};

/* What is missing in a trace, as its last report has it. */
struct gate_loss {
	char *trace;
	struct losses lost;
};

struct gate {
	bool is_strict;
	VEC(struct gate_case) cases;
	VEC(struct gate_loss) losses;
	bool has_total;
	struct missing_events missing; /* in every trace with a total */
	VEC(char *) others;            /* gate_lost() */
};

struct gate *gate_new(bool is_strict)
{
	struct gate *gate = mem_alloc(sizeof(*gate));

	gate->is_strict = is_strict;
	return gate;
}

void gate_free(struct gate *gate)
{
	if (!gate) {
		return;
	}
	VEC_EACH(&gate->cases, one) {
		vec_free_each(&one->firings, free);
		vec_free_each(&one->notes, free);
		free(one->name);
		free(one->skipped);
	}
	for (size_t i = 0; i < gate->losses.count; i++) {
		free(gate->losses.at[i].trace);
	}
	vec_fini(&gate->cases);
	vec_fini(&gate->losses);
	vec_fini(&gate->missing.at);
	vec_free_each(&gate->others, free);
	free(gate);
}

/* ---- what happened ---- */

void gate_add(struct gate *gate, const char *name, bool fails)
{
	*vec_push(&gate->cases) = (struct gate_case){ .name = mem_strdup(name), .fails = fails };
}

/* The place for the text of the firing, from malloc(); NULL: the case tells enough of them. */
static char **note_firing(struct gate *gate, size_t number)
{
	struct gate_case *one = &gate->cases.at[number];

	assert(number < gate->cases.count);
	one->fired++;
	return one->firings.count < FIRINGS_MAX ? vec_push(&one->firings) : NULL;
}

void gate_held(struct gate *gate, size_t number, const char *says)
{
	char **text = note_firing(gate, number);

	if (text) {
		*text = mem_strdup(says);
	}
}

void gate_fired(struct gate *gate, size_t number, const struct trace_identity *trace,
		const struct trigger_event *event)
{
	char says[1024], begin[UNITS_TEXT_MAX], end[UNITS_TEXT_MAX], *name,
		**text = note_firing(gate, number);

	if (!text) {
		return;
	}
	name = output_trace_text(trace, true);
	notice_trigger_text(event, says, sizeof(says));
	*text = mem_printf("%s (%s to %s, %s)", says, units_iso(begin, event->begin),
			   units_iso(end, event->end), name);
	free(name);
}

void gate_note(struct gate *gate, size_t number, const char *says)
{
	assert(number < gate->cases.count);
	*vec_push(&gate->cases.at[number].notes) = mem_strdup(says);
}

void gate_skip(struct gate *gate, size_t number, const char *why)
{
	assert(number < gate->cases.count);
	free(gate->cases.at[number].skipped);
	gate->cases.at[number].skipped = mem_strdup(why);
}

void gate_mistaken(struct gate *gate, size_t number, const char *why)
{
	gate_skip(gate, number, why);
	gate->cases.at[number].is_mistaken = true;
}

static struct gate_loss *loss_of(struct gate *gate, const struct trace_identity *trace)
{
	char *name = output_trace_text(trace, true);
	struct gate_loss *loss;

	for (size_t i = 0; i < gate->losses.count; i++) {
		if (strcmp(gate->losses.at[i].trace, name) == 0) {
			free(name);
			return &gate->losses.at[i];
		}
	}
	loss = vec_push(&gate->losses);
	*loss = (struct gate_loss){ .trace = name };
	return loss;
}

void gate_report(struct gate *gate, const struct trace_identity *trace, const struct report *report)
{
	if (report->kind == REPORT_WINDOW) {
		return; /* totals have it, too */
	}
	if (gate->has_total) {
		missing_keep(&gate->missing, report->missing, report->missing_count);
	} else {
		vec_append(&gate->missing.at, report->missing, report->missing_count);
	}
	gate->has_total = true;
	if (report_lost_any(&report->lost)) {
		loss_of(gate, trace)->lost = report->lost;
	}
}

void gate_lost(struct gate *gate, const char *says)
{
	*vec_push(&gate->others) = mem_strdup(says);
}

/* ---- what it means ---- */

static bool is_skipped(const struct gate_case *one)
{
	return one->skipped && one->fired == 0;
}

/* For --strict. */
static bool is_unmeasured(const struct gate_case *one)
{
	return is_skipped(one) && (one->fails || one->is_mistaken);
}

static bool has_lost(const struct gate *gate)
{
	bool unmeasured = false;

	for (size_t i = 0; i < gate->cases.count; i++) {
		unmeasured |= is_unmeasured(&gate->cases.at[i]);
	}
	return unmeasured || gate->losses.count > 0 || gate->missing.at.count > 0 ||
	       gate->others.count > 0;
}

int gate_status(const struct gate *gate)
{
	bool held = false;

	for (size_t i = 0; i < gate->cases.count; i++) {
		held |= gate->cases.at[i].fails && gate->cases.at[i].fired > 0;
	}
	return gate->is_strict && has_lost(gate) ? GATE_LOST : held ? GATE_HELD : GATE_PASSED;
}

/* What is missing, a line each; from malloc(). */
static char *loss_text(const struct gate *gate)
{
	char *text = NULL, *missing;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	VEC_EACH(&gate->losses, loss) {
		(void)fprintf(out, "%s: ", loss->trace);
		report_lost_list(out, &loss->lost);
		(void)fputc('\n', out);
	}
	if (gate->missing.at.count > 0) {
		missing = missing_text(gate->missing.at.at, gate->missing.at.count, true);
		(void)fprintf(out, "not recorded: %s\n", missing);
		free(missing);
	}
	for (size_t i = 0; i < gate->others.count; i++) {
		(void)fprintf(out, "%s\n", gate->others.at[i]);
	}
	VEC_EACH(&gate->cases, one) {
		if (is_unmeasured(one)) {
			(void)fprintf(out, "not evaluated: %s: %s\n", one->name, one->skipped);
		}
	}
	(void)fclose(out);
	return text;
}

void gate_say_lost(const struct gate *gate, void (*say)(const char *fmt, ...))
{
	char *text = loss_text(gate), *rest = text, *line;

	while ((line = strsep(&rest, "\n")) && *line) {
		say("--strict: %s", line);
	}
	free(text);
}

void gate_say(const struct gate *gate, void (*say)(const char *fmt, ...))
{

	VEC_EACH(&gate->cases, one) {
		if (one->fails && one->fired > 0) {
			say("--fail \"%s\": held (times: %" PRIu64 "), first: %s", one->name,
			    one->fired, one->firings.at[0]);
		} else if (is_skipped(one) && !(gate->is_strict && is_unmeasured(one))) {
			say("%s\"%s\" was never evaluated: %s", one->fails ? "--fail " : "trigger ",
			    one->name, one->skipped);
		}
		for (size_t i = 0; i < one->notes.count && !is_skipped(one); i++) {
			say("\"%s\": %s", one->name, one->notes.at[i]);
		}
	}
	if (gate->is_strict) {
		gate_say_lost(gate, say);
	}
}

/* ---- files ---- */

typedef void write_fn(const struct gate *gate, const char *failure, FILE *out);

static int write_file(const struct gate *gate, const char *path, const char *failure,
		      write_fn *write, struct err *err)
{
	bool is_stdout = strcmp(path, "-") == 0;
	FILE *out;
	int r = foreign_writer(is_stdout ? NULL : path, &out, err);

	if (r < 0) {
		return r;
	}
	write(gate, failure, out);
	if (fflush(out) != 0 || ferror(out)) {
		r = err_raise(err, -EIO, "%s: %s", is_stdout ? "standard output" : path,
			      strerror(errno));
	}
	if (fclose(out) != 0 && r == 0) {
		r = err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	return r;
}

/* Names are untrusted: what is no plain text is replaced. */
static void put_xml(FILE *out, const char *text)
{
	for (size_t bytes = 1; *text; text += bytes, bytes = 1) {
		switch (*text) {
		case '<':
			(void)fputs("&lt;", out);
			break;
		case '>':
			(void)fputs("&gt;", out);
			break;
		case '&':
			(void)fputs("&amp;", out);
			break;
		case '"':
			(void)fputs("&quot;", out);
			break;
		case '\n':
			(void)fputs("&#10;", out);
			break;
		default:
			bytes = utf8_put(out, text);
		}
	}
}

static void put_lines_xml(FILE *out, char *const *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		put_xml(out, lines[i]);
		(void)fputc('\n', out);
	}
}

static void put_case_xml(const struct gate_case *one, FILE *out)
{
	bool has_failed = one->fails && one->fired > 0;

	(void)fprintf(out, "  <testcase classname=\"sillage.%s\" name=\"",
		      one->fails ? "fail" : "trigger");
	put_xml(out, one->name);
	(void)fputs("\">\n", out);
	if (has_failed) {
		(void)fputs("    <failure message=\"", out);
		put_xml(out, one->firings.at[0]);
		(void)fputs("\">", out);
	} else if (one->fired > 0 || (one->notes.count > 0 && !is_skipped(one))) {
		(void)fputs("    <system-out>", out);
	} else if (is_skipped(one)) {
		(void)fputs("    <skipped message=\"", out);
		put_xml(out, one->skipped);
		(void)fputs("\"/>\n", out);
	}
	if (one->fired > 0 || (one->notes.count > 0 && !is_skipped(one))) {
		(void)fprintf(out, "times fired: %" PRIu64 "\n", one->fired);
		put_lines_xml(out, one->firings.at, one->firings.count);
		put_lines_xml(out, one->notes.at, one->notes.count);
		(void)fputs(has_failed ? "</failure>\n" : "</system-out>\n", out);
	}
	(void)fputs("  </testcase>\n", out);
}

static void put_extra_xml(const char *name, const char *element, const char *text, FILE *out)
{
	(void)fprintf(out, "  <testcase classname=\"sillage\" name=\"%s\">\n", name);
	if (text[0]) {
		(void)fprintf(out, "    <%s message=\"", element);
		put_xml(out, text);
		(void)fputs("\"/>\n", out);
	}
	(void)fputs("  </testcase>\n", out);
}

/* Cases, failed and skipped ones. */
static void count_cases(const struct gate *gate, size_t counts[3])
{
	counts[0] = gate->cases.count + gate->is_strict;
	counts[1] = gate->is_strict && has_lost(gate);
	counts[2] = 0;
	for (size_t i = 0; i < gate->cases.count; i++) {
		counts[1] += gate->cases.at[i].fails && gate->cases.at[i].fired > 0;
		counts[2] += is_skipped(&gate->cases.at[i]);
	}
}

static void write_junit(const struct gate *gate, const char *failure, FILE *out)
{
	char *losses = loss_text(gate);
	size_t counts[3];

	count_cases(gate, counts);
	(void)fprintf(out,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<testsuite name=\"sillage\" tests=\"%zu\" failures=\"%zu\" errors=\"%d\" "
		      "skipped=\"%zu\">\n",
		      counts[0] + (failure != NULL), counts[1], failure != NULL, counts[2]);
	for (size_t i = 0; i < gate->cases.count; i++) {
		put_case_xml(&gate->cases.at[i], out);
	}
	if (gate->is_strict) {
		put_extra_xml("nothing is missing", "failure", losses, out);
	}
	if (failure) {
		put_extra_xml("the run came to its end", "error", failure, out);
	}
	(void)fputs("</testsuite>\n", out);
	free(losses);
}

/* One line; # would begin a directive. */
static void put_tap(FILE *out, const char *text)
{
	while (*text) {
		if (*text == '#' || *text == '\\') {
			(void)fputc('\\', out);
		}
		text += utf8_put(out, text);
	}
}

static void put_diagnostic(FILE *out, const char *text)
{
	(void)fputs("# ", out);
	while (*text && *text != '\n') {
		text += utf8_put(out, text);
	}
	(void)fputc('\n', out);
}

static void put_case_tap(const struct gate_case *one, size_t number, FILE *out)
{
	(void)fprintf(out, "%sok %zu - %s: ", one->fails && one->fired > 0 ? "not " : "", number,
		      one->fails ? "fail" : "trigger");
	put_tap(out, one->name);
	if (is_skipped(one)) {
		(void)fputs(" # SKIP ", out);
		put_tap(out, one->skipped);
	}
	(void)fputc('\n', out);
	if (one->fired > 0) {
		(void)fprintf(out, "# times fired: %" PRIu64 "\n", one->fired);
	}
	for (size_t i = 0; i < one->firings.count; i++) {
		put_diagnostic(out, one->firings.at[i]);
	}
	for (size_t i = 0; i < one->notes.count; i++) {
		put_diagnostic(out, one->notes.at[i]);
	}
}

static void write_tap(const struct gate *gate, const char *failure, FILE *out)
{
	char *losses = loss_text(gate), *rest = losses, *line;
	size_t counts[3];

	count_cases(gate, counts);
	(void)fprintf(out, "TAP version 13\n1..%zu\n", counts[0]);
	for (size_t i = 0; i < gate->cases.count; i++) {
		put_case_tap(&gate->cases.at[i], i + 1, out);
	}
	if (gate->is_strict) {
		(void)fprintf(out, "%sok %zu - nothing is missing\n", losses[0] ? "not " : "",
			      counts[0]);
		while ((line = strsep(&rest, "\n")) && *line) {
			put_diagnostic(out, line);
		}
	}
	if (failure) {
		(void)fputs("Bail out! ", out);
		put_tap(out, failure);
		(void)fputc('\n', out);
	}
	free(losses);
}

int gate_write_junit(const struct gate *gate, const char *path, const char *failure,
		     struct err *err)
{
	return write_file(gate, path, failure, write_junit, err);
}

int gate_write_tap(const struct gate *gate, const char *path, const char *failure, struct err *err)
{
	return write_file(gate, path, failure, write_tap, err);
}
