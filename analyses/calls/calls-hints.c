/*
 * calls-hints: see calls.h; events that look like the begin and the end of a call, and are none by
 * their names.
 *
 *     shop:order_start ─┐ "done" is no word that ends a call by itself
 *     shop:order_done  ─┴─► --call 'shop:order_start; shop:order_done; by id'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyses/calls/calls.h"
#include "base/mem.h"
#include "base/shell.h"
#include "query/scan.h"

#define HINTS_MAX 4 /* more are not told */

/* Words of a begin, and of the ends that it may have: the first of them that is there is taken. */
static const struct {
	const char *begins, *ends;
} looks[] = {
	{ "start|started|begin|begun|entry|enter|launch|invoke|submit|issue|request|req",
	  "done|end|ended|finish|finished|complete|completed|exit|stop|stopped|leave|return|ret|"
	  "reply|response|resp" },
	{ "acquire|acquired|lock|locked", "release|released|unlock|unlocked" },
	{ "open|opened", "close|closed" },
	{ "enqueue|enqueued|push", "dequeue|dequeued|pop" },
};

/* How many words of the list come before this one; -1: it is none of them. */
static int place_in_list(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (int place = 0; *list; place++) {
		size_t of = strcspn(list, "|");

		if (of == len && strncasecmp(list, word, len) == 0) {
			return place;
		}
		list += of + (list[of] == '|');
	}
	return -1;
}

/* Where the last word of the name begins; 0: it is all one word. */
static size_t last_word_at(const char *event)
{
	size_t at = strlen(event);

	while (at > 1 && (event[at] == '\0' || !calls_begins_word(event, at))) {
		at--;
	}
	return at > 1 ? at : 0;
}

static bool has_measure_of(const struct period_set *asked, const char *event)
{
	bool is = false;

	for (size_t i = 0; i < period_set_measures(asked); i++) {
		const struct period *period = period_set_measure(asked, i);

		for (size_t s = 0; s < period->step_count; s++) {
			is |= strcmp(period->is->events[s].event, event) == 0;
		}
	}
	VEC_EACH_OF(&asked->jobs, job) {
		for (size_t d = 0; d < job->is->event_count; d++) {
			is |= strcmp(job->is->events[d].event, event) == 0;
		}
	}
	return is;
}

/* The class that looks like the end of @begin; NULL: none does. */
static const struct event_class *likely_end(const struct metadata *types,
					    const struct call_sides *sides,
					    const struct event_class *begin)
{
	size_t rest = last_word_at(begin->name);
	const struct event_class *end = NULL;
	int best = 0;

	for (size_t i = 0; rest > 0 && i < ARRAY_COUNT(looks); i++) {
		if (place_in_list(looks[i].begins, begin->name + rest) < 0) {
			continue;
		}
		for (const struct event_class *class = types->events; class; class = class->next) {
			int place = strncmp(class->name, begin->name, rest) == 0
					    ? place_in_list(looks[i].ends, class->name + rest)
					    : -1;

			if (place >= 0 && !sides->at[class->index].begins &&
			    (!end || place < best)) {
				end = class;
				best = place;
			}
		}
	}
	return end;
}

static char *hint_text(const struct event_class *begin, const struct event_class *end)
{
	const char *key = calls_common_key(begin, end);
	char *from = pattern_word(begin->name), *to = pattern_word(end->name);
	char *text = mem_printf("%s; %s%s%s", from, to, key ? "; by " : "", key ? key : "");
	char *word = shell_word(text);

	free(text);
	free(to);
	free(from);
	return word;
}

char *calls_hint_of(const struct metadata *types, const struct period_set *asked)
{
	struct call_sides *sides = calls_sides_in(types, asked);
	char *hint = NULL;
	size_t count = 0;

	for (const struct event_class *begin = types->events; begin && count < HINTS_MAX;
	     begin = begin->next) {
		const struct event_class *end =
			sides->at[begin->index].begins ? NULL : likely_end(types, sides, begin);
		char *call, *longer;

		if (!end || has_measure_of(asked, begin->name) ||
		    has_measure_of(asked, end->name) || strlen(begin->name) >= PATTERN_WORD_BYTES ||
		    strlen(end->name) >= PATTERN_WORD_BYTES) {
			continue;
		}
		call = hint_text(begin, end);
		longer = mem_printf("%s%s--call %s", hint ? hint : "", hint ? " " : "", call);
		free(call);
		free(hint);
		hint = longer;
		count++;
	}
	free(sides);
	return hint;
}
