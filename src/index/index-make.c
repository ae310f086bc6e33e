/*
 * index-make: making an index in one pass; see index.h.
 *
 * The engine is told that its range begins never: all of the trace is before it, so that states are
 * kept and what is added up is for nobody.  What comes before a range of another run is analysed
 * like this there, too.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "engine/exchange/checkpoint.h"
#include "engine/exchange/partial-file-frames.h"
#include "index/index.h"
#include "index/tiles-make.h"

#define RANGE_NEVER (UINT64_MAX - 1)

struct make {
	const struct index_making *making;
	struct index_writer *out;
	index_warnings warnings;
	const struct recorded_files *files;
	struct codec_out state; /* of the last checkpoint; its memory is used again */
	size_t stored;          /* of the last checkpoint */
	uint64_t until;
	struct index_made made;
	struct tiles_make *tiles; /* NULL: no analysis tells what they are made of */
};

static void on_report(void *user, const struct report *report)
{
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct make *make = user;

	assert(make->warnings.count < INDEX_WARNINGS_MAX);
	*vec_push(&make->warnings) = (struct index_warning){
		.what = mem_strdup(warning->what),
		.message = mem_strdup(warning->message),
		.stream_name = warning->stream_name ? mem_strdup(warning->stream_name) : NULL,
		.packet = warning->packet,
		.begin = warning->begin,
		.end = warning->end,
	};
	if (make->making->on_warning) {
		make->making->on_warning(make->making->user, warning);
	}
}

static void make_on_spans(void *user, const struct thread_span *spans, size_t count, uint64_t until)
{
	struct make *make = user;

	tiles_make_take(make->tiles, spans, count, until);
}

static int on_trace(void *user, struct trace *trace, struct err *err)
{
	return 0;
}

static int note_files(void *user, struct trace *trace, const struct recorded_files *files,
		      struct recorded_places *ret, struct err *err)
{
	struct make *make = user;

	make->files = files;
	return 0;
}

/* Whether there is room for another checkpoint of about the size of the last one. */
static bool has_room(const struct make *make, uint64_t done)
{
	return !make->making->is_bounded || make->made.marks == 0 ||
	       (index_writer_bytes(make->out) + make->stored) * INDEX_STATES_PART <= done;
}

/* ns: nothing that was read is later: no event, and no packet's end. */
static uint64_t known_until(const struct trace *trace, const struct recorded_places *places)
{
	uint64_t until = trace_last(trace);

	for (size_t i = 0; i < places->at.count; i++) {
		uint64_t end = places->at.at[i].stream.end;

		until = end > until ? end : until;
	}
	return until;
}

static void add_places(const struct make *make, const struct recorded_places *from,
		       index_places *to)
{
	assert(from->at.count == make->files->at.count);
	for (size_t i = 0; i < from->at.count; i++) {
		const struct recorded_place *place = &from->at.at[i];

		*vec_push(to) =
			(struct index_place){ .place = *place,
					      .hash = index_look(&make->files->at.at[i], place) };
	}
}

static void on_mark(void *user, struct trace *trace, const struct recorded_places *places)
{
	struct make *make = user;
	struct codec codec = { .out = &make->state };
	struct index_mark mark = { .until = known_until(trace, places),
				   .done = places->done,
				   .ended = places->ended,
				   .warnings = (uint32_t)make->warnings.count,
				   .given = trace_warnings(trace) };
	index_places all = { 0 };

	if (!has_room(make, places->done)) {
		return;
	}
	trace_forget_sums(trace);
	make->state.bytes.count = 0;
	checkpoint_trace(trace, &codec);
	if (make->state.bytes.count > PARTIAL_FILE_FRAME_BYTES_MAX || mark.until < make->until) {
		return;
	}
	mark.clock = index_clock(mark.until);
	add_places(make, places, &all);
	index_writer_mark(make->out, &mark, make->state.bytes.at, make->state.bytes.count, &all);
	vec_fini(&all);
	make->stored = mark.stored;
	make->until = mark.until;
	make->made.marks++;
}

static int analyze_all_before(struct make *make, const struct recorded_path *path, struct err *err)
{
	const struct index_making *making = make->making;
	struct engine_config config = { .interval_ns = NS_PER_S,
					.range_begin = RANGE_NEVER,
					.range_end = UINT64_MAX,
					.jobs = making->jobs,
					.chunk_bytes = making->chunk_bytes < making->every
							       ? making->chunk_bytes
							       : making->every,
					.max_memory = making->max_memory,
					.on_report = on_report,
					.on_warning = on_warning };
	struct recorded_run run = { .user = make,
				    .chunk_bytes = config.chunk_bytes,
				    .range_end = UINT64_MAX,
				    .stop = making->stop,
				    .on_trace = on_trace,
				    .opener = make,
				    .on_open = note_files,
				    .mark_bytes = making->every,
				    .on_mark = on_mark };
	int r;

	for (size_t i = 0; making->analyses[i]; i++) {
		config.analyses[i] = making->analyses[i];
	}
	config.on_spans = make->tiles ? make_on_spans : NULL;
	run.engine = engine_new(&config);
	r = recorded_analyze(path, &run, err);
	engine_free(run.engine);
	if (r == 0 && making->stop && *making->stop) {
		r = err_raise(err, -EINTR,
			      "%s: interrupted before its index was made: what there was "
			      "of one stays",
			      path->name);
	}
	return r;
}

/* Bytes that an index may take. */
static uint64_t make_room_of(const struct make *make)
{
	return make->making->is_bounded ? make->made.bytes / INDEX_PART : UINT64_MAX;
}

/* With as much as the states have left of that. */
static int put_tiles(struct make *make, struct err *err)
{
	uint64_t most = make_room_of(make), used = index_writer_bytes(make->out);

	return make->tiles
		       ? tiles_make_end(make->tiles, most > used ? most - used : 0, make->out, err)
		       : 0;
}

/* ns, by its packets' headers; 0: they do not tell. */
static uint64_t make_length_of(const struct recorded_path *path)
{
	uint64_t begin = 0, end = 0;
	struct err err; /* reading the trace reports it again */

	return recorded_span(path, &begin, &end, &err) == 0 && begin < end ? end - begin : 0;
}

int index_make(const struct recorded_path *path, const struct index_making *making, FILE *file,
	       struct index_made *ret, struct err *err)
{
	struct make make = { .making = making, .out = index_writer_new(file) };
	const struct analysis *tiles = tiles_analysis(making->analyses);
	struct index_head head = { 0 };
	int r = index_sources(path, &head.sources, err); /* before any of it is read */

	for (size_t i = 0; making->analyses[i]; i++) {
		head.analyses[i] = making->analyses[i];
	}
	VEC_EACH(&head.sources, source) {
		make.made.bytes += source->bytes;
	}
	if (tiles) {
		make.tiles = tiles_make_new(tiles, making->spool, make_room_of(&make),
					    make_length_of(path));
	}
	r = r < 0 ? r : analyze_all_before(&make, path, err);
	r = r < 0 ? r : put_tiles(&make, err);
	r = r < 0 ? r : index_writer_end(make.out, &head, &make.warnings, err);
	make.made.index_bytes = index_writer_bytes(make.out);
	*ret = make.made;
	tiles_make_free(make.tiles);
	index_writer_free(make.out);
	index_sources_fini(&head.sources);
	index_warnings_fini(&make.warnings);
	vec_fini(&make.state.bytes);
	return r;
}
