/*
 * storing: see storing.h.
 */
#include "run/storing.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/units.h"
#include "engine/engine.h"
#include "output/sink.h"
#include "run/run.h"
#include "run/say.h"
#include "store/keep.h"
#include "store/store.h"

/* What selects rows would leave a store with some of a window, in the place of all. */
static int check_store(const struct options *options, struct err *err)
{
	const struct selection *selection = &options->selection;

	if (selection_of(selection) ||
	    (options->display.per != PER_ALL && !selection->by_service) || selection->min_ns > 0 ||
	    selection->max_ns < UINT64_MAX) {
		return err_raise(
			err, -EINVAL,
			"--store keeps all rows: --tid, --pid, --comm, --cpu, --irq, --per "
			"(but for service), --min and --max are for `sillage history`");
	}
	return 0;
}

/* Whether --store-keep says of windows of that length how long they stay. */
static bool is_kept(const struct store_keep *keep, uint64_t length_ns)
{
	bool is_one = keep->count < 2;

	for (size_t i = 0; i < keep->count; i++) {
		is_one |= keep->at[i].length_ns == length_ns;
	}
	return is_one;
}

/* The length of windows beside those of -i; 0: none. */
static int also_of(const struct options *options, const struct store_keep *keep, uint64_t *ret,
		   struct err *err)
{
	uint64_t length_ns = 60 * NS_PER_S;

	*ret = 0;
	if (options->store_also && strcmp(options->store_also, "none") == 0) {
		return 0;
	}
	if (options->store_also && units_parse_duration(options->store_also, &length_ns) < 0) {
		return err_raise(err, -EINVAL, "--store-also: \"%s\" is no duration, such as 1m",
				 options->store_also);
	}
	if (length_ns > options->interval_ns && length_ns % options->interval_ns == 0) {
		*ret = options->store_also || is_kept(keep, length_ns) ? length_ns : 0;
		return 0;
	}
	return options->store_also
		       ? err_raise(err, -EINVAL,
				   "--store-also is a multiple of the length of windows, -i")
		       : 0;
}

/* What stays: a record is analysed to stay, a run that follows sessions never ends. */
static int keep_of(const struct options *options, bool may_wait, struct store_keep *ret,
		   struct err *err)
{
	const char *keep = options->store_keep;

	*ret = (struct store_keep){ 0 };
	if (!keep && !may_wait) {
		store_keep_usual(options->interval_ns, ret);
	}
	return keep && strcmp(keep, "all") != 0
		       ? store_keep_parse(keep, options->interval_ns, ret, err)
		       : 0;
}

int storing_open(const struct options *options, bool may_wait, struct engine_config *config,
		 struct output *output, struct output *also, struct err *err)
{
	struct store_config windows = { .url = options->store,
					.may_wait = may_wait,
					.interval_ns = options->interval_ns,
					.top = output->top,
					.account = config->account,
					.stop = may_wait ? &run_stop : NULL,
					.say = say };
	int r;

	if (!options->store) {
		return 0;
	}
	if (check_store(options, err) < 0 || keep_of(options, may_wait, &windows.keep, err) < 0 ||
	    also_of(options, &windows.keep, &windows.also_ns, err) < 0) {
		return -EINVAL;
	}
	assert(!storing_in(output));
	*also = (struct output){ .sink = &sink_store, .analyses = options->analyses };
	r = store_open(&windows, (struct store **)&also->state, err);
	if (r == 0) {
		*vec_push(&output->also) = also;
		run_list_containers(output, config);
		config->wants_views = config->wants_windows = true;
	}
	return r;
}

struct store *storing_in(const struct output *output)
{
	for (size_t i = 0; i < output->also.count; i++) {
		if (output->also.at[i]->sink == &sink_store) {
			return output->also.at[i]->state;
		}
	}
	return NULL;
}

int storing_close(const struct options *options, struct output *output)
{
	struct store *store = storing_in(output);
	struct store_account account;
	char *name;
	int r;

	if (!store) {
		return 0;
	}
	name = mem_strdup(store_name(store));
	r = store_close(store, &account);
	output->also.count = 0;
	if (options->verbosity > 0) {
		say("%s: %llu windows closed, %llu stored with %llu rows, %llu spooled, %llu lost",
		    name, (unsigned long long)account.closed, (unsigned long long)account.stored,
		    (unsigned long long)account.rows, (unsigned long long)account.spooled,
		    (unsigned long long)account.lost);
	}
	free(name);
	return r;
}
