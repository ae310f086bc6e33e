/*
 * lost: see tracedat-parts.h; the texts of `per_cpu/cpuN/stats` that trace-cmd saved when the
 * recording ended.
 *
 *     Buffer: NAME          of an instance, in a text of its own; before it: the main buffer
 *     CPU: 0
 *     entries: 0
 *     overrun: 12
 *     ...
 */
#include <string.h>

#include "tracedat/tracedat-limits.h"
#include "tracedat/tracedat-parts.h"

static void take_figure(struct tracedat_lost *lost, const char *name, uint64_t number)
{
	const struct {
		const char *name;
		uint64_t *at;
	} figures[] = {
		{ "entries", &lost->entries },
		{ "overrun", &lost->overrun },
		{ "commit overrun", &lost->commit_overrun },
		{ "dropped events", &lost->dropped },
		{ "read events", &lost->read },
	};

	for (size_t i = 0; i < ARRAY_COUNT(figures); i++) {
		if (strcmp(figures[i].name, name) == 0) {
			*figures[i].at = number;
		}
	}
}

/* "NAME: VALUE". */
static void take_stat(struct tracedat *dat, char *line)
{
	char *value = strstr(line, ": ");

	if (!value) {
		return;
	}
	*value = '\0';
	value += 2;
	if (strcmp(line, "Buffer") == 0) {
		free(dat->lost_buffer);
		dat->lost_buffer = mem_strdup(value);
	} else if (strcmp(line, "CPU") == 0 && dat->lost.count < TRACEDAT_LOST_MAX) {
		*vec_push(&dat->lost) = (struct tracedat_lost){
			.buffer = mem_strdup(dat->lost_buffer ? dat->lost_buffer : ""),
			.cpu = (uint32_t)strtoul(value, NULL, 10)
		};
	} else if (dat->lost.count > 0) {
		take_figure(&dat->lost.at[dat->lost.count - 1], line, strtoull(value, NULL, 10));
	}
}

void lost_take(struct tracedat *dat, const char *text)
{
	char *copy = mem_strdup(text), *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		take_stat(dat, line);
	}
	free(copy);
}
