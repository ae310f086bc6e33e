/*
 * job: see job.h.
 */
#include "query/job.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"

const struct job_model job_models[] = {
	{ "run", "sched_in; sched_out", "a stay on a CPU" },
	{ "run-to-sleep", "sched_in; sched_switch prev_tid=$tid, prev_state&207!=0",
	  "from the first stay to sleep" },
	{ "wake-to-sleep",
	  "sched_waking tid=$tid; sched_in; sched_switch prev_tid=$tid, prev_state&207!=0",
	  "from the wake-up to sleep" },
	{ "sleep", "sched_switch prev_tid=$tid, prev_state&207!=0; sched_in", "a sleep" },
	{ "periodic", "syscall_exit_clock_nanosleep; syscall_entry_clock_nanosleep",
	  "between two sleeps of a periodic thread" },
	{ "timerfd", "syscall_exit_read; syscall_entry_read", "between two reads, of a timer too" },
	{ "mq", "syscall_exit_mq_timedreceive; syscall_entry_mq_timedreceive",
	  "from a message to the next wait for one" },
	{ "signal", "syscall_exit_rt_sigtimedwait; syscall_entry_rt_sigtimedwait",
	  "from a signal to the next wait for one" },
	{ "", NULL, NULL },
};

/* ---- patterns ---- */

/* Whether "deadline TIME", "every TIME" or "group USE" comes next: no definition looks like that.
 */
static bool is_clause(const char *at)
{
	static const char *const words[] = { "deadline", "every", "group" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i]);

		if (strncmp(at, words[i], len) == 0 &&
		    (at[len] == ' ' || at[len] == '\t' || at[len] == '\0')) {
			return true;
		}
	}
	return false;
}

/* Skips a semicolon; false: the pattern ends here. */
static bool take_next(struct pattern_parser *parser, bool has_clauses)
{
	const char *next;

	if (*parser->at != ';') {
		return false;
	}
	next = parser->at + 1 + strspn(parser->at + 1, " \t");
	if (has_clauses && is_clause(next)) {
		return false;
	}
	parser->at = next;
	return true;
}

static int take_pattern(struct pattern_parser *parser, struct job_pattern *pattern,
			bool has_clauses)
{
	int r;

	memset(pattern, 0, sizeof(*pattern));
	pattern_blanks(parser);
	do {
		if (pattern->count == JOB_EVENTS_MAX) {
			return pattern_expected(parser, "no more than sixteen events");
		}
		r = pattern_definition(parser, &pattern->at[pattern->count++]);
	} while (r == 0 && take_next(parser, has_clauses) && *parser->at);
	if (r == 0 && pattern->count < 2) {
		return pattern_expected(parser,
					"; and a second event, or a model (--job help lists them)");
	}
	for (size_t i = 0; r == 0 && i < pattern->count; i++) {
		pattern->is_across |= pattern->at[i].who[0] != '\0';
	}
	if (r == 0 && pattern->is_across && pattern->count > 2) {
		return pattern_expected(parser, "two events: from one thread to another (@)");
	}
	return r;
}

int job_pattern_parse(const char *text, struct job_pattern *pattern, struct err *err)
{
	struct pattern_parser parser = { .text = text, .at = text, .err = err };

	for (size_t i = 0; job_models[i].name[0]; i++) {
		if (strcmp(job_models[i].name, text) == 0) {
			parser.text = parser.at = job_models[i].pattern;
		}
	}
	return take_pattern(&parser, pattern, false);
}

/* ---- fields ---- */

/* Fills the indexes of what is asked for; false: an event needs too many fields. */
static bool find_fields(struct job_spec *job, const struct label_set *labels)
{
	bool fits = true;

	for (size_t d = 0; d < job->is.count; d++) {
		struct job_event *event = &job->events[d];
		struct fields *fields = &event->fields;

		fits &= fields_want_conditions(fields, &job->is.at[d], event->conditions) &&
			label_want(fields, labels, &job->group, event->groups) &&
			fields_want_thread(fields, &event->running);
	}
	return fits;
}

