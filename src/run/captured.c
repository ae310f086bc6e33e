/*
 * captured: see captured.h.
 */
#include "run/captured.h"

#include <assert.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/process/foreign.h"
#include "base/shell.h"
#include "recorded/recorded.h"
#include "run/asked.h"
#include "run/say.h"

/* Whether @r of an open says that there is no such file. */
static bool is_no_capture(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ENAMETOOLONG;
}

static struct json_object *parse_description(const char *file, const char *text, size_t len,
					     struct err *err)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object;

	assert(len < CAPTURE_JSON_BYTES_MAX); /* of its type, too */
	object = json_tokener_parse_ex(tokener, text, (int)len);
	if (!json_object_is_type(object, json_type_object)) {
		(void)err_raise(err, -EINVAL, "%s: it is no object of JSON", file);
		(void)json_object_put(object);
		object = NULL;
	}
	json_tokener_free(tokener);
	return object;
}

struct json_object *captured_open(const char *path, struct err *err)
{
	char *place = recorded_place(path), *file = mem_printf("%s/capture.json", place), *text;
	struct json_object *object = NULL;
	struct err unopened;
	FILE *in = NULL;
	size_t len;
	int r = foreign_file(file, &in, &unopened);

	err->text[0] = '\0';
	if (r < 0 && !is_no_capture(r)) {
		*err = unopened;
	} else if (r == 0) {
		text = mem_alloc(CAPTURE_JSON_BYTES_MAX);
		len = fread(text, 1, CAPTURE_JSON_BYTES_MAX, in);
		if (len == CAPTURE_JSON_BYTES_MAX) {
			(void)err_raise(err, -E2BIG, "%s: it is too large", file);
		} else {
			object = parse_description(file, text, len, err);
		}
		free(text);
		(void)fclose(in);
	}
	free(file);
	free(place);
	return object;
}

const char *captured_text(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_is_type(object, json_type_object) &&
			       json_object_object_get_ex(object, key, &value) &&
			       json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : NULL;
}

void captured_words(struct json_object *capture, bool says, captured_list *ret)
{
	struct json_object *pairs;

	if (!json_object_object_get_ex(capture, "measured", &pairs) ||
	    !json_object_is_type(pairs, json_type_array)) {
		return;
	}
	for (size_t i = 0; i < json_object_array_length(pairs); i++) {
		struct json_object *pair = json_object_array_get_idx(pairs, i);
		const char *name = captured_text(pair, "option"),
			   *value = captured_text(pair, "value");
		bool is_list = name && strcmp(name, "analyses") == 0;

		if (!name || !value || !(is_list || asked_kind_of(name) != ASKED_OTHER) ||
		    strcmp(value, "help") == 0 || (is_list && strstr(value, "help"))) {
			continue;
		}
		if (strcmp(name, "model") == 0 && strchr(value, '/')) {
			if (says) {
				say("capture.json: a model by its path is not taken from there: "
				    "--model says it again");
			}
		} else {
			*vec_push(ret) = mem_printf("--%s=%s", name, value);
		}
	}
}

void captured_words_free(captured_list *words)
{
	vec_free_each(words, free);
	vec_fini(words);
}

/* ---- again ---- */

/* What the words of the command line say themselves. */
struct said_words {
	bool has_measures, has_whom, has_within;
};

static void note_given(void *user, const char *name, const char *value)
{
	struct said_words *said = user;

	/* What the capture's jobs are to lie in is no measure of its own. */
	said->has_within |= strcmp(name, "within") == 0;
	said->has_measures |= asked_kind_of(name) == ASKED_MEASURE && strcmp(name, "within") != 0;
	said->has_whom |= asked_kind_of(name) == ASKED_OF_WHOM;
}

static bool chooses_analysis(const struct options *options, const char *name)
{
	for (size_t i = 0; options->analyses[i]; i++) {
		if (strcmp(options->analyses[i]->name, name) == 0) {
			return true;
		}
	}
	return false;
}

/* Whether @word is an option of the name, and its value. */
static const char *value_of_word(const char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, len) == 0 &&
			       word[2 + len] == '='
		       ? word + 2 + len + 1
		       : NULL;
}

