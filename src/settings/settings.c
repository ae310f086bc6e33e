/*
 * settings: see settings.h.
 */
#include "settings/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/process/line.h"

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r\n");
	len = strlen(text);
	while (len > 0 && strchr(" \t\r\n", text[len - 1])) {
		text[--len] = '\0';
	}
	return text;
}

static int take_line(char section[SETTINGS_NAME_MAX + 1], char *line, settings_take_fn *take,
		     void *user, struct err *err)
{
	size_t len = strlen(line);
	char *equals = strchr(line, '=');

	if (!line[0] || line[0] == '#') {
		return 0;
	}
	if (line[0] != '[') {
		if (!equals) {
			return err_raise(err, -EINVAL, "expected [NAME] or KEY = VALUE");
		}
		*equals = '\0';
		return take(user, section, trim(line), trim(equals + 1), err);
	}
	if (line[len - 1] != ']' || len < 3 || len - 2 > SETTINGS_NAME_MAX) {
		return err_raise(err, -EINVAL, "expected [NAME], with at most %d characters",
				 SETTINGS_NAME_MAX);
	}
	memcpy(section, line + 1, len - 2);
	section[len - 2] = '\0';
	return take(user, section, NULL, NULL, err);
}

int settings_read(FILE *file, const char *path, settings_take_fn *take, void *user, struct err *err)
{
	char section[SETTINGS_NAME_MAX + 1] = "";
	struct line line = { 0 };
	struct err why;
	int r = take(user, section, NULL, NULL, &why);

	while (r == 0 && (r = line_next(&line, file, LINE_BYTES_MAX)) > 0) {
		r = take_line(section, trim(line.text.at), take, user, &why);
	}
	if (r == -EMSGSIZE) {
		(void)err_raise(&why, r, "longer than %d bytes", LINE_BYTES_MAX);
	} else if (r == 0 && ferror(file)) {
		r = err_raise(&why, -EIO, "cannot be read: %s", strerror(errno));
	}
	r = r == 0 ? take(user, NULL, NULL, NULL, &why) : r;
	line_fini(&line);
	return r == 0 ? 0
		      : err_raise(err, r, "%s: line %llu: %s", path,
				  (unsigned long long)line.number, why.text);
}
