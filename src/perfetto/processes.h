/*
 * processes: names of threads and the processes that they belong to, as the state dump and forks
 * tell them.
 *
 * Before the range they are collected; from processes_show() on each is written at once.
 */
#pragma once

#include "perfetto/writer.h"

struct processes;

/* A thread; -1: unknown. */
struct process {
	int32_t tid, tgid, ppid;
	char name[PERFETTO_NAME]; /* UTF-8; "": unknown */
};

struct processes *processes_new(struct perfetto *writer);
void processes_free(struct processes *processes);

void processes_set(struct processes *processes, const struct process *row);
/* The process of a thread; -1: unknown. */
int32_t processes_leader(const struct processes *processes, int32_t tid);
/* The same of one that is told of elsewhere: a fork. */
void processes_know(struct processes *processes, const struct process *row);
void processes_remove(struct processes *processes, int32_t tid);
/* Writes those that were collected. */
void processes_show(struct processes *processes);