static bool is_of_measures(const char *analysis)
{
	return strcmp(analysis, "periods") == 0 || strcmp(analysis, "jobs") == 0 ||
	       strcmp(analysis, "calls") == 0;
}

/* The analyses of the capture, for what the command line measures in place of its own. */
static char *own_analyses(const struct options *options, const char *list)
{
	char *copy = mem_strdup(list), *rest = copy, *text = mem_strdup("--analyses="), *longer;
	const char *separator = "", *name;
	bool has_any;

	while ((name = strsep(&rest, ","))) {
		if (!is_of_measures(name)) {
			longer = mem_printf("%s%s%s", text, separator, name);
			free(text);
			text = longer;
			separator = ",";
		}
	}
	has_any = *separator;
	free(copy);
	if (!has_any) {
		free(text);
		text = mem_printf("--analyses=%s", options->periods.jobs.count > 0    ? "jobs"
						   : options->periods.calls.count > 0 ? "calls"
										      : "periods");
	}
	return text;
}

/* Whether the capture's word is to be added; it may become another one. */
static bool is_repeated(const struct options *options, const struct said_words *said, char **word)
{
	const char *list = value_of_word(*word, "analyses");
	bool is_within = value_of_word(*word, "within"),
	     is_job = is_within || value_of_word(*word, "job"),
	     is_call = value_of_word(*word, "call"),
	     is_period = value_of_word(*word, "period") || value_of_word(*word, "ust-span"),
	     is_any = value_of_word(*word, "label") || value_of_word(*word, "model");
	char *own;

	if (list && said->has_measures && !options->has_analyses) {
		own = own_analyses(options, list);
		free(*word);
		*word = own;
	}
	if (list) {
		return !options->has_analyses;
	}
	if (!is_job && !is_call && !is_period && !is_any) {
		return !said->has_whom;
	}
	return !said->has_measures && !(is_within && said->has_within) &&
	       (!options->has_analyses ||
		((is_job || is_any) && chooses_analysis(options, "jobs")) ||
		((is_call || is_any) && chooses_analysis(options, "calls")) ||
		((is_period || is_any) && chooses_analysis(options, "periods")));
}

static void say_repeated(const struct options *options, const captured_list *words)
{
	char *path = shell_path(options->args[0]), *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	VEC_EACH_OF(words, word) {
		(void)fputc(' ', out);
		(void)shell_put(out, word);
	}
	(void)fclose(out);
	if (options->verbosity >= 0) {
		say("%s: measured as its run did:%s", path, text);
	}
	free(text);
	free(path);
}

const char **captured_joined(const captured_list *words, int argc, const char **argv, int *ret_argc)
{
	const char **again = mem_alloc(((size_t)argc + words->count + 1) * sizeof(*again));

	assert(argc > 0);
	again[0] = argv[0];
	memcpy(again + 1, words->at, words->count * sizeof(*again));
	memcpy(again + 1 + words->count, argv + 1, ((size_t)argc - 1) * sizeof(*again));
	*ret_argc = argc + (int)words->count;
	return again;
}

const char **captured_again(const struct options *options, int argc, const char **argv,
			    int *ret_argc)
{
	static captured_list words; /* until the program ends: options borrow them */
	struct json_object *capture;
	struct said_words said = { 0 };
	struct err err;
	size_t kept = 0;

	if (!options->args || !options->args[0] || options->args[1]) {
		return NULL;
	}
	capture = captured_open(options->args[0], &err);
	if (!capture) {
		if (err.text[0] && options->verbosity >= 0) {
			say("%s", err.text);
		}
		return NULL;
	}
	captured_words(capture, options->verbosity >= 0, &words);
	(void)json_object_put(capture);
	options_each_given(options, note_given, &said);
	for (size_t i = 0; i < words.count; i++) {
		if (is_repeated(options, &said, &words.at[i])) {
			words.at[kept++] = words.at[i];
		} else {
			free(words.at[i]);
		}
	}
	words.count = kept;
	if (kept == 0) {
		vec_fini(&words);
		return NULL;
	}
	say_repeated(options, &words);
	return captured_joined(&words, argc, argv, ret_argc);
}
