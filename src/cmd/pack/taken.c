/*
 * taken: see taken.h.
 */
#include "cmd/pack/taken.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/clock.h"
#include "run/run.h"

/* What is taken of a trace. */
struct taking_range {
	struct taken *taken;
	struct anonymous *anonymous;
	struct history_stretch *stretch;
	uint64_t begin, end;
	struct err *err;
};

/* Times of the file's packet, ns; without them it begins with the one before it. */
static void packet_times(const struct recorded_file *file, uint64_t before, uint64_t *ret_begin,
			 uint64_t *ret_end)
{
	const struct packet_info *info = &file->info;
	struct clock clock;

	clock_init(&clock, info->stream->clock);
	*ret_begin =
		info->has_begin && info->stream->clock ? clock_ns(&clock, info->begin) : before;
	*ret_end = info->has_end && info->stream->clock ? clock_ns(&clock, info->end) : UINT64_MAX;
}

/* Adds the file's packet; *before: when the last one of its stream begins.  A stream's packets stay
 * in the order of the file. */
static void take_if_within(struct taking_range *taking, const struct recorded_file *file,
			   const char *name, struct retained_segment *segment, uint64_t *before)
{
	struct taken *taken = taking->taken;
	uint64_t begin, end, len = (file->info.content_bits + 7) / 8;
	struct history_packet *packet;

	packet_times(file, *before, &begin, &end);
	if (end < taking->begin || begin > taking->end) {
		return;
	}
	if (file->info.has_begin) {
		taken->first = begin < taken->first ? begin : taken->first;
		taken->last = begin > taken->last ? begin : taken->last;
	}
	if (end < UINT64_MAX) {
		taken->last = end > taken->last ? end : taken->last;
	}
	begin = begin > *before ? begin : *before;
	*before = begin;
	packet = vec_push(&taking->stretch->packets);
	packet->stream = mem_strdup(name);
	packet->retained = retained_in(segment, file->offset, &file->info, len);
	packet->retained->begin = begin;
	packet->retained->end = end;
}

/* Whether the packet before is cut off, and has one behind it: its bytes would be taken for more of
 * it. */
static void drop_cut(struct taking_range *taking, bool *was_cut)
{
	struct history_packet *packet;

	if (*was_cut && taking->stretch->packets.count > 0) {
		packet = &taking->stretch->packets.at[--taking->stretch->packets.count];
		free(packet->stream);
		retained_unref(packet->retained);
		taking->taken->left_out++;
	}
	*was_cut = false;
}

static int take_file(struct taking_range *taking, struct recorded_file *file, size_t number)
{
	struct recorded *trace = &taking->taken->trace;
	struct retained_segment *segment = NULL;
	char *plain = taking->anonymous ? anonymous_stream(taking->anonymous, file->name)
					: mem_strdup(file->name);
	char *name = file->is_shared && !file->is_first ? mem_printf("%s-%zu", plain, number)
							: mem_strdup(plain);
	uint64_t before = 0;
	size_t part = SIZE_MAX;
	bool was_cut = false;
	int r = 0;

	for (; r == 0 && file->has_info && !run_stop;
	     recorded_next(file, trace->plan, trace->decoder)) {
		size_t count = taking->stretch->packets.count;

		if (file->part != part) {
			retained_segment_unref(segment);
			segment = retained_segment_of(file->fd, taking->err);
			part = file->part;
			if (!segment) {
				r = -EMFILE;
				break;
			}
		}
		drop_cut(taking, &was_cut);
		take_if_within(taking, file, name, segment, &before);
		was_cut = file->is_cut && taking->stretch->packets.count > count;
		free(recorded_take_fault(file));
	}
	retained_segment_unref(segment);
	free(plain);
	free(name);
	return r < 0 ? err_note(taking->err, r, "%s", file->name) : 0;
}

/* Others must be able to read what is written. */
static int check_metadata(const struct taking_range *taking)
{
	struct metadata_stream *again = metadata_stream_new();
	int r = metadata_stream_feed(again, taking->stretch->metadata.at,
				     taking->stretch->metadata.count, taking->err);

	r = r < 0 ? r : metadata_stream_end(again, taking->err);
	metadata_stream_free(again);
	return r < 0 ? err_note(taking->err, r, "as it would be written") : 0;
}

static int take_packed_metadata(struct taking_range *taking)
{
	struct metadata_stream *metadata = taking->taken->trace.metadata;
	uint32_t major = metadata_stream_types(metadata)->major;
	static const char start[] = "/* CTF 1.8 */\n";
	size_t len;
	const char *text = metadata_stream_text(metadata, &len);
	char *made;
	int r;

	if (taking->anonymous) {
		r = anonymous_metadata(taking->anonymous, major, text, len, &made, &len,
				       taking->err);
		if (r == 0) {
			vec_append(&taking->stretch->metadata, (const uint8_t *)made, len);
			free(made);
		}
		return r < 0 ? r : check_metadata(taking);
	}
	/* Without its packets a text of TSDL begins so (CTF 1.8.3, 7.1). */
	if (major != 2 && (len < 10 || memcmp(text, start, 10) != 0)) {
		vec_append(&taking->stretch->metadata, (const uint8_t *)start, sizeof(start) - 1);
	}
	vec_append(&taking->stretch->metadata, (const uint8_t *)text, len);
	return 0;
}

static bool rewrite(void *user, const uint8_t *bytes, uint64_t len, uint8_t *to)
{
	return anonymous_packet(user, bytes, len, to);
}

int taken_open(const struct recorded_path *path, uint64_t begin, uint64_t end,
	       struct anonymous *anonymous, struct taken *taken, struct capture_trace *ret,
	       struct err *err)
{
	struct taking_range taking = { .taken = taken,
				       .anonymous = anonymous,
				       .stretch = &ret->stretch,
				       .begin = begin,
				       .end = end,
				       .err = err };
	int r;

	memset(taken, 0, sizeof(*taken));
	taken->first = UINT64_MAX;
	r = recorded_open(path, &taken->trace, err);
	r = r < 0 ? r : take_packed_metadata(&taking);
	if (r == 0 && anonymous) {
		r = anonymous_trace_new(anonymous, taken->trace.metadata,
					taken->trace.files.have_other_uuid, &taken->rewriter, err);
		ret->rewrite = rewrite;
		ret->user = taken->rewriter;
	}
	for (size_t i = 0; r == 0 && i < taken->trace.files.at.count; i++) {
		r = take_file(&taking, &taken->trace.files.at.at[i], i);
	}
	assert(r < 0 || !anonymous || ret->user);
	return r;
}

void taken_fini(struct taken *taken)
{
	anonymous_trace_free(taken->rewriter);
	recorded_close(&taken->trace);
}
