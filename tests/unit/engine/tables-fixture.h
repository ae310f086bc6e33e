/*
 * tables-fixture: an analysis with a table of each scope, and tables for it.
 */
#pragma once

#include "engine/tables/tables.h"

enum { OF_TRACE, OF_THREADS, OF_PROCESSES, OF_CPUS, OF_NAMES, OF_KEYED, OF_LONGEST, OF_IRQS };
enum { SUM, MOST, LAST, SPREAD };

struct fixture {
	struct analysis analysis;
	struct selection selection;
	struct setup setup;
	struct tables tables;
};

#define FIXTURE_COLUMNS                                                                            \
	{                                                                                          \
		{ .key = "sum" }, { .key = "most", .kind = COLUMN_MAX },                           \
			{ .key = "last", .kind = COLUMN_LAST },                                    \
		{                                                                                  \
			.key = "spread", .kind = COLUMN_HISTOGRAM                                  \
		}                                                                                  \
	}

static const struct analysis fixture_analysis = {
	.name = "fixture",
	.summary = "a table of each scope",
	.thread_state_size = 12 * sizeof(uint64_t),
	.tables = {
		[OF_TRACE] = { .scope = SCOPE_TRACE, .columns = FIXTURE_COLUMNS },
		[OF_THREADS] = { .key = "threads", .scope = SCOPE_THREAD, .sort_mask = 1 << SUM,
				 .columns = FIXTURE_COLUMNS },
		[OF_PROCESSES] = { .key = "processes", .scope = SCOPE_PROCESS, .sort_mask = 1 << SUM,
				   .columns = FIXTURE_COLUMNS },
		[OF_CPUS] = { .key = "cpus", .scope = SCOPE_CPU, .sort_mask = 1 << SUM,
			      .columns = FIXTURE_COLUMNS },
		[OF_NAMES] = { .key = "names", .scope = SCOPE_EVENT, .sort_mask = 1 << SUM,
			       .columns = FIXTURE_COLUMNS },
		[OF_KEYED] = { .key = "keyed", .scope = SCOPE_KEYED, .sort_mask = 1 << SUM,
			       .columns = FIXTURE_COLUMNS, .id_key = "fd", .owner_key = "pid" },
		[OF_LONGEST] = { .key = "longest", .scope = SCOPE_LONGEST,
				 .columns = { { .key = "ns" } } },
		[OF_IRQS] = { .key = "irqs", .scope = SCOPE_KEYED, .sort_mask = 1 << SUM,
			      .columns = { { .key = "sum" } }, .id_key = "irq",
			      .lami_class = "irq" },
	},
};

/* @change, which may be NULL, changes the setup before it is used. */
static inline struct fixture *fixture_new(void (*change)(struct fixture *fixture))
{
	struct fixture *fixture = mem_alloc(sizeof(*fixture));

	fixture->analysis = fixture_analysis;
	fixture->selection.max_ns = UINT64_MAX;
	fixture->setup = (struct setup){ .interval_ns = 1000,
					 .wants_windows = true,
					 .range_end = UINT64_MAX,
					 .analyses = { &fixture->analysis },
					 .analysis_count = 1 };
	if (change) {
		change(fixture);
	}
	setup_init(&fixture->setup, NULL, 0);
	tables_init(&fixture->tables, &fixture->setup);
	return fixture;
}

static inline void fixture_free(struct fixture *fixture)
{
	tables_check(&fixture->tables);
	tables_fini(&fixture->tables);
	setup_fini(&fixture->setup);
	vec_fini(&fixture->selection.tids);
	vec_fini(&fixture->selection.pids);
	vec_fini(&fixture->selection.cpus);
	vec_fini(&fixture->selection.comms);
	vec_fini(&fixture->selection.irqs);
	free(fixture);
}

static inline struct shard *fixture_shard(struct fixture *fixture, int64_t key)
{
	return &fixture->tables.shards[key_shard(key)];
}

/* Adds @value to each column of a thread's row. */
static inline void fixture_add(struct fixture *fixture, int64_t key, struct thread *thread,
			       uint64_t value)
{
	uint64_t *row = shard_thread_row(fixture_shard(fixture, key), thread, OF_THREADS);

	row[SUM] += value;
	row[MOST] = row[MOST] > value ? row[MOST] : value;
	row[LAST] = value;
	column_add(row, SPREAD, value);
}

/* A thread with a process and a name. */
static inline struct thread *fixture_thread(struct fixture *fixture, int32_t tid, int32_t pid,
					    const char *comm)
{
	struct thread *thread = shard_thread(fixture_shard(fixture, tid), tid);

	thread->view.pid = pid;
	strcpy(thread->view.comm, comm);
	return thread;
}

/* As a report of the total has it. */
static inline const uint64_t *fixture_total(struct fixture *fixture, struct thread *thread)
{
	return thread_total(&fixture->tables.layout, thread);
}
