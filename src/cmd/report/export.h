/*
 * export: traces and reports in Perfetto's format.
 *
 *     export.c            the command
 *     export-perfetto.c   its work, and that of `report -f perfetto`
 *     export-none.c       in place of that, in a program built without protobuf-c
 */
#ifndef SILLAGE_CMD_REPORT_EXPORT_H
#define SILLAGE_CMD_REPORT_EXPORT_H

#include "cmd/cmd.h"

struct deep_report;
struct output;
struct perfetto;
struct recorded_path;

/* Whether the program has the format; if not, it says so. */
bool export_is_built(void);

/* Writes all traces of options->args to @output, which is open.  Returns the exit status. */
int export_traces(const struct options *options, struct output *output);

/* A file that goes to @output, which is open. */
struct perfetto *export_begin(const struct options *options, struct output *output);
/* Adds the part of the trace that the report is about, and what the report found there.  Returns
 * the exit status. */
int export_report(struct perfetto *writer, const struct recorded_path *path,
		  const struct deep_report *report);
void export_end(struct perfetto *writer); /* NULL is fine */

#endif
