/*
 * triggers: checks files of triggers, and what the commands' options say of them.
 */
#include <stdio.h>

#include "cmd/cmd.h"
#include "live/trigger/actions.h"

int cmd_actions(const struct options *options, struct actions **ret_actions, struct err *err)
{
	struct actions *actions = actions_new(say);
	const char *action = options->on_trigger    ? options->on_trigger
			     : options->has_history ? "capture"
						    : "print";
	int r = 0;

	*ret_actions = NULL;
	for (size_t i = 0; r == 0 && i < options->triggers.count; i++) {
		r = actions_add(actions, NULL, options->triggers.at[i], action, err);
	}
	for (size_t i = 0; r == 0 && i < options->trigger_files.count; i++) {
		r = actions_add_file(actions, options->trigger_files.at[i], err);
	}
	if (options->dry_run) {
		actions_dry_run(actions);
	}
	if (r < 0 || actions_count(actions) == 0) {
		actions_free(actions);
	} else {
		*ret_actions = actions;
	}
	return r;
}

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
