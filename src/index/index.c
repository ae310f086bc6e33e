/*
 * index: see index.h.
 */
#include "index/index.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/process/foreign.h"
#include "engine/exchange/checkpoint.h"
#include "engine/tables/selection.h"
#include "index/index-parts.h"
#include "query/period.h"

/* ---- where it lies ---- */

static char *cache_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && cache[0] == '/') { /* as its specification wants it */
		return mem_printf("%s/sillage", cache);
	}
	return home && home[0] == '/' ? mem_printf("%s/.cache/sillage", home) : NULL;
}

/* The name tells people which one it is, the hash the program. */
char *index_path(const struct recorded_path *path, bool beside)
{
	char *folder = NULL, *place = NULL, *real = realpath(path->dirs.at[0], NULL);
	const char *name = real ? strrchr(real, '/') : NULL;

	if (beside && real) {
		place = mem_printf("%s/.sillage-index", real);
	} else if (real) {
		uint64_t hash = hash_text(0, real);

		for (size_t i = 1; i < path->dirs.count; i++) { /* of a rotated trace */
			hash = hash_text(hash, path->dirs.at[i]);
		}
		folder = cache_folder();
		place = folder ? mem_printf("%s/%.32s-%016" PRIx64 ".index", folder, name + 1, hash)
			       : NULL;
	}
	free(folder);
	free(real);
	return place;
}

/* ---- opening ---- */

struct index {
	int fd;
	struct index_file *file;
};

const struct index_file *index_of(const struct index *index)
{
	return index->file;
}

void index_close(struct index *index)
{
	if (index) {
		index_file_free(index->file);
		(void)close(index->fd);
		free(index);
	}
}

static bool same_source(const struct index_source *a, const struct index_source *b)
{
	return a->name && b->name && strcmp(a->name, b->name) == 0 && a->bytes == b->bytes &&
	       a->mtime_ns == b->mtime_ns && a->hash == b->hash;
}

/* Whether the trace is as it was. */
static int check_sources(const struct recorded_path *path, const struct index_file *file,
			 struct err *err)
{
	const index_source_vec *old = &index_file_head(file)->sources;
	index_source_vec now = { 0 };
	int r = index_sources(path, &now, err);
	bool same = now.count == old->count;

	for (size_t i = 0; r == 0 && same && i < now.count; i++) {
		same = same_source(&old->at[i], &now.at[i]);
	}
	index_sources_fini(&now);
	return r < 0 || same ? r : err_raise(err, -ESTALE, "the trace has changed since");
}

static int open_checked(const char *place, const struct recorded_path *path, struct index **ret,
			struct err *err)
{
	struct index *index = mem_alloc(sizeof(*index));
	int r = 0;

	index->fd = foreign_open(place, O_NOFOLLOW, err);
	if (index->fd < 0) {
		r = index->fd;
		free(index);
		return r;
	}
	r = index_file_open(index->fd, analyses, &index->file, err);
	r = r < 0 ? r : check_sources(path, index->file, err);
	if (r < 0) {
		index_close(index);
		return r;
	}
	*ret = index;
	return 0;
}

int index_open(const struct recorded_path *path, struct index **ret, char **ret_name,
	       struct err *err)
{
	int r = -ENOENT, first = -ENOENT;
	struct err other;

	*ret_name = NULL;
	for (int beside = 0; beside < 2 && r < 0; beside++) {
		char *place = index_path(path, beside != 0);

		r = place ? open_checked(place, path, ret, first == -ENOENT ? err : &other)
			  : -ENOENT;
		if (r < 0 && (r == -ENOENT || first != -ENOENT) && *ret_name) {
			free(place); /* the first one that is of no use is told */
		} else {
			free(*ret_name);
			*ret_name = place;
		}
		first = first == -ENOENT ? r : first;
	}
	return r < 0 ? first : 0;
}

/* ---- whether it fits ---- */

