/*
 * side-phases: the phases of a side of `sillage compare --phases`; see side.h.
 *
 *     overview, store, JSON ──► phases by trace ──► those of one ──► the figures of each
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/compare/side-state.h"
#include "cmd/overview.h"
#include "compare/align.h"
#include "run/run.h"
#include "stored/stored.h"

/* ---- which phases ---- */

/* Those that are made of CPU time go before others; there has to be one. */
static int choose_source(const char *arg, const phase_sources *sources,
			 const struct phase_source **ret, struct err *err)
{
	size_t count = 0, with_cpus = 0;

	VEC_EACH(sources, source) {
		with_cpus += source->has_cpus;
	}
	VEC_EACH(sources, source) {
		if (source->has_cpus || with_cpus == 0) {
			*ret = count++ == 0 ? source : *ret;
		}
	}
	if (count == 0) {
		return err_raise(err, -ENODATA,
				 "%s: has no phases: --phases of live and analyze "
				 "finds them",
				 arg);
	}
	if (count > 1) {
		return err_raise(err, -EINVAL,
				 "%s: phases are those of one trace, and %zu have some, among "
				 "them %s: --host, --session or a path chooses",
				 arg, count, (*ret)->trace);
	}
	if ((*ret)->phases.count > ALIGN_PHASES_MAX) {
		return err_raise(err, -E2BIG,
				 "%s: has %zu phases, and at most %d are compared: a range "
				 "(@BEGIN..END) has fewer",
				 arg, (*ret)->phases.count, ALIGN_PHASES_MAX);
	}
	return 0;
}

/* ---- traces ---- */

static void take_overview(const struct overview *overview, struct phase_source *ret)
{
	size_t count, series_count;
	const struct part *parts = overview_phases(overview, &count);
	const struct overview_series *series = overview_series(overview, &series_count);

	for (size_t i = 0; i < series_count; i++) {
		ret->has_cpus |= series[i].is_share;
	}
	for (size_t i = 0; i < count; i++) {
		*vec_push(&ret->phases) = (struct compared_phase){
			.number = i + 1,
			.begin = overview_time(overview, parts[i].first),
			.end = overview_time(overview, parts[i].last + 1),
		};
	}
}

static int find_in_traces(struct compared_side *side, const struct recorded_paths *paths,
			  phase_sources *ret)
{
	struct options options = side->options;
	recorded_groups groups = { 0 };
	int r = 0;

	run_add_states(options.analyses);
	recorded_beside(paths, 0, TREE_HOSTS_MAX, &groups);
	for (size_t i = 0; r == 0 && i < groups.count; i++) {
		const char *name = groups.at[i].at.at[0].name;
		struct overview_config config = { .slices = options.slices,
						  .has_calls = options.periods.calls.count > 0,
						  .p = -1 };
		struct phase_source source = { .trace = mem_strdup(name) };
		struct overview *overview = NULL;

		r = overview_of(&options, &groups.at[i], name, &config, &overview, side->err);
		if (r == 0) {
			take_overview(overview, &source);
		}
		overview_free(overview);
		*vec_push(ret) = source;
		r = r == -ENODATA && groups.count > 1 ? 0 : r; /* another one may have some */
	}
	recorded_groups_fini(&groups);
	for (size_t i = ret->count; i-- > 0;) {
		if (ret->at[i].phases.count == 0) {
			free(ret->at[i].trace);
			ret->at[i] = ret->at[--ret->count];
		}
	}
	return r;
}

/* ---- stores ---- */

static int take_stored(struct compared_side *side, struct store_reader *reader,
		       const store_phases *phases, uint64_t begin, uint64_t end, phase_sources *ret)
{
	size_t count;
	const struct store_trace *traces = store_reader_traces(reader, &count);
	struct phase_source *source = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < phases->count; i++) {
		const struct store_phase *phase = &phases->at[i];
		struct phase_record record;

		r = store_reader_phase(reader, phase, &record, side->err);
		if (i == 0 || phase[-1].trace != phase->trace) {
			source = vec_push(ret);
			*source = (struct phase_source){
				.trace = output_trace_text(&traces[phase->trace].identity, false)
			};
		}
		for (size_t m = 0; r == 0 && m < record.mean_count; m++) {
			source->has_cpus |= record.means[m].is_share;
		}
		side->slice_ns = side->slice_ns == 0 || phase->slice_ns < side->slice_ns
					 ? phase->slice_ns
					 : side->slice_ns;
		*vec_push(&source->phases) = (struct compared_phase){
			.number = phase->number,
			.begin = phase->begin > begin ? phase->begin : begin,
			.end = phase->end < end ? phase->end : end,
		};
	}
	return r;
}

