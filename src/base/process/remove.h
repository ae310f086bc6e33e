/*
 * remove: directories are removed with all that they contain.
 */
#ifndef SILLAGE_BASE_PROCESS_REMOVE_H
#define SILLAGE_BASE_PROCESS_REMOVE_H

/* Links are not followed.  Errors are ignored. */
void remove_tree(const char *path);

#endif
