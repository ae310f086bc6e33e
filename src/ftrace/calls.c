/*
 * calls: see calls.h.
 */
#include "ftrace/calls.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "ftrace/calls-parts.h"

/* Texts of the tables that are cut up: the words point into them. */
struct calls {
	char *numbers, *arguments;
	struct arena arena;
	VEC(struct call) at; /* by number; those without a name are none */
};

HASH_MAP_TEXT(call_lines, char *)

enum convert_machine ftrace_calls_compat(enum convert_machine machine)
{
	switch (machine) {
	case CONVERT_X86_64:
		return CONVERT_I386;
	case CONVERT_ARM64:
		return CONVERT_ARM;
	default:
		return CONVERT_MACHINE_UNKNOWN;
	}
}

/* A word NAME:TYPE of an argument.  false: it is left out. */
static bool read_argument(struct call_argument *argument, char *word)
{
	bool is_late = *word == '>', is_both = *word == '+';
	char *type = strchr(word, ':');

	if (!type) {
		assert(strcmp(word, "-") == 0);
		return false;
	}
	*type++ = '\0';
	argument->name = word + (is_late || is_both);
	argument->at_entry = !is_late;
	argument->at_exit = is_late || is_both;
	argument->is_signed = strchr("dlL", *type);
	argument->bytes = *type == 'h' ? 2 : strchr("du", *type) ? 4 : 8;
	return *type != 'S'; /* texts are not in the events of ftrace */
}

static void read_arguments(struct call *call, char *words, bool is_short)
{
	char *word;

	for (uint8_t i = 0; (word = strsep(&words, " ")); i++) {
		const char *type = strchr(word, ':');

		assert(i < CALL_ARGUMENTS_MAX);
		if (is_short && type && strchr("LQ", type[1])) {
			return; /* which registers follow depends on the machine */
		}
		call->arguments[call->count].index = i;
		call->count += read_argument(&call->arguments[call->count], word);
	}
}

static void index_lines(struct call_lines *lines, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		char *words = strchr(line, ' ');

		if (words) {
			*words++ = '\0';
			*call_lines_put(lines, line, NULL) = words;
		}
	}
}

/* Names that differ from the call with the same arguments by what they are short of. */
static char **arguments_of(const struct call_lines *lines, const char *name)
{
	static const char *const ends[] = { "", "16" };
	char base[64];
	char **found = NULL;

	for (size_t i = 0; i < ARRAY_COUNT(ends) && !found; i++) {
		size_t len = strlen(name), end = strlen(ends[i]);

		if (len > end && len - end < sizeof(base) &&
		    strcmp(name + len - end, ends[i]) == 0) {
			memcpy(base, name, len - end);
			base[len - end] = '\0';
			found = call_lines_get(lines, base);
		}
	}
	return found;
}

static bool opens_path(const char *name)
{
	static const char *const names[] = { "open", "openat", "openat2", "creat",
					     "open_by_handle_at" };

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		if (strcmp(names[i], name) == 0) {
			return true;
		}
	}
	return false;
}

/* Calls after which a descriptor leads elsewhere. */
static void find_closed(struct call *call)
{
	static const struct {
		const char *name;
		uint8_t from, to;
	} closing[] = {
		{ "close", 1, 1 }, { "dup2", 2, 2 }, { "dup3", 2, 2 }, { "close_range", 1, 2 }
	};

	for (size_t i = 0; i < ARRAY_COUNT(closing); i++) {
		if (strcmp(closing[i].name, call->name) == 0) {
			call->closes_from = closing[i].from;
			call->closes_to = closing[i].to;
		}
	}
}

static void put_call(struct calls *calls, uint64_t number, const char *name)
{
	while (calls->at.count <= number) {
		*vec_push(&calls->at) = (struct call){ 0 };
	}
	calls->at.at[number] = (struct call){ .name = name, .opens = opens_path(name) };
	find_closed(&calls->at.at[number]);
}

static void name_numbers(struct calls *calls)
{
	char *text = calls->numbers, *word;
	uint64_t number = 0;

	while ((word = strsep(&text, " "))) {
		if (isdigit((unsigned char)*word)) {
			number = strtoull(word, NULL, 10);
		} else {
			put_call(calls, number++, word);
		}
	}
}

struct calls *ftrace_calls_new(enum convert_machine machine)
{
	struct call_lines lines = { 0 };
	struct calls *calls;
	bool is_short = machine == CONVERT_I386 || machine == CONVERT_ARM;

	if (machine == CONVERT_MACHINE_UNKNOWN) {
		return NULL;
	}
	calls = mem_alloc(sizeof(*calls));
	calls->numbers = mem_strdup(calls_numbers[machine]);
	calls->arguments = mem_strdup(calls_arguments);
	name_numbers(calls);
	index_lines(&lines, calls->arguments);
	VEC_EACH(&calls->at, call) {
		char **line = call->name ? arguments_of(&lines, call->name) : NULL;
		char *copy = line ? arena_strndup(&calls->arena, *line, strlen(*line)) : NULL;

		if (copy) {
			read_arguments(call, copy, is_short);
		}
	}
	call_lines_fini(&lines);
	return calls;
}

void ftrace_calls_free(struct calls *calls)
{
	if (calls) {
		vec_fini(&calls->at);
		arena_fini(&calls->arena);
		free(calls->numbers);
		free(calls->arguments);
		free(calls);
	}
}

uint32_t ftrace_calls_end(const struct calls *calls)
{
	return (uint32_t)calls->at.count;
}

const struct call *ftrace_calls_get(const struct calls *calls, uint64_t number)
{
	return number < calls->at.count && calls->at.at[number].name ? &calls->at.at[number] : NULL;
}
