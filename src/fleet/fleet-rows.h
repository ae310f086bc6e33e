/*
 * fleet-rows: the rows of one table of hosts, until it is shown.
 */
#pragma once

#include "fleet/fleet.h"

struct fleet_rows;

struct fleet_rows *fleet_rows_new(const struct fleet_config *config);
void fleet_rows_free(struct fleet_rows *rows); /* NULL is fine */

/* Takes the figures of a host, or of its containers.  @host has to live until
 * fleet_rows_forget(). */
void fleet_rows_add(struct fleet_rows *rows, const char *host, size_t traces,
		    const struct report *report);
void fleet_rows_absent(struct fleet_rows *rows, const char *host);
/* Finds out who is far from the others, and shows the table. */
void fleet_rows_show(struct fleet_rows *rows, bool is_total, uint64_t seq);
void fleet_rows_forget(struct fleet_rows *rows);
