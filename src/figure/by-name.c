/*
 * by-name: see by-name.h.
 */
#include "figure/by-name.h"

void *by_name_find(const struct by_name *rows, const char *name)
{
	const size_t *at = by_name_index_get(&rows->index, name);

	assert(!at || *at < rows->all.count);
	return at ? rows->all.at[*at].row : NULL;
}

void *by_name_add(struct by_name *rows, const char *name, size_t size)
{
	void *row = by_name_find(rows, name);
	struct by_name_row *added;

	if (row) {
		return row;
	}
	added = vec_push(&rows->all);
	*added = (struct by_name_row){ .name = mem_strdup(name), .row = mem_alloc(size) };
	*by_name_index_put(&rows->index, added->name, NULL) = rows->all.count - 1;
	return added->row;
}

void by_name_fini(struct by_name *rows)
{
	for (size_t i = 0; i < rows->all.count; i++) {
		free(rows->all.at[i].name);
		free(rows->all.at[i].row);
	}
	vec_fini(&rows->all);
	by_name_index_fini(&rows->index);
}
