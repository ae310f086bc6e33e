/*
 * functions: see functions.h.
 */
#include "symbols/functions.h"

ORDER(by_address, struct function, UP(begin) UP(rank) UP(name))

void functions_sort(struct functions *functions)
{
	vec_sort(&functions->at, by_address);
}

/* The last one that begins at @address or before; NULL: none does. */
static const struct function *last_before(const struct functions *functions, uint64_t address)
{
	size_t low = 0, high = functions->at.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions->at.at[middle].begin <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low > 0 ? &functions->at.at[low - 1] : NULL;
}

const char *functions_find(const struct functions *functions, uint64_t address)
{
	const struct function *found = last_before(functions, address);

	if (!found) {
		return NULL;
	}
	while (found > functions->at.at && found[-1].begin == found->begin) {
		found--;
	}
	return address < found->end || found->end == found->begin ? functions->names + found->name
								  : NULL;
}

size_t functions_bytes(const struct functions *functions)
{
	return functions->names_len + functions->at.count * sizeof(struct function);
}

void functions_fini(struct functions *functions)
{
	vec_fini(&functions->at);
	free(functions->names);
	functions->names = NULL;
	functions->names_len = 0;
}
