/*
 * captured: what capture.json says that a capture's run has measured.
 *
 * The file is untrusted: its words are taken only if they are options that say what to measure
 * and of whom, each with its value in the same word; a model that is given by its path is not.
 */
#pragma once

#include "base/mem.h"
#include "options/options.h"

struct json_object;

/* PATH/capture.json, or that of an archive; the caller calls json_object_put().  NULL: PATH is no
 * capture, or @err says what is wrong with the file (its text is "" if there is none). */
struct json_object *captured_open(const char *path, struct err *err);
/* A text in it; NULL: it has none of this key. */
const char *captured_text(struct json_object *object, const char *key);

typedef VEC(char *) captured_list;
/* "--job=x = run", ...: what the run measured.  None: it is of an older version.  @says: what of it
 * is not taken. */
void captured_words(struct json_object *capture, bool says, captured_list *ret);
void captured_words_free(captured_list *words);

/* The words of a command with these behind its name; *ret_argc of them, for options_parse().  The
 * caller frees the array, no word. */
const char **captured_joined(const captured_list *words, int argc, const char **argv,
			     int *ret_argc);

/*
 * The words of `analyze CAPTURE`, which was parsed as @options (or was refused for what it lacks):
 * with what the capture's run measured, as far as they do not say it themselves.  *ret_argc of
 * them, for options_parse(); NULL: they stay.  They live as long as the program.
 */
const char **captured_again(const struct options *options, int argc, const char **argv,
			    int *ret_argc);
