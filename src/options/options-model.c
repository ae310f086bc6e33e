/*
 * options-model: --label and --model, and where models are found.
 *
 * A model is a file (query/model.h): a path, or a name in the folder of models that was installed
 * with the program, or, of a program that was not, in the source tree that its build folder is in.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "options/options-parts.h"
#include "query/model.h"
#include "text/plain.h"

#define SOURCE_DEPTH 3 /* folders between a source tree and the program */

typedef VEC(char *) folders;

static void folders_find(folders *ret)
{
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

	*vec_push(ret) = mem_strdup(MODELS_FOLDER);
	program[len > 0 ? len : 0] = '\0';
	for (unsigned int i = 0; i <= SOURCE_DEPTH; i++) {
		char *slash = strrchr(program, '/');

		if (!slash) {
			break;
		}
		*slash = '\0';
		*vec_push(ret) = mem_printf("%s/contrib/models", program);
	}
}

static void folders_free(folders *all)
{
	for (size_t i = 0; i < all->count; i++) {
		free(all->at[i]);
	}
	vec_fini(all);
}

/* Calls @each for each model of the first folder that has some. */
static void each_model(void (*each)(void *user, const char *name, const char *path), void *user)
{
	folders all = { 0 };

	folders_find(&all);
	for (size_t i = 0; i < all.count; i++) {
		char *pattern = mem_printf("%s/*", all.at[i]);
		glob_t found = { 0 };
		bool any = glob(pattern, 0, NULL, &found) == 0;

		for (size_t k = 0; any && k < found.gl_pathc; k++) {
			each(user, strrchr(found.gl_pathv[k], '/') + 1, found.gl_pathv[k]);
		}
		globfree(&found);
		free(pattern);
		if (any) {
			break; /* models of one version */
		}
	}
	folders_free(&all);
}

static void print_one(void *user, const char *name, const char *path)
{
	char *summary = model_summary(path);
	char *line = mem_printf("%-10s %s", name, summary ? summary : "");

	plain_message(line);
	(void)puts(line);
	free(line);
	free(summary);
}

static void list_one(void *user, const char *name, const char *path)
{
	(void)fprintf(user, "%s ", name);
}

void options_list_label_models(FILE *out)
{
	each_model(list_one, out);
	(void)fputs("help", out);
}

/* What is looked for among the models. */
struct wanted_model {
	const char *name;
	char *path;              /* NULL: it was not found */
	VEC(const char *) names; /* of all, for a suggestion; owned */
};

static void look_at(void *user, const char *name, const char *path)
{
	struct wanted_model *wanted = user;

	if (strcmp(name, wanted->name) == 0) {
		wanted->path = mem_strdup(path);
	}
	*vec_push(&wanted->names) = mem_strdup(name);
}

static int find_model(const char *name, char **ret, struct err *err)
{
	struct wanted_model wanted = { .name = name };
	int r = 0;

	if (strchr(name, '/')) {
		*ret = mem_strdup(name);
		return 0;
	}
	each_model(look_at, &wanted);
	*ret = wanted.path;
	if (!wanted.path && wanted.names.count == 0) {
		r = err_raise(err, -ENOENT,
			      "no models are installed (" MODELS_FOLDER
			      "): give the path of one, as in ./%s",
			      name);
	} else if (!wanted.path && access(name, F_OK) == 0) {
		r = err_raise(err, -EINVAL, "unknown model \"%s\"; the file is ./%s", name, name);
	} else if (!wanted.path) {
		*vec_push(&wanted.names) = NULL;
		r = options_refuse(err, "model", name, wanted.names.at);
		wanted.names.count--;
	}
	for (size_t i = 0; i < wanted.names.count; i++) {
		free((void *)wanted.names.at[i]);
	}
	vec_fini(&wanted.names);
	return r;
}

int options_model(struct options *options, const char *value, struct err *err)
{
	char *path;
	int r;

	if (strcmp(value, "help") == 0) {
		each_model(print_one, NULL);
		return 1;
	}
	r = find_model(value, &path, err);
	if (r == 0) {
		r = model_read(&options->periods, path, value, err);
		free(path);
	}
	return r;
}

int options_label(struct options *options, const char *value, struct err *err)
{
	return label_add(&options->periods.labels, value, err);
}
