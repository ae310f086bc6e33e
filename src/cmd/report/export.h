/*
 * export: traces and reports in Perfetto's format: the command, and `report -f perfetto`.
 */
#pragma once

#include "cmd/cmd.h"

struct deep_report;
struct functions;
struct output;
struct perfetto;
struct recorded_path;

/* A file that goes to @output, which is open. */
struct perfetto *export_begin(const struct options *options, struct output *output);
/* Reads the functions of --kallsyms; none are @ret's where it is not given.  Says what is wrong,
 * and returns the exit status. */
int export_kernel(const struct options *options, struct functions *ret);
/* Adds the part of the trace that the report is about, and what the report found there.  @kernel:
 * its functions; none: those of this host, if they may be.  Returns the exit status. */
int export_report(struct perfetto *writer, const struct recorded_path *path,
		  const struct deep_report *report, const struct functions *kernel);
void export_end(struct perfetto *writer); /* NULL is fine */
