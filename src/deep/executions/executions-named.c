/*
 * executions-named: see executions-named.h.
 */
#include "deep/executions/executions-named.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

void executions_named_take(struct executions_named *named, const struct reader_event *event)
{
	size_t count = named->labels ? named->labels->sources.count : 0;

	for (size_t i = 0; i < count; i++) {
		const struct label_source *source = named->labels->sources.at[i];
		char id[ID_BYTES], name[LABEL_TEXT_BYTES_MAX];
		struct fields_event of;
		struct reader_event as;

		if (!reader_as(event, REQUESTS_OWN + named->job->is->event_count + i, &as)) {
			continue;
		}
		of = (struct fields_event){ &source->fields, as.class, as.binding, as.values,
					    as.cpu };
		if (fields_meet(&of, source->what, source->conditions) &&
		    label_told(id, name, named->labels, source, &of)) {
			named->executions->names_forgotten +=
				called_take(&named->called, named->labels, i, id, name);
		}
	}
}

/* What the id of an item is called, or NULL. */
static const char *called_by(const struct executions_named *named, const struct label_use *use,
			     const char *item)
{
	const char *id = strchr(item, '=');

	return id && use->label >= 0 ? called_find(&named->called, (unsigned int)use->label, id + 1)
				     : NULL;
}

bool executions_named_wants(const struct executions_named *named, const struct fields_event *event)
{
	const struct job_spec *job = named->job;
	const struct label_use *use;
	const char *name;
	char item[ITEM_BYTES];

	if (job->only < 0) {
		return true;
	}
	use = &job->looked.uses[job->only];
	label_item(item, named->labels, use, &job->events[0].looked[job->only], event);
	name = called_by(named, use, item);
	return name && fnmatch(job->is->only_is, name, 0) == 0;
}

/* ---- rows ---- */

static uint32_t item_number(struct executions_named *named, const char *item)
{
	const uint32_t *known = item_numbers_get(&named->numbers, item);
	char *text;

	if (known) {
		return *known;
	}
	text = arena_strndup(&named->executions->texts, item, strlen(item));
	*vec_push(&named->items) = text;
	*item_numbers_put(&named->numbers, text, NULL) = (uint32_t)named->items.count;
	return (uint32_t)named->items.count;
}

void executions_named_add(struct executions_named *named, size_t at,
			  const struct fields_event *event, struct executions_items *items)
{
	const struct job_spec *job = named->job;
	char item[ITEM_BYTES];

	for (size_t i = 0; i < job->group.count; i++) {
		if (items->at[i] == 0) {
			label_item(item, named->labels, &job->group.uses[i],
				   &job->events[at].groups[i], event);
			items->at[i] = item[0] ? item_number(named, item) : 0;
		}
	}
}

struct executions_row *executions_named_row(struct executions_named *named,
					    const struct executions_items *items)
{
	uint64_t key = (uint64_t)items->at[1] << 32 | items->at[0];
	struct executions_row **row;
	bool is_new;

	_Static_assert(LABEL_GROUP_MAX == 2, "the key has two items");
	if (named->job->group.count == 0) {
		return NULL;
	}
	row = item_rows_put(&named->rows, key, &is_new);
	if (is_new) {
		*row = mem_alloc(sizeof(**row));
		**row = (struct executions_row){ .items = *items };
		*vec_push(&named->executions->rows) = *row;
	}
	return *row;
}

/* "GET alice", or with a name that is not known "callback=94@12". */
static char *row_named(const struct executions_named *named, const struct executions_items *items)
{
	char *text = NULL;

	for (size_t i = 0; i < named->job->group.count; i++) {
		const struct label_use *use = &named->job->group.uses[i];
		const char *item = items->at[i] > 0 ? named->items.at[items->at[i] - 1] : NULL;
		const char *name = item ? called_by(named, use, item) : NULL;
		char *longer;

		if (item) {
			longer = mem_printf("%s%s%s", text ? text : "", text ? " " : "",
					    name ? name : item);
			free(text);
			text = longer;
		}
	}
	return text ? text : mem_strdup("none of these fields");
}

void executions_named_end(struct executions_named *named)
{
	VEC_EACH_OF(&named->executions->rows, row) {
		row->name = row_named(named, &row->items);
	}
	vec_fini(&named->items);
	item_numbers_fini(&named->numbers);
	item_rows_fini(&named->rows);
	called_forget(&named->called);
}
