/*
 * join: see join.h.
 */
#include "ctf/metadata/join.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

#define IDS_FROM (UINT64_C(1) << 32) /* of all parts but the first: behind those of any tracer */

struct joined_part {
	const struct metadata *is;
	const struct event_class *last; /* that was copied; NULL: none was */
	bool is_closed;                 /* the next one cannot be: the others go on without it */
};

struct metadata_join {
	struct metadata all;
	VEC(struct joined_part) parts;
	VEC(const struct metadata *) are; /* the same, as all.parts */
	VEC(struct stream_class *) streams;
	VEC(struct event_class *) events;
	VEC(const struct stream_class *) from; /* by stream: what it is a copy of */
};

struct metadata_join *metadata_join_new(void)
{
	return mem_alloc(sizeof(struct metadata_join));
}

void metadata_join_free(struct metadata_join *join)
{
	if (!join) {
		return;
	}
	vec_fini(&join->parts);
	vec_fini(&join->are);
	vec_free_each(&join->streams, free);
	vec_free_each(&join->events, free);
	vec_fini(&join->from);
	free(join);
}

void metadata_join_add(struct metadata_join *join, const struct metadata *part)
{
	*vec_push(&join->parts) = (struct joined_part){ .is = part };
	*vec_push(&join->are) = part;
}

/* Its own, or one that no stream class has. */
static uint64_t id_of(const struct metadata_join *join, const struct joined_part *part,
		      uint64_t own)
{
	uint64_t id = IDS_FROM + join->streams.count;

	if (part == join->parts.at && !metadata_stream(&join->all, own)) {
		return own;
	}
	while (metadata_stream(&join->all, id)) {
		id++;
	}
	return id;
}

/* The copy of a stream class, made when new. */
static const struct stream_class *stream_copy(struct metadata_join *join,
					      const struct joined_part *part,
					      const struct stream_class *from)
{
	struct stream_class *copy;

	for (size_t i = 0; i < join->streams.count; i++) {
		if (join->from.at[i] == from && join->streams.at[i]->of == part->is) {
			return join->streams.at[i];
		}
	}
	copy = mem_alloc(sizeof(*copy));
	*copy = *from;
	copy->id = id_of(join, part, from->id);
	copy->own_id = from->id;
	copy->of = part->is;
	copy->next = join->all.streams;
	join->all.streams = copy;
	*vec_push(&join->streams) = copy;
	*vec_push(&join->from) = from;
	return copy;
}

/* The newest is first in the part: the oldest is copied first. */
static void copy_streams(struct metadata_join *join, const struct joined_part *part)
{
	VEC(const struct stream_class *) all = { 0 };

	for (const struct stream_class *at = part->is->streams; at; at = at->next) {
		*vec_push(&all) = at;
	}
	while (all.count > 0) {
		(void)stream_copy(join, part, all.at[--all.count]);
	}
	vec_fini(&all);
}

static int copy_events(struct metadata_join *join, struct joined_part *part, struct err *err)
{
	const struct event_class *class = part->last ? part->last->next : part->is->events;

	for (; class; class = class->next) {
		const struct stream_class *stream = metadata_stream_of(part->is, class);
		struct event_class *copy;

		if (!stream) {
			return err_raise(err, -EINVAL,
					 "metadata: event \"%s\" belongs to stream %llu, which is "
					 "not declared",
					 class->name, (unsigned long long)class->stream_id);
		}
		if (join->all.event_count >= EVENT_CLASSES_MAX) {
			return err_raise(err, -E2BIG, "more than %u event classes in all",
					 (unsigned int)EVENT_CLASSES_MAX);
		}
		copy = mem_alloc(sizeof(*copy));
		*copy = *class;
		copy->next = NULL;
		copy->in_any_stream = false;
		copy->stream_id = stream_copy(join, part, stream)->id;
		metadata_add_event(&join->all, copy);
		*vec_push(&join->events) = copy;
		part->last = class;
	}
	return 0;
}

/* What is of a whole trace.  Workers may read it: what stays as it is is not written. */
static void take_whole(struct metadata_join *join)
{
	struct metadata all = *join->parts.at[0].is;

	all.streams = join->all.streams;
	all.events = join->all.events;
	all.events_last = join->all.events_last;
	all.event_count = join->all.event_count;
	all.parts = join->are.at;
	all.part_count = (uint32_t)join->are.count;
	if (memcmp(&join->all, &all, sizeof(all)) != 0) {
		join->all = all;
	}
}

/* Tracers sample the offset of each trace for itself: those of one clock count from the first's.
 * Of a part that was there before they do already, and workers may read them. */
static void share_clocks(const struct metadata *first, const struct metadata *part)
{
	for (const struct clock_class *is = first->clocks; is; is = is->next) {
		for (struct clock_class *own = part->clocks; own; own = own->next) {
			if (is->has_uuid && own->has_uuid && is->freq == own->freq &&
			    memcmp(is->uuid, own->uuid, sizeof(is->uuid)) == 0 &&
			    (own->offset_s != is->offset_s || own->offset != is->offset)) {
				own->offset_s = is->offset_s;
				own->offset = is->offset;
			}
		}
	}
}

int metadata_join_update(struct metadata_join *join, const struct metadata **ret, struct err *err)
{
	int r = 0;

	assert(join->parts.count > 0);
	take_whole(join);
	for (size_t i = 0; r == 0 && i < join->parts.count; i++) {
		copy_streams(join, &join->parts.at[i]);
		r = join->parts.at[i].is_closed ? 0 : copy_events(join, &join->parts.at[i], err);
		join->parts.at[i].is_closed |= r < 0;
		share_clocks(join->parts.at[0].is, join->parts.at[i].is);
	}
	*ret = &join->all;
	return r;
}
