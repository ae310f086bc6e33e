/*
 * fleet-figure: the figures that hosts are compared by, named as in triggers
 * (figure/figure.h): `cpu.busy`, `sched.wake.p99`, `cpu.threads[comm=redis*].run`.
 *
 * Of a list the selected rows are put together: sums and levels add up, of maxima the largest
 * counts, distributions merge.  A sum of time is a share of the window, as triggers compare it with
 * a %; other sums are as they are, or with `.rate` per second.
 */
#pragma once

#include "base/err.h"
#include "engine/tables/columns.h"
#include "figure/figure.h"

#define FLEET_FIGURES_MAX 64 /* of one table */

struct fleet_figure {
	struct figure figure;
	struct columns columns; /* of its table */
};

struct fleet_figures {
	VEC(struct fleet_figure *) at;
};

/* One that is there already is not added again.  @by_container: it has to be of a list of
 * containers.  -EINVAL: it is none, a store does not keep it, or there are too many. */
int fleet_figure_add(struct fleet_figures *figures, const char *text, bool by_container,
		     struct err *err);
/* The usual ones of an analysis; none, if it has none. */
void fleet_figure_add_usual(struct fleet_figures *figures, const struct analysis *analysis,
			    bool by_container);
/* The usual ones of a host. */
void fleet_figure_add_default(struct fleet_figures *figures, bool by_container);
void fleet_figures_fini(struct fleet_figures *figures);

/* The number of the one that the text names, however it is written; SIZE_MAX: none does. */
size_t fleet_figure_find(const struct fleet_figures *figures, const char *text);
/* False: the value is not known, since its events are not recorded, the analysis did not run, or no
 * value makes a percentile.  @container: only rows with this id; NULL: all. */
bool fleet_figure_value(const struct fleet_figure *figure, const struct report *report,
			const uint64_t *container, double *ret);
/* The share of the CPUs' time of which is known what ran; 1 without figures of cpu. */
double fleet_figure_known(const struct report *report);
/* "share", "ns", "bytes/s", ... */
const char *fleet_figure_unit(const struct fleet_figure *figure);
