/*
 * triggers: checks a file of triggers, or explains an expression.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "run/say.h"
#include "text/plain.h"
#include "trigger/actions.h"

/* What is no file, and has a comparison or begins like a figure, is an expression. */
static bool is_expression(const char *text)
{
	size_t len = strcspn(text, ".");
	bool is_figure = strpbrk(text, "<>=! ");

	for (size_t i = 0; text[len] && analyses[i]; i++) {
		is_figure |= strlen(analyses[i]->name) == len &&
			     strncmp(analyses[i]->name, text, len) == 0;
	}
	return access(text, F_OK) != 0 && is_figure;
}

/* What is checked, a file or an expression; NULL: not one. */
static const char *subject_of(const struct options *options)
{
	const char *argument = options->args[0];

	if (!options->has_check || (options->check && argument) || (argument && options->args[1])) {
		return NULL;
	}
	return options->check ? options->check : argument;
}

static void describe(const struct options *options, const struct actions *actions, FILE *out)
{
	const char *subject = subject_of(options);
	bool is_file = !is_expression(subject);

	if (is_file) {
		(void)fprintf(out, "%s: %zu triggers\n", subject, actions_count(actions));
	}
	for (size_t i = 0; (!is_file || options->verbosity > 0) && i < actions_count(actions);
	     i++) {
		if (is_file) {
			(void)fprintf(out, "\n[%s]\n", trigger_name(actions_trigger(actions, i)));
		}
		trigger_describe(actions_trigger(actions, i), out);
	}
}

static void print(const struct options *options, const struct actions *actions)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	describe(options, actions, out);
	(void)fclose(out);
	(void)plain_report(text, len);
	(void)fputs(text, stdout);
	free(text);
}

static int run(const struct options *options)
{
	const char *subject = subject_of(options);
	struct actions *actions;
	struct err err;
	int r;

	if (!subject) {
		say("triggers needs --check FILE or --check EXPR, one of them");
		return EXIT_USAGE;
	}
	actions = actions_new(say);
	r = is_expression(subject) ? actions_add(actions, NULL, subject, "print", &err)
				   : actions_add_file(actions, subject, &err);
	if (r < 0) {
		say("%s", err.text);
	} else {
		print(options, actions);
	}
	actions_free(actions);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

const struct command cmd_triggers = {
	.name = "triggers",
	.args = "--check FILE|EXPR",
	.summary = "whether triggers are right, and what they mean",
	.examples = "  sillage triggers --check /etc/sillage/triggers\n"
		    "  sillage triggers --check 'sched.wake.p99 > auto(1e-4)'\n"
		    "  sillage analyze -i 1s --triggers FILE TRACE\n",
	.options = FOR_TRIGGERS,
	.run = run,
};
