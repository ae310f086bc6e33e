/*
 * fleet: see fleet.h.
 */
#include "fleet/fleet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fleet/fleet-rows.h"
#include "rollup/rollup.h"

struct fleet_trace {
	size_t host;
	struct rollup *slot, *total; /* NULL: no window yet */
};

struct fleet_host {
	char *name;
	VEC(size_t) traces;
	uint64_t seen, before; /* ns: end of its last window, and of the last one before the slot */
	bool is_open;          /* it has a window in the slot */
	struct losses lost;    /* by its windows so far */
};

HASH_MAP_TEXT(host_places, size_t)

struct fleet {
	struct fleet_config config;
	VEC(struct fleet_trace) traces;
	VEC(struct fleet_host) hosts;
	struct host_places by_name; /* indexes of hosts */
	struct rollup *joined;      /* a host's traces */
	struct fleet_rows *rows;
	bool has_slot;
	uint64_t slot, seq;
};

struct fleet *fleet_new(const struct fleet_config *config)
{
	struct fleet *fleet = mem_alloc(sizeof(*fleet));

	assert(config->interval_ns > 0 && config->show);
	fleet->config = *config;
	fleet->joined = rollup_new(1, 0, config->selection, false);
	rollup_join(fleet->joined);
	fleet->rows = fleet_rows_new(&fleet->config);
	return fleet;
}

void fleet_free(struct fleet *fleet)
{
	if (!fleet) {
		return;
	}
	for (size_t i = 0; i < fleet->traces.count; i++) {
		rollup_free(fleet->traces.at[i].slot);
		rollup_free(fleet->traces.at[i].total);
	}
	for (size_t i = 0; i < fleet->hosts.count; i++) {
		free(fleet->hosts.at[i].name);
		vec_fini(&fleet->hosts.at[i].traces);
	}
	vec_fini(&fleet->traces);
	vec_fini(&fleet->hosts);
	host_places_fini(&fleet->by_name);
	rollup_free(fleet->joined);
	fleet_rows_free(fleet->rows);
	free(fleet);
}

void fleet_add_trace(struct fleet *fleet, const char *host)
{
	const size_t *found = host_places_get(&fleet->by_name, host);
	size_t at = found ? *found : fleet->hosts.count;

	if (!found) {
		*vec_push(&fleet->hosts) = (struct fleet_host){ .name = mem_strdup(host) };
		*host_places_put(&fleet->by_name, fleet->hosts.at[at].name, NULL) = at;
	}
	*vec_push(&fleet->hosts.at[at].traces) = fleet->traces.count;
	*vec_push(&fleet->traces) = (struct fleet_trace){ .host = at };
}

/* ---- slots ---- */

/* The windows of the host's traces as one; NULL: it has none.  Valid until the next call. */
static const struct report *join(struct fleet *fleet, const struct fleet_host *host, bool is_total,
				 size_t *ret_traces)
{
	*ret_traces = 0;
	for (size_t i = 0; i < host->traces.count; i++) {
		struct fleet_trace *trace = &fleet->traces.at[host->traces.at[i]];
		struct rollup *rollup = is_total ? trace->total : trace->slot;
		const struct report *own = rollup ? rollup_take(rollup) : NULL;

		if (own) {
			rollup_add(fleet->joined, own, (uint32_t)i + 1);
			(*ret_traces)++;
		}
	}
	return rollup_take(fleet->joined);
}

/* In place of a total: losses up to this window. */
static void total_so_far(struct fleet *fleet, struct fleet_host *host, const struct report *window)
{
	struct report total = *window;

	total.kind = REPORT_TOTAL;
	report_lost_add(&host->lost, &window->lost);
	total.lost = host->lost;
	fleet_triggers_total(fleet->config.triggers, host->name, &total);
}

static void end_slot_of(struct fleet *fleet, size_t at)
{
	struct fleet_host *host = &fleet->hosts.at[at];
	const struct fleet_config *config = &fleet->config;
	const struct report *window;
	size_t traces;

	if (!host->is_open) {
		fleet_rows_absent(fleet->rows, host->name);
		/* A window that is longer than a slot covers the next ones, too. */
		if (config->triggers && host->seen <= fleet->slot * config->interval_ns) {
			fleet_triggers_absent(config->triggers, at, host->name);
		}
		return;
	}
	window = join(fleet, host, false, &traces);
	assert(window);
	if (config->shows_windows) {
		fleet_rows_add(fleet->rows, host->name, traces, window);
	}
	if (config->triggers) {
		if (window->begin > host->before) { /* who knows what was before */
			fleet_triggers_absent(config->triggers, at, host->name);
		}
		fleet_triggers_window(config->triggers, at, host->name, window);
	}
	if (config->triggers && config->has_no_total) {
		total_so_far(fleet, host, window);
	}
	host->before = host->seen;
	host->is_open = false;
}

void fleet_end_slot(struct fleet *fleet)
{
	const struct fleet_config *config = &fleet->config;

	if (!fleet->has_slot) {
		return;
	}
	for (size_t i = 0; i < fleet->hosts.count; i++) {
		end_slot_of(fleet, i);
	}
	if (config->shows_windows) {
		fleet_rows_show(fleet->rows, false, fleet->seq);
	}
	fleet_rows_forget(fleet->rows);
	if (config->triggers) {
		fleet_triggers_end_slot(config->triggers);
	}
	fleet->seq++;
	fleet->has_slot = false;
}

void fleet_add_window(struct fleet *fleet, size_t trace, const struct report *window)
{
	const struct fleet_config *config = &fleet->config;
	struct fleet_trace *of = &fleet->traces.at[trace];
	struct fleet_host *host = &fleet->hosts.at[of->host];
	uint64_t slot = window->begin / config->interval_ns;

	assert(trace < fleet->traces.count);
	if (fleet->has_slot && slot != fleet->slot) {
		assert(slot > fleet->slot);
		fleet_end_slot(fleet);
	}
	if (!of->slot) {
		of->slot = rollup_new(1, 0, config->selection, false);
	}
	if (!of->total && !config->has_no_total) {
		of->total = rollup_new(1, 0, config->selection, false);
	}
	if (config->interval_ns < UINT64_MAX) {
		fleet->has_slot = host->is_open = true;
		fleet->slot = slot;
		rollup_add(of->slot, window, 0);
	}
	if (of->total) {
		rollup_add(of->total, window, 0);
	}
	host->seen = window->end > host->seen ? window->end : host->seen;
}

void fleet_drop_slot(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->traces.count; i++) {
		if (fleet->traces.at[i].slot) {
			(void)rollup_take(fleet->traces.at[i].slot);
		}
	}
	for (size_t i = 0; i < fleet->hosts.count; i++) {
		fleet->hosts.at[i].is_open = false;
	}
	fleet->has_slot = false;
}

void fleet_end(struct fleet *fleet)
{
	const struct fleet_config *config = &fleet->config;

	fleet_end_slot(fleet);
	for (size_t i = 0; i < fleet->hosts.count; i++) {
		const struct report *joined;
		struct report total;
		size_t traces;

		joined = join(fleet, &fleet->hosts.at[i], true, &traces);
		if (!joined) {
			fleet_rows_absent(fleet->rows, fleet->hosts.at[i].name);
			continue;
		}
		total = *joined;
		total.kind = REPORT_TOTAL;
		fleet_rows_add(fleet->rows, fleet->hosts.at[i].name, traces, &total);
		if (config->triggers) {
			fleet_triggers_total(config->triggers, fleet->hosts.at[i].name, &total);
		}
	}
	fleet_rows_show(fleet->rows, true, 0);
	fleet_rows_forget(fleet->rows);
}
