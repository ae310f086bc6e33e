/*
 * commands: see commands.h.
 */
#include "setup/commands.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/shell.h"
#include "base/units.h"

#define CHANNEL "sillage"

/* Of a CPU's buffers, in the kernel.  A busy CPU makes a million events of 32 bytes in a second:
 * 8 MiB hold a quarter of it, which is the time that the consumer has to write them. */
#define KERNEL_BYTES (UINT64_C(1) << 20)
#define KERNEL_COUNT 8
#define MUCH_COUNT   16
/* User space has buffers for each user and CPU. */
#define USER_BYTES (UINT64_C(512) << 10)
#define USER_COUNT 8
/* What a bounded relay keeps of each stream: all of the state dump of a large host, and some
 * seconds of a busy CPU. */
#define FILE_SIZE  "16M"
#define FILE_COUNT "4"

/* Names in one command: a line of a shell that people can read. */
#define NAMES_BYTES_MAX 800

bool commands_is_session_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";

	return *name && strlen(name) < 200 && name[strspn(name, letters)] == '\0' && *name != '-' &&
	       *name != '.';
}

void commands_add(struct command_lines *lines, const char *const *words)
{
	struct command_line *line = vec_push(&lines->at);

	assert(words[0]);
	*line = (struct command_line){ 0 };
	for (; *words; words++) {
		line->is_kernel |= strcmp(*words, "-k") == 0;
		if (**words) {
			*vec_push(&line->words) = mem_strdup(*words);
		}
	}
	*vec_push(&line->words) = NULL;
}

/* Adds one or more of "lttng enable-event DOMAIN [--syscall] -s SESSION -c CHANNEL NAMES". */
static void add_events(struct command_lines *lines, const char *session, const char *domain,
		       const char *syscall, const struct wanted_names *names)
{
	for (size_t i = 0; i < names->at.count;) {
		char *list = mem_strdup(names->at.at[i++]);

		while (i < names->at.count &&
		       strlen(list) + 1 + strlen(names->at.at[i]) <= NAMES_BYTES_MAX) {
			char *longer = mem_printf("%s,%s", list, names->at.at[i++]);

			free(list);
			list = longer;
		}
		commands_add(lines,
			     (const char *const[]){ "lttng", "enable-event", domain, syscall, "-s",
						    session, "-c", CHANNEL, list, NULL });
		free(list);
	}
}

static void add_contexts(struct command_lines *lines, const char *session, const char *domain,
			 const struct wanted_names *contexts)
{
	VEC(const char *) words = { 0 };
	const char *const head[] = { "lttng", "add-context", domain, "-s", session, "-c", CHANNEL };

	if (contexts->at.count > 0) {
		vec_append(&words, head, ARRAY_COUNT(head));
		for (size_t i = 0; i < contexts->at.count; i++) {
			*vec_push(&words) = "-t";
			*vec_push(&words) = contexts->at.at[i];
		}
		*vec_push(&words) = NULL;
		commands_add(lines, words.at);
	}
	vec_fini(&words);
}

/* "512K", "1M". */
static char *size_text(uint64_t bytes)
{
	bool is_whole = bytes % (1024 * 1024) == 0;

	assert(bytes > 0 && bytes % 1024 == 0);
	return mem_printf("%" PRIu64 "%s", bytes / (is_whole ? 1024 * 1024 : 1024),
			  is_whole ? "M" : "K");
}

static void add_channel(struct command_lines *lines, const struct commands_config *config,
			const char *domain, const struct sizes *sizes)
{
	char *subbuf = size_text(sizes->bytes), *count = mem_printf("%" PRIu64, sizes->count);

	assert(sizes->bytes > 0 && sizes->count > 0);
	commands_add(lines, (const char *const[]){
				    "lttng", "enable-channel", domain, "-s", config->session,
				    "--subbuf-size", subbuf, "--num-subbuf", count,
				    config->is_bounded ? "--tracefile-size" : "",
				    config->is_bounded ? FILE_SIZE : "",
				    config->is_bounded ? "--tracefile-count" : "",
				    config->is_bounded ? FILE_COUNT : "", CHANNEL, NULL });
	free(subbuf);
	free(count);
}

static void add_create(struct command_lines *lines, const struct commands_config *config)
{
	char *live = mem_printf("--live=%" PRIu64, config->live_timer_ns / 1000);
	char *url = config->relay ? mem_printf("--set-url=%s", config->relay) : mem_strdup("");

	assert(config->live_timer_ns >= 1000);
	commands_add(lines,
		     (const char *const[]){ "lttng", "create", config->session, live, url, NULL });
	free(live);
	free(url);
}

void commands_usual_sizes(struct commands_config *config, const struct wanted *wanted)
{
	config->kernel.bytes = KERNEL_BYTES;
	config->kernel.count = wanted_is_much(wanted) ? MUCH_COUNT : KERNEL_COUNT;
	config->user.bytes = USER_BYTES;
	config->user.count = USER_COUNT;
}

void commands_make(struct command_lines *lines, const struct wanted *wanted,
		   const struct commands_config *config)
{
	const char *session = config->session;

	assert(lines->at.count == 0);
	add_create(lines, config);
	if (wanted_has_kernel(wanted)) {
		add_channel(lines, config, "-k", &config->kernel);
		add_contexts(lines, session, "-k", &wanted->kernel_contexts);
		add_events(lines, session, "-k", "", &wanted->kernel);
		add_events(lines, session, "-k", "--syscall", &wanted->calls);
		if (wanted->all_calls) {
			commands_add(lines, (const char *const[]){ "lttng", "enable-event", "-k",
								   "--syscall", "-s", session, "-c",
								   CHANNEL, "--all", NULL });
		}
	}
	if (wanted->user.at.count > 0) {
		add_channel(lines, config, "-u", &config->user);
		add_contexts(lines, session, "-u", &wanted->user_contexts);
		add_events(lines, session, "-u", "", &wanted->user);
	}
	commands_add(lines, (const char *const[]){ "lttng", "start", session, NULL });
}

/* ---- text ---- */

void commands_print(const struct command_line *line, FILE *out)
{
	assert(line->words.count > 1 && !line->words.at[line->words.count - 1]);
	for (size_t i = 0; line->words.at[i]; i++) {
		if (i > 0) {
			(void)fputc(' ', out);
		}
		(void)shell_put(out, line->words.at[i]);
	}
	(void)fputc('\n', out);
}

void commands_fini(struct command_lines *lines)
{
	VEC_EACH(&lines->at, line) {
		vec_free_each(&line->words, free);
	}
	vec_fini(&lines->at);
}
