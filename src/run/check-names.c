/*
 * check-names: see check-names.h.
 */
#include "run/check-names.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/shell.h"
#include "ctf/metadata/join.h"
#include "ctf/metadata/metadata.h"
#include "discovery/discovery.h"
#include "engine/contract/analysis-rare.h"
#include "engine/contract/missing.h"
#include "query/names.h"
#include "run/say.h"
#include "trigger/actions.h"

/* ---- one name ---- */

static int look_up_period(struct names *names, const void *period)
{
	return names_period(names, period);
}

static int check_trigger(const struct options *options, const struct actions *actions,
			 size_t trigger, const struct metadata *const *traces, size_t count,
			 struct err *err)
{
	struct event_names *names = mem_alloc((count + 1) * sizeof(*names));
	int r;

	assert(trigger < actions_count(actions));
	for (size_t i = 0; i < count; i++) {
		names[i] = missing_names_of(traces[i]);
	}
	r = actions_check(actions, trigger, names, count, &options->periods, err);
	for (size_t i = 0; i < count; i++) {
		free((void *)names[i].at);
	}
	free(names);
	return r;
}

static int check_period(const struct period *period, const struct metadata *const *traces,
			size_t count, struct err *err)
{
	int r = names_in_any(traces, count, look_up_period, period, err);

	return r < 0 ? err_note(err, r, "--%s %s", period->is_call ? "call" : "period",
				period->name)
		     : 0;
}

static int look_up_start(struct names *names, const void *start)
{
	return names_event(names, start);
}

static int check_start(const char *start, const struct metadata *const *traces, size_t count,
		       struct err *err)
{
	int r = names_in_any(traces, count, look_up_start, discovery_start(start), err);

	return r < 0 ? err_note(err, r, "--start") : 0;
}

static int look_up_job(struct names *names, const void *job)
{
	return names_job(names, job);
}

/* A job, and what it lies in, if so: one trace has to have both. */
struct nested {
	const struct job_spec *job, *around;
};

static int look_up_nested(struct names *names, const void *nested)
{
	const struct nested *is = nested;
	int r = names_job(names, is->job);

	return r == 0 && is->around ? names_job(names, is->around) : r;
}

static int check_job_spec(const struct period_set *set, const struct job_spec *job,
			  const struct metadata *const *traces, size_t count, struct err *err)
{
	const struct nested nested = { job, job->within >= 0 ? set->jobs.at[job->within] : NULL };
	int r = names_in_any(traces, count, look_up_nested, &nested, err);
	struct err unused;

	if (r < 0 && names_in_all(traces, count, look_up_nested, &nested, &unused) == 0) {
		(void)err_raise(err, r,
				"its events%s are in several traces: `sillage report --job%s` "
				"takes those of a session as one",
				nested.around ? ", and those of what it lies in," : "",
				nested.around ? " --within" : "");
	}
	return r < 0 ? err_note(err, r, "--job %s", job->name) : 0;
}

/* Of report. */
static int check_job(const char *option, const struct job_spec *job,
		     const struct metadata *const *traces, size_t count, struct err *err)
{
	int r = job ? names_in_all(traces, count, look_up_job, job, err) : 0;

	return r < 0 ? err_note(err, r, "--%s", option) : 0;
}

static int look_up_label(struct names *names, const void *source)
{
	return names_label(names, source);
}

static int check_label(const struct label_source *source, const struct label_set *labels,
		       const struct metadata *const *traces, size_t count, struct err *err)
{
	int r = names_in_any(traces, count, look_up_label, source, err);

	assert(source->label < labels->all.count);
	return r < 0 ? err_note(err, r, "--label %s", labels->all.at[source->label].name) : 0;
}

/* ---- processes ---- */

static int mixes_period(struct names *names, const void *period)
{
	return names_mixes_period(names, period);
}

static int mixes_job(struct names *names, const void *job)
{
	return names_mixes_job(names, job);
}

/* Whether one of the traces mixes processes, and why. */
static bool is_mixed(names_look *mixes, const void *of, const char *option, const char *name,
		     const struct metadata *const *traces, size_t count, struct err *why)
{
	int r = 0;

	assert(count == 0 || traces);
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct names names = { .metadata = traces[i], .err = why };

		r = mixes(&names, of);
	}
	return r < 0 && err_note(why, r, "--%s%s%s", option, *name ? " " : "", name) < 0;
}

typedef void note_fn(void *user, size_t number, const char *text);

