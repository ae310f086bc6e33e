/*
 * occasion: why a capture was made, and what its run measured of whom: what its report is about.
 */
#pragma once

#include "deep/timeline.h"
#include "options/options.h"

struct occasion {
	char *triggers;   /* their names; NULL: no capture, or not made by a trigger */
	uint64_t since;   /* when the first of them began to hold; 0: unknown */
	char *thread;     /* the tid of the first thread that a trigger names; NULL: none does */
	char *job_thread; /* the same of what it says of jobs */
	struct job_spec *job;    /* that a trigger is about, else the first that the run measured */
	struct job_spec *within; /* what its executions lie in; NULL: it does not matter */
	struct options asked;    /* what the run measured of whom, as options of analyze ... */
	bool has_asked;          /* ... if the capture says so */
};

/* Reads capture.json, which only a capture has.  @says: what is wrong with it. */
void occasion_read(const char *path, bool says, struct occasion *ret);
void occasion_fini(struct occasion *occasion);

/* The words of `report CAPTURE` with the job that the capture is about, if options without effect
 * but with a job stand beside it; as captured_again(). */
const char **occasion_again(const struct options *options, int argc, const char **argv,
			    int *ret_argc);

/* Whether the run measured periods or jobs. */
bool occasion_has_spans(const struct occasion *occasion);
/* The threads that the run looked at, as timeline_thread_is() takes them; from malloc().  NULL: all
 * of them, or so many that they are no selection. */
char *occasion_selected(const struct occasion *occasion, const struct timeline *timeline);
