/*
 * asked: see asked.h.
 */
#include "run/asked.h"

#include <stdlib.h>
#include <string.h>

#include "base/shell.h"

static void put_option(FILE *out, const char *name, const char *value)
{
	(void)fprintf(out, " %s ", name);
	(void)shell_put(out, value);
}

/* What a model brings is not repeated. */
static void put_measured(FILE *out, const struct period_set *set)
{
	for (size_t i = 0; i < set->models.count; i++) {
		put_option(out, "--model", set->models.at[i]);
	}
	for (size_t i = 0; i < set->labels.sources.count; i++) {
		if (!set->labels.sources.at[i]->model) {
			put_option(out, "--label", set->labels.sources.at[i]->text);
		}
	}
	for (size_t i = 0; i < set->all.count; i++) {
		if (!set->all.at[i]->model) {
			put_option(out, "--period", set->all.at[i]->text);
		}
	}
	for (size_t i = 0; i < set->jobs.count; i++) {
		if (!set->jobs.at[i]->model) {
			put_option(out, "--job", set->jobs.at[i]->text);
		}
	}
}

static void put_numbers(FILE *out, const char *name, const int64_t *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(out, "%s%s%lld", i == 0 ? name : "", i == 0 ? " " : ",",
			      (long long)at[i]);
	}
}

static void put_names(FILE *out, const char *name, const char *const *at, size_t count)
{
	for (size_t i = 0; i < count; i++) { /* one by one: a name may have a comma in it */
		put_option(out, name, at[i]);
	}
}

char *asked_text(const struct options *options)
{
	const struct selection *selection = &options->selection;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fputs("-a ", out);
	for (size_t i = 0; options->analyses[i]; i++) {
		(void)fprintf(out, "%s%s", i == 0 ? "" : ",", options->analyses[i]->name);
	}
	put_measured(out, &options->periods);
	put_numbers(out, " --tid", selection->tids.at, selection->tids.count);
	put_numbers(out, " --pid", selection->pids.at, selection->pids.count);
	put_numbers(out, " --cpu", selection->cpus.at, selection->cpus.count);
	put_names(out, "--comm", selection->comms.at, selection->comms.count);
	put_names(out, "--irq", selection->irqs.at, selection->irqs.count);
	(void)fclose(out);
	return text;
}