/* Of each period, call and job at most one note. */
static void note_mixed(const struct options *options, const struct metadata *const *traces,
		       size_t count, note_fn *note, void *user)
{
	struct err why;
	size_t number = 0;

	for (; number < period_set_measures(&options->periods); number++) {
		const struct period *period = period_set_measure(&options->periods, number);

		if (is_mixed(mixes_period, period, period->is_call ? "call" : "period",
			     period->name, traces, count, &why)) {
			note(user, number, why.text);
		}
	}
	VEC_EACH_OF(&options->periods.jobs, job) {
		if (is_mixed(mixes_job, job, "job", job->name, traces, count, &why)) {
			note(user, number, why.text);
		}
		number++;
	}
	if (options->job && is_mixed(mixes_job, options->job, "job", "", traces, count, &why)) {
		note(user, number, why.text);
	}
}

/* What the analyses of the run would measure, if it was asked for; NULL: nothing.  From malloc().
 */
static char *words_of_hint(const struct options *options, const struct metadata *types)
{
	const struct env_entry *domain = metadata_env(types, "domain");
	bool is_kernel = domain && domain->text && strcmp(domain->text, "kernel") == 0;

	assert(options->command & (FOR_ANALYZE | FOR_LIVE | FOR_TOP | FOR_WATCH));
	for (size_t i = 0; options->analyses[i] && !is_kernel; i++) {
		const struct analysis *analysis = options->analyses[i];
		char *words = analysis_rare(analysis)->hint_of
				      ? analysis_rare(analysis)->hint_of(types, &options->periods)
				      : NULL;

		if (words) {
			char *all = mem_printf("-a %s %s", analysis->name, words);

			free(words);
			return all;
		}
	}
	return NULL;
}

/* One note of all traces: the command that shows it. */
static void note_hints(const struct options *options, const struct metadata *const *traces,
		       size_t count, note_fn *note, void *user)
{
	char *words = NULL;

	assert(count == 0 || traces);
	for (size_t i = 0; i < count && !words; i++) {
		words = words_of_hint(options, traces[i]);
	}
	if (words) {
		char *where = options->args[0] ? shell_path(options->args[0]) : NULL;
		char *text = mem_printf("these look like begin and end, and no name says so: "
					"sillage %s %s%s%s",
					options_command(options->command), words, where ? " " : "",
					where ? where : "");

		note(user, 0, text);
		free(text);
		free(where);
	}
	free(words);
}

static void say_note(void *user, size_t number, const char *text)
{
	say("%s", text);
}

/* ---- models ---- */

/* What of a model the traces lack.  Some have one version of a program's events, some another. */
struct lacking {
	const char *model;
	char *items;     /* "period topic, label node"; NULL: nothing */
	size_t has;      /* what is measured and the traces have; of a model of labels: labels */
	size_t measures; /* periods, calls and jobs of the model */
	bool only_looks; /* leaves out nothing */
	struct err first;
};

static void note_lack(struct lacking *lacking, const struct err *err, const char *what,
		      const char *name)
{
	char *longer = mem_printf("%s%s%s %s", lacking->items ? lacking->items : "",
				  lacking->items ? ", " : "", what, name);

	lacking->first = lacking->items ? lacking->first : *err;
	free(lacking->items);
	lacking->items = longer;
}

/* Notes a period, call or job of it; @r: of its look-up. */
static void note_item(struct lacking *lacking, bool *is_left_out, int r, const struct err *err,
		      const char *what, const char *name)
{
	*is_left_out = r < 0 && !lacking->only_looks;
	lacking->measures++;
	lacking->has += r == 0;
	assert(lacking->has <= lacking->measures);
	if (r < 0) {
		note_lack(lacking, err, what, name);
	}
}

static bool is_of(const char *model, const struct lacking *lacking)
{
	return model && strcmp(model, lacking->model) == 0;
}

/* Whether the model has another event before it that tells names of this label and is left out. */
static bool is_said(const struct lacking *lacking, const struct label_set *labels, size_t source)
{
	for (size_t i = 0; i < source; i++) {
		const struct label_source *before = labels->sources.at[i];

		if (before->is_left_out && is_of(before->model, lacking) &&
		    before->label == labels->sources.at[source]->label) {
			return true;
		}
	}
	return false;
}

/* Labels come after what is measured.  Ids that no trace gives names to stay as they are. */
static void look_at_labels(struct lacking *lacking, const struct label_set *labels,
			   const struct metadata *const *traces, size_t count)
{
	struct err err;

	for (size_t i = 0; i < labels->sources.count; i++) {
		struct label_source *source = labels->sources.at[i];
		int r;

		if (!is_of(source->model, lacking)) {
			continue;
		}
		r = check_label(source, labels, traces, count, &err);
		lacking->has += r == 0 && lacking->measures == 0;
		if (r < 0 && !is_said(lacking, labels, i)) {
			note_lack(lacking, &err, "label", labels->all.at[source->label].name);
		}
		source->is_left_out = r < 0 && !lacking->only_looks;
	}
}

