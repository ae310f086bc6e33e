/*
 * csv: the JSON lines of a command as tables of comma-separated values (RFC 4180, UTF-8).
 *
 *     {"type":"total","begin":5,"cpu":{"busy_ns":1,"threads":[{"tid":7,"wake":{"count":2}}]}}
 *
 *     total         type,begin                        1 row
 *     cpu           type,begin,busy_ns                1 row
 *     cpu.threads   type,begin,tid,wake.count         a row for each element
 *
 * So whatever has a form in JSON has one here, with the same names, units and values.  A list is a
 * table, and so are an analysis of a window or total, and a distribution by buckets.  Other objects
 * are columns, KEY.KEY.  Rows begin with the trace and time of their line, and those of a list
 * within a row with its number.  A member that a line lacks, or that is null, is an empty field.
 *
 * Which columns a table has is known when the last line has come: rows wait in files without names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct csv;

/* @table: the one that is wanted; NULL: all. */
struct csv *csv_new(const char *table);
void csv_free(struct csv *csv); /* NULL is fine */

/* Takes more bytes of the lines.  False: they are no JSON, or there is no room for rows; csv_end()
 * says so. */
bool csv_take(struct csv *csv, const char *bytes, size_t len);

/* Writes a table of this name; 0 or an errno. */
typedef int csv_write_fn(void *user, const char *table, const char *bytes, size_t len);
/* Writes what was asked for, table by table.  -ENOENT: there is none of that name; 1: the one that
 * is wanted has no rows. */
int csv_end(struct csv *csv, csv_write_fn *write, void *user, struct err *err);
