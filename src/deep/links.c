/*
 * links: see links.h.
 */
#include "deep/links.h"

#include <stdlib.h>
#include <string.h>

struct edge {
	uint32_t from, to;
};

struct graph {
	VEC(struct edge) edges; /* both ways, by `from` */
	uint32_t *first;        /* of a thread's edges; one more than there are threads */
	size_t threads;
};

static void add_edges(const struct timeline *timeline, struct graph *graph)
{
	for (uint32_t t = 0; t < timeline->threads.count; t++) {
		const struct deep_thread *thread = timeline->threads.at[t];

		for (size_t i = 0; i < thread->intervals.count; i++) {
			const struct interval *interval = &thread->intervals.at[i];

			if (interval->state == STATE_WAIT && interval->cause == CAUSE_TASK) {
				*vec_push(&graph->edges) = (struct edge){ interval->who, t };
				*vec_push(&graph->edges) = (struct edge){ t, interval->who };
			}
		}
	}
}

static int by_from(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	if (a->from != b->from) {
		return a->from < b->from ? -1 : 1;
	}
	return a->to < b->to ? -1 : a->to > b->to;
}

/* Each pair once, and where those of a thread begin. */
static void index_edges(struct graph *graph)
{
	size_t kept = 0, at = 0;

	if (graph->edges.count > 0) {
		qsort(graph->edges.at, graph->edges.count, sizeof(*graph->edges.at), by_from);
	}
	for (size_t i = 0; i < graph->edges.count; i++) {
		if (kept == 0 || by_from(&graph->edges.at[kept - 1], &graph->edges.at[i]) != 0) {
			graph->edges.at[kept++] = graph->edges.at[i];
		}
	}
	graph->edges.count = kept;
	graph->first = mem_alloc((graph->threads + 1) * sizeof(*graph->first));
	for (size_t t = 0; t <= graph->threads; t++) {
		while (at < kept && graph->edges.at[at].from < t) {
			at++;
		}
		graph->first[t] = (uint32_t)at;
	}
}

/* Breadth first: links.at is what was reached, in order of hops, and what is still to be followed.
 */
static void reach(const struct graph *graph, uint32_t thread, struct links *links)
{
	uint32_t *place =
		mem_alloc((graph->threads + 1) * sizeof(*place)); /* + 1, 0: not reached */

	*vec_push(&links->at) = (struct link){ .thread = thread };
	place[thread] = 1;
	for (size_t i = 0; i < links->at.count; i++) {
		uint32_t from = links->at.at[i].thread, hops = links->at.at[i].hops;

		for (uint32_t e = graph->first[from]; e < graph->first[from + 1]; e++) {
			uint32_t to = graph->edges.at[e].to;

			if (place[to] == 0) {
				*vec_push(&links->at) =
					(struct link){ .thread = to, .hops = hops + 1 };
				place[to] = (uint32_t)links->at.count;
			}
		}
	}
	free(place);
}

static void count_direct(const struct timeline *timeline, uint32_t thread, struct link *link)
{
	const struct deep_thread *self = timeline->threads.at[thread];
	const struct deep_thread *other = timeline->threads.at[link->thread];

	for (size_t i = 0; i < self->intervals.count; i++) {
		const struct interval *interval = &self->intervals.at[i];

		link->wakes += interval->state == STATE_WAIT && interval->cause == CAUSE_TASK &&
			       interval->who == link->thread;
	}
	for (size_t i = 0; i < other->intervals.count; i++) {
		const struct interval *interval = &other->intervals.at[i];

		link->woken += interval->state == STATE_WAIT && interval->cause == CAUSE_TASK &&
			       interval->who == thread;
	}
}

static int nearest_first(const void *left, const void *right)
{
	const struct link *a = left, *b = right;
	uint64_t a_times = a->wakes + a->woken, b_times = b->wakes + b->woken;

	if (a->hops != b->hops) {
		return a->hops < b->hops ? -1 : 1;
	}
	if (a_times != b_times) {
		return a_times > b_times ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

void links_find(const struct timeline *timeline, uint32_t thread, struct links *links)
{
	struct graph graph = { .threads = timeline->threads.count };

	memset(links, 0, sizeof(*links));
	add_edges(timeline, &graph);
	index_edges(&graph);
	reach(&graph, thread, links);
	for (size_t i = 0; i < links->at.count; i++) {
		if (links->at.at[i].hops == 1) {
			count_direct(timeline, thread, &links->at.at[i]);
		}
	}
	qsort(links->at.at, links->at.count, sizeof(*links->at.at), nearest_first);
	memmove(links->at.at, links->at.at + 1,
		--links->at.count * sizeof(*links->at.at)); /* itself */
	vec_fini(&graph.edges);
	free(graph.first);
}

void links_fini(struct links *links)
{
	vec_fini(&links->at);
}
