/*
 * rows: objects of JSON as rows: conditions, order, columns and pages.
 *
 *     rows ──filter──► those that count ──sort──► ──offset, limit──► page ──columns──► reply
 *
 * A member is named by its path: `run_ns`, `wake.p99_ns`, `figures.cpu.busy`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct json_object;
struct api_rows;

struct api_page {
	const char *filter, *sort, *columns; /* NULL: none */
	bool is_ascending;
	uint64_t offset, limit;
};

/* NULL with the reason: a condition is none.  The texts must outlive it. */
struct api_rows *api_rows_new(const struct api_page *page, struct err *err);
void api_rows_free(struct api_rows *rows); /* NULL is fine */

/* Takes the row, which is an object. */
void api_rows_add(struct api_rows *rows, struct json_object *row);
/* How many count so far. */
uint64_t api_rows_count(const struct api_rows *rows);

/* Adds "page" and "rows" to the reply. */
void api_rows_put(struct api_rows *rows, struct json_object *reply);
/* What the path names; NULL: nothing, or null. */
struct json_object *api_rows_member(struct json_object *row, const char *path);
