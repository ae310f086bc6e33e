/*
 * across: see across.h.
 */
#include "query/across.h"

#include "base/limits.h"
#include "base/mem.h"

/* ---- what is open ---- */

struct across_open *across_find(const struct across *across, uint64_t key)
{
	struct across_open **open = across_opens_get(&across->opens, key);

	return open ? *open : NULL;
}

void across_take(struct across *across, struct across_open *open)
{
	bool was_open = across_opens_drop(&across->opens, open->key);

	assert(was_open);
	(void)was_open;
	list_remove(&across->list, &open->node);
}

struct across_open *across_add(struct across *across, struct across_open *open)
{
	struct across_open *oldest = NULL;
	bool is_new;

	if (across->list.count >= JOBS_OPEN_MAX) {
		oldest = (struct across_open *)across->list.first;
		across_take(across, oldest);
	}
	*across_opens_put(&across->opens, open->key, &is_new) = open;
	assert(is_new);
	list_add(&across->list, &open->node);
	assert_hot(across->list.count <= JOBS_OPEN_MAX);
	return oldest;
}

struct across_open *across_next(struct across *across)
{
	struct across_open *open = (struct across_open *)across->list.first;

	if (open) {
		across_take(across, open);
	} else {
		across_opens_fini(&across->opens);
	}
	return open;
}

/* ---- names ---- */

struct across_name {
	struct list_node node; /* first: the list is of these */
	int32_t tid;
	char name[ACROSS_NAME_BYTES]; /* zeroes fill it */
};

static struct across_name *find_name(const struct across_names *names, int32_t tid)
{
	struct across_name **name = across_by_tid_get(&names->by_tid, (uint32_t)tid);

	return name ? *name : NULL;
}

static void forget_oldest(struct across_names *names)
{
	struct across_name *oldest = (struct across_name *)names->list.first;

	(void)across_by_tid_drop(&names->by_tid, (uint32_t)oldest->tid);
	list_remove(&names->list, &oldest->node);
	free(oldest);
}

bool across_names_tell(struct across_names *names, int32_t tid, const void *name, size_t len)
{
	struct across_name *known = find_name(names, tid);
	bool has_forgotten = !known && names->list.count >= JOBS_NAMES_MAX;
	bool is_new;

	if (tid <= 0) {
		return false; /* of idle CPUs, or of nobody */
	}
	if (has_forgotten) {
		forget_oldest(names);
	}
	if (known) {
		list_remove(&names->list, &known->node);
	} else {
		known = mem_alloc(sizeof(*known));
		known->tid = tid;
		*across_by_tid_put(&names->by_tid, (uint32_t)tid, &is_new) = known;
		assert(is_new);
	}
	len = strnlen(name, len < sizeof(known->name) - 1 ? len : sizeof(known->name) - 1);
	memset(known->name, 0, sizeof(known->name));
	memcpy(known->name, name, len);
	list_add(&names->list, &known->node);
	return has_forgotten;
}

const char *across_names_of(const struct across_names *names, int32_t tid)
{
	const struct across_name *known = find_name(names, tid);

	return known ? known->name : "";
}

void across_names_fini(struct across_names *names)
{
	while (names->list.first) {
		forget_oldest(names);
	}
	across_by_tid_fini(&names->by_tid);
}

void across_names_codec(struct codec *codec, struct across_names *names)
{
	size_t count = codec_count(codec, names->list.count, 4 + ACROSS_NAME_BYTES);
	struct list_node *at = names->list.first;

	for (size_t i = 0; i < count && codec_check(codec, count <= JOBS_NAMES_MAX); i++) {
		struct across_name one = { 0 };

		if (!codec_reads(codec)) {
			one = *(struct across_name *)at;
			at = at->after;
		}
		codec_i32(codec, &one.tid);
		codec_bytes(codec, one.name, sizeof(one.name));
		if (!codec_reads(codec)) {
			continue;
		}
		if (!codec_check(codec, one.tid > 0 && !find_name(names, one.tid) &&
						one.name[sizeof(one.name) - 1] == 0)) {
			return;
		}
		(void)across_names_tell(names, one.tid, one.name, sizeof(one.name));
	}
}
