/*
 * by-name: see by-name.h.
 */
#include "figure/by-name.h"

void *by_name_find(const struct by_name *rows, const char *name)
{
	khint_t at = rows->index ? kh_get(by_name, rows->index, name) : 0;

	if (!rows->index || at == kh_end(rows->index)) {
		return NULL;
	}
	assert(kh_value(rows->index, at) < rows->all.count);
	return rows->all.at[kh_value(rows->index, at)].row;
}

void *by_name_add(struct by_name *rows, const char *name, size_t size)
{
	void *row = by_name_find(rows, name);
	struct by_name_row *added;
	int is_new;
	khint_t at;

	if (row) {
		return row;
	}
	rows->index = rows->index ? rows->index : kh_init(by_name);
	added = vec_push(&rows->all);
	*added = (struct by_name_row){ .name = mem_strdup(name), .row = mem_alloc(size) };
	at = kh_put(by_name, rows->index, added->name, &is_new);
	assert(is_new);
	kh_value(rows->index, at) = rows->all.count - 1;
	return added->row;
}

void by_name_fini(struct by_name *rows)
{
	for (size_t i = 0; i < rows->all.count; i++) {
		free(rows->all.at[i].name);
		free(rows->all.at[i].row);
	}
	vec_fini(&rows->all);
	if (rows->index) {
		kh_destroy(by_name, rows->index);
		rows->index = NULL;
	}
}
