/*
 * executions-within: executions that lie in those of another pattern (doc/definitions.md, 6.1).
 */
#include <assert.h>

#include "base/hash.h"
#include "deep/executions/executions.h"

ORDER(by_place, struct execution, UP(group) UP(begin) DOWN(end))

/* Executions of one thread are in order, and never overlap; those that go over threads may. */
struct others {
	const struct execution *at; /* by group and begin */
	size_t count;
	uint64_t *until; /* the latest end up to each, in its group */
};

static struct others sorted_others(struct execution *at, size_t count)
{
	struct others all = { .at = at, .count = count };

	all.until = mem_alloc((count + 1) * sizeof(*all.until));
	for (size_t i = 0; i < count; i++) {
		bool is_next = i > 0 && at[i - 1].group == at[i].group;

		all.until[i] =
			is_next && all.until[i - 1] > at[i].end ? all.until[i - 1] : at[i].end;
	}
	return all;
}

/* The first that begins later than @wanted in its group, or is of a later one. */
VEC_FIRST(first_later, struct execution, const struct execution *,
	  one->group < wanted->group ||
		  (one->group == wanted->group && one->begin <= wanted->begin))

/* The one around it that began last, before it ended; SIZE_MAX: none is. */
static size_t around(const struct others *others, const struct execution *one)
{
	size_t i = first_later(others->at, others->count, one);

	while (i-- > 0 && others->at[i].group == one->group && others->until[i] >= one->end) {
		if (others->at[i].end >= one->end &&
		    (others->at[i].begin < one->end || one->is_open)) {
			return i;
		}
	}
	return SIZE_MAX;
}

ORDER(by_outer_length, struct executions_outer, LONGER UP(begin) UP(thread))

struct found {
	struct execution *at;
	size_t count;
};

/* By thread, whether one that is left out is in doubt: then so is the next one that counts. */
HASH_MAP(doubted, bool)

/* Lists the outer ones.  How many of @inner lie in one of them; these come first. */
static size_t keep_inside(struct executions *executions, struct found inner, struct found outer,
			  struct doubted *doubted)
{
	size_t first = executions->outer.count, inside = 0;
	struct others others;

	vec_sort(&outer, by_place);
	for (size_t i = 0; i < outer.count; i++) {
		const struct execution *one = &outer.at[i];

		*vec_push(&executions->outer) =
			(struct executions_outer){ .thread = one->thread,
						   .last = one->last,
						   .begin = one->begin,
						   .end = one->end,
						   .is_open = one->is_open };
	}
	others = sorted_others(outer.at, outer.count);
	for (size_t i = 0; i < inner.count; i++) {
		struct execution one = inner.at[i];
		size_t at = around(&others, &one);
		bool *doubts = doubted_put(doubted, one.thread, NULL);

		one.is_doubted |= *doubts;
		*doubts = at == SIZE_MAX && one.is_doubted;
		if (at != SIZE_MAX) {
			struct executions_outer *of = &executions->outer.at[first + at];

			of->count++;
			of->inner_ns += one.end - one.begin;
			one.outer_begin = of->begin;
			inner.at[inside++] = one;
		}
	}
	free(others.until);
	return inside;
}

/* Those whose thread has ended lie in none that goes on: only where both are of one thread they
 * have ended together. */
static size_t leave_out_ended(struct found open, uint64_t end)
{
	size_t left = 0;

	for (size_t i = 0; i < open.count; i++) {
		if (open.at[i].end == end) {
			open.at[left++] = open.at[i];
		}
	}
	return left;
}

/* Where one of them goes over threads, none is of one thread. */
static void set_groups(struct found all, bool are_joined)
{
	for (size_t i = 0; i < all.count; i++) {
		all.at[i].group = are_joined ? 0 : all.at[i].thread;
	}
}

void executions_within(struct executions *executions, const struct executions *outer, uint64_t end)
{
	struct found all = { executions->all.at, executions->all.count };
	struct found open = { executions->open.at, executions->open.count };
	struct found outer_all = { outer->all.at, outer->all.count };
	struct doubted doubted = { 0 };
	struct found outer_open = { outer->open.at, outer->open.count };

	bool is_across = executions->config->job->is_across;
	bool are_joined = is_across || outer->config->job->is_across;

	open.count = are_joined ? leave_out_ended(open, end) : open.count;
	set_groups(all, are_joined);
	set_groups(open, are_joined);
	set_groups(outer_all, are_joined);
	set_groups(outer_open, are_joined);
	executions->all.count = keep_inside(executions, all, outer_all, &doubted);
	/* One that is open can lie in one that is open, too. */
	executions->open.count = keep_inside(executions, open, outer_open, &doubted);
	doubted_fini(&doubted);
	assert(executions->all.count <= all.count && executions->open.count <= open.count);
	set_groups(all, is_across);
	set_groups(open, is_across);
	vec_sort(&executions->outer, by_outer_length);
}
