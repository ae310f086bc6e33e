/*
 * shell: words of commands that people paste into a shell.
 *
 * Names of sessions, events and files come from others: in quotes, none of them is more than a
 * word.  What a terminal does not show as it is gets an escape in $'...' (bash, zsh, ksh, and POSIX
 * since 2024), which no filter on the way to the terminal changes.
 */
#pragma once

#include <stdio.h>

/* In quotes where it needs them.  Returns the number of bytes. */
size_t shell_put(FILE *out, const char *word);

/* The same as a text that the caller frees; one that starts with a dash, which would be taken for
 * an option, is a path from here. */
char *shell_path(const char *path);
/* The same of a word that is no path. */
char *shell_word(const char *word);
