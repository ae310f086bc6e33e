/*
 * options-complete: completions, made from the table of options; that for bash.
 *
 * It completes commands, options, and the values of options that have a list of words.  Of a value
 * with commas it completes the last element.  Anything else is completed as a file.
 */
#include "options/options-parts.h"

/* ---- values ---- */

void options_list_analyses(FILE *out)
{
	for (size_t i = 0; analyses[i]; i++) {
		(void)fprintf(out, "%s ", analyses[i]->name);
	}
	(void)fputs("all help", out);
}

void options_list_models(FILE *out)
{
	for (size_t i = 0; pattern_models[i].name[0]; i++) {
		(void)fprintf(out, "%s ", pattern_models[i].name);
	}
	(void)fputs("help", out);
}

static bool is_first(const char *key, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(keys[i], key) == 0) {
			return false;
		}
	}
	return true;
}

void options_list_figures(FILE *out)
{
	const char *keys[OPTIONS_FIGURES_MAX];
	size_t all = options_figures(keys, false);

	for (size_t i = 0; i < all; i++) {
		if (is_first(keys[i], keys, i)) {
			(void)fprintf(out, "%s ", keys[i]);
		}
	}
	(void)fputs("count sum min mean max stdev p50 p95 p99 p999", out);
}

void options_print_words(const struct option *option, FILE *out)
{
	if (option->list) {
		option->list(out);
		return;
	}
	for (size_t i = 0; option->words[i]; i++) {
		(void)fprintf(out, "%s%s", i > 0 ? " " : "", option->words[i]);
	}
}

/* Options of different commands may share a name; the first with a list is the one. */
static void put_values(FILE *out)
{
	const char *names[OPTIONS_COUNT_MAX];
	size_t count = 0;

	(void)fputs("    case ${COMP_WORDS[COMP_CWORD-1]} in\n", out);
	for (const struct option *option = options_table; option->name; option++) {
		if ((!option->words && !option->list) || !is_first(option->name, names, count)) {
			continue;
		}
		names[count++] = option->name;
		(void)fputs("    ", out);
		if (option->letter) {
			(void)fprintf(out, "-%c|", option->letter);
		}
		(void)fprintf(out, "--%s) values='", option->name);
		options_print_words(option, out);
		(void)fputs("' ;;\n", out);
	}
	(void)fputs("    esac\n", out);
}

/* ---- commands ---- */

static void put_options(const struct options_command *command, FILE *out)
{
	const char *space = "";

	(void)fprintf(out, "    %s) options='", command->name);
	for (const struct option *option = options_table; option->name; option++) {
		if (option->commands & command->options) {
			(void)fprintf(out, "%s--%s", space, option->name);
			space = " ";
		}
	}
	(void)fputs("' ;;\n", out);
}

static void print_bash(const struct options_command *commands, FILE *out)
{
	(void)fputs(
		"# bash completion for sillage; made by `sillage help completion bash`.\n"
		"_sillage() {\n"
		"    local word=${COMP_WORDS[COMP_CWORD]} commands options='' values='' before=''\n"
		"    commands='",
		out);
	for (size_t i = 0; commands[i].name; i++) {
		(void)fprintf(out, "%s ", commands[i].name);
	}
	(void)fputs("help'\n"
		    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		    "        COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n"
		    "        return\n"
		    "    fi\n"
		    "    case ${COMP_WORDS[1]} in\n",
		    out);
	for (size_t i = 0; commands[i].name; i++) {
		put_options(&commands[i], out);
	}
	(void)fputs("    help) values=\"$commands " OPTIONS_HELP_WORDS "\" ;;\n"
		    "    esac\n",
		    out);
	put_values(out);
	(void)fputs(
		"    if [ -n \"$values\" ]; then\n"
		"        case $word in\n"
		"        *,*) before=${word%,*}, ;;\n"
		"        esac\n"
		"        COMPREPLY=($(compgen -P \"$before\" -W \"$values\" -- \"${word##*,}\"))\n"
		"        return\n"
		"    fi\n"
		"    case $word in\n"
		"    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
		"    *) compopt -o default ;;\n"
		"    esac\n"
		"}\n"
		"complete -F _sillage sillage\n",
		out);
}

bool options_print_completion(const char *shell, const struct options_command *commands, FILE *out)
{
	static const struct {
		const char *shell;
		void (*print)(const struct options_command *commands, FILE *out);
	} shells[] = { { "bash", print_bash },
		       { "zsh", options_print_zsh },
		       { "fish", options_print_fish } };

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (!shell || strcmp(shell, shells[i].shell) == 0) {
			shells[i].print(commands, out);
			return true;
		}
	}
	return false;
}
