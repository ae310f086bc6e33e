/*
 * options: see options.h.  libpopt splits the command line; units and suggestions are ours.
 */
#include "options/options-parts.h"

#include <assert.h>
#include <errno.h>
#include <popt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/shell.h"
#include "base/units.h"

/* All that is not 0, false or NULL. */
static void set_defaults(struct options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(o, 0, sizeof(*o));
	o->format = "text";
	o->on_lag = "keep";
	o->before_ns = 10 * NS_PER_S;
	o->after_ns = NS_PER_S;
	o->capture_dir = "sillage-captures";
	o->keep_count = UINT64_MAX;
	o->keep_bytes = UINT64_MAX;
	o->per_hour = 30;
	o->deadline_ns = UINT64_MAX;
	o->worst = 3;
	o->selection.max_ns = UINT64_MAX;
	o->lag_limit_ns = 10 * NS_PER_S;
	o->state_every_ns = 10 * NS_PER_S;
	o->interval_ns = NS_PER_S;
	o->top = 10;
	o->jobs = cpus > 0 ? (uint64_t)cpus : 1;
	o->chunk_bytes = UINT64_C(1) << 20;
	o->index_bytes = INDEX_EVERY_BYTES;
	o->max_memory = UINT64_C(256) << 20;
	o->max_time_ns = SERVE_TIME_S * NS_PER_S;
	o->port = 4242;
	o->retry_ns = UINT64_MAX;
	o->grace_ns = 5 * NS_PER_S;
	o->speed = 1;
	o->loops = 1;
	o->live_timer_ns = NS_PER_S;
	o->buffer_bytes = UINT64_C(8) << 20;
	o->away_ns = NS_PER_S;
	o->begin_option = "--begin";
	o->end_option = "--end";
	o->slices = 100;
	o->compromise = -1;
}

/* popt reports an option by its row in our table, from 1. */
static void fill_popt(unsigned int command, struct poptOption *table)
{
	for (int i = 0; options_table[i].name; i++) {
		const struct option *option = &options_table[i];

		if (option->commands & command) {
			table->longName = option->name;
			table->shortName = option->letter;
			table->argInfo = !option->argument ? POPT_ARG_NONE
					 : option->may_lack
						 ? POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL
						 : POPT_ARG_STRING;
			table->val = i + 1;
			table++;
		}
	}
}

/* ---- what has to fit together ---- */

static int check_intervals(const struct options *options, struct err *err)
{
	uint64_t ns = options->trigger_interval_ns;

	if (ns > 0 && (ns < NS_PER_MS || options->interval_ns % ns != 0)) {
		return err_raise(err, -EINVAL,
				 "--trigger-interval has to be at least 1ms, and --interval a "
				 "multiple of it");
	}
	return 0;
}

/* The first of the names that is given; NULL: none. */
static const char *first_given(const bool given[OPTIONS_COUNT_MAX], const char *const *names)
{
	for (; *names; names++) {
		for (size_t i = 0; options_table[i].name; i++) {
			if (given[i] && strcmp(options_table[i].name, *names) == 0) {
				return *names;
			}
		}
	}
	return NULL;
}

static const char *const of_lists[] = { "merged", "freq",       "freq-bins", "buckets", "min",
					"max",    "containers", "baseline",  NULL };

bool options_is_of_lists(const char *name)
{
	size_t i = 0;

	while (of_lists[i] && strcmp(of_lists[i], name) != 0) {
		i++;
	}
	return of_lists[i] != NULL;
}

/* Triggers of a store are over its hosts; a table of hosts has no lists. */
static int check_hosts(struct options *options, const bool given[OPTIONS_COUNT_MAX],
		       struct err *err)
{
	static const char *const of_hosts[] = { "figure", "trigger", "triggers", NULL };
	static const char *const of_past[] = { "fail", "strict", "junit", "tap", NULL };
	const char *found = first_given(given, options->per_host ? of_lists : of_hosts);

	if (found && strcmp(found, "containers") == 0 && options->display.per == PER_CONTAINER) {
		found = NULL; /* it is the last one that is looked for */
	}
	if (found) {
		return err_raise(err, -EINVAL, "--%s has no effect with%s --per host", found,
				 options->per_host ? "" : "out");
	}
	found = options->follow && !options->per_host ? first_given(given, of_past) : NULL;
	if (found) {
		return err_raise(err, -EINVAL,
				 "--%s is of what is there: it has no --follow, but with "
				 "--per host",
				 found);
	}
	return options->stored_sort && !options->per_host
		       ? options_sort(options, options->stored_sort, err)
		       : 0;
}

