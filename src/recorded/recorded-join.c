/*
 * recorded-join: see recorded.h; which traces of user space are one with a kernel's.
 *
 *     S/kernel ──────── one ── with: S/ust/uid/1000/64-bit   clocks of the same uuid: times by the
 *                              with: S/ust/uid/0/64-bit      clock, and the kernel's offset
 *
 * Hosts are never joined.  Those whose kernels were recorded at one time are beside each other.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "recorded/recorded.h"

/* A trace, and what decides whether it is one with another. */
struct joinable {
	struct kin kin;
	bool is_read;
	char *place;
	const struct recorded_path *path;
	const char *why; /* it is not one with another, the first beside it; NULL: none is */
	const struct recorded_path *other;
	bool is_joined;
	bool has_span;
	uint64_t first, last; /* has_span; ns */
};

/* Where the session of the trace is, whether it was rotated or not; of a copy, what its relay calls
 * it. */
static char *whose_session(const struct recorded_path *path)
{
	char *name = recorded_unrotated(path->name);
	char *place = path->session
			      ? mem_printf("%s/%s", path->host ? path->host : "", path->session)
			      : recorded_session_place(name);
	const char *slash = strrchr(name, '/');

	if (!place) {
		place = slash ? mem_printf("%.*s", (int)(slash - name), name) : mem_strdup(".");
	}
	free(name);
	return place;
}

/* Of the first chunk: its offset counts for all. */
static struct joinable joinable_of(const struct recorded_path *path)
{
	struct metadata_stream *metadata = metadata_stream_new();
	const struct recorded_path first = { .name = path->name,
					     .dirs = { .at = path->dirs.at, .count = 1 } };
	struct joinable kin = { .place = whose_session(path), .path = path };
	struct err err; /* what cannot be read is reported when it is explained */

	assert(path->dirs.count > 0);
	kin.is_read = recorded_read_metadata(&first, metadata, &err) == 0;
	if (kin.is_read) {
		kin_take(&kin.kin, metadata_stream_types(metadata));
	}
	metadata_stream_free(metadata);
	return kin;
}

static void joinable_fini(struct joinable *kin)
{
	free(kin->place);
	kin_fini(&kin->kin);
}

/* By the packets' headers, of traces that nothing but their times can tell apart. */
static bool overlap(struct joinable *kernel, struct joinable *user)
{
	struct joinable *both[] = { kernel, user };
	struct err err; /* what cannot be read overlaps nothing */

	for (size_t i = 0; i < 2; i++) {
		if (!both[i]->has_span) {
			both[i]->has_span = true;
			(void)recorded_span(both[i]->path, &both[i]->first, &both[i]->last, &err);
		}
	}
	return kernel->first <= user->last && user->first <= kernel->last;
}

/* By how many ns times of a clock with the first offset are later than with the other one. */
static int64_t shift_of(const struct kin_clock *own, const struct kin_clock *clock)
{
	double seconds = ((double)own->offset_s - (double)clock->offset_s);
	double cycles = (double)((__int128)own->offset - clock->offset);
	double ns = seconds * 1e9 + cycles * 1e9 / (double)clock->freq;

	return ns > 9e18 ? INT64_MAX : ns < -9e18 ? INT64_MIN : (int64_t)ns;
}

/* Adds the user's trace, if it is one with the kernel's.  Returns why it is not although it is
 * beside it; NULL: there is nothing to say. */
static const char *try_pair(struct recorded_one *one, struct joinable *kernel,
			    struct joinable *user)
{
	const struct recorded_paths only = { .at = { .at = (struct recorded_path *)user->path,
						     .count = 1 } };
	const struct kin_clock *own, *clock;
	struct recorded_path *joined;
	const char *why;

	if (!user->is_read || strcmp(kernel->place, user->place) != 0 ||
	    !kin_may_join(&kernel->kin, &user->kin, &clock, &own, &why)) {
		return user->is_read && strcmp(kernel->place, user->place) == 0 ? why : NULL;
	}
	if (!clock && !overlap(kernel, user)) {
		return "is of another time";
	}
	recorded_paths_copy(&one->with, &only);
	joined = &one->with.at.at[one->with.at.count - 1];
	if (clock) {
		joined->on = *clock;
		joined->shift_ns = shift_of(own, clock);
	}
	return NULL;
}