/* ---- the whole ---- */

/* Takes a model, if its name is all there is before the clauses. */
static bool take_model(struct pattern_parser *parser, struct job_spec *job)
{
	for (size_t i = 0; job_models[i].name[0]; i++) {
		size_t len = strlen(job_models[i].name);
		struct pattern_parser after = *parser;

		if (strncmp(parser->at, job_models[i].name, len) != 0) {
			continue;
		}
		after.at += len;
		pattern_blanks(&after);
		if (*after.at == '\0' || (*after.at == ';' && !take_next(&after, true))) {
			struct err unused;
			int r = job_pattern_parse(job_models[i].name, &job->is, &unused);

			assert(r == 0); /* models are right */
			(void)r;
			parser->at = after.at;
			return true;
		}
	}
	return false;
}

static int take_time(struct pattern_parser *parser, struct job_spec *job)
{
	bool is_deadline = pattern_take(parser, "deadline");
	uint64_t *into = is_deadline ? &job->deadline_ns : &job->period_ns;
	char text[PATTERN_WORD_BYTES];
	int r;

	if (!is_deadline) {
		(void)pattern_take(parser, "every");
	}
	if (*into != (is_deadline ? UINT64_MAX : 0)) {
		return pattern_expected(parser, "one deadline and one period");
	}
	r = pattern_word(parser, "a duration", text);
	if (r == 0 && (units_parse_duration(text, into) < 0 || *into == 0 || *into == UINT64_MAX)) {
		parser->at -= strlen(text);
		return pattern_expected(parser, "a duration as 2ms or 1.5s");
	}
	return r;
}

static int take_clause(struct pattern_parser *parser, const struct label_set *labels,
		       struct job_spec *job)
{
	int r = 0;

	(void)pattern_take(parser, ";");
	if (!pattern_take(parser, "group")) {
		return take_time(parser, job);
	}
	do {
		r = label_take_use(parser, labels, &job->group);
	} while (r == 0 && pattern_take(parser, ","));
	return r;
}

static int parse(struct pattern_parser *parser, const struct label_set *labels,
		 struct job_spec *job)
{
	const char *begin, *past;
	int r;

	pattern_blanks(parser);
	r = pattern_name(parser, "NAME = PATTERN or MODEL",
			 "= and a pattern or model: NAME = PATTERN", job->name);
	begin = parser->at;
	if (r == 0 && !take_model(parser, job)) {
		r = take_pattern(parser, &job->is, true);
	}
	if (r == 0 && job->is.is_across) {
		return pattern_expected(parser, "no @ before: only reports follow executions "
						"from one thread to another");
	}
	past = parser->at;
	while (past > begin && (past[-1] == ' ' || past[-1] == '\t')) {
		past--;
	}
	job->pattern = mem_printf("%.*s", (int)(past - begin), begin);
	while (r == 0 && *parser->at == ';' &&
	       is_clause(parser->at + 1 + strspn(parser->at + 1, " \t"))) {
		r = take_clause(parser, labels, job);
	}
	if (r == 0 && *parser->at) {
		return pattern_expected(parser, "; deadline, ; every, ; group, or the end");
	}
	return r == 0 && !find_fields(job, labels) ? pattern_expected(parser, "fewer fields in all")
						   : r;
}

int job_parse(const char *text, const struct label_set *labels, struct job_spec **ret,
	      struct err *err)
{
	struct pattern_parser parser = { .text = text, .at = text, .err = err };
	struct job_spec *job = mem_alloc(sizeof(*job));
	int r;

	job->deadline_ns = UINT64_MAX;
	r = parse(&parser, labels, job);
	if (r < 0) {
		job_free(job);
		return r;
	}
	assert(job->name[0]);
	assert(job->is.count >= 2);
	job->text = mem_strdup(text);
	*ret = job;
	return 0;
}

void job_free(struct job_spec *job)
{
	free(job->text);
	free(job->pattern);
	free(job);
}