/* A comparison of hosts has a page of no sides, and no gate. */
static int check_compared_hosts(const struct options *options, const bool given[OPTIONS_COUNT_MAX],
				struct err *err)
{
	static const char *const of_hosts[] = { "figure", "width", NULL };
	static const char *const of_sides[] = { "fail", "strict", "junit", "tap", NULL };
	const char *found = first_given(given, options->per_host ? of_sides : of_hosts);

	if (found) {
		return err_raise(err, -EINVAL, "--%s has no effect with%s --per host", found,
				 options->per_host ? "" : "out");
	}
	if (options->per_host && options->display.per == PER_CONTAINER) {
		return err_raise(err, -EINVAL,
				 "compare: hosts are compared as a whole: --per host");
	}
	return options->per_host && strcmp(options->format, "html") == 0
		       ? err_raise(err, -EINVAL, "--format html has no effect with --per host")
		       : 0;
}

/* What a side is, the command knows. */
static void note_sides(struct options *options, const bool given[OPTIONS_COUNT_MAX])
{
	static const char *const of_traces[] = { "period", "job",  "call",       "model",
						 "label",  "jobs", "chunk-size", NULL };
	static const char *const of_stores[] = { "host", "session", NULL };
	static const char *const of_both[] = { "max-memory", NULL };

	options->of_traces = first_given(given, of_traces);
	options->of_stores = first_given(given, of_stores);
	options->of_both = first_given(given, of_both);
}

static bool is_any_given(const bool given[OPTIONS_COUNT_MAX], const char *names)
{
	for (size_t i = 0; options_table[i].name; i++) {
		size_t len = strlen(options_table[i].name);

		for (const char *at = given[i] ? names : NULL; at; at = strchr(at, ',')) {
			at += *at == ',';
			if (strcspn(at, ",") == len &&
			    strncmp(at, options_table[i].name, len) == 0) {
				return true;
			}
		}
	}
	return false;
}

/* "a,b,c": "--a, --b or --c". */
static void name_them(char *text, size_t size, const char *names)
{
	size_t used = 0;

	for (const char *at = names; at && used < size; at = strchr(at, ',')) {
		at += *at == ',';
		used += (size_t)snprintf(text + used, size - used, "%s--%.*s",
					 at == names       ? ""
					 : strchr(at, ',') ? ", "
							   : " or ",
					 (int)strcspn(at, ","), at);
	}
}

/* An option that has no effect is a mistake that nobody would see.  @given: by row of the table. */
static int check_needs(const bool given[OPTIONS_COUNT_MAX], struct err *err)
{
	for (size_t i = 0; options_table[i].name; i++) {
		const char *needs = given[i] ? options_table[i].needs : NULL;

		if (needs && !is_any_given(given, needs)) {
			char names[120];

			name_them(names, sizeof(names), needs);
			return err_raise(err, -EINVAL, "--%s has no effect without %s",
					 options_table[i].name, names);
		}
	}
	return 0;
}

/* What belongs to no thread is left out where the user selects threads. */
static int check_selection(const struct options *options, struct err *err)
{
	for (size_t i = 0;
	     (selection_of(&options->selection) & OF_ALL_THREADS) && i < options->periods.all.count;
	     i++) {
		const struct period *period = options->periods.all.at[i];

		if (!period->by_thread) {
			return err_raise(
				err, -EINVAL,
				"period \"%s\" is paired by keys and belongs to no thread: "
				"--tid, --pid and --comm leave it out",
				period->name);
		}
	}
	return 0;
}

/* Names that users give are those of namespaces. */
static int check_services(const struct options *options, struct err *err)
{
	bool has_names = options->selection.containers.count > 0 || options->names_of_host;

	return options->selection.by_service && has_names
		       ? err_raise(err, -EINVAL,
				   "--containers knows containers by their PID namespaces: it has "
				   "no effect with --per service")
		       : 0;
}

/* What is read by a later command is of any host. */
static int check_host(const struct options *options, unsigned int command, struct err *err)
{
	return options->names_of_host && !(command & (FOR_LIVE | FOR_WATCH | FOR_ANALYZE | FOR_TOP))
		       ? err_raise(err, -EINVAL,
				   "--containers auto: of live, watch, top and analyze; %s takes "
				   "a file",
				   options_command(command))
		       : 0;
}

