/*
 * hosts: see hosts.h.
 *
 *     A ──► totals of its hosts ──► what was before ─┐
 *     B ──► totals of its hosts ─────────────────────┴─► values, and who changed unlike the others
 */
#include "cmd/compare/hosts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/compare/side.h"
#include "fleet/fleet-output.h"
#include "run/run.h"
#include "run/say.h"
#include "stored/history-fleet.h"

static void keep_before(void *user, const struct fleet_table *table)
{
	struct fleet_before **before = user;

	assert(!*before);
	*before = fleet_before_new(table);
}

static void print_change(void *user, const struct fleet_table *table)
{
	struct output *output = user;

	assert(table->before);
	if (strcmp(output->sink->name, "json") == 0) {
		fleet_json(output, table);
	} else {
		fleet_text(output, table);
	}
}

static int read_hosts(const struct options *given, struct output *output, const char *arg,
		      const struct fleet_before *before, fleet_show_fn *show, void *user,
		      struct err *err)
{
	struct options options = *given;
	char *name = mem_strdup(arg);
	const char *args[] = { name, NULL };
	int r;

	if (side_kind(arg) != SIDE_STORE) {
		free(name);
		return err_raise(err, -EINVAL, "compare --per host: %s is no store", arg);
	}
	side_take_range(&options, name);
	options.args = args;
	r = history_hosts(&options, output, before, show, user, err);
	free(name);
	return r;
}

int compare_hosts(const struct options *options, struct output *output)
{
	struct fleet_before *before = NULL;
	struct err err;
	int r = read_hosts(options, output, options->args[0], NULL, keep_before, &before, &err);

	assert(options->per_host);
	r = r < 0 ? r
		  : read_hosts(options, output, options->args[1], before, print_change, output,
			       &err);
	fleet_before_free(before);
	if (r < 0) {
		say("%s", err.text);
	}
	return run_signal_status() != 0 ? run_signal_status()
	       : r == -EINVAL           ? EXIT_USAGE
	       : r < 0                  ? EXIT_FAILED
					: EXIT_DONE;
}
