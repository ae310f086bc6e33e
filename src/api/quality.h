/*
 * quality: how much is known of what a reply says: losses, unknown time, what is not recorded.
 *
 * What is not measured is null, never 0.  All objects are new, and the caller's.
 */
#pragma once

#include "api/request.h"

struct json_object;

/* Of a total of an analysis or a store. */
struct json_object *quality_of_total(const struct api_request *request, struct json_object *line);
/* Of a line with times, and nothing more but, perhaps, a number of @gaps. */
struct json_object *quality_of_range(struct json_object *line, const char *gaps);
/* Of the first line of a comparison: the side of this name. */
struct json_object *quality_of_side(struct json_object *line, const char *name);
struct json_object *quality_of_report(const struct api_request *request, struct json_object *line);

/* ---- members of lines ---- */

/* Borrowed; NULL: it is not there, or null. */
struct json_object *quality_member(struct json_object *of, const char *key);
/* What @from has not, @to has not. */
void quality_copy(struct json_object *to, struct json_object *from, const char *key);
void quality_copy_times(struct json_object *to, struct json_object *from);
/* Whether a member of a line has the figures of an analysis. */
bool quality_is_analysis(const char *key, struct json_object *value);
/* Whether the user asked for it: others are there for the quality. */
bool quality_is_asked(const struct api_request *request, const char *analysis);