/* Tables are made of JSON, when a command ends. */
static int check_csv(struct options *options, unsigned int command, struct err *err)
{
	if (strcmp(options->format, "csv") != 0) {
		return options->table ? err_raise(err, -EINVAL,
						  "--table has no effect without --format csv")
				      : 0;
	}
	if (command & (FOR_LIST | FOR_CAPTURE)) {
		return err_raise(
			err, -EINVAL,
			"--format csv: of analyze, live, watch, history, report, overview, "
			"compare, merge");
	}
	if ((!options->table && !options->output) || (options->table && !*options->table)) {
		return err_raise(err, -EINVAL,
				 "--format csv needs --table NAME, as in --table cpu.threads, or a "
				 "directory for all of them (-o DIR)");
	}
	options->tables = options->table ? options->table : "";
	options->format = "json";
	return 0;
}

static bool is_same_file(const char *one, const char *other)
{
	return one && other && strcmp(one, other) == 0 && strcmp(one, "/dev/null") != 0;
}

/* The later one would replace the earlier one. */
static int check_files(const struct options *options, struct err *err)
{
	const char *output =
		options->output && strcmp(options->output, "-") != 0 ? options->output : NULL;

	if (is_same_file(options->junit, options->tap)) {
		return err_raise(err, -EINVAL, "--junit and --tap: both would write to %s",
				 options->tap);
	}
	if (is_same_file(options->junit, output) || is_same_file(options->tap, output)) {
		return err_raise(err, -EINVAL, "--%s and --output: both would write to %s",
				 is_same_file(options->junit, output) ? "junit" : "tap", output);
	}
	return 0;
}

static int check_labels(const struct options *options, struct err *err)
{
	const struct period_set *set = &options->periods;

	if (set->labels.sources.count > 0 && set->all.count + set->jobs.count == 0 &&
	    !options->job) {
		return err_raise(err, -EINVAL,
				 "--label has no effect without a --period or --job that groups "
				 "by it");
	}
	return 0;
}

static int check_together(struct options *options, unsigned int command,
			  const bool given[OPTIONS_COUNT_MAX], struct err *err)
{
	int r = check_intervals(options, err);

	r = r < 0 ? r : check_needs(given, err);
	r = r < 0 ? r : check_selection(options, err);
	r = r < 0 ? r : check_services(options, err);
	r = r < 0 ? r : check_host(options, command, err);
	r = r < 0 ? r : check_files(options, err);
	r = r < 0 ? r : options_check_job(options, err);
	r = r < 0 ? r : options_surround(options, err);
	r = r == 0 && command == FOR_HISTORY ? check_hosts(options, given, err) : r;
	if (command == FOR_COMPARE) {
		note_sides(options, given);
		r = r < 0 ? r : check_compared_hosts(options, given, err);
	}
	r = r == 0 ? check_csv(options, command, err) : r;
	r = r == 0 ? check_labels(options, err) : r;
	if (r == 0 && options->freq && strcmp(options->format, "text") != 0) {
		return err_raise(err, -EINVAL, "--freq has no effect with --format %s",
				 options->format);
	}
	if (r == 0 && options->buckets && strcmp(options->format, "json") != 0) {
		return err_raise(err, -EINVAL, "--buckets has no effect without --format json");
	}
	if (r == 0 && (command & (FOR_LIVE | FOR_ANALYZE | FOR_OVERVIEW | FOR_TOP | FOR_LAMI |
				  FOR_MAP | FOR_SETUP | FOR_WATCH | FOR_EXPORT | FOR_COMPARE |
				  FOR_RECORD | FOR_INDEX))) {
		r = options_choose_asked(options, command == FOR_COMPARE || command == FOR_TOP,
					 err);
	}
	if (r == 0 && options->hierarchy && strcmp(options->hierarchy, "service") == 0) {
		options->selection.by_service = true;
		options->hierarchy = "process";
	} else if (r == 0 && options->hierarchy && strcmp(options->format, "html") == 0) {
		return err_raise(err, -EINVAL,
				 "--hierarchy has no effect with --format html: the page has both");
	}
	return r;
}

/* ---- parsing ---- */

