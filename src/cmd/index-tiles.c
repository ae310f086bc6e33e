/*
 * index-tiles: `sillage index --tiles`: what the index of a trace has of tiles of time, as lines of
 * JSON (index/tiles.h).
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cmd/cmd.h"
#include "engine/contract/report-shape.h"
#include "index/index.h"
#include "index/tiles.h"
#include "run/run.h"
#include "text/plain.h"

struct showing {
	struct json *json;
	const struct index_tiles *tiles;
	enum tiles_by by;
};

static enum tiles_by tiles_by_of(const struct options *options)
{
	static const char *const words[] = { [TILES_ALL] = "all",
					     [TILES_CPU] = "cpu",
					     [TILES_CONTAINER] = "container",
					     [TILES_PROCESS] = "process" };

	for (unsigned int by = 0; options->tiles_by && by < TILES_THREAD; by++) {
		if (strcmp(options->tiles_by, words[by]) == 0) {
			return (enum tiles_by)by;
		}
	}
	return TILES_THREAD;
}

static void tiles_put_who(struct json *json, enum tiles_by by, const struct tile_who *who)
{
	if (by == TILES_CPU && who->cpu != UINT64_MAX) {
		json_u64(json, "cpu", who->cpu);
	}
	if (by == TILES_THREAD) {
		json_i64(json, "tid", who->tid);
		json_u64(json, "life", who->id & UINT32_MAX);
	}
	if (by >= TILES_PROCESS && who->pid >= 0) {
		json_i64(json, "pid", who->pid);
	}
	if (by >= TILES_PROCESS && who->comm[0]) {
		char comm[sizeof(((struct tile_thread *)NULL)->comm)];

		(void)snprintf(comm, sizeof(comm), "%s", who->comm);
		(void)plain_message(comm);
		json_text(json, "comm", comm);
	}
	if (by >= TILES_CONTAINER && who->container != 0) {
		json_u64(json, "pid_ns", who->container);
	}
}

static bool put_tile(void *user, const struct tile *tile)
{
	const struct showing *showing = user;
	const struct column *columns = index_tiles_table(showing->tiles)->columns;
	struct json *json = showing->json;

	json_open(json, NULL, '{');
	json_text(json, "type", "tile");
	json_u64(json, "begin", tile->begin);
	json_u64(json, "end", tile->end);
	json_open(json, "rows", '[');
	for (size_t i = 0; i < tile->count; i++) {
		struct tile_who who;

		json_open(json, NULL, '{');
		assert(tile->begin < tile->end);
		index_tiles_who(showing->tiles, showing->by, tile->rows[i].number, &who);
		tiles_put_who(json, showing->by, &who);
		for (unsigned int c = 0; c < index_tiles_columns(showing->tiles); c++) {
			if (tile->rows[i].ns[c] > 0) {
				json_u64(json, columns[c].key, tile->rows[i].ns[c]);
			}
		}
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
	json_end_line(json);
	return !run_stop && !ferror(json->out);
}

static void tiles_put_head(struct json *json, const struct index_tiles *tiles, unsigned int level)
{
	const struct index_tiles_head *head = index_tiles_head(tiles);

	json_open(json, NULL, '{');
	json_text(json, "type", "tiles");
	json_text(json, "analysis", head->analysis->name);
	json_u64(json, "begin", head->begin);
	json_u64(json, "end", head->end);
	json_u64(json, "finest_ns", (uint64_t)1 << head->finest);
	json_u64(json, "tile_ns", (uint64_t)1 << level);
	json_close(json, '}');
	json_end_line(json);
}

/* The longest tiles that are no longer than what was asked for; of none, the finest. */
static unsigned int tiles_level_of(const struct options *options, const struct index_tiles *tiles)
{
	unsigned int level = index_tiles_head(tiles)->finest;

	assert(level <= TILES_LEVEL_MAX);
	while (level < TILES_LEVEL_MAX && options->tile_ns >> (level + 1) != 0) {
		level++;
	}
	return level;
}

static int tiles_show_tiles(const struct options *options, const struct recorded_path *path,
			    struct index *index, struct err *err)
{
	struct index_tiles *tiles;
	struct json json;
	struct showing showing = { .json = &json, .by = tiles_by_of(options) };
	uint64_t begin, end;
	unsigned int level;
	int r = run_range(options, path, &begin, &end, err);

	r = r < 0 ? r : index_tiles_open(index_of(index), &tiles, err);
	if (r < 0) {
		return r;
	}
	showing.tiles = tiles;
	level = tiles_level_of(options, tiles);
	json_init(&json, stdout);
	tiles_put_head(&json, tiles, level);
	r = index_tiles_read(tiles, level, begin, end, showing.by, put_tile, &showing, err);
	index_tiles_free(tiles);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		return r < 0 ? r : err_raise(err, -EIO, "standard output: %s", strerror(errno));
	}
	return r;
}

int index_show_tiles(const struct options *options, const struct recorded_path *path,
		     struct err *err)
{
	struct index *index = NULL;
	char *name = NULL;
	struct err why = { 0 };
	int r = index_open(path, &index, &name, &why);

	if (r == 0) {
		r = tiles_show_tiles(options, path, index, &why);
		index_close(index);
	}
	free(name);
	return r == 0 ? 0
		      : err_raise(err, r, "%s: %s", path->name,
				  r == -ENOENT && !why.text[0] ? "it has no index" : why.text);
}
