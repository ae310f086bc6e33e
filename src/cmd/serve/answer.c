/*
 * answer: see answer.h.
 */
#include "cmd/serve/answer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "api/reply.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/foreign.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "run/captured.h"
#include "run/say.h"

struct answer_run {
	const struct answering *with;
	const struct api_request *request;
	struct served_source *sources; /* of all, those that were found */
	struct api_reply *reply;
	struct err err;
};

/* ---- words ---- */

struct words {
	VEC(const char *) all;
};

static void push_word(struct words *words, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void push_word(struct words *words, const char *fmt, ...)
{
	char *word = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&word, fmt, args) < 0) {
		mem_exhausted(strlen(fmt));
	}
	va_end(args);
	*vec_push(&words->all) = word;
}

static const struct served_source *source_of(const struct answer_run *answer, enum api_param param)
{
	assert(answer->request->values[param]);
	return &answer->sources[answer->request->numbers[param]];
}

static bool is_of_stores(const struct answer_run *answer)
{
	return answer->request->what == API_COMPARE &&
	       source_of(answer, API_A)->kind == API_STORE &&
	       source_of(answer, API_B)->kind == API_STORE;
}

static void begin_words(const struct answer_run *answer, const struct command *command,
			struct words *words)
{
	static const unsigned int with_jobs = FOR_ANALYZE | FOR_REPORT | FOR_OVERVIEW | FOR_COMPARE;
	static const unsigned int with_memory = with_jobs | FOR_HISTORY;

	push_word(words, "%s", command->name);
	push_word(words, "--format=json");
	if (is_of_stores(answer)) { /* these have no effect then, and are refused */
		return;
	}
	if (command->options & with_jobs) {
		push_word(words, "--jobs=%" PRIu64, answer->with->jobs);
	}
	if (command->options & with_memory && answer->with->max_memory > 0) {
		push_word(words, "--max-memory=%" PRIu64, answer->with->max_memory);
	}
}

/* Stores have other names for some. */
static const char *option_name(const struct command *command, enum api_param param)
{
	return command != &cmd_history ? api_option(param)
	       : param == API_BEGIN    ? "since"
	       : param == API_END      ? "until"
				       : api_option(param);
}

/* Those that are options of commands, but for these analyses. */
static void add_given(const struct answer_run *answer, const struct command *command,
		      struct words *words)
{
	for (int i = 0; i < API_PARAMS; i++) {
		const char *option = option_name(command, (enum api_param)i);

		if (option && i != API_ANALYSES && i != API_FIGURES && i != API_TOP &&
		    answer->request->values[i]) {
			push_word(words, "--%s=%s", option, answer->request->values[i]);
		}
	}
}

/* With those that tell how much is known (api/reply.h), which a store has or not. */
static void add_analyses(const struct answer_run *answer, const struct command *command,
			 struct words *words)
{
	const char *list = answer->request->values[API_ANALYSES];

	if (list) {
		push_word(words, "--analyses=%s%s", list,
			  command == &cmd_analyze && strcmp(list, "all") != 0 ? ",count,cpu" : "");
	}
}

static void free_words(struct words *words)
{
	VEC_EACH(&words->all, one) {
		free((char *)(uintptr_t)*one);
	}
	vec_fini(&words->all);
}

/* ---- commands ---- */

static struct api_reply *said_by; /* say() is a callback without a user */

static void on_said(const char *line)
{
	api_reply_say(said_by, line);
}

/* Whether all that was printed is in the file, which RLIMIT_FSIZE bounds; the command may have said
 * so, and gone on.  What is not there is no part of the reply. */
static bool end_printing(int fd)
{
	bool is_whole = fflush(stdout) == 0 && !ferror(stdout);
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	struct stat found = { 0 };

	__fpurge(stdout);
	clearerr(stdout);
	(void)getrlimit(RLIMIT_FSIZE, &limit);
	(void)fstat(fd, &found);
	return is_whole && (rlim_t)found.st_size < limit.rlim_cur;
}

