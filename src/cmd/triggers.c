/*
 * triggers: checks files of triggers, and what the commands' options say of them.
 */
#include <stdio.h>

#include "cmd/cmd.h"
#include "live/trigger/actions.h"

int cmd_watch(const struct options *options, struct watch **ret_watch, struct err *err)
{
	struct watch *watch = watch_new(say);
	const char *action = options->on_trigger    ? options->on_trigger
			     : options->has_history ? "capture"
						    : "print";
	int r = 0;

	*ret_watch = NULL;
	for (size_t i = 0; r == 0 && i < options->triggers.count; i++) {
		r = watch_add(watch, NULL, options->triggers.at[i], action, err);
	}
	for (size_t i = 0; r == 0 && i < options->trigger_files.count; i++) {
		r = watch_add_file(watch, options->trigger_files.at[i], err);
	}
	if (options->dry_run) {
		watch_dry_run(watch);
	}
	if (r < 0 || watch_count(watch) == 0) {
		watch_free(watch);
	} else {
		*ret_watch = watch;
	}
	return r;
}

static int run(const struct options *options)
{
	struct watch *watch = watch_new(say);
	struct err err;
	int r;

	if (!options->check) {
		say("triggers needs --check FILE");
		watch_free(watch);
		return EXIT_USAGE;
	}
	r = watch_add_file(watch, options->check, &err);
	if (r < 0) {
		say("%s", err.text);
	} else {
		(void)printf("%s: %zu triggers\n", options->check, watch_count(watch));
	}
	watch_free(watch);
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
