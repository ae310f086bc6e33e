/*
 * places: see places.h.
 */
#include "ftrace/host/places.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/vec.h"
#include "containers/containers.h"

struct host_places {
	struct convert *convert;
	struct {
		int32_t pid, vpid;
		uint32_t number;
	} dumped; /* the process whose threads are told of */
	struct containers *containers;
	uint32_t class_id;
	VEC(uint8_t) payload;
};

struct host_places *places_new(struct convert *convert)
{
	struct host_places *places = mem_alloc(sizeof(*places));

	places->convert = convert;
	places->containers = containers_new("");
	places->class_id = convert_class(convert, "sillage_container",
					 "tid:s4 pid:s4 pid_ns:u4 vpid:s4 kind:str id:str name:str "
					 "cgroup:str");
	return places;
}

void places_free(struct host_places *places)
{
	if (places) {
		containers_free(places->containers);
		vec_fini(&places->payload);
		free(places);
	}
}

/* ---- events ---- */

static void put_place_word(struct host_places *places, uint32_t value)
{
	value = htole32(value);
	vec_append(&places->payload, (const uint8_t *)&value, sizeof(value));
}

/* What is empty is "-": babeltrace2 up to 2.0 shows the text of the event before for an empty one.
 */
static void put_place_text(struct host_places *places, const char *text, size_t most)
{
	text = text[0] ? text : "-";
	vec_append(&places->payload, (const uint8_t *)text, strnlen(text, most - 1));
	*vec_push(&places->payload) = 0;
}

struct placed {
	uint64_t time;
	uint32_t cpu, number;
	int32_t tid, pid, vpid;
};

static void emit_place(struct host_places *places, const struct placed *placed)
{
	const struct containers_place *place = containers_at(places->containers, placed->number);

	assert(place && placed->tid > 0);
	places->payload.count = 0;
	put_place_word(places, (uint32_t)placed->tid);
	put_place_word(places, (uint32_t)placed->pid);
	put_place_word(places, place->pid_ns);
	put_place_word(places, (uint32_t)placed->vpid);
	put_place_text(places, cgroup_kind_name(place->group.kind), CONTAINER_NAME_BYTES);
	put_place_text(places, place->group.id, CONTAINER_ID_BYTES);
	put_place_text(places, place->group.name, CONTAINER_NAME_BYTES);
	put_place_text(places, place->path, CGROUP_PATH_BYTES);
	convert_event(places->convert, places->class_id, placed->cpu, placed->time,
		      places->payload.at, places->payload.count);
	convert_place(places->convert, placed->tid, placed->number);
}

/* ---- at first sight ---- */

/* What /proc says now; false: it has gone. */
static bool look_at_process(struct host_places *places, struct placed *placed)
{
	placed->number = containers_look(places->containers, placed->pid, &placed->vpid);
	return placed->number > 0;
}

void places_dump(struct host_places *places, uint64_t time, uint32_t cpu, int32_t tid, int32_t pid)
{
	struct placed placed = { .time = time, .cpu = cpu, .tid = tid, .pid = pid };

	if (places->dumped.pid != pid ||
	    !containers_at(places->containers, places->dumped.number)) {
		places->dumped.pid = pid;
		places->dumped.number = look_at_process(places, &placed) ? placed.number : 0;
		places->dumped.vpid = placed.vpid;
	}
	placed.number = places->dumped.number;
	if (placed.number > 0) {
		placed.vpid = tid == pid ? places->dumped.vpid : 0;
		emit_place(places, &placed);
	}
}

/* It is of the place of who made it, which costs no look; of a namespace of its own the number is
 * known once it executes something. */
void places_forked(struct host_places *places, uint64_t time, uint32_t cpu, int32_t tid)
{
	const struct convert_placed known = convert_placed(places->convert, tid);
	struct placed placed = { .time = time, .cpu = cpu, .tid = tid, .pid = known.pid };
	const struct containers_place *place = containers_at(places->containers, known.place);

	placed.number = known.place;
	if (place && place->pid_ns != known.pid_ns) {
		placed.number = containers_of_group(places->containers, place->path, known.pid_ns);
	}
	if (place || look_at_process(places, &placed)) {
		emit_place(places, &placed);
	}
}

void places_executed(struct host_places *places, uint64_t time, uint32_t cpu, int32_t tid)
{
	struct placed placed = { .time = time, .cpu = cpu, .tid = tid, .pid = tid };

	if (look_at_process(places, &placed) &&
	    (placed.vpid == 1 || placed.number != convert_placed(places->convert, tid).place)) {
		emit_place(places, &placed);
	}
}

/* ---- moves ---- */

struct moving {
	struct host_places *places;
	struct placed placed;
};

static void move_thread(void *user, int32_t tid)
{
	struct moving *moving = user;

	moving->placed.tid = tid;
	if (convert_placed(moving->places->convert, tid).place != moving->placed.number) {
		emit_place(moving->places, &moving->placed);
	}
}

/* Of several hierarchies each has such an event, and its path may be one that says nothing: what
 * /proc has counts, as long as the process is there. */
void places_moved(struct host_places *places, uint64_t time, uint32_t cpu, int32_t tid,
		  const char *path)
{
	const struct convert_placed known = convert_placed(places->convert, tid);
	struct moving moving = { .places = places,
				 .placed = { .time = time, .cpu = cpu, .pid = known.pid } };
	struct cgroup group;

	if (!look_at_process(places, &moving.placed)) {
		cgroup_parse(path, &group);
		if (group.kind == CGROUP_NONE) {
			return;
		}
		moving.placed.number = containers_of_group(places->containers, path, known.pid_ns);
	}
	if (moving.placed.number == known.place) {
		return; /* another hierarchy has told it */
	}
	moving.placed.vpid = 0;
	convert_each_of(places->convert, known.pid, move_thread, &moving);
}