/* The command's lines; NULL: there is no room for them. */
static FILE *run_command(const struct command *command, const struct words *words, int *ret_status,
			 bool *ret_is_whole)
{
	int fd = memfd_create("answer", MFD_CLOEXEC), before;

	if (fd < 0) {
		return NULL;
	}
	(void)fflush(stdout);
	before = dup(STDOUT_FILENO);
	(void)dup2(fd, STDOUT_FILENO);
	assert(words->all.count > 0 && strcmp(words->all.at[0], command->name) == 0);
	*ret_status = cmd_run(command, (int)words->all.count, words->all.at);
	*ret_is_whole = end_printing(fd);
	(void)dup2(before, STDOUT_FILENO);
	(void)close(before);
	(void)lseek(fd, 0, SEEK_SET);
	return fdopen(fd, "r");
}

/* The exit status; frees the words. */
static int take_command(struct answer_run *answer, const struct command *command,
			struct words *words)
{
	int status = EXIT_FAILED;
	bool is_whole = true;
	FILE *printed;

	said_by = answer->reply;
	say_to(on_said);
	printed = run_command(command, words, &status, &is_whole);
	if (!printed) {
		(void)err_raise(&answer->err, -errno, "a file in memory: %s", strerror(errno));
	} else if (!is_whole) {
		status = EXIT_FAILED;
		(void)err_raise(&answer->err, -EFBIG,
				"it prints more than %d MiB: a shorter range, longer windows, a "
				"smaller offset",
				API_PRINTED_BYTES >> 20);
		api_reply_say(answer->reply, answer->err.text);
	} else if (status != EXIT_USAGE &&
		   api_reply_take(answer->reply, printed, &answer->err) < 0) {
		status = EXIT_FAILED;
	}
	if (printed) {
		(void)fclose(printed);
	}
	if (status == EXIT_USAGE || (status != EXIT_DONE && !answer->err.text[0])) {
		char line[SAY_BYTES];

		say_last(line);
		(void)err_raise(&answer->err, -EINVAL, "%s", line);
	}
	say_to(NULL);
	free_words(words);
	return status;
}

static int find_source(struct answer_run *answer, size_t number)
{
	struct served_source *source = &answer->sources[number];

	assert(number < answer->with->source_count);
	return source->name ? 0 : source_find(answer->with->sources[number], source, &answer->err);
}

/* ---- requests ---- */

static int answer_figures(struct answer_run *answer)
{
	const struct served_source *source = source_of(answer, API_SOURCE);
	const struct command *command = source->kind == API_STORE ? &cmd_history : &cmd_analyze;
	struct words words = { 0 };

	begin_words(answer, command, &words);
	add_analyses(answer, command, &words);
	add_given(answer, command, &words);
	push_word(&words, "%s", source->path);
	return take_command(answer, command, &words);
}

static int answer_hosts(struct answer_run *answer)
{
	const char *figures = answer->request->values[API_FIGURES];
	struct words words = { 0 };

	begin_words(answer, &cmd_history, &words);
	push_word(&words, "--per=host");
	while (figures && *figures) {
		size_t len = strcspn(figures, ",");

		push_word(&words, "--figure=%.*s", (int)len, figures);
		figures += len + (figures[len] == ',');
	}
	add_given(answer, &cmd_history, &words);
	push_word(&words, "%s", source_of(answer, API_SOURCE)->path);
	return take_command(answer, &cmd_history, &words);
}

static int answer_report(struct answer_run *answer)
{
	struct words words = { 0 };

	begin_words(answer, &cmd_report, &words);
	if (answer->request->what == API_EXPLAIN) {
		push_word(&words, "--top=%" PRIu64, answer->request->numbers[API_TOP]);
	}
	add_given(answer, &cmd_report, &words);
	push_word(&words, "%s", source_of(answer, API_SOURCE)->path);
	return take_command(answer, &cmd_report, &words);
}

static int answer_events(struct answer_run *answer)
{
	const struct api_request *request = answer->request;
	uint64_t most = request->numbers[API_OFFSET] + request->numbers[API_LIMIT] + 1;
	struct words words = { 0 };

	assert(most > request->numbers[API_OFFSET]);
	begin_words(answer, &cmd_events, &words);
	/* How many a filter leaves is not known before. */
	most = request->values[API_FILTER] && most < API_EVENTS_LOOKED ? API_EVENTS_LOOKED : most;
	push_word(&words, "--top=%" PRIu64, most);
	add_given(answer, &cmd_events, &words);
	push_word(&words, "%s", source_of(answer, API_SOURCE)->path);
	return take_command(answer, &cmd_events, &words);
}

