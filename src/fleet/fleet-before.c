/*
 * fleet-before: see fleet-before.h.
 */
#include "fleet/fleet-before.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

struct fleet_before *fleet_before_new(const struct fleet_table *table)
{
	struct fleet_before *before = mem_alloc(sizeof(*before));
	size_t figures = table->figures->at.count;

	assert(table->is_total);
	before->begin = table->begin;
	before->end = table->end;
	for (size_t i = 0; i < table->row_count; i++) {
		const struct fleet_row *row = &table->rows[i];
		struct host_before *own = vec_push(&before->hosts);

		assert(!row->container);
		*own = (struct host_before){ .host = mem_strdup(row->host),
					     .cells =
						     mem_alloc((figures + 1) * sizeof(*own->cells)),
					     .is_judged = row->is_judged };
		memcpy(own->cells, row->cells, figures * sizeof(*own->cells));
		*hosts_before_put(&before->at, own->host, NULL) = i;
	}
	return before;
}

void fleet_before_free(struct fleet_before *before)
{
	if (!before) {
		return;
	}
	VEC_EACH(&before->hosts, own) {
		free(own->host);
		free(own->cells);
	}
	vec_fini(&before->hosts);
	hosts_before_fini(&before->at);
	free(before);
}

uint64_t fleet_before_begin(const struct fleet_before *before)
{
	return before->begin;
}

uint64_t fleet_before_end(const struct fleet_before *before)
{
	return before->end;
}

size_t fleet_before_find(const struct fleet_before *before, const char *host)
{
	const size_t *at = hosts_before_get(&before->at, host);

	assert(!at || *at < before->hosts.count);
	return at ? *at : SIZE_MAX;
}
