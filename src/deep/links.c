/*
 * links: see links.h.
 */
#include "deep/links.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct edge {
	uint32_t from, to;
};

struct graph {
	VEC(struct edge) edges; /* in both directions, by `from` */
	uint32_t *first;        /* index of each thread's first edge; threads + 1 entries */
	size_t threads;
};

static void add_edges(const struct timeline *timeline, struct graph *graph)
{
	for (uint32_t t = 0; t < timeline->threads.count; t++) {
		const struct deep_thread *thread = timeline->threads.at[t];

		VEC_EACH(&thread->intervals, interval) {
			if (interval->state == STATE_WAIT && interval->cause == CAUSE_TASK) {
				assert(interval->who < timeline->threads.count);
				*vec_push(&graph->edges) = (struct edge){ interval->who, t };
				*vec_push(&graph->edges) = (struct edge){ t, interval->who };
			}
		}
	}
}

ORDER(by_from, struct edge, UP(from) UP(to))

/* Sorts the edges, drops duplicates and fills `first`. */
static void index_edges(struct graph *graph)
{
	size_t unique = 0, at = 0;

	vec_sort(&graph->edges, by_from);
	for (size_t i = 0; i < graph->edges.count; i++) {
		if (unique == 0 ||
		    by_from(&graph->edges.at[unique - 1], &graph->edges.at[i]) != 0) {
			graph->edges.at[unique++] = graph->edges.at[i];
		}
	}
	graph->edges.count = unique;
	graph->first = mem_alloc((graph->threads + 1) * sizeof(*graph->first));
	for (size_t t = 0; t <= graph->threads; t++) {
		while (at < unique && graph->edges.at[at].from < t) {
			at++;
		}
		graph->first[t] = (uint32_t)at;
	}
	assert(graph->first[graph->threads] == unique);
}

/* Breadth-first search: links.at is its queue, and at the end all threads reached, by hops. */
static void reach(const struct graph *graph, uint32_t thread, struct links *links)
{
	bool *is_reached = mem_alloc(graph->threads + 1);

	*vec_push(&links->at) = (struct link){ .thread = thread };
	is_reached[thread] = true;
	for (size_t i = 0; i < links->at.count; i++) {
		uint32_t from = links->at.at[i].thread, hops = links->at.at[i].hops;

		for (uint32_t e = graph->first[from]; e < graph->first[from + 1]; e++) {
			uint32_t to = graph->edges.at[e].to;

			if (!is_reached[to]) {
				*vec_push(&links->at) =
					(struct link){ .thread = to, .hops = hops + 1 };
				is_reached[to] = true;
			}
		}
	}
	free(is_reached);
}

/* Wake-ups between the thread and each that is one hop away. */
static void count_direct(const struct timeline *timeline, uint32_t thread, struct links *links)
{
	const struct deep_thread *self = timeline->threads.at[thread];
	uint64_t *wakes = mem_alloc(timeline->threads.count * sizeof(*wakes)); /* by thread */

	VEC_EACH(&self->intervals, interval) {
		if (interval->state == STATE_WAIT && interval->cause == CAUSE_TASK) {
			wakes[interval->who]++;
		}
	}
	VEC_EACH(&links->at, link) {
		const struct deep_thread *other = timeline->threads.at[link->thread];

		if (link->hops != 1) {
			continue;
		}
		link->wakes = wakes[link->thread];
		VEC_EACH(&other->intervals, interval) {
			link->woken += interval->state == STATE_WAIT &&
				       interval->cause == CAUSE_TASK && interval->who == thread;
		}
	}
	free(wakes);
}

static uint64_t times_of(const struct link *link)
{
	return link->wakes + link->woken;
}

ORDER(nearest_first, struct link, UP(hops) DOWN_OF(times_of) UP(thread))

void links_find(const struct timeline *timeline, uint32_t thread, struct links *links)
{
	struct graph graph = { .threads = timeline->threads.count };

	assert(thread < graph.threads);
	memset(links, 0, sizeof(*links));
	add_edges(timeline, &graph);
	index_edges(&graph);
	reach(&graph, thread, links);
	count_direct(timeline, thread, links);
	vec_sort(&links->at, nearest_first);
	assert(links->at.at[0].thread == thread); /* the only one without a hop: not a link */
	links->at.count--;
	memmove(links->at.at, links->at.at + 1, links->at.count * sizeof(*links->at.at));
	vec_fini(&graph.edges);
	free(graph.first);
}

void links_fini(struct links *links)
{
	vec_fini(&links->at);
}
