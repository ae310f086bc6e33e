/*
 * remove: directories are removed with all that they contain.
 */
#pragma once

/* Links are not followed.  Errors are ignored. */
void remove_tree(const char *path);