/* Leaves out what the traces lack of the model. */
static void look_at_model(struct lacking *lacking, const struct period_set *set,
			  const struct metadata *const *traces, size_t count)
{
	struct err err;

	for (size_t i = 0; i < period_set_measures(set); i++) {
		struct period *period = period_set_measure(set, i);

		if (is_of(period->model, lacking)) {
			note_item(lacking, &period->is_left_out,
				  check_period(period, traces, count, &err), &err,
				  period->is_call ? "call" : "period", period->name);
		}
	}
	VEC_EACH_OF(&set->jobs, job) {
		if (is_of(job->model, lacking)) {
			note_item(lacking, &job->is_left_out,
				  check_job_spec(set, job, traces, count, &err), &err, "job",
				  job->name);
		}
	}
	look_at_labels(lacking, &set->labels, traces, count);
}

/* -ENOENT: the traces have nothing of one of the models. */
static int check_models(const struct options *options, const struct metadata *const *traces,
			size_t count, struct err *err)
{
	const struct period_set *set = &options->periods;
	int r = 0;

	for (size_t i = 0; r == 0 && i < set->models.count; i++) {
		struct lacking lacking = { .model = set->models.at[i] };

		if (options->command == FOR_REPORT) {
			look_at_labels(&lacking, &set->labels, traces,
				       count); /* its job is chosen */
		} else {
			look_at_model(&lacking, set, traces, count);
		}
		if (lacking.items && lacking.has == 0) {
			r = err_raise(err, -ENOENT, "--model %s: nothing of it is in the trace: %s",
				      lacking.model, lacking.first.text);
		} else if (lacking.items && options->verbosity >= 0) {
			say("--model %s: not in the trace, and left out: %s", lacking.model,
			    lacking.items);
		}
		free(lacking.items);
	}
	return r;
}

/* ---- recorded ---- */

static int check_asked(const struct period_set *set, const struct metadata *const *traces,
		       size_t count, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < set->labels.sources.count; i++) {
		if (!set->labels.sources.at[i]->model) {
			r = check_label(set->labels.sources.at[i], &set->labels, traces, count,
					err);
		}
	}
	for (size_t i = 0; r == 0 && i < period_set_measures(set); i++) {
		const struct period *period = period_set_measure(set, i);

		r = period->model ? 0 : check_period(period, traces, count, err);
	}
	for (size_t i = 0; r == 0 && i < set->jobs.count; i++) {
		r = set->jobs.at[i]->model
			    ? 0
			    : check_job_spec(set, set->jobs.at[i], traces, count, err);
	}
	return r;
}

static int check_all(const struct options *options, const struct actions *actions,
		     const struct metadata *const *traces, size_t count, struct err *err)
{
	int r = check_models(options, traces, count, err);

	r = r < 0 ? r : check_asked(&options->periods, traces, count, err);
	for (size_t i = 0; r == 0 && actions && i < actions_count(actions); i++) {
		r = check_trigger(options, actions, i, traces, count, err);
	}
	r = r < 0 ? r : check_job("job", options->job, traces, count, err);
	r = r < 0 ? r : check_job("within", options->within, traces, count, err);
	return r < 0 || !options->start ? r : check_start(options->start, traces, count, err);
}

/* What is read of the traces. */
struct looked_at {
	VEC(struct metadata_stream *) streams; /* by path */
	VEC(struct metadata_join *) joins;
	VEC(const struct metadata *) traces; /* that can be read, and those of joins */
};

static const struct metadata *types_at(const struct looked_at *all, size_t path)
{
	const struct metadata *types = metadata_stream_types(all->streams.at[path]);

	return types->has_trace ? types : NULL;
}

/* Adds what traces that are read as one have together. */
static void look_at_one(struct looked_at *all, const struct recorded_paths *paths,
			const struct recorded_one *one)
{
	struct metadata_join *join = metadata_join_new();
	const struct metadata *types = types_at(all, one->kernel);
	struct err unread;

	*vec_push(&all->joins) = join;
	if (!types) {
		return;
	}
	metadata_join_add(join, types);
	for (size_t i = 0; i < paths->at.count; i++) {
		VEC_EACH(&one->with.at, with) {
			if (strcmp(with->name, paths->at.at[i].name) == 0 && types_at(all, i)) {
				metadata_join_add(join, types_at(all, i));
			}
		}
	}
	if (metadata_join_update(join, &types, &unread) == 0) {
		*vec_push(&all->traces) = types;
	}
}

static void looked_at_fini(struct looked_at *all)
{
	vec_free_each(&all->joins, metadata_join_free);
	vec_free_each(&all->streams, metadata_stream_free);
	vec_fini(&all->traces);
}