/* Adds the kernel's trace and those beside it. */
static void join_kernel(const struct recorded_paths *paths, size_t first, struct joinable *kins,
			size_t kernel, recorded_ones *ones)
{
	struct recorded_one one = { .kernel = first + kernel };

	for (size_t i = 0; first + i < paths->at.count; i++) {
		size_t before = one.with.at.count;
		const char *why = try_pair(&one, &kins[kernel], &kins[i]);

		kins[i].is_joined |= one.with.at.count > before;
		if (why && !kins[i].why) {
			kins[i].why = why;
			kins[i].other = kins[kernel].path;
		}
	}
	if (one.with.at.count > 0) {
		*vec_push(ones) = one;
	}
}

void recorded_join(const struct recorded_paths *paths, size_t first, recorded_ones *ones,
		   void (*tell)(const char *fmt, ...))
{
	size_t count = paths->at.count - first;
	struct joinable *kins;

	assert(first <= paths->at.count);
	if (count < 2) {
		return; /* nothing is beside it */
	}
	kins = mem_alloc(count * sizeof(*kins));
	for (size_t i = 0; i < count; i++) {
		kins[i] = joinable_of(&paths->at.at[first + i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (kins[i].kin.is_kernel) {
			join_kernel(paths, first, kins, i, ones);
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (tell && kins[i].why && !kins[i].is_joined) {
			tell("%s %s than %s: not taken with it", kins[i].path->name, kins[i].why,
			     kins[i].other->name);
		}
		joinable_fini(&kins[i]);
	}
	free(kins);
}

/* ---- hosts beside each other ---- */

/* Whether the trace is of one more host, at the time of one of the group. */
static bool is_further_host(struct joinable *kins, const size_t *group, size_t count, size_t first,
			    size_t at)
{
	bool overlaps = false;

	assert(group[at] != first);
	for (size_t i = first; i < count; i++) {
		if (group[i] == first && strcmp(kins[i].kin.host, kins[at].kin.host) == 0) {
			return false;
		}
		overlaps |= group[i] == first && overlap(&kins[i], &kins[at]);
	}
	return overlaps;
}

/* Adds to the group of the first trace; until no further one overlaps with those that are in. */
static void gather_hosts(struct joinable *kins, size_t *group, size_t count, size_t first,
			 size_t most)
{
	size_t members = 1, before = 0;

	while (members > before) {
		before = members;
		for (size_t i = first + 1; i < count && members < most; i++) {
			if (group[i] == i && kins[i].kin.is_kernel && kins[i].kin.host &&
			    is_further_host(kins, group, count, first, i)) {
				group[i] = first;
				members++;
			}
		}
	}
}

void recorded_beside(const struct recorded_paths *paths, size_t first, size_t most,
		     recorded_groups *ret)
{
	size_t count = paths->at.count - first, *group = mem_alloc((count + 1) * sizeof(*group));
	struct joinable *kins = mem_alloc((count + 1) * sizeof(*kins));

	assert(first <= paths->at.count && most > 0);
	for (size_t i = 0; i < count; i++) {
		group[i] = i;
		kins[i] =
			count > 1 ? joinable_of(&paths->at.at[first + i]) : (struct joinable){ 0 };
	}
	for (size_t i = 0; i < count; i++) {
		struct recorded_paths *members;

		if (group[i] < i) {
			continue;
		}
		if (kins[i].kin.is_kernel && kins[i].kin.host) {
			gather_hosts(kins, group, count, i, most);
		}
		members = vec_push(ret);
		*members = (struct recorded_paths){ 0 };
		for (size_t k = i; k < count; k++) {
			if (group[k] == i) {
				recorded_paths_copy(
					members,
					&(struct recorded_paths){
						.at = { &paths->at.at[first + k], 1, 1 } });
			}
		}
	}
	for (size_t i = 0; i < count; i++) {
		joinable_fini(&kins[i]);
	}
	free(kins);
	free(group);
}

void recorded_groups_fini(recorded_groups *groups)
{
	VEC_EACH(groups, group) {
		recorded_paths_fini(group);
	}
	vec_fini(groups);
}

void recorded_ones_fini(recorded_ones *ones)
{
	VEC_EACH(ones, one) {
		recorded_paths_fini(&one->with);
	}
	vec_fini(ones);
}

const struct recorded_one *recorded_one_of(const recorded_ones *ones, size_t kernel)
{
	VEC_EACH(ones, one) {
		if (one->kernel == kernel) {
			return one;
		}
	}
	return NULL;
}

const struct recorded_path *recorded_joined(const recorded_ones *ones, const char *name)
{
	VEC_EACH(ones, one) {
		VEC_EACH(&one->with.at, path) {
			if (strcmp(path->name, name) == 0) {
				return path;
			}
		}
	}
	return NULL;
}
