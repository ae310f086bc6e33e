/*
 * triggers: checks a file of triggers.
 */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/say.h"
#include "live/trigger/actions.h"

static int run(const struct options *options)
{
	struct actions *actions = actions_new(say);
	struct err err;
	int r;

	if (!options->check) {
		say("triggers needs --check FILE");
		actions_free(actions);
		return EXIT_USAGE;
	}
	r = actions_add_file(actions, options->check, &err);
	if (r < 0) {
		say("%s", err.text);
	} else {
		(void)printf("%s: %zu triggers\n", options->check, actions_count(actions));
	}
	actions_free(actions);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

const struct command cmd_triggers = {
	.name = "triggers",
	.args = "--check FILE",
	.summary = "whether a file of triggers is right",
	.examples = "  sillage triggers --check /etc/sillage/triggers\n"
		    "  sillage analyze -i 1s --triggers FILE TRACE\n",
	.options = FOR_TRIGGERS,
	.run = run,
};