int run_check_names(const struct options *options, const struct actions *actions,
		    const struct recorded_paths *paths, const recorded_ones *ones, struct err *err)
{
	struct looked_at all = { 0 };
	struct err unread;
	int r = 0;

	bool has_hints = options->command == FOR_ANALYZE && options->verbosity >= 0;

	if (period_set_count(&options->periods) == 0 && !actions && !options->job &&
	    !options->start && !has_hints) {
		return 0;
	}
	for (size_t i = 0; i < paths->at.count; i++) {
		struct metadata_stream *stream = metadata_stream_new();

		*vec_push(&all.streams) = stream;
		if (recorded_read_metadata(&paths->at.at[i], stream, &unread) == 0) {
			*vec_push(&all.traces) = metadata_stream_types(stream);
		}
	}
	for (size_t i = 0; ones && i < ones->count; i++) {
		look_at_one(&all, paths, &ones->at[i]);
	}
	if (all.traces.count > 0) {
		r = check_all(options, actions, all.traces.at, all.traces.count, err);
	}
	if (r == 0 && options->verbosity >= 0) {
		note_mixed(options, all.traces.at, all.traces.count, say_note, NULL);
	}
	if (r == 0 && has_hints) {
		note_hints(options, all.traces.at, all.traces.count, say_note, NULL);
	}
	looked_at_fini(&all);
	return r;
}

/* ---- live ---- */

/* True the first time that it is asked about this name. */
static bool is_first_time(struct live_names *names, size_t number)
{
	bool was;

	while (names->warned.count <= number) {
		*vec_push(&names->warned) = false;
	}
	was = names->warned.at[number];
	names->warned.at[number] = true;
	return !was;
}

static void warn_of(struct live_names *names, size_t number, const char *why, live_names_warn *warn,
		    void *user)
{
	char text[sizeof(struct err) + 16];

	if (is_first_time(names, number)) {
		(void)snprintf(text, sizeof(text), "so far: %s", why);
		warn(user, text);
	}
}

/* Of a model only that there is nothing of it so far: of what a version of the program lacks
 * nothing will come. */
static void warn_of_models(struct live_names *names, const struct metadata *const *traces,
			   size_t count, live_names_warn *warn, void *user)
{
	const struct period_set *set = &names->options->periods;

	for (size_t i = 0; i < set->models.count; i++) {
		struct lacking lacking = { .model = set->models.at[i], .only_looks = true };

		look_at_model(&lacking, set, traces, count);
		if (lacking.items && lacking.has == 0) {
			warn_of(names, i, lacking.first.text, warn, user);
		}
		free(lacking.items);
	}
}

/* What notes of live traces are for. */
struct live_notes {
	struct live_names *names;
	size_t first; /* number of the first of them */
	live_names_warn *warn;
	void *user;
};

static void warn_note(void *user, size_t number, const char *text)
{
	const struct live_notes *notes = user;

	if (is_first_time(notes->names, notes->first + number)) {
		notes->warn(notes->user, text);
	}
}

void run_check_live_names(void *live_names, const struct metadata *const *traces, size_t count,
			  live_names_warn *warn, void *user)
{
	struct live_names *names = live_names;
	const struct period_set *periods = &names->options->periods;
	size_t number = periods->models.count;
	struct err err;

	warn_of_models(names, traces, count, warn, user);
	VEC_EACH_OF(&periods->labels.sources, source) {
		if (!source->model &&
		    check_label(source, &periods->labels, traces, count, &err) < 0) {
			warn_of(names, number, err.text, warn, user);
		}
		number++;
	}
	for (size_t i = 0; i < period_set_measures(periods); i++, number++) {
		if (!period_set_measure(periods, i)->model &&
		    check_period(period_set_measure(periods, i), traces, count, &err) < 0) {
			warn_of(names, number, err.text, warn, user);
		}
	}
	for (size_t i = 0; i < periods->jobs.count; i++, number++) {
		if (!periods->jobs.at[i]->model &&
		    check_job_spec(periods, periods->jobs.at[i], traces, count, &err) < 0) {
			warn_of(names, number, err.text, warn, user);
		}
	}
	for (size_t i = 0; names->actions && i < actions_count(names->actions); i++) {
		if (check_trigger(names->options, names->actions, i, traces, count, &err) < 0) {
			warn_of(names, number + i, err.text, warn, user);
		}
	}
	number += names->actions ? actions_count(names->actions) : 0;
	note_mixed(names->options, traces, count, warn_note,
		   &(struct live_notes){ names, number, warn, user });
	number += period_set_measures(periods) + periods->jobs.count;
	note_hints(names->options, traces, count, warn_note,
		   &(struct live_notes){ names, number, warn, user });
}

void run_live_names_fini(struct live_names *names)
{
	vec_fini(&names->warned);
}
