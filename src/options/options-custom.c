/*
 * options-custom: values of options that no kind covers, each by a function that the table names.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/foreign.h"
#include "base/process/line.h"
#include "base/units.h"
#include "figure/figure.h"
#include "options/options-parts.h"
#include "phases/cut/partition.h"

/* ---- analyses ---- */

static int find_analysis(const char *name, const struct analysis **ret, struct err *err)
{
	const char *names[ANALYSES_MAX + 2] = { 0 };
	size_t i;

	for (i = 0; analyses[i]; i++) {
		if (strcmp(analyses[i]->name, name) == 0) {
			*ret = analyses[i];
			return 0;
		}
		names[i] = analyses[i]->name;
	}
	names[i] = "all";
	return options_refuse(err, "analysis", name, names);
}

void options_choose(struct options *options, const bool chosen[ANALYSES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; analyses[i]; i++) {
		if (chosen[i]) {
			options->analyses[count++] = analyses[i];
		}
	}
	assert(count < ANALYSES_MAX);
	options->analyses[count] = NULL;
}

static void print_analyses(void)
{
	for (size_t i = 0; analyses[i]; i++) {
		(void)printf("%-8s %s\n", analyses[i]->name, analyses[i]->summary);
	}
}

int options_analyses(struct options *options, const char *value, struct err *err)
{
	char *list = mem_strdup(value), *rest = list;
	bool chosen[ANALYSES_MAX] = { false };
	const char *name;
	int r = 0;

	/* Given several times, the option adds. */
	for (size_t i = 0; analyses[i]; i++) {
		for (size_t k = 0; options->analyses[k]; k++) {
			chosen[i] |= options->analyses[k] == analyses[i];
		}
	}

	while (r == 0 && (name = strsep(&rest, ","))) {
		const struct analysis *found = NULL;

		if (strcmp(name, "help") == 0) {
			print_analyses();
			r = 1;
			break;
		}
		r = strcmp(name, "all") == 0 ? 0 : find_analysis(name, &found, err);
		for (size_t i = 0; r == 0 && analyses[i]; i++) {
			chosen[i] |= !found || analyses[i] == found;
		}
	}
	options_choose(options, chosen);
	free(list);
	return r;
}

/* ---- rows ---- */

const char *const options_kinds[] = {
	[PER_ALL] = "all",
	[PER_CPU] = "cpu",
	[PER_TID] = "tid",
	[PER_PID] = "pid",
	[PER_COMM] = "comm",
	[PER_PRIO] = "prio",
	[PER_CONTAINER] = "container",
	[PER_SERVICE] = "service",
	[PER_SERVICE + 1] = NULL,
};

int options_per(struct options *options, const char *value, struct err *err)
{
	const char *found = NULL;
	int r = options_take_word("per", value, options_kinds, &found, err);

	for (unsigned int i = 0; r == 0 && options_kinds[i]; i++) {
		if (options_kinds[i] == found) {
			options->selection.by_service = i == PER_SERVICE;
			options->display.per = i == PER_SERVICE ? PER_CONTAINER : (enum per)i;
		}
	}
	return r;
}

const char *const options_stored_kinds[] = {
	"all",  "cpu",       "tid",     "pid",  "comm",
	"prio", "container", "service", "host", "host,container",
	NULL
};

const char *const options_compared_kinds[] = { "all",  "cpu",       "tid",     "pid",  "comm",
					       "prio", "container", "service", "host", NULL };

int options_per_stored(struct options *options, const char *value, struct err *err)
{
	const char *found = NULL;
	int r = strncmp(value, "host,", 5) != 0 ||
				strncmp("host,container", value, strlen(value)) == 0
			? options_take_word("per", value, options_stored_kinds, &found, err)
			: err_raise(err, -EINVAL,
				    "--per %s: a host is divided by container only: "
				    "--per host,container",
				    value);

	assert(r < 0 || found);
	options->per_host = r == 0 && strncmp(found, "host", 4) == 0;
	if (r < 0 || !options->per_host) {
		return r < 0 ? r : options_per(options, found, err);
	}
	options->display.per = strcmp(found, "host") == 0 ? PER_ALL : PER_CONTAINER;
	return 0;
}