static int find_in_store(struct compared_side *side, const char *url, phase_sources *ret)
{
	struct store_reader *reader = NULL;
	store_phases phases = { 0 };
	uint64_t begin = 0, end = 0;
	bool *wanted = NULL;
	int r = store_reader_open(url, &run_stop, &reader, side->err);

	if (r == 0) {
		side->name = url;
		wanted = stored_wanted(&side->options, reader);
		r = side_store_range(side, reader, &begin, &end);
	}
	r = r < 0 ? r : store_reader_phases(reader, wanted, begin, end, &phases, side->err);
	r = r < 0 ? r : take_stored(side, reader, &phases, begin, end, ret);
	free(wanted);
	vec_fini(&phases);
	store_reader_close(reader);
	return r;
}

/* ---- JSON ---- */

static int find_in_json(struct compared_side *side, const char *path, phase_sources *ret)
{
	FILE *in;
	int r = strcmp(path, "-") == 0
			? err_raise(side->err, -EINVAL,
				    "--phases reads lines twice: name a file, not standard input")
			: side_open_json(path, &in, side->err);

	if (r == 0) {
		r = phase_sources_json(in, ret, side->err);
		(void)fclose(in);
		r = r < 0 ? err_note(side->err, r, "%s", path) : 0;
	}
	return r;
}

static int read_json_phases(struct compared_side *side, const char *path, compared_phases *phases)
{
	FILE *in;
	int r = side_open_json(path, &in, side->err);

	if (r == 0) {
		r = compared_phases_json(phases, side->list, in, side->err);
		(void)fclose(in);
		r = r < 0 ? err_note(side->err, r, "%s", path) : 0;
	}
	return r;
}

/* ---- the figures of each ---- */

/* A phase is a range of the side's; the first begins, and the last ends where the side does. */
static void take_phase_range(struct compared_side *side, const struct options *whole,
			     const compared_phases *phases, size_t at, char begin[24], char end[24])
{
	const struct compared_phase *phase = &phases->at[at];
	bool is_last = at + 1 == phases->count && side->slice_ns == 0;

	(void)snprintf(begin, 24, "%lluns", (unsigned long long)phase->begin);
	(void)snprintf(end, 24, "%lluns", (unsigned long long)phase->end);
	side->options.begin = at == 0 && side->slice_ns == 0 ? whole->begin : begin;
	side->options.end = is_last ? whole->end : end;
}

static int read_figures(struct compared_side *side, enum side_kind kind, const char *name,
			const struct recorded_paths *paths, const compared_phases *phases)
{
	const struct options whole = side->options;
	char begin[24], end[24];
	int r = 0;

	side->options.verbosity = -1; /* all was said when the phases were looked for */
	for (size_t i = 0; r == 0 && i < phases->count; i++) {
		side->profile = phases->at[i].profile;
		take_phase_range(side, &whole, phases, i, begin, end);
		r = kind == SIDE_STORE ? side_add_store(side, name) : side_add_traces(side, paths);
	}
	side->options = whole;
	return r;
}

static int find_phases(struct compared_side *side, enum side_kind kind, const char *name,
		       struct recorded_paths *paths, phase_sources *ret)
{
	bool has_range = side->options.begin || side->options.end;
	int r;

	if (kind == SIDE_STORE) {
		return find_in_store(side, name, ret);
	}
	if (kind == SIDE_JSON) {
		return has_range ? err_raise(side->err, -EINVAL,
					     "%s: no range of JSON can be taken", name)
				 : find_in_json(side, name, ret);
	}
	r = side_find(side, name, paths);
	return r < 0 ? r : find_in_traces(side, paths, ret);
}

int side_read_phases(const struct options *options, const char *arg,
		     const struct analysis *const *list, compared_phases *ret, struct err *err)
{
	struct compared_side side = { .options = *options, .list = list, .err = err };
	const struct phase_source *source = NULL;
	struct recorded_paths paths = { 0 };
	phase_sources sources = { 0 };
	char *name = mem_strdup(arg);
	enum side_kind kind;
	int r;

	assert(ret->count == 0);
	side_take_range(&side.options, name);
	kind = side_kind_of(name);
	r = find_phases(&side, kind, name, &paths, &sources);
	r = r < 0 ? r : choose_source(arg, &sources, &source, err);
	for (size_t i = 0; r == 0 && i < source->phases.count; i++) {
		char *says = mem_printf("%s phase %llu", arg,
					(unsigned long long)source->phases.at[i].number);

		*vec_push(ret) = source->phases.at[i];
		ret->at[i].profile = profile_new(says);
		free(says);
	}
	r = r < 0               ? r
	    : kind == SIDE_JSON ? read_json_phases(&side, name, ret)
				: read_figures(&side, kind, name, &paths, ret);
	if (r == 0 && run_stop) {
		r = err_raise(err, -EINTR, "%s: interrupted before all was read", arg);
	}
	for (size_t i = 0; r == 0 && i < ret->count; i++) {
		r = profile_end(ret->at[i].profile, err);
	}
	phase_sources_fini(&sources);
	recorded_paths_fini(&paths);
	free(name);
	return r;
}
