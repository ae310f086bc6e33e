/*
 * remove: see remove.h.
 */
#include "base/process/remove.h"

#include <ftw.h>
#include <stdio.h>

#define OPEN_DIRS 16 /* descriptors that nftw() may use */

static int remove_one(const char *path, const struct stat *found, int type, struct FTW *level)
{
	(void)remove(path);
	return 0;
}

void remove_tree(const char *path)
{
	(void)nftw(path, remove_one, OPEN_DIRS, FTW_DEPTH | FTW_PHYS);
}
