/*
 * model: see model.h.
 */
#include "query/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/process/foreign.h"

/* The whole file, with a 0 behind it; from malloc(). */
static int read_all(const char *path, char **ret, struct err *err)
{
	FILE *file;
	char *text;
	size_t len;
	int r = foreign_stream(path, &file, err);

	if (r < 0) {
		return r;
	}
	text = mem_alloc(MODEL_BYTES_MAX + 2);
	len = fread(text, 1, MODEL_BYTES_MAX + 1, file);
	if (ferror(file)) {
		r = err_raise(err, -EIO, "%s: cannot be read", path);
	} else if (len > MODEL_BYTES_MAX || memchr(text, 0, len)) {
		r = err_raise(err, -EINVAL, "%s: is no model: it is too long, or no text", path);
	}
	(void)fclose(file);
	if (r < 0) {
		free(text);
		return r;
	}
	*ret = text;
	return 0;
}

char *model_summary(const char *path)
{
	struct err unused;
	char *text = NULL, *summary = NULL;

	if (read_all(path, &text, &unused) == 0 && text[0] == '#') {
		char *at = text + 1 + strspn(text + 1, " \t");

		summary = mem_printf("%.*s", (int)strcspn(at, "\n"), at);
	}
	free(text);
	return summary;
}

static int add_item(struct period_set *set, char *item, struct err *err)
{
	size_t len = strcspn(item, " \t");
	const char *text = item + len + strspn(item + len, " \t");

	if (len == 5 && strncmp(item, "label", len) == 0) {
		return label_add(&set->labels, text, err);
	}
	if (len == 6 && strncmp(item, "period", len) == 0) {
		return period_add(set, text, err);
	}
	if (len == 3 && strncmp(item, "job", len) == 0) {
		return period_add_job(set, text, err);
	}
	if (len == 4 && strncmp(item, "call", len) == 0) {
		return period_add_call(set, text, err);
	}
	if (len == 6 && strncmp(item, "tracer", len) == 0) {
		free(set->tracer);
		set->tracer = mem_strdup(text);
		return 0;
	}
	return err_raise(err, -EINVAL, "\"%.60s\": expected label, period, call, job, or a comment",
			 item);
}

/* The end of a line without comment and blanks; a # within a word or quotes is part of it. */
static void cut_comment(char *line)
{
	size_t len = strlen(line);
	bool is_quoted = false;

	for (size_t i = 0; i < len; i++) {
		is_quoted ^= line[i] == '"' && (i == 0 || line[i - 1] != '\\');
		if (line[i] == '#' && !is_quoted &&
		    (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
			line[i] = '\0';
			len = i;
		}
	}
	while (len > 0 && strchr(" \t\r", line[len - 1])) {
		line[--len] = '\0';
	}
}

/* Adds the item that the lines so far make, if any, and frees it. */
static int end_item(struct period_set *set, char **item, struct err *err)
{
	int r = *item ? add_item(set, *item, err) : 0;

	free(*item);
	*item = NULL;
	return r;
}

/* Takes a line; *number is that of the line in which the item began. */
static int take_line(struct period_set *set, char *line, size_t at, char **item, size_t *number,
		     struct err *err)
{
	bool goes_on = line[0] == ' ' || line[0] == '\t';
	int r = 0;

	cut_comment(line);
	if (!goes_on) {
		r = end_item(set, item, err);
	}
	if (r < 0 || !line[strspn(line, " \t")]) {
		return r;
	}
	if (goes_on && *item) {
		char *longer = mem_printf("%s %s", *item, line + strspn(line, " \t"));

		free(*item);
		*item = longer;
	} else {
		*item = mem_strdup(line + strspn(line, " \t"));
		*number = at;
	}
	return 0;
}

int model_read(struct period_set *set, const char *path, const char *name, struct err *err)
{
	struct period_set before = *set;
	char *text = NULL, *rest, *line, *item = NULL;
	size_t at = 0, number = 0;
	int r = read_all(path, &text, err);

	if (r < 0) {
		return r;
	}
	rest = text;
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		r = take_line(set, line, ++at, &item, &number, err);
	}
	r = r < 0 ? r : end_item(set, &item, err);
	if (r < 0) {
		(void)err_note(err, r, "%s: line %zu", path, number);
	} else if (period_set_count(set) == period_set_count(&before)) {
		r = err_raise(err, -EINVAL, "%s: no label, period, call or job in it", path);
	}
	free(item);
	free(text);
	*vec_push(&set->models) = mem_strdup(name);
	period_set_mark(set, &before, set->models.at[set->models.count - 1]);
	return r;
}