/* "PID_NS NAME"; false: it is none. */
static bool take_container(struct selection *selection, char *line)
{
	struct container_name *names = selection->containers.at;
	char *at = line + strspn(line, " \t"), *end;
	unsigned long long pid_ns;

	at[strcspn(at, "\r\n")] = '\0';
	if (*at == '\0' || *at == '#') {
		return true;
	}
	if (*at < '0' || *at > '9') {
		return false;
	}
	errno = 0;
	pid_ns = strtoull(at, &end, 10);
	at = end + strspn(end, " \t");
	if (errno != 0 || pid_ns == 0 || pid_ns > UINT32_MAX || at == end || *at == '\0') {
		return false;
	}
	for (end = at + strlen(at); end[-1] == ' ' || end[-1] == '\t';) {
		*--end = '\0';
	}
	for (size_t i = 0; i < selection->containers.count; i++) {
		if (names[i].pid_ns == pid_ns) {
			return false; /* it has two names */
		}
	}
	*vec_push(&selection->containers) =
		(struct container_name){ .pid_ns = (uint32_t)pid_ns, .name = mem_strdup(at) };
	return true;
}

int options_containers(struct options *options, const char *value, struct err *err)
{
	FILE *file;
	struct line line = { 0 };
	int r;

	if (strcmp(value, "auto") == 0) {
		options->names_of_host = true;
		return 0;
	}
	r = foreign_stream(value, &file, err);
	if (r < 0) {
		return r;
	}
	while ((r = line_next(&line, file, LINE_BYTES_MAX)) > 0) {
		if (!take_container(&options->selection, line.text.at)) {
			r = -EINVAL;
			break;
		}
	}
	if (r < 0) {
		(void)err_raise(err, r,
				"%s: line %llu: expected the number of a PID namespace and its "
				"name, each number once",
				value, (unsigned long long)line.number);
	} else if (ferror(file)) {
		r = err_raise(err, -EIO, "%s: cannot be read", value);
	}
	line_fini(&line);
	(void)fclose(file);
	return r;
}

/* As `report` names a thread: numbers are tids, all else is a name. */
int options_thread(struct options *options, const char *value, struct err *err)
{
	static const struct option tids = { .name = "thread",
					    .argument = "LIST",
					    .kind = OPTION_NUMBERS,
					    .offset = offsetof(struct options, selection.tids) };
	static const struct option comms = { .name = "thread",
					     .argument = "LIST",
					     .kind = OPTION_NAMES,
					     .offset = offsetof(struct options, selection.comms) };
	struct selection *selection = &options->selection;
	bool is_number = strspn(value, "0123456789,") == strlen(value);

	if (strspn(value, ",") == strlen(value)) {
		return err_raise(err, -EINVAL, "--thread: expected tids or names");
	}
	if (is_number && selection->tids.count == 0) {
		selection->tids_option = "--thread";
	} else if (!is_number && selection->comms.count == 0) {
		selection->comms_option = "--thread";
	}
	return options_take(options, is_number ? &tids : &comms, value, err);
}

/* Of report: the one that it explains.  @value is of a copy that may be written to. */
int options_thread_alone(struct options *options, const char *value, struct err *err)
{
	if (options->thread) {
		return err_raise(err, -EINVAL,
				 "report explains one thread: --thread, --tid or --comm, once");
	}
	options->thread = value;
	return strspn(value, ",") < strlen(value)
		       ? 0
		       : err_raise(err, -EINVAL, "--thread: expected tids or names");
}

/* The key of a column that some analysis has. */
size_t options_figures(const char *keys[OPTIONS_FIGURES_MAX], bool distributions)
{
	size_t count = 0;

	for (size_t i = 0; analyses[i]; i++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			const struct table *table = &analyses[i]->tables[t];

			for (size_t c = 0; table->key && c < COLUMNS_MAX && table->columns[c].key;
			     c++) {
				if (!distributions || table->columns[c].kind == COLUMN_HISTOGRAM) {
					keys[count++] = table->columns[c].key;
				}
			}
		}
	}
	assert(count < OPTIONS_FIGURES_MAX);
	keys[count] = NULL;
	return count;
}

/* Whether it begins like a figure: with an analysis, and no PART alone behind it. */
static bool is_figure(const char *value)
{
	const char *point = strchr(value, '.');

	for (size_t i = 0; point && analyses[i]; i++) {
		size_t len = strlen(analyses[i]->name);

		if (len == (size_t)(point - value) && strncmp(analyses[i]->name, value, len) == 0) {
			return histogram_part_of(point + 1) == HISTOGRAM_NO_PART;
		}
	}
	return false;
}

