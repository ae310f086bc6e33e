/*
 * reply: what commands print with `-f json`, as the reply to a request (doc/api.md).
 *
 *     lines ──► rows (rows.h), of which a page is in the reply
 *           ──► quality: of each trace or side its range, losses, unknown time, what is not
 * recorded ──► warnings; messages of the command
 */
#pragma once

#include <stdio.h>

#include "api/request.h"

struct api_reply;
struct json_object;

/* NULL with the reason: -EINVAL, a condition is none.  @request must outlive it. */
struct api_reply *api_reply_new(const struct api_request *request, struct err *err);
void api_reply_free(struct api_reply *reply); /* NULL is fine */

/* Takes the lines that a command has printed.  Negative with the reason: that is no JSON, or too
 * much of it. */
int api_reply_take(struct api_reply *reply, FILE *printed, struct err *err);
/* A message of the command. */
void api_reply_say(struct api_reply *reply, const char *line);
/* Whether a line was taken that answers. */
bool api_reply_has_answer(const struct api_reply *reply);

/* Of the last command: the events that it has read. */
uint64_t api_reply_events(const struct api_reply *reply);

/* For what no command prints: a row, and a member of the reply. */
void api_reply_row(struct api_reply *reply, struct json_object *row);
void api_reply_member(struct api_reply *reply, const char *key, struct json_object *value);

/* Writes the reply, a line; -EMSGSIZE with the reason: it is too large. */
int api_reply_put(struct api_reply *reply, FILE *out, struct err *err);
