/*
 * library: see library.h.
 */
#include "base/process/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_load(const char *file, const struct library_function *functions, size_t count,
		  void *table)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < count; i++) {
		void *found = dlsym(library, functions[i].name);

		if (!found) {
			return false;
		}
		memcpy((char *)table + functions[i].at, &found, sizeof(found));
	}
	return library != NULL;
}