/* A figure of one list, which alone is sorted by it. */
static int sort_by_figure(struct display *display, const char *value, struct err *err)
{
	struct figure figure = { 0 };
	int r = figure_parse_alone(&figure, "--sort", value, err) ? 0 : -EINVAL;

	if (r == 0 && figure.table->scope == SCOPE_TRACE) {
		r = err_raise(err, -EINVAL,
			      "--sort \"%s\": it has one row: name a list, as in cpu.threads.run",
			      value);
	} else if (r == 0 && (figure.has_id || figure.key)) {
		r = err_raise(err, -EINVAL, "--sort \"%s\": all rows are sorted: leave out [WHICH]",
			      value);
	}
	if (r == 0) {
		bool has_per = figure.per && figure.per->table == figure.table;

		display->sort_of = figure.table;
		display->sort = figure_column(&figure)->key;
		display->sort_part = figure.part;
		display->sort_per = has_per ? figure_column(figure.per)->key : NULL;
		display->sort_per_part = has_per ? figure.per->part : HISTOGRAM_NO_PART;
	}
	figure_fini(&figure);
	return r;
}

/* KEY of a column, KEY.PART of a distribution, or a PART alone: of each table's own distribution.
 * Or a FIGURE. */
int options_sort(struct options *options, const char *value, struct err *err)
{
	const char *keys[OPTIONS_FIGURES_MAX], *part = strrchr(value, '.');
	char key[64];

	options->display.sort = options->display.sort_per = NULL;
	options->display.sort_of = NULL;
	if (is_figure(value)) {
		return sort_by_figure(&options->display, value, err);
	}
	options->display.sort_part = histogram_part_of(part ? part + 1 : value);
	if (!part && options->display.sort_part != HISTOGRAM_NO_PART) {
		return 0;
	}
	if (part && options->display.sort_part == HISTOGRAM_NO_PART) {
		return options_bad_value(
			err, "sort", value,
			"a figure: behind the point comes one of " HISTOGRAM_PARTS);
	}
	(void)snprintf(key, sizeof(key), "%.*s", part ? (int)(part - value) : (int)strlen(value),
		       value);
	(void)options_figures(keys, part != NULL);
	return options_take_word(part ? "distribution" : "figure", key, keys,
				 &options->display.sort, err);
}

int options_period(struct options *options, const char *value, struct err *err)
{
	return period_add(&options->periods, value, err);
}

int options_call(struct options *options, const char *value, struct err *err)
{
	return period_add_call(&options->periods, value, err);
}

static bool prints_models(const char *value)
{
	const struct pattern_model *model = pattern_models;

	for (; strcmp(value, "help") == 0 && model->name[0]; model++) {
		(void)printf("%-14s %s: %s\n", model->name, model->summary, model->pattern);
	}
	if (model != pattern_models) {
		(void)printf("\nOver threads, from one of two events to the other:\n"
			     "  EVENT @NAME|PATTERN|TID; EVENT @...   of these threads\n"
			     "  EVENT; EVENT; by FIELD, $cpu          by what both agree in\n");
	}
	return model != pattern_models;
}

int options_job(struct options *options, const char *value, struct err *err)
{
	return prints_models(value) ? 1 : period_add_job(&options->periods, value, err);
}

/* Of report: one job, which is taken when all options are known (options-jobs.c). */
int options_job_alone(struct options *options, const char *value, struct err *err)
{
	options->job_text = value;
	return prints_models(value) ? 1 : 0;
}

/* Of several jobs, which may follow: it is looked at behind all of them. */
int options_within_all(struct options *options, const char *value, struct err *err)
{
	options->around = value;
	return prints_models(value) ? 1 : 0;
}

int options_within(struct options *options, const char *value, struct err *err)
{
	struct job_spec *found;
	int r = prints_models(value) ? 1 : job_parse(value, FORM_AROUND, NULL, &found, err);

	if (r == 0) {
		job_free(options->within); /* the last one counts */
		options->within = found;
	}
	return r < 0 ? err_note(err, r, "--within") : r;
}

int options_ust_span(struct options *options, const char *value, struct err *err)
{
	return period_add_span(&options->periods, value, err);
}

/* ---- forms of output ---- */

int options_format(struct options *options, const char *value, struct err *err)
{
	static const char *const formats[] = { "text", "json", "csv", NULL };

	if (strcmp(value, "perfetto") == 0) {
		return err_raise(err, -EINVAL,
				 "--format perfetto: only of report; for a whole trace "
				 "there is `sillage export`");
	}
	return options_take_word("format", value, formats, &options->format, err);
}

/* ---- numbers ---- */

