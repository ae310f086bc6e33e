/*
 * history-many: see history-many.h.
 */
#include "stored/history-many.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/shell.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "text/text-table.h"

#define NAMES_MAX 40 /* columns of a host's name */

struct host_line {
	const char *host;
	size_t traces;
	uint64_t windows, begin, end;
};

struct host_lines {
	VEC(struct host_line) at;
};

static const char *name_of_host(const struct store_trace *trace)
{
	return trace->identity.host ? trace->identity.host : "";
}

/* Traces come by host, and those without a window are left out. */
static void list_hosts(const struct stored_history *h, struct host_lines *ret)
{
	struct host_line *own = mem_alloc((h->trace_count + 1) * sizeof(*own));

	VEC_EACH(&h->windows.at, window) {
		struct host_line *line = &own[window->trace];

		assert(window->trace < h->trace_count);
		line->begin = line->windows == 0 || window->begin < line->begin ? window->begin
										: line->begin;
		line->end = window->end > line->end ? window->end : line->end;
		line->windows++;
	}
	for (size_t i = 0; i < h->trace_count; i++) {
		const char *host = name_of_host(&h->traces[i]);
		struct host_line *last = ret->at.count > 0 ? &ret->at.at[ret->at.count - 1] : NULL;

		if (own[i].windows == 0) {
			continue;
		}
		if (!last || strcmp(last->host, host) != 0) {
			last = vec_push(&ret->at);
			*last = (struct host_line){ host, 0, 0, own[i].begin, 0 };
		}
		last->traces++;
		last->windows += own[i].windows;
		last->begin = own[i].begin < last->begin ? own[i].begin : last->begin;
		last->end = own[i].end > last->end ? own[i].end : last->end;
	}
	free(own);
}

bool history_is_many(const struct stored_history *h)
{
	struct host_lines hosts = { 0 };
	bool is_many = false;

	if (!h->options->merged && !h->options->host &&
	    strcmp(h->output->sink->name, "text") == 0) {
		list_hosts(h, &hosts);
		is_many = hosts.at.count > HISTORY_HOSTS_MAX;
	}
	vec_fini(&hosts.at);
	return is_many;
}

static void put_hosts(FILE *out, const struct host_lines *hosts, size_t most)
{
	const struct host_line *lines = hosts->at.at;
	size_t shown = most > 0 && most < hosts->at.count ? most : hosts->at.count;
	int width = 4;

	for (size_t i = 0; i < shown; i++) {
		int own = utf8_columns(lines[i].host);

		width = own > width ? own : width;
	}
	width = width < NAMES_MAX ? width : NAMES_MAX;
	struct text_table table =
		text_table_of(out, "  HOST<%d| TRACES>8| WINDOWS>10|  FROM<19|  TO<", width + 2);

	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		const struct units_times times = { .has_day = true };
		char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX], count[UNITS_TEXT_MAX];

		text_cell(&table, lines[i].host);
		text_cell(&table, units_count(count, lines[i].traces));
		text_cell(&table, units_count(count, lines[i].windows));
		text_cell_format(&table, "%.19s", units_time(from, times, lines[i].begin));
		text_cell_format(&table, "%.19s", units_time(to, times, lines[i].end));
		text_end(&table);
	}
	text_more(out, hosts->at.count, shown);
}

static bool is_of_hosts(const char *name)
{
	return strcmp(name, "host") == 0 || strcmp(name, "merged") == 0;
}

/* Not with --per host. */
static bool is_of_lists(const char *name)
{
	return is_of_hosts(name) || strcmp(name, "per") == 0 || strcmp(name, "sort") == 0 ||
	       options_is_of_lists(name);
}

/* The same question again, of hosts as the option says. */
static void put_command(const struct stored_history *h, const char *option, const char *value,
			const char *says)
{
	FILE *out = h->output->out;

	(void)fprintf(out, "  sillage history %s", option);
	if (value) {
		(void)fputc(' ', out);
		(void)shell_put(out, value);
	}
	options_put_given(h->options, strcmp(option, "--per") == 0 ? is_of_lists : is_of_hosts,
			  out);
	for (size_t i = 0; h->options->args[i]; i++) {
		char *path = shell_path(h->options->args[i]);

		(void)fprintf(out, " %s", path);
		free(path);
	}
	(void)fprintf(out, "\n      %s\n", says);
}

void history_many(const struct stored_history *h)
{
	FILE *out = h->output->out;
	struct host_lines hosts = { 0 };
	char count[UNITS_TEXT_MAX];

	list_hosts(h, &hosts);
	assert(hosts.at.count > 0);
	(void)fprintf(out,
		      "%s%s%s has %s hosts: tables of each are more than a screen has room for\n",
		      output_bold(h->output), store_reader_name(h->reader),
		      output_normal(h->output), units_count(count, hosts.at.count));
	put_hosts(out, &hosts, h->output->top);
	(void)fputc('\n', out);
	put_command(h, "--per", "host", "the hosts side by side, who is far from the others first");
	put_command(h, "--merged", NULL, "all of them together");
	put_command(h, "--host", hosts.at.at[0].host, "one of them");
	put_command(h, "--host", "*", "each of them, however many lines that is");
	vec_fini(&hosts.at);
}