uint64_t index_clock(uint64_t ns)
{
	char text[UNITS_TEXT_MAX];

	return hash_text(0, units_clock(text, ns));
}

uint64_t index_look(const struct recorded_file *file, const struct recorded_place *place)
{
	uint8_t bytes[INDEX_LOOK_BYTES];
	ssize_t got = 0;

	if (!place->stream.is_over && place->part < file->parts.count) {
		got = pread(file->parts.at[place->part].fd, bytes, sizeof(bytes),
			    (off_t)place->offset);
	}
	return got > 0 ? index_hash(bytes, (size_t)got) : 0;
}

/* How it is followed who runs on CPUs: what is not known of that makes windows incomplete. */
enum follows { FOLLOWS_NOBODY, FOLLOWS_RT, FOLLOWS_THREADS };

static enum follows what_follows(const struct analysis *const *all)
{
	enum follows follows = FOLLOWS_NOBODY;

	for (; *all; all++) {
		enum follows one = (*all)->uses_threads          ? FOLLOWS_THREADS
				   : (*all)->oncpu_end_is_for_rt ? FOLLOWS_RT
								 : FOLLOWS_NOBODY;

		follows = one > follows ? one : follows;
	}
	return follows;
}

bool index_has(const struct index_head *head, const struct analysis *const *wanted)
{
	if (what_follows(head->analyses) != what_follows(wanted)) {
		return false;
	}
	for (; *wanted; wanted++) {
		size_t k = 0;

		while (head->analyses[k] && head->analyses[k] != *wanted) {
			k++;
		}
		if (!head->analyses[k]) {
			return false;
		}
	}
	return true;
}

/* What a run adds to the states of analyses, or needs of the time before its range. */
static bool is_plain(const struct engine_config *config)
{
	return config->range_begin > 0 && !config->exporter && !config->on_retained &&
	       !config->wants_views && !config->expects_beginning &&
	       selection_of(config->selection) == 0 && !selection_by_service(config->selection) &&
	       (!config->periods || period_set_count(config->periods) == 0);
}

/* The last mark before a time; SIZE_MAX: there is none. */
static size_t mark_before(const index_marks *marks, uint64_t begin)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < marks->count && marks->at[i].until < begin; i++) {
		if (marks->at[i].clock == index_clock(marks->at[i].until)) {
			found = i;
		}
	}
	return found;
}

/* ---- the run ---- */

struct index_run {
	struct index *index;
	char *name;     /* of its file */
	bool has_begun; /* the trace has its state, or part of it */
	size_t mark;
	struct index_used *told;
	index_warnings warnings; /* engine_warning points into them */
};

/* Whether the packets that come next are those that came next then. */
static bool same_packets(const struct recorded_files *files, const index_places *places)
{
	bool same = files->at.count == places->count;

	for (size_t i = 0; same && i < places->count; i++) {
		const struct index_place *place = &places->at[i];

		same = index_look(&files->at.at[i], &place->place) == place->hash;
	}
	return same;
}

/* After a failure the trace can only be freed. */
static int restore_state(struct trace *trace, const index_bytes *state, struct err *err)
{
	struct codec codec = { .at = state->at, .left = state->count };

	checkpoint_trace(trace, &codec);
	if (codec.is_wrong || codec.left > 0 || !trace_set_range(trace)) {
		return err_raise(err, -EINVAL, "its states cannot be read");
	}
	return 1;
}

static void warn_again(const struct index_run *use, struct trace *trace)
{
	const struct index_mark *mark = &index_file_marks(use->index->file)->at[use->mark];
	struct engine_warning all[INDEX_WARNINGS_MAX];

	for (size_t i = 0; i < mark->warnings; i++) {
		const struct index_warning *from = &use->warnings.at[i];

		all[i] = (struct engine_warning){ .what = from->what ? from->what : "",
						  .stream_name = from->stream_name,
						  .packet = from->packet,
						  .begin = from->begin,
						  .end = from->end };
		(void)snprintf(all[i].message, sizeof(all[i].message), "%s",
			       from->message ? from->message : "");
	}
	trace_warn_again(trace, all, mark->warnings, mark->given);
}