int options_interval(struct options *options, const char *value, struct err *err)
{
	if (units_parse_duration(value, &options->interval_ns) < 0) {
		return options_bad_value(err, "interval", value,
					 "a duration such as 500ms, 1s or 2m (ns us ms s m h)");
	}
	if (options->interval_ns < NS_PER_MS) {
		return options_bad_value(err, "interval", value, "at least 1ms");
	}
	return 0;
}

int options_from(struct options *options, const char *value, struct err *err)
{
	uint64_t now = now_wall_ns(), ago;
	const struct units_span day = { .first = now - 24 * 3600 * NS_PER_S, .last = now };

	options->from_beginning = strcmp(value, "beginning") == 0;
	options->from = value;
	options->from_ns = 0;
	if (options->from_beginning || strcmp(value, "now") == 0) {
		return 0;
	}
	if (value[0] == '-' && units_parse_duration(value + 1, &ago) == 0) {
		options->from_ns = ago < now ? now - ago : 1;
	} else if (units_parse_time(value, &day, &options->from_ns) < 0) {
		return options_bad_value(err, "from", value,
					 "beginning, now, a duration before now such as -10m, or a "
					 "time as for --begin");
	}
	return 0;
}

int options_speed(struct options *options, const char *value, struct err *err)
{
	char *past;

	options->speed = strtod(value, &past);
	if (past == value || *past || !(options->speed >= 0) || options->speed > 1e6) {
		return options_bad_value(err, "speed", value, "a factor such as 1, 2.5 or 0");
	}
	return 0;
}

int options_slices(struct options *options, const char *value, struct err *err)
{
	char *past;
	unsigned long long slices = strtoull(value, &past, 10);

	if (*value < '0' || *value > '9' || *past || slices < 2 || slices > PARTITION_SLICES_MAX) {
		return options_bad_value(err, "slices", value, "a number from 2 to 1000");
	}
	options->slices = slices;
	return 0;
}

int options_compromise(struct options *options, const char *value, struct err *err)
{
	char *past;

	options->compromise = strtod(value, &past);
	if (past == value || *past || !(options->compromise >= 0 && options->compromise <= 1)) {
		return options_bad_value(err, "compromise", value, "a number from 0 to 1");
	}
	return 0;
}

int options_support(struct options *options, const char *value, struct err *err)
{
	char *past;
	double number = strtod(value, &past);
	bool is_share = strcmp(past, "%") == 0;

	options->support = is_share ? number / 100 : 0;
	options->support_min = 0;
	if (past == value || (*past && !is_share) ||
	    !(number >= 1 && number <= (is_share ? 100 : UINT32_MAX))) {
		return options_bad_value(err, "support", value,
					 "a number of executions, or a share from 1% to 100%");
	}
	options->support_min = is_share ? 0 : (uint64_t)number;
	return 0;
}

/* A duration, or a size.  The unit of a size is a capital letter: 5m are minutes, 5M are bytes. */
int options_history(struct options *options, const char *value, struct err *err)
{
	size_t len = strlen(value);
	bool is_duration = len > 0 && value[len - 1] >= 'a' && value[len - 1] <= 'z';
	int r;

	options->history_ns = UINT64_MAX;
	r = is_duration ? units_parse_duration(value, &options->history_ns)
			: units_parse_size(value, &options->history_bytes);
	if (r < 0 || (is_duration ? options->history_ns : options->history_bytes) == 0) {
		return options_bad_value(err, "history", value,
					 "a duration such as 10s, or a size such as 64M");
	}
	return 0;
}

/* A number of captures, or a size, which has a unit. */
int options_keep(struct options *options, const char *value, struct err *err)
{
	char *past;
	uint64_t count = strtoull(value, &past, 10);

	if (value[0] >= '1' && value[0] <= '9' && !*past) {
		options->keep_count = count;
		return 0;
	}
	if (units_parse_size(value, &options->keep_bytes) < 0 || options->keep_bytes == 0) {
		return options_bad_value(err, "keep", value,
					 "a number such as 20, or a size such as 10G");
	}
	return 0;
}

/* ---- others ---- */

int options_output(struct options *options, const char *value, struct err *err)
{
	options->output = strcmp(value, "-") == 0 ? NULL : value;
	return 0;
}

int options_no_retry(struct options *options, const char *value, struct err *err)
{
	options->retry_ns = 0;
	return 0;
}

int options_quiet(struct options *options, const char *value, struct err *err)
{
	options->verbosity = -1;
	return 0;
}

int options_verbose(struct options *options, const char *value, struct err *err)
{
	options->verbosity = 1;
	return 0;
}