/* Those that take "--option" or "--option=value"; 0: none. */
static unsigned int commands_with(const char *word)
{
	size_t len = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
	unsigned int commands = 0;

	for (const struct option *option = options_table; option->name; option++) {
		if (len == strlen(option->name) && strncmp(word + 2, option->name, len) == 0) {
			commands |= option->commands;
		}
	}
	return commands;
}

static int bad_option(poptContext context, int code, unsigned int command, struct err *err)
{
	const char *word = poptBadOption(context, POPT_BADOPTION_NOALIAS);
	const char *names[OPTIONS_COUNT_MAX + 1] = { 0 };
	char dashed[OPTIONS_COUNT_MAX][32];
	unsigned int others;
	size_t count = 0;

	if (code != POPT_ERROR_BADOPT) {
		return err_raise(err, -EINVAL, "option \"%s\": %s", word, poptStrerror(code));
	}
	others = commands_with(word);
	if (others != 0 && !(others & command)) {
		return err_raise(
			err, -EINVAL, "%s has no %.*s; %s has", options_command(command),
			(int)strcspn(word, "="), word,
			options_command(others & FOR_ANALYZE ? FOR_ANALYZE : others & -others));
	}
	for (const struct option *option = options_table; option->name; option++) {
		if (option->commands & command) {
			(void)snprintf(dashed[count], sizeof(dashed[0]), "--%s", option->name);
			names[count] = dashed[count];
			count++;
		}
	}
	return options_refuse(err, "option", word, names);
}

/* popt allocates each value; members point to them until options_fini(). */
struct given_option {
	const struct option *option;
	char *value; /* NULL: it has none */
};

struct retained_option {
	poptContext context;
	VEC(struct given_option) given; /* in their order */
};

void options_put_given(const struct options *options, bool (*drops)(const char *name), FILE *out)
{
	const struct retained_option *retained = options->memory;

	VEC_EACH(&retained->given, given) {
		const struct option *option = given->option;

		if (drops(option->name)) {
			continue;
		}
		(void)fprintf(out, option->letter ? " -%.1s" : " --%s",
			      option->letter ? &option->letter : option->name);
		if (given->value) {
			(void)fputc(' ', out);
			(void)shell_put(out, given->value);
		}
	}
}

void options_each_given(const struct options *options,
			void (*each)(void *user, const char *name, const char *value), void *user)
{
	const struct retained_option *retained = options->memory;

	VEC_EACH(&retained->given, given) {
		each(user, given->option->name, given->value);
	}
}

int options_parse(struct options *options, unsigned int command, int argc, const char **argv,
		  struct err *err)
{
	static const char *none[] = { NULL };
	struct poptOption table[OPTIONS_COUNT_MAX + 1] = { 0 };
	struct retained_option *retained = mem_alloc(sizeof(*retained));
	bool given[OPTIONS_COUNT_MAX] = { false };
	int r = 0, row;

	assert(command != 0 && (command & (command - 1)) == 0); /* one command */
	set_defaults(options);
	options->memory = retained;
	fill_popt(command, table);
	retained->context = poptGetContext("sillage", argc, argv, table, 0);
	while (r == 0 && (row = poptGetNextOpt(retained->context)) > 0) {
		char *value = poptGetOptArg(retained->context);

		*vec_push(&retained->given) =
			(struct given_option){ &options_table[row - 1], value };
		r = given[row - 1] && options_table[row - 1].once
			    ? err_raise(err, -EINVAL, "--%s is given twice: a run has one",
					options_table[row - 1].name)
			    : options_take(options, &options_table[row - 1], value, err);
		given[row - 1] = true;
	}
	if (r == 0 && row < -1) {
		r = bad_option(retained->context, row, command, err);
	}
	options->command = command;
	if (r == 0 && !options->has_analyses) {
		bool is_any = command == FOR_LIVE || command == FOR_WATCH;

		options_choose_usual(options, true, is_any);
	}
	options->args = poptGetArgs(retained->context);
	options->args = options->args ? options->args : none;
	return r == 0 ? check_together(options, command, given, err) : r;
}

static void free_names(const char **names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((char *)names[i]);
	}
}

