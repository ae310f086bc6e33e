/*
 * options-shells: completions for zsh and fish, made from the table of options: as for bash
 * (options-complete.c), and with what each option is for.
 */
#include "options/options-parts.h"

#include <stdlib.h>

/* ---- texts ---- */

/* Prints a text as part of a word in single quotes, with a backslash before what @special has. */
static void put_quoted(const char *text, const char *special, FILE *out)
{
	for (; *text; text++) {
		if (strchr(special, *text)) {
			(void)fputc('\\', out);
		}
		(void)fputs(*text == '\'' ? "'\\''" : (char[2]){ *text, '\0' }, out);
	}
}

/* What an option is for, as the command's help says it. */
static void put_help(const struct option *option, const char *command, const char *special,
		     FILE *out)
{
	char *text = options_own_help(option->help, command);

	put_quoted(text, special, out);
	free(text);
}

static bool has_words(const struct option *option)
{
	return option->words || option->list;
}

/* ---- zsh ---- */

#define ZSH_SPECIAL "\\[]:"

/* One form of an option: '(-a --analyses)-a+[what for]:LIST:action'. */
static void put_zsh_form(const struct option *option, const char *form, const char *command,
			 FILE *out)
{
	bool is_long = form[1] == '-';

	(void)fputs("        '", out);
	if (option->kind == OPTION_TEXTS) {
		(void)fputc('*', out);
	} else if (option->letter) {
		(void)fprintf(out, "(-%c --%s)", option->letter, option->name);
	}
	(void)fprintf(out, "%s%s[", form, !option->argument ? "" : is_long ? "=" : "+");
	put_help(option, command, ZSH_SPECIAL, out);
	(void)fputc(']', out);
	if (option->argument) {
		(void)fputc(':', out);
		put_quoted(option->argument, ZSH_SPECIAL, out);
		(void)fputc(':', out);
		if (has_words(option)) {
			(void)fputs(option->list ? "_sequence compadd - " : "(", out);
			options_print_words(option, out);
			(void)fputs(option->list ? "" : ")", out);
		} else {
			(void)fputs("_files", out);
		}
	}
	(void)fputs("'\n", out);
}

static void put_zsh_option(const struct option *option, const char *command, FILE *out)
{
	char form[64];

	if (option->letter) {
		(void)snprintf(form, sizeof(form), "-%c", option->letter);
		put_zsh_form(option, form, command, out);
	}
	(void)snprintf(form, sizeof(form), "--%s", option->name);
	put_zsh_form(option, form, command, out);
}

void options_print_zsh(const struct options_command *commands, FILE *out)
{
	(void)fputs("#compdef sillage\n"
		    "# zsh completion for sillage; made by `sillage help completion zsh`.\n"
		    "_sillage() {\n"
		    "    local -a commands options\n"
		    "    commands=(\n",
		    out);
	for (size_t i = 0; commands[i].name; i++) {
		(void)fprintf(out, "        '%s:", commands[i].name);
		put_quoted(commands[i].summary, "\\:", out);
		(void)fputs("'\n", out);
	}
	(void)fputs("        'help:the options of a command'\n"
		    "    )\n"
		    "    if (( CURRENT == 2 )); then\n"
		    "        _describe command commands\n"
		    "        return\n"
		    "    fi\n"
		    "    case $words[2] in\n",
		    out);
	for (size_t i = 0; commands[i].name; i++) {
		(void)fprintf(out, "    %s) options=(\n", commands[i].name);
		for (const struct option *option = options_table; option->name; option++) {
			if (option->commands & commands[i].options) {
				put_zsh_option(option, commands[i].name, out);
			}
		}
		(void)fputs("        '*: :_files') ;;\n", out);
	}
	(void)fputs("    help) options=(\"1: :(${commands%%:*} " OPTIONS_HELP_WORDS ")\") ;;\n"
		    "    esac\n"
		    "    shift words\n"
		    "    (( CURRENT-- ))\n"
		    "    _arguments $options\n"
		    "}\n"
		    "if [ \"$funcstack[1]\" = _sillage ]; then\n"
		    "    _sillage \"$@\"\n"
		    "else\n"
		    "    compdef _sillage sillage\n"
		    "fi\n",
		    out);
}

/* ---- fish ---- */

#define FISH_SPECIAL "\\"

static void put_fish_option(const struct option *option, const char *command, FILE *out)
{
	(void)fprintf(out, "complete -c sillage -n '__fish_seen_subcommand_from %s' -l %s", command,
		      option->name);
	if (option->letter) {
		(void)fprintf(out, " -s %c", option->letter);
	}
	if (has_words(option)) {
		(void)fputs(" -x -a '", out);
		(void)fputs(option->list ? "(__fish_complete_list , \"printf %s\\\\\\\\n " : "",
			    out);
		options_print_words(option, out);
		(void)fputs(option->list ? "\")'" : "'", out);
	} else if (option->argument) {
		(void)fputs(" -r", out);
	}
	(void)fputs(" -d '", out);
	put_help(option, command, FISH_SPECIAL, out);
	(void)fputs("'\n", out);
}

void options_print_fish(const struct options_command *commands, FILE *out)
{
	(void)fputs("# fish completion for sillage; made by `sillage help completion fish`.\n",
		    out);
	for (size_t i = 0; commands[i].name; i++) {
		(void)fprintf(out, "complete -c sillage -n __fish_use_subcommand -f -a %s -d '",
			      commands[i].name);
		put_quoted(commands[i].summary, FISH_SPECIAL, out);
		(void)fputs("'\n", out);
	}
	(void)fputs("complete -c sillage -n __fish_use_subcommand -f -a help -d 'the options of a "
		    "command'\n"
		    "complete -c sillage -n '__fish_seen_subcommand_from help' -f -a '",
		    out);
	for (size_t i = 0; commands[i].name; i++) {
		(void)fprintf(out, "%s ", commands[i].name);
	}
	(void)fputs(OPTIONS_HELP_WORDS "'\n", out);
	for (size_t i = 0; commands[i].name; i++) {
		for (const struct option *option = options_table; option->name; option++) {
			if (option->commands & commands[i].options) {
				put_fish_option(option, commands[i].name, out);
			}
		}
	}
}
