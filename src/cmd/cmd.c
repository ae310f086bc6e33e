/*
 * cmd: a command from its words to its exit status.
 */
#include "cmd/cmd.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "run/say.h"

void cmd_print_help(const struct command *command)
{
	(void)printf("usage: sillage %s [OPTION...] %s\n%s\n\n", command->name, command->args,
		     command->summary);
	options_print_help(command->options, command->name, stdout);
	(void)printf("Examples:\n%s", command->examples);
}

static size_t count_args(const char **args)
{
	size_t count = 0;

	while (args[count]) {
		count++;
	}
	return count;
}

/* Parses the words, with what their argument adds to them. */
static int parse_words(const struct command *command, int argc, const char **argv,
		       struct options *options, struct err *err)
{
	int r = options_parse(options, command->options, argc, argv, err), more = 0;
	const char **again = r <= 0 && command->again && !options->wants_help
				     ? command->again(options, argc, argv, &more)
				     : NULL;

	if (!again) {
		return r;
	}
	options_fini(options);
	r = options_parse(options, command->options, more, again, err);
	if (r != 0) { /* it may be the file that is wrong */
		say("that is not repeated: %s", err->text);
		options_fini(options);
		r = options_parse(options, command->options, argc, argv, err);
	}
	free(again);
	return r;
}

int cmd_run(const struct command *command, int argc, const char **argv)
{
	struct options options;
	int status = EXIT_DONE, r;
	struct err err;

	assert(strcmp(command->name, options_command(command->options)) == 0);
	r = parse_words(command, argc, argv, &options, &err);
	if (r < 0) {
		say("%s", err.text);
		status = EXIT_USAGE;
	} else if (r == 0 && options.wants_help) {
		cmd_print_help(command);
	} else if (r == 0 && count_args(options.args) < command->args_min) {
		say("%s needs %s; see sillage %s --help", command->name, command->args,
		    command->name);
		status = EXIT_USAGE;
	} else if (r == 0 && command->args_max > 0 &&
		   count_args(options.args) > command->args_max) {
		say("%s takes one %s, and %s is one more; see sillage %s --help", command->name,
		    command->args, options.args[command->args_max], command->name);
		status = EXIT_USAGE;
	} else if (r == 0 && command->alone && options.args[0] && options.tracer) {
		say("--tracer has no effect with %s: it is recorded already", options.args[0]);
		status = EXIT_USAGE;
	} else if (r == 0) {
		if (command->alone && !options.args[0]) {
			command = command->alone;
		}
		status = command->run(&options);
	}
	options_fini(&options);
	return status;
}