void options_fini(struct options *options)
{
	struct retained_option *retained = options->memory;

	free_names(options->selection.comms.at, options->selection.comms.count);
	free_names(options->selection.irqs.at, options->selection.irqs.count);
	free_names(options->recorded.at, options->recorded.count);
	for (size_t i = 0; i < options->selection.containers.count; i++) {
		free(options->selection.containers.at[i].name);
	}
	vec_fini(&options->selection.containers);
	vec_fini(&options->selection.comms);
	vec_fini(&options->selection.irqs);
	vec_fini(&options->selection.tids);
	vec_fini(&options->selection.pids);
	vec_fini(&options->selection.cpus);
	period_set_fini(&options->periods);
	job_free(options->job);
	job_free(options->within);
	vec_fini(&options->triggers);
	vec_fini(&options->trigger_files);
	vec_fini(&options->fails);
	vec_fini(&options->figures);
	vec_fini(&options->ust);
	vec_fini(&options->recorded);
	if (retained) {
		(void)poptFreeContext(retained->context);
		VEC_EACH(&retained->given, one) {
			free(one->value);
		}
		vec_fini(&retained->given);
		free(retained);
		options->memory = NULL;
	}
}

/* ---- help ---- */

/* "-a, --analyses LIST"; returns its length. */
static int option_names(char *text, size_t size, const struct option *option)
{
	return snprintf(text, size, "%s%c%s --%s%s%s", option->letter ? "-" : " ",
			option->letter ? option->letter : ' ', option->letter ? "," : " ",
			option->name, option->argument ? " " : "",
			option->argument ? option->argument : "");
}

/* Of "top, compare" whether it has the command; of what is no list of names: false. */
static bool is_for(const char *names, size_t len, const char *command, bool *ret_is_list)
{
	size_t own = strlen(command);
	bool is_found = false;

	*ret_is_list = len > 0 && strspn(names, "abcdefghijklmnopqrstuvwxyz, ") >= len;
	for (const char *at = names; *ret_is_list && at < names + len;
	     at += strcspn(at, ",:") + 1) {
		at += *at == ' ';
		is_found |= strncmp(at, command, own) == 0 && strchr(",:", at[own]);
	}
	return is_found;
}

/* The part of "top, compare: all; count,cpu" that is for the command; NULL: none. */
static const char *part_for(const char *parts, const char *command, int *ret_len)
{
	const char *usual = NULL;
	int usual_len = 0;

	for (const char *at = parts; *at && *at != ')'; at += *at == ';' ? 2 : 0) {
		size_t len = strcspn(at, ";)"), names = strcspn(at, ":;)");
		bool is_list = false,
		     is_own = at[names] == ':' && is_for(at, names, command, &is_list);

		if (is_own) {
			*ret_len = (int)(len - names - 2);
			return at + names + 2;
		}
		if (!is_list && !usual) {
			usual = at;
			usual_len = (int)len;
		}
		at += len;
	}
	*ret_len = usual_len;
	return usual;
}

/* The last bracket may have a part for each of some commands. */
char *options_own_help(const char *help, const char *command)
{
	const char *open = strrchr(help, '('), *own;
	bool has_parts = open && strchr(open, ':') && help[strlen(help) - 1] == ')';
	bool is_list = false;
	int len = 0;

	if (has_parts) {
		(void)is_for(open + 1, strcspn(open + 1, ":;)"), command, &is_list);
	}
	if (!is_list) {
		return mem_strdup(help);
	}
	own = part_for(open + 1, command, &len);
	return own ? mem_printf("%.*s (%.*s)", (int)(open - help) - 1, help, len, own)
		   : mem_printf("%.*s", (int)(open - help) - 1, help);
}

#define GROUPS_FROM 20 /* options: fewer need no headings */

void options_print_help(unsigned int command, const char *name, FILE *out)
{
	const char *group = NULL, *shown = NULL;
	char names[80], *help;
	int width = 0, count = 0;

	for (const struct option *option = options_table; option->name; option++) {
		int len = option_names(names, sizeof(names), option);

		assert(len > 0 && (size_t)len < sizeof(names));
		width = (option->commands & command) && len > width ? len : width;
		count += (option->commands & command) != 0;
	}
	for (const struct option *option = options_table; option->name; option++) {
		group = option->group ? option->group : group;
		if (!(option->commands & command)) {
			continue;
		}
		if (count >= GROUPS_FROM && group != shown) {
			(void)fprintf(out, "%s%s:\n", shown ? "\n" : "", group);
			shown = group;
		}
		(void)option_names(names, sizeof(names), option);
		(void)fprintf(out, "  %-*s  ", width, names);
		help = options_own_help(option->help, name);
		(void)fprintf(out, "%s\n", help);
		free(help);
	}
}