static void add_side(const struct answer_run *answer, struct words *words, enum api_param source,
		     enum api_param begin, enum api_param end)
{
	const char *const *values = answer->request->values;
	const char *path = source_of(answer, source)->path;

	if (values[begin] || values[end]) {
		push_word(words, "%s@%s..%s", path, values[begin] ? values[begin] : "",
			  values[end] ? values[end] : "");
	} else {
		push_word(words, "%s", path);
	}
}

static int answer_compare(struct answer_run *answer)
{
	struct words words = { 0 };

	assert(answer->request->what == API_COMPARE);
	begin_words(answer, &cmd_compare, &words);
	add_analyses(answer, &cmd_compare, &words);
	add_given(answer, &cmd_compare, &words);
	add_side(answer, &words, API_A, API_A_BEGIN, API_A_END);
	add_side(answer, &words, API_B, API_B_BEGIN, API_B_END);
	return take_command(answer, &cmd_compare, &words);
}

static void copy_key(struct json_object *to, struct json_object *from, const char *key)
{
	struct json_object *found = NULL;

	if (json_object_object_get_ex(from, key, &found)) {
		json_object_object_add(to, key, json_object_get(found));
	}
}

static void add_capture_mark(struct answer_run *answer, const char *kind, struct json_object *of)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "kind", json_object_new_string(kind));
	copy_key(row, of, "begin");
	copy_key(row, of, "end");
	json_object_object_add(row, "says", json_object_get(of));
	api_reply_row(answer->reply, row);
}

/* What its capture.json says: the range that it was asked for, and why. */
static void add_capture(struct answer_run *answer, const struct served_source *source)
{
	struct json_object *capture = captured_open(source->path, &answer->err), *triggers = NULL;
	size_t count = 0;

	if (json_object_object_get_ex(capture, "triggers", &triggers) &&
	    json_object_is_type(triggers, json_type_array)) {
		count = json_object_array_length(triggers);
	}
	if (capture) {
		add_capture_mark(answer, "capture", capture);
	}
	for (size_t i = 0; i < count; i++) {
		add_capture_mark(answer, "trigger", json_object_array_get_idx(triggers, i));
	}
	(void)json_object_put(capture);
	answer->err.text[0] = '\0';
}

static int answer_marks(struct answer_run *answer)
{
	const struct served_source *source = source_of(answer, API_SOURCE);
	const struct command *command = source->kind == API_STORE ? &cmd_history : &cmd_overview;
	struct words words = { 0 }, losses = { 0 };
	int status;

	assert(api_can(source->kind, API_MARKS));
	if (source->kind == API_CAPTURE) {
		add_capture(answer, source);
	}
	begin_words(answer, command, &words);
	if (source->kind == API_STORE) {
		push_word(&words, "--phases");
	}
	add_given(answer, command, &words);
	push_word(&words, "%s", source->path);
	status = take_command(answer, command, &words);
	if (status != EXIT_DONE || source->kind == API_STORE) {
		return status;
	}
	begin_words(answer, &cmd_analyze, &losses);
	push_word(&losses, "--analyses=count,cpu");
	add_given(answer, &cmd_analyze, &losses);
	push_word(&losses, "%s", source->path);
	return take_command(answer, &cmd_analyze, &losses);
}

static atomic_bool is_late; /* a share is over */

static void on_share_over(int number)
{
	is_late = true;
	run_stop = true;
	now_leave_soon();
}

/* What a source takes too long for ends, and others have their time: each has an equal share of
 * what those before it left. */
static void begin_share(const struct answer_run *answer, size_t sources_left)
{
	const struct sigaction action = { .sa_handler = on_share_over };
	uint64_t now = now_monotonic_ns(), end = answer->with->end_ns, share;
	struct itimerval once = { 0 };

	assert(sources_left > 0);
	if (end > 0) {
		share = (end > now ? end - now : 0) / sources_left;
		once.it_value.tv_sec = (time_t)(share / NS_PER_S);
		once.it_value.tv_usec = (suseconds_t)(share % NS_PER_S / 1000) + 1;
		(void)sigaction(SIGALRM, &action, NULL);
		(void)setitimer(ITIMER_REAL, &once, NULL);
	}
}

/* Whether the source has taken longer than that. */
static bool end_share(const struct answer_run *answer)
{
	const struct itimerval never = { 0 };
	bool was_late;

	if (answer->with->end_ns == 0) {
		return false;
	}
	(void)setitimer(ITIMER_REAL, &never, NULL);
	was_late = atomic_exchange(&is_late, false);
	if (was_late) {
		run_stop = false;
		now_has_left = false;
		now_leave_at_ns = 0;
	}
	return was_late;
}

