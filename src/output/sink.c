/*
 * sink: see sink.h; the table of sinks, and the files of outputs.
 */
#include "output/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/process/foreign.h"
#include "base/text/utf8.h"
#include "output/shown.h"
#include "output/sinks/text.h"
#include "output/tables.h"
#include "output/whole.h"
#include "phases/phases.h"
#include "text/plain.h"

#define COLUMNS_LEAST 20

static const struct sink *const sinks[] = { &sink_text, &sink_json, NULL };

const struct sink *sink_find(const char *name)
{
	for (size_t i = 0; sinks[i]; i++) {
		if (strcmp(sinks[i]->name, name) == 0) {
			return sinks[i];
		}
	}
	return NULL;
}

/* The option, else COLUMNS, else the terminal's. */
static unsigned int width_of(const struct output *output)
{
	const char *columns = getenv("COLUMNS");
	unsigned long wanted = columns ? strtoul(columns, NULL, 10) : 0;
	struct winsize size;

	wanted = output->has_width ? output->width : wanted;
	if (wanted > 0 && wanted < OUTPUT_COLUMNS_ALL) {
		return wanted > COLUMNS_LEAST ? (unsigned int)wanted : COLUMNS_LEAST;
	}
	if (!output->has_width && output->is_terminal &&
	    ioctl(output->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
		return size.ws_col;
	}
	return OUTPUT_COLUMNS_ALL;
}

static void look_at_terminal(struct output *output)
{
	const char *no_colour = getenv("NO_COLOR");

	output->is_terminal = isatty(output->fd);
	output->has_colour = output->is_terminal && !(no_colour && *no_colour);
	output->columns = width_of(output);
}

/* stdio remembers that a write failed, but not why. */
static bool write_bytes(struct output *output, const char *bytes, size_t len)
{
	int failure = foreign_write(output->fd, output->waits, bytes, len, &output->has_written);

	output->failure = output->failure ? output->failure : failure;
	return failure == 0;
}

const char *output_bold(const struct output *output)
{
	return output->has_colour ? PLAIN_BOLD : "";
}

const char *output_normal(const struct output *output)
{
	return output->has_colour ? PLAIN_NORMAL : "";
}

static bool is_mark(const struct output *output, char byte)
{
	return output->has_colour && (byte == PLAIN_BOLD[0] || byte == PLAIN_NORMAL[0]);
}

#define BLANKS_HELD                                                                                \
	1024 /* of more that come together it is not decided whether they end a line               \
	      */

/* Up to the next mark.  Returns how much of it was taken; failures are noted.  Blanks, and a
 * letter, that the bytes end with or within wait for the next ones. */
static size_t write_plain(struct output *output, const char *bytes, size_t len)
{
	char text[4096];
	size_t held = output->held_blanks, taken = 0, count;

	memset(text, ' ', held);
	memcpy(text + held, output->held, output->held_count);
	held += output->held_count;
	while (taken < len && held + taken < sizeof(text) - 1 && !is_mark(output, bytes[taken])) {
		text[held + taken] = bytes[taken];
		taken++;
	}
	count = held + taken;
	text[count] = '\0';
	output->held_count =
		taken == len || !is_mark(output, bytes[taken]) ? utf8_begun(text, count) : 0;
	memcpy(output->held, text + count - output->held_count, output->held_count);
	count -= output->held_count;
	text[count] = '\0';
	count = plain_report(text, count);
	output->held_blanks = plain_blanks(text, count);
	if (output->held_blanks > BLANKS_HELD) {
		output->held_blanks = 0;
	}
	return write_bytes(output, text, count - output->held_blanks) ? taken : 0;
}

static ssize_t write_through(void *cookie, const char *bytes, size_t len)
{
	struct output *output = cookie;
	size_t done = 0;

	if (output->csv) {
		return tables_take(output, bytes, len) ? (ssize_t)len : 0;
	}
	if (!output->is_text) {
		return write_bytes(output, bytes, len) ? (ssize_t)len : 0;
	}
	while (done < len) {
		size_t some = 1;

		if (is_mark(output, bytes[done])) {
			(void)write_bytes(output,
					  bytes[done] == PLAIN_BOLD[0] ? "\033[1m" : "\033[0m", 4);
		} else {
			some = write_plain(output, bytes + done, len - done);
		}
		if (output->failure) {
			return 0;
		}
		assert(some > 0);
		done += some;
	}
	return (ssize_t)len;
}

static int open_path(struct output *output, struct err *err)
{
	output->fd = output->path && output->is_whole ? whole_open(output->path) : -1;
	output->is_unnamed = output->fd >= 0;
	if (!output->is_unnamed) {
		output->fd = output->path ? foreign_create(output->path, O_TRUNC) : STDOUT_FILENO;
	}
	if (output->fd < 0) {
		return err_raise(err, output->fd, "cannot write to %s: %s", output->path,
				 strerror(-output->fd));
	}
	output->waits = foreign_waits(output->fd);
	return 0;
}

int output_open(struct output *output, struct err *err)
{
	static const cookie_io_functions_t functions = { .write = write_through };
	int r;

	assert(!output->out);
	assert(output->sink && output->sink->report);
	r = output->tables ? tables_open(output, err) : -ENOENT;
	if (r == -ENOENT) {
		r = open_path(output, err);
	}
	if (r < 0) {
		return r;
	}
	output->out = fopencookie(output, "w", functions);
	if (!output->out) {
		return err_raise(err, -ENOMEM, "cannot write to %s: out of memory", output->path);
	}
	(void)setvbuf(output->out, NULL, _IOFBF, OUTPUT_BUFFER_BYTES);
	look_at_terminal(output);
	return 0;
}

int output_reopen(struct output *output, struct err *err)
{
	int again;

	assert(output->out);
	if (!output->path || output->fd < 0) {
		return 0;
	}
	again = foreign_create(output->path, O_APPEND);
	if (again < 0) {
		return err_raise(err, again, "cannot open %s again: %s", output->path,
				 strerror(-again));
	}
	(void)fflush(output->out); /* output_check() reports a failure */
	(void)close(output->fd);
	output->fd = again;
	output->waits = foreign_waits(again);
	return 0;
}

int output_check(struct output *output, struct err *err)
{
	assert(output->out);
	(void)fflush(output->out);
	if (output->failure) {
		return err_raise(err, -output->failure, "writing to %s: %s",
				 output->path ? output->path : "standard output",
				 strerror(output->failure));
	}
	return 0;
}

int output_close(struct output *output, struct err *err)
{
	int r = output_check(output, err), named;

	if (output->csv) {
		struct err why; /* a failure of it is why the check failed */

		r = tables_close(output, &why);
		if (r < 0) {
			*err = why;
		}
		output->has_no_rows = r > 0;
		r = r > 0 ? 0 : r;
	}
	if (r == 0 && output->is_unnamed && output->has_written) {
		named = whole_name(output->fd, output->path);
		r = named == 0 ? 0
			       : err_raise(err, named, "cannot write to %s: %s", output->path,
					   strerror(-named));
	}
	output->held_count = 0; /* a letter that did not end */
	output->held_blanks = 0;
	(void)fclose(output->out);
	if (output->path && output->fd >= 0 && close(output->fd) < 0 && r == 0) {
		r = err_raise(err, -errno, "closing %s: %s", output->path, strerror(errno));
	}
	output->out = NULL;
	vec_fini(&output->also);
	return r;
}

void output_start(struct output *output)
{
	if (output->sink->start) {
		output->sink->start(output);
		(void)fflush(output->out); /* readers of a pipe see at once that a run began */
	}
}

void output_attach(struct output *output, const struct trace_identity *trace, bool is_attach,
		   const char *reason)
{
	if (output->sink->attach) {
		output->sink->attach(output, trace, is_attach, reason);
	}
	for (size_t i = 0; i < output->also.count; i++) {
		output_attach(output->also.at[i], trace, is_attach, reason);
	}
}

void output_unseen(struct output *output, const struct trace_identity *trace,
		   const struct report *report)
{
	for (size_t i = 0; i < output->also.count; i++) {
		output_report(output->also.at[i], trace, report);
	}
}

bool output_wants(const struct output *output, const struct analysis *analysis)
{
	if (analysis == &analysis_phase) {
		return output->shows_phases;
	}
	for (size_t i = 0; output->analyses && output->analyses[i]; i++) {
		if (output->analyses[i] == analysis) {
			return true;
		}
	}
	return !output->analyses;
}

void output_report(struct output *output, const struct trace_identity *trace,
		   const struct report *report)
{
	struct shown shown = { .sums = { 0 } };

	assert(output->sink);
	if (output->sink->report) {
		shown_init(&shown, output, report);
		output->sink->report(output, trace, &shown.report);
		shown_fini(&shown);
	}
	output_unseen(output, trace, report);
}

void output_phase(struct output *output, const struct trace_identity *trace,
		  const struct phase_record *phase)
{
	if (output->sink->phase) {
		output->sink->phase(output, trace, phase);
	}
	output_phase_unseen(output, trace, phase);
}

void output_phase_unseen(struct output *output, const struct trace_identity *trace,
			 const struct phase_record *phase)
{
	for (size_t i = 0; i < output->also.count; i++) {
		output_phase(output->also.at[i], trace, phase);
	}
}

void output_trigger(struct output *output, const struct trace_identity *trace,
		    const struct trigger_event *event, bool is_printed)
{
	assert(output->sink);
	if (output->sink->trigger && (is_printed || output->sink->sees_unprinted)) {
		output->sink->trigger(output, trace, event);
	}
	for (size_t i = 0; i < output->also.count; i++) {
		output_trigger(output->also.at[i], trace, event, is_printed);
	}
}

void output_budget(struct output *output, const struct trace_identity *trace,
		   const struct trigger_event *event)
{
	if (output->sink->budget) {
		output->sink->budget(output, trace, event);
	}
	for (size_t i = 0; i < output->also.count; i++) {
		output_budget(output->also.at[i], trace, event);
	}
}

void output_warning(struct output *output, const struct trace_identity *trace,
		    const struct engine_warning *warning)
{
	if (output->sink->warning) {
		output->sink->warning(output, trace, warning);
	}
	for (size_t i = 0; i < output->also.count; i++) {
		output_warning(output->also.at[i], trace, warning);
	}
}

void output_capture(struct output *output, const struct capture_result *capture)
{
	if (output->sink->capture) {
		output->sink->capture(output, capture);
	}
	for (size_t i = 0; i < output->also.count; i++) {
		output_capture(output->also.at[i], capture);
	}
}

void output_end(struct output *output, const struct run_summary *summary)
{
	if (output->sink->end) {
		output->sink->end(output, summary);
	}
}

char *output_trace_text(const struct trace_identity *identity, bool with_path)
{
	const char *parts[] = { identity->host, identity->session, identity->domain,
				with_path ? identity->path : NULL };
	char *text = mem_strdup(""), *longer;

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		if (parts[i]) {
			const char *between = parts[i] == identity->path ? " in " : "/";

			longer = mem_printf("%s%s%s", text, text[0] ? between : "", parts[i]);
			free(text);
			text = longer;
		}
	}
	if (!text[0]) {
		free(text);
		text = mem_strdup(identity->path ? identity->path : "trace");
	}
	return text;
}

void output_trace_fini(struct trace_identity *identity)
{
	free(identity->host);
	free(identity->session);
	free(identity->domain);
	free(identity->path);
	free(identity->tracer);
	memset(identity, 0, sizeof(*identity));
}