/* What an index has of a mark; false: it is damaged, or the trace has other packets. */
static bool read_mark(struct index_run *use, const struct recorded_files *files,
		      index_places *places, index_bytes *state)
{
	const struct index_file *file = use->index->file;
	struct err *why = &use->told->why;
	int r = index_file_places(file, use->mark, places, why);

	if (r == 0 && !same_packets(files, places)) {
		r = err_raise(why, -ESTALE, "the trace has changed since");
	}
	r = r < 0 ? r : index_file_state(file, use->mark, state, why);
	use->told->is_refused = r < 0;
	return r == 0;
}

/* Without a whole mark the trace is read from its begin. */
static int begin_at_mark(void *user, struct trace *trace, const struct recorded_files *files,
			 struct recorded_places *ret, struct err *err)
{
	struct index_run *use = user;
	const struct index_mark *mark = &index_file_marks(use->index->file)->at[use->mark];
	index_places places = { 0 };
	index_bytes state = { 0 };
	int r = 0;

	if (read_mark(use, files, &places, &state)) {
		use->has_begun = true;
		r = restore_state(trace, &state, err);
	}
	if (r > 0) {
		warn_again(use, trace);
		use->told->passed = ret->done = mark->done;
		ret->ended = mark->ended;
		VEC_EACH(&places, place) {
			*vec_push(&ret->at) = place->place;
		}
	}
	vec_fini(&places);
	vec_fini(&state);
	return r;
}

/* Finds what a run may begin from; false: nothing. */
static bool find_place(const struct recorded_path *path, const struct engine_config *config,
		       struct index_run *use)
{
	struct index_used *told = use->told;
	const index_marks *marks;
	int r = is_plain(config) ? index_open(path, &use->index, &use->name, &told->why) : -ENOENT;

	told->is_refused = r < 0 && r != -ENOENT;
	told->lacks = r == 0 && !index_has(index_file_head(use->index->file), config->analyses);
	if (r < 0 || told->lacks) {
		return false;
	}
	marks = index_file_marks(use->index->file);
	use->mark = mark_before(marks, config->range_begin);
	if (use->mark == SIZE_MAX) {
		return false;
	}
	r = index_file_warnings(use->index->file, &use->warnings, &told->why);
	if (r == 0 && use->warnings.count < marks->at[use->mark].warnings) {
		r = err_raise(&told->why, -EINVAL, "its warnings are not all there");
	}
	if (r == 0 && config->max_memory > 0 &&
	    marks->at[use->mark].size > config->max_memory / INDEX_STATE_OF_MEMORY) {
		r = err_raise(&told->why, -ENOMEM, "--max-memory has no room for its states");
	}
	told->is_refused = r < 0;
	return r == 0;
}

int index_analyze(const struct recorded_path *path, const struct engine_config *config,
		  const struct recorded_run *run, struct index_used *ret, struct err *err)
{
	struct engine_config wider = *config;
	struct recorded_run from = *run;
	struct index_run use = { .told = ret };
	int r;

	assert(!run->engine && !run->on_open);
	*ret = (struct index_used){ 0 };
	if (!run->joined && find_place(path, config, &use)) {
		wider.reported = config->analyses;
		memcpy(wider.analyses, index_file_head(use.index->file)->analyses,
		       sizeof(wider.analyses));
		from.on_open = begin_at_mark;
		from.opener = &use;
	}
	from.engine = engine_new(&wider);
	r = recorded_analyze(path, &from, err);
	if (r < 0 && use.has_begun) { /* its hashes are right, and yet */
		struct err why = *err;

		(void)err_raise(err, r, "%s: its index %s is damaged: remove it (%s)", path->name,
				use.name, why.text);
	}
	engine_free(from.engine);
	free(use.name);
	index_warnings_fini(&use.warnings);
	index_close(use.index);
	return r;
}