static void count_events(struct answer_run *answer, const struct served_source *source,
			 struct json_object *row)
{
	struct words words = { 0 };

	begin_words(answer, &cmd_analyze, &words);
	push_word(&words, "--analyses=count,cpu");
	push_word(&words, "%s", source->path);
	if (take_command(answer, &cmd_analyze, &words) == EXIT_DONE && !is_late) {
		json_object_object_add(row, "events",
				       json_object_new_uint64(api_reply_events(answer->reply)));
	}
	answer->err.text[0] = '\0'; /* it is among the messages */
}

/* One that is away, or silent, is a row as others are. */
static int answer_sources(struct answer_run *answer)
{
	size_t count = answer->with->source_count;

	for (size_t i = 0; i < count && !run_stop; i++) {
		const struct served_source *source = &answer->sources[i];
		struct json_object *row;
		bool is_there;

		begin_share(answer, count - i);
		is_there = find_source(answer, i) == 0;
		row = source_row(source, i, is_there ? NULL : answer->err.text);
		answer->err.text[0] = '\0';
		if (is_there && answer->request->numbers[API_COUNT] && source->kind != API_STORE) {
			count_events(answer, source, row);
		}
		if (end_share(answer)) {
			json_object_object_add(row, "why",
					       json_object_new_string("it takes too long"));
		}
		api_reply_row(answer->reply, row);
	}
	return EXIT_DONE;
}

/* ---- the whole ---- */

static int answer_with(struct answer_run *answer)
{
	static int (*const functions[API_WHATS])(struct answer_run * answer) = {
		[API_SOURCES] = answer_sources, [API_HOSTS] = answer_hosts,
		[API_TABLES] = answer_figures,  [API_STATE] = answer_report,
		[API_EXPLAIN] = answer_report,  [API_EVENTS] = answer_events,
		[API_SERIES] = answer_figures,  [API_COMPARE] = answer_compare,
		[API_MARKS] = answer_marks,
	};
	const struct api_request *request = answer->request;
	static const enum api_param sources[] = { API_SOURCE, API_A, API_B };

	for (size_t i = 0; i < ARRAY_COUNT(sources); i++) {
		const struct served_source *source =
			request->values[sources[i]] ? source_of(answer, sources[i]) : NULL;

		if (source && find_source(answer, request->numbers[sources[i]]) < 0) {
			return EXIT_FAILED;
		}
		if (source && !api_can(source->kind, request->what)) {
			(void)err_raise(&answer->err, -EINVAL, "a %s has no %s",
					api_kind_name(source->kind), api_what_name(request->what));
			return EXIT_USAGE;
		}
	}
	return functions[request->what](answer);
}

static void put_error(const struct answer_run *answer, int status, FILE *out)
{
	char *text = api_error(status == EXIT_USAGE ? 400 : 422, answer->err.text);

	(void)fputs(text, out);
	free(text);
}

/* Takes what was computed.  A trace of several that failed is among the messages. */
static int put_reply(struct answer_run *answer, int status, FILE *out)
{
	if (status != EXIT_USAGE && api_reply_has_answer(answer->reply) &&
	    api_reply_put(answer->reply, out, &answer->err) == 0) {
		return EXIT_DONE;
	}
	status = status == EXIT_DONE ? EXIT_FAILED : status;
	put_error(answer, status, out);
	return status;
}

int answer_request(const struct answering *with, const char *text, FILE *out)
{
	struct api_request request;
	struct answer_run answer = { .with = with, .request = &request };
	int status = EXIT_USAGE;

	answer.sources = mem_alloc((with->source_count + 1) * sizeof(*answer.sources));
	if (api_parse(text, with->source_count, &request, &answer.err) == 0) {
		answer.reply = api_reply_new(&request, &answer.err);
	}
	if (answer.reply) {
		status = put_reply(&answer, answer_with(&answer), out);
	} else {
		put_error(&answer, status, out);
	}
	api_reply_free(answer.reply);
	api_request_fini(&request);
	for (size_t i = 0; i < with->source_count; i++) {
		source_fini(&answer.sources[i]);
	}
	free(answer.sources);
	return status;
}
