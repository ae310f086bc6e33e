/*
 * capture: asks a running `sillage live` to capture now, through its control socket.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/process/line.h"
#include "cmd/cmd.h"
#include "live/control.h"
#include "run/say.h"
#include "text/plain.h"

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? json_object_get_string(value)
							      : NULL;
}

/* Prints one line of the reply.  False: no capture was made. */
static bool show(const struct options *options, char *line)
{
	struct json_object *object = json_tokener_parse(line);
	char *path = object && text_of(object, "path") ? mem_strdup(text_of(object, "path")) : NULL;
	const char *error = object ? text_of(object, "error") : NULL;
	bool is_made = path;

	if (strcmp(options->format, "json") == 0) {
		line[strcspn(line, "\n")] = '\0';
		plain_message(line);
		(void)puts(line);
	} else if (path) {
		plain_message(path);
		(void)puts(path);
	}
	if (!is_made) {
		error = error ? error : object ? text_of(object, "message") : NULL;
		say("%s", error ? error : "the answer is not from sillage");
	}
	(void)json_object_put(object);
	free(path);
	return is_made;
}

static int run(const struct options *options)
{
	struct err err;
	int fd = control_ask(options->args[0], &err);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	struct line line = { 0 };
	size_t lines = 0;
	bool all_made = true;

	if (!in) {
		say("%s", err.text);
		return EXIT_FAILED;
	}
	while (line_next(&line, in, LINE_BYTES_MAX) > 0) {
		all_made &= show(options, line.text.at);
		lines++;
	}
	line_fini(&line);
	(void)fclose(in);
	if (lines == 0) {
		say("%s: sillage ended before the capture was complete", options->args[0]);
	}
	return lines > 0 && all_made ? EXIT_DONE : EXIT_FAILED;
}

const struct command cmd_capture = {
	.name = "capture",
	.args = "SOCKET",
	.summary = "ask a running sillage live to capture now",
	.examples = "  sillage live --history 30s --control /run/sillage/control net://HOST &\n"
		    "  sillage capture /run/sillage/control\n",
	.options = FOR_CAPTURE,
	.args_min = 1,
	.run = run,
};
