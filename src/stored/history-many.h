/*
 * history-many: what to ask a store of many hosts for, in place of tables of each of them.
 */
#pragma once

#include "stored/history-state.h"

/* Whether the tables of each host would be more than somebody reads: there are many hosts, as
 * text, and none of them was asked for by name. */
bool history_is_many(const struct stored_history *h);
/* The hosts, as many as -n says, and the commands that show them together or one of them. */
void history_many(const struct stored_history *h);
