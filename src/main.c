/*
 * main: finds the command and runs it.
 *
 * Exit statuses: 0 done, 1 failed, 2 wrong usage, 3 a condition of --fail held, 4 data is missing
 * (--strict), 128 + N ended by signal N before all was read; 141, which is SIGPIPE: standard output
 * was a pipe whose reader has ended.
 */
#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "api/request.h"
#include "cmd/cmd.h"
#include "output/sinks/json.h"
#include "run/say.h"
#include "store/clickhouse/clickhouse-url.h"
#include "store/rows/schema.h"
#include "version.h"

static const struct command *const commands[] = {
	&cmd_live,  &cmd_analyze, &cmd_top,    &cmd_list,     &cmd_replay,  &cmd_triggers,
	&cmd_lami,  &cmd_capture, &cmd_report, &cmd_overview, &cmd_map,     &cmd_merge,
	&cmd_setup, &cmd_watch,   &cmd_export, &cmd_history,  &cmd_compare, &cmd_record,
	&cmd_index, &cmd_events,  &cmd_serve,  &cmd_api,      &cmd_pack,    NULL,
};

#define COMMANDS ARRAY_COUNT(commands)

static void print_usage(FILE *out)
{
	(void)fputs("usage: sillage COMMAND [OPTION...] ARGUMENT...\n\n"
		    "The live analyzer for LTTng.\n\n",
		    out);
	for (size_t i = 0; commands[i]; i++) {
		(void)fprintf(out, "  %-8s %-20s %s\n", commands[i]->name, commands[i]->args,
			      commands[i]->summary);
	}
	(void)fputs("  help     [COMMAND]            this text, or a command's options\n"
		    "  help     json|store           keys of JSON lines; tables of a store\n"
		    "  help     requests             what can be asked of serve and api\n"
		    "  help     completion [SHELL]   what bash (also zsh, fish) completes\n"
		    "  --version, -V                 the version\n\n"
		    "URL is net://HOST[:PORT]/host/HOSTNAME/SESSION, or net://HOST[:PORT] for all\n"
		    "sessions of a relay; HOSTNAME and SESSION may be patterns.  TRACE is a trace\n"
		    "directory or one above some.  See sillage(1).\n",
		    out);
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (strcmp(commands[i]->name, name) == 0) {
			return commands[i];
		}
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[COMMANDS + 4] = { NULL };
	const char *near;
	size_t count = 0;

	for (; commands[count]; count++) {
		names[count] = commands[count]->name;
	}
	names[count++] = "help";
	names[count++] = "--help";
	names[count] = "--version";
	near = options_nearest(name, names);

	if (near) {
		say("unknown command \"%s\"; did you mean \"%s\"?", name, near);
	} else {
		say("unknown command \"%s\"; `sillage help` lists them", name);
	}
	return EXIT_USAGE;
}

static int print_completion(const char *shell)
{
	struct options_command with_options[COMMANDS + 1] = { 0 };

	for (size_t i = 0; commands[i]; i++) {
		with_options[i] = (struct options_command){ commands[i]->name, commands[i]->summary,
							    commands[i]->options };
	}
	if (!options_print_completion(shell, with_options, stdout)) {
		say("no completion for \"%s\": there is bash, zsh and fish", shell);
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

static int help(const char *name, const char *shell)
{
	const struct command *command = name ? find(name) : NULL;

	if (!name || strcmp(name, "help") == 0) {
		print_usage(stdout);
		return EXIT_DONE;
	}
	if (strcmp(name, "json") == 0) {
		json_describe(stdout, analyses);
	} else if (strcmp(name, "store") == 0) {
		store_describe(stdout, analyses);
	} else if (strcmp(name, "requests") == 0) {
		api_describe(stdout);
	} else if (strcmp(name, "completion") == 0) {
		return print_completion(shell);
	} else if (!command) {
		return unknown_command(name);
	} else {
		cmd_print_help(command);
	}
	return EXIT_DONE;
}

/* A rotated or size-limited trace has many files, and workers may hold finished ones open. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command = name ? find(name) : NULL;
	int status;

	clickhouse_url_take_password();
	(void)setlocale(LC_CTYPE, "");
	raise_file_limit();
	(void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error like others */
	/* Partials and packets are freed and allocated again; giving each back to the kernel would
	 * cost page faults. */
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
	if (!name) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (command) {
		status = cmd_run(command, argc - 1, (const char **)argv + 1);
	} else if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 ||
		   strcmp(name, "-h") == 0) {
		status = help(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
	} else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		(void)printf("sillage %s\n", SILLAGE_VERSION);
		status = EXIT_DONE;
	} else {
		status = unknown_command(name);
	}
	if (fflush(stdout) != 0 && status == EXIT_DONE) {
		if (errno != EPIPE) {
			say("writing to standard output: %s", strerror(errno));
		}
		status = errno == EPIPE ? EXIT_CLOSED : EXIT_FAILED;
	}
	return status;
}
