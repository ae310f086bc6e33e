/*
 * history-fleet: `history --per host`: the hosts of a store side by side, and triggers over them
 * (src/fleet).
 */
#pragma once

#include "fleet/fleet.h"
#include "options/options.h"
#include "output/sink.h"
#include "store/reader.h"

/* For run_output(). */
int history_fleet(const struct options *options, struct output *output);

/* The total of the hosts of the stores options->args, for a comparison: @before is that of the
 * other side, or NULL; @show is called once, if there is any window.  Negative: @err says why;
 * -EINVAL: what is asked for is wrong. */
int history_hosts(const struct options *options, struct output *output,
		  const struct fleet_before *before, fleet_show_fn *show, void *user,
		  struct err *err);

/*
 * ---- the same by and by, for --follow ----
 *
 * There are no totals: each slot of -i is shown, and forgotten.
 */
struct history_view;

/* @options and @output must outlive it.  -EINVAL: what is asked for is wrong. */
int history_view_new(const struct options *options, struct output *output,
		     struct history_view **ret, struct err *err);
/* The next trace: they count up from 0. */
void history_view_add_trace(struct history_view *view, const struct trace_identity *trace);
/* Asks the reader for what the view needs. */
int history_view_want(const struct history_view *view, struct store_reader *reader,
		      struct err *err);
/*
 * Takes windows in the order of slots, all that there are of each; @number: of the reader's traces
 * those of the view.  Calls @shown for each slot that is shown, with the begin
 * of a window of it.  It ends early, and with whole
 * slots, if it fails or @stop is set.
 */
int history_view_show(struct history_view *view, struct store_reader *reader,
		      const struct store_windows *windows, const uint32_t *number,
		      const atomic_bool *stop,
		      void (*shown)(void *user, uint64_t begin, uint64_t events), void *user,
		      struct err *err);
/* Windows are missing in the store, which --strict minds. */
void history_view_lost(struct history_view *view);
/* The end of all: the exit status, given that of the run so far. */
int history_view_end(struct history_view *view, int status);
void history_view_free(struct history_view *view); /* NULL is fine */
