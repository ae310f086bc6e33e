/*
 * scratch: see scratch.h.
 */
#include "base/process/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/guardian.h"
#include "base/process/remove.h"

struct scratch {
	char *dir;
	struct guardian *guardian; /* removes the directory */
};

static void clear(const void *user)
{
	remove_tree(user);
}

struct scratch *scratch_new(struct err *err)
{
	const char *place = getenv("TMPDIR");
	struct scratch *store;
	char *dir = mem_printf("%s/sillage-XXXXXX", place && place[0] ? place : "/tmp");
	struct guardian *guardian;

	if (!mkdtemp(dir)) {
		(void)err_raise(err, -errno, "%s: %s", dir, strerror(errno));
		free(dir);
		return NULL;
	}
	guardian = guardian_new(clear, dir, -1, err);
	if (!guardian) {
		(void)err_note(err, -EIO, "cannot start a process that removes it");
		(void)rmdir(dir);
		free(dir);
		return NULL;
	}
	store = mem_alloc(sizeof(*store));
	*store = (struct scratch){ .dir = dir, .guardian = guardian };
	return store;
}

void scratch_free(struct scratch *store)
{
	if (!store) {
		return;
	}
	guardian_free(store->guardian, NULL);
	free(store->dir);
	free(store);
}

const char *scratch_dir(const struct scratch *store)
{
	return store->dir;
}
